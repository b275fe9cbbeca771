"""Weather and dirt between a scene and its camera: fog, frost and spatter."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Annotated, Final

import cv2
import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from auscult.rng import generator
from auscult.stress import noise
from auscult.stress.perturbation import Constant, Params, Perturbs, Seed, Seeded, SeedParams, Share, seed_from
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
    heights = plasma.heights.take(rows, axis=0, mode="wrap").take(columns, axis=1, mode="wrap")
    # every second point of the finer steps' lattice is random in one direction at least: three quarters of the power
    amplitude = plasma.amplitude * math.sqrt(0.75)
    for step in range(finer - 1, -1, -1):
        doubled = cv2.resize(heights, None, fx=2, fy=2, interpolation=cv2.INTER_LINEAR)
        (top, bottom), (left, right) = (span[step] for span in spans)
        y, x = (2 * span[step + 1][0] for span in spans)
        heights = np.asarray(doubled, dtype=np.float32)[top - y : bottom - y, left - x : right - x]
        _add_tiled(heights, plasma.grain * np.float32(amplitude), at=(top, left))
        amplitude /= plasma.decay**2
    return np.clip(heights, 0.0, 1.0, out=heights)


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
        distance = index * self.speed * side
        heading = math.radians(self.heading_deg)
        return round(distance * math.sin(heading)), round(distance * math.cos(heading))


class Fog(Perturbs[FogParams]):
    """Fog: a bright, cloudy veil.

    Source: R2-Bench, Sec. 3.1 and toolbox; formula and constants of ImageNet-C (Hendrycks and Dietterich 2019, Sec.
    3.1): ``(picture + density * fractal) * brightest / (brightest + density)``, the fractal made in the size of the
    next power of two and cut to the picture.

    In a clip the fog drifts: the fractal lies on a torus and moves under the picture with the wind.

    Plasma fractals are made by the diamond-square method of ImageNet-C's fog, whose random part falls by the square of
    ``decay`` at each halving of the step. Chosen otherwise: whole maps are refined to 256 x 256 points. Steps finer
    than that, below a grey level in any fog of the five levels, are made only where they are looked at: straight lines
    between the points, and a random part as great as theirs, the same one every 256 points.
    """

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


FOG: VisionStressor[FogParams] = Fog()


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
        square = piece(clouds, at=(-down, -right), shape=(_SIDE, _SIDE))
        resized = cv2.resize(square, (size[1], size[0]), interpolation=cv2.INTER_LINEAR)
        return np.asarray(resized, dtype=np.float32)


FOG_R2BENCH: VisionStressor[FogParams] = FogR2Bench()


COUNT: Final = 6
HEIGHT: Final = 720
WIDTH: Final = 1280

_MEAN, _SPREAD = 0.55, 0.2
_FRACTION_BITS = 4  # coordinates of lines are in sixteenths of a pixel
_LENGTHS_PX = (60.0, 300.0)
_AT_ONCE = 12  # feathers that share their shades
_STEP_PX = 5.0  # between two branches of a stem, and between two twigs of a branch
_SHADES = np.array([[2, 8, 26], [52, 86, 122], [148, 174, 196], [250, 253, 255]], dtype=np.float64)


@lru_cache(maxsize=COUNT)
def texture(number: int) -> NDArray[np.uint8]:
    """Texture 0 to 5, the same every time: uint8 RGB (720, 1280, 3), read-only.

    Making one takes about 0.1 s, so the six are kept once made; the function is pure, and what is kept changes no
    result.
    """
    rng = generator(0, "frost", number)
    feathers = _feathers(rng)
    haze = cv2.GaussianBlur(feathers, (0, 0), 14.0)
    relief = cv2.filter2D(cv2.GaussianBlur(feathers, (0, 0), 1.2), cv2.CV_32F, _LIGHT)
    clouds = plasma(int(rng.integers(1 << 32)), 2048, decay=1.6)
    cloudy = piece(clouds, at=(0, 0), shape=(HEIGHT, WIDTH))
    grain = cv2.GaussianBlur(noise.normal(rng, (HEIGHT, WIDTH)), (5, 5), 0.9)
    ice = (0.35 + cloudy) * (0.7 * haze + 0.75 * feathers + 0.6 * relief) + (0.9 + 0.25 * grain) * cloudy
    output = _coloured(ice)
    output.setflags(write=False)
    return output


_LIGHT = np.array([[-1, -1, 0], [-1, 0, 1], [0, 1, 1]], dtype=np.float32)
_LIGHT.setflags(write=False)


def _coloured(ice: NDArray[np.float32]) -> NDArray[np.uint8]:
    """Thickness of ice as colour: dark blue glass where it is thin, white where it is thick."""
    ice = (ice - ice.mean()) / ice.std() * _SPREAD + _MEAN
    level = np.linspace(0.0, 1.0, 256)
    stops = np.linspace(0.0, 1.0, len(_SHADES))
    shades = np.stack([np.interp(level, stops, channel) for channel in _SHADES.T], axis=-1)
    steps = np.clip(ice * 255.0 + 0.5, 0.0, 255.0).astype(np.uint8)
    return as_bytes((shades + 0.5).astype(np.uint8)[steps])


def _feathers(rng: np.random.Generator) -> NDArray[np.float32]:
    """Feathers of ice, float32 (720, 1280), 0 where there are none, 1 on a stem."""
    canvas = np.zeros((HEIGHT, WIDTH), dtype=np.uint8)
    roots, courses = _roots(rng)
    lengths = rng.uniform(*_LENGTHS_PX, len(roots)) * rng.uniform(0.2, 1.0, len(roots))
    bends = rng.normal(0.0, 0.0025, len(roots))
    order = np.argsort(lengths)  # the longest lie on top
    for first in range(0, len(order), _AT_ONCE):
        batch = order[first : first + _AT_ONCE]
        _draw_feathers(canvas, rng, roots[batch], courses=courses[batch], lengths=lengths[batch], bends=bends[batch])
    return canvas.astype(np.float32) / np.float32(255.0)


def _roots(rng: np.random.Generator) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Where feathers begin, (n, 2) as (x, y), and their courses in radians."""
    points, courses = [], []
    size = np.array([WIDTH, HEIGHT], dtype=np.float64)
    corners = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0], [0.0, 0.0]])
    lines = [(corners[index] * size, corners[index + 1] * size, 34) for index in range(4)]
    for _ in range(int(rng.integers(3, 6))):
        middle, angle = rng.uniform(0.15, 0.85, 2) * size, rng.uniform(0.0, math.pi)
        reach = rng.uniform(200.0, 600.0) * np.array([math.cos(angle), math.sin(angle)])
        lines += [(middle - reach, middle + reach, 24), (middle + reach, middle - reach, 24)]
    for start, end, count in lines:
        position = rng.uniform(0.0, 1.0, (count, 1))
        points.append(start + position * (end - start) + rng.normal(0.0, 14.0, (count, 2)))
        inward = math.atan2(end[1] - start[1], end[0] - start[0]) + math.pi / 2
        courses.append(inward + rng.normal(0.0, 0.45, count))
    return np.concatenate(points), np.concatenate(courses)


