"""Masks in the wrong place: shifted, turned, from another frame, merged with another object, or on no object at all.

Called ``merge`` where the candidate holds all of the object and at least ``LEAST_PART`` of another one; a smaller part,
or a merge that has lost some of the object, has no type.

Called ``arbitrary`` where they hold nearly nothing of the object (IoU below .05); a mask that holds a good part of it
has no type. None is like another object of the picture: that would be a good mask of the wrong thing.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from auscult.arrays import boxes, regions
from auscult.arrays.overlap import iou
from auscult.rng import pick
from auscult.train.candidates.base import Draft, Maker, Work, untyped
from auscult.types import Frame, Mask

_FLOW_PX: Final = 144  # the longer side of the pictures that flow is found on


def delayed(work: Work, rng: np.random.Generator) -> Draft | None:
    """The object's mask in a neighbouring frame, as it is or moved on by a part of the way."""
    if work.before is None:
        return None
    if rng.random() < 0.5:
        return untyped(work, work.before[1].copy())
    return untyped(work, _carried(work, work.before, share=float(rng.uniform(0.2, 0.8))))


def propagated(work: Work, rng: np.random.Generator) -> Draft | None:
    """The mask of a neighbouring frame carried by dense optical flow, with its errors made a little larger."""
    if work.before is None:
        return None
    return untyped(work, _carried(work, work.before, share=float(rng.normal(1.0, 0.12)), error=rng))


def shifted(work: Work, rng: np.random.Generator) -> Draft | None:
    """Shifted by up to a fifth of the object's size."""
    distance = work.size_px * 0.22 * float(rng.random()) ** 1.5 + 0.7
    turn = float(rng.uniform(0, 2 * np.pi))
    matrix = np.eye(2, 3)
    matrix[:, 2] = distance * np.cos(turn), distance * np.sin(turn)
    return _mapped(work, matrix)


def posed(work: Work, rng: np.random.Generator) -> Draft | None:
    """Turned, scaled, stretched and shifted by a little at once."""
    amount = float(rng.random()) ** 0.8
    centre = _centre(work)
    turn = np.asarray(cv2.getRotationMatrix2D(centre, float(rng.normal(0, 9)) * amount, 1.0), dtype=np.float64)
    stretch = np.exp(rng.normal(0.0, 0.09, 2) * amount)
    matrix = stretch[:, None] * turn
    matrix[:, 2] += (1 - stretch) * centre + rng.normal(0, 0.04, 2) * amount * work.size_px
    return _mapped(work, matrix)


def mirrored(work: Work, rng: np.random.Generator) -> Draft | None:
    """Mirrored about its own centre."""
    x, y = _centre(work)
    flat = np.array([[-1.0, 0, 2 * x], [0, 1, 0]])
    upright = np.array([[1.0, 0, 0], [0, -1, 2 * y]])
    return _mapped(work, flat if rng.random() < 0.7 else upright)


def bent(work: Work, rng: np.random.Generator) -> Draft | None:
    """Bent by a smooth displacement, as a mask carried through a few frames."""
    amplitude = np.float32(work.size_px * 0.2 * float(rng.random()) ** 1.3 + 1.0)
    grain = float(rng.uniform(0.3, 1.0)) * work.size_px
    return untyped(work, _pulled(work.own, work.noise(rng, grain) * amplitude, work.noise(rng, grain) * amplitude))


def _centre(work: Work) -> tuple[float, float]:
    """Centre of the object's box in the window, (x, y)."""
    left, top, right, bottom = work.piece.box
    return (left + right - 1) / 2 - work.box[0], (top + bottom - 1) / 2 - work.box[1]


def _mapped(work: Work, matrix: NDArray[np.float64]) -> Draft | None:
    size = work.own.shape[::-1]
    soft = cv2.warpAffine(work.own.astype(np.float32), matrix, size, flags=cv2.INTER_LINEAR)
    return untyped(work, np.asarray(np.asarray(soft) > 0.5))


def _pulled(mask: Mask, right: NDArray[np.float32], down: NDArray[np.float32]) -> Mask:
    """The mask with each pixel taken from as far right and down, px."""
    x = np.arange(mask.shape[1], dtype=np.float32)[None, :] + right
    y = np.arange(mask.shape[0], dtype=np.float32)[:, None] + down
    soft = cv2.remap(mask.astype(np.float32), x, y, cv2.INTER_LINEAR, borderMode=cv2.BORDER_CONSTANT)
    return np.asarray(np.asarray(soft) > 0.5)


def _carried(work: Work, before: tuple[Frame, Mask], *, share: float, error: np.random.Generator | None = None) -> Mask:
    """The mask of the neighbouring frame, over ``box``, moved by a share of the flow from there to here."""
    flow = _flow(work, before[0]) * np.float32(share)
    right, down = flow[..., 0], flow[..., 1]
    if error is not None:
        amplitude = np.float32(error.uniform(0.0, 0.04) * work.size_px)
        grain = 0.4 * work.size_px
        right, down = right + amplitude * work.noise(error, grain), down + amplitude * work.noise(error, grain)
    return _pulled(np.ascontiguousarray(before[1][boxes.window(work.box)]), right, down)


