"""Cues from colour: which pixels near the outline look like the object's inside, and which like its surroundings.

Two Lab histograms, of the mask's core and of the ring around it, give each pixel a log ratio: positive looks like the
inside. Positive outside the outline hints at a missing piece, negative inside at a piece too many.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from auscult.judge.masks.colours import SIZE, bins_of, shares_of, tables_of
from auscult.judge.masks.cues.view import View, parts_of
from auscult.types import Box, Mask

_CORE = -0.25
_RING = (0.3, 1.6)
_MOST = 3.0
_BANDS = {
    "colour_deep_inside": (-0.6, -0.35),
    "colour_inside": (-0.35, -0.18),
    "colour_just_inside": (-0.18, 0.0),
    "colour_just_outside": (0.0, 0.18),
    "colour_outside": (0.18, 0.35),
    "colour_far_outside": (0.35, 0.7),
}
_NEAR = (-0.6, 0.7)


@dataclass(frozen=True, slots=True, kw_only=True)
class Colour:
    """The findings of this module; boxes in view pixels.

    Attributes:
        cues: All cues of this module, by name (see ``catalogue``).
        missing_box: Box of the largest region outside that looks like the inside.
        foreign_box: Box of the largest region inside that looks like the outside.
    """

    cues: dict[str, float]
    missing_box: Box | None
    foreign_box: Box | None


def colour_of(view: View) -> Colour:
    """Compare the colours of both sides of the outline."""
    core = view.distance < _CORE
    if not core.any():
        core = view.mask
    ring = (view.distance > _RING[0]) & (view.distance < _RING[1])
    if not ring.any():
        ring = ~view.mask
    if not ring.any():
        return Colour(cues=_neutral(), missing_box=None, foreign_box=None)
    ratio, likeness = _log_ratio(view, np.asarray(core), np.asarray(ring))
    cues = _band_cues(ratio, view.distance)
    cues["colour_step"] = cues["colour_just_inside"] - cues["colour_just_outside"]
    cues["colour_likeness"] = likeness
    cues["inside_spread"] = _spread(view, np.asarray(core))
    cues["outside_spread"] = _spread(view, np.asarray(ring))
    calm = cv2.blur(ratio, (5, 5))
    near = (view.distance > 0) & (view.distance < 0.8)
    missing, missing_box = _largest(np.asarray((calm > 0.4) & near), view.area)
    foreign, foreign_box = _largest(np.asarray((calm < -0.4) & view.mask), view.area)
    cues["missing_largest"], cues["foreign_largest"] = missing, foreign
    cues["foreign_share"] = float(np.count_nonzero((calm < 0) & view.mask)) / view.area
    cues["missing_share"] = float(np.sqrt(np.count_nonzero((calm > 0) & near) / view.area))
    return Colour(cues=cues, missing_box=missing_box, foreign_box=foreign_box)


def _spread(view: View, region: Mask) -> float:
    _, deviation = cv2.meanStdDev(view.lab, mask=region.view(np.uint8))
    return float(np.log1p(deviation.mean()))


def _neutral() -> dict[str, float]:
    names = (
        *_BANDS,
        "colour_step",
        "colour_likeness",
        "inside_spread",
        "outside_spread",
        "missing_largest",
        "foreign_largest",
        "foreign_share",
        "missing_share",
    )
    return dict.fromkeys(names, 0.0)


def _log_ratio(view: View, core: Mask, ring: Mask) -> tuple[NDArray[np.float32], float]:
    """Each pixel's log likelihood ratio, clipped, and how alike the two histograms are (0..1)."""
    index = bins_of(view.lab8, tables_of(view.lab8))
    # core and ring share no pixel, so that one count serves both
    where = index + (core * np.int16(SIZE) + ring * np.int16(2 * SIZE))
    counts = np.bincount(where.ravel(), minlength=3 * SIZE).astype(np.float64)
    inside, outside = shares_of(counts[SIZE : 2 * SIZE]), shares_of(counts[2 * SIZE :])
    ratio = np.clip(np.log(inside / outside), -_MOST, _MOST).astype(np.float32)
    return ratio.take(index), float(np.sqrt(inside * outside).sum())


def _band_cues(ratio: NDArray[np.float32], distance: NDArray[np.float32]) -> dict[str, float]:
    near = np.flatnonzero((distance >= _NEAR[0]) & (distance < _NEAR[1]))
    ratio, distance = ratio.ravel()[near], distance.ravel()[near]
    cues = {}
    for name, (low, high) in _BANDS.items():
        within = ratio[(distance >= low) & (distance < high)]
        cues[name] = float(within.mean()) if within.size else 0.0
    return cues


def _largest(region: Mask, area: int) -> tuple[float, Box | None]:
    parts = parts_of(region, connectivity=4)
    if len(parts) == 0:
        return 0.0, None
    row = parts[int(parts[:, 4].argmax())]
    x, y, width, height = (int(value) for value in row[:4])
    return float(np.sqrt(row[4] / area)), (x, y, x + width, y + height)
