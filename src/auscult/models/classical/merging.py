"""Pieces of a picture merged two by two, the most alike first: every piece and every merger is a region.

How unlike two regions are follows colour, texture, the edge between them, their size and how well they fill their box,
as in selective search, with the edge added.

References: Uijlings et al., "Selective Search for Object Recognition", IJCV 2013, Sec. 3.2; Arbelaez et al., "Contour
Detection and Hierarchical Image Segmentation", PAMI 2011 (the mean edge along a border as a cost).
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from auscult.arrays.segments import Borders

HISTOGRAMS: Final = 4
"""Histograms that a look is made of, each summing to 1."""

_FULL_EDGE: Final = 12.0  # grey levels per pixel: an edge that nothing is merged over lightly


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """What makes two regions unlike; each part lies in 0..1.

    The values were chosen on DAVIS 2016 by the share of objects that some region fits.
    """

    colour: float = 0.4
    edge: float = 1.0
    size: float = 0.6
    fill: float = 0.6


@dataclass(slots=True, eq=False)
class Region:
    """One region of the tree.

    Attributes:
        pieces: Labels of its pieces.
        area_px: Its pixels.
        box: (x0, y0, x1, y1), half-open.
        look: ``HISTOGRAMS`` histograms of colour and texture, each summing to 1, one after the other.
        frame_px: Pixels of it on the frame's edge.
        formed: How unlike the two were that it was merged from; 0 for a piece.
        left_at: How unlike it and the one it was merged with were; infinite for the last.
        border_px: Length of its border with other regions when it was formed.
        border_strength: Sum of the edge strength along it.
        allowed: May be proposed.
        near: The regions it touches, with length and strength of the border; of a merged region those it last touched.
    """

    pieces: tuple[int, ...]
    area_px: int
    box: tuple[int, int, int, int]
    look: NDArray[np.float64]
    frame_px: int
    formed: float = 0.0
    left_at: float = float("inf")
    border_px: float = 0.0
    border_strength: float = 0.0
    near: dict[int, tuple[float, float]] = field(default_factory=dict)
    allowed: bool = True


def tree(
    leaves: list[Region], borders: Borders, *, area_px: int, weights: Weights, alone: frozenset[int] = frozenset()
) -> list[Region]:
    """Merge until nothing can be merged any more.

    Args:
        leaves: One region per label, in order; their ``near`` is filled in here.
        borders: Which labels touch.
        area_px: Pixels of the picture.
        weights: What makes two regions unlike.
        alone: Labels that are merged with none.

    Returns:
        The leaves, then the mergers in the order they were made.
    """
    regions = list(leaves)
    pairs = borders.pairs.tolist()
    for (one, other), length, strength in zip(
        pairs, borders.length_px.tolist(), borders.strength.tolist(), strict=True
    ):
        regions[one].near[other] = regions[other].near[one] = (float(length), float(strength))
    for region in regions:
        _measure(region)
    heap = [
        (_unlike(regions[one], regions[other], other, area_px=area_px, weights=weights), one, other)
        for one, other in pairs
        if one not in alone and other not in alone
    ]
    heapq.heapify(heap)
    gone: set[int] = set()
    while heap:
        cost, one, other = heapq.heappop(heap)
        if one in gone or other in gone:
            continue
        gone.update((one, other))
        new = len(regions)
        regions.append(_merged(regions, (one, other), cost=cost))
        for neighbour in regions[new].near.keys() - alone:
            unlike = _unlike(regions[new], regions[neighbour], neighbour, area_px=area_px, weights=weights)
            heapq.heappush(heap, (unlike, neighbour, new))
    return regions


def contrast(regions: list[Region], region: Region) -> float:
    """How unlike a region's colour and texture are to those of what it touches, 0..1; 0 where it touches nothing."""
    total = sum(length for length, _ in region.near.values())
    if total == 0:
        return 0.0
    around = np.zeros_like(region.look)
    for name, (length, _) in region.near.items():
        around += regions[name].look * (length / total)
    return _unlike_looks(region.look, around)


def _measure(region: Region) -> None:
    region.border_px = sum(length for length, _ in region.near.values())
    region.border_strength = sum(strength for _, strength in region.near.values())


def _merged(regions: list[Region], pair: tuple[int, int], *, cost: float) -> Region:
    one, other = pair
    first, second = regions[one], regions[other]
    first.left_at = second.left_at = cost
    area_px = first.area_px + second.area_px
    near = {name: border for name, border in first.near.items() if name != other}
    for name, (length, strength) in second.near.items():
        if name != one:
            before = near.get(name, (0.0, 0.0))
            near[name] = (before[0] + length, before[1] + strength)
    merged = Region(
        pieces=first.pieces + second.pieces,
        area_px=area_px,
        box=_joint(first.box, second.box),
        look=(first.look * first.area_px + second.look * second.area_px) / area_px,
        frame_px=first.frame_px + second.frame_px,
        formed=max(cost, first.formed, second.formed),
        near=near,
    )
    new = len(regions)
    for name, border in near.items():
        there = regions[name].near
        there.pop(one, None)
        there.pop(other, None)
        there[new] = border
    _measure(merged)
    return merged


def _joint(first: tuple[int, int, int, int], second: tuple[int, int, int, int]) -> tuple[int, int, int, int]:
    return (
        min(first[0], second[0]),
        min(first[1], second[1]),
        max(first[2], second[2]),
        max(first[3], second[3]),
    )


def _unlike(first: Region, second: Region, name: int, *, area_px: int, weights: Weights) -> float:
    length, strength = first.near[name]
    colour = _unlike_looks(first.look, second.look)
    edge = min(1.0, strength / length / _FULL_EDGE)
    size = (first.area_px + second.area_px) / area_px
    box = _joint(first.box, second.box)
    fill = 1.0 - (first.area_px + second.area_px) / ((box[2] - box[0]) * (box[3] - box[1]))
    return weights.colour * colour + weights.edge * edge + weights.size * size + weights.fill * max(0.0, fill)


def _unlike_looks(first: NDArray[np.float64], second: NDArray[np.float64]) -> float:
    """One less the histograms' mean intersection."""
    return 1.0 - float(np.minimum(first, second).sum()) / HISTOGRAMS
