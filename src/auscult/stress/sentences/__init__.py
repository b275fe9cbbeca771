"""Perturbations of sentences: typos, stray marks, lost characters, wrong grammar, look-alike letters.

Each perturbation is a class, with its formula, and registers as ``sentences.<name>.v1``.
Rules and word lists stand in data files.
"""

from auscult.language.referring import head_noun
from auscult.stress.sentences.base import Edit, Edits, Rewriter, SentenceStressor, apply, perturb, render
from auscult.stress.sentences.rewriting import rewritten

__all__ = ["Edit", "Edits", "Rewriter", "SentenceStressor", "apply", "head_noun", "perturb", "render", "rewritten"]
