"""Which colours are the object's: in the whole first frame, and around each place of the present one.

Colours are those of a palette, fitted to what lies inside and around the object in the first frame. Around each place
the share of a colour that the object holds is counted in a window (after local colour models, Bai et al., "Video
SnapCut", SIGGRAPH 2009), so that a colour can be the object's here and the ground's there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias

import cv2
import numpy as np
from numpy.typing import NDArray

from auscult.models.classical.flow_motion import Floats

Labels: TypeAlias = NDArray[np.intp]

_COLOURS: Final = 32  # half of them of the object, half of what is around it
_SAMPLES: Final = 1500
_AROUND_PX: Final = 41
_LEVELS: Final = 32  # of each channel, in the table from colour to palette
_FLOOR: Final = 0.003
_MOST: Final = 3.0
_FAR: Final = 0.1  # weight of what lies beyond ``_NEAR_PX`` of the object
_NEAR_PX: Final = 61
_CELL_PX: Final = 4
_PRIOR: Final = 2.0  # pixels of either kind that each window is taken to hold beforehand, half and half
_UNTRUSTED: Final = 0.2


@dataclass(frozen=True, slots=True, eq=False)
class Palette:
    """Colours of a clip.

    Attributes:
        table: intp (32768,): the palette's colour for five bits of each channel of Lab.
        evidence: float32 (colours,), within -3..3: log ratio of the colour's share of the object to its share of what
            is not, in the first frame.
    """

    table: Labels
    evidence: Floats

    @classmethod
    def of(cls, lab: NDArray[np.uint8], mask: Floats) -> Palette:
        """The palette of a first frame.

        Args:
            lab: uint8 (h, w, 3).
            mask: Soft mask of the object, (h, w).
        """
        table = _table(lab, mask)
        labels = _labels(table, lab)
        near = cv2.dilate((mask > 0.5).astype(np.uint8), np.ones((_NEAR_PX, _NEAR_PX), np.uint8))
        inside = _shares(labels, mask)
        outside = _shares(labels, (1 - mask) * np.where(near > 0, 1.0, _FAR))
        if not inside.any() or not outside.any():
            return cls(table, np.zeros(_COLOURS, np.float32))
        ratio = np.log((inside + _FLOOR) / (outside + _FLOOR))
        return cls(table, np.clip(ratio, -_MOST, _MOST).astype(np.float32))

    def labels(self, lab: NDArray[np.uint8]) -> Labels:
        """The palette's colour of each pixel, intp (h, w)."""
        return _labels(self.table, lab)


def local_share(labels: Labels, mask: Floats, trust: Floats, *, radius_px: float) -> Floats:
    """What share of each pixel's colour is the object's, around it.

    Args:
        labels: The palette's colours, (h, w).
        mask: Soft mask, as carried here, (h, w).
        trust: How far it can be believed, 0..1, (h, w).
        radius_px: Half a window.

    Returns:
        float32 (h, w), 0..1; one half where nothing is known.
    """
    height, width = labels.shape
    rows, columns = -(-height // _CELL_PX), -(-width // _CELL_PX)
    cell = (np.arange(height) // _CELL_PX * columns)[:, None] + np.arange(width) // _CELL_PX
    places = (cell * _COLOURS + labels).reshape(-1)
    weights = _UNTRUSTED + (1 - _UNTRUSTED) * trust
    side = 2 * round(radius_px / _CELL_PX) + 1
    counts = []
    for part in (weights * mask, weights):
        counted = np.bincount(places, part.reshape(-1), minlength=rows * columns * _COLOURS)
        grid = counted.reshape(rows, columns, _COLOURS).astype(np.float32)
        counts.append(cv2.boxFilter(grid, -1, (side, side), normalize=False).reshape(-1))
    share = (counts[0] + _PRIOR / 2) / (counts[1] + _PRIOR)
    return np.asarray(share[places].reshape(height, width), dtype=np.float32)


def _table(lab: NDArray[np.uint8], mask: Floats) -> Labels:
    inside = mask > 0.5
    around = cv2.dilate(inside.astype(np.uint8), np.ones((_AROUND_PX, _AROUND_PX), np.uint8)) > 0
    centres = np.concatenate([_centres(lab[part] if part.any() else lab) for part in (inside, around & ~inside)])
    axis = (np.arange(_LEVELS, dtype=np.float32) + 0.5) * (256 / _LEVELS)
    grid = np.stack(np.meshgrid(axis, axis, axis, indexing="ij"), axis=-1).reshape(-1, 3)
    distance = (centres * centres).sum(axis=1) - 2 * (grid @ centres.T)
    return np.asarray(np.argmin(distance, axis=1), dtype=np.intp)


def _centres(pixels: NDArray[np.uint8]) -> Floats:
    flat = pixels.reshape(-1, 3)
    chosen = flat[np.linspace(0, len(flat) - 1, _SAMPLES).astype(np.intp)].astype(np.float32)
    cv2.setRNGSeed(0)  # OpenCV's k-means draws its first centres from OpenCV's own generator
    limits = (cv2.TERM_CRITERIA_EPS + cv2.TERM_CRITERIA_COUNT, 10, 1.0)
    labels = np.zeros((len(chosen), 1), np.int32)
    _, _, centres = cv2.kmeans(chosen, _COLOURS // 2, labels, limits, 1, cv2.KMEANS_PP_CENTERS)
    return np.asarray(centres, dtype=np.float32)


def _labels(table: Labels, lab: NDArray[np.uint8]) -> Labels:
    level = (lab >> 3).astype(np.intp)
    return np.asarray(table[(level[..., 0] * _LEVELS + level[..., 1]) * _LEVELS + level[..., 2]])


def _shares(labels: Labels, weights: NDArray[np.floating]) -> NDArray[np.float64]:
    counts = np.bincount(labels.reshape(-1), weights.reshape(-1), minlength=_COLOURS)
    total = counts.sum()
    return np.asarray(counts / total if total > 0 else counts)
