"""Cues from the mask alone: holes, parts, and how the outline runs. No picture is needed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import cv2
import numpy as np
from numpy.typing import NDArray

from auscult.judge.masks.cues.view import View, parts_of
from auscult.types import Box, Mask

Contour: TypeAlias = NDArray[Any]

_SPECK = 0.001
_RADII = (("fine", 0.1), ("mid", 0.2), ("coarse", 0.4))


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """The findings of this module that a sentence or a picture needs; boxes in view pixels.

    Attributes:
        cues: All cues of this module, by name (see ``catalogue``).
        hole_box: Box of the largest hole.
        bite_box: Box of the largest notch of the outline.
        part_box: Box of the second largest part.
    """

    cues: dict[str, float]
    hole_box: Box | None
    bite_box: Box | None
    part_box: Box | None


def shape_of(view: View) -> Shape:
    """Measure the mask's shape."""
    filled, contours = _filled(view.mask)
    hole_cues, hole_box = _holes(view, filled)
    part_cues, part_box = _parts(view)
    rounding_cues, notches = _rounding(view, filled)
    bite_cues, bite_box = _bites(view, notches)
    cues = hole_cues | part_cues | bite_cues | _outline_cues(view, contours) | rounding_cues
    cues |= {
        "log_area": float(np.log(view.area_px)),
        "frame_share": float(np.sqrt(view.frame_share)),
        "thinness": float(np.log(view.area / view.thickness_px**2)),
    }
    return Shape(cues=cues, hole_box=hole_box, bite_box=bite_box, part_box=part_box)


