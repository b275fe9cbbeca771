"""Polygons drawn exactly as COCO draws them.

COCO's rule (``frPyObjects``): the corners are rounded to a grid five times as fine, every edge becomes the grid points
along its longer axis, and wherever the column changes between two points at the middle of a pixel column, that column
toggles between outside and inside from that row down. A pixel is inside when it was toggled an odd number of times.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from auscult.errors import InputError, TooLarge
from auscult.media.limits import DEFAULT_LIMITS, Limits, check_pixels
from auscult.media.rle import mask_of
from auscult.types import Mask

_SCALE = 5
_MAX_COORDINATE = 1_000_000.0
_MAX_SAMPLES = 8_000_000
_EXPECTED = "polygons [[x0, y0, x1, y1, ...], ...] in pixels, at least 6 numbers each"


def rasterize(polygons: Sequence[Any], *, size: tuple[int, int], limits: Limits = DEFAULT_LIMITS) -> Mask:
    """Draw the union of polygons, each even-odd, as COCO does.

    Args:
        polygons: One list [x0, y0, x1, y1, ...] per part, in pixels, x to the right and y down.
        size: (height, width) of the frame.
        limits: The bounds on the frame.

    Returns:
        bool (height, width).

    Raises:
        InputError: No polygon, an odd count of numbers or fewer than 6, or a number that is not finite.
        TooLarge: The frame is over the limits, or the outlines are longer than any annotation's.
    """
    height, width = size
    if min(size) < 1:
        raise InputError(f"polygons on a frame of {height} x {width}", expected="a height and width from 1 up")
    check_pixels(size, limits=limits)
    if not isinstance(polygons, list | tuple) or not polygons:
        raise InputError("the segmentation holds no polygon", expected=_EXPECTED)
    corners = [_corners(polygon) for polygon in polygons]
    samples = sum(int(_samples_of(points).sum()) for points in corners)
    if samples > _MAX_SAMPLES:
        raise TooLarge(
            f"the polygons' outlines are {samples / _SCALE:,.0f} pixels long",
            expected=f"at most {_MAX_SAMPLES / _SCALE:,.0f}",
        )
    mask = _drawn(corners[0], size)
    for points in itertools.islice(corners, 1, None):
        mask |= _drawn(points, size)
    return mask


def _corners(polygon: object) -> NDArray[np.int64]:
    """Check one polygon; its corners on the fine grid, closed: int64 (K + 1, 2) of x, y."""
    if not isinstance(polygon, list | tuple):
        raise InputError(f"a polygon is given as {type(polygon).__name__}", expected=_EXPECTED)
    if len(polygon) < 6 or len(polygon) % 2:
        hint = "4 numbers look like a box; a box is no mask" if len(polygon) == 4 else ""
        raise InputError(f"a polygon has {len(polygon)} numbers", expected=_EXPECTED, hint=hint)
    if not {type(number) for number in polygon} <= {int, float}:
        raise InputError("a polygon holds something that is no number", expected=_EXPECTED)
    if not all(math.isfinite(number) if isinstance(number, float) else True for number in polygon):
        raise InputError("a polygon holds a number that is not finite (NaN or infinity)", expected=_EXPECTED)
    if max(polygon) > _MAX_COORDINATE or min(polygon) < -_MAX_COORDINATE:
        raise InputError("a polygon has a corner over a million pixels away", expected=_EXPECTED)
    points = (_SCALE * np.array(polygon, dtype=np.float64) + 0.5).astype(np.int64).reshape(-1, 2)
    return np.concatenate((points, points[:1]))


def _samples_of(points: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.asarray(np.abs(np.diff(points, axis=0)).max(axis=1) + 1, dtype=np.int64)


def _outline(points: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The fine grid points along all edges, in order: x and y, int64 (M,)."""
    start, end = points[:-1], points[1:]
    span = np.abs(end - start)
    wide = span[:, 0] >= span[:, 1]
    # An edge is walked along its longer axis from its lower end, whichever way it runs, so that both ways round agree.
    flip = np.where(wide, start[:, 0] > end[:, 0], start[:, 1] > end[:, 1])
    low = np.where(flip[:, None], end, start)
    high = np.where(flip[:, None], start, end)
    length = span.max(axis=1)
    short = np.where(wide, high[:, 1] - low[:, 1], high[:, 0] - low[:, 0])
    slope = short / np.maximum(length, 1)
    edge = np.repeat(np.arange(length.size), length + 1)
    step = np.arange(edge.size) - np.repeat(np.cumsum(length + 1) - (length + 1), length + 1)
    step = np.where(flip[edge], length[edge] - step, step)
    along = step + np.where(wide, low[:, 0], low[:, 1])[edge]
    across = (np.where(wide, low[:, 1], low[:, 0])[edge] + slope[edge] * step + 0.5).astype(np.int64)
    return np.where(wide[edge], along, across), np.where(wide[edge], across, along)


def _drawn(points: NDArray[np.int64], size: tuple[int, int]) -> Mask:
    height, width = size
    x, y = _outline(points)
    turn = np.flatnonzero(x[1:] != x[:-1]) + 1
    left = np.where(x[turn] < x[turn - 1], x[turn], x[turn] - 1)
    column = (left + 0.5) / _SCALE - 0.5
    keep = (np.floor(column) == column) & (column >= 0) & (column <= width - 1)
    top = np.minimum(y[turn], y[turn - 1])[keep]
    row = np.ceil(np.clip((top + 0.5) / _SCALE - 0.5, 0, height)).astype(np.int64)
    toggles, times = np.unique(column[keep].astype(np.int64) * height + row, return_counts=True)
    toggles = toggles[(times % 2 == 1) & (toggles < height * width)]
    return mask_of(np.diff(np.concatenate(([0], toggles, [height * width]))), size)
