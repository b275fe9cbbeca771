"""Pictures of VSQA-I: a few shapes on a ground. What cannot be told shows one even colour."""

from __future__ import annotations

from typing import Final

import cv2
import numpy as np

from auscult.rng import pick
from auscult.scenes.appearance.colours import Tone, as_tone, draw_tone
from auscult.scenes.primitives.base import (
    MIDDLE,
    SHAPES,
    SIDE_PX,
    Filled,
    Points,
    Stimulus,
    bar,
    dark_tone,
    light_ground,
    over,
    picture,
    shape,
    solid,
    solid_parts,
)
from auscult.types import Frame

PLACES: Final = tuple(
    f"{row} {column}".replace("middle middle", "centre")
    for row in ("top", "middle", "bottom")
    for column in ("left", "middle", "right")
)
ORDINALS: Final = ("first", "second", "third", "fourth", "fifth")
HUES: Final = ("red", "orange", "yellow", "green", "blue", "purple")
DIRECTIONS: Final = {"horizontal": 0.0, "vertical": 90.0, "rising": 45.0, "falling": 135.0}

_GRID: Final = 4
_HORIZON: Final = 80.0
_EYE: Final = 190.0
_BALL: Final = 62.0


def even(rng: np.random.Generator) -> Stimulus:
    """One even colour: a question about it has no answer."""
    return Stimulus(picture=picture(light_ground(rng)), empty=True)


def background(rng: np.random.Generator, answer: str) -> Stimulus:
    """A shape before one even colour, a gradient or stripes."""
    parts, ground = [Filled(_any_shape(rng), dark_tone(rng))], light_ground(rng)
    if answer == "yes":
        return Stimulus(picture=picture(ground, parts))
    angle, turns = float(rng.uniform(0, np.pi)), float(rng.choice((0.5, 4.0, 6.0)))
    x, y = np.meshgrid(np.linspace(-0.5, 0.5, SIDE_PX), np.linspace(-0.5, 0.5, SIDE_PX))
    wave = 0.25 * np.sin(2 * np.pi * turns * (x * np.cos(angle) + y * np.sin(angle)))
    uneven = np.array(ground) * (0.75 + wave)[..., None]
    return Stimulus(picture=over(np.rint(uneven).astype(np.uint8), parts))


def foreground(rng: np.random.Generator, answer: str) -> Stimulus:
    """A shape that is filled, or an outline of it."""
    ground, outer = light_ground(rng), _any_shape(rng)
    centre = outer.mean(axis=0)
    parts = [Filled(outer, dark_tone(rng))]
    if answer == "no":
        parts.append(Filled((outer - centre) * float(rng.uniform(0.66, 0.8)) + centre, ground))
    return Stimulus(picture=picture(ground, parts))


def sharpness(rng: np.random.Generator, answer: str) -> Stimulus:
    """The same shape twice, left, right, both or neither of them blurred."""
    name, turn, tone = pick(rng, SHAPES), float(rng.uniform(0, 90)), dark_tone(rng)
    parts = [Filled(shape(name, (x, MIDDLE), 40, turn_deg=turn), tone) for x in (MIDDLE / 2, MIDDLE * 1.5)]
    sharp = picture(light_ground(rng), parts)
    soft = np.asarray(cv2.GaussianBlur(sharp, (0, 0), float(rng.uniform(4, 7))), np.uint8)
    both = bool(rng.random() < 0.5)
    clear = {"left": (True, False), "right": (False, True), "the same": (both, both)}[answer]
    half = SIDE_PX // 2
    left, right = ((sharp if is_sharp else soft) for is_sharp in clear)
    return Stimulus(picture=np.concatenate([left[:, :half], right[:, half:]], axis=1))


def position_3d(rng: np.random.Generator, answer: str) -> Stimulus:
    """Two balls of one real size on a chequered floor in perspective."""
    near, far = float(rng.uniform(1.6, 1.9)), float(rng.uniform(2.8, 3.6))
    both = near if rng.random() < 0.5 else far
    depths = {"left": (near, far), "right": (far, near), "equally near": (both, both)}[answer]
    picture_ = _floor(light_ground(rng))
    for x, depth in zip((MIDDLE * 0.52, MIDDLE * 1.48), depths, strict=True):
        radius = _BALL / depth
        centre = (x + float(rng.uniform(-6, 6)), _HORIZON + _EYE / depth - radius)
        picture_ = over(picture_, solid_parts(solid("ball", yaw_deg=0), dark_tone(rng), centre=centre, radius=radius))
    return Stimulus(picture=picture_)


def shape_3d(rng: np.random.Generator, answer: str) -> Stimulus:
    """A shaded solid, seen from above."""
    faces = solid(answer, yaw_deg=float(rng.uniform(20, 32)), tilt_deg=float(rng.uniform(22, 34)))
    parts = solid_parts(faces, dark_tone(rng), centre=_about_middle(rng, 25), radius=float(rng.uniform(60, 80)))
    return Stimulus(picture=picture(light_ground(rng), parts))


