"""What the network sees of a mask: a crop, a wider context, a strip along the outline, and cues.

Training uses this code too.

The crop's side is one and a half times the longer side of the mask's box, the context's twice that; both are centred
on the box. What lies outside the frame is mid grey and no mask. The strip follows the outlines of the mask, outer
ones first, and shows what lies across them on the line of their normals, from deep inside (top) to well outside.
Each also has a channel that says how much a pixel's colour is like the mask's inside (``likeness``). The cues are those
of `masks.cues.v1` and measures of the strip (``along``): they hold for objects unlike all that a network has seen.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from auscult.errors import InputError
from auscult.judge.masks.compact.along import MEASURES, along
from auscult.judge.masks.compact.likeness import likeness_of
from auscult.judge.masks.compact.strip import Strip, strip_of
from auscult.judge.masks.cues.catalogue import CUES
from auscult.judge.masks.cues.measure import measure
from auscult.types import Box, Frame, Mask

CROP_PX: Final = 128
CONTEXT_PX: Final = 64
MARGIN: Final = 1.5
WIDER: Final = 2.0
LEAST_SIDE_PX: Final = 16
GREY: Final = 128
CUE_COUNT: Final = len(CUES) + MEASURES

_REACH: Final = 0.25  # of the object's size, where the signed distance saturates

Bytes = NDArray[np.uint8]
Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class View:
    """What the network sees, as bytes; ``inputs`` makes the floats of it.

    Attributes:
        crop: (6, 128, 128): red, green, blue, share of the cell inside the mask, signed distance to the outline
            (128 on it, more inside), likeness (128 even, more like the inside).
        context: (5, 64, 64): red, green, blue, share inside the mask, likeness.
        strip: (6, 24, 256): red, green, blue, share inside the mask, 255 on outer outlines and 0 on those of holes,
            likeness.
        cues: (169,), float32: those of `masks.cues.v1` in their order and units, then the strip's measures.
        box: The crop's box in pixels of the frame; square, may reach beyond the frame.
        points: Where the strip was read, for sampling other masks alike; None where the mask has no outline to follow.
    """

    crop: Bytes
    context: Bytes
    strip: Bytes
    cues: Floats
    box: Box
    points: Strip | None = None


def look(frame: Frame, mask: Mask) -> View:
    """Cut the view of a mask.

    Args:
        frame: uint8 RGB (H, W, 3).
        mask: bool (H, W), not empty.

    Raises:
        InputError: The mask is empty.
    """
    found = measure(frame, mask)
    if found is None:
        raise InputError("the mask is empty", expected="a mask with at least one pixel")
    box, crop, strip, likeness = _outlined(frame, mask)
    wide = _wider(box)
    context = channels(cut(frame, wide, CONTEXT_PX), coverage(mask, wide, CONTEXT_PX))
    crop, context, line = (np.concatenate([one, likeness(one[:3])[None]]) for one in (crop, context, strip.bytes))
    cues = np.concatenate([found.vector().astype(np.float32), along(line)])
    return View(crop=crop, context=context, strip=line, cues=cues, box=box, points=strip)


def strip_along(frame: Frame, mask: Mask) -> Bytes:
    """The strip of ``look`` alone, (6, 24, 256)."""
    _, _, strip, likeness = _outlined(frame, mask)
    return np.concatenate([strip.bytes, likeness(strip.bytes[:3])[None]])


def _outlined(frame: Frame, mask: Mask) -> tuple[Box, Bytes, Strip, Callable[[Bytes], Bytes]]:
    """The crop's box, the crop without its likeness, the strip, and what gives the likeness of either."""
    box = crop_box(mask.view(np.uint8))
    crop = channels(cut(frame, box, CROP_PX), coverage(mask, box, CROP_PX))
    crop = np.concatenate([crop, signed_distance(crop[3])[None]])
    return box, crop, strip_of(frame, mask, box), likeness_of(crop)


