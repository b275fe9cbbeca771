"""Fog: a bright, cloudy veil.

Source: R2-Bench, Sec. 3.1 and toolbox; formula and constants of ImageNet-C (Hendrycks and Dietterich 2019, Sec. 3.1):
``(picture + density * fractal) * brightest / (brightest + density)``, the fractal made in the size of the next power of
two and cut to the picture.

In a clip the fog drifts: the fractal lies on a torus and moves under the picture with the wind.

Plasma fractals are made by the diamond-square method of ImageNet-C's fog, whose random part falls by the square of
``decay`` at each halving of the step. Chosen otherwise: whole maps are refined to 256 x 256 points. Steps finer than
that, below a grey level in any fog of the five levels, are made only where they are looked at: straight lines between
the points, and a random part as great as theirs, the same one every 256 points.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated

import cv2
import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from auscult.rng import generator
from auscult.stress import noise
from auscult.stress.perturbation import Constant, Params, Perturbs, Seed, Share, seed_from
from auscult.stress.vision.base import ClipInfo, VisionStressor, as_bytes
from auscult.types import Frame, Metadata

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


_SLOW, _FAST = 0.025, 0.075  # of the picture's longer side, in a second


@dataclass(frozen=True, slots=True, kw_only=True)
class FogParams(Params):
    """Which fog, and how it drifts."""

    seed: Seed  # what the fractal follows from
    heading_deg: Annotated[float, Meta(ge=0.0, le=360.0)]  # where the wind carries it, 0 to the right, 90 down
    speed: Share  # how far it goes from one frame to the next, as a share of the picture's longer side

    def drift_px(self, index: int, side: int) -> tuple[int, int]:
        """How far the fog has come by a frame, (y, x), where the longer side measures ``side``."""
        way = index * self.speed * side
        heading = math.radians(self.heading_deg)
        return round(way * math.sin(heading)), round(way * math.cos(heading))


class Fog(Perturbs[FogParams]):
    """Adds a plasma fractal and takes the sum back into the picture's own range."""

    name = "vision.fog.v1"
    params = FogParams
    density = Constant("brightness of the fog", (0.0, 1.5, 2.0, 2.5, 2.5, 3.0), unit="1 = white")
    decay = Constant("decay of the fractal at each halving", (2.0, 2.0, 2.0, 1.7, 1.5, 1.4))
    meta = Metadata(
        summary="lays a bright, cloudy veil over the picture",
        goal="fog: contrast fades, most where it is thick",
        modality="image",
        source="R2-Bench Sec. 3.1 and toolbox; ImageNet-C fog",
        truth="masks and boxes stay",
        origin="environment",
        occurs=("outdoors",),
    )

    def choose(self, rng: np.random.Generator, shot: ClipInfo, /, *, strength: float) -> FogParams:
        """Draw the fog and the wind."""
        seed, heading, pace = seed_from(rng), rng.uniform(0.0, 360.0), rng.uniform(_SLOW, _FAST)
        return FogParams(strength=strength, seed=seed, heading_deg=heading, speed=pace / max(shot.rate_fps, _FAST))

    def render(self, frame: Frame, params: FogParams, *, index: int = 0) -> Frame:
        """The frame in fog."""
        density, decay = self.density.at(params.strength), self.decay.at(params.strength)
        return veiled(frame, self.fractal(frame.shape[:2], params, decay=decay, index=index), density=density)

    def fractal(self, size: tuple[int, int], params: FogParams, *, decay: float, index: int) -> NDArray[np.float32]:
        """How thick the fog is at each pixel of a frame, (H, W), 0..1."""
        longest = max(size)
        side = map_size(longest)
        clouds = plasma(params.seed, side, decay=decay)
        down, right = params.drift_px(index, longest)
        return piece(clouds, at=(-down, -right), shape=size)


def veiled(frame: Frame, fractal: NDArray[np.float32], *, density: float) -> Frame:
    """Add ``density`` times the fractal, (H, W), 0..1, and scale so that the brightest value stays where it was."""
    brightest = float(frame.max()) / 255.0
    weight = brightest / (brightest + density)
    veil = cv2.convertScaleAbs(fractal, alpha=255.0 * density * weight)
    output = cv2.cvtColor(veil, cv2.COLOR_GRAY2RGB)
    # half a grey level less: rounding then drops the fraction, as the release does
    cv2.addWeighted(frame, weight, output, 1.0, -0.5, dst=output)
    return as_bytes(output)


STRESSOR: VisionStressor[FogParams] = Fog()


_SIDE = 1024


class FogR2Bench(Fog):
    """Fog in the geometry of R2-Bench's toolbox: one whole map of 1024 x 1024 is resized to the frame.

    Its clouds are as wide and as high as the frame, where ``vision.fog.v1`` cuts a piece in the frame's own
    proportions. Level 4 is as dense as level 3, of a rougher fractal: it need not do more damage than level 3 to a
    picture (PSNR: less on 20 of the 48 photographs of the damage tables).
    """

    name = "vision.fog_r2bench.v1"
    meta = replace(
        Fog.meta,
        summary="lays a bright, cloudy veil over the picture, in the geometry of R2-Bench",
        source="R2-Bench toolbox: map made at 1024 and resized to the frame",
    )

    def fractal(self, size: tuple[int, int], params: FogParams, *, decay: float, index: int) -> NDArray[np.float32]:
        """How thick the fog is at each pixel of a frame, (H, W), 0..1."""
        clouds = plasma(params.seed, _SIDE, decay=decay)
        down, right = params.drift_px(index, _SIDE)
        whole = piece(clouds, at=(-down, -right), shape=(_SIDE, _SIDE))
        resized = cv2.resize(whole, (size[1], size[0]), interpolation=cv2.INTER_LINEAR)
        return np.asarray(resized, dtype=np.float32)


R2BENCH: VisionStressor[FogParams] = FogR2Bench()
