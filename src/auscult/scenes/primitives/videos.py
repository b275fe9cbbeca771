"""Videos of VSQA-V: 3 s of shapes that move over a ground. What cannot be told shows one even colour.

Those of AVSQA have sound: 4 s in which it says which part of what is seen is meant. In vain is silent.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from typing import Final

import numpy as np

from auscult.rng import pick
from auscult.scenes.appearance.colours import Tone, draw_tone
from auscult.scenes.primitives.base import (
    FPS,
    MIDDLE,
    NOT_SURE,
    RATE_HZ,
    SHAPES,
    SIDE_PX,
    Filled,
    Stimulus,
    dark_tone,
    light_ground,
    over,
    picture,
    shape,
    solid,
    solid_parts,
)
from auscult.scenes.primitives.sounds import SECONDS, beep, hiss, silence, spread_s
from auscult.types import Frame

HUES: Final = ("red", "green", "blue")
SUBSETS: Final = tuple(";".join(some) for count in (1, 2, 3) for some in itertools.combinations(HUES, count))
"""All choices of some of the three colours, as answers of AVSQA."""

_HEARD_FRAMES: Final = round(SECONDS * FPS)
_SHOWN: Final = 4
_LIT: Final = 3
_LEVEL: Final = np.float32(0.12)
_LATE_S: Final = 0.45
_EDGE_S: Final = 0.12


def heard_object(rng: np.random.Generator, answer: str) -> Stimulus:
    """Four shapes, a second each; a sound is heard during one of them."""
    names = [str(name) for name in rng.permutation(SHAPES)]
    if answer != NOT_SURE and answer in names[_SHOWN:]:  # the fifth is not shown
        index = int(rng.integers(_SHOWN))
        names[names.index(answer)], names[index] = names[index], answer
    frames = [_frame(rng, name, light_ground(rng)) for name in names[:_SHOWN]]
    marked = [] if answer == NOT_SURE else [names.index(answer)]
    return _in_turn(rng, frames, marked)


def heard_colours(rng: np.random.Generator, answer: str) -> Stimulus:
    """A disc that is red, green and blue in turn; a sound is heard during some of the colours."""
    hues = [str(hue) for hue in rng.permutation(HUES)]
    ground = light_ground(rng)
    disc = shape("circle", (MIDDLE, MIDDLE), float(rng.uniform(50, 80)))
    frames = [picture(ground, [Filled(disc, draw_tone(rng, hue))]) for hue in hues]
    marked = [] if answer == NOT_SURE else [hues.index(hue) for hue in answer.split(";")]
    return _in_turn(rng, frames, marked)


def together(rng: np.random.Generator, answer: str) -> Stimulus:
    """Beeps, and a shape that shows for a moment with every one of them, or between them."""
    ground, name = light_ground(rng), pick(rng, SHAPES)
    frame = _frame(rng, name, ground)
    starts_s = spread_s(rng, 3, least_s=1.0, within=(0.2, 3.1))
    late_s = {"yes": 0.0, "no": _LATE_S}.get(answer, float(rng.choice((0.0, _LATE_S))))
    video = np.repeat(picture(ground)[None], _HEARD_FRAMES, axis=0)
    sound, burst = silence(), beep(rng, _LIT / FPS) * _LEVEL
    for start_s in starts_s:
        first = round((start_s + late_s) * FPS)
        video[first : first + _LIT] = frame
        start = round(start_s * FPS) * round(RATE_HZ / FPS)
        if answer != NOT_SURE:
            sound[start : start + len(burst)] += burst
    return Stimulus(video=video, sound=sound, empty=answer == NOT_SURE)


def _frame(rng: np.random.Generator, name: str, ground: Tone) -> Frame:
    return picture(ground, [Filled(shape(name, (MIDDLE, MIDDLE), float(rng.uniform(50, 80))), dark_tone(rng))])


def _in_turn(rng: np.random.Generator, frames: list[Frame], marked: list[int]) -> Stimulus:
    """Pictures for equal times, with a sound within the times of the marked ones."""
    number = np.arange(_HEARD_FRAMES) * len(frames) // _HEARD_FRAMES
    noisy, span_s, sound = bool(rng.random() < 0.5), SECONDS / len(frames), silence()
    for index in marked:
        length_s = span_s - 2 * _EDGE_S
        signal = hiss(rng, length_s) if noisy else beep(rng, length_s)
        start = round((index * span_s + _EDGE_S) * RATE_HZ)
        sound[start : start + len(signal)] = signal * _LEVEL
    return Stimulus(video=np.stack([frames[index] for index in number]), sound=sound, empty=not marked)


STILL: Final = "stands still"
TO_AND_FRO: Final = "to and fro"
HEADINGS: Final = {"left": (-1, 0), "right": (1, 0), "up": (0, -1), "down": (0, 1)}
DIAGONALS: Final = {"up left": (-1, -1), "up right": (1, -1), "down left": (-1, 1), "down right": (1, 1)}
MOTIONS: Final = ("comes nearer", "goes away", "spins like a top", "rolls like a wheel", STILL)
SURFACES: Final = ("plain", "striped", "dotted", "chequered")
MOST: Final = 8

_FRAMES: Final = round(3 * FPS)


def even(rng: np.random.Generator) -> Stimulus:
    """One even colour throughout: a question about it has no answer."""
    return _video([picture(light_ground(rng))] * _FRAMES, empty=True)


def motion_2d(rng: np.random.Generator, answer: str) -> Stimulus:
    """A shape that goes one way, along an axis of the picture, or stays."""
    return _moving(rng, HEADINGS.get(answer, (0, 0)), lambda share: share - 0.5)


def diagonal(rng: np.random.Generator, answer: str) -> Stimulus:
    """A shape that goes along a diagonal, one way or there and back, or stays."""
    if answer != TO_AND_FRO:
        return _moving(rng, DIAGONALS.get(answer, (0, 0)), lambda share: share - 0.5)
    heading = list(DIAGONALS.values())[int(rng.integers(len(DIAGONALS)))]
    return _moving(rng, heading, lambda share: 0.5 - abs(2 * share - 1))


def motion_3d(rng: np.random.Generator, answer: str) -> Stimulus:
    """A cube that comes nearer, goes away, spins, rolls or stays."""
    ground, tone, yaw = light_ground(rng), dark_tone(rng), float(rng.uniform(20, 60))
    small, large, turn = float(rng.uniform(28, 36)), float(rng.uniform(72, 84)), float(rng.choice((-1, 1)))
    sizes = {"comes nearer": (small, large), "goes away": (large, small)}.get(answer, (62.0, 62.0))
    spun = 150 * turn if answer == "spins like a top" else 0.0
    rolled = 150 * turn if answer == "rolls like a wheel" else 0.0
    frames = []
    for share in _shares():
        faces = solid("cube", yaw_deg=yaw + spun * share, roll_deg=rolled * share)
        size = sizes[0] + (sizes[1] - sizes[0]) * share
        frames.append(picture(ground, solid_parts(faces, tone, centre=(MIDDLE, MIDDLE), radius=size)))
    return _video(frames)


def surface(rng: np.random.Generator, answer: str) -> Stimulus:
    """A disc with a pattern that drifts slowly."""
    ground, tone = picture(light_ground(rng)), dark_tone(rng)
    marks = np.array((250, 250, 245))
    pattern = np.where(_pattern(rng, answer)[..., None], marks, np.array(tone)).astype(np.uint8)
    start, drift = rng.uniform(-14, 14, 2), rng.uniform(-20, 20, 2)
    frames = []
    for share in _shares():
        by = np.rint(start + drift * share).astype(int)
        disc = shape("circle", (MIDDLE + int(by[0]), MIDDLE + int(by[1])), 80)
        moved = np.roll(pattern, (int(by[1]), int(by[0])), axis=(0, 1))
        frames.append(over(ground, [Filled(disc, tone)], moved))
    return _video(frames)


def outline(rng: np.random.Generator, answer: str) -> Stimulus:
    """A shape that drifts and turns."""
    ground, tone, turn = light_ground(rng), dark_tone(rng), float(rng.uniform(-60, 60))
    start, drift, radius = rng.uniform(-20, 20, 2), rng.uniform(-30, 30, 2), float(rng.uniform(48, 64))
    frames = []
    for share in _shares():
        x, y = (start + drift * share + MIDDLE).tolist()
        frames.append(picture(ground, [Filled(shape(answer, (x, y), radius, turn_deg=turn * share), tone)]))
    return _video(frames)


def moving_count(rng: np.random.Generator, answer: str) -> Stimulus:
    """So many discs, each in a lane of its own, going to and fro; an even colour for 0."""
    ground, tone, count = light_ground(rng), dark_tone(rng), int(answer)
    lane = SIDE_PX / MOST
    heights = (rng.permutation(MOST)[:count] + 0.5) * lane
    begins, reaches = rng.uniform(0, 2 * np.pi, count), rng.uniform(40, 100, count)
    radius = float(rng.uniform(9, 12))
    frames = []
    for share in _shares():
        across = MIDDLE + reaches * np.sin(begins + np.pi * share)
        discs = [shape("circle", (float(x), float(y)), radius) for x, y in zip(across, heights, strict=True)]
        frames.append(picture(ground, [Filled(disc, tone) for disc in discs]))
    return _video(frames, empty=count == 0)


def _moving(rng: np.random.Generator, heading: tuple[int, int], place: Callable[[float], float]) -> Stimulus:
    """A shape on a straight path through the middle; ``place`` is from -.5 to .5 of it, by the share of the time."""
    ground, tone, name = light_ground(rng), dark_tone(rng), pick(rng, SHAPES)
    reach, radius = float(rng.uniform(110, 150)), float(rng.uniform(24, 34))
    centre = rng.uniform(MIDDLE - 18, MIDDLE + 18, 2)
    frames = []
    for share in _shares():
        x, y = (centre + reach * place(share) * np.array(heading)).tolist()
        frames.append(picture(ground, [Filled(shape(name, (x, y), radius), tone)]))
    return _video(frames)


def _pattern(rng: np.random.Generator, name: str) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    """Where a surface is marked, bool (256, 256)."""
    angle, step = float(rng.uniform(0, np.pi)), float(rng.uniform(26, 34))
    x, y = np.meshgrid(np.arange(SIDE_PX) - MIDDLE, np.arange(SIDE_PX) - MIDDLE)
    along = (x * np.cos(angle) + y * np.sin(angle)) / step
    across = (y * np.cos(angle) - x * np.sin(angle)) / step
    if name == "striped":
        return np.asarray(along % 1 < 0.5)
    if name == "chequered":
        return np.asarray((np.floor(along) + np.floor(across)) % 2 == 0)
    if name == "dotted":
        return np.asarray((along % 1 - 0.5) ** 2 + (across % 1 - 0.5) ** 2 < 0.28**2)
    return np.zeros((SIDE_PX, SIDE_PX), np.bool_)


def _shares() -> list[float]:
    """How much of the time has passed at each frame."""
    return [index / (_FRAMES - 1) for index in range(_FRAMES)]


def _video(frames: Iterable[Frame], *, empty: bool = False) -> Stimulus:
    return Stimulus(video=np.stack(list(frames)), empty=empty)
