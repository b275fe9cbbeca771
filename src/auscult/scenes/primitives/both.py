"""Videos with sound of AVSQA: 4 s in which a sound says which part of what is seen is meant. In vain is silent."""

from __future__ import annotations

import itertools
from typing import Final

import numpy as np

from auscult.scenes.appearance.colours import Tone, draw_tone
from auscult.scenes.primitives.base import FPS, NOT_SURE, RATE_HZ, Stimulus
from auscult.scenes.primitives.canvas import MIDDLE, SHAPES, Part, dark_tone, light_ground, picture, shape
from auscult.scenes.primitives.sounds import SECONDS, beep, hiss, silence, spread_s
from auscult.types import Frame

HUES: Final = ("red", "green", "blue")
SUBSETS: Final = tuple(";".join(some) for count in (1, 2, 3) for some in itertools.combinations(HUES, count))
"""All choices of some of the three colours, as answers of AVSQA."""

_FRAMES: Final = round(SECONDS * FPS)
_SHOWN: Final = 4
_LIT: Final = 3
_LEVEL: Final = np.float32(0.12)
_LATE_S: Final = 0.45
_EDGE_S: Final = 0.12


def heard_object(rng: np.random.Generator, answer: str) -> Stimulus:
    """Four shapes, a second each; a sound is heard during one of them."""
    names = [str(name) for name in rng.permutation(SHAPES)]
    if answer != NOT_SURE and answer in names[_SHOWN:]:  # the fifth is not shown
        at = int(rng.integers(_SHOWN))
        names[names.index(answer)], names[at] = names[at], answer
    frames = [_frame(rng, name, light_ground(rng)) for name in names[:_SHOWN]]
    marked = [] if answer == NOT_SURE else [names.index(answer)]
    return _in_turn(rng, frames, marked)


def heard_colours(rng: np.random.Generator, answer: str) -> Stimulus:
    """A disc that is red, green and blue in turn; a sound is heard during some of the colours."""
    hues = [str(hue) for hue in rng.permutation(HUES)]
    ground = light_ground(rng)
    disc = shape("circle", (MIDDLE, MIDDLE), float(rng.uniform(50, 80)))
    frames = [picture(ground, [Part(disc, draw_tone(rng, hue))]) for hue in hues]
    marked = [] if answer == NOT_SURE else [hues.index(hue) for hue in answer.split(";")]
    return _in_turn(rng, frames, marked)


def together(rng: np.random.Generator, answer: str) -> Stimulus:
    """Beeps, and a shape that shows for a moment with every one of them, or between them."""
    ground, name = light_ground(rng), SHAPES[int(rng.integers(len(SHAPES)))]
    frame = _frame(rng, name, ground)
    starts_s = spread_s(rng, 3, least_s=1.0, within=(0.2, 3.1))
    late_s = {"yes": 0.0, "no": _LATE_S}.get(answer, float(rng.choice((0.0, _LATE_S))))
    video = np.repeat(picture(ground)[None], _FRAMES, axis=0)
    sound, one = silence(), beep(rng, _LIT / FPS) * _LEVEL
    for start_s in starts_s:
        first = round((start_s + late_s) * FPS)
        video[first : first + _LIT] = frame
        at = round(start_s * FPS) * round(RATE_HZ / FPS)
        if answer != NOT_SURE:
            sound[at : at + len(one)] += one
    return Stimulus(video=video, sound=sound, empty=answer == NOT_SURE)


def _frame(rng: np.random.Generator, name: str, ground: Tone) -> Frame:
    return picture(ground, [Part(shape(name, (MIDDLE, MIDDLE), float(rng.uniform(50, 80))), dark_tone(rng))])


def _in_turn(rng: np.random.Generator, frames: list[Frame], marked: list[int]) -> Stimulus:
    """Pictures for equal times, with a sound within the times of the marked ones."""
    number = np.arange(_FRAMES) * len(frames) // _FRAMES
    noisy, span_s, sound = bool(rng.random() < 0.5), SECONDS / len(frames), silence()
    for at in marked:
        length_s = span_s - 2 * _EDGE_S
        made = hiss(rng, length_s) if noisy else beep(rng, length_s)
        start = round((at * span_s + _EDGE_S) * RATE_HZ)
        sound[start : start + len(made)] = made * _LEVEL
    return Stimulus(video=np.stack([frames[at] for at in number]), sound=sound, empty=not marked)
