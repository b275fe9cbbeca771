"""Cues of a mask: its shape, the picture across its outline, colours inside and around it, other masks of the frame.

The neighbourhood of the outline is unrolled into a ribbon: one row per outline point, one column per offset along the
outward normal. An edge of the picture that runs outside the outline (positive offset) speaks for a mask that is too
small, one inside (negative offset) for a mask that is too large. Offsets are in units of the object's thickness (see
``view``).

Two Lab histograms, of the mask's core and of the ring around it, give each pixel a log ratio: positive looks like the
inside. Positive outside the outline hints at a missing piece, negative inside at a piece too many.

Other masks of a frame may be other candidates for the same object. One that shares half of its union with the
candidate, or that fills most of it, is taken for that and left out. They are compared in frame pixels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import cv2
import numpy as np
from numpy.typing import NDArray

from auscult.arrays.boxes import box_of, grown, window
from auscult.judge.masks.cues.model import CUES
from auscult.judge.masks.cues.view import LAB_BINS, CueView, bins_of, parts_of, shares_of, tables_of, view_of
from auscult.types import Box, Floats, Frame, Mask

Contour: TypeAlias = NDArray[Any]
Measured: TypeAlias = tuple[dict[str, float], dict[str, Box]]
"""Cues by name, see ``model.CUES``, and the boxes in view pixels of what some of them were read off, by the same names.
A cue of what is not there, such as a hole, is left out and counts as 0."""

_SPECK = 0.001
_RADII = (("fine", 0.1), ("mid", 0.2), ("coarse", 0.4))


def shape_of(view: CueView) -> Measured:
    """What the mask's shape shows."""
    filled, contours = _filled(view.mask)
    rounding_cues, notches = _rounding(view, filled)
    cues = _outline_cues(view, contours) | rounding_cues
    cues |= {
        "log_area": float(np.log(view.area_px)),
        "frame_share": float(np.sqrt(view.frame_share)),
        "thinness": float(np.log(view.area / view.thickness_px**2)),
    }
    boxes: dict[str, Box] = {}
    for part_cues, part_boxes in (_holes(view, filled), _parts(view), _notch(view, notches)):
        cues |= part_cues
        boxes |= part_boxes
    return cues, boxes


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


def _holes(view: CueView, filled: Mask) -> Measured:
    gaps, least = filled ^ view.mask, max(2, _SPECK * view.area)
    # most masks have no gap of note, and counting takes less time than separating
    stats = parts_of(gaps) if np.count_nonzero(gaps) >= least else np.zeros((0, 5), dtype=np.int32)
    stats = stats[stats[:, 4] >= least]
    if len(stats) == 0:
        return {}, {}
    areas = stats[:, 4] / view.area
    largest = stats[int(areas.argmax())]
    return {
        "hole_count": float(np.log1p(len(stats))),
        "hole_share": float(np.sqrt(areas.sum())),
        "hole_largest": float(np.sqrt(areas.max())),
        "hole_regularity": _regularity(largest),
    }, {"hole_largest": _stat_box(largest)}


def _regularity(row: NDArray[np.int32]) -> float:
    """How close a row of ``parts_of`` fills its box as a rectangle (1) or an upright ellipse (pi / 4) does, 0..1."""
    extent = float(row[4]) / max(float(row[2] * row[3]), 1.0)
    return max(0.0, 1.0 - 4 * min(abs(1.0 - extent), abs(np.pi / 4 - extent)))


