"""How much two masks share. All counts are exact integers; all ratios are float64."""

from __future__ import annotations

import numpy as np

from auscult.types import Mask


def counts(first: Mask, second: Mask) -> tuple[int, int]:
    """Pixels in both of two masks, bool (H, W), and pixels in either."""
    if first.shape != second.shape:
        raise ValueError(f"masks have shapes {first.shape} and {second.shape}; they must be equal")
    both = int(np.count_nonzero(first & second))
    return both, int(np.count_nonzero(first)) + int(np.count_nonzero(second)) - both


def iou(first: Mask, second: Mask) -> float:
    """Intersection over union of two masks, bool (H, W), 0..1; two empty masks agree, so they give 1."""
    both, either = counts(first, second)
    return 1.0 if either == 0 else both / either
