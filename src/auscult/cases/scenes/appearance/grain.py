"""Noise of a camera: one small tile a picture, tied to the picture's own pixels, so that it stays where it is."""

from __future__ import annotations

import math
from typing import Any, Final

import cv2
import numpy as np
from numpy.typing import NDArray

from auscult import rng as randomness
from auscult.cases.scenes.appearance.surroundings import fine_detail, luma_of

Field = NDArray[np.float32]

SIDE_PX: Final = 128
_COLOUR: Final = np.float32(0.35)  # of the colour noise, against 1 of the luma noise


def tile(seed: int, *, blur_px: float) -> Field:
    """A tile of noise that repeats without a seam.

    Args:
        seed: Of the noise.
        blur_px: How soft it is; noise of an enlarged or compressed picture is.

    Returns:
        float32 (128, 128, 3); its fine detail, measured as in ``surroundings``, is that of noise of 1.
    """
    rng = randomness.generator(seed, "grain")
    white: NDArray[Any] = rng.standard_normal((SIDE_PX, SIDE_PX, 4), dtype=np.float32)
    if blur_px > 0.2:
        border = 8
        wrapped = cv2.copyMakeBorder(white, border, border, border, border, cv2.BORDER_WRAP)
        white = cv2.GaussianBlur(wrapped, (0, 0), blur_px)[border:-border, border:-border]
    noise = white[..., 3:] + _COLOUR * white[..., :3]
    return np.asarray(noise / max(float(fine_detail(luma_of(noise)).mean()), 1e-6), dtype=np.float32)


def widened(noise: Field, *, width: int) -> Field:
    """A tile repeated to the right, wide enough for any window of a picture of this width."""
    return np.tile(noise, (1, math.ceil(width / SIDE_PX), 1))


def window(noise: Field, *, x: int, y: int, size: tuple[int, ...]) -> Field:
    """The part of a widened tile, endlessly repeated downwards, that lies at a place, float32 (h, w, 3)."""
    return np.asarray(noise[:, x : x + size[1]][np.arange(y, y + size[0]) % SIDE_PX], dtype=np.float32)
