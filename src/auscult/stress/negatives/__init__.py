"""Sentences about what is not there, made from a positive sentence, each with the proof that it names nothing.

Kinds register as ``negatives.<name>.v1``: sentence, category, target, attribute, relation, sound and
scene_attribute.
"""

from auscult.stress.negatives.base import (
    KINDS,
    Borrowed,
    NegativeParams,
    NegativeStressor,
    Proof,
    Seen,
    Subject,
    perturb,
    render,
)

__all__ = ["KINDS", "Borrowed", "NegativeParams", "NegativeStressor", "Proof", "Seen", "Subject", "perturb", "render"]
