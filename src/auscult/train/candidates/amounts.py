"""How wrong a candidate shall be: draws of the wanted IoU, and the difficulty that an exact IoU has."""

from __future__ import annotations

import numpy as np

from auscult.stress.masks.base import WINDOWED, WINDOWS, truth_of
from auscult.types import Difficulty

_IN_WINDOWS = 0.65


def typed(rng: np.random.Generator) -> float:
    """IoU of an error of one type: mostly in one of the paper's two windows, else anywhere in .5...97."""
    if rng.random() < _IN_WINDOWS:
        low, high = WINDOWS["hard" if rng.random() < 0.5 else "medium"]
        return float(rng.uniform(low + 0.003, high - 0.003))
    return float(rng.uniform(0.5, 0.97))


def realistic(rng: np.random.Generator) -> float:
    """IoU of a real model's error: .3...985, most of it above .7."""
    return float(0.985 - 0.685 * rng.random() ** 1.9)


def difficulty_of(defect: str | None, iou: float) -> Difficulty | None:
    """The difficulty of a candidate by its exact IoU.

    Args:
        defect: Its type, None for no single one.
        iou: 0..1.

    Returns:
        Cutout, dilate and erode: ``hard`` or ``medium`` inside the paper's closed windows. Merge: ``hard``, ``medium``
        or ``easy``. Else None.

    Source:
        MQ-RAVSBench, Sec. 3.2.
    """
    if defect == "merge":
        return truth_of("merge", iou).difficulty
    if defect in WINDOWED:
        return next((name for name, (low, high) in WINDOWS.items() if low <= iou <= high), None)
    return None
