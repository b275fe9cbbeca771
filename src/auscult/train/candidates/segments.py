"""What segmenters do to whole things: parts that end along inner edges, unions of superpixels, boxes, stray pieces.

The pieces come from a watershed of the picture's own edges over seeds on a jittered grid, so that what is missing or
left over ends where the picture has an edge and not where a knife fell. A part of the object that ends so is called
``cutout``; the other kinds have no type.
"""

from __future__ import annotations

from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from auscult.train.candidates.base import Draft, Maker, Work, untyped
from auscult.types import Mask

_LEAST_SEEDS: Final = 3
_LEAST_PART: Final = 0.12  # of the object that a part keeps
_MOST_PART: Final = 0.93
_LEAST_IOU: Final = 0.05
_CLUSTERS: Final = (2, 3, 4)
_HALVINGS: Final = 8
_MOSTLY: Final = 0.97  # what lies so much in the object is a part of it

Labels = NDArray[np.int32]


def inner_part(work: Work, rng: np.random.Generator) -> Draft | None:
    """Some neighbouring segments of the object: a head, a leg, the shaded side."""
    labels = superpixels(work, rng, spacing=float(rng.uniform(0.18, 0.6)))
    return _part(work, _grown(np.where(work.own, labels, 0), rng, share=float(rng.uniform(0.2, 0.95))))


def colour_part(work: Work, rng: np.random.Generator) -> Draft | None:
    """The object without one of its colours, or one colour of it alone: a shirt, the trousers, the car's windows."""
    inside = work.lab[work.own]
    if len(inside) < 64:
        return None
    rows, columns = np.nonzero(work.own)
    pull = float(rng.uniform(0.0, 40.0)) / work.size_px  # positions count too, so that parts are connected
    points = np.column_stack([inside, rows * pull, columns * pull]).astype(np.float32)
    count = int(rng.choice(_CLUSTERS))
    stop = (cv2.TERM_CRITERIA_MAX_ITER, 6, 1.0)
    start = points[rng.integers(len(points), size=count)]
    nearest = np.linalg.norm(points[:, None] - start[None], axis=2).argmin(axis=1).astype(np.int32)
    _, labels, _ = cv2.kmeans(points, count, nearest[:, None], stop, 1, cv2.KMEANS_USE_INITIAL_LABELS)
    label = int(rng.integers(count))
    chosen = np.asarray(labels).ravel() == label
    mask = np.zeros(work.own.shape, np.uint8)
    mask[rows, columns] = chosen if rng.random() < 0.5 else ~chosen
    smooth = cv2.medianBlur(mask, 2 * int(rng.integers(1, 4)) + 1).view(np.bool_)
    return _part(work, np.asarray(smooth & work.own))


def clicked(work: Work, rng: np.random.Generator) -> Draft | None:
    """What grows from a click inside the object: near pixels of a like colour that are connected with it."""
    depth = np.where(np.isfinite(work.depth), work.depth, 0)
    indices = np.flatnonzero(depth >= 0.3 * depth.max())
    row, column = divmod(int(rng.choice(indices)), work.own.shape[1])
    times = work.unlike(row, column) + np.float32(rng.uniform(5, 80)) * work.far(row, column)
    area = float(rng.uniform(0.15, 1.3)) * work.area_px
    low, high = 0.0, float(times.max())
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        grown = _connected_part(times <= middle, row, column)
        low, high = (middle, high) if np.count_nonzero(grown) < area else (low, middle)
    region = _connected_part(times <= high, row, column).astype(np.uint8)
    size = 2 * int(rng.integers(1, 4)) + 1
    mask = np.asarray(cv2.morphologyEx(region, cv2.MORPH_CLOSE, np.ones((size, size), np.uint8))) > 0
    inside = np.count_nonzero(mask & work.own)
    if inside >= _MOSTLY * np.count_nonzero(mask):
        return _part(work, np.asarray(mask & work.own))
    return untyped(work, mask, least=_LEAST_IOU)


def superpixel_union(work: Work, rng: np.random.Generator) -> Draft | None:
    """All segments that lie in the object by more than a share: good where the picture has edges, leaky elsewhere."""
    labels = superpixels(work, rng, spacing=float(rng.uniform(0.1, 0.5)))
    count = int(labels.max()) + 1
    sizes = np.maximum(np.bincount(labels.ravel(), minlength=count), 1)
    inside = np.bincount(labels[work.own], minlength=count) / sizes
    chosen = inside > float(rng.uniform(0.2, 0.75))
    chosen &= rng.random(count) > float(rng.choice([0.0, 0.0, 0.1, 0.25]))
    return untyped(work, np.asarray(chosen[labels]), least=_LEAST_IOU)


def boxed(work: Work, rng: np.random.Generator) -> Draft | None:
    """The box of the object or of a part of it, as a rectangle, an ellipse or with round corners."""
    left, top, right, bottom = work.piece.box
    width, height = right - left, bottom - top
    off = rng.uniform(-0.18, 0.18, 4) * float(rng.random())
    x0, x1 = left + off[0] * width - work.box[0], right + off[1] * width - work.box[0]
    y0, y1 = top + off[2] * height - work.box[1], bottom + off[3] * height - work.box[1]
    filled = np.zeros(work.own.shape, np.uint8)
    centre, half = ((x0 + x1) / 2, (y0 + y1) / 2), (max((x1 - x0) / 2, 1), max((y1 - y0) / 2, 1))
    if rng.random() < 0.55:
        cv2.rectangle(filled, (round(x0), round(y0)), (round(x1) - 1, round(y1) - 1), (1,), -1)
    else:
        cv2.ellipse(
            filled, np.rint(centre).astype(int).tolist(), np.rint(half).astype(int).tolist(), 0, 0, 360, (1,), -1
        )
    return untyped(work, filled.view(np.bool_), least=_LEAST_IOU)


