"""Painted backgrounds: a few kinds of places, made of noise, gradients and clutter, each unlike the next."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any, Final

import cv2
import numpy as np
from numpy.typing import NDArray

from auscult import rng as randomness
from auscult.types import Floats, Frame

Size = tuple[int, int]
Rgb = tuple[int, int, int]

_UNIT: Final = 480.0  # sizes below are pixels of a picture of this height
_SHARPEST_CELL_PX: Final = 2.0


def noise(rng: np.random.Generator, size: Size, *, cell: float, roughness: float = 0.5, stretch: float = 1.0) -> Floats:
    """Smooth noise over several octaves, float32, mean about 0, standard deviation about 1.

    ``cell`` is the size of the largest grains in a picture of height 480, ``roughness`` the strength of each finer
    octave against the one before, ``stretch`` the width of grains over their height.
    """
    height, width = size
    coarse: Floats | None = None
    weight, total = 1.0, 0.0
    cell_px = max(cell * height / _UNIT, _SHARPEST_CELL_PX)
    while cell_px >= _SHARPEST_CELL_PX:
        shape = (int(height / cell_px) + 3, int(width / (cell_px * stretch)) + 3)
        table = rng.standard_normal(shape, dtype=np.float32) * np.float32(weight)
        if coarse is not None:  # coarse grains are smooth, so they need no more places than the next finer ones
            table += cv2.resize(coarse, shape[::-1], interpolation=cv2.INTER_CUBIC)
        coarse = table
        total += weight * weight
        weight *= roughness
        cell_px /= 2
    field: NDArray[Any] = cv2.resize(np.asarray(coarse), (width, height), interpolation=cv2.INTER_CUBIC)
    return np.asarray(field * np.float32(1.4 / max(total, 1e-6) ** 0.5), dtype=np.float32)


def _line(rng: np.random.Generator, size: Size, *, cell: float, roughness: float = 0.5) -> Floats:
    """Smooth noise across a picture, float32 (1, width)."""
    return noise(rng, (1, size[1]), cell=cell * size[0], roughness=roughness)


def _down(size: Size) -> Floats:
    return np.asarray(((np.arange(size[0]) + 0.5) / size[0])[:, None], dtype=np.float32)


def _across(size: Size) -> Floats:
    return np.asarray(((np.arange(size[1]) + 0.5) / size[1])[None, :], dtype=np.float32)


def _flat(rng: np.random.Generator, size: Size, span: tuple[Rgb, Rgb]) -> NDArray[Any]:
    """One colour between two, a little off the line between them."""
    low, high = span
    share = np.clip(rng.uniform() + rng.normal(0, 0.1, 3), 0, 1)
    tone = np.array(low) + share * (np.array(high) - low)
    return np.broadcast_to(tone.astype(np.float32), (*size, 3)).copy()


def _mix(under: NDArray[Any], over: NDArray[Any], share: NDArray[Any]) -> NDArray[Any]:
    part = np.clip(np.broadcast_to(share, under.shape[:2]), 0, 1, dtype=np.float32)
    return np.asarray(cv2.blendLinear(over, under, part, 1 - part), dtype=np.float32)


def _shaded(picture: NDArray[Any], factor: NDArray[Any]) -> NDArray[Any]:
    """A picture, (H, W, 3), made brighter or darker from place to place, (H, W)."""
    plane = np.asarray(np.broadcast_to(factor, picture.shape[:2]), dtype=np.float32)
    return np.asarray(cv2.multiply(picture, cv2.merge([plane, plane, plane])), dtype=np.float32)


def _sky(rng: np.random.Generator, size: Size) -> NDArray[Any]:
    top = _flat(rng, size, ((80, 120, 165), (150, 185, 220)))
    low = _flat(rng, size, ((185, 195, 200), (230, 225, 222)))
    sky = _mix(top, low, np.broadcast_to(_down(size) * rng.uniform(1.2, 2.2), size))
    clouds = noise(rng, size, cell=150, stretch=2.5) * np.float32(0.5) - np.float32(rng.uniform(0.0, 0.8))
    return _mix(sky, _flat(rng, size, ((222, 222, 222), (246, 246, 246))), clouds)


def _ground(rng: np.random.Generator, size: Size, base: NDArray[Any], *, depth: float) -> NDArray[Any]:
    """Ground whose grain is finer far away."""
    near = noise(rng, size, cell=26, roughness=0.85, stretch=1.3)
    far = noise(rng, size, cell=6, roughness=0.8, stretch=2.0)
    share = np.clip(_down(size) * 1.6 - 0.6, 0, 1)
    field = near * share + far * (1 - share)
    patches = noise(rng, size, cell=140, stretch=2.0)
    return _shaded(base, 1 + np.float32(depth) * field + np.float32(0.1) * patches)


def _open_air(rng: np.random.Generator, size: Size, *, ground: tuple[Rgb, Rgb]) -> NDArray[Any]:
    """Sky, a line of hills or trees, ground of one colour between two."""
    base = _flat(rng, size, ground)
    horizon = float(rng.uniform(0.28, 0.58))
    picture = _sky(rng, size)
    hills = horizon - np.float32(0.05) - np.float32(0.05) * _line(rng, size, cell=180, roughness=0.6)
    trees = _flat(rng, size, ((50, 66, 46), (110, 124, 108)))
    trees = _shaded(trees, 1 + 0.28 * noise(rng, size, cell=22, roughness=0.8))
    picture = _mix(picture, trees, (_down(size) - hills) * np.float32(size[0] / 2.5))
    edge = horizon + np.float32(0.012) * _line(rng, size, cell=90)
    return _mix(picture, _ground(rng, size, base, depth=0.24), (_down(size) - edge) * np.float32(size[0] / 2.0))


def _street(rng: np.random.Generator, size: Size) -> NDArray[Any]:
    """House fronts over a pavement."""
    picture = _bricks(rng, size)
    for _ in range(int(rng.integers(2, 6))):
        x, y = rng.uniform((0.0, 0.02), (0.92, 0.3)) * size[::-1]
        width, height = rng.uniform((0.06, 0.14), (0.13, 0.34)) * size[::-1]
        corners = (int(x), int(y)), (int(x + width), int(y + height))
        cv2.rectangle(picture, *corners, tuple(map(float, rng.uniform(30, 210, 3))), -1)
        cv2.rectangle(picture, *corners, tuple(map(float, rng.uniform(150, 230, 3))), max(1, size[0] // 120))
    floor = _ground(rng, size, _flat(rng, size, ((96, 96, 96), (150, 146, 142))), depth=0.13)
    return _mix(picture, floor, (_down(size) - np.float32(rng.uniform(0.55, 0.72))) * np.float32(size[0] / 2.0))


def _bricks(rng: np.random.Generator, size: Size) -> NDArray[Any]:
    height = rng.uniform(14, 30) * size[0] / _UNIT
    width = height * rng.uniform(1.8, 2.6)
    rows, columns = np.arange(size[0])[:, None] / height, np.arange(size[1])[None, :] / width
    shifted = columns + 0.5 * (np.floor(rows) % 2)
    table = rng.normal(0, 0.1, (64, 64)).astype(np.float32)
    tones = table[np.floor(rows).astype(int) % 64, np.floor(shifted).astype(int) % 64]
    mortar = ((rows % 1 < 0.1) | (shifted % 1 < 0.05)).astype(np.float32)
    wall = _flat(rng, size, ((108, 66, 52), (190, 160, 140)))
    wall = _shaded(wall, 1 + tones + 0.1 * noise(rng, size, cell=8, roughness=0.8))
    return _mix(wall, _flat(rng, size, ((140, 134, 126), (196, 190, 182))), 0.8 * mortar)


def _room(rng: np.random.Generator, size: Size) -> NDArray[Any]:
    """A wall, a floor of boards, a shadow in the corner and a few frames on the wall."""
    wall = _shaded(_flat(rng, size, ((140, 130, 118), (226, 220, 206))), 1 + 0.03 * noise(rng, size, cell=12))
    for _ in range(int(rng.integers(1, 5))):
        x, y = rng.uniform((0.02, 0.04), (0.85, 0.4)) * size[::-1]
        width, height = rng.uniform((0.05, 0.1), (0.2, 0.3)) * size[::-1]
        corners = (int(x), int(y)), (int(x + width), int(y + height))
        cv2.rectangle(wall, *corners, tuple(map(float, rng.uniform(40, 220, 3))), -1)
        cv2.rectangle(wall, *corners, tuple(map(float, rng.uniform(50, 150, 3))), max(2, size[0] // 80))
    floor = np.float32(rng.uniform(0.58, 0.75))
    boards = np.floor(_across(size) * 9 + (_down(size) - 0.5) * (_across(size) - 0.5) * 12)
    tones = rng.normal(0, 0.09, 64).astype(np.float32)[boards.astype(int) % 64]
    wood = _flat(rng, size, ((100, 72, 48), (176, 134, 92)))
    wood = _shaded(wood, 1 + tones + 0.08 * noise(rng, size, cell=40, roughness=0.8, stretch=0.2))
    picture = _mix(wall, wood, (_down(size) - floor) * np.float32(size[0] / 1.5))
    lamp = (_across(size) - np.float32(rng.uniform(0.1, 0.9))) ** 2 + (
        _down(size) - np.float32(rng.uniform(0, 0.4))
    ) ** 2
    return _shaded(picture, 1.12 - 0.5 * np.minimum(lamp, 1))


def _foliage(rng: np.random.Generator, size: Size) -> NDArray[Any]:
    """Leaves in several depths."""
    picture = _shaded(_flat(rng, size, ((22, 34, 18), (62, 80, 52))), 1 + 0.3 * noise(rng, size, cell=60))
    for depth in range(3):
        leaf = _flat(rng, size, ((40, 70, 26), (100, 140, 70))) * np.float32(0.7 + 0.2 * depth)
        leaf = _shaded(leaf, 1 + 0.2 * noise(rng, size, cell=10, roughness=0.8))
        share = noise(rng, size, cell=18 + 16 * depth, roughness=0.55) * 5 - np.float32(1 + depth)
        picture = _mix(picture, leaf, share)
    return np.asarray(picture, dtype=np.float32)


def _clutter(rng: np.random.Generator, size: Size) -> NDArray[Any]:
    """Blurred shapes without names, many over one another, as a full shelf out of focus."""
    picture = _shaded(_flat(rng, size, ((60, 56, 52), (190, 186, 180))), 1 + 0.08 * noise(rng, size, cell=60))
    for _ in range(int(rng.integers(70, 140))):
        centre = rng.uniform(0, 1, 2) * size[::-1]
        reach = float(rng.uniform(0.02, 0.14) * size[0])
        angles = np.sort(rng.uniform(0, 2 * np.pi, int(rng.integers(4, 9))))
        corners = centre + reach * rng.uniform(0.5, 1.3, (len(angles), 1)) * np.stack(
            [np.cos(angles), np.sin(angles)], 1
        )
        tone = rng.uniform(40, 210) + rng.normal(0, 26, 3)
        cv2.fillPoly(picture, [np.rint(corners * 16).astype(np.int32)], tuple(map(float, tone)), cv2.LINE_8, 4)
    soft = cv2.GaussianBlur(picture, (0, 0), float(rng.uniform(0.8, 3.0)) * size[0] / _UNIT + 0.3)
    return _shaded(soft, 1 + 0.06 * noise(rng, size, cell=6, roughness=0.9))


_PAINTERS: Final = MappingProxyType[str, Callable[[np.random.Generator, Size], NDArray[Any]]](
    {
        "beach": partial(_open_air, ground=((168, 148, 112), (206, 188, 152))),
        "bricks": _bricks,
        "clutter": _clutter,
        "foliage": _foliage,
        "meadow": partial(_open_air, ground=((70, 92, 40), (118, 134, 74))),
        "room": _room,
        "street": _street,
    }
)
KINDS: Final = tuple(_PAINTERS)
WITH_SHAPES: Final = frozenset({"clutter", "room", "street"})
"""Kinds that show frames, windows or scraps of any colour."""


def paint(rng: np.random.Generator, kind: str, *, size: Size) -> Frame:
    """Paint a background of one of ``KINDS``, uint8 RGB (height, width, 3), as soft and noisy as a camera's."""
    picture = _PAINTERS[kind](rng, size)
    slope = 1 + np.float32(rng.uniform(-0.15, 0.15)) * (_across(size) - np.float32(0.5))
    blurred: NDArray[Any] = cv2.GaussianBlur(_shaded(picture, slope), (0, 0), 0.6)
    grain = rng.standard_normal(size, dtype=np.float32) * np.float32(rng.uniform(0.8, 2.5))
    return np.asarray(cv2.add(blurred, cv2.merge([grain, grain, grain]), dtype=cv2.CV_8U), dtype=np.uint8)


