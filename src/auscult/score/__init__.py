"""Scores with truth: pure functions, arguments in the order ``prediction, truth``; every number is signed."""

from auscult.score import masks, stats

__all__ = ["masks", "stats"]
