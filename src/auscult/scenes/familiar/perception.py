"""Samples of AMIC, VMIC, AVL and AVM."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np

from auscult.arrays.boxes import box_of
from auscult.cases.avibench import NOT_SURE, YES_NO, AviBoxes
from auscult.media.frames import read_frame
from auscult.record import codec
from auscult.rng import pick
from auscult.scenes.appearance.drawing import Look
from auscult.scenes.draw import RenderedScene
from auscult.scenes.familiar.base import Drawn, World, some_of, sound_of
from auscult.scenes.familiar.staging import PICTURE as PICTURE_SIZE
from auscult.scenes.familiar.staging import (
    SECONDS,
    STILL_S,
    VIDEO,
    Cast,
    about_video,
    in_cells,
    in_columns,
    photographed,
    played,
    stage,
    track,
)
from auscult.scenes.plan import ScenePlan
from auscult.scenes.primitives.sounds import spread_s
from auscult.scenes.sound.mix import SoundSet, SoundSource, SoundTrack
from auscult.types import Mask

HEARD_S: Final = 10.0
"""Length of the recordings of AMIC."""
MOST_HEARD: Final = 4
MOST_TIMES: Final = 5

_APART_S: Final = 0.45
_EVENT_S: Final = (0.5, 0.9)
_LONG_EVENT_S: Final = (0.8, 1.2)
_EDGE_S: Final = 0.2
_LOCATED_S: Final = 6.0
_LONGEST_S: Final = 3.0
_MOST_SEEN: Final = 9

_HEARD: Final = "How many times is each class heard? What sounds without a break is heard once."
_SEEN: Final = "How many of each class are there?"
_LOCATED: Final = "Give a box for each one of every class that is heard, for all of them where several are alike."
MATCHES: Final = "Does all that is heard come from things that are shown? If nothing is heard, it cannot be told."


def made_sounds(rng: np.random.Generator, world: World, _: str) -> Drawn:
    """Some kinds of generated sounds, each some times."""
    return _counted_sounds(rng, world.sounds, tuple(world.sounds.instances()), event_s=_EVENT_S)


def recordings(rng: np.random.Generator, world: World, _: str) -> Drawn:
    """Recordings of some labels, each some times."""
    return _counted_sounds(rng, world.material.sounds, world.material.labels, event_s=_LONG_EVENT_S)


def _counted_sounds(
    rng: np.random.Generator, sounds: SoundSet, labels: tuple[str, ...], *, event_s: tuple[float, float]
) -> Drawn:
    chosen = some_of(rng, labels, int(rng.integers(1, MOST_HEARD + 1)))
    counts = {label: int(rng.integers(1, MOST_TIMES + 1)) for label in chosen}
    tracks = []
    for label, count in counts.items():
        long_s = float(rng.uniform(*event_s))
        starts_s = spread_s(rng, count, least_s=long_s + _APART_S, within=(_EDGE_S, HEARD_S - _EDGE_S - long_s))
        spans = [(round(start_s, 3), round(start_s + long_s, 3)) for start_s in starts_s]
        tracks.append(track(rng, sound_of(rng, sounds, label), spans))
    return Drawn(
        text=_HEARD,
        truth=counts,
        options=labels,
        sounds=(played(tracks, sounds, seconds=HEARD_S),),
        proof={"tracks": codec.to_json(tracks)},
    )


def made_picture(rng: np.random.Generator, world: World, _: str) -> Drawn:
    """Some of some categories."""
    names = tuple(world.looks.instances())
    looks = _several(rng, world, some_of(rng, names, int(rng.integers(1, 5))), most=4)
    plan = stage(rng, world, Cast(looks=looks, paths=in_cells(rng, looks)), size=PICTURE_SIZE, seconds=STILL_S)
    picture = photographed(plan, world)[1]
    categories = [look.category for look in looks]
    return Drawn(
        text=_SEEN,
        truth={name: categories.count(name) for name in dict.fromkeys(categories)},
        options=names,
        images=(picture,),
        proof={"plan": plan.as_json()},
    )


def photograph(_: np.random.Generator, world: World, answer: str) -> Drawn:
    """The photograph of a number."""
    material = world.material
    picture = material.photographs[int(answer)]
    return Drawn(
        text=_SEEN,
        truth={name: len(boxes) for name, boxes in picture.boxes.items()},
        options=material.classes,
        images=(as_it_is(picture.path),),
    )


def made_located(rng: np.random.Generator, world: World, _: str) -> Drawn:
    """Some things of which some are heard, and perhaps one that is not shown."""
    heard = some_of(rng, world.things, int(rng.integers(1, 4)))
    silent = some_of(rng, world.things, int(rng.integers(1, 4)), but=frozenset(heard))
    unseen = some_of(rng, world.things, int(rng.integers(2)), but=frozenset((*heard, *silent)))
    looks = _several(rng, world, [*heard, *silent], most=2)
    looks = [looks[int(index)] for index in rng.permutation(len(looks))]
    plan = stage(rng, world, Cast(looks=looks, paths=in_cells(rng, looks)), size=PICTURE_SIZE, seconds=STILL_S)
    shot, picture = photographed(plan, world)
    tracks = heard_once(rng, [world.voice(rng, name) for name in (*heard, *unseen)], seconds=_LOCATED_S)
    return Drawn(
        text=f"{_LOCATED} {world.legend}",
        truth=_true_boxes(looks, shot, heard),
        options=world.things,
        images=(picture,),
        sounds=(played(tracks, world.voices, seconds=_LOCATED_S),),
        proof={"plan": plan.as_json(), "tracks": codec.to_json(tracks)},
    )


def sounding_photograph(rng: np.random.Generator, world: World, answer: str) -> Drawn:
    """The photograph of a number and a recording of what it shows, perhaps with one of what it does not show."""
    sounds, picture = world.material.sounds, world.material.sounding[int(answer)]
    heard = pick(rng, tuple(name for name in picture.boxes if name in sounds.files))
    classes = tuple(name for name in world.material.classes if name in sounds.files)
    unseen = some_of(rng, classes, int(rng.integers(2)), but=picture.shown)
    tracks = heard_once(rng, [sound_of(rng, sounds, name) for name in (heard, *unseen)], seconds=_LOCATED_S)
    boxes = {f"{heard}_{number}": box for number, box in enumerate(picture.boxes[heard], start=1)}
    return Drawn(
        text=_LOCATED,
        truth=AviBoxes(size=picture.size, boxes=boxes),
        options=classes,
        images=(as_it_is(picture.path),),
        sounds=(played(tracks, sounds, seconds=_LOCATED_S),),
        proof={"tracks": codec.to_json(tracks)},
    )


def matching(rng: np.random.Generator, world: World, answer: str) -> Drawn:
    """A video with the sounds of things that it shows, with those of others, or silent."""
    shown = some_of(rng, world.things, int(rng.integers(2, 4)))
    count = int(rng.integers(1, 3))
    others = some_of(rng, world.things, count, but=frozenset(shown))
    heard = {"yes": shown[:count], "no": others, NOT_SURE: []}[answer]
    plan = shown_and_heard(rng, world, shown=shown, heard=heard)
    return about_video(plan, world, text=f"{MATCHES} {world.legend}", truth=answer, options=YES_NO)


def shown_and_heard(rng: np.random.Generator, world: World, *, shown: Sequence[str], heard: Sequence[str]) -> ScenePlan:
    """A video of some things in any order, with sounds that come from none of the places."""
    looks = [world.look(rng, shown[int(index)]) for index in rng.permutation(len(shown))]
    tracks = heard_once(rng, [world.voice(rng, name) for name in heard], seconds=SECONDS)
    cast = Cast(looks=looks, paths=in_columns(rng, looks), elsewhere=tracks)
    return stage(rng, world, cast, size=VIDEO, seconds=SECONDS)


def heard_once(rng: np.random.Generator, sources: Sequence[SoundSource], *, seconds: float) -> list[SoundTrack]:
    """Each source once, one and a half to three seconds long, at any time."""
    tracks = []
    for source in sources:
        long_s = float(rng.uniform(_LONGEST_S / 2, _LONGEST_S))
        start_s = float(rng.uniform(_EDGE_S, seconds - _EDGE_S - long_s))
        tracks.append(track(rng, source, [(round(start_s, 3), round(start_s + long_s, 3))]))
    return tracks


def _several(rng: np.random.Generator, world: World, categories: Sequence[str], *, most: int) -> list[Look]:
    """Things of each category, one to so many, at most nine in all."""
    left, looks = _MOST_SEEN - len(categories), list[Look]()
    for category in categories:
        extra = int(rng.integers(0, min(most - 1, left) + 1))
        left -= extra
        looks += [world.look(rng, category) for _ in range(1 + extra)]
    return looks


def _true_boxes(looks: Sequence[Look], shot: RenderedScene, heard: Sequence[str]) -> AviBoxes:
    """The boxes of everything of the classes that are heard, each class from left to right."""
    by_class: dict[str, list[tuple[int, int, int, int]]] = {name: [] for name in heard}
    for look, mask in zip(looks, shot.visible, strict=True):
        if look.category in by_class:
            by_class[look.category].append(xywh(mask))
    boxes = {f"{name}_{n}": box for name, several in by_class.items() for n, box in enumerate(sorted(several), start=1)}
    return AviBoxes(size=shot.frame.shape[1::-1], boxes=boxes)


def xywh(mask: Mask) -> tuple[int, int, int, int]:
    """Left, top, width and height of what a mask shows, in pixels."""
    box = box_of(mask)
    if box is None:
        raise ValueError("the mask shows nothing")
    return box[0], box[1], box[2] - box[0], box[3] - box[1]


def as_it_is(photograph: Path) -> tuple[str, bytes]:
    """A photograph to the byte: some may be passed on unchanged only. One that cannot be read is an InputError."""
    read_frame(photograph)
    return photograph.suffix.lower(), photograph.read_bytes()
