"""Plasma fractals: the cloudy height maps that fog is made of, on a torus, so that they may drift for ever.

Source: the diamond-square method of ImageNet-C's fog (Hendrycks and Dietterich 2019), whose random part falls by the
square of ``decay`` at each halving of the step.

Chosen otherwise: whole maps are refined to 256 x 256 points. Steps finer than that, below a grey level in any fog of
the five levels, are made only where they are looked at: straight lines between the points, and a random part as great
as theirs, the same one every 256 points.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from auscult.rng import generator
from auscult.stress import noise

FINEST = 256
"""Points to a side beyond which nothing is drawn any more."""


def map_size(longest_px: int) -> int:
    """The side of the map for a picture: the next power of two, and 4 at least."""
    return 1 << max(2, (longest_px - 1).bit_length())


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Plasma:
    """A height map that continues on the opposite side."""

    heights: NDArray[np.float32]  # float32 (n, n), 0 at its lowest point and 1 at its highest
    size: int  # the side that it stands for, n times a power of two
    decay: float  # by how much the amplitude's root falls with each halving of the step
    amplitude: float  # that of the first step finer than `heights`, in their unit
    grain: NDArray[np.float32]  # the random part of finer steps, float32 (256, 256), -1..1


def plasma(seed: int, size: int, *, decay: float) -> Plasma:
    """Make a map for a side that is a power of two, 2 or more.

    The random part is the same at every ``decay``, above 1 and rougher where less, so that a map changes smoothly with
    it.
    """
    side = min(size, FINEST)
    rng = generator(seed, "plasma")
    units, grain = _units(rng, (side * side,)), _units(rng, (FINEST, FINEST))
    heights = np.zeros((1, 1), dtype=np.float32)
    amplitude = 1.0
    while heights.shape[0] < side:
        count = heights.size
        offsets = units[count : 4 * count].reshape(3, *heights.shape) * np.float32(amplitude)
        heights = _refined(heights, offsets)
        amplitude /= decay**2
    heights -= heights.min()
    highest = heights.max()
    heights /= highest
    return Plasma(heights=heights, size=size, decay=decay, amplitude=amplitude / float(highest), grain=grain)


def _units(rng: np.random.Generator, shape: tuple[int, ...]) -> NDArray[np.float32]:
    """Random numbers, -1..1, each equally likely."""
    units = noise.words(rng, shape).astype(np.float32)
    units *= np.float32(2.0 / 65535.0)
    units -= np.float32(1.0)
    return units


def _refined(heights: NDArray[np.float32], offsets: NDArray[np.float32]) -> NDArray[np.float32]:
    """Twice the points to a side: middles of squares, then of the diamonds between old points and those."""
    quarter = np.float32(0.25)
    below, right = np.roll(heights, -1, axis=0), np.roll(heights, -1, axis=1)
    middle = (heights + below + right + np.roll(below, -1, axis=1)) * quarter + offsets[0]
    upper = (middle + np.roll(middle, 1, axis=0) + heights + right) * quarter + offsets[1]
    left = (middle + np.roll(middle, 1, axis=1) + heights + below) * quarter + offsets[2]
    finer = np.empty((2 * heights.shape[0], 2 * heights.shape[1]), dtype=np.float32)
    finer[::2, ::2], finer[1::2, 1::2], finer[::2, 1::2], finer[1::2, ::2] = heights, middle, upper, left
    return finer


def piece(plasma: Plasma, *, at: tuple[int, int], shape: tuple[int, int]) -> NDArray[np.float32]:
    """A rectangle of a map at its full size, going round its edges: float32 of ``shape``, 0..1.

    ``at`` is the rectangle's upper left corner in pixels, (y, x).
    """
    finer = (plasma.size // plasma.heights.shape[0]).bit_length() - 1
    spans = [[(start, start + length)] for start, length in zip(at, shape, strict=True)]
    for span in spans:
        for _ in range(finer):
            span.append((span[-1][0] // 2 - 1, (span[-1][1] - 1) // 2 + 2))
    rows, columns = (np.arange(*span[-1]) for span in spans)
    found = plasma.heights.take(rows, axis=0, mode="wrap").take(columns, axis=1, mode="wrap")
    # every second point of the finer steps' lattice is random in one direction at least: three quarters of the power
    amplitude = plasma.amplitude * math.sqrt(0.75)
    for step in range(finer - 1, -1, -1):
        doubled = cv2.resize(found, None, fx=2, fy=2, interpolation=cv2.INTER_LINEAR)
        (top, bottom), (left, right) = (span[step] for span in spans)
        first, beside = (2 * span[step + 1][0] for span in spans)
        found = np.asarray(doubled, dtype=np.float32)[top - first : bottom - first, left - beside : right - beside]
        _add_tiled(found, plasma.grain * np.float32(amplitude), at=(top, left))
        amplitude /= plasma.decay**2
    return np.clip(found, 0.0, 1.0, out=found)


def _add_tiled(image: NDArray[np.float32], tile: NDArray[np.float32], *, at: tuple[int, int]) -> None:
    """Add a tile again and again; ``at`` is where in the endless tiling the image begins."""
    for top, rows in _tiles(at[0], image.shape[0], tile.shape[0]):
        for left, columns in _tiles(at[1], image.shape[1], tile.shape[1]):
            image[top : top + rows.stop - rows.start, left : left + columns.stop - columns.start] += tile[rows, columns]


def _tiles(start: int, length: int, side: int) -> Iterator[tuple[int, slice]]:
    """Where each tile begins in a stretch, and which part of it lies there."""
    begin = 0
    while begin < length:
        first = (start + begin) % side
        last = min(side, first + length - begin)
        yield begin, slice(first, last)
        begin += last - first