@dataclass(frozen=True, slots=True)
class Weave:
    """How a pattern lies on a thing."""

    repeats: float  # how often it repeats over the thing's height
    turn_deg: float  # its direction
    share: float  # how much of it is the second tone, 0..1
    seed: int  # for patterns with chance in them


def _turned(u: Floats, v: Floats, weave: Weave) -> tuple[Floats, Floats]:
    angle = np.radians(weave.turn_deg)
    cos, sin = np.float32(np.cos(angle) * weave.repeats), np.float32(np.sin(angle) * weave.repeats)
    return u * cos + v * sin, v * cos - u * sin


def _striped(u: Floats, v: Floats, weave: Weave) -> Floats:
    along, _ = _turned(u, v, weave)
    return (along % 1 < weave.share).astype(np.float32)


def _checked(u: Floats, v: Floats, weave: Weave) -> Floats:
    along, across = _turned(u, v, weave)
    return ((np.floor(along) + np.floor(across)) % 2).astype(np.float32)


def _spotted(u: Floats, v: Floats, weave: Weave) -> Floats:
    along, across = _turned(u, v, weave)
    row = np.floor(across)
    dx, dy = (along + 0.5 * (row % 2)) % 1 - 0.5, across % 1 - 0.5
    return (dx * dx + dy * dy < weave.share / np.pi).astype(np.float32)


