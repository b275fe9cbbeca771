"""Erosions and dilations by other shapes than the stressors': other metrics, other widths along the outline.

Called ``erode`` and ``dilate`` where the candidate leaves the outline along at least ``LEAST_ROUND`` of it. The
stressors' own local bands are as short as that; a shorter one has no type.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Literal, TypeAlias

import cv2
import numpy as np
from numpy.typing import NDArray

from auscult.arrays import regions
from auscult.train.candidates import amounts
from auscult.train.candidates.base import Draft, Maker
from auscult.train.candidates.working import Work
from auscult.types import Mask

Side: TypeAlias = Literal["erode", "dilate"]
Shaped: TypeAlias = Callable[[Side, Work, np.random.Generator], Draft | None]

LEAST_ROUND: Final = 0.3
_MOST_LOOSE: Final = 0.1  # share of the object that an erosion may leave cut off from the rest


def offset(side: Side, work: Work, rng: np.random.Generator) -> Draft | None:
    """All round, by a width that is even or changes smoothly."""
    swing = float(rng.uniform(0.0, 0.9)) * float(rng.random() < 0.75)
    grain = float(rng.uniform(0.1, 0.8)) * work.size_px
    distance = _distance(side, work)
    if swing:
        distance = distance / np.maximum(np.float32(1.0) + np.float32(swing) * work.noise(rng, grain), np.float32(0.1))
    return _band(work, distance, amounts.typed(rng), side=side)


def element(side: Side, work: Work, rng: np.random.Generator) -> Draft | None:
    """As morphology with a square, a diamond or a flat ellipse does it."""
    how = rng.random()
    mask = work.own if side == "erode" else ~work.own
    if how < 0.5:
        times = _metric(mask, cv2.DIST_C if how < 0.25 else cv2.DIST_L1)
    else:
        times = _flat(mask, along_rows=bool(rng.random() < 0.5), share=float(rng.uniform(0.35, 0.75)))
    return _band(work, times, amounts.typed(rng), side=side)


def one_sided(side: Side, work: Work, rng: np.random.Generator) -> Draft | None:
    """Widest towards one direction, as under a light or a motion from there, and fading to nothing behind."""
    x, y = _places(work)
    turn = float(rng.uniform(0, 2 * np.pi))
    facing = (np.cos(turn) * x + np.sin(turn) * y) / np.maximum(np.hypot(x, y), 1e-3)
    width = np.maximum(facing + float(rng.uniform(-0.1, 0.9)), 0.0) ** float(rng.uniform(0.6, 1.5))
    return _band(work, _over(_distance(side, work), width), amounts.typed(rng), side=side)


def partial(side: Side, work: Work, rng: np.random.Generator) -> Draft | None:
    """An even band on one side of a line through the object, none on the other."""
    x, y = _places(work)
    turn = float(rng.uniform(0, 2 * np.pi))
    along = (np.cos(turn) * x + np.sin(turn) * y) / work.size_px + float(rng.uniform(-0.15, 0.5))
    width = np.clip(along / float(rng.uniform(0.02, 0.4)), 0.0, 1.0)
    return _band(work, _over(_distance(side, work), width), amounts.typed(rng), side=side)


def stepped(side: Side, work: Work, rng: np.random.Generator) -> Draft | None:
    """In cells of a grid: all that touch the object, or only those that it fills, and further ones."""
    cell = int(rng.integers(2, max(3, min(12, int(0.16 * work.size_px)))))
    height, width = work.own.shape
    down, right = int(rng.integers(cell)), int(rng.integers(cell))
    padded = np.pad(_distance(side, work), ((down, cell), (right, cell)), mode="edge")
    rows, columns = padded.shape[0] // cell, padded.shape[1] // cell
    blocks = padded[: rows * cell, : columns * cell].reshape(rows, cell, columns, cell)
    near = np.where(np.isfinite(blocks), blocks, np.float32(0.0)).min(axis=(1, 3))  # 0 across the outline
    near += rng.uniform(0, 0.5 * cell, near.shape).astype(np.float32)
    times = np.repeat(np.repeat(near, cell, axis=0), cell, axis=1)[down : down + height, right : right + width]
    own = work.own if side == "erode" else ~work.own
    return _band(work, np.where(own, times, np.float32(np.inf)), amounts.typed(rng), side=side, within=0.05)


def band(side: Side, shaped: Shaped) -> Maker:
    """Make a maker of erosions or dilations of a shape.

    Args:
        side: What it makes. One that only takes away works in the window that fits the object.
        shaped: One of the shapes above.
    """

    def maker(work: Work, rng: np.random.Generator) -> Draft | None:
        if side == "dilate":
            return shaped(side, work, rng)
        draft = shaped(side, work.inside, rng)
        return None if draft is None else Draft(work.inside.whole(draft.mask), draft.defect)

    return maker


def _distance(side: Side, work: Work) -> NDArray[np.float32]:
    return work.depth if side == "erode" else work.reach


def _over(distance: NDArray[np.float32], width: NDArray[np.float64]) -> NDArray[np.float32]:
    times = np.where(width > 0.03, distance / np.maximum(width, 0.03), np.inf)
    return times.astype(np.float32)


def _metric(mask: Mask, metric: int) -> NDArray[np.float32]:
    if mask.all():
        return np.full(mask.shape, np.inf, np.float32)
    distance = np.asarray(cv2.distanceTransform(mask.view(np.uint8), metric, 3), dtype=np.float32)
    return np.where(mask, distance, np.float32(np.inf))


def _flat(mask: Mask, *, along_rows: bool, share: float) -> NDArray[np.float32]:
    """Distance that counts less along one axis: that of the mask squeezed along it."""
    height, width = mask.shape
    size = (max(2, round(width * share)), height) if along_rows else (width, max(2, round(height * share)))
    small = np.asarray(cv2.resize(mask.view(np.uint8), size, interpolation=cv2.INTER_NEAREST)).view(np.bool_)
    if small.all():
        return np.full(mask.shape, np.inf, np.float32)
    distance = cv2.distanceTransform(small.view(np.uint8), cv2.DIST_L2, 5)
    back = np.asarray(cv2.resize(distance, (width, height), interpolation=cv2.INTER_LINEAR), dtype=np.float32)
    return np.where(mask, back, np.float32(np.inf))


def _places(work: Work) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Columns and rows from the object's centre, px, to be broadcast."""
    if "places" not in work.kept:
        rows, columns = np.nonzero(work.own)
        x = (np.arange(work.own.shape[1]) - columns.mean()).astype(np.float32)
        y = (np.arange(work.own.shape[0]) - rows.mean()).astype(np.float32)
        work.kept["places"] = (x[None, :], y[:, None])
    places: tuple[NDArray[np.float32], NDArray[np.float32]] = work.kept["places"]
    return places


def _band(work: Work, times: NDArray[np.float32], wanted: float, *, side: Side, within: float = 0.02) -> Draft | None:
    mask = work.flipped(times, wanted, within=within)
    if mask is None or not mask.any():
        return None
    if side == "erode":
        _, areas = regions.components(mask)
        if int(areas.max()) / int(areas.sum()) < work.piece.main_share - _MOST_LOOSE:
            return None
    edge = _distance(side, work) == np.float32(0.5)
    left = int(np.count_nonzero(edge & (mask ^ work.own)))
    return Draft(mask, side if left >= LEAST_ROUND * int(np.count_nonzero(edge)) else None)
