"""Outlines that are off: bands of other shapes than the stressors', noise, few corners, coarse grids, near misses.

Called ``erode`` and ``dilate`` where the candidate leaves the outline along at least ``LEAST_ROUND`` of it. The
stressors' own local bands are as short as that; a shorter one has no type.

From an IoU of .97 such a mask is called ``perfect``, between .95 and .97 nothing: an annotator would accept it, but the
paper's perfect is the truth itself, and a network that calls a band of 3 % perfect cannot tell slight erosions.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Final, Literal, TypeAlias

import cv2
import numpy as np
from numpy.typing import NDArray

from auscult.arrays import regions
from auscult.train.candidates import base
from auscult.train.candidates.base import Draft, Maker, Work
from auscult.types import Mask

BandDefect: TypeAlias = Literal["erode", "dilate"]
Shaped: TypeAlias = Callable[[BandDefect, Work, np.random.Generator], Draft | None]

LEAST_ROUND: Final = 0.3
_MOST_LOOSE: Final = 0.1  # share of the object that an erosion may leave cut off from the rest


def offset(side: BandDefect, work: Work, rng: np.random.Generator) -> Draft | None:
    """All round, by a width that is even or changes smoothly."""
    swing = float(rng.uniform(0.0, 0.9)) * float(rng.random() < 0.75)
    grain = float(rng.uniform(0.1, 0.8)) * work.size_px
    distance = _distance(side, work)
    if swing:
        distance = distance / np.maximum(np.float32(1.0) + np.float32(swing) * work.noise(rng, grain), np.float32(0.1))
    return _band(work, distance, base.typed(rng), side=side)


def element(side: BandDefect, work: Work, rng: np.random.Generator) -> Draft | None:
    """As morphology with a square, a diamond or a flat ellipse does it."""
    choice = rng.random()
    mask = work.own if side == "erode" else ~work.own
    if choice < 0.5:
        times = _metric(mask, cv2.DIST_C if choice < 0.25 else cv2.DIST_L1)
    else:
        times = _flat(mask, along_rows=bool(rng.random() < 0.5), share=float(rng.uniform(0.35, 0.75)))
    return _band(work, times, base.typed(rng), side=side)


def one_sided(side: BandDefect, work: Work, rng: np.random.Generator) -> Draft | None:
    """Widest towards one direction, as under a light or a motion from there, and fading to nothing behind."""
    x, y = _offsets(work)
    turn = float(rng.uniform(0, 2 * np.pi))
    facing = (np.cos(turn) * x + np.sin(turn) * y) / np.maximum(np.hypot(x, y), 1e-3)
    width = np.maximum(facing + float(rng.uniform(-0.1, 0.9)), 0.0) ** float(rng.uniform(0.6, 1.5))
    return _band(work, _over(_distance(side, work), width), base.typed(rng), side=side)


def partial(side: BandDefect, work: Work, rng: np.random.Generator) -> Draft | None:
    """An even band on one side of a line through the object, none on the other."""
    x, y = _offsets(work)
    turn = float(rng.uniform(0, 2 * np.pi))
    along = (np.cos(turn) * x + np.sin(turn) * y) / work.size_px + float(rng.uniform(-0.15, 0.5))
    width = np.clip(along / float(rng.uniform(0.02, 0.4)), 0.0, 1.0)
    return _band(work, _over(_distance(side, work), width), base.typed(rng), side=side)


def stepped(side: BandDefect, work: Work, rng: np.random.Generator) -> Draft | None:
    """In cells of a grid: all that touch the object, or only those that it fills, and further ones."""
    cell = int(rng.integers(2, max(3, min(12, int(0.16 * work.size_px)))))
    height, width = work.own.shape
    down, right = int(rng.integers(cell)), int(rng.integers(cell))
    padded = np.pad(_distance(side, work), ((down, cell), (right, cell)), mode="edge")
    rows, columns = padded.shape[0] // cell, padded.shape[1] // cell
    blocks = padded[: rows * cell, : columns * cell].reshape(rows, cell, columns, cell)
    distances = np.where(np.isfinite(blocks), blocks, np.float32(0.0)).min(axis=(1, 3))  # 0 across the outline
    distances += rng.uniform(0, 0.5 * cell, distances.shape).astype(np.float32)
    times = np.repeat(np.repeat(distances, cell, axis=0), cell, axis=1)[down : down + height, right : right + width]
    mask = work.own if side == "erode" else ~work.own
    return _band(work, np.where(mask, times, np.float32(np.inf)), base.typed(rng), side=side, within=0.05)


def band(side: BandDefect, shaped: Shaped) -> Maker:
    """Make a maker of erosions or dilations of a shape."""
    maker = functools.partial(shaped, side)
    return base.inside(maker) if side == "erode" else maker


def _distance(side: BandDefect, work: Work) -> NDArray[np.float32]:
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


def _offsets(work: Work) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Columns and rows from the object's centre, px, to be broadcast."""
    if "offsets" not in work.kept:
        rows, columns = np.nonzero(work.own)
        x = (np.arange(work.own.shape[1]) - columns.mean()).astype(np.float32)
        y = (np.arange(work.own.shape[0]) - rows.mean()).astype(np.float32)
        work.kept["offsets"] = (x[None, :], y[:, None])
    offsets: tuple[NDArray[np.float32], NDArray[np.float32]] = work.kept["offsets"]
    return offsets


