"""Boxes xyxy in absolute pixels, half-open: (x0, y0, x1, y1) covers columns x0..x1-1 and rows y0..y1-1."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from auscult.types import Box, Mask

FourNumbers: TypeAlias = tuple[float, float, float, float]
NamedBox: TypeAlias = tuple[str, FourNumbers]


@dataclass(frozen=True, slots=True, kw_only=True)
class SoundingBoxes:
    """What sounds in a picture: its size in pixels, and class and box (xyxy) of each true instance, in their order."""

    width: float
    height: float
    boxes: Sequence[NamedBox]


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameBoxes:
    """Where the described thing is in each frame (xyxy pixels), None where it is not; size of the frames in pixels."""

    width: float
    height: float
    boxes: Sequence[FourNumbers | None]


def box_of(mask: Mask) -> Box | None:
    """The smallest box around a mask's pixels, or None for an empty mask.

    Example:
        >>> mask = np.zeros((4, 6), bool); mask[1:3, 2:5] = True
        >>> box_of(mask)
        (2, 1, 5, 3)
    """
    rows = np.flatnonzero(mask.any(axis=1))
    if rows.size == 0:
        return None
    columns = np.flatnonzero(mask[rows[0] : rows[-1] + 1].any(axis=0))
    return int(columns[0]), int(rows[0]), int(columns[-1]) + 1, int(rows[-1]) + 1


def box_iou(first: Box, second: Box) -> float:
    """Intersection over union of two boxes, 0..1; 0 when they only touch."""
    width = min(first[2], second[2]) - max(first[0], second[0])
    height = min(first[3], second[3]) - max(first[1], second[1])
    if width <= 0 or height <= 0:
        return 0.0
    shared = width * height
    return shared / (area(first) + area(second) - shared)


def area(box: Box) -> int:
    """Pixels in a box."""
    return max(0, box[2] - box[0]) * max(0, box[3] - box[1])


def grown(box: Box, margin: int, shape: tuple[int, int]) -> Box:
    """The box with ``margin`` pixels more on every side, cut at a frame of ``shape`` (height, width)."""
    height, width = shape
    return (
        max(0, box[0] - margin),
        max(0, box[1] - margin),
        min(width, box[2] + margin),
        min(height, box[3] + margin),
    )


def joint(first: Box, second: Box) -> Box:
    """The smallest box around two boxes."""
    return (
        min(first[0], second[0]),
        min(first[1], second[1]),
        max(first[2], second[2]),
        max(first[3], second[3]),
    )


def union_box(first: Box | None, second: Box | None) -> Box | None:
    """The smallest box around both; None when both are."""
    if first is None or second is None:
        return first if second is None else second
    return joint(first, second)


def window(box: Box) -> tuple[slice, slice]:
    """The box as slices for an array (rows, columns)."""
    return slice(box[1], box[3]), slice(box[0], box[2])
