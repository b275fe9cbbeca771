"""Light from one side on all things, and the shadow where a thing meets what is behind it."""

from __future__ import annotations

from typing import Any, Final

import cv2
import numpy as np
from numpy.typing import NDArray

from auscult.cases.scenes.appearance.light import Light

Field = NDArray[np.float32]

_RELIEF: Final = 0.12  # how far from the outline a thing still looks round, share of its size


def relief(alpha: Field, *, light: Light) -> Field:
    """How much brighter or darker each place of a thing is.

    The thing is taken for a cushion over its outline; what faces the light is brighter. A slow slope from the lit to
    the far side is added.

    Args:
        alpha: float32 (h, w), 0..1.
        light: The scene's.

    Returns:
        float32 (h, w), about 1.
    """
    height, width = alpha.shape
    towards = light.towards
    sigma = max(1.0, _RELIEF * min(height, width))
    small = max(1, int(sigma / 3))
    low = cv2.resize(alpha, (max(2, width // small), max(2, height // small)), interpolation=cv2.INTER_AREA)
    cushion: NDArray[Any] = cv2.GaussianBlur(low, (0, 0), sigma / small, borderType=cv2.BORDER_CONSTANT)
    dx = cv2.Sobel(cushion, cv2.CV_32F, 1, 0, scale=0.125) * (sigma / small)
    dy = cv2.Sobel(cushion, cv2.CV_32F, 0, 1, scale=0.125) * (sigma / small)
    facing = cv2.resize(-(dx * towards[0] + dy * towards[1]), (width, height), interpolation=cv2.INTER_LINEAR)
    across = np.linspace(-1, 1, width, dtype=np.float32)[None, :] * towards[0]
    down = np.linspace(-1, 1, height, dtype=np.float32)[:, None] * towards[1]
    slope = 0.18 * (across + down)
    return np.asarray(1 + light.shade * (np.clip(facing, -0.35, 0.35) + slope), dtype=np.float32)


def shadow(alpha: Field, *, light: Light) -> Field:
    """How much a thing darkens what is behind it.

    Args:
        alpha: float32 (h, w), 0..1, with room around it.
        light: The scene's.

    Returns:
        float32 (h, w), factors 0..1.
    """
    reach = shadow_reach_px(alpha.shape)
    towards = light.towards
    shift = np.array([[1, 0, -towards[0] * reach * 0.5], [0, 1, -towards[1] * reach * 0.5]], np.float32)
    moved = cv2.warpAffine(alpha, shift, alpha.shape[::-1])
    soft = cv2.GaussianBlur(moved, (0, 0), reach * 0.5, borderType=cv2.BORDER_CONSTANT)
    return np.asarray(1 - light.shadow * soft, dtype=np.float32)


def shadow_reach_px(size: tuple[int, ...]) -> float:
    """How far a shadow goes beyond a thing of a size."""
    return float(np.clip(0.04 * min(size), 1.5, 6.0))
