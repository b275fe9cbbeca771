"""Histograms over Lab: the bins that a picture's colours fall into, and smoothed shares of them."""

from __future__ import annotations

from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

_BINS: Final = (10, 8, 8)
SIZE: Final = 10 * 8 * 8
"""Bins of a histogram."""

_LEAST_SPAN: Final = (50, 16, 16)  # grey levels of a channel that its bins cover at least
_PRIOR: Final = 0.2


def tables_of(lab8: NDArray[np.uint8]) -> tuple[NDArray[np.int16], ...]:
    """For each channel what each of its 256 values adds to a pixel's bin; the bins cover the picture's range.

    Args:
        lab8: Lab as OpenCV keeps it, uint8 (h, w, 3).
    """
    found = []
    place = SIZE
    for channel, bins, least in zip(cv2.split(lab8), _BINS, _LEAST_SPAN, strict=True):
        low, high, _, _ = cv2.minMaxLoc(channel)
        cell = (np.arange(256) - low) / max(high - low + 1, least) * bins
        place //= bins
        found.append(np.clip(cell, 0, bins - 1).astype(np.int16) * np.int16(place))
    return tuple(found)


def bins_of(lab8: NDArray[np.uint8], tables: tuple[NDArray[np.int16], ...]) -> NDArray[np.int16]:
    """Each pixel's bin, int16 (h, w), 0..SIZE - 1."""
    index = np.zeros(lab8.shape[:2], np.int16)
    for channel, table in zip(cv2.split(lab8), tables, strict=True):
        index += np.asarray(cv2.LUT(channel, table), dtype=np.int16)
    return index


def shares_of(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Shares of the bins, (SIZE,), none of them 0; neighbouring colours count a little, so that few pixels suffice."""
    counts = counts.reshape(_BINS)
    for axis in range(3):
        lower: list[slice] = [slice(None)] * 3
        upper = lower.copy()
        lower[axis], upper[axis] = slice(None, -1), slice(1, None)
        spread = 0.7 * counts
        spread[tuple(upper)] += 0.15 * counts[tuple(lower)]
        spread[tuple(lower)] += 0.15 * counts[tuple(upper)]
        counts = spread
    counts = counts.ravel() / max(counts.sum(), 1.0)
    return np.asarray((counts + _PRIOR / SIZE) / (1 + _PRIOR), dtype=np.float64)
