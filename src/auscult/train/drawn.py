"""Drawn pictures with exact masks: textured shapes on textured ground, unlike the photographs of the fit.

Photographs of a few dozen scenes hold few objects with a clean outline and strong contrast all round. Without some, a
fit concludes that a clean outline excuses a second object. These pictures teach that it does not.
"""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from auscult.rng import generator
from auscult.types import Frame, Mask

_LEAST_VISIBLE_PX = 32 * 32


def drawn(number: int, *, seed: int) -> tuple[Frame, tuple[Mask, ...]]:
    """Draw one picture.

    Args:
        number: Which picture; each has its own draws.
        seed: The recipe's seed.

    Returns:
        The frame, uint8 RGB (H, W, 3), and the visible mask of each object of at least 32 x 32 pixels.
    """
    rng = generator(seed, "drawn", number)
    height, width = (int(side) for side in rng.integers(180, 420, 2))
    canvas = _textured(rng, (height, width))
    masks: list[Mask] = []
    for _ in range(int(rng.integers(1, 5))):
        mask = _shape(rng, (height, width))
        canvas = np.where(mask[..., None], _textured(rng, (height, width)), canvas)
        masks = [earlier & ~mask for earlier in masks] + [mask]
    blurred = cv2.GaussianBlur(canvas.astype(np.float32), (0, 0), float(rng.uniform(0.4, 1.8)))
    noisy = blurred + rng.normal(0, float(rng.uniform(0, 8)), blurred.shape)
    frame = np.clip(noisy, 0, 255).astype(np.uint8)
    return frame, tuple(mask for mask in masks if np.count_nonzero(mask) >= _LEAST_VISIBLE_PX)


def _textured(rng: np.random.Generator, size: tuple[int, int]) -> NDArray[np.float64]:
    """A colour with grain: from flat to strongly mottled."""
    grain = cv2.GaussianBlur(rng.normal(0, 1, (*size, 3)).astype(np.float32), (0, 0), float(rng.uniform(0.8, 8)))
    contrast = float(rng.choice([0.0, 6.0, 18.0, 35.0])) / max(float(np.std(grain)), 1e-6)
    slope = np.linspace(-1, 1, size[1])[None, :, None] * rng.uniform(-25, 25, 3)
    return np.asarray(rng.uniform(30, 225, 3) + contrast * grain + slope, dtype=np.float64)


def _shape(rng: np.random.Generator, size: tuple[int, int]) -> Mask:
    """An ellipse, a box, or a blob whose radius wanders, turned at random."""
    reach = float(rng.uniform(0.1, 0.33)) * min(size)
    stretch = float(np.exp(rng.uniform(-0.7, 0.7)))
    turn = float(rng.uniform(0, np.pi))
    rows, columns = np.ogrid[: size[0], : size[1]]
    y, x = rows - rng.uniform(0.15, 0.85) * size[0], columns - rng.uniform(0.15, 0.85) * size[1]
    along = (np.cos(turn) * x + np.sin(turn) * y) / (reach * stretch)
    across = (np.cos(turn) * y - np.sin(turn) * x) / (reach / stretch)
    if rng.random() < 0.3:
        return np.asarray((np.abs(along) <= 1) & (np.abs(across) <= 1))
    radius = np.ones(along.shape)
    angle = np.arctan2(across, along)
    for waves in range(2, int(rng.integers(2, 8))):
        radius += rng.uniform(0, 0.5 / waves) * np.cos(waves * angle + rng.uniform(0, 2 * np.pi))
    return np.asarray(along**2 + across**2 <= radius**2)
