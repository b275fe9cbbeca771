"""Bring a thing's tones, sharpness and noise near those of the place it is put into."""

from __future__ import annotations

from typing import Any, Final

import cv2
import numpy as np
from numpy.typing import NDArray

from auscult.cases.scenes.appearance.light import Light
from auscult.cases.scenes.appearance.surroundings import YCC, Camera, Tones

Field = NDArray[np.float32]

_GAIN: Final = (0.5, 1.3)
_GAIN_WAY: Final = 0.9
_BRIGHT_GAIN: Final = 0.9  # least for a bright thing: darker, white would be called grey and orange brown
_SATURATION: Final = (0.72, 1.1)
_WARM: Final = np.array([0.05, 0.0, -0.06], np.float32)


def tone_map(own: Tones, *, around: Tones, camera: Camera, light: Light) -> Field:
    """Move a thing's exposure, colour cast and saturation part of the way to its surroundings.

    The way is short enough that a colour keeps its word.

    Args:
        own: Tones of the thing.
        around: Tones of the place.
        camera: The photograph's.
        light: The scene's.

    Returns:
        float32 (3, 3): new RGB from RGB.
    """
    least = float(np.interp(own.bright, (150, 215), (_GAIN[0], _BRIGHT_GAIN)))
    gain = float(np.clip((max(around.light, 8) / max(own.light, 8)) ** _GAIN_WAY * light.gain, least, _GAIN[1]))
    cast = np.clip((camera.mean / max(float(camera.mean.mean()), 8)) ** 0.3, 0.9, 1.1) * (1 + light.warmth * _WARM)
    saturation = float(np.clip((max(around.colour, 10) / max(own.colour, 10)) ** 0.35, *_SATURATION))
    paler = saturation * np.eye(3) + (1 - saturation) * YCC[0]
    return np.asarray((cast * gain)[:, None] * paler, dtype=np.float32)


def softened(weighted: NDArray[Any], *, sigma_px: float, speed_px: tuple[float, float]) -> Field:
    """Blur a premultiplied RGBA window as lens and shutter do: colours and alpha alike."""
    blurred: NDArray[Any] = weighted
    if sigma_px > 0.05:
        blurred = cv2.GaussianBlur(blurred, (0, 0), sigma_px, borderType=cv2.BORDER_CONSTANT)
    kernel = shutter(speed_px)
    if kernel is not None:
        blurred = cv2.filter2D(blurred, -1, kernel, borderType=cv2.BORDER_CONSTANT)
    return np.asarray(blurred, dtype=np.float32)


def shutter(speed_px: tuple[float, float]) -> Field | None:
    """The path of a point while the shutter is open, as a kernel that sums to 1; None below half a pixel."""
    length = float(np.hypot(*speed_px))
    if length < 0.5:
        return None
    reach = int(np.ceil(max(abs(speed_px[0]), abs(speed_px[1])) / 2)) + 1
    kernel = np.zeros((2 * reach + 1, 2 * reach + 1), np.float32)
    for share in np.linspace(-0.5, 0.5, 4 * int(np.ceil(length)) + 1):
        x, y = reach + share * speed_px[0], reach + share * speed_px[1]
        left, top = int(np.floor(x)), int(np.floor(y))
        for dy in (0, 1):
            for dx in (0, 1):
                kernel[top + dy, left + dx] += (1 - abs(x - left - dx)) * (1 - abs(y - top - dy))
    return np.asarray(kernel / kernel.sum(), dtype=np.float32)
