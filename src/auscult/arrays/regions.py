"""Regions of a mask: connected parts, holes, and exact Euclidean distance to the outline.

Parts are 8-connected and background is 4-connected, so a diagonal line is one part and encloses what it surrounds.
Distances are in pixels between pixel centres: a mask pixel beside the background has depth 1.
"""

from __future__ import annotations

from typing import Literal

import cv2
import numpy as np
from numpy.typing import NDArray

from auscult.types import Mask


def components(mask: Mask, *, connectivity: Literal[4, 8] = 8) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Connected parts: labels int32 (H, W), 1..n, and areas in pixels, int64 (n,), ``areas[i]`` of label ``i + 1``."""
    if mask.size == 0:
        return np.zeros(mask.shape, np.int32), np.zeros(0, np.int64)
    _, labels, stats, _ = cv2.connectedComponentsWithStats(_bytes(mask), connectivity=connectivity, ltype=cv2.CV_32S)
    areas = stats[1:, cv2.CC_STAT_AREA].astype(np.int64)
    return np.asarray(labels, dtype=np.int32), areas


def largest(mask: Mask) -> Mask:
    """The part with the most pixels (the first in reading order of equals); empty for an empty mask."""
    labels, areas = components(mask)
    if areas.size == 0:
        return np.zeros_like(mask)
    return np.asarray(labels == int(np.argmax(areas)) + 1)


def holes(mask: Mask) -> Mask:
    """Background pixels that the mask encloses; background that reaches the frame's edge is no hole.

    Example:
        >>> ring = np.ones((3, 3), bool); ring[1, 1] = False
        >>> np.argwhere(holes(ring)).tolist()
        [[1, 1]]
    """
    padded = np.zeros((mask.shape[0] + 2, mask.shape[1] + 2), np.uint8)
    padded[1:-1, 1:-1] = mask
    cv2.floodFill(padded, None, (0, 0), (1,), flags=4)
    return np.asarray(padded[1:-1, 1:-1] == 0)


def depth(mask: Mask, *, frame_is_outline: bool = False) -> NDArray[np.float32]:
    """How far each mask pixel is from the nearest outside the mask: float32 px, 0 off the mask.

    What lies beyond the frame is unknown, not outside, unless ``frame_is_outline``: an object that the frame cuts has
    no outline there. Infinite where there is no outside at all.
    """
    if not frame_is_outline:
        return _distance(mask)
    padded = np.pad(mask, 1)
    return np.ascontiguousarray(_distance(padded)[1:-1, 1:-1])


def reach(mask: Mask) -> NDArray[np.float32]:
    """How far each background pixel is from the mask: float32 px, 0 on the mask; infinite for an empty mask."""
    return _distance(~mask)


def _distance(mask: Mask) -> NDArray[np.float32]:
    if mask.size == 0 or mask.all():  # OpenCV answers an arbitrary large number where no zero exists
        return np.full(mask.shape, np.inf, np.float32)
    distance = np.asarray(cv2.distanceTransform(_bytes(mask), cv2.DIST_L2, cv2.DIST_MASK_PRECISE), dtype=np.float32)
    # OpenCV's last bit depends on its number of threads. The exact distance is the root of a whole number, which up to
    # about 1600 px is recovered by rounding the square.
    np.rint(np.multiply(distance, distance, out=distance), out=distance)
    return np.sqrt(distance, out=distance)


def _bytes(mask: Mask) -> NDArray[np.uint8]:
    return np.ascontiguousarray(mask).view(np.uint8)
