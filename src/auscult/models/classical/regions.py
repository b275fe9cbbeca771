"""Region proposals for photographs without annotation, by colour, texture and edges alone.

The picture is made small, cut into pieces along its edges, and the pieces are merged two by two, the most alike first.
Of all regions that come up those are kept that look like things: a strong edge all round, unlike what is beside them,
compact, not lying along the frame. They know nothing of what things are; a thing of many colours comes in parts.

How unlike two regions are follows colour, texture, the edge between them, their size and how well they fill their box,
as in selective search, with the edge added.

References: Uijlings et al., "Selective Search for Object Recognition", IJCV 2013, Sec. 3.2; Arbelaez et al., "Contour
Detection and Hierarchical Image Segmentation", PAMI 2011 (the mean edge along a border as a cost).
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from auscult.arrays import regions as parts
from auscult.arrays import segments
from auscult.arrays.boxes import joint
from auscult.arrays.segments import Borders
from auscult.errors import InputError
from auscult.types import Frame, Mask, Metadata

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
    """One region of the tree."""

    pieces: tuple[int, ...]  # labels of its pieces
    area_px: int  # its pixels
    box: tuple[int, int, int, int]  # (x0, y0, x1, y1), half-open
    look: NDArray[np.float64]  # ``HISTOGRAMS`` histograms of colour and texture, each summing to 1, one after the other
    frame_px: int  # pixels of it on the frame's edge
    formed: float = 0.0  # how unlike the two were that it was merged from; 0 for a piece
    left_at: float = float("inf")  # how unlike it and the one it was merged with were; infinite for the last
    border_px: float = 0.0  # length of its border with other regions when it was formed
    border_strength: float = 0.0  # sum of the edge strength along it
    # the regions it touches, with length and strength of the border; of a merged region those it last touched
    near: dict[int, tuple[float, float]] = field(default_factory=dict)
    allowed: bool = True  # may be proposed


def tree(
    leaves: list[Region], borders: Borders, *, area_px: int, weights: Weights, alone: frozenset[int] = frozenset()
) -> list[Region]:
    """Merge regions, one a label in order, but those of ``alone``: the leaves, then the mergers as they were made."""
    regions = list(leaves)
    pairs = borders.pairs.tolist()
    for (first, second), length, strength in zip(
        pairs, borders.length_px.tolist(), borders.strength.tolist(), strict=True
    ):
        regions[first].near[second] = regions[second].near[first] = (float(length), float(strength))
    for region in regions:
        _measure(region)
    heap = [
        (_unlike(regions[first], regions[second], second, area_px=area_px, weights=weights), first, second)
        for first, second in pairs
        if first not in alone and second not in alone
    ]
    heapq.heapify(heap)
    gone: set[int] = set()
    while heap:
        cost, first, second = heapq.heappop(heap)
        if first in gone or second in gone:
            continue
        gone.update((first, second))
        new = len(regions)
        regions.append(_merged(regions, (first, second), cost=cost))
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
    first_index, second_index = pair
    first, second = regions[first_index], regions[second_index]
    first.left_at = second.left_at = cost
    area_px = first.area_px + second.area_px
    near = {name: border for name, border in first.near.items() if name != second_index}
    for name, (length, strength) in second.near.items():
        if name != first_index:
            before = near.get(name, (0.0, 0.0))
            near[name] = (before[0] + length, before[1] + strength)
    merged = Region(
        pieces=first.pieces + second.pieces,
        area_px=area_px,
        box=joint(first.box, second.box),
        look=(first.look * first.area_px + second.look * second.area_px) / area_px,
        frame_px=first.frame_px + second.frame_px,
        formed=max(cost, first.formed, second.formed),
        near=near,
    )
    new = len(regions)
    for name, border in near.items():
        borders = regions[name].near
        borders.pop(first_index, None)
        borders.pop(second_index, None)
        borders[new] = border
    _measure(merged)
    return merged


def _unlike(first: Region, second: Region, name: int, *, area_px: int, weights: Weights) -> float:
    length, strength = first.near[name]
    colour = _unlike_looks(first.look, second.look)
    edge = min(1.0, strength / length / _FULL_EDGE)
    size = (first.area_px + second.area_px) / area_px
    box = joint(first.box, second.box)
    fill = 1.0 - (first.area_px + second.area_px) / ((box[2] - box[0]) * (box[3] - box[1]))
    return weights.colour * colour + weights.edge * edge + weights.size * size + weights.fill * max(0.0, fill)


def _unlike_looks(first: NDArray[np.float64], second: NDArray[np.float64]) -> float:
    """One less the histograms' mean intersection."""
    return 1.0 - float(np.minimum(first, second).sum()) / HISTOGRAMS


