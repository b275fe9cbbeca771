"""A cut-out at another size and turn, with its colours going on beyond its outline."""

from __future__ import annotations

import math
from typing import Any, Final

import cv2
import numpy as np
from numpy.typing import NDArray

from auscult.cases.scenes.appearance.bleeding import spread
from auscult.cases.scenes.appearance.sprite import Sprite
from auscult.types import Box, Mask

_MARGIN_PX: Final = 3
_BLEED_PX: Final = 4


def box_of(mask: Mask) -> Box | None:
    """The smallest box around a mask, or None where it is empty."""
    columns, rows = np.flatnonzero(mask.any(axis=0)), np.flatnonzero(mask.any(axis=1))
    if columns.size == 0:
        return None
    return int(columns[0]), int(rows[0]), int(columns[-1]) + 1, int(rows[-1]) + 1


def resampled(rgba: NDArray[np.uint8], *, height_px: int, turn_deg: float) -> Sprite:
    """Bring a cut-out to a size.

    Colours are weighted by alpha on the way, so that what is hidden under transparency never shows.

    Args:
        rgba: uint8 RGBA (H, W, 4); at least one pixel's alpha is 128 or more.
        height_px: Height of what is at least half opaque, before turning.
        turn_deg: Clockwise.

    Returns:
        A sprite with the middle of the box of what is half opaque in its middle.
    """
    box = box_of(rgba[..., 3] >= 128)
    if box is None:
        raise ValueError("a cut-out has at least one pixel with an alpha of 128 or more")
    soft = box_of(rgba[..., 3] > 0) or box
    weighted: NDArray[Any] = rgba[soft[1] : soft[3], soft[0] : soft[2]].astype(np.float32)
    weighted[..., :3] *= weighted[..., 3:] / np.float32(255)
    scale = height_px / (box[3] - box[1])
    middle = ((box[0] + box[2]) / 2 - soft[0], (box[1] + box[3]) / 2 - soft[1])
    placed = _placed(weighted, scale=scale, middle=middle, turn_deg=turn_deg)
    alpha = np.clip(placed[..., 3], 0, 255)
    straight = spread(np.maximum(placed[..., :3], 0), alpha / np.float32(255), reach_px=_BLEED_PX)
    whole = np.rint(alpha).astype(np.uint8)
    if int(whole.max()) < 128:
        whole[np.unravel_index(int(whole.argmax()), whole.shape)] = 255
    return Sprite(np.clip(np.rint(straight), 0, 255).astype(np.uint8), whole)


def _placed(
    weighted: NDArray[np.float32], *, scale: float, middle: tuple[float, float], turn_deg: float
) -> NDArray[np.float32]:
    """Scale and turn about the middle: first smaller by area, then by one mapping at twice the size, then by half."""
    fine = min(1.0, 2 * scale)
    if fine < 1:
        wide, tall = (max(1, round(side * fine)) for side in weighted.shape[1::-1])
        shrunk = (wide / weighted.shape[1], tall / weighted.shape[0])
        weighted = np.asarray(cv2.resize(weighted, (wide, tall), interpolation=cv2.INTER_AREA), dtype=np.float32)
    else:
        shrunk = (1.0, 1.0)
    angle = math.radians(turn_deg)
    turn = np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
    matrix = turn @ np.diag([2 * scale / shrunk[0], 2 * scale / shrunk[1]])
    centre = np.array(middle) * shrunk
    corners = np.array([(0, 0), (weighted.shape[1], 0), (0, weighted.shape[0]), weighted.shape[1::-1]]) - centre
    reach = np.abs(corners @ matrix.T).max(axis=0) / 2
    width, height = (2 * (math.ceil(side) + _MARGIN_PX) for side in reach)
    # OpenCV's pixel centres lie on whole numbers, ours on halves.
    shift = np.array((width, height)) - matrix @ (centre - 0.5) - 0.5
    way = cv2.INTER_LINEAR if fine < 1 else cv2.INTER_CUBIC
    double = cv2.warpAffine(weighted, np.column_stack([matrix, shift]), (2 * width, 2 * height), flags=way)
    return np.asarray(cv2.resize(double, (width, height), interpolation=cv2.INTER_AREA), dtype=np.float32)
