"""What may be a thing in a frame: regions, and what is seen of each: colours, place, size, shape and surroundings.

All but the shape is summed over the pieces that a region has, holes left out; its mask and shape have them filled.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from auscult.arrays import motion
from auscult.models.classical import lexicon_colours
from auscult.models.classical.lexicon_regions import Found, found_in
from auscult.types import Frame, Mask

SIDE_PX: Final = 240
"""The longer side of a frame as it is looked at."""

_FULL_EDGE: Final = 25.5  # grey levels per pixel
_FULL_APART: Final = 60.0  # grey levels

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
        apart: How far it stands out from what is joined to the frame's edge, 0..1.
        rare: How rare its colours are in the picture, 0..1.
        frame: Share of the outline that lies along the frame.
        iou: IoU of each two, (n, n).
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
    apart: Values
    rare: Values
    frame: Values
    iou: Values
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
    found = found_in(picture)
    if found is None:
        return None
    height, width = picture.shape[:2]
    sums = _Sums(found)
    lab = np.asarray(cv2.cvtColor(picture, cv2.COLOR_RGB2LAB), dtype=np.float32) / np.float32(255)
    light = sums.mean(lab[..., 0])
    squares = sums.mean(np.square(lab[..., 0]))
    rows, columns = np.indices((height, width))
    fits = lexicon_colours.fits(picture)
    look = sums.shares(_level(picture), motion.BINS**3)
    whole = np.maximum(look.of_all, 1e-6)
    masks = np.ascontiguousarray(np.take(found.members.astype(bool), found.labels, axis=1))
    shapes = [_shape(mask) for mask in masks]
    shared = sums.of(found.members * found.areas)
    return Things(
        masks=masks,
        colours=np.stack([sums.mean(fits[:, word]) for word in range(fits.shape[1])], axis=1),
        light=light,
        vivid=np.minimum(1.0, 4 * sums.mean(np.hypot(lab[..., 1] - 0.5, lab[..., 2] - 0.5))),
        rough=np.sqrt(np.maximum(0.0, squares - light**2)),
        boxes=np.array([shape[0] for shape in shapes]) / np.array([width, height, width, height]),
        x=(sums.mean(columns) + 0.5) / width,
        y=(sums.mean(rows) + 0.5) / height,
        area=sums.sizes / found.labels.size,
        fill=np.array([shape[1] for shape in shapes]),
        round=np.array([shape[2] for shape in shapes]),
        thin=np.array([shape[3] for shape in shapes]),
        contrast=found.contrast,
        edge=np.minimum(1.0, found.edge / _FULL_EDGE),
        apart=np.minimum(1.0, sums.of((found.apart * found.areas)[None])[:, 0] / sums.sizes / _FULL_APART),
        rare=np.clip(-(look.of_each @ np.log(whole)) / 10, 0, 1),
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

    def __init__(self, found: Found) -> None:
        self._labels = found.labels.ravel()
        self._members = found.members
        self._areas = found.areas
        self.sizes = self.of(found.areas[None])[:, 0]

    def of(self, values: Values) -> Values:
        """The sums of what pieces have, (k, p) to (n, k)."""
        # Not as a product of matrices, which would start threads for sums as small as these.
        return np.asarray(np.einsum("np,kp->nk", self._members, values), dtype=np.float64)

    def mean(self, values: NDArray[np.generic]) -> Values:
        """The mean of what each pixel has, (n,)."""
        own = np.bincount(self._labels, values.ravel(), len(self._areas)).astype(np.float64)
        return self.of(own[None])[:, 0] / self.sizes

    def shares(self, bins: NDArray[np.intp], count: int) -> _Shares:
        """Histograms of what bin each pixel is in."""
        pieces = np.bincount(self._labels.astype(np.intp) * count + bins.ravel(), minlength=len(self._areas) * count)
        pieces = pieces.reshape(-1, count).astype(np.float64)
        own = self.of(np.ascontiguousarray(pieces.T)) / self.sizes[:, None]
        return _Shares(own, pieces.sum(axis=0) / self._areas.sum())


def _level(picture: Frame) -> NDArray[np.intp]:
    levels = (picture // (256 // motion.BINS)).astype(np.intp)
    return np.asarray((levels[..., 0] * motion.BINS + levels[..., 1]) * motion.BINS + levels[..., 2], dtype=np.intp)


def _shape(mask: Mask) -> tuple[tuple[int, int, int, int], float, float, float, float]:
    """Box, fill and roundness, shorter over longer side, and share of the outline along the frame; fills its holes."""
    outlines = cv2.findContours(mask.view(np.uint8), cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)[0]
    outline = max(outlines, key=cv2.contourArea)
    cv2.drawContours(mask.view(np.uint8), [outline], 0, (1,), cv2.FILLED)
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
