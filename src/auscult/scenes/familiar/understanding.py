"""Samples of VAR, where a picture asks and sounds are candidates, and of AVR, the reverse.

One to three of ten candidates fit, each of another kind. With one alone there would be ten answers, and of a hundred
right ones nine in ten would repeat another, which the score takes for guessing (Eqs. 32-34).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import numpy as np

from auscult.media.frames import encode_jpeg, read_frame
from auscult.record import codec
from auscult.scenes.appearance.folder import covering
from auscult.scenes.familiar.base import PICTURE_QUALITY, Drawn, World, one_of, some_of, sound_of
from auscult.scenes.familiar.perception import as_it_is
from auscult.scenes.familiar.staging import (
    ALONE,
    STILL_S,
    Cast,
    in_row,
    photographed,
    played,
    stage,
    track,
)
from auscult.scenes.sound.mix import SoundSet, SoundTrack

CANDIDATES: Final = 10
FITTING: Final = ("1", "2", "3")
"""How many candidates fit, which is dealt evenly; which of them is drawn."""

_ALONE_S: Final = 2.5
_PAUSE_S: Final = 0.5
_TURN_S: Final = 1.6
_PICTURE_ASKS: Final = "Which of the sounds are made by what the picture shows? One to three of them are."
_SOUND_ASKS: Final = "Which of the pictures show what is heard? One to three of them do."


def made_sounds_wanted(rng: np.random.Generator, world: World, answer: str) -> Drawn:
    """VAR: a picture of a made thing, and generated sounds."""
    return _sounds_wanted(rng, _made(world), answer)


def made_pictures_wanted(rng: np.random.Generator, world: World, answer: str) -> Drawn:
    """AVR: a generated sound, and pictures of made things."""
    return _pictures_wanted(rng, _made(world), answer)


def recordings_wanted(rng: np.random.Generator, world: World, answer: str) -> Drawn:
    """VAR: a photograph, and recordings."""
    return _sounds_wanted(rng, _real(world), answer)


def photographs_wanted(rng: np.random.Generator, world: World, answer: str) -> Drawn:
    """AVR: a recording, and photographs."""
    return _pictures_wanted(rng, _real(world), answer)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Picture:
    """A coded picture, and what it was made of: a plan, or names of photographs."""

    file: tuple[str, bytes]
    made_of: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pairs:
    """Labels with pictures and sounds, and what else the question says."""

    labels: tuple[str, ...]
    sounds: SoundSet
    picture: Callable[[np.random.Generator, Sequence[str]], _Picture]  # of one to three of the labels
    legend: str = ""


def _made(world: World) -> _Pairs:
    return _Pairs(labels=world.things, sounds=world.voices, picture=partial(_drawn, world), legend=f" {world.legend}")


def _real(world: World) -> _Pairs:
    material = world.material
    return _Pairs(labels=material.paired, sounds=material.sounds, picture=partial(_photographs, world))


def _sounds_wanted(rng: np.random.Generator, pairs: _Pairs, answer: str) -> Drawn:
    labels, fitting = _candidates(rng, pairs.labels, answer)
    picture = pairs.picture(rng, [labels[at] for at in fitting])
    tracks = [track(rng, sound_of(rng, pairs.sounds, label), [(0.0, _ALONE_S)]) for label in labels]
    return Drawn(
        text=_PICTURE_ASKS + pairs.legend,
        truth=fitting,
        images=(picture.file,),
        sounds=tuple(played([one], pairs.sounds, seconds=_ALONE_S) for one in tracks),
        proof={"tracks": codec.to_json(tracks), "pictures": [picture.made_of]},
    )


def _pictures_wanted(rng: np.random.Generator, pairs: _Pairs, answer: str) -> Drawn:
    labels, fitting = _candidates(rng, pairs.labels, answer)
    tracks: list[SoundTrack] = []
    for place, at in enumerate(rng.permutation(fitting)):  # one after another
        start_s = place * (_TURN_S + _PAUSE_S)
        span = (round(start_s, 3), round(start_s + _TURN_S, 3))
        tracks.append(track(rng, sound_of(rng, pairs.sounds, labels[int(at)]), [span]))
    pictures = [pairs.picture(rng, [label]) for label in labels]
    return Drawn(
        text=_SOUND_ASKS + pairs.legend,
        truth=fitting,
        images=tuple(picture.file for picture in pictures),
        sounds=(played(tracks, pairs.sounds, seconds=len(tracks) * (_TURN_S + _PAUSE_S)),),
        proof={"tracks": codec.to_json(tracks), "pictures": [picture.made_of for picture in pictures]},
    )


def _candidates(rng: np.random.Generator, labels: tuple[str, ...], count: str) -> tuple[list[str], tuple[int, ...]]:
    """Ten different labels in an order of their own, and which of them fit, in their order."""
    chosen = some_of(rng, labels, CANDIDATES)
    if len(chosen) < CANDIDATES:
        raise ValueError(f"{len(chosen)} labels are too few for {CANDIDATES} candidates")
    return chosen, tuple(sorted(int(at) for at in rng.permutation(CANDIDATES)[: int(count)]))


def _drawn(world: World, rng: np.random.Generator, categories: Sequence[str]) -> _Picture:
    looks = [world.look(rng, str(category)) for category in rng.permutation(categories)]
    size = ALONE[0], ALONE[1] * len(looks)
    plan = stage(rng, world, Cast(looks=looks, paths=in_row(rng, looks, size=size)), size=size, seconds=STILL_S)
    return _Picture(file=photographed(plan, world)[1], made_of=plan.as_json())


def _photographs(world: World, rng: np.random.Generator, labels: Sequence[str]) -> _Picture:
    """A photograph as it is; of several labels, one of each side by side."""
    pictures, chosen = world.material.pictures, list[str]()
    paths = []
    for label in rng.permutation(labels):
        chosen.append(one_of(rng, tuple(pictures[str(label)])))
        paths.append(pictures[str(label)][chosen[-1]])
    if len(paths) == 1:
        return _Picture(file=as_it_is(paths[0]), made_of=chosen)
    row = np.concatenate([covering(read_frame(path), size=ALONE) for path in paths], axis=1)
    return _Picture(file=(".jpg", encode_jpeg(row, quality=PICTURE_QUALITY)), made_of=chosen)