def _speckled(u: Floats, v: Floats, weave: Weave) -> Floats:
    along, across = _turned(u, v, weave)
    table = randomness.generator(weave.seed, "speckles").uniform(size=(3, 64, 64)).astype(np.float32)
    column, row = np.floor(along).astype(np.int32) & 63, np.floor(across).astype(np.int32) & 63
    dx = along % 1 - 0.3 - 0.4 * table[0][row, column]
    dy = across % 1 - 0.3 - 0.4 * table[1][row, column]
    radius = weave.share * (0.25 + 0.75 * table[2][row, column])
    return np.asarray(dx * dx + dy * dy < radius * radius, dtype=np.float32)


_PATTERNS: Final[dict[str, Callable[[Floats, Floats, Weave], Floats]]] = {
    "striped": _striped,
    "spotted": _spotted,
    "checked": _checked,
    "speckled": _speckled,
}
TEXTURES: Final = ("plain", *_PATTERNS)
_REPEATS: Final = {"striped": (4.0, 7.0), "spotted": (4.0, 6.0), "checked": (5.0, 8.0), "speckled": (10.0, 14.0)}
_SHARES: Final = {"striped": (0.4, 0.55), "spotted": (0.3, 0.42), "checked": (0.5, 0.5), "speckled": (0.2, 0.3)}
_TURNS: Final = {"striped": (0.0, 45.0, 90.0, -45.0), "checked": (0.0, 45.0)}


def draw_weave(rng: np.random.Generator, texture: str) -> Weave:
    """Draw how a texture lies; of a plain one nothing is used."""
    turns = _TURNS.get(texture, (0.0,))
    return Weave(
        repeats=round(float(rng.uniform(*_REPEATS.get(texture, (1.0, 1.0)))), 3),
        turn_deg=round(float(rng.choice(turns) + rng.uniform(-6.0, 6.0)), 2),
        share=round(float(rng.uniform(*_SHARES.get(texture, (0.5, 0.5)))), 3),
        seed=int(rng.integers(2**31)),
    )


def pattern(texture: str, u: Floats, v: Floats, *, weave: Weave) -> Floats | None:
    """Where a texture shows its second tone, float32 0..1 in the shape of ``u``; None for a plain one."""
    return None if texture == "plain" else _PATTERNS[texture](u, v, weave)
