"""What may be a thing in a frame: regions, and what is seen of each: colours, place, size, shape and surroundings.

All but the shape is summed over the pieces that a region has, holes left out; its mask and shape have them filled.

The first tree merges as `classical.regions.v1` does. The second starts where the first has some regions left, and goes
by colour above all: so a thing may be found whole that the first tree had joined to what lies behind it. All that is
said of a region is summed over its pieces, so that no pixel is looked at twice.

How far a piece stands out is its cheapest way to the frame's edge over pieces, paid in colour: what is behind is joined
to the edge by small steps (Wei et al., "Geodesic Saliency Using Background Priors", ECCV 2012).
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, TypeVar

import cv2
import numpy as np
from numpy.typing import NDArray

from auscult.arrays import motion, segments
from auscult.arrays.segments import Borders
from auscult.models.classical import regions
from auscult.models.classical.regions import Region, Weights
from auscult.types import Frame, Mask

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
Float = TypeVar("Float", np.float32, np.float64)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FoundRegions:
    """Regions of a frame, n of them over p pieces, the most thing-like first."""

    labels: NDArray[np.int32]  # piece of each pixel, int32 (h, w)
    areas: Values  # pixels of each piece, (p,)
    members: Values  # which pieces each region has, 0 or 1, (n, p)
    edge: Values  # mean edge strength along the border with other regions, in grey levels per pixel, (n,)
    contrast: Values  # how unlike what is around, 0..1, (n,)
    apart: Values  # how far each piece stands out from what the frame's edge is joined to, 0 or more, (p,)


def found_in(picture: Frame) -> FoundRegions | None:
    """The regions of a small frame; None for a frame of one tone, or one with a side below ``LEAST_SIDE_PX``."""
    if min(picture.shape[:2]) < LEAST_SIDE_PX:
        return None
    labels, lab, strength = regions.cut_up(picture, _PIECES_ALONG)
    borders = segments.borders(labels, strength)
    able = _able(regions.leaves(labels, lab, strength), borders, area_px=labels.size)
    if not able:
        return None
    able.sort(key=lambda region: -region.score)
    areas = np.bincount(labels.ravel()).astype(np.float64)
    members = np.zeros((len(able), len(areas)))
    for row, region in zip(members, able, strict=True):
        row[region.pieces] = 1.0
    chosen = _unlike(members, areas)
    return FoundRegions(
        labels=labels,
        areas=areas,
        members=members[chosen],
        edge=np.array([able[i].region.border_strength / max(1.0, able[i].region.border_px) for i in chosen]),
        contrast=np.array([regions.contrast(able[i].tree, able[i].region) for i in chosen]),
        apart=_edge_distance(labels, lab, borders),
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
    first = regions.tree(leaves, borders, area_px=area_px, weights=Weights())
    coarse = _left(first, _SECOND_FROM)
    names = np.zeros(count, np.int64)
    for number, region in enumerate(coarse):
        names[list(region.pieces)] = number
    second = regions.tree(
        [_bare(region, number) for number, region in enumerate(coarse)],
        _joined(borders, names),
        area_px=area_px,
        weights=_BY_COLOUR,
    )
    able = []
    for tree, new in ((first, first), (second, second[len(coarse) :])):  # the first tree has the second one's leaves
        for region in new:
            if not LEAST_SHARE * area_px <= region.area_px <= GREATEST_SHARE * area_px:
                continue
            score = regions.score(tree, region, area_px=area_px)
            if np.isfinite(score):
                ids = np.array(region.pieces, dtype=np.intp)
                able.append(_Able(score, tree, region, ids if tree is first else np.flatnonzero(np.isin(names, ids))))
    return able


def _left(tree: Sequence[Region], count: int) -> list[Region]:
    """The regions that were left when just ``count`` were, of a tree in the order it was made."""
    leaves = sum(len(region.pieces) == 1 for region in tree)
    merged = tree[: leaves + max(0, leaves - count)]
    used: set[int] = set()
    left: list[Region] = []
    for region in reversed(merged):
        if not used.intersection(region.pieces):
            left.append(region)
            used.update(region.pieces)
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
    chosen: list[int] = []
    rows = np.zeros((_MOST, len(areas)))
    for index, row in enumerate(members):
        # Not as a product of matrices, which would start threads for sums as small as these.
        shared = np.einsum("rp,p->r", rows[: len(chosen)], row * areas)
        if not (shared > _ALIKE * (sizes[index] + sizes[chosen] - shared)).any():
            rows[len(chosen)] = row
            chosen.append(index)
            if len(chosen) == _MOST:
                break
    return chosen


def _edge_distance(labels: NDArray[np.int32], lab: NDArray[np.uint8], borders: Borders) -> Values:
    """The cheapest way of each piece to the frame's edge, in grey levels of colour."""
    count = int(labels.max()) + 1
    sizes = np.bincount(labels.ravel(), minlength=count)
    means = np.stack(
        [np.bincount(labels.ravel(), lab[..., channel].ravel(), count) / sizes for channel in range(3)], axis=1
    )
    steps = np.maximum(
        0.0, np.linalg.norm(means[borders.pairs[:, 0]] - means[borders.pairs[:, 1]], axis=1) - _FREE_STEP
    )
    neighbours: list[list[tuple[int, float]]] = [[] for _ in range(count)]
    for (node, neighbour), cost in zip(borders.pairs.tolist(), steps.tolist(), strict=True):
        neighbours[node].append((neighbour, cost))
        neighbours[neighbour].append((node, cost))
    outer = np.unique(np.concatenate([labels[0], labels[-1], labels[:, 0], labels[:, -1]])).tolist()
    paid = np.full(count, np.inf)
    paid[outer] = 0.0
    heap = [(0.0, node) for node in outer]
    while heap:
        cost, node = heapq.heappop(heap)
        if cost > paid[node]:
            continue
        for neighbour, step in neighbours[node]:
            if cost + step < paid[neighbour]:
                paid[neighbour] = cost + step
                heapq.heappush(heap, (cost + step, neighbour))
    return paid


