"""What the networks of `identity.scenes.v1` see: the whole frame, small, and a crop around the mask."""

from __future__ import annotations

import math
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from auscult.arrays.boxes import box_of
from auscult.types import Box, Frame, Mask

PIXELS: Final = 144 * 256
"""The small frame has about so many pixels, whatever its shape."""

STEP: Final = 16
CROP: Final = 48
MARGIN: Final = 1.2
"""Side of the crop against the longer side of the mask's box."""


def small_size(height: int, width: int) -> tuple[int, int]:
    """(height, width) of the small frame: multiples of ``STEP`` with about ``PIXELS`` pixels in the same shape."""
    ratio = min(max(height / width, 0.25), 4.0)
    rows = max(1, round(math.sqrt(PIXELS * ratio) / STEP))
    return rows * STEP, max(1, round(PIXELS / (rows * STEP) / STEP)) * STEP


def small(frame: Frame) -> NDArray[np.uint8]:
    """The frame made small, uint8 RGB of ``small_size``."""
    height, width = small_size(*frame.shape[:2])
    scaled = cv2.resize(frame, (width, height), interpolation=cv2.INTER_AREA)
    return np.asarray(scaled, dtype=np.uint8)


def crop_window(box: Box, *, margin: float = MARGIN) -> Box:
    """A square around a box, ``margin`` times its longer side; it may reach beyond the frame."""
    side = max(4, math.ceil(margin * max(box[2] - box[0], box[3] - box[1])))
    x, y = (box[0] + box[2] - side) // 2, (box[1] + box[3] - side) // 2
    return x, y, x + side, y + side


def cut(picture: NDArray[np.uint8], window: Box, side: int) -> NDArray[np.uint8]:
    """A square window of a picture at ``side`` x ``side``; beyond the frame it is 0."""
    height, width = picture.shape[:2]
    x0, y0, x1, y1 = window
    left, top, right, bottom = max(x0, 0), max(y0, 0), min(x1, width), min(y1, height)
    canvas = np.zeros((y1 - y0, x1 - x0, *picture.shape[2:]), np.uint8)
    canvas[top - y0 : bottom - y0, left - x0 : right - x0] = picture[top:bottom, left:right]
    way = cv2.INTER_AREA if y1 - y0 > side else cv2.INTER_LINEAR
    return np.asarray(cv2.resize(canvas, (side, side), interpolation=way), dtype=np.uint8)


def crop(frame: Frame, mask: Mask) -> NDArray[np.uint8] | None:
    """RGB and mask (0 or 255) around a mask, uint8 (CROP, CROP, 4); None for an empty mask."""
    box = box_of(mask)
    if box is None:
        return None
    window = crop_window(box)
    marked = np.where(cut(mask.astype(np.uint8) * 255, window, CROP) >= 128, 255, 0)
    return np.dstack([cut(frame, window, CROP), marked.astype(np.uint8)])