def inputs(views: list[View]) -> dict[str, Floats]:
    """The network's inputs of some views: float32, batch first, in the order given; pictures are about -2..2."""
    found = {
        "crop": np.stack([view.crop for view in views]),
        "context": np.stack([view.context for view in views]),
        "strip": np.stack([view.strip for view in views]),
    }
    return {name: scaled(value) for name, value in found.items()} | {"cues": np.stack([view.cues for view in views])}


def scaled(value: Bytes) -> Floats:
    """Bytes to what the network takes: 128 is 0, a step of 64 is 1."""
    return (value.astype(np.float32) - np.float32(GREY)) / np.float32(64)


def crop_box(marked: Bytes) -> Box:
    """The square round a mask's box, in pixels, (x0, y0, x1, y1)."""
    x, y, width, height = cv2.boundingRect(marked)
    return square(x + width / 2, y + height / 2, max(max(width, height) * MARGIN, LEAST_SIDE_PX))


def coverage(mask: Mask, box: Box, side: int) -> Bytes:
    """Share of each cell of a grid over a box that lies inside a mask, (side, side), 255 for all of it."""
    return cut(np.multiply(mask, np.uint8(255), dtype=np.uint8), box, side, outside=0)


def _wider(box: Box) -> Box:
    x0, y0, x1, y1 = box
    return square((x0 + x1) / 2, (y0 + y1) / 2, (x1 - x0) * WIDER)


def square(x: float, y: float, side: float) -> Box:
    """The square of whole pixels about a point."""
    whole = round(side)
    left, top = round(x - whole / 2), round(y - whole / 2)
    return left, top, left + whole, top + whole


def cut(picture: Bytes, box: Box, side: int, *, outside: int = GREY) -> Bytes:
    """Cut a box and bring it to ``side`` cells; what lies outside the picture has one value."""
    height, width = picture.shape[:2]
    x0, y0, x1, y1 = box
    inner = picture[max(y0, 0) : min(y1, height), max(x0, 0) : min(x1, width)]
    gaps = max(-y0, 0), max(y1 - height, 0), max(-x0, 0), max(x1 - width, 0)
    shrinks = x1 - x0 > side
    if any(gaps):
        if (
            shrinks
        ):  # the part that is there is brought to size first: a border at full size would cost most of the time
            return _shrunk_with_border(inner, box, gaps=gaps, side=side, outside=outside)
        inner = np.asarray(
            cv2.copyMakeBorder(inner, *gaps, cv2.BORDER_CONSTANT, value=(outside, outside, outside)), dtype=np.uint8
        )
    way = cv2.INTER_AREA if shrinks else cv2.INTER_LINEAR
    return np.asarray(cv2.resize(inner, (side, side), interpolation=way), dtype=np.uint8)


def _shrunk_with_border(inner: Bytes, box: Box, *, gaps: tuple[int, int, int, int], side: int, outside: int) -> Bytes:
    scale = side / (box[2] - box[0])
    top, bottom, left, right = (round(gap * scale) for gap in gaps)
    rows, columns = max(side - top - bottom, 1), max(side - left - right, 1)
    top, left = min(top, side - rows), min(left, side - columns)
    found = np.full((side, side, *inner.shape[2:]), outside, dtype=np.uint8)
    if inner.size:
        found[top : top + rows, left : left + columns] = cv2.resize(
            inner, (columns, rows), interpolation=cv2.INTER_AREA
        )
    return found


def channels(picture: Bytes, inside: Bytes) -> Bytes:
    """A picture (h, w, 3) and a mask (h, w) as four channels, (4, h, w)."""
    return np.concatenate([picture.transpose(2, 0, 1), inside[None]])


def signed_distance(inside: Bytes) -> Bytes:
    """Signed distance to the outline in parts of the object's size, 128 on it."""
    filled = (inside >= GREY).astype(np.uint8)
    size = max(float(np.sqrt(np.count_nonzero(filled))), 4.0)
    within = cv2.distanceTransform(filled, cv2.DIST_L2, 3)
    without = cv2.distanceTransform(1 - filled, cv2.DIST_L2, 3)
    signed = (within - without) / (_REACH * size)
    return np.asarray(np.clip(GREY + np.clip(signed, -2, 2) * 127, 0, 255), dtype=np.uint8)
