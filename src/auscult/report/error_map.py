"""Where a mask is likely wrong, drawn: blue with light stripes for what is missing, yellow with dark dots for too much.

The two differ in hue, in lightness and in pattern, so that they are told apart by every eye, in grey and on paper. What
is drawn is what is at least as likely wrong as right; ``shares`` counts the same pixels. Arrays in, arrays out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, TypeAlias

import cv2
import numpy as np
from numpy.typing import NDArray

from auscult.arrays.boxes import grown, window
from auscult.arrays.error_map import values_of
from auscult.types import Box, ErrorMap, Frame, Mask

Colour: TypeAlias = tuple[int, int, int]

MISSING_COLOUR: Final[Colour] = (24, 104, 226)
"""What is likely missing, RGB; the style sheet's ``--missing`` is the same."""

EXTRA_COLOUR: Final[Colour] = (250, 210, 40)
"""What is likely too much, RGB; the style sheet's ``--extra`` is the same."""

LIKELY: Final = 0.5
"""Probability from which a pixel is drawn and counted."""

_FILL: Final = 0.62
_STRIPE: Final[Colour] = (255, 255, 255)
_DOT: Final[Colour] = (20, 20, 20)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shares:
    """How much of a mask is likely wrong.

    Attributes:
        missing: Likely missing pixels per pixel of the object as it likely is, 0..1, lower is better.
        extra: Likely superfluous pixels per pixel of the mask, 0..1, lower is better.
    """

    missing: float
    extra: float


def parts(found: ErrorMap, mask: Mask, view: Box) -> tuple[Mask, Mask]:
    """The pixels of a picture that are likely missing from a mask, and those that are likely too much.

    Args:
        found: The map, in pixels of the frame.
        mask: The mask as the picture shows it, bool (h, w).
        view: The part of the frame that the picture shows, at whatever size.

    Returns:
        Two bool (h, w): missing, all outside the mask; extra, all inside it.
    """
    missing, extra = np.zeros(mask.shape, dtype=np.bool_), np.zeros(mask.shape, dtype=np.bool_)
    height, width = mask.shape
    across, down = width / (view[2] - view[0]), height / (view[3] - view[1])
    left, right = ((edge - view[0]) * across for edge in found.box[::2])
    top, bottom = ((edge - view[1]) * down for edge in found.box[1::2])
    covered = math.floor(left), math.floor(top), math.ceil(right), math.ceil(bottom)
    place = grown(covered, 0, (height, width))
    if place[0] >= place[2] or place[1] >= place[3]:
        return missing, extra
    step = (right - left) / found.side, (bottom - top) / found.side
    start = left - place[0], top - place[1]
    rows, columns = window(place)
    size = place[2] - place[0], place[3] - place[1]
    inside = mask[rows, columns]
    values = values_of(found)
    missing[rows, columns] = _likely(values, start, step=step, size=size) & ~inside
    extra[rows, columns] = _likely(-values, start, step=step, size=size) & inside
    return missing, extra


def _likely(
    values: NDArray[np.float32], start: tuple[float, float], *, step: tuple[float, float], size: tuple[int, int]
) -> Mask:
    """Where the values of a grid reach ``LIKELY``.

    A cell that is smaller than a pixel of the picture counts for the whole pixel, so that a thin place is not lost.

    Args:
        values: (n, n).
        start: Where the grid begins, x and y in pixels of the picture; may be negative.
        step: Pixels per cell, x and y.
        size: (width, height) of the picture.
    """
    cells = min(2 * len(values) - 1, math.ceil(1 / min(step)))  # more than from one end to the other there is not
    if cells > 1:
        values = np.asarray(cv2.dilate(values, np.ones((cells, cells), np.uint8)), dtype=np.float32)
    matrix = np.array(
        [[step[0], 0.0, start[0] + step[0] / 2 - 0.5], [0.0, step[1], start[1] + step[1] / 2 - 0.5]], dtype=np.float64
    )
    painted = cv2.warpAffine(values, matrix, size, flags=cv2.INTER_LINEAR)
    return np.asarray(painted >= LIKELY, dtype=np.bool_)


def shares(found: ErrorMap, mask: Mask) -> Shares:
    """How much of a mask is likely missing and too much, from the pixels that a picture of the map marks.

    Args:
        found: The map.
        mask: The mask at the size of its frame, bool (H, W).
    """
    box = grown(found.box, 0, (mask.shape[0], mask.shape[1]))
    if box[0] >= box[2] or box[1] >= box[3]:  # a map beside the frame says nothing of it
        return Shares(missing=0.0, extra=0.0)
    missing, extra = parts(found, mask[window(box)], box)
    lacks, spare, held = (int(np.count_nonzero(each)) for each in (missing, extra, mask))
    likely = held - spare + lacks
    return Shares(missing=lacks / likely if likely else 0.0, extra=spare / held if held else 0.0)


def draw(picture: Frame, missing: Mask, extra: Mask, *, period_px: int) -> None:
    """Mark both kinds of pixels on a picture, which is changed.

    Args:
        picture: uint8 RGB (h, w, 3).
        missing: bool (h, w): blue with light stripes that rise to the right.
        extra: bool (h, w): yellow with dark dots.
        period_px: Distance of the stripes and dots.
    """
    y, x = np.ogrid[: picture.shape[0], : picture.shape[1]]
    line = max(1, round(period_px / 4))
    stripes = (x + y) % period_px < line
    dots = (x % period_px < line + 1) & ((y + (x // period_px % 2) * (period_px // 2)) % period_px < line + 1)
    for place, colour, pattern, ink in (
        (missing, MISSING_COLOUR, stripes, _STRIPE),
        (extra, EXTRA_COLOUR, dots, _DOT),
    ):
        if not place.any():
            continue
        here = picture[place].astype(np.float32)
        picture[place] = (here * (1 - _FILL) + np.array(colour, np.float32) * _FILL).astype(np.uint8)
        picture[place & pattern] = ink
