"""Small pieces of a picture that follow its edges, and which of them touch.

Nothing here depends on OpenCV's number of threads.

References: F. Meyer, "Color image segmentation", ICIP 1992 (watershed by flooding, as OpenCV has it).
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from auscult.types import Frame


@dataclass(frozen=True, slots=True, eq=False)
class Borders:
    """Pairs of pieces that touch, each pair once.

    Attributes:
        pairs: int64 (n, 2), the lower label first, in rising order.
        length_px: Neighbouring pixel pairs along each border, int64 (n,).
        strength: Sum of the edge strength along each border, float64 (n,).
    """

    pairs: NDArray[np.int64]
    length_px: NDArray[np.int64]
    strength: NDArray[np.float64]


def reduced(frame: Frame, side_px: int, *, least_px: int = 1) -> Frame:
    """A frame at most ``side_px`` long and at least ``least_px`` wide and high, by means of areas; never enlarged."""
    height, width = frame.shape[:2]
    scale = min(1.0, side_px / max(height, width))
    size = (max(least_px, round(width * scale)), max(least_px, round(height * scale)))
    return np.asarray(cv2.resize(frame, size, interpolation=cv2.INTER_AREA), dtype=np.uint8)


def edge_strength(lab: NDArray[np.uint8]) -> NDArray[np.float32]:
    """How fast the colour changes, of uint8 Lab (H, W, 3) as OpenCV scales it: float32 (H, W), grey levels a pixel."""
    smooth = np.asarray(cv2.GaussianBlur(lab, (3, 3), 0), dtype=np.uint8)
    total = np.zeros(lab.shape[:2], np.float32)
    for channel in range(3):
        plane = np.ascontiguousarray(smooth[..., channel])
        for step in ((1, 0), (0, 1)):
            slope = np.asarray(cv2.Sobel(plane, cv2.CV_16S, *step), dtype=np.float32) / 8.0
            total += slope * slope
    return np.sqrt(total)


def pieces(picture: Frame, strength: NDArray[np.float32], *, step_px: int) -> NDArray[np.int32]:
    """Cut a picture into pieces by flooding from the calmest pixel of each cell of a grid: int32 (H, W), 0..n-1."""
    height, width = strength.shape
    markers = np.zeros((height, width), np.int32)
    label = 0
    for top in range(0, height, step_px):
        for left in range(0, width, step_px):
            cell = strength[top : top + step_px, left : left + step_px]
            row, column = np.unravel_index(int(np.argmin(cell)), cell.shape)
            label += 1
            markers[top + row, left + column] = label
    return _without_gaps(flooded(picture, markers))


def flooded(picture: Frame, markers: NDArray[np.int32]) -> NDArray[np.int32]:
    """Labels of a picture flooded from markers of 1 and more, both (H, W); -1 on the lines between them."""
    # OpenCV always marks the outermost pixels as dividing lines: the padding keeps them outside of the picture.
    labels = np.pad(markers, 1)
    cv2.watershed(np.pad(picture, ((1, 1), (1, 1), (0, 0)), mode="edge"), labels)
    return labels[1:-1, 1:-1]


def _without_gaps(labels: NDArray[np.int32]) -> NDArray[np.int32]:
    """Give the dividing lines of a watershed to one of the pieces beside them, and number the pieces anew."""
    filled = labels
    while (filled <= 0).any():
        grown = np.maximum(filled, 0)
        padded = np.pad(grown, 1)
        best = np.zeros_like(grown)
        for rows, columns in ((0, 1), (1, 0), (1, 2), (2, 1)):
            shifted = padded[rows : rows + grown.shape[0], columns : columns + grown.shape[1]]
            np.maximum(best, shifted, out=best)
        filled = np.where(grown > 0, grown, best)
    _, dense = np.unique(filled, return_inverse=True)
    return dense.reshape(labels.shape).astype(np.int32)


def borders(labels: NDArray[np.int32], strength: NDArray[np.float32]) -> Borders:
    """Which pieces touch side by side, and the edge between them: the larger strength of each pair of pixels."""
    firsts, seconds, values = [], [], []
    for near, far in (
        ((slice(None), slice(None, -1)), (slice(None), slice(1, None))),
        ((slice(None, -1),), (slice(1, None),)),
    ):
        first, second = labels[near], labels[far]
        differ = first != second
        firsts.append(np.minimum(first, second)[differ])
        seconds.append(np.maximum(first, second)[differ])
        values.append(np.maximum(strength[near], strength[far])[differ])
    count = int(labels.max()) + 1
    keys = np.concatenate(firsts).astype(np.int64) * count + np.concatenate(seconds)
    distinct, inverse = np.unique(keys, return_inverse=True)
    return Borders(
        pairs=np.stack(np.divmod(distinct, count), axis=1),
        length_px=np.bincount(inverse, minlength=distinct.size),
        strength=np.asarray(np.bincount(inverse, np.concatenate(values), distinct.size), dtype=np.float64),
    )
