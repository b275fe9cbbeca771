"""How much two masks share. All counts are exact integers; all ratios are float64."""

from __future__ import annotations

import numpy as np

from auscult.types import Mask


def counts(first: Mask, second: Mask) -> tuple[int, int]:
    """Pixels in both masks and pixels in either.

    Args:
        first: bool (H, W).
        second: bool, the same shape.

    Returns:
        (intersection, union) in pixels.

    Raises:
        ValueError: The shapes differ.
    """
    if first.shape != second.shape:
        raise ValueError(f"masks have shapes {first.shape} and {second.shape}; they must be equal")
    both = int(np.count_nonzero(first & second))
    return both, int(np.count_nonzero(first)) + int(np.count_nonzero(second)) - both


def iou(first: Mask, second: Mask) -> float:
    """Intersection over union, 0..1; two empty masks agree, so they give 1.

    Args:
        first: bool (H, W).
        second: bool, the same shape.
    """
    both, either = counts(first, second)
    return 1.0 if either == 0 else both / either
