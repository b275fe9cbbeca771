"""Frost: feathers of ice on the glass in front of the lens.

Source: R2-Bench, Sec. 3.1 and toolbox; formula and constants of ImageNet-C (Hendrycks and Dietterich 2019, Sec. 3.1):
``picture_weight * picture + frost_weight * frost``, the frost a random piece of a texture.

Chosen otherwise: the textures are drawn by us, see below; their brightness is that of photographs of frost.
In a clip frost stands still.

No photograph is behind them. Feathers of ice grow inwards from the borders and from cracks; each has a stem, branches
at about 60 degrees and twigs on those. Under them lies a haze of cloudy ice, over all a fine grain. Brightness is set
to a mean of 0.55 and a standard deviation of 0.2 of the range, which is what photographs of frost have, so that a
level does about the damage that it does with photographs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Annotated, Final

import cv2
import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from auscult.rng import generator
from auscult.stress import noise
from auscult.stress.perturbation import Constant, Params, Perturbs, Share
from auscult.stress.vision import fog
from auscult.stress.vision.base import VisionStressor, as_bytes
from auscult.types import Frame, Metadata

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
    clouds = fog.plasma(int(rng.integers(1 << 32)), 2048, decay=1.6)
    cloudy = fog.piece(clouds, at=(0, 0), shape=(HEIGHT, WIDTH))
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
        at = order[first : first + _AT_ONCE]
        _draw_feathers(canvas, rng, roots[at], courses=courses[at], lengths=lengths[at], bends=bends[at])
    return canvas.astype(np.float32) / np.float32(255.0)


def _roots(rng: np.random.Generator) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Where feathers begin, (n, 2) as (x, y), and their courses in radians."""
    points, courses = [], []
    size = np.array([WIDTH, HEIGHT], dtype=np.float64)
    corners = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0], [0.0, 0.0]])
    lines = [(corners[at] * size, corners[at + 1] * size, 34) for at in range(4)]
    for _ in range(int(rng.integers(3, 6))):
        middle, way = rng.uniform(0.15, 0.85, 2) * size, rng.uniform(0.0, math.pi)
        reach = rng.uniform(200.0, 600.0) * np.array([math.cos(way), math.sin(way)])
        lines += [(middle - reach, middle + reach, 24), (middle + reach, middle - reach, 24)]
    for start, end, count in lines:
        along = rng.uniform(0.0, 1.0, (count, 1))
        points.append(start + along * (end - start) + rng.normal(0.0, 14.0, (count, 2)))
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
    ways = np.cumsum(_STEP_PX * _towards(heading), axis=0)
    stems = roots[owner] + ways - ways[position == 0][owner]
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
    """Mixes the picture with a piece of frost."""

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
        height, width = (min(round(length / scale), most) for length, most in zip(size, (HEIGHT, WIDTH), strict=True))
        top, left = round(params.down * (HEIGHT - height)), round(params.right * (WIDTH - width))
        piece = texture(params.texture)[top : top + height, left : left + width]
        if scale == 1.0:
            return piece
        return as_bytes(cv2.resize(piece, (size[1], size[0]), interpolation=cv2.INTER_CUBIC))


STRESSOR: VisionStressor[FrostParams] = Frost()


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
        whole = cv2.resize(texture(params.texture), (size[1], size[0]), interpolation=cv2.INTER_LINEAR)
        return as_bytes(whole)


R2BENCH: VisionStressor[FrostParams] = FrostR2Bench()
