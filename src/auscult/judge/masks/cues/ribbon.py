"""Cues from the picture across the outline: is there an edge, and is it on the outline, outside or inside of it?

The neighbourhood of the outline is unrolled into a ribbon: one row per outline point, one column per offset along the
outward normal. An edge of the picture that runs outside the outline (positive offset) speaks for a mask that is too
small, one inside (negative offset) for a mask that is too large. Offsets are in units of the object's thickness (see
``view``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from auscult.judge.masks.cues.view import View

_POINTS = 360
_REACH = 0.8
_STEPS = 33
_WITHIN, _BEYOND = slice(10, 16), slice(17, 23)  # the steps from 0.05 to 0.3 inside and outside
_NEAR = 0.4
_WINDOW_SHARE = 1 / 20
_QUIET = 0.5  # Lab units per step: an edge this faint is noise

Array = NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ribbon:
    """The unrolled neighbourhood of the outline.

    Attributes:
        points: Outline points (x, y) in view pixels, float32 (n, 2), off the frame's border.
        inner: Whether a point is on a hole's outline, bool (n,).
        offsets: Offsets along the outward normal, float32 (m,), in thicknesses.
        edges: Edge strength along the normal in Lab units, float32 (n, m), at least 0.
        lab: The picture's colours, float32 (n, m, 3).
        on_frame_share: Share of the outline that lies on the frame's border, 0..1.
        local_offset: Where the strongest edge near each point is, averaged along the outline, float32 (n,).
        local_strength: How strong it is, relative to the ribbon's mean, float32 (n,).
    """

    points: Array
    inner: NDArray[np.bool_]
    offsets: Array
    edges: Array
    lab: Array
    on_frame_share: float
    local_offset: Array
    local_strength: Array


def ribbon_of(view: View) -> Ribbon:
    """Unroll the outline's neighbourhood; a mask with no outline inside the frame has no points."""
    points, inner = _outline(view)
    off_frame = ~_on_frame(points, view)
    share = 1.0 - float(off_frame.mean()) if len(points) else 1.0
    points, inner = points[off_frame], inner[off_frame]
    reach = np.linspace(-_REACH, _REACH, _STEPS, dtype=np.float32)
    lab = _sampled(view, points, reach)
    edges = _edges(lab)
    offset, strength = _local_peaks(edges, reach[1:-1])
    return Ribbon(
        points=points,
        inner=inner,
        offsets=reach[1:-1],
        edges=edges,
        lab=lab,
        on_frame_share=share,
        local_offset=offset,
        local_strength=strength,
    )


def ribbon_cues(ribbon: Ribbon) -> dict[str, float]:
    """All cues of this module, by name (see ``catalogue``)."""
    if len(ribbon.points) == 0:
        return dict.fromkeys(_NAMES, 0.0) | {"frame_contact": ribbon.on_frame_share}
    return (
        {"frame_contact": ribbon.on_frame_share} | _profile_cues(ribbon) | _peak_cues(ribbon) | _contrast_cues(ribbon)
    )


_BANDS = {
    "edge_far_inside": (-0.8, -0.35),
    "edge_inside": (-0.35, -0.18),
    "edge_just_inside": (-0.18, -0.07),
    "edge_on": (-0.07, 0.07),
    "edge_just_outside": (0.07, 0.18),
    "edge_outside": (0.18, 0.35),
    "edge_far_outside": (0.35, 0.8),
}
_NAMES = (
    *_BANDS,
    "peak_offset",
    "peak_spread",
    "peak_on_share",
    "peak_outside_share",
    "peak_inside_share",
    "run_outside",
    "run_inside",
    "unsupported_share",
    "mean_peak_offset",
    "edge_strength",
    "contrast",
    "contrast_weak_share",
    "hole_edge_support",
)