COLOURS: Final = ("red", "orange", "yellow", "green", "blue", "purple", "pink", "brown", "white", "grey", "black")
"""Basic colour terms (Berlin and Kay, Basic Color Terms, 1969)."""

_LEVELS: Final = 32
_STEP: Final = 256 // _LEVELS

# Hue in degrees at which a word fits best, and how far it reaches to both sides; red, pink, orange and brown share hues
# and are told apart by how light and how strong a tone is.
_HUES: Final = {
    "red": (0.0, 24.0),
    "orange": (29.0, 17.0),
    "yellow": (54.0, 20.0),
    "green": (120.0, 55.0),
    "blue": (217.0, 48.0),
    "purple": (280.0, 35.0),
    "pink": (334.0, 36.0),
    "brown": (26.0, 26.0),
}


def colour_fits(frame: Frame) -> NDArray[np.float32]:
    """How well each word of ``COLOURS`` fits each pixel, float32 (h * w, 11), 0..1; a row sums to at most 1."""
    levels = (frame // _STEP).astype(np.intp)
    cell = (levels[..., 0] * _LEVELS + levels[..., 1]) * _LEVELS + levels[..., 2]
    return np.asarray(_table()[cell.reshape(-1)])


@lru_cache(maxsize=1)
def _table() -> NDArray[np.float32]:
    """The fits of every tone, at ``_LEVELS`` levels a channel: read-only, since it is kept."""
    axis = (np.arange(_LEVELS, dtype=np.float32) * _STEP + _STEP / 2) / 255
    tones = np.stack(np.meshgrid(axis, axis, axis, indexing="ij"), axis=-1).reshape(1, -1, 3)
    hsv = np.asarray(cv2.cvtColor(tones, cv2.COLOR_RGB2HSV), dtype=np.float32)[0]
    table = _of_hsv(hsv[:, 0], saturation=hsv[:, 1], value=hsv[:, 2])
    table.setflags(write=False)
    return table


def _of_hsv(
    hue: NDArray[np.float32], *, saturation: NDArray[np.float32], value: NDArray[np.float32]
) -> NDArray[np.float32]:
    hues = {word: _hue_match(hue, centre, reach) for word, (centre, reach) in _HUES.items()}
    light, strong = rises(value, 0.55, 0.75), rises(saturation, 0.45, 0.7)
    chroma = saturation * value
    dark = 1 - rises(value, 0.1, 0.26)
    coloured = rises(saturation, 0.1, 0.3) * rises(chroma, 0.04, 0.14) * (1 - dark)
    grey = (1 - coloured) * (1 - dark)
    pale = light * (1 - strong)
    parts = {
        "red": coloured * hues["red"] * (1 - pale),
        "orange": coloured * hues["orange"] * light * strong,
        "yellow": coloured * hues["yellow"] * rises(value, 0.45, 0.65),
        "green": coloured * hues["green"],
        "blue": coloured * hues["blue"],
        "purple": coloured * hues["purple"],
        "pink": coloured * np.maximum(hues["pink"], hues["red"] * pale),
        "brown": coloured * hues["brown"] * np.maximum(1 - light, 0.6 * (1 - strong)),
        "white": grey * rises(value, 0.7, 0.88),
        "grey": grey * (1 - rises(value, 0.7, 0.88)) * rises(value, 0.16, 0.32),
        "black": np.maximum(dark, grey * (1 - rises(value, 0.16, 0.32))),
    }
    table = np.stack([parts[word] for word in COLOURS], axis=1).astype(np.float32)
    return np.asarray(table / np.maximum(1.0, table.sum(axis=1, keepdims=True)), dtype=np.float32)


def _hue_match(hue: NDArray[np.float32], centre: float, reach: float) -> NDArray[np.float32]:
    """1 within the inner half of the reach, falling to 0 at its end."""
    distance = np.abs((hue - centre + 180) % 360 - 180)
    return np.asarray(np.clip(2 - 2 * distance / reach, 0, 1), dtype=np.float32)


def rises(values: NDArray[Float], low: float, high: float) -> NDArray[Float]:
    """From 0 at ``low`` to 1 at ``high``."""
    return np.asarray(np.clip((values - low) / (high - low), 0, 1))


SIDE_PX: Final = 240
"""The longer side of a frame as it is looked at."""

_FULL_EDGE: Final = 25.5  # grey levels per pixel
_FULL_APART: Final = 60.0  # grey levels


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Things:
    """Regions of one frame, n of them, the most thing-like first; they may lie in one another."""

    masks: NDArray[np.bool_]  # bool (n, h, w), at the size at which the frame is looked at
    colours: Values  # share of each region that fits each colour word, (n, 11)
    light: Values  # mean lightness, 0..1
    vivid: Values  # mean colourfulness, 0..1
    rough: Values  # how much lightness varies within, 0..1
    boxes: Values  # x0, y0, x1, y1 in shares of the picture, (n, 4)
    x: Values  # centres in shares of the picture, (n,)
    y: Values
    area: Values  # shares of the picture
    fill: Values  # share of the smallest turned box that is filled, 0..1
    round: Values  # how much like a disc, 0..1
    thin: Values  # shorter over longer side of the smallest turned box, 0..1; smaller is thinner
    contrast: Values  # how unlike in colour to what is around, 0..1
    edge: Values  # mean edge strength along the outline, 0..1
    apart: Values  # how far it stands out from what is joined to the frame's edge, 0..1
    rare: Values  # how rare its colours are in the picture, 0..1
    frame: Values  # share of the outline that lies along the frame
    iou: Values  # IoU of each two, (n, n)
    within: Values  # how much of the smaller of two regions lies in the other, (n, n), 0..1
    look: Values = field(repr=False)  # histograms of colour, (n, 64)

    def __len__(self) -> int:
        return len(self.masks)


def small(frame: Frame) -> Frame:
    """A frame as it is looked at, at most ``SIDE_PX`` long."""
    return segments.reduced(frame, SIDE_PX)


def things_in(picture: Frame) -> Things | None:
    """The regions of a frame from ``small`` that may be things; None where nothing stands out or it is tiny."""
    candidates = found_in(picture)
    if candidates is None:
        return None
    height, width = picture.shape[:2]
    sums = _Sums(candidates)
    lab = np.asarray(cv2.cvtColor(picture, cv2.COLOR_RGB2LAB), dtype=np.float32) / np.float32(255)
    light = sums.mean(lab[..., 0])
    squares = sums.mean(np.square(lab[..., 0]))
    rows, columns = np.indices((height, width))
    fits = colour_fits(picture)
    look = sums.shares(motion.colour_bins(picture), motion.BINS**3)
    overall = np.maximum(look.of_all, 1e-6)
    masks = np.ascontiguousarray(np.take(candidates.members.astype(bool), candidates.labels, axis=1))
    shapes = [_shape(mask) for mask in masks]
    shared = sums.of(candidates.members * candidates.areas)
    return Things(
        masks=masks,
        colours=np.stack([sums.mean(fits[:, word]) for word in range(fits.shape[1])], axis=1),
        light=light,
        vivid=np.minimum(1.0, 4 * sums.mean(np.hypot(lab[..., 1] - 0.5, lab[..., 2] - 0.5))),
        rough=np.sqrt(np.maximum(0.0, squares - light**2)),
        boxes=np.array([shape[0] for shape in shapes]) / np.array([width, height, width, height]),
        x=(sums.mean(columns) + 0.5) / width,
        y=(sums.mean(rows) + 0.5) / height,
        area=sums.sizes / candidates.labels.size,
        fill=np.array([shape[1] for shape in shapes]),
        round=np.array([shape[2] for shape in shapes]),
        thin=np.array([shape[3] for shape in shapes]),
        contrast=candidates.contrast,
        edge=np.minimum(1.0, candidates.edge / _FULL_EDGE),
        apart=np.minimum(1.0, sums.of((candidates.apart * candidates.areas)[None])[:, 0] / sums.sizes / _FULL_APART),
        rare=np.clip(-(look.of_each @ np.log(overall)) / 10, 0, 1),
        frame=np.array([shape[4] for shape in shapes]),
        within=shared / np.minimum(sums.sizes[:, None], sums.sizes[None]),
        iou=shared / (sums.sizes[:, None] + sums.sizes[None] - shared),
        look=look.of_each,
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Shares:
    """Histograms that sum to 1: of each region, (n, bins), and of the picture, (bins,)."""

    of_each: Values
    of_all: Values


class _Sums:
    """Sums over regions by way of their pieces."""

    def __init__(self, candidates: FoundRegions) -> None:
        self._labels = candidates.labels.ravel()
        self._members = candidates.members
        self._areas = candidates.areas
        self.sizes = self.of(candidates.areas[None])[:, 0]

    def of(self, values: Values) -> Values:
        """The sums of what pieces have, (k, p) to (n, k)."""
        # Not as a product of matrices, which would start threads for sums as small as these.
        return np.asarray(np.einsum("np,kp->nk", self._members, values), dtype=np.float64)

    def mean(self, values: NDArray[np.generic]) -> Values:
        """The mean of what each pixel has, (n,)."""
        sums = np.bincount(self._labels, values.ravel(), len(self._areas)).astype(np.float64)
        return self.of(sums[None])[:, 0] / self.sizes

    def shares(self, bins: NDArray[np.intp], count: int) -> _Shares:
        """Histograms of what bin each pixel is in."""
        pieces = np.bincount(self._labels.astype(np.intp) * count + bins.ravel(), minlength=len(self._areas) * count)
        pieces = pieces.reshape(-1, count).astype(np.float64)
        of_each = self.of(np.ascontiguousarray(pieces.T)) / self.sizes[:, None]
        return _Shares(of_each, pieces.sum(axis=0) / self._areas.sum())


def _shape(mask: Mask) -> tuple[tuple[int, int, int, int], float, float, float, float]:
    """Box, fill and roundness, shorter over longer side, and share of the outline along the frame; fills its holes."""
    outlines = cv2.findContours(mask.view(np.uint8), cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)[0]
    outline = max(outlines, key=cv2.contourArea)
    cv2.drawContours(mask.view(np.uint8), [outline], 0, (1,), cv2.FILLED)
    area = float(np.count_nonzero(mask))
    (_, sides, _) = cv2.minAreaRect(outline)
    long, short = max(sides) + 1, min(sides) + 1
    _, radius = cv2.minEnclosingCircle(outline)
    left, top, width, height = cv2.boundingRect(outline)
    edge = sum(np.count_nonzero(line) for line in (mask[0], mask[-1], mask[:, 0], mask[:, -1]))
    return (
        (left, top, left + width, top + height),
        min(1.0, area / (long * short)),
        min(1.0, area / (np.pi * (radius + 0.5) ** 2)),
        short / long,
        min(1.0, edge / max(1.0, cv2.arcLength(outline, closed=True))),
    )
