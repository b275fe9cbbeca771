"""Cues from the mask alone: holes, parts, and how the outline runs. No picture is needed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from auscult.arrays.boxes import box_of
from auscult.judge.masks.cues.view import View
from auscult.types import Box, Mask

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
    hole_cues, hole_box = _holes(view)
    part_cues, part_box = _parts(view)
    filled = _filled(view.mask)
    rounding_cues, closed = _rounding(view, filled)
    bite_cues, bite_box = _bites(view, filled, closed)
    cues = hole_cues | part_cues | bite_cues | _outline_cues(view, filled) | rounding_cues
    cues |= {
        "log_area": float(np.log(view.area_px)),
        "frame_share": float(np.sqrt(view.frame_share)),
        "thinness": float(np.log(view.area / view.thickness_px**2)),
    }
    return Shape(cues=cues, hole_box=hole_box, bite_box=bite_box, part_box=part_box)


def _components(mask: Mask) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    _, labels, stats, _ = cv2.connectedComponentsWithStats(np.ascontiguousarray(mask).view(np.uint8), connectivity=8)
    return np.asarray(labels), np.asarray(stats)


def _filled(mask: Mask) -> Mask:
    contours, _ = cv2.findContours(mask.view(np.uint8), cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
    canvas = np.zeros(mask.shape, np.uint8)
    cv2.drawContours(canvas, contours, -1, 1, cv2.FILLED)
    return np.asarray(canvas > 0)


def _stat_box(row: NDArray[np.int32]) -> Box:
    x, y, width, height = (int(value) for value in row[:4])
    return x, y, x + width, y + height


def _holes(view: View) -> tuple[dict[str, float], Box | None]:
    _, stats = _components(_filled(view.mask) & ~view.mask)
    stats = stats[1:]
    stats = stats[stats[:, 4] >= max(2, _SPECK * view.area)]
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
    labels, stats = _components(view.mask)
    areas = stats[1:, 4]
    order = np.argsort(areas)[::-1]
    kept = [int(index) for index in order if areas[index] >= _SPECK * view.area]
    second = float(areas[order[1]]) / view.area if len(order) > 1 else 0.0
    box = _stat_box(stats[1 + int(order[1])]) if second > 0 else None
    cues = {
        "part_count": float(np.log(max(len(kept), 1))),
        "parts_share": float(np.sqrt(1.0 - float(areas.max()) / view.area)),
        "part_second": float(np.sqrt(second)),
        "part_colour_gap": 0.0,
    }
    if second > 0.01:
        means = [view.lab[labels == 1 + int(index)].mean(axis=0) for index in order[:2]]
        cues["part_colour_gap"] = float(np.log1p(np.linalg.norm(means[0] - means[1])))
    for name, depth in (("neck_thin", 0.35), ("neck_thick", 0.7)):
        cues[name] = _split_share(np.asarray(view.distance < -depth))
    return cues, box


def _split_share(core: Mask) -> float:
    areas = np.sort(_components(core)[1][1:, 4])[::-1]
    return float(np.sqrt(areas[1] / areas.sum())) if len(areas) > 1 else 0.0


def _bites(view: View, filled: Mask, closed: Mask) -> tuple[dict[str, float], Box | None]:
    """Notches of the outline: what closing it fills."""
    _, stats = _components(closed & ~filled)
    stats = stats[1:]
    areas = stats[:, 4] / view.area
    if len(stats) == 0 or float(areas.max()) <= _SPECK:
        return {"notch_largest": 0.0, "notch_regularity": 0.0}, None
    largest = stats[int(areas.argmax())]
    return {
        "notch_largest": float(np.sqrt(areas.max())),
        "notch_regularity": _regularity(float(largest[4]), float(largest[2] * largest[3])),
    }, _stat_box(largest)


def _rounding(view: View, filled: Mask) -> tuple[dict[str, float], Mask]:
    """Area lost by opening and gained by closing, and the coarsest closing.

    Growing a mask rounds its outward corners, so that opening removes little; shrinking rounds the inward ones. The
    frame's border counts as neither side.
    """
    pad = int(np.ceil(_RADII[-1][1] * view.thickness_px)) + 2
    wide = np.pad(filled, pad, mode="edge")
    to_mask, to_rest = _away_from(wide), _away_from(~wide)
    area = np.count_nonzero(filled)
    cues, closed = {}, filled
    for name, share in _RADII:
        radius = max(1.0, share * view.thickness_px)
        core = to_rest > radius
        opened = (_away_from(core) <= radius)[pad:-pad, pad:-pad] if core.any() else np.zeros_like(filled)
        halo = to_mask <= radius
        closed = filled if halo.all() else filled | (_away_from(~halo) > radius)[pad:-pad, pad:-pad]
        cues[f"spikes_{name}"] = float(np.sqrt(np.count_nonzero(filled & ~opened) / area))
        cues[f"dents_{name}"] = float(np.sqrt(np.count_nonzero(closed & ~filled) / area))
    return cues, closed


def _away_from(mask: Mask) -> NDArray[np.float32]:
    """Distance to the mask's nearest pixel; 0 on it."""
    if not mask.any():
        return np.full(mask.shape, float(sum(mask.shape)), np.float32)
    return np.asarray(cv2.distanceTransform((~mask).view(np.uint8), cv2.DIST_L2, 3), dtype=np.float32)