def _outline(view: View) -> tuple[Array, NDArray[np.bool_]]:
    solid = (view.smooth >= 0.5).view(np.uint8)
    if not solid.any():
        solid = view.mask.view(np.uint8)
    contours, tree = cv2.findContours(solid, cv2.RETR_CCOMP, cv2.CHAIN_APPROX_NONE)
    total = sum(len(contour) for contour in contours)
    step = max(1, total // _POINTS)
    points = [contour[::step, 0, :] for contour in contours]
    inner = [np.full(len(part), tree[0][index][3] >= 0) for index, part in enumerate(points)]
    return np.concatenate(points).astype(np.float32), np.concatenate(inner)


def _on_frame(points: Array, view: View) -> NDArray[np.bool_]:
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


def _sampled(view: View, points: Array, reach: Array) -> Array:
    if len(points) == 0:
        return np.zeros((0, len(reach), 3), dtype=np.float32)
    slope_x = cv2.Sobel(view.smooth, cv2.CV_32F, 1, 0, ksize=5)
    slope_y = cv2.Sobel(view.smooth, cv2.CV_32F, 0, 1, ksize=5)
    column, row = points[:, 0].astype(int), points[:, 1].astype(int)
    normal = -np.stack([slope_x[row, column], slope_y[row, column]], axis=1)
    normal /= np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-6)
    far = (reach * view.thickness_px)[None, :]
    across, down = (points[:, axis, None] + normal[:, axis, None] * far for axis in (0, 1))
    step = 2 * _REACH / (_STEPS - 1) * view.thickness_px
    blurred = cv2.GaussianBlur(view.lab, (0, 0), max(0.8, step / 2))
    return np.asarray(
        cv2.remap(blurred, across, down, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE), dtype=np.float32
    )


def _edges(lab: Array) -> Array:
    change = (lab[:, 2:] - lab[:, :-2]) / 2
    squares = change * change
    # the same as the sum over the last axis, which takes longer on three numbers
    return np.asarray(np.sqrt(squares[..., 0] + squares[..., 1] + squares[..., 2]), dtype=np.float32)


def _local_peaks(edges: Array, offsets: Array) -> tuple[Array, Array]:
    if len(edges) == 0:
        return np.zeros(0, np.float32), np.zeros(0, np.float32)
    rows = max(1, round(len(edges) * _WINDOW_SHARE))
    along = cv2.blur(edges, (1, rows), borderType=cv2.BORDER_REFLECT) if rows > 1 else edges
    near = _between(offsets, (-_NEAR, _NEAR))
    # a slight preference for the outline itself, so that flat surroundings do not give random offsets
    window = along[:, near] * (1 - 0.3 * np.abs(offsets[near])) + 0.02
    best = window.argmax(axis=1)
    strength = window[np.arange(len(window)), best] / (float(edges.mean()) + _QUIET)
    return offsets[near][best].astype(np.float32), strength.astype(np.float32)


def _profile_cues(ribbon: Ribbon) -> dict[str, float]:
    profile = ribbon.edges.mean(axis=0)
    level = float(profile.mean()) + _QUIET
    cues = {}
    for name, band in _BANDS.items():
        cues[name] = float(np.log((_mean(profile[_between(ribbon.offsets, band)]) + _QUIET) / level))
    return cues


def _between(offsets: Array, band: tuple[float, float]) -> slice:
    """The offsets from ``band[0]`` to ``band[1]``, both included; offsets rise."""
    low, high = np.array(band, dtype=offsets.dtype)
    return slice(int(offsets.searchsorted(low, "left")), int(offsets.searchsorted(high, "right")))


def _mean(values: Array) -> Any:
    """The same as ``values.mean()``, which takes longer than the sum on few values."""
    return np.add.reduce(values) / len(values)


def _share(flags: NDArray[np.bool_]) -> float:
    return int(np.count_nonzero(flags)) / len(flags)


def _median(values: Array) -> float:
    ordered = np.sort(values)
    return float(_mean(ordered[(len(ordered) - 1) // 2 : len(ordered) // 2 + 1]))


def _peak_cues(ribbon: Ribbon) -> dict[str, float]:
    outer = ~ribbon.inner if not ribbon.inner.all() else ribbon.inner
    offset, strength = ribbon.local_offset[outer], ribbon.local_strength[outer]
    weight = strength / max(float(strength.sum()), 1e-6)
    mean_offset = (weight * offset).sum()
    at_outline = ribbon.edges[:, _between(ribbon.offsets, (-0.1, 0.1))].max(axis=1)
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
    on_outline = ribbon.edges[:, _between(ribbon.offsets, (-0.1, 0.1))].mean(axis=1)
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
