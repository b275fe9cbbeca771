"""Perturbations of pictures and clips: weather, blur, noise, loss in transmission.

Each perturbation is a class, with its formula, and registers as ``vision.<name>.v1``.
Strengths 1 to 5 are the levels of R2-Bench.
"""

from auscult.stress.vision.base import ClipInfo, VisionStressor, apply, perturb, render

__all__ = ["ClipInfo", "VisionStressor", "apply", "perturb", "render"]