def _flow(work: Work, earlier: Frame) -> NDArray[np.float32]:
    """Where each pixel of the window was in the neighbouring frame, px to the right and down, float32 (h, w, 2)."""
    if "flow" not in work.kept:
        scale = min(1.0, _FLOW_PX / max(work.own.shape))
        size = (max(24, round(work.own.shape[1] * scale)), max(24, round(work.own.shape[0] * scale)))
        now, then = (_grey(frame, size) for frame in (work.picture, earlier[boxes.window(work.box)]))
        method = cv2.DISOpticalFlow.create(cv2.DISOPTICAL_FLOW_PRESET_FAST)
        flow = method.calc(now, then, np.zeros((*now.shape, 2), np.float32))
        ratio = np.array([work.own.shape[1] / size[0], work.own.shape[0] / size[1]], np.float32)
        work.kept["flow"] = cv2.resize(flow, work.own.shape[::-1], interpolation=cv2.INTER_LINEAR) * ratio
    flow_map: NDArray[np.float32] = work.kept["flow"]
    return flow_map


def _grey(picture: Frame, size: tuple[int, int]) -> NDArray[np.uint8]:
    small = cv2.resize(np.ascontiguousarray(picture), size, interpolation=cv2.INTER_AREA)
    return np.asarray(cv2.cvtColor(small, cv2.COLOR_RGB2GRAY), dtype=np.uint8)


LEAST_PART: Final = 0.5
_LEAST_MERGED: Final = 0.02  # of the object's area; a smaller other object is a speck
_LEAST_PX: Final = 32


def _merging(make: Callable[[Work, Mask, np.random.Generator], Draft]) -> Maker:
    """Let a maker have any other object of the picture."""

    @wraps(make)
    def maker(work: Work, rng: np.random.Generator) -> Draft | None:
        others = _usable(work)
        return make(work, pick(rng, others), rng) if others else None

    return maker


@_merging
def any_other(work: Work, other: Mask, rng: np.random.Generator) -> Draft:
    """The object and any other one, however small or large."""
    del rng
    return Draft(work.truth | other, "merge")


@_merging
def rough_other(work: Work, other: Mask, rng: np.random.Generator) -> Draft:
    """The object and another one whose outline is off."""
    size = float(np.sqrt(np.count_nonzero(other)))
    soft = cv2.GaussianBlur(other.astype(np.float32), (0, 0), max(0.8, float(rng.uniform(0.02, 0.12)) * size))
    rough = np.asarray(np.asarray(soft) > float(rng.uniform(0.25, 0.7)))
    return _joined(work, work.truth, rough, other=other)


@_merging
def part_of_other(work: Work, other: Mask, rng: np.random.Generator) -> Draft:
    """The object and what of another one lies on one side of a line."""
    rows, columns = np.nonzero(other)
    turn = float(rng.uniform(0, 2 * np.pi))
    along = np.cos(turn) * columns + np.sin(turn) * rows
    chosen = along <= np.quantile(along, float(rng.uniform(0.15, 0.95)))
    part = np.zeros(other.shape, np.bool_)
    part[rows[chosen], columns[chosen]] = True
    return _joined(work, work.truth, part, other=other)


@_merging
def grown_merge(work: Work, other: Mask, rng: np.random.Generator) -> Draft:
    """The object and another one, both a little too large, the gap between them filled."""
    width = max(1.0, float(rng.uniform(0.01, 0.06)) * work.size_px)
    both = work.truth | other
    return _joined(work, np.asarray(regions.reach(both) <= width), other, other=other)


@_merging
def eroded_merge(work: Work, other: Mask, rng: np.random.Generator) -> Draft:
    """The object, a little too small, and another one."""
    mask = work.own & (work.depth > max(1.0, float(rng.uniform(0.01, 0.06)) * work.size_px))
    return _joined(work, work.whole(np.asarray(mask)), other, other=other)


def both_sides(work: Work, rng: np.random.Generator) -> Draft | None:
    """The object and all other objects that it touches or that lie nearest."""
    others = _usable(work)
    if len(others) < 2:
        return None
    chosen = rng.permutation(len(others))[: int(rng.integers(2, min(4, len(others)) + 1))]
    return Draft(work.truth | np.logical_or.reduce([others[int(index)] for index in chosen]), "merge")


def _usable(work: Work) -> list[Mask]:
    """What other objects have outside the object, the specks left out."""
    if "others" not in work.kept:
        least = max(_LEAST_PX, _LEAST_MERGED * work.area_px)
        outside = [other & ~work.truth for other in work.others]
        work.kept["others"] = [mask for mask in outside if np.count_nonzero(mask) >= least]
    others: list[Mask] = work.kept["others"]
    return others


