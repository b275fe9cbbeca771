"""Batches: frames with maps of what is where, and crops with masks that are as defective as candidates are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from auscult.judge.identity.scenes import CROP, MARGIN
from auscult.nets.matcher import STRIDE
from auscult.rng import generator
from auscult.train.matcher.frames import CROP as KEPT
from auscult.train.matcher.frames import MARGIN as KEPT_MARGIN
from auscult.train.matcher.frames import Shard
from auscult.types import Floats

FRAMES: Final = 10
PARTS: Final = 10
"""A shard holds ``PARTS`` times ``FRAMES`` frames."""

CROPS: Final = 64
_SHRUNK: Final = CROP * KEPT_MARGIN / (MARGIN * KEPT)  # so that the box of the mask fills as much of the crop as in use
_SPREAD: Final = 0.18  # of a centre's peak, as a share of the thing's width
_CLEAR: Final = 0.75  # where a peak is higher, the cell must know the words


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Batch:
    """What one step learns from.

    Attributes:
        frames: uint8 (n, h, w, 3).
        heat: float32 (n, h/8, w/8): 1 at a centre, falling off around it.
        cells: int64 (k, 3): frame, row and column of a cell that must know its thing.
        things: int64 (k, 3): category, colour, texture of that thing; -1 unknown.
        areas: float32 (k,): natural logarithm of its share of the picture.
        crops: uint8 (m, CROP, CROP, 4).
        names: int64 (m, 3): the same words of the crops.
    """

    frames: NDArray[np.uint8]
    heat: Floats
    cells: NDArray[np.int64]
    things: NDArray[np.int64]
    areas: Floats
    crops: NDArray[np.uint8]
    names: NDArray[np.int64]


def batch_of(shard: Shard, part: int, *, seed: int, step: int) -> Batch:
    """One batch of a shard; follows from (shard, part, seed, step) alone."""
    rng = generator(seed, "matcher", "batch", step)
    order = generator(seed, "matcher", "order", step - part).permutation(len(shard.frames))
    chosen = np.take(
        order, np.arange(part * FRAMES, (part + 1) * FRAMES), mode="wrap"
    )  # a small file comes round again
    flips = rng.random(len(chosen)) < 0.5
    frames = np.stack([_lit(rng, _flipped(shard.frames[at], flip)) for at, flip in zip(chosen, flips, strict=True)])
    heat, cells, rows = _maps(shard, chosen, flips)
    taken = rng.permutation(len(shard.crops))[:CROPS]
    return Batch(
        frames=frames,
        heat=heat,
        cells=cells,
        things=shard.things[rows, 1:].astype(np.int64),
        areas=np.log(shard.places[rows, 2]).astype(np.float32),
        crops=np.stack([_candidate(rng, shard.crops[at]) for at in taken]),
        names=shard.things[taken, 1:].astype(np.int64),
    )


def _maps(
    shard: Shard, chosen: NDArray[np.int64], flips: NDArray[np.bool_]
) -> tuple[Floats, NDArray[np.int64], NDArray[np.int64]]:
    height, width = (side // STRIDE for side in shard.frames.shape[1:3])
    heat = np.zeros((len(chosen), height, width), np.float32)
    owner = np.full(heat.shape, -1, np.int64)
    columns, lines = np.arange(width, dtype=np.float32), np.arange(height, dtype=np.float32)
    for at, (frame, flip) in enumerate(zip(chosen, flips, strict=True)):
        for thing in np.flatnonzero(shard.things[:, 0] == frame):
            x, y, share = (float(value) for value in shard.places[thing])
            x = (1 - x if flip else x) * width - 0.5
            y = y * height - 0.5
            spread = max(0.7, _SPREAD * float(np.sqrt(share * width * height)))
            peak = np.exp(-((columns[None] - round(x)) ** 2 + (lines[:, None] - round(y)) ** 2) / (2 * spread**2))
            better = peak > heat[at]
            heat[at] = np.where(better, peak, heat[at])
            owner[at] = np.where(better & (peak >= _CLEAR), thing, owner[at])
    cells = np.argwhere(owner >= 0)
    return heat, cells, owner[tuple(cells.T)]


def _flipped(picture: NDArray[np.uint8], flip: bool) -> NDArray[np.uint8]:  # noqa: FBT001 - drawn, not chosen by a caller
    return np.ascontiguousarray(picture[:, ::-1]) if flip else picture


def _lit(rng: np.random.Generator, picture: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Another light, some blur or noise: what a camera does differently."""
    value = picture.astype(np.float32) / 255
    value = np.clip(value, 0, 1) ** float(np.exp(rng.uniform(-0.25, 0.25)))
    value = (value - 0.5) * float(rng.uniform(0.85, 1.15)) + 0.5 + float(rng.uniform(-0.05, 0.05))
    value = value * rng.uniform(0.94, 1.06, 3).astype(np.float32)
    if rng.random() < 0.3:
        value = np.asarray(cv2.GaussianBlur(value, (0, 0), float(rng.uniform(0.4, 1.0))), dtype=value.dtype)
    if rng.random() < 0.3:
        value = value + rng.normal(0, float(rng.uniform(0.005, 0.03)), value.shape).astype(np.float32)
    return np.asarray(np.clip(value * 255, 0, 255), dtype=np.uint8)