def _band(
    work: Work, times: NDArray[np.float32], iou: float, *, side: BandDefect, within: float = 0.02
) -> Draft | None:
    mask = work.flipped(times, iou, within=within)
    if mask is None or not mask.any():
        return None
    if side == "erode":
        _, areas = regions.components(mask)
        if int(areas.max()) / int(areas.sum()) < work.piece.main_share - _MOST_LOOSE:
            return None
    edge = _distance(side, work) == np.float32(0.5)
    left = int(np.count_nonzero(edge & (mask ^ work.own)))
    return Draft(mask, side if left >= LEAST_ROUND * int(np.count_nonzero(edge)) else None)


def wavy(work: Work, rng: np.random.Generator) -> Draft | None:
    """Smooth two-sided noise on the signed distance; the side of the error changes slowly along the outline."""
    grain = float(np.exp(rng.uniform(np.log(0.12), np.log(0.9)))) * work.size_px
    return _noisy(work, work.noise(rng, grain), base.realistic(rng))


def jagged(work: Work, rng: np.random.Generator) -> Draft | None:
    """Rough noise on the signed distance in grains of a few pixels, no further from the outline than that."""
    grain = float(rng.uniform(1.5, 7.0))
    noise = work.noise(rng, grain, smooth=False)
    if rng.random() < 0.5:
        noise = noise * (0.6 + 0.6 * work.noise(rng, 0.4 * work.size_px))
    noise = np.where(work.away <= 1.2 * grain + 0.5, noise, np.float32(0.0))
    return _noisy(work, noise, base.realistic(rng), within=1.0)


def _noisy(work: Work, noise: NDArray[np.float32], iou: float, *, within: float = 0.02) -> Draft | None:
    towards = np.where(work.own, -noise, noise)
    times = np.where(towards > 0.05, work.away / np.maximum(towards, 0.05), np.float32(np.inf))
    return base.untyped(work, work.flipped(times, iou, within=within), least=0.0)


def corners(work: Work, rng: np.random.Generator) -> Draft | None:
    """The outline as a polygon of few corners, sometimes each of them off by a little."""
    epsilon = float(np.exp(rng.uniform(np.log(0.015), np.log(0.3)))) * work.size_px
    shake = float(rng.uniform(0.0, 0.6)) * epsilon if rng.random() < 0.4 else 0.0
    mask = polygons(work.own, epsilon, shake_px=shake, rng=rng)
    return base.untyped(work, mask)


def polygons(mask: Mask, epsilon_px: float, *, shake_px: float, rng: np.random.Generator) -> Mask:
    """Every outline of a mask, bool (H, W), of parts and holes alike, by the fewest corners within ``epsilon_px``.

    Corners are off by a normal error with a standard deviation of ``shake_px``; parts that are left with fewer than
    three are gone.
    """
    outlines, _ = cv2.findContours(mask.view(np.uint8), cv2.RETR_CCOMP, cv2.CHAIN_APPROX_NONE)
    shapes = []
    for outline in outlines:
        polygon = cv2.approxPolyDP(outline, epsilon_px, closed=True)
        if len(polygon) >= 3:
            shapes.append(np.rint(polygon + rng.normal(0.0, 1.0, polygon.shape) * shake_px).astype(np.int32))
    filled = np.zeros(mask.shape, np.uint8)
    if shapes:
        cv2.fillPoly(filled, shapes, (1,))
    return filled.view(np.bool_)


