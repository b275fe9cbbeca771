"""The regions of a frame that the lexicon model chooses from: two trees of mergers over the same small pieces.

The first tree merges as `classical.regions.v1` does. The second starts where the first has some regions left, and goes
by colour above all: so a thing may be found whole that the first tree had joined to what lies behind it. All that is
said of a region is summed over its pieces, so that no pixel is looked at twice.

How far a piece stands out is its cheapest way to the frame's edge over pieces, paid in colour: what is behind is joined
to the edge by small steps (Wei et al., "Geodesic Saliency Using Background Priors", ECCV 2012).
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from auscult.arrays import segments
from auscult.arrays.segments import Borders
from auscult.models.classical import merging, regions
from auscult.models.classical.merging import Region, Weights
from auscult.types import Frame

LEAST_SIDE_PX: Final = 16
LEAST_SHARE: Final = 0.002
GREATEST_SHARE: Final = 0.55
"""Sizes of regions as shares of the picture."""

_PIECES_ALONG: Final = 22
_SECOND_FROM: Final = 160  # regions of the first tree from which the second one starts
_BY_COLOUR: Final = Weights(colour=1.0, edge=0.4, size=0.6, fill=0.3)
_ALIKE: Final = 0.8  # IoU from which on of two regions the less thing-like one is dropped
_MOST: Final = 80
_FREE_STEP: Final = 8.0  # grey levels that a step costs nothing below: texture, not an outline

Values = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Found:
    """Regions of a frame, n of them over p pieces, the most thing-like first.

    Attributes:
        labels: Piece of each pixel, int32 (h, w).
        areas: Pixels of each piece, (p,).
        members: Which pieces each region has, 0 or 1, (n, p).
        edge: Mean edge strength along the border with other regions, in grey levels per pixel, (n,).
        contrast: How unlike what is around, 0..1, (n,).
        apart: How far each piece stands out from what the frame's edge is joined to, 0 or more, (p,).
    """

    labels: NDArray[np.int32]
    areas: Values
    members: Values
    edge: Values
    contrast: Values
    apart: Values


def found_in(picture: Frame) -> Found | None:
    """The regions of a small frame.

    Args:
        picture: uint8 RGB (h, w, 3).

    Returns:
        None where there are none: a frame of one tone, or one with a side below ``LEAST_SIDE_PX``.
    """
    if min(picture.shape[:2]) < LEAST_SIDE_PX:
        return None
    lab = np.asarray(cv2.cvtColor(picture, cv2.COLOR_RGB2LAB), dtype=np.uint8)
    strength = segments.edge_strength(lab)
    blurred = np.asarray(cv2.GaussianBlur(lab, (3, 3), 0), dtype=np.uint8)
    labels = segments.pieces(blurred, strength, step_px=max(3, max(picture.shape[:2]) // _PIECES_ALONG))
    borders = segments.borders(labels, strength)
    able = _able(_leaves(labels, lab, strength), borders, area_px=labels.size)
    if not able:
        return None
    able.sort(key=lambda one: -one.score)
    areas = np.bincount(labels.ravel()).astype(np.float64)
    members = np.zeros((len(able), len(areas)))
    for row, one in zip(members, able, strict=True):
        row[one.pieces] = 1.0
    kept = _unlike(members, areas)
    return Found(
        labels=labels,
        areas=areas,
        members=members[kept],
        edge=np.array([able[at].region.border_strength / max(1.0, able[at].region.border_px) for at in kept]),
        contrast=np.array([merging.contrast(able[at].tree, able[at].region) for at in kept]),
        apart=_apart(labels, lab, borders),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Able:
    """A region of a fit size, with the pieces it has."""

    score: float
    tree: list[Region]
    region: Region
    pieces: NDArray[np.intp]


def _able(leaves: list[Region], borders: Borders, *, area_px: int) -> list[_Able]:
    """The regions of both trees."""
    count = len(leaves)
    first = merging.tree(leaves, borders, area_px=area_px, weights=Weights())
    begun = _left(first, _SECOND_FROM)
    names = np.zeros(count, np.int64)
    for number, region in enumerate(begun):
        names[list(region.pieces)] = number
    second = merging.tree(
        [_bare(region, number) for number, region in enumerate(begun)],
        _joined(borders, names),
        area_px=area_px,
        weights=_BY_COLOUR,
    )
    able = []
    for tree, new in ((first, first), (second, second[len(begun) :])):  # the first tree has the second one's leaves
        for region in new:
            if not LEAST_SHARE * area_px <= region.area_px <= GREATEST_SHARE * area_px:
                continue
            score = regions.score(tree, region, area_px=area_px)
            if np.isfinite(score):
                own = np.array(region.pieces, dtype=np.intp)
                able.append(_Able(score, tree, region, own if tree is first else np.flatnonzero(np.isin(names, own))))
    return able


def _leaves(labels: NDArray[np.int32], lab: NDArray[np.uint8], strength: NDArray[np.float32]) -> list[Region]:
    """Each piece as a region, with histograms of lightness, both axes of colour, and texture."""
    count, flat = int(labels.max()) + 1, labels.ravel().astype(np.int64)
    areas = np.bincount(flat, minlength=count)
    levels = (
        (lab[..., 0] // 21, 13),
        (np.clip((lab[..., 1].astype(np.int64) - 88) // 5, 0, 15), 16),
        (np.clip((lab[..., 2].astype(np.int64) - 88) // 5, 0, 15), 16),
        (np.clip(np.log2(strength + 0.5) + 1, 0, 6).astype(np.int64), 7),
    )
    looks = np.concatenate(
        [
            np.bincount(flat * bins + level.ravel(), minlength=count * bins).reshape(count, bins)
            for level, bins in levels
        ],
        axis=1,
    )
    rows, columns = np.divmod(np.arange(flat.size), labels.shape[1])
    low, high = np.full((2, count), flat.size), np.zeros((2, count), np.int64)
    for axis, values in enumerate((columns, rows)):
        np.minimum.at(low[axis], flat, values)
        np.maximum.at(high[axis], flat, values)
    frame_px = np.bincount(np.concatenate([labels[0], labels[-1], labels[:, 0], labels[:, -1]]), minlength=count)
    return [
        Region(
            pieces=(index,),
            area_px=int(areas[index]),
            box=(int(low[0, index]), int(low[1, index]), int(high[0, index]) + 1, int(high[1, index]) + 1),
            look=looks[index] / areas[index],
            frame_px=int(frame_px[index]),
        )
        for index in range(count)
    ]


def _left(tree: Sequence[Region], count: int) -> list[Region]:
    """The regions that were left when just ``count`` were, of a tree in the order it was made."""
    leaves = sum(len(region.pieces) == 1 for region in tree)
    made = tree[: leaves + max(0, leaves - count)]
    taken: set[int] = set()
    left: list[Region] = []
    for region in reversed(made):
        if not taken.intersection(region.pieces):
            left.append(region)
            taken.update(region.pieces)
    return left[::-1]


def _bare(region: Region, name: int) -> Region:
    """A region as a leaf of another tree."""
    return Region(pieces=(name,), area_px=region.area_px, box=region.box, look=region.look, frame_px=region.frame_px)


def _joined(borders: Borders, names: NDArray[np.int64]) -> Borders:
    """The borders of pieces as those of the regions that they are in."""
    pairs = np.sort(names[borders.pairs], axis=1)
    differ = pairs[:, 0] != pairs[:, 1]
    count = int(names.max()) + 1
    distinct, inverse = np.unique(pairs[differ, 0] * count + pairs[differ, 1], return_inverse=True)
    length = np.bincount(inverse, borders.length_px[differ], distinct.size)
    return Borders(
        pairs=np.stack(np.divmod(distinct, count), axis=1),
        length_px=length.astype(np.int64),
        strength=np.asarray(np.bincount(inverse, borders.strength[differ], distinct.size), dtype=np.float64),
    )


def _unlike(members: Values, areas: Values) -> list[int]:
    """Regions of which no two are nearly the same."""
    sizes = np.einsum("np,p->n", members, areas)
    kept: list[int] = []
    taken = np.zeros((_MOST, len(areas)))
    for index, own in enumerate(members):
        # Not as a product of matrices, which would start threads for sums as small as these.
        shared = np.einsum("rp,p->r", taken[: len(kept)], own * areas)
        if not (shared > _ALIKE * (sizes[index] + sizes[kept] - shared)).any():
            taken[len(kept)] = own
            kept.append(index)
            if len(kept) == _MOST:
                break
    return kept


def _apart(labels: NDArray[np.int32], lab: NDArray[np.uint8], borders: Borders) -> Values:
    """The cheapest way of each piece to the frame's edge, in grey levels of colour."""
    count = int(labels.max()) + 1
    sizes = np.bincount(labels.ravel(), minlength=count)
    means = np.stack(
        [np.bincount(labels.ravel(), lab[..., channel].ravel(), count) / sizes for channel in range(3)], axis=1
    )
    steps = np.maximum(
        0.0, np.linalg.norm(means[borders.pairs[:, 0]] - means[borders.pairs[:, 1]], axis=1) - _FREE_STEP
    )
    near: list[list[tuple[int, float]]] = [[] for _ in range(count)]
    for (one, other), cost in zip(borders.pairs.tolist(), steps.tolist(), strict=True):
        near[one].append((other, cost))
        near[other].append((one, cost))
    outer = np.unique(np.concatenate([labels[0], labels[-1], labels[:, 0], labels[:, -1]])).tolist()
    paid = np.full(count, np.inf)
    paid[outer] = 0.0
    heap = [(0.0, one) for one in outer]
    while heap:
        cost, one = heapq.heappop(heap)
        if cost > paid[one]:
            continue
        for other, step in near[one]:
            if cost + step < paid[other]:
                paid[other] = cost + step
                heapq.heappush(heap, (cost + step, other))
    return paid