def _joined(work: Work, first: Mask, second: Mask, *, other: Mask) -> Draft:
    mask = first | second
    share = np.count_nonzero(mask & other) / np.count_nonzero(other)
    complete = not (work.truth & ~mask).any()
    return Draft(mask, "merge" if complete and share >= LEAST_PART else None)


_TRIES: Final = 4
_LEAST_SHARE: Final = 0.08  # of the object's area
_TOUCHES_MOST: Final = 0.05
_LIKE_ANOTHER: Final = 0.35


def shape(work: Work, rng: np.random.Generator) -> Draft | None:
    """A box, an ellipse, a polygon or a blob, anywhere."""
    for _ in range(_TRIES):
        height, width = work.truth.shape
        size = work.size_px * float(np.exp(rng.uniform(np.log(0.35), np.log(1.3))))
        corners = _outline(rng, size)
        centre = rng.uniform((0, 0), (width, height))
        filled = np.zeros(work.truth.shape, np.uint8)
        cv2.fillPoly(filled, [np.rint(corners + centre).astype(np.int32)], (1,))
        draft = _judged(work, filled.view(np.bool_))
        if draft is not None and draft.defect == "arbitrary":
            return draft
    return None


def moved_away(work: Work, rng: np.random.Generator) -> Draft | None:
    """The object's own shape, mirrored, turned and moved to where it is not."""
    height, width = work.truth.shape
    left, top, right, bottom = work.piece.box
    for _ in range(_TRIES):
        angle = float(rng.choice([0, 0, 90, 180, 270])) + float(rng.normal(0, 8))
        scale = float(rng.uniform(0.6, 1.15))
        centre = (left + right) / 2, (top + bottom) / 2
        matrix = np.asarray(cv2.getRotationMatrix2D(centre, angle, scale), dtype=np.float64)
        matrix[:, 2] += rng.uniform((0, 0), (width, height)) - np.array(centre)
        if rng.random() < 0.5:
            matrix[:, 2] += matrix[:, 0] * (left + right - 1)
            matrix[:, 0] *= -1
        warped = cv2.warpAffine(work.truth.view(np.uint8), matrix, (width, height), flags=cv2.INTER_NEAREST)
        draft = _judged(work, np.asarray(warped, dtype=np.uint8).view(np.bool_))
        if draft is not None and draft.defect == "arbitrary":
            return draft
    return None


def background(work: Work, rng: np.random.Generator) -> Draft | None:
    """All that is not the object, or what of it lies near."""
    band = np.asarray(work.reach <= rng.uniform(0.1, 0.6) * work.size_px)
    return _judged(work, ~work.truth if rng.random() < 0.4 else work.whole(band))


def half_and_half(work: Work, rng: np.random.Generator) -> Draft | None:
    """A shape over the outline: a part of the object and about as much of what is beside it."""
    rows, columns = np.nonzero(work.depth == np.float32(0.5))
    if not rows.size:
        return None
    index = int(rng.integers(rows.size))
    filled = np.zeros(work.own.shape, np.uint8)
    corners = _outline(rng, work.size_px * float(rng.uniform(0.4, 1.1)))
    cv2.fillPoly(filled, [np.rint(corners + np.array([columns[index], rows[index]])).astype(np.int32)], (1,))
    mask = filled.view(np.bool_)
    return _judged(work, mask)


def _judged(work: Work, mask: Mask) -> Draft | None:
    if np.count_nonzero(mask) < max(64.0, _LEAST_SHARE * work.area_px):
        return None
    full = work.whole(mask)
    if any(iou(full, other) > _LIKE_ANOTHER for other in work.others):
        return None
    return Draft(mask, "arbitrary" if work.iou(mask) < _TOUCHES_MOST else None)


def _outline(rng: np.random.Generator, size_px: float) -> NDArray[np.float64]:
    """Corners (n, 2) of a random shape about 0 with sides of about ``size_px``."""
    kind = rng.random()
    stretch = float(np.exp(rng.uniform(-0.6, 0.6)))
    turn = 0.0 if kind < 0.25 else float(rng.uniform(0, np.pi))
    if kind < 0.35:
        points = np.array([[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]])
    elif kind < 0.5:
        angles = np.sort(rng.uniform(0, 2 * np.pi, int(rng.integers(3, 8))))
        points = 1.3 * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    else:
        angles = np.linspace(0, 2 * np.pi, 48, endpoint=False)
        radius = np.full(angles.shape, 1.1)
        for waves in range(2, int(rng.integers(2, 8))):  # none: an ellipse
            radius += rng.uniform(0, 0.9 / waves) * np.cos(waves * angles + rng.uniform(0, 2 * np.pi))
        points = np.maximum(radius, 0.2)[:, None] * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    points = points * (0.5 * size_px * stretch, 0.5 * size_px / stretch)
    spin = np.array([[np.cos(turn), np.sin(turn)], [-np.sin(turn), np.cos(turn)]])
    turned: NDArray[np.float64] = points @ spin
    return turned