def _draw_feathers(
    canvas: NDArray[np.uint8],
    rng: np.random.Generator,
    roots: NDArray[np.float64],
    *,
    courses: NDArray[np.float64],
    lengths: NDArray[np.float64],
    bends: NDArray[np.float64],
) -> None:
    """Draw feathers: twigs first and faint, then branches, then the bright stems."""
    owner, position = _counted((lengths / _STEP_PX).astype(int))
    grown = position * _STEP_PX
    heading = courses[owner] + bends[owner] * grown
    offsets = np.cumsum(_STEP_PX * _towards(heading), axis=0)
    stems = roots[owner] + offsets - offsets[position == 0][owner]
    left = lengths[owner] - grown
    branches = _sprouts(rng, stems, heading, reach=np.minimum(0.45 * left, 0.2 * left + 0.6 * grown) + 3.0)
    _draw(canvas, _sprouts_of(rng, branches), shade=int(rng.integers(95, 150)))
    _draw(canvas, branches, shade=int(rng.integers(150, 205)))
    joined = owner[:-1] == owner[1:]
    _draw(canvas, np.stack([stems[:-1], stems[1:]], axis=1)[joined], shade=int(rng.integers(215, 256)))


def _counted(counts: NDArray[np.int_]) -> tuple[NDArray[np.int_], NDArray[np.int_]]:
    """For groups of so many: to which group each member belongs, and its position in it, from 0."""
    owner = np.repeat(np.arange(len(counts)), counts)
    return owner, np.arange(len(owner)) - np.repeat(np.cumsum(counts) - counts, counts)