def _filled(mask: Mask) -> tuple[Mask, Sequence[Contour]]:
    """The mask without its holes, and its outer outlines."""
    contours, tree = cv2.findContours(mask.view(np.uint8), cv2.RETR_CCOMP, cv2.CHAIN_APPROX_NONE)
    if not (tree[0, :, 3] >= 0).any():
        return mask, contours
    contours, _ = cv2.findContours(mask.view(np.uint8), cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
    canvas = np.zeros(mask.shape, np.uint8)
    cv2.drawContours(canvas, contours, -1, 1, cv2.FILLED)
    return canvas.view(np.bool_), contours


def _stat_box(row: NDArray[np.int32]) -> Box:
    x, y, width, height = (int(value) for value in row[:4])
    return x, y, x + width, y + height


def _holes(view: View, filled: Mask) -> tuple[dict[str, float], Box | None]:
    gaps, least = filled ^ view.mask, max(2, _SPECK * view.area)
    # most masks have no gap of note, and counting takes less time than separating
    stats = parts_of(gaps) if np.count_nonzero(gaps) >= least else np.zeros((0, 5), dtype=np.int32)
    stats = stats[stats[:, 4] >= least]
    if len(stats) == 0:
        return dict.fromkeys(("hole_count", "hole_share", "hole_largest", "hole_regularity"), 0.0), None
    areas = stats[:, 4] / view.area
    largest = stats[int(areas.argmax())]
    return {
        "hole_count": float(np.log1p(len(stats))),
        "hole_share": float(np.sqrt(areas.sum())),
        "hole_largest": float(np.sqrt(areas.max())),
        "hole_regularity": _regularity(float(largest[4]), float(largest[2] * largest[3])),
    }, _stat_box(largest)


def _regularity(area: float, box_area: float) -> float:
    """How close a region fills its box as a rectangle (1) or an upright ellipse (pi / 4) does, 0..1."""
    extent = area / max(box_area, 1.0)
    return max(0.0, 1.0 - 4 * min(abs(1.0 - extent), abs(np.pi / 4 - extent)))


def _parts(view: View) -> tuple[dict[str, float], Box | None]:
    stats = parts_of(view.mask)
    areas = stats[:, 4]
    order = np.argsort(areas)[::-1]
    kept = [int(index) for index in order if areas[index] >= _SPECK * view.area]
    second = float(areas[order[1]]) / view.area if len(order) > 1 else 0.0
    box = _stat_box(stats[int(order[1])]) if second > 0 else None
    cues = {
        "part_count": float(np.log(max(len(kept), 1))),
        "parts_share": float(np.sqrt(1.0 - float(areas.max()) / view.area)),
        "part_second": float(np.sqrt(second)),
        "part_colour_gap": 0.0,
    }
    if second > 0.01:
        labels = cv2.connectedComponents(view.mask.view(np.uint8), connectivity=8, ltype=cv2.CV_16U)[1]
        means = [view.lab[labels == 1 + int(index)].mean(axis=0) for index in order[:2]]
        cues["part_colour_gap"] = float(np.log1p(np.linalg.norm(means[0] - means[1])))
    for name, depth in (("neck_thin", 0.35), ("neck_thick", 0.7)):
        cues[name] = _split_share(np.asarray(view.distance < -depth))
    return cues, box


def _split_share(core: Mask) -> float:
    areas = np.sort(parts_of(core)[:, 4])[::-1]
    return float(np.sqrt(areas[1] / areas.sum())) if len(areas) > 1 else 0.0


def _bites(view: View, notches: Mask) -> tuple[dict[str, float], Box | None]:
    """Notches of the outline: what closing it fills."""
    none = {"notch_largest": 0.0, "notch_regularity": 0.0}
    if np.count_nonzero(notches) / view.area <= _SPECK:  # so is the largest
        return none, None
    stats = parts_of(notches)
    areas = stats[:, 4] / view.area
    if float(areas.max()) <= _SPECK:
        return none, None
    largest = stats[int(areas.argmax())]
    return {
        "notch_largest": float(np.sqrt(areas.max())),
        "notch_regularity": _regularity(float(largest[4]), float(largest[2] * largest[3])),
    }, _stat_box(largest)


def _rounding(view: View, filled: Mask) -> tuple[dict[str, float], Mask]:
    """Area lost by opening and gained by closing, and what the coarsest closing gains.

    Growing a mask rounds its outward corners, so that opening removes little; shrinking rounds the inward ones. The
    frame's border counts as neither side.
    """
    pad = int(np.ceil(_RADII[-1][1] * view.thickness_px)) + 2
    wide = np.asarray(cv2.copyMakeBorder(filled.view(np.uint8), pad, pad, pad, pad, cv2.BORDER_REPLICATE), np.uint8)
    to_border = _away_from(wide ^ np.uint8(1))
    farthest = to_border.max()
    to_border += _away_from(wide)  # one of the two is 0, so that their sum keeps both
    area = np.count_nonzero(filled)
    cues, notches = {}, np.zeros_like(filled)
    for name, share in _RADII:
        radius = max(1.0, share * view.thickness_px)
        # What is deep inside is farther than the radius from all outside, and the reverse: one distance to both gives
        # the opening where the mask is and the closing where it is not.
        near = (to_border <= radius).view(np.uint8)
        far = (_away_from(near) > radius)[pad:-pad, pad:-pad]
        lost = far & filled
        # with nothing far outside there is nothing that closing could stop at: then it changes nothing
        notches = far ^ lost if farthest > radius else np.zeros_like(filled)
        cues[f"spikes_{name}"] = float(np.sqrt(np.count_nonzero(lost) / area))
        cues[f"dents_{name}"] = float(np.sqrt(np.count_nonzero(notches) / area))
    return cues, notches


def _away_from(rest: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Distance to the nearest pixel that is 0; 0 on it, and beyond every radius where there is none."""
    if cv2.countNonZero(rest) == rest.size:
        return np.full(rest.shape, float(sum(rest.shape)), np.float32)
    return np.asarray(cv2.distanceTransform(rest, cv2.DIST_L2, 3), dtype=np.float32)


def _outline_cues(view: View, contours: Sequence[Contour]) -> dict[str, float]:
    largest = max(contours, key=cv2.contourArea)
    rough = sum(cv2.arcLength(contour, closed=True) for contour in contours)
    smooth = view.smooth_px
    hull = cv2.contourArea(cv2.convexHull(np.concatenate(contours)))
    own_hull = cv2.contourArea(cv2.convexHull(largest))
    _, _, width, height = cv2.boundingRect(view.mask.view(np.uint8))
    turning, wiggle = _turning(largest[:, 0, :].astype(np.float64), 0.06 * view.thickness_px + 1.5)
    return {
        "roughness": float(np.log(max(rough, 1.0) / max(smooth, 1.0))) if smooth > 0 else 0.0,
        "compactness": float(np.log(max(rough, 1.0) ** 2 / (4 * np.pi * max(view.area, 1)))),
        "solidity": min(1.0, view.area / max(hull, 1.0)),
        "solidity_largest": min(1.0, cv2.contourArea(largest) / max(own_hull, 1.0)),
        "box_fill": view.area / (width * height),
        "wiggle": wiggle,
        "turning_skew": turning,
        "straight_share": _straight_share(largest[:, 0, :], view),
    }


def _turning(points: NDArray[np.float64], sigma: float) -> tuple[float, float]:
    """Skew of the outline's curvature (outward corners positive) and its high-frequency energy."""
    if len(points) < 16:
        return 0.0, 0.0
    reach = max(2, round(2 * sigma))
    kernel = np.exp(-0.5 * (np.arange(-reach, reach + 1) / sigma) ** 2)
    kernel /= kernel.sum()
    ring = np.concatenate([points[-reach:], points, points[:reach]]) if len(points) > reach else points
    calm = np.stack([np.convolve(ring[:, axis], kernel, mode="valid") for axis in (0, 1)], axis=1)
    if len(calm) != len(points):
        return 0.0, 0.0
    closed = np.concatenate([calm[-1:], calm, calm[:1]])
    after, before = closed[2:], closed[:-2]
    first, second = (after - before) / 2, after - 2 * calm + before
    speed = np.maximum((first[:, 0] ** 2 + first[:, 1] ** 2) ** 1.5, 1e-3)
    bend = (first[:, 1] * second[:, 0] - first[:, 0] * second[:, 1]) / speed * sigma
    bend = np.minimum(np.maximum(bend, -2), 2)
    skew = float(np.cbrt((bend**3).mean()) / (np.sqrt((bend**2).mean()) + 1e-6))
    off = points - calm
    return skew, float(np.log1p(np.sqrt(off[:, 0] ** 2 + off[:, 1] ** 2).mean()))


def _straight_share(points: NDArray[Any], view: View) -> float:
    """Share of the outline, off the frame, in upright or level straight runs longer than a tenth of its box."""
    height, width = view.mask.shape
    left, top, right, bottom = view.at_frame
    straight = 0
    least = max(4.0, 0.15 * float(np.sqrt(view.area)))
    for axis, low, high, end in ((0, left, right, width), (1, top, bottom, height)):
        values = points[:, axis]
        border = (low & (values <= 1)) | (high & (values >= end - 2))
        breaks = np.concatenate([[0], np.flatnonzero(values[1:] != values[:-1]) + 1, [len(values)]])
        runs = np.diff(breaks)
        straight += int(runs[(runs >= least) & ~border[breaks[:-1]]].sum())
    return straight / max(len(points), 1)
