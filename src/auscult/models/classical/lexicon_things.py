"""What may be a thing in a frame: regions, and what is seen of each: colours, place, size, shape and surroundings."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from auscult.arrays import motion
from auscult.models.classical import lexicon_colours
from auscult.models.classical.regions import Regions
from auscult.types import Frame, Mask

SIDE_PX: Final = 320
"""The longer side of a frame as it is looked at."""

_RING_SHARE: Final = 0.03  # of the longer side: how far around a region its surroundings reach
_PROPOSER: Final = Regions(most=100, nested=True, least_score=-20.0)
_ALIKE: Final = 0.8  # IoU from which on of two regions the less thing-like one is dropped

Values = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Things:
    """Regions of one frame, n of them, the most thing-like first; they may lie in one another.

    Attributes:
        masks: bool (n, h, w), at the size at which the frame is looked at.
        colours: Share of each region that fits each colour word, (n, 11).
        light: Mean lightness, 0..1.
        vivid: Mean colourfulness, 0..1.
        rough: How much lightness varies within, 0..1.
        boxes: x0, y0, x1, y1 in shares of the picture, (n, 4).
        x: Centres in shares of the picture, (n,).
        y: The same.
        area: Shares of the picture.
        fill: Share of the smallest turned box that is filled, 0..1.
        round: How much like a disc, 0..1.
        thin: Shorter over longer side of the smallest turned box, 0..1; smaller is thinner.
        contrast: How unlike in colour to what is around, 0..1.
        edge: Mean edge strength along the outline, 0..1.
        frame: Share of the outline that lies along the frame.
        within: How much of the smaller of two regions lies in the other, (n, n), 0..1.
        look: Histograms of colour, (n, 64).
    """

    masks: NDArray[np.bool_]
    colours: Values
    light: Values
    vivid: Values
    rough: Values
    boxes: Values
    x: Values
    y: Values
    area: Values
    fill: Values
    round: Values
    thin: Values
    contrast: Values
    edge: Values
    frame: Values
    within: Values
    look: Values = field(repr=False)

    def __len__(self) -> int:
        return len(self.masks)


def small(frame: Frame) -> Frame:
    """A frame as it is looked at, at most ``SIDE_PX`` long."""
    height, width = frame.shape[:2]
    scale = min(1.0, SIDE_PX / max(height, width))
    if scale == 1.0:
        return frame
    size = max(1, round(width * scale)), max(1, round(height * scale))
    return np.asarray(cv2.resize(frame, size, interpolation=cv2.INTER_AREA), dtype=np.uint8)


def things_in(picture: Frame) -> Things | None:
    """The regions of a frame that may be things.

    Args:
        picture: From ``small``.

    Returns:
        None where nothing stands out: a frame of one tone, or one with a side below 16 px.
    """
    masks = _unlike(_PROPOSER(picture))
    if not len(masks):
        return None
    lab = np.asarray(cv2.cvtColor(picture, cv2.COLOR_RGB2LAB), dtype=np.float32) / np.float32(255)
    pixels, sizes = [np.flatnonzero(mask) for mask in masks], np.array([np.count_nonzero(mask) for mask in masks])
    fits, tones = lexicon_colours.fits(picture), lab.reshape(-1, 3)
    chroma = np.hypot(tones[:, 1] - 0.5, tones[:, 2] - 0.5)
    shapes = [_shape(mask) for mask in masks]
    edges = _edges(lab)
    around = [_around(mask, lab, edges) for mask in masks]
    boxes = np.array([shape[0] for shape in shapes])
    height, width = picture.shape[:2]
    columns, rows = np.arange(width) + 0.5, np.arange(height) + 0.5
    return Things(
        masks=masks,
        colours=np.stack([fits[own].mean(axis=0, dtype=np.float64) for own in pixels]),
        light=np.array([tones[own, 0].mean(dtype=np.float64) for own in pixels]),
        vivid=np.array([min(1.0, 4 * chroma[own].mean(dtype=np.float64)) for own in pixels]),
        rough=np.array([tones[own, 0].std(dtype=np.float64) for own in pixels]),
        boxes=boxes / np.array([width, height, width, height]),
        x=(masks.sum(axis=1) @ columns) / sizes / width,
        y=(masks.sum(axis=2) @ rows) / sizes / height,
        area=sizes / masks[0].size,
        fill=np.array([shape[1] for shape in shapes]),
        round=np.array([shape[2] for shape in shapes]),
        thin=np.array([shape[3] for shape in shapes]),
        contrast=np.array([one[0] for one in around]),
        edge=np.array([one[1] for one in around]),
        frame=np.array([shape[4] for shape in shapes]),
        within=_within(masks),
        look=_looks(picture, masks),
    )


def _unlike(found: tuple[Mask, ...]) -> NDArray[np.bool_]:
    """Regions of which no two are nearly the same."""
    if not found:
        return np.zeros((0, 1, 1), bool)
    masks = np.stack(found)
    shared = _shared(masks)
    sizes = np.diag(shared)
    iou = shared / np.maximum(1.0, sizes[:, None] + sizes[None] - shared)
    kept: list[int] = []
    for index in range(len(masks)):
        if not (iou[index, kept] > _ALIKE).any():
            kept.append(index)
    return masks[kept]


def _within(masks: NDArray[np.bool_]) -> Values:
    """How much of the smaller of two regions lies in the other."""
    shared = _shared(masks)
    sizes = np.maximum(1.0, np.diag(shared))
    return np.asarray(shared / np.minimum(sizes[:, None], sizes[None]), dtype=np.float64)


def _shared(masks: NDArray[np.bool_]) -> Values:
    """Pixels of every third row and column that two regions share, (n, n)."""
    flat = masks[:, ::3, ::3].reshape(len(masks), -1).astype(np.float32)  # whole numbers: sums are exact in any order
    return (flat @ flat.T).astype(np.float64)


def _looks(picture: Frame, masks: NDArray[np.bool_]) -> Values:
    levels = (picture // (256 // motion.BINS)).astype(np.intp)
    place = (levels[..., 0] * motion.BINS + levels[..., 1]) * motion.BINS + levels[..., 2]
    counts = np.array([np.bincount(place[mask], minlength=motion.BINS**3) for mask in masks], np.float64)
    shares: Values = counts / counts.sum(axis=1, keepdims=True)
    return shares


def _shape(mask: Mask) -> tuple[tuple[int, int, int, int], float, float, float, float]:
    """Box, fill and roundness, shorter over longer side, and share of the outline along the frame."""
    outline = max(
        cv2.findContours(mask.view(np.uint8), cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)[0], key=cv2.contourArea
    )
    area = float(np.count_nonzero(mask))
    (_, sides, _) = cv2.minAreaRect(outline)
    long, short = max(sides) + 1, min(sides) + 1
    _, radius = cv2.minEnclosingCircle(outline)
    left, top, wide, high = cv2.boundingRect(outline)
    edge = sum(np.count_nonzero(line) for line in (mask[0], mask[-1], mask[:, 0], mask[:, -1]))
    return (
        (left, top, left + wide, top + high),
        min(1.0, area / (long * short)),
        min(1.0, area / (np.pi * (radius + 0.5) ** 2)),
        short / long,
        min(1.0, edge / max(1.0, cv2.arcLength(outline, closed=True))),
    )


def _edges(lab: NDArray[np.float32]) -> NDArray[np.float32]:
    slopes = [cv2.Sobel(lab, cv2.CV_32F, *step, scale=1 / 8) for step in ((1, 0), (0, 1))]
    return np.asarray(np.sqrt(sum(np.square(slope).sum(axis=2) for slope in slopes)), dtype=np.float32)


def _around(mask: Mask, lab: NDArray[np.float32], edges: NDArray[np.float32]) -> tuple[float, float]:
    """How unlike what is around, and how strong the edge along the outline."""
    reach = max(2, round(_RING_SHARE * max(mask.shape)))
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    part = (
        slice(max(0, rows[0] - reach), rows[-1] + 1 + reach),
        slice(max(0, columns[0] - reach), columns[-1] + 1 + reach),
    )
    inside = np.ascontiguousarray(mask[part]).view(np.uint8)
    kernel = cv2.getStructuringElement(cv2.MORPH_RECT, (2 * reach + 1, 2 * reach + 1))
    ring = (np.asarray(cv2.dilate(inside, kernel)) > 0) & (inside == 0)
    line = np.asarray(cv2.dilate(inside, np.ones((3, 3), np.uint8))) != np.asarray(
        cv2.erode(inside, np.ones((3, 3), np.uint8))
    )
    if not ring.any():
        return 0.0, 0.0
    away = lab[part][inside > 0].mean(axis=0) - lab[part][ring].mean(axis=0)
    return min(1.0, 2 * float(np.linalg.norm(away))), min(1.0, 10 * float(edges[part][line].mean()))