def _outline_cues(view: View, filled: Mask) -> dict[str, float]:
    contours, _ = cv2.findContours(filled.view(np.uint8), cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
    largest = max(contours, key=cv2.contourArea)
    rough = sum(cv2.arcLength(contour, closed=True) for contour in contours)
    calm, _ = cv2.findContours((view.smooth >= 0.5).view(np.uint8), cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
    smooth = sum(cv2.arcLength(contour, closed=True) for contour in calm)
    hull = cv2.contourArea(cv2.convexHull(np.concatenate(contours)))
    own_hull = cv2.contourArea(cv2.convexHull(largest))
    bounds = box_of(view.mask)
    box_area = 1 if bounds is None else (bounds[2] - bounds[0]) * (bounds[3] - bounds[1])
    turning, wiggle = _turning(largest[:, 0, :].astype(np.float64), 0.06 * view.thickness_px + 1.5)
    return {
        "roughness": float(np.log(max(rough, 1.0) / max(smooth, 1.0))) if smooth > 0 else 0.0,
        "compactness": float(np.log(max(rough, 1.0) ** 2 / (4 * np.pi * max(view.area, 1)))),
        "solidity": min(1.0, view.area / max(hull, 1.0)),
        "solidity_largest": min(1.0, cv2.contourArea(largest) / max(own_hull, 1.0)),
        "box_fill": view.area / box_area,
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
    first = (np.roll(calm, -1, axis=0) - np.roll(calm, 1, axis=0)) / 2
    second = np.roll(calm, -1, axis=0) - 2 * calm + np.roll(calm, 1, axis=0)
    speed = np.maximum((first**2).sum(axis=1) ** 1.5, 1e-3)
    bend = (first[:, 1] * second[:, 0] - first[:, 0] * second[:, 1]) / speed * sigma
    bend = np.clip(bend, -2, 2)
    skew = float(np.cbrt((bend**3).mean()) / (np.sqrt((bend**2).mean()) + 1e-6))
    return skew, float(np.log1p(np.linalg.norm(points - calm, axis=1).mean()))


def _straight_share(points: NDArray[Any], view: View) -> float:
    """Share of the outline, off the frame, in upright or level straight runs longer than a tenth of its box."""
    height, width = view.mask.shape
    left, top, right, bottom = view.at_frame
    straight = 0
    least = max(4.0, 0.15 * float(np.sqrt(view.area)))
    for axis, low, high, end in ((0, left, right, width), (1, top, bottom, height)):
        values = points[:, axis]
        border = (low & (values <= 1)) | (high & (values >= end - 2))
        breaks = np.flatnonzero(np.diff(np.concatenate([[-9], values, [-9]])) != 0)
        runs = np.diff(breaks)
        straight += int(runs[(runs >= least) & ~border[breaks[:-1]]].sum())
    return straight / max(len(points), 1)