def _parts(view: CueView) -> Measured:
    stats = parts_of(view.mask)
    areas = stats[:, 4]
    order = np.argsort(areas)[::-1]
    large = [int(index) for index in order if areas[index] >= _SPECK * view.area]
    second = float(areas[order[1]]) / view.area if len(order) > 1 else 0.0
    boxes = {"part_second": _stat_box(stats[int(order[1])])} if second > 0 else {}
    cues = {
        "part_count": float(np.log(max(len(large), 1))),
        "parts_share": float(np.sqrt(1.0 - float(areas.max()) / view.area)),
        "part_second": float(np.sqrt(second)),
    }
    if second > 0.01:
        labels = cv2.connectedComponents(view.mask.view(np.uint8), connectivity=8, ltype=cv2.CV_16U)[1]
        means = [view.lab[labels == 1 + int(index)].mean(axis=0) for index in order[:2]]
        cues["part_colour_gap"] = float(np.log1p(np.linalg.norm(means[0] - means[1])))
    for name, depth in (("neck_thin", 0.35), ("neck_thick", 0.7)):
        pieces = np.sort(parts_of(np.asarray(view.distance < -depth))[:, 4])[::-1]
        cues[name] = float(np.sqrt(pieces[1] / pieces.sum())) if len(pieces) > 1 else 0.0
    return cues, boxes


def _notch(view: CueView, notches: Mask) -> Measured:
    """The largest notch of the outline, out of what closing it fills."""
    if np.count_nonzero(notches) / view.area <= _SPECK:  # so is the largest
        return {}, {}
    stats = parts_of(notches)
    areas = stats[:, 4] / view.area
    if float(areas.max()) <= _SPECK:
        return {}, {}
    largest = stats[int(areas.argmax())]
    cues = {"notch_largest": float(np.sqrt(areas.max())), "notch_regularity": _regularity(largest)}
    return cues, {"notch_largest": _stat_box(largest)}


def _rounding(view: CueView, filled: Mask) -> tuple[dict[str, float], Mask]:
    """Area lost by opening and gained by closing, and what the coarsest closing gains.

    Growing a mask rounds its outward corners, so that opening removes little; shrinking rounds the inward ones. The
    frame's border counts as neither side.
    """
    pad = int(np.ceil(_RADII[-1][1] * view.thickness_px)) + 2
    padded = np.asarray(cv2.copyMakeBorder(filled.view(np.uint8), pad, pad, pad, pad, cv2.BORDER_REPLICATE), np.uint8)
    to_border = _away_from(padded ^ np.uint8(1))
    farthest = to_border.max()
    to_border += _away_from(padded)  # one of the two is 0, so that their sum keeps both
    area = np.count_nonzero(filled)
    cues, notches = {}, np.zeros_like(filled)
    for name, share in _RADII:
        radius = max(1.0, share * view.thickness_px)
        # What is deep inside is farther than the radius from all outside, and the reverse: one distance to both gives
        # the opening where the mask is and the closing where it is not.
        border = (to_border <= radius).view(np.uint8)
        deep = (_away_from(border) > radius)[pad:-pad, pad:-pad]
        removed = deep & filled
        # with nothing far outside there is nothing that closing could stop at: then it changes nothing
        notches = deep ^ removed if farthest > radius else np.zeros_like(filled)
        cues[f"spikes_{name}"] = float(np.sqrt(np.count_nonzero(removed) / area))
        cues[f"dents_{name}"] = float(np.sqrt(np.count_nonzero(notches) / area))
    return cues, notches