LEAST_SHARE: Final = 0.002
GREATEST_SHARE: Final = 0.40
"""Sizes of proposals as shares of the picture."""

LEAST_SIDE_PX: Final = 16
_LEAST_EDGE: Final = 0.5  # mean grey levels per pixel along the border; what has less is not seen at all
_LAST: Final = 4.0  # more than two regions can be unlike
_SIDE_PX: Final = 320  # the picture's longer side as it is worked on
_PIECES_ALONG: Final = 29


@dataclass(frozen=True, slots=True, kw_only=True)
class Regions:
    """Proposes regions that look like things."""

    name: str = "classical.regions.v1"
    meta: Metadata = Metadata(
        summary="compact regions of one look with an edge all round, by merging pieces of the picture",
        goal="wrong objects and neighbours for photographs without annotation",
        modality="image",
        source="after selective search, Uijlings et al., IJCV 2013",
    )
    most: int = 20
    nested: bool = False  # whether a proposal may be part of another; if not, all are disjoint
    least_score: float = 0.8  # see ``score``: so the number of proposals follows the picture
    weights: Weights = field(default_factory=Weights)

    def __call__(self, frame: Frame, *, target: Mask | None = None) -> tuple[Mask, ...]:
        """Propose at most ``most`` connected regions, 0.2 to 40 % of the picture each; none below 16 px a side."""
        _check(frame, target)
        height, width = frame.shape[:2]
        if min(height, width) < LEAST_SIDE_PX:
            return ()
        small = segments.reduced(frame, _SIDE_PX, least_px=3)
        occupied = np.zeros(small.shape[:2], bool)
        if target is not None:
            occupied = resized(target, (small.shape[0], small.shape[1]), interpolation=cv2.INTER_AREA)
        labels, regions = _hierarchy(small, occupied, self.weights)
        return self._chosen(labels, regions, frame_size=(height, width), target=target)

    def _chosen(
        self, labels: NDArray[np.int32], regions: list[Region], *, frame_size: tuple[int, int], target: Mask | None
    ) -> tuple[Mask, ...]:
        """The best regions at the frame's size; where two share pieces the better one only, unless ``nested``."""
        able = [
            region
            for region in regions
            if region.allowed and LEAST_SHARE * labels.size <= region.area_px <= GREATEST_SHARE * labels.size
        ]
        scored = sorted(
            ((score(regions, region, area_px=labels.size), index) for index, region in enumerate(able)), reverse=True
        )
        masks: list[Mask] = []
        closed = np.zeros(frame_size, bool) if target is None else target.copy()
        used = np.zeros(len(regions), bool)
        for value, index in scored:
            if len(masks) == self.most or value < self.least_score:
                break
            pieces = list(able[index].pieces)
            if used[pieces].any() and not self.nested:
                continue
            belongs = np.zeros(len(regions), bool)
            belongs[pieces] = True
            mask = _enlarged(belongs[labels], closed)
            if LEAST_SHARE * mask.size <= np.count_nonzero(mask) <= GREATEST_SHARE * mask.size:
                used |= belongs
                masks.append(mask)
                if not self.nested:
                    closed |= mask
        return tuple(masks)


