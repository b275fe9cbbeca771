"""Perturbations of sound: loudness, noise, rooms, filters, loss in transmission.

Each perturbation is a class, with its formula, and registers as ``sound.<name>.v1``.
Strengths 1 to 5 are the levels of R2-Bench.
"""

from auscult.stress.sound.base import AudioInfo, SoundStressor, apply, perturb, render

__all__ = ["AudioInfo", "SoundStressor", "apply", "perturb", "render"]