def _sprouts(
    rng: np.random.Generator, bases: NDArray[np.float64], heading: NDArray[np.float64], *, reach: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Straight sprouts on both sides of a stem, (n, 2, 2): base and tip of each as (x, y)."""
    output = []
    for side in (-1.0, 1.0):
        angles = heading + side * (math.pi / 3 + rng.normal(0.0, 0.06, len(bases)))
        lengths = reach * rng.uniform(0.55, 1.0, len(bases))
        output.append(np.stack([bases, bases + lengths[:, None] * _towards(angles)], axis=1))
    return np.concatenate(output)


def _sprouts_of(rng: np.random.Generator, branches: NDArray[np.float64]) -> NDArray[np.float64]:
    """Twigs on every branch, at even distances."""
    spans = branches[:, 1] - branches[:, 0]
    lengths = np.hypot(spans[:, 0], spans[:, 1])
    owner, position = _counted((lengths / _STEP_PX).astype(int))
    gone = (position + 1.0) * _STEP_PX / lengths[owner]
    bases = branches[owner, 0] + gone[:, None] * spans[owner]
    heading = np.arctan2(spans[owner, 1], spans[owner, 0])
    return _sprouts(rng, bases, heading, reach=0.35 * (1.0 - gone) * lengths[owner] + 2.0)


def _towards(angles: NDArray[np.float64]) -> NDArray[np.float64]:
    """Unit vectors, (n, 2) as (x, y)."""
    return np.stack([np.cos(angles), np.sin(angles)], axis=1)


def _draw(canvas: NDArray[np.uint8], lines: NDArray[np.float64], *, shade: int) -> None:
    points = np.round(lines * (1 << _FRACTION_BITS)).astype(np.int32)
    cv2.polylines(canvas, list(points), isClosed=False, color=shade, lineType=cv2.LINE_AA, shift=_FRACTION_BITS)


_ROOM = 1.1  # a texture too small is enlarged to this much more than the frame


@dataclass(frozen=True, slots=True, kw_only=True)
class FrostParams(Params):
    """Which piece of which frost."""

    texture: Annotated[int, Meta(ge=0, le=COUNT - 1)]  # its number, 0 to 5
    down: Share  # where the piece lies between the texture's upper and lower edge, 0..1
    right: Share  # where it lies between the left and the right edge, 0..1


class Frost(Perturbs[FrostParams]):
    """Frost: feathers of ice on the glass in front of the lens.

    Source: R2-Bench, Sec. 3.1 and toolbox; formula and constants of ImageNet-C (Hendrycks and Dietterich 2019, Sec.
    3.1): ``picture_weight * picture + frost_weight * frost``, the frost a random piece of a texture.

    Chosen otherwise: the textures are drawn by us, see below; their brightness is that of photographs of frost.
    In a clip frost stands still.

    No photograph is behind them. Feathers of ice grow inwards from the borders and from cracks; each has a stem,
    branches at about 60 degrees and twigs on those. Under them lies a haze of cloudy ice, over all a fine grain.
    Brightness is set to a mean of 0.55 and a standard deviation of 0.2 of the range, which is what photographs of frost
    have, so that a level does about the damage that it does with photographs.
    """

    name = "vision.frost.v1"
    params = FrostParams
    kept = Constant("weight of the picture", (1.0, 1.0, 0.8, 0.7, 0.65, 0.6))
    added = Constant("weight of the frost", (0.0, 0.4, 0.6, 0.7, 0.7, 0.75))
    meta = Metadata(
        summary="lays feathers of ice over the picture",
        goal="a frozen windscreen or lens: crystals cover edges and add their own",
        modality="image",
        source="R2-Bench Sec. 3.1 and toolbox; ImageNet-C frost, with textures of our own",
        truth="masks and boxes stay",
        origin="environment",
        occurs=("outdoors",),
    )

    def render(self, frame: Frame, params: FrostParams, *, index: int = 0) -> Frame:
        """The frame behind frost, the same in every frame."""
        del index
        kept, added = self.kept.at(params.strength), self.added.at(params.strength)
        ice = self.ice(frame.shape[:2], params)
        # half a grey level less: rounding then drops the fraction, as the release does
        return as_bytes(cv2.addWeighted(frame, kept, ice, added, -0.5))

    def ice(self, size: tuple[int, int], params: FrostParams) -> NDArray[np.uint8]:
        """The frost over a frame, uint8 RGB (H, W, 3)."""
        larger = max(size[0] / HEIGHT, size[1] / WIDTH)
        scale = 1.0 if larger <= 1.0 else _ROOM * larger
        height, width = (min(round(length / scale), limit) for length, limit in zip(size, (HEIGHT, WIDTH), strict=True))
        top, left = round(params.down * (HEIGHT - height)), round(params.right * (WIDTH - width))
        piece = texture(params.texture)[top : top + height, left : left + width]
        if scale == 1.0:
            return piece
        return as_bytes(cv2.resize(piece, (size[1], size[0]), interpolation=cv2.INTER_CUBIC))


FROST: VisionStressor[FrostParams] = Frost()


class FrostR2Bench(Frost):
    """Frost in the geometry of R2-Bench's toolbox: a whole texture is resized to the frame, whatever its proportions.

    Chosen otherwise: the release leaves the channels of its photographs in the reverse order and never reaches one of
    the six; here frost is bluish, and all six occur.
    """

    name = "vision.frost_r2bench.v1"
    meta = replace(
        Frost.meta,
        summary="lays feathers of ice over the picture, in the geometry of R2-Bench",
        source="R2-Bench toolbox: frost texture resized to the whole frame; textures of our own",
    )

    def ice(self, size: tuple[int, int], params: FrostParams) -> NDArray[np.uint8]:
        """The frost over a frame, uint8 RGB (H, W, 3)."""
        resized = cv2.resize(texture(params.texture), (size[1], size[0]), interpolation=cv2.INTER_LINEAR)
        return as_bytes(resized)


FROST_R2BENCH: VisionStressor[FrostParams] = FrostR2Bench()


_TURQUOISE = (175.0, 238.0)  # red; green and blue
_MUD = (63.0, 42.0, 20.0)
_BYTE_MEAN, _BYTE_DEVIATION = 127.5, math.sqrt((256.0**2 - 1.0) / 12.0)
_FAR_PX = 20  # from here on water is as deep as it gets
_EDGE_PX = 4  # how far the finding of an edge, and a blur, look around
_STRIP_PX = 192
_EMBOSS = np.array([[-2, -1, 0], [-1, 1, 1], [0, 1, 2]], dtype=np.float32)
_EMBOSS.setflags(write=False)
_MUD_EDGE_PX = 1.5
_OPAQUE = 0.8  # thinner mud is not there


class Spatter(Seeded):
    """Spatter: drops of water on the lens, then mud.

    Source: R2-Bench, Sec. 3.1 and toolbox; formula and constants of ImageNet-C (Hendrycks and Dietterich 2019, extra
    types): smoothed normal noise above a threshold is liquid. Levels 1 to 3 are water in pale turquoise, whose shine
    comes from the distance to its edges, equalised and embossed; levels 4 and 5 are brown, opaque mud.

    Between levels 3 and 4 the shine fades while the mud turns opaque. In a clip spatter stands still, as it does on a
    lens.

    Chosen otherwise: the noise is uniform before it is smoothed, with the same mean and deviation. What has been
    smoothed over a pixel and more is normal again, and random bytes need no table. Edges of water are followed within
    strips of the picture, which stay in the processor's cache; all edges are steep, so that hardly one needs following
    further.
    """

    name = "vision.spatter.v1"
    mean = Constant("mean of the noise", (0.65, 0.65, 0.65, 0.65, 0.65, 0.67))
    deviation = Constant("its deviation", (0.3, 0.3, 0.3, 0.3, 0.3, 0.4))
    smoothing = Constant("smoothing", (4.0, 4.0, 3.0, 2.0, 1.0, 1.0), unit="px")
    threshold = Constant("threshold", (0.69, 0.69, 0.68, 0.68, 0.65, 0.65))
    shine = Constant("shine of the water", (0.0, 0.6, 0.6, 0.5, 0.0, 0.0))
    mud = Constant("opacity of the mud", (0.0, 0.0, 0.0, 0.0, 1.0, 1.0))
    meta = Metadata(
        summary="puts drops of water, then mud, on the lens",
        goal="a dirty lens: parts of objects shine or are covered",
        modality="image",
        source="R2-Bench Sec. 3.1 and toolbox; ImageNet-C spatter",
        truth="masks and boxes stay",
        origin="environment",
        occurs=("outdoors",),
    )

    def render(self, frame: Frame, params: SeedParams, *, index: int = 0) -> Frame:
        """The frame behind spatter, the same in every frame."""
        del index
        mean, deviation = self.mean.at(params.strength), self.deviation.at(params.strength)
        threshold, smooth_px = self.threshold.at(params.strength), self.smoothing.at(params.strength)
        shine, mud = self.shine.at(params.strength), self.mud.at(params.strength)
        draws = np.frombuffer(params.of_frame(0).bytes(frame.shape[0] * frame.shape[1]), dtype=np.uint8)
        scale = deviation / _BYTE_DEVIATION
        liquid = _smoothed(draws.reshape(frame.shape[:2]), smooth_px, scale=scale, offset=mean - _BYTE_MEAN * scale)
        output = frame if mud == 0 else _muddy(frame, liquid, threshold=threshold, opacity=mud)
        return output if shine == 0 else _wet(output, liquid, threshold=threshold, shine=shine)


def _wet(frame: Frame, liquid: NDArray[np.float32], *, threshold: float, shine: float) -> Frame:
    """Add the shine of water; at its brightest, ``shine`` times its colour. ``liquid`` is used up."""
    cv2.threshold(liquid, threshold, 0.0, cv2.THRESH_TOZERO, dst=liquid)
    drops = as_bytes(cv2.convertScaleAbs(liquid, alpha=255.0, beta=-0.5))
    light = cv2.multiply(drops, _relief(drops), dst=liquid, dtype=cv2.CV_32F)
    brightest = max(1.0, float(light.max()))
    # half a grey level less: rounding then drops the fraction, as the release does
    red, green = (cv2.convertScaleAbs(light, alpha=shine * value / brightest, beta=-0.5) for value in _TURQUOISE)
    output = cv2.merge([red, green, green])
    return as_bytes(cv2.add(frame, output, dst=output))


def _relief(drops: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """How brightly the light falls on each pixel, from how far it lies from the edge of a drop, (H, W)."""
    depth = np.empty_like(drops)
    for top in range(0, len(drops), _STRIP_PX):
        first = max(0, top - _FAR_PX - _EDGE_PX)
        strip = _depth(drops[first : top + _STRIP_PX + _FAR_PX + _EDGE_PX])
        depth[top : top + _STRIP_PX] = strip[top - first : top - first + _STRIP_PX]
    cv2.equalizeHist(depth, dst=depth)
    return as_bytes(cv2.blur(cv2.filter2D(depth, cv2.CV_8U, _EMBOSS), (3, 3)))


def _depth(drops: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """How far each pixel lies from the nearest edge of a drop, in whole pixels."""
    edges = cv2.Canny(drops, 50, 150)
    distance = cv2.distanceTransform(cv2.bitwise_not(edges, dst=edges), cv2.DIST_L2, cv2.DIST_MASK_5)
    cv2.threshold(distance, _FAR_PX, _FAR_PX, cv2.THRESH_TRUNC, dst=distance)
    return cv2.blur(distance, (3, 3)).astype(np.uint8)


def _muddy(frame: Frame, liquid: NDArray[np.float32], *, threshold: float, opacity: float) -> Frame:
    """Cover with mud."""
    splashed = (liquid > np.float32(threshold)).view(np.uint8)
    thick = _smoothed(splashed, _MUD_EDGE_PX, scale=1.0)
    cv2.threshold(thick, _OPAQUE, 0.0, cv2.THRESH_TOZERO, dst=thick)
    output = cv2.cvtColor(cv2.convertScaleAbs(thick, alpha=-255.0 * opacity, beta=255.0), cv2.COLOR_GRAY2RGB)
    cv2.multiply(frame, output, dst=output, scale=1.0 / 255.0)
    brown = cv2.merge([cv2.convertScaleAbs(thick, alpha=opacity * value) for value in _MUD])
    return as_bytes(cv2.add(output, brown, dst=output))


def _smoothed(image: NDArray[np.uint8], spread_px: float, *, scale: float, offset: float = 0.0) -> NDArray[np.float32]:
    """A Gaussian blur cut off at four deviations, the edge repeated; ``scale`` times that, plus ``offset``."""
    taps = cv2.getGaussianKernel(2 * int(4.0 * spread_px + 0.5) + 1, spread_px, cv2.CV_32F)
    output = cv2.sepFilter2D(
        image, cv2.CV_32F, taps, taps * np.float32(scale), delta=offset, borderType=cv2.BORDER_REPLICATE
    )
    return np.asarray(output, dtype=np.float32)


SPATTER: VisionStressor[SeedParams] = Spatter()
