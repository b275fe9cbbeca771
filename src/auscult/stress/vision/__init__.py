"""Perturbations of pictures and clips: weather, blur, noise, loss in transmission.

One perturbation is one file; each registers as ``vision.<name>.v1``. Strengths 1 to 5 are the levels of R2-Bench.
"""

from auscult.stress.vision.base import Shot, VisionStressor
from auscult.stress.vision.making import apply, perturb, render

__all__ = ["Shot", "VisionStressor", "apply", "perturb", "render"]