def _candidate(rng: np.random.Generator, crop: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """A kept crop turned, stretched and shifted, under a candidate mask: whole, cut, grown, shrunk or merged."""
    kind = str(rng.choice(["perfect", "dilate", "erode", "cutout", "merge"], p=[0.36, 0.16, 0.16, 0.16, 0.16]))
    own, others = ((crop[..., 3] >> bit & 1).astype(np.uint8) for bit in (0, 1))
    mask = _defective(rng, own, others, kind=kind)
    small = float(rng.uniform(0.55, 1.0)) if kind == "merge" and others.any() else 1.0
    turn, shift = float(rng.uniform(-18, 18)), 3.0 + 16 * (1 - small)
    matrix = cv2.getRotationMatrix2D(
        (KEPT / 2, KEPT / 2), turn, _SHRUNK * small * float(np.exp(rng.uniform(-0.15, 0.15)))
    )
    matrix[0] *= float(np.exp(rng.uniform(-0.12, 0.12)))
    centre = matrix @ np.array([KEPT / 2, KEPT / 2, 1.0])
    matrix[:, 2] += CROP / 2 - centre + rng.uniform(-shift, shift, 2)
    if rng.random() < 0.5:
        matrix[0] = np.array([0, 0, CROP]) - matrix[0]
    turned = cv2.warpAffine(
        np.dstack([_lit(rng, crop[..., :3]), mask * 255]), matrix, (CROP, CROP), flags=cv2.INTER_LINEAR
    )
    turned[..., 3] = np.where(turned[..., 3] >= 128, 255, 0)
    return np.asarray(turned, dtype=np.uint8)


def _defective(
    rng: np.random.Generator, own: NDArray[np.uint8], others: NDArray[np.uint8], *, kind: str
) -> NDArray[np.uint8]:
    size = int(rng.integers(1, 5))
    kernel = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (2 * size + 1, 2 * size + 1))
    made = own
    if kind == "dilate":
        made = cv2.dilate(own, kernel).astype(np.uint8)
    elif kind == "erode":
        made = cv2.erode(own, kernel).astype(np.uint8)
    elif kind == "cutout":
        rows, columns = np.ogrid[:KEPT, :KEPT]
        y, x = rng.uniform(0.2, 0.8, 2) * KEPT
        hole = (rows - y) ** 2 + (columns - x) ** 2 <= float(rng.uniform(5, 16)) ** 2
        made = np.where(hole, 0, own).astype(np.uint8)
    elif kind == "merge":
        made = own | others
    return made if made.any() else own
