"""Colours that go on beyond an outline, so that a softened edge shows no halo."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

Field = NDArray[np.float32]


def spread(colour: Field, weight: Field, *, reach_px: int) -> Field:
    """Straight colours of a premultiplied picture, going on beyond its outline.

    Args:
        colour: float32 (H, W, 3), multiplied by ``weight``.
        weight: float32 (H, W), 0..1.
        reach_px: How far the outermost colours go on; further out the mean colour follows.
    """
    side = 2 * reach_px + 1
    mean = colour.sum(axis=(0, 1)) / max(float(weight.sum()), 1e-6)
    far_colour = cv2.blur(colour, (side, side), borderType=cv2.BORDER_CONSTANT) + mean * np.float32(1e-3)
    far_weight = cv2.blur(weight, (side, side), borderType=cv2.BORDER_CONSTANT) + np.float32(1e-3)
    near = np.minimum(weight * 16, 1)[..., None]  # straight colours are exact where there is some weight
    straight = colour / np.maximum(weight, 1 / 255)[..., None]
    return np.asarray(straight * near + far_colour / far_weight[..., None] * (1 - near), dtype=np.float32)
