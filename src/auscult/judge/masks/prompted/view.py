"""What `masks.prompted.v1` sees of a candidate: a crop, the candidate in it, the strip along its outline, its shape.

Training uses this code too. The crop is a square round the candidate's box, its side ``margin`` times the box's longer
side; what lies outside the frame is mid grey and no mask. The strip is `masks.compact.v1`'s, channel by
channel: the picture across the outline, unrolled, with a channel of likeness.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import cv2
import numpy as np

from auscult.errors import InputError
from auscult.judge.masks.compact.view import (
    CROP_PX,
    Bytes,
    Outline,
    box_round,
    coverage,
    cut,
    planes,
    scaled,
    strip_along,
)
from auscult.types import Box, Floats, Frame, Mask

SHAPE: Final = 10
"""Numbers that describe the candidate's shape and position, see ``shape_of``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lens:
    """How a network looks at a candidate."""

    side: int = 256  # side of the crop in cells, a multiple of 32
    margin: float = 1.5  # the crop's side in longer sides of the candidate's box

    @property
    def grid(self) -> int:
        """Side of candidate and answer in cells: half the crop's."""
        return self.side // 2


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class View:
    """One lens's look at a candidate, as bytes; ``inputs`` makes the floats of it."""

    crop: Bytes  # (3, side, side): red, green, blue
    candidate: Bytes  # (grid, grid): share of the cell inside the candidate, 255 for all of it
    strip: Bytes  # (6, 24, 256), see ``compact.view``
    shape: Floats  # (10,), see ``shape_of``
    box: Box  # the crop's box in pixels of the frame; square, may reach beyond the frame


def look(frame: Frame, mask: Mask, lens: Lens) -> View:
    """See a mask, bool (H, W), of a frame, uint8 RGB (H, W, 3), through one lens; an InputError where it is empty."""
    return looks(frame, mask, (lens,))[0]


def looks(frame: Frame, mask: Mask, lenses: tuple[Lens, ...], *, outline: Outline | None = None) -> tuple[View, ...]:
    """See a mask, bool (H, W), of a frame, uint8 RGB (H, W, 3), through several lenses.

    Strip and shape are alike in all. ``outline`` is what was measured along it, where that is known already. An
    InputError where the mask is empty.
    """
    if not mask.any():
        raise InputError("the mask is empty", expected="a mask with at least one pixel")
    line, shape = strip_along(frame, mask) if outline is None else outline.strip, shape_of(mask)
    views = []
    for lens in lenses:
        box = box_round(mask, lens.margin)
        measured = outline.inside if outline is not None and (outline.box, CROP_PX) == (box, lens.grid) else None
        views.append(
            View(
                crop=planes(cut(frame, box, lens.side)),
                candidate=measured if measured is not None else coverage(mask, box, lens.grid),
                strip=line,
                shape=shape,
                box=box,
            )
        )
    return tuple(views)


def shape_of(mask: Mask) -> Floats:
    """Size, position and outline of a mask, float32 (10,), each about -2..2.

    Log share of the frame, log area in pixels, log aspect, share of its box, share of its hull, roundness, log number
    of parts, share of the largest part, sides of the frame that its box touches, share of its box's rim that it fills.
    """
    height, width = mask.shape
    bytes_ = mask.view(np.uint8)
    x, y, w, h = cv2.boundingRect(bytes_)
    inner = np.ascontiguousarray(bytes_[y : y + h, x : x + w])
    area = max(int(np.count_nonzero(inner)), 1)
    outlines, _ = cv2.findContours(inner, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_SIMPLE)
    round_px = sum(cv2.arcLength(line, closed=True) for line in outlines)
    hull = cv2.contourArea(cv2.convexHull(np.concatenate(outlines))) if outlines else float(area)
    areas = sorted((float(cv2.contourArea(line)) for line in outlines), reverse=True)
    touched = [x == 0, y == 0, x + w == width, y + h == height]
    rim = sum(int(np.count_nonzero(line)) for line in (inner[0], inner[-1], inner[:, 0], inner[:, -1]))
    values = [
        np.log(area / mask.size) / 2 + 1.5,
        np.log(area) / 2 - 4,
        np.log(w / h),
        2 * area / (w * h) - 1,
        2 * area / max(hull, area) - 1,
        2 * min(np.sqrt(4 * np.pi * area) / max(round_px, 1.0), 1.0) - 1,
        np.log(max(len(outlines), 1)),
        areas[0] / max(sum(areas), 1.0) if areas else 1.0,
        sum(touched) / 2,
        2 * rim / max(2 * (w + h), 1),
    ]
    return np.asarray(values, dtype=np.float32).clip(-4, 4)


def inputs(views: list[View]) -> dict[str, Floats]:
    """A network's inputs of some views through one lens: float32, batch first, in the order given."""
    return {
        "crop": picture(np.stack([view.crop for view in views])),
        "candidate": np.stack([view.candidate for view in views])[:, None].astype(np.float32) / np.float32(255),
        "strip": scaled(np.stack([view.strip for view in views])),
        "shape": np.stack([view.shape for view in views]),
    }


def picture(crop: Bytes) -> Floats:
    """Bytes to what the backbone was trained on: -1..1."""
    return crop.astype(np.float32) / np.float32(127.5) - np.float32(1)