def _away_from(nonzero: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Distance to the nearest pixel that is 0; 0 on it, and beyond every radius where there is none."""
    if cv2.countNonZero(nonzero) == nonzero.size:
        return np.full(nonzero.shape, float(sum(nonzero.shape)), np.float32)
    return np.asarray(cv2.distanceTransform(nonzero, cv2.DIST_L2, 3), dtype=np.float32)


def _outline_cues(view: CueView, contours: Sequence[Contour]) -> dict[str, float]:
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


def _straight_share(points: NDArray[Any], view: CueView) -> float:
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


_POINTS = 360
_REACH = 0.8
_STEPS = 33
_ACROSS = np.linspace(-_REACH, _REACH, _STEPS, dtype=np.float32)
_OFFSETS = _ACROSS[1:-1]  # of the edges, outside positive, in thicknesses
_WITHIN, _BEYOND = slice(10, 16), slice(17, 23)  # the steps from 0.05 to 0.3 inside and outside
_NEAR_EDGE = 0.4
_WINDOW_SHARE = 1 / 20
_QUIET = 0.5  # Lab units per step: an edge this faint is noise


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ribbon:
    """The unrolled neighbourhood of the outline."""

    points: Floats  # outline points (x, y) in view pixels, float32 (n, 2), off the frame's border
    inner: NDArray[np.bool_]  # whether a point is on a hole's outline, bool (n,)
    edges: Floats  # edge strength along the outward normal, at ``_OFFSETS``, in Lab units, float32 (n, 31), at least 0
    lab: Floats  # the picture's colours, float32 (n, 33, 3)
    on_frame_share: float  # share of the outline that lies on the frame's border, 0..1
    local_offset: Floats  # where the strongest edge near each point is, averaged along the outline, float32 (n,)
    local_strength: Floats  # how strong it is, relative to the ribbon's mean, float32 (n,)


def _ribbon_of(view: CueView) -> Ribbon:
    """Unroll the outline's neighbourhood; a mask with no outline inside the frame has no points."""
    points, inner = _outline(view)
    off_frame = ~_on_frame(points, view)
    share = 1.0 - float(off_frame.mean()) if len(points) else 1.0
    points, inner = points[off_frame], inner[off_frame]
    lab = _sampled(view, points)
    edges = _edges(lab)
    offset, strength = _local_peaks(edges)
    return Ribbon(
        points=points,
        inner=inner,
        edges=edges,
        lab=lab,
        on_frame_share=share,
        local_offset=offset,
        local_strength=strength,
    )


def _ribbon_cues(ribbon: Ribbon) -> dict[str, float]:
    contact = {"frame_contact": ribbon.on_frame_share}
    if len(ribbon.points) == 0:
        return contact
    return contact | _profile_cues(ribbon) | _peak_cues(ribbon) | _contrast_cues(ribbon)


_EDGE_BANDS = {
    "edge_far_inside": (-0.8, -0.35),
    "edge_inside": (-0.35, -0.18),
    "edge_just_inside": (-0.18, -0.07),
    "edge_on": (-0.07, 0.07),
    "edge_just_outside": (0.07, 0.18),
    "edge_outside": (0.18, 0.35),
    "edge_far_outside": (0.35, 0.8),
}


def _outline(view: CueView) -> tuple[Floats, NDArray[np.bool_]]:
    solid = (view.smooth >= 0.5).view(np.uint8)
    if not solid.any():
        solid = view.mask.view(np.uint8)
    contours, tree = cv2.findContours(solid, cv2.RETR_CCOMP, cv2.CHAIN_APPROX_NONE)
    total = sum(len(contour) for contour in contours)
    step = max(1, total // _POINTS)
    points = [contour[::step, 0, :] for contour in contours]
    inner = [np.full(len(part), tree[0][index][3] >= 0) for index, part in enumerate(points)]
    return np.concatenate(points).astype(np.float32), np.concatenate(inner)


def _on_frame(points: Floats, view: CueView) -> NDArray[np.bool_]:
    height, width = view.mask.shape
    margin = 1.0 + view.scale
    left, top, right, bottom = view.at_frame
    x, y = points[:, 0], points[:, 1]
    return np.asarray(
        (left & (x < margin))
        | (top & (y < margin))
        | (right & (x > width - 1 - margin))
        | (bottom & (y > height - 1 - margin))
    )


def _sampled(view: CueView, points: Floats) -> Floats:
    if len(points) == 0:
        return np.zeros((0, _STEPS, 3), dtype=np.float32)
    slope_x = cv2.Sobel(view.smooth, cv2.CV_32F, 1, 0, ksize=5)
    slope_y = cv2.Sobel(view.smooth, cv2.CV_32F, 0, 1, ksize=5)
    column, row = points[:, 0].astype(int), points[:, 1].astype(int)
    normal = -np.stack([slope_x[row, column], slope_y[row, column]], axis=1)
    normal /= np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-6)
    offsets = (_ACROSS * view.thickness_px)[None, :]
    across, down = (points[:, axis, None] + normal[:, axis, None] * offsets for axis in (0, 1))
    step = 2 * _REACH / (_STEPS - 1) * view.thickness_px
    blurred = cv2.GaussianBlur(view.lab, (0, 0), max(0.8, step / 2))
    return np.asarray(
        cv2.remap(blurred, across, down, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE), dtype=np.float32
    )


def _edges(lab: Floats) -> Floats:
    change = (lab[:, 2:] - lab[:, :-2]) / 2
    squares = change * change
    # the same as the sum over the last axis, which takes longer on three numbers
    return np.asarray(np.sqrt(squares[..., 0] + squares[..., 1] + squares[..., 2]), dtype=np.float32)


def _local_peaks(edges: Floats) -> tuple[Floats, Floats]:
    if len(edges) == 0:
        return np.zeros(0, np.float32), np.zeros(0, np.float32)
    rows = max(1, round(len(edges) * _WINDOW_SHARE))
    smoothed = cv2.blur(edges, (1, rows), borderType=cv2.BORDER_REFLECT) if rows > 1 else edges
    columns = _between(-_NEAR_EDGE, _NEAR_EDGE)
    # a slight preference for the outline itself, so that flat surroundings do not give random offsets
    window = smoothed[:, columns] * (1 - 0.3 * np.abs(_OFFSETS[columns])) + 0.02
    best = window.argmax(axis=1)
    strength = window[np.arange(len(window)), best] / (float(edges.mean()) + _QUIET)
    return _OFFSETS[columns][best].astype(np.float32), strength.astype(np.float32)


def _profile_cues(ribbon: Ribbon) -> dict[str, float]:
    profile = ribbon.edges.mean(axis=0)
    level = float(profile.mean()) + _QUIET
    cues = {}
    for name, band in _EDGE_BANDS.items():
        cues[name] = float(np.log((_mean(profile[_between(*band)]) + _QUIET) / level))
    return cues


def _between(low: float, high: float) -> slice:
    """The steps of ``_OFFSETS`` from ``low`` to ``high``, both included."""
    first, last = np.array((low, high), dtype=_OFFSETS.dtype)
    return slice(int(_OFFSETS.searchsorted(first, "left")), int(_OFFSETS.searchsorted(last, "right")))


def _mean(values: Floats) -> Any:
    """The same as ``values.mean()``, which takes longer than the sum on few values."""
    return np.add.reduce(values) / len(values)


def _share(flags: NDArray[np.bool_]) -> float:
    return int(np.count_nonzero(flags)) / len(flags)


def _median(values: Floats) -> float:
    ordered = np.sort(values)
    return float(_mean(ordered[(len(ordered) - 1) // 2 : len(ordered) // 2 + 1]))


def _peak_cues(ribbon: Ribbon) -> dict[str, float]:
    outer = ~ribbon.inner if not ribbon.inner.all() else ribbon.inner
    offset, strength = ribbon.local_offset[outer], ribbon.local_strength[outer]
    weight = strength / max(float(strength.sum()), 1e-6)
    mean_offset = (weight * offset).sum()
    at_outline = ribbon.edges[:, _between(-0.1, 0.1)].max(axis=1)
    level = float(ribbon.edges.mean()) + _QUIET
    return {
        "peak_offset": _median(offset),
        "mean_peak_offset": float(mean_offset),
        "peak_spread": float(np.sqrt((weight * (offset - mean_offset) ** 2).sum())),
        "peak_on_share": _share(np.abs(offset) <= 0.08),
        "peak_outside_share": _share(offset > 0.08),
        "peak_inside_share": _share(offset < -0.08),
        "run_outside": _longest_run(offset > 0.1),
        "run_inside": _longest_run(offset < -0.1),
        "unsupported_share": _share(at_outline < level),
    }


def _contrast_cues(ribbon: Ribbon) -> dict[str, float]:
    within, beyond = ribbon.lab[:, _WITHIN].mean(axis=1), ribbon.lab[:, _BEYOND].mean(axis=1)
    contrast = np.linalg.norm(within - beyond, axis=1)
    on_outline = ribbon.edges[:, _between(-0.1, 0.1)].mean(axis=1)
    holes, outer = on_outline[ribbon.inner], on_outline[~ribbon.inner]
    support = 0.0
    if holes.size and outer.size:
        support = float(np.log((holes.mean() + _QUIET) / (outer.mean() + _QUIET)))
    return {
        "edge_strength": float(np.log1p(ribbon.edges.mean())),
        "contrast": float(np.log1p(contrast.mean())),
        "contrast_weak_share": _share(contrast < 6.0),
        "hole_edge_support": support,
    }


def _longest_run(flags: NDArray[np.bool_]) -> float:
    if not flags.any():
        return 0.0
    if flags.all():
        return 1.0
    start = int(np.flatnonzero(~flags)[0])  # the outline is a ring: begin at a gap
    turned = np.roll(flags, -start).astype(np.int8)
    edges = np.flatnonzero(np.diff(np.concatenate([[0], turned, [0]])))
    return float((edges[1::2] - edges[::2]).max()) / len(flags)


_CORE = -0.25
_RING = (0.3, 1.6)
_MOST = 3.0
_COLOUR_BANDS = {
    "colour_deep_inside": (-0.6, -0.35),
    "colour_inside": (-0.35, -0.18),
    "colour_just_inside": (-0.18, 0.0),
    "colour_just_outside": (0.0, 0.18),
    "colour_outside": (0.18, 0.35),
    "colour_far_outside": (0.35, 0.7),
}
_NEAR = (-0.6, 0.7)


def _colour(view: CueView) -> Measured:
    """What the colours of both sides of the outline show; nothing where a side is empty."""
    core = view.distance < _CORE
    if not core.any():
        core = view.mask
    ring = (view.distance > _RING[0]) & (view.distance < _RING[1])
    if not ring.any():
        ring = ~view.mask
    if not ring.any():
        return {}, {}
    ratio, likeness = _log_ratio(view, np.asarray(core), np.asarray(ring))
    cues = _band_cues(ratio, view.distance)
    cues["colour_step"] = cues["colour_just_inside"] - cues["colour_just_outside"]
    cues["colour_likeness"] = likeness
    cues["inside_spread"] = _spread(view, np.asarray(core))
    cues["outside_spread"] = _spread(view, np.asarray(ring))
    calm = cv2.blur(ratio, (5, 5))
    nearby = (view.distance > 0) & (view.distance < 0.8)
    boxes: dict[str, Box] = {}
    for name, region in (("missing_largest", (calm > 0.4) & nearby), ("foreign_largest", (calm < -0.4) & view.mask)):
        parts = parts_of(np.asarray(region), connectivity=4)
        if len(parts):
            largest = parts[int(parts[:, 4].argmax())]
            cues[name], boxes[name] = float(np.sqrt(largest[4] / view.area)), _stat_box(largest)
    cues["foreign_share"] = float(np.count_nonzero((calm < 0) & view.mask)) / view.area
    cues["missing_share"] = float(np.sqrt(np.count_nonzero((calm > 0) & nearby) / view.area))
    return cues, boxes


def _spread(view: CueView, region: Mask) -> float:
    _, deviation = cv2.meanStdDev(view.lab, mask=region.view(np.uint8))
    return float(np.log1p(deviation.mean()))


def _log_ratio(view: CueView, core: Mask, ring: Mask) -> tuple[NDArray[np.float32], float]:
    """Each pixel's log likelihood ratio, clipped, and how alike the two histograms are (0..1)."""
    index = bins_of(view.lab8, tables_of(view.lab8))
    # core and ring share no pixel, so that one count serves both
    keys = index + (core * np.int16(LAB_BINS) + ring * np.int16(2 * LAB_BINS))
    counts = np.bincount(keys.ravel(), minlength=3 * LAB_BINS).astype(np.float64)
    inside, outside = shares_of(counts[LAB_BINS : 2 * LAB_BINS]), shares_of(counts[2 * LAB_BINS :])
    ratio = np.clip(np.log(inside / outside), -_MOST, _MOST).astype(np.float32)
    return ratio.take(index), float(np.sqrt(inside * outside).sum())


def _band_cues(ratio: NDArray[np.float32], distance: NDArray[np.float32]) -> dict[str, float]:
    nearby = np.flatnonzero((distance >= _NEAR[0]) & (distance < _NEAR[1]))
    ratio, distance = ratio.ravel()[nearby], distance.ravel()[nearby]
    cues = {}
    for name, (low, high) in _COLOUR_BANDS.items():
        within = ratio[(distance >= low) & (distance < high)]
        cues[name] = float(within.mean()) if within.size else 0.0
    return cues


_SAME_IOU = 0.5
_SWALLOWED = 0.8
_FILLS = 0.7
_RIM_PX = 2
_SPECK_PX = 4


def _scene(mask: Mask, others: Sequence[Mask]) -> tuple[dict[str, float], Box | None]:
    """What the frame's other masks show, in any order, with the box in frame pixels of the largest that is covered."""
    if not others:
        return {}, None
    swallowed, overlap, touching = 0.0, 0.0, 0.0
    box: Box | None = None
    height, width = mask.shape
    around = window(grown(box_of(mask) or (0, 0, width, height), _RIM_PX, (height, width)))
    crop = mask[around]
    area = int(np.count_nonzero(crop))
    kernel = np.ones((2 * _RIM_PX + 1, 2 * _RIM_PX + 1), np.uint8)
    rim = np.asarray(cv2.dilate(crop.astype(np.uint8), kernel) > 0) & ~crop
    length = max(int(np.count_nonzero(rim)), 1)
    for other in others:
        other_crop = other[around]
        both = int(np.count_nonzero(crop & other_crop))
        size = int(np.count_nonzero(other))
        fills = both / area
        if size < _SPECK_PX or both / (area + size - both) > _SAME_IOU or fills > _FILLS:
            continue
        overlap = max(overlap, fills)
        touching = max(touching, int(np.count_nonzero(rim & other_crop)) / length)
        if both / size > _SWALLOWED and fills > swallowed:
            swallowed, box = fills, box_of(other)
    cues = {"swallowed": float(np.sqrt(swallowed)), "overlap": float(np.sqrt(overlap)), "touching": touching}
    return cues, box


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Findings:
    """What was measured of one candidate."""

    view: CueView  # the part of the frame that was looked at
    ribbon: Ribbon  # the picture across the outline
    cues: dict[str, float]  # every cue by name, finite
    # where the largest hole, notch, second part and regions of a foreign colour lie, by the name of their cue, in
    # view pixels; without what is not there
    boxes: dict[str, Box]
    swallowed_box: Box | None  # box of the largest other object that the candidate covers, in frame pixels

    def vector(self) -> NDArray[np.float64]:
        """The cues as float64 (len(CUES),), in the order of ``CUES``."""
        return np.array([self.cues[cue.name] for cue in CUES], dtype=np.float64)


def measure(frame: Frame, mask: Mask, *, others: Sequence[Mask] = ()) -> Findings | None:
    """Measure every cue of a mask, bool (H, W), on a frame, uint8 RGB (H, W, 3); None for an empty mask."""
    view = view_of(frame, mask)
    if view is None:
        return None
    ribbon = _ribbon_of(view)
    (shape, shape_boxes), (colour, colour_boxes) = shape_of(view), _colour(view)
    scene, swallowed_box = _scene(mask, others)
    values = shape | _ribbon_cues(ribbon) | colour | scene
    cues = {cue.name: float(min(max(values.get(cue.name, 0.0), cue.low), cue.high)) for cue in CUES}
    boxes = shape_boxes | colour_boxes
    return Findings(view=view, ribbon=ribbon, cues=cues, boxes=boxes, swallowed_box=swallowed_box)
