"""A sprite at a smaller size or another turn, from one drawn once."""

from __future__ import annotations

import math
from typing import Any, Final

import cv2
import numpy as np
from numpy.typing import NDArray

from auscult.cases.scenes.appearance.sprite import Sprite

_MARGIN_PX: Final = 3


def derived(master: Sprite, *, scale: float, turn_deg: float) -> Sprite:
    """Bring a sprite to another size and turn about its middle.

    Args:
        master: The thing's middle is in its middle; its colours go on beyond its outline.
        scale: Above 0, at most 1.
        turn_deg: Clockwise.
    """
    both: NDArray[Any] = cv2.merge([master.rgb, master.alpha])
    if scale < 1:
        sides = [max(1, round(side * scale)) for side in both.shape[1::-1]]
        both = cv2.resize(both, sides, interpolation=cv2.INTER_AREA)
    if turn_deg:
        both = _turned(both, turn_deg)
    alpha = np.ascontiguousarray(both[..., 3])
    if int(alpha.max()) < 128:  # a thing of less than a pixel still has one
        alpha[np.unravel_index(int(alpha.argmax()), alpha.shape)] = 255
    return Sprite(np.ascontiguousarray(both[..., :3]), alpha)


def _turned(both: NDArray[Any], turn_deg: float) -> NDArray[Any]:
    angle = math.radians(turn_deg)
    turn = np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
    half = np.array(both.shape[1::-1]) / 2
    reach = np.abs(np.array([half, half * (1, -1)]) @ turn.T).max(axis=0)
    width, height = (2 * (math.ceil(side - _MARGIN_PX) + _MARGIN_PX) for side in reach)
    # OpenCV's pixel centres lie on whole numbers, ours on halves.
    shift = np.array((width, height)) / 2 - 0.5 - turn @ (half - 0.5)
    matrix = np.column_stack([turn, shift])
    alpha = cv2.warpAffine(both[..., 3], matrix, (width, height))
    rgb = cv2.warpAffine(both[..., :3], matrix, (width, height), borderMode=cv2.BORDER_REPLICATE)
    return np.asarray(cv2.merge([rgb, alpha]))