def low_resolution(work: Work, rng: np.random.Generator) -> Draft | None:
    """A mask head's answer: 14 to 64 cells over a box about the object, its edges off, brought up to size."""
    cells = int(rng.choice([14, 20, 28, 28, 28, 40, 56, 64]))
    grown = rng.uniform(-0.04, 0.2, 4)
    left, top, right, bottom = (a - b for a, b in zip(work.piece.box, (*work.box[:2], *work.box[:2]), strict=True))
    box_width, box_height = right - left, bottom - top
    height, width = work.own.shape
    x0, x1 = max(0, round(left - grown[0] * box_width)), min(width, round(right + grown[1] * box_width))
    y0, y1 = max(0, round(top - grown[2] * box_height)), min(height, round(bottom + grown[3] * box_height))
    if x1 - x0 < 4 or y1 - y0 < 4:
        return None
    small = cv2.resize(work.own[y0:y1, x0:x1].astype(np.float32), (cells, cells), interpolation=cv2.INTER_AREA)
    soft = cv2.GaussianBlur(small, (0, 0), float(rng.uniform(0.3, 1.6)))
    doubt = rng.normal(0.0, float(rng.uniform(0.0, 0.25)), (cells, cells)).astype(np.float32)
    soft = soft + np.asarray(cv2.GaussianBlur(doubt, (0, 0), 0.7))
    interpolation = cv2.INTER_NEAREST if rng.random() < 0.3 else cv2.INTER_LINEAR
    mask = np.zeros(work.own.shape, np.bool_)
    fine = np.asarray(cv2.resize(soft, (x1 - x0, y1 - y0), interpolation=interpolation))
    mask[y0:y1, x0:x1] = fine > float(rng.uniform(0.35, 0.65))
    return Draft(mask, None) if mask.any() else None


def blocky(work: Work, rng: np.random.Generator) -> Draft | None:
    """The mask on a grid of cells of 2 to 16 px that knows nothing of the object, as a strided network gives it."""
    stride = int(rng.choice([2, 3, 4, 4, 6, 8, 8, 12, 16]))
    if stride > 0.25 * work.size_px:
        return None
    height, width = work.own.shape
    before = rng.integers(0, stride, 2)
    padded = np.pad(work.own, ((before[0], -(height + before[0]) % stride), (before[1], -(width + before[1]) % stride)))
    rows, columns = padded.shape[0] // stride, padded.shape[1] // stride
    small = cv2.resize(padded.astype(np.float32), (columns, rows), interpolation=cv2.INTER_AREA)
    interpolation = cv2.INTER_NEAREST if rng.random() < 0.6 else cv2.INTER_LINEAR
    fine = np.asarray(cv2.resize(small, (columns * stride, rows * stride), interpolation=interpolation))
    mask = fine[before[0] : before[0] + height, before[1] : before[1] + width] > float(rng.uniform(0.3, 0.7))
    return Draft(np.ascontiguousarray(mask), None) if mask.any() else None


PERFECT_FROM: Final = 0.97
LEAST: Final = 0.95


def nearly(work: Work, rng: np.random.Generator) -> Draft | None:
    """The outline shaken by about half a pixel to a pixel, to both sides alike."""
    noise = work.noise(rng, float(np.exp(rng.uniform(np.log(2.0), np.log(0.4 * work.size_px + 2.1)))))
    towards = np.where(work.own, -noise, noise)
    times = np.where(towards > 0.02, work.away / np.maximum(towards, 0.02), np.float32(np.inf))
    one_px = 1 - 0.6 * work.edge_px / work.area_px  # a pixel off over half of the outline
    mask = work.flipped(times, float(rng.uniform(min(max(LEAST, one_px), 0.99), 0.995)), within=0.01)
    return _named(work, mask)


def traced(work: Work, rng: np.random.Generator) -> Draft | None:
    """Drawn as a polygon within 1 px, as COCO's annotations are."""
    return _named(work, polygons(work.own, float(rng.uniform(0.5, 1.3)), shake_px=0.0, rng=rng))


def resampled(work: Work, rng: np.random.Generator) -> Draft | None:
    """Kept at another size and brought back: the outline moves by less than a pixel."""
    height, width = work.own.shape
    scale = float(rng.uniform(0.45, 0.9))
    size = (max(2, round(width * scale)), max(2, round(height * scale)))
    small = cv2.resize(work.own.astype(np.float32), size, interpolation=cv2.INTER_AREA)
    back = np.asarray(cv2.resize(small, (width, height), interpolation=cv2.INTER_LINEAR))
    return _named(work, back > 0.5)


def _named(work: Work, mask: Mask | None) -> Draft | None:
    if mask is None or not mask.any():
        return None
    iou = work.iou(mask)
    return Draft(mask, "perfect" if iou >= PERFECT_FROM else None) if iou >= LEAST else None
