"""Smooth maps over a box, worked out on a coarse grid and enlarged: no map here needs more detail than that."""

from __future__ import annotations

from typing import Final, TypeAlias

import cv2
import numpy as np
from numpy.typing import NDArray

from auscult.arrays import boxes
from auscult.types import Box, Mask

Floats: TypeAlias = NDArray[np.float32]
Fine: TypeAlias = NDArray[np.float64]

MOST_CELLS: Final = 80


def grid(box: Box) -> tuple[Fine, Fine]:
    """Columns (1, m) and rows (n, 1) of the cells' centres, in frame pixels; at most ``MOST_CELLS`` either way."""
    width, height = box[2] - box[0], box[3] - box[1]
    columns, rows = min(width, MOST_CELLS), min(height, MOST_CELLS)
    x: Fine = (np.arange(columns, dtype=np.float64) + 0.5) * (width / columns) - 0.5 + box[0]
    y: Fine = (np.arange(rows, dtype=np.float64) + 0.5) * (height / rows) - 0.5 + box[1]
    return x[None, :], y[:, None]


def enlarged(cells: Fine, box: Box) -> Floats:
    """A coarse map at the box's full size, float32."""
    size = box[2] - box[0], box[3] - box[1]
    return np.asarray(cv2.resize(cells.astype(np.float32), size, interpolation=cv2.INTER_LINEAR), dtype=np.float32)


def shares(mask: Mask, box: Box) -> Floats:
    """Share of each cell that the mask covers, 0..1.

    Args:
        mask: bool (H, W) of the whole frame.
        box: Where to look.
    """
    x, y = grid(box)
    window = np.ascontiguousarray(mask[boxes.window(box)]).astype(np.float32)
    found = cv2.resize(window, (x.size, y.size), interpolation=cv2.INTER_AREA)
    return np.asarray(found, dtype=np.float32).reshape(y.size, x.size)


def wobble(angle: Fine, turn: float) -> Fine:
    """Factor on a blob's radius by angle in radians, mean 1: an outline drawn by hand, 0.6 to 1.4."""
    factor: Fine = (
        1.0 + 0.22 * np.cos(2 * angle + turn) + 0.12 * np.cos(3 * angle - 2 * turn) + 0.06 * np.cos(5 * angle)
    )
    return factor
