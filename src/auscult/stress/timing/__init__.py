"""Perturbations of timing: sound that is early or late, that drifts away, frames that are lost or shown twice.

Each perturbation is a class, with its formula, and registers as ``timing.<name>.v1``.
No benchmark has them, so their levels are ours.
"""

from auscult.stress.timing.base import Footage, TimingInfo, TimingStressor, apply, perturb, render

__all__ = ["Footage", "TimingInfo", "TimingStressor", "apply", "perturb", "render"]
