"""Perturbations of timing: sound that is early or late, that drifts away, frames that are lost or shown twice."""

from auscult.stress.timing.base import Reel, TimingStressor

__all__ = ["Reel", "TimingStressor"]