def score(regions: list[Region], region: Region, *, area_px: int) -> float:
    """How much a region of a tree looks like a thing; higher is more, of no fixed range.

    Weights fitted by least squares to the overlap of regions with 59 objects of DAVIS 2016 and dogs-jump, and rounded;
    they saw no photograph of COCO. ``least_score`` was set with counts on COCO in view.
    """
    outline = region.border_px + region.frame_px
    if region.border_strength <= _LEAST_EDGE * region.border_px:
        return -np.inf
    stays = min(region.left_at, _LAST) - region.formed
    compact = 4 * np.pi * region.area_px / outline**2
    size = float(np.log(region.area_px / area_px))
    return float(
        0.63 * stays
        + 0.70 * region.formed
        + 1.9 * compact
        - 4.6 * region.frame_px / outline
        + 1.35 * contrast(regions, region)
        - 0.15 * size
        - 0.08 * size * size
    )


def _check(frame: Frame, target: Mask | None) -> None:
    if frame.dtype != np.uint8 or frame.ndim != 3 or frame.shape[2] != 3 or frame.size == 0:
        raise InputError(f"a frame has shape {frame.shape} and dtype {frame.dtype}", expected="uint8 (H, W, 3)")
    if target is not None and (target.dtype != np.bool_ or target.shape != frame.shape[:2]):
        raise InputError(
            f"a target has shape {target.shape} and dtype {target.dtype}", expected=f"bool {frame.shape[:2]}"
        )


def _hierarchy(small: Frame, occupied: Mask, weights: Weights) -> tuple[NDArray[np.int32], list[Region]]:
    """Labels of the pieces, and all regions; those of the target are not allowed."""
    labels, lab, strength = cut_up(small, _PIECES_ALONG)
    if occupied.any():
        both = labels * 2 + occupied
        _, dense = np.unique(both, return_inverse=True)
        labels = dense.reshape(labels.shape).astype(np.int32)
    alone = frozenset(np.unique(labels[occupied]).tolist())
    borders = segments.borders(labels, strength)
    regions = tree(leaves(labels, lab, strength), borders, area_px=labels.size, weights=weights, alone=alone)
    for label in alone:
        regions[label].allowed = False
    return labels, regions


def cut_up(picture: Frame, along: int) -> tuple[NDArray[np.int32], NDArray[np.uint8], NDArray[np.float32]]:
    """Labels of a picture's pieces, as many along its longer side; the picture in CIE Lab; and its edges."""
    lab = np.asarray(cv2.cvtColor(picture, cv2.COLOR_RGB2LAB), dtype=np.uint8)
    strength = segments.edge_strength(lab)
    blurred = np.asarray(cv2.GaussianBlur(lab, (3, 3), 0), dtype=np.uint8)
    return segments.pieces(blurred, strength, step_px=max(3, max(picture.shape[:2]) // along)), lab, strength


def leaves(labels: NDArray[np.int32], lab: NDArray[np.uint8], strength: NDArray[np.float32]) -> list[Region]:
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


def resized(mask: Mask, size: tuple[int, int], *, interpolation: int = cv2.INTER_LINEAR) -> Mask:
    """A mask at another size (height, width): what is half covered or more."""
    soft = cv2.resize(mask.astype(np.uint8) * np.uint8(255), size[::-1], interpolation=interpolation)
    return np.asarray(soft) >= 128


def _enlarged(small: Mask, closed: Mask) -> Mask:
    """A region at the frame's size, its largest part without holes, and clear of what is closed to it."""
    region = parts.largest(small)
    region |= parts.holes(region)
    mask = resized(region, (closed.shape[0], closed.shape[1]))
    overlapping = mask & closed
    return parts.largest(mask & ~closed) if overlapping.any() else mask


MODEL = Regions()