def placement(rng: np.random.Generator, answer: str) -> Stimulus:
    """A shape in one of nine places."""
    row, column = divmod(PLACES.index(answer), 3)
    x, y = (MIDDLE + (index - 1) * SIDE_PX / 3 + float(rng.uniform(-12, 12)) for index in (column, row))
    outline = shape(pick(rng, SHAPES), (x, y), float(rng.uniform(18, 26)))
    return Stimulus(picture=picture(light_ground(rng), [Filled(outline, dark_tone(rng))]))


def colour(rng: np.random.Generator, answer: str) -> Stimulus:
    """A shape of a colour that has a word."""
    return Stimulus(picture=picture(light_ground(rng), [Filled(_any_shape(rng), draw_tone(rng, answer))]))


def line_direction(rng: np.random.Generator, answer: str) -> Stimulus:
    """A straight line."""
    slack = 4.0 if DIRECTIONS[answer] % 90 == 0 else 12.0
    turn = DIRECTIONS[answer] + float(rng.uniform(-slack, slack))
    line = bar(_about_middle(rng, 30), float(rng.uniform(110, 170)), width=float(rng.uniform(3, 9)), turn_deg=turn)
    return Stimulus(picture=picture(light_ground(rng), [Filled(line, dark_tone(rng))]))


def area(rng: np.random.Generator, answer: str) -> Stimulus:
    """Five shapes of one kind in a row, one of them larger by a third at least."""
    name, tone, turn = pick(rng, SHAPES), dark_tone(rng), float(rng.uniform(0, 90))
    radii = rng.uniform(9, 16, len(ORDINALS))
    radii[ORDINALS.index(answer)] = rng.uniform(21.5, 24)
    parts = [
        Filled(shape(name, (x, MIDDLE + float(rng.uniform(-30, 30))), float(radius), turn_deg=turn), tone)
        for x, radius in zip(_row(), radii, strict=True)
    ]
    return Stimulus(picture=picture(light_ground(rng), parts))


def brightness(rng: np.random.Generator, answer: str) -> Stimulus:
    """Five squares of one hue in a row before a dark ground, one of them brighter by a quarter at least."""
    lights = rng.uniform(0.4, 0.72, len(ORDINALS))
    lights[ORDINALS.index(answer)] = rng.uniform(0.92, 1.0)
    tone = np.array(draw_tone(rng, pick(rng, HUES))) / 255
    tone /= tone.max()
    parts = [
        Filled(shape("square", (x, MIDDLE), 27), as_tone(tone * light)) for x, light in zip(_row(), lights, strict=True)
    ]
    return Stimulus(picture=picture(as_tone((0.12,) * 3), parts))


def counting(rng: np.random.Generator, answer: str) -> Stimulus:
    """So many shapes of one kind that do not touch; an even colour for 0."""
    ground, name, tone = light_ground(rng), pick(rng, SHAPES), dark_tone(rng)
    cell = SIDE_PX / _GRID
    parts = []
    for place in rng.permutation(_GRID * _GRID)[: int(answer)].tolist():
        row, column = divmod(place, _GRID)
        centre = tuple((index + 0.5) * cell + float(rng.uniform(-6, 6)) for index in (column, row))
        radius, turn = float(rng.uniform(14, 22)), float(rng.uniform(0, 90))
        parts.append(Filled(shape(name, (centre[0], centre[1]), radius, turn_deg=turn), tone))
    return Stimulus(picture=picture(ground, parts), empty=not parts)


def _any_shape(rng: np.random.Generator) -> Points:
    name, turn = pick(rng, SHAPES), float(rng.uniform(0, 90))
    return shape(name, _about_middle(rng, 25), float(rng.uniform(55, 85)), turn_deg=turn)


def _about_middle(rng: np.random.Generator, most: float) -> tuple[float, float]:
    x, y = rng.uniform(MIDDLE - most, MIDDLE + most, 2).tolist()
    return x, y


def _row() -> list[float]:
    """Where five things stand side by side."""
    return [(index + 0.5) * SIDE_PX / len(ORDINALS) for index in range(len(ORDINALS))]


def _floor(sky: Tone) -> Frame:
    """A chequered floor below the horizon."""
    x, y = np.meshgrid(np.arange(SIDE_PX) + 0.5, np.arange(SIDE_PX) + 0.5)
    depth = _EYE / np.maximum(y - _HORIZON, 0.5)
    dark = (np.floor((x - MIDDLE) * depth / 70) + np.floor(depth * 1.5)) % 2 == 0
    floor = np.where(dark, 150, 205)[..., None].repeat(3, axis=2)
    haze = np.clip(depth / 12, 0, 1)[..., None]
    floor = floor * (1 - haze) + np.array(sky) * haze
    return np.where((y > _HORIZON)[..., None], np.rint(floor), np.array(sky)).astype(np.uint8)