def stray(work: Work, rng: np.random.Generator) -> Draft | None:
    """The object, mostly whole, and one to four segments that do not belong to it."""
    labels = superpixels(work, rng, spacing=float(rng.uniform(0.12, 0.4)))
    count = int(labels.max()) + 1
    sizes = np.bincount(labels.ravel(), minlength=count)
    touched = np.bincount(labels[work.own], minlength=count)
    free = np.flatnonzero((touched < 0.05 * sizes) & (sizes > 0.01 * work.area_px))
    if not free.size:
        return None
    chosen = rng.permutation(free)[: int(rng.integers(1, 5))]
    return untyped(work, np.asarray((work.own | np.isin(labels, chosen)) & ~_lost(work, rng)), least=_LEAST_IOU)


def together(first: Maker, second: Maker) -> Maker:
    """Two defects at once: what either takes away is gone, what either adds is there."""

    def maker(work: Work, rng: np.random.Generator) -> Draft | None:
        draft, other_draft = first(work, rng), second(work, rng)
        if draft is None or other_draft is None:
            return None
        a, b = work.whole(draft.mask), work.whole(other_draft.mask)
        both = np.asarray((work.truth & a & b) | (~work.truth & (a | b)))
        return untyped(work, both, least=_LEAST_IOU)

    return maker


def superpixels(work: Work, rng: np.random.Generator, *, spacing: float) -> Labels:
    """The basin that each pixel of ``work.box`` belongs to: int32 (h, w), from 1; neighbouring basins touch."""
    height, width = work.own.shape
    step = max(4.0, spacing * work.size_px)
    rows = np.arange(rng.uniform(0, step), height, step)
    columns = np.arange(rng.uniform(0, step), width, step)
    seeds = np.zeros((height, width), np.int32)
    points = np.stack(np.meshgrid(rows, columns, indexing="ij"), axis=-1).reshape(-1, 2)
    if len(points) < _LEAST_SEEDS:
        points = rng.uniform((0, 0), (height, width), (_LEAST_SEEDS, 2))
    points = points + rng.uniform(-0.3, 0.3, points.shape) * step
    points = np.clip(np.rint(points), 0, (height - 1, width - 1)).astype(np.intp)
    seeds[points[:, 0], points[:, 1]] = rng.permutation(len(points)) + 1
    basins = np.asarray(cv2.watershed(work.picture, seeds), dtype=np.int32)
    fill = cv2.dilate(basins.clip(0).astype(np.float32), np.ones((3, 3), np.uint8))
    fill = np.where(fill > 0, fill, cv2.dilate(fill, np.ones((3, 3), np.uint8)))  # a corner that a line runs into
    return np.where(basins > 0, basins, fill).astype(np.int32)


def _grown(labels: Labels, rng: np.random.Generator, *, share: float) -> Mask:
    """Neighbouring labels joined until they hold a share of all; label 0 is left out."""
    names, sizes = np.unique(labels[labels > 0], return_counts=True)
    if names.size < 2:
        return np.asarray(labels > 0)
    weights = dict(zip(names.tolist(), sizes.tolist(), strict=True))
    area = share * float(sizes.sum())
    pairs = _neighbours(labels)
    chosen = {int(rng.choice(names, p=sizes / sizes.sum()))}
    while sum(weights[label] for label in chosen) < area:
        neighbours = sorted({other for label, other in pairs if label in chosen} - chosen)
        candidates = neighbours or sorted(set(weights) - chosen)
        chosen.add(int(rng.choice(candidates)))
    return np.isin(labels, list(chosen))


def _connected_part(mask: Mask, row: int, column: int) -> Mask:
    """The connected part of a mask that holds a pixel."""
    _, labels = cv2.connectedComponents(mask.view(np.uint8), connectivity=4)
    return np.asarray((labels == labels[row, column]) & mask)


def _neighbours(labels: Labels) -> set[tuple[int, int]]:
    adjacent: set[tuple[int, int]] = set()
    for first, second in ((labels[:, :-1], labels[:, 1:]), (labels[:-1], labels[1:])):
        differ = (first != second) & (first > 0) & (second > 0)
        pairs = np.unique(np.stack([first[differ], second[differ]]), axis=1).T.tolist()
        adjacent |= {(a, b) for a, b in pairs} | {(b, a) for a, b in pairs}
    return adjacent


def _lost(work: Work, rng: np.random.Generator) -> Mask:
    """What a ragged outline loses."""
    deep = np.float32(rng.uniform(0.0, 0.06) * work.size_px)
    return np.asarray(work.own & (work.depth < deep * (np.float32(0.5) + work.noise(rng, 0.3 * work.size_px))))


def _part(work: Work, mask: Mask) -> Draft | None:
    share = np.count_nonzero(mask) / work.area_px
    return Draft(mask, "cutout") if _LEAST_PART <= share <= _MOST_PART else None
