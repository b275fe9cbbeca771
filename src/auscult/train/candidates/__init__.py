"""Candidate masks with exact truth to train a judge on: clean defects of one type, and the errors of real models.

``candidates`` draws from ``mixture``; one generator is one kind, the kinds of one family are one file.
"""

from auscult.train.candidates.base import Candidate, CandidateScene
from auscult.train.candidates.mixture import candidates, mixture

__all__ = ["Candidate", "CandidateScene", "candidates", "mixture"]
