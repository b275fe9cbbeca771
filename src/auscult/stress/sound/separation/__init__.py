"""What separators do wrong, made of true stems: the target lost, other sources left in, artefacts.

Each kind registers as ``separation.<name>.v1``. Strengths 1, 3 and 5 are low, medium and high; 0 returns the stem.
"""

from auscult.stress.sound.separation.base import (
    Parts,
    SeparationStressor,
    SeparationTruth,
    Stems,
    makes,
    perturb,
    render,
)

__all__ = ["Parts", "SeparationStressor", "SeparationTruth", "Stems", "makes", "perturb", "render"]
