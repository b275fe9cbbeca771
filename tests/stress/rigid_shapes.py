"""A rigid shape that moves, turns and scales, for tests of tracks: its own coordinates are known."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from auscult.types import Mask


@dataclass(frozen=True, kw_only=True)
class Stance:
    """Where the shape is in one frame: centre, pixels per unit, turn in degrees."""

    x: float
    y: float
    scale: float
    turn_deg: float = 0.0

    def placed(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Pixels (x, y) of the shape's own coordinates (n, 2)."""
        return points @ _matrix(self.turn_deg).T * self.scale + (self.x, self.y)

    def own(self, pixels: NDArray[np.float64]) -> NDArray[np.float64]:
        """The shape's own coordinates of pixels."""
        return (pixels - (self.x, self.y)) @ _matrix(self.turn_deg) / self.scale


def _matrix(turn_deg: float) -> NDArray[np.float64]:
    turn = np.deg2rad(turn_deg)
    return np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])


def outline(seed: int, *, slender: float = 0.7) -> NDArray[np.float64]:
    """A wavy outline of radius about 1, without a symmetry."""
    rng = np.random.default_rng(seed)
    angles = np.linspace(0, 2 * np.pi, 200, endpoint=False)
    wobble = sum(rng.uniform(0.02, 0.12) * np.sin(waves * angles + rng.uniform(0, 6.28)) for waves in range(1, 6))
    points = (1 + wobble)[:, None] * np.stack([np.cos(angles), slender * np.sin(angles)], axis=1)
    return np.asarray(points, dtype=np.float64)


def shape_mask(points: NDArray[np.float64], stance: Stance, *, shape: tuple[int, int] = (240, 320)) -> Mask:
    """The shape's mask, with a sixteenth of a pixel's exactness."""
    canvas = np.zeros(shape, np.uint8)
    corners = np.rint(stance.placed(points) * 16).astype(np.int32)
    cv2.fillPoly(canvas, [corners], (1,), shift=4)
    return canvas.view(np.bool_)


def centre(mask: Mask) -> NDArray[np.float64]:
    """Centroid (x, y) of a mask that is not empty."""
    rows, columns = np.nonzero(mask)
    return np.array([[columns.mean(), rows.mean()]])
