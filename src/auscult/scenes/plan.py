"""Everything chosen about a scene, as JSON: with the same assets the same plan gives the same bytes."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Any, TypeAlias

import numpy as np
from msgspec import Meta

from auscult.cases import fields
from auscult.errors import InputError
from auscult.record import codec
from auscult.record.codec import Word
from auscult.rng import generator, pick
from auscult.scenes.appearance.colours import Light, choose_light
from auscult.scenes.appearance.drawing import Look
from auscult.scenes.geometry import MOST_OBJECTS, Path, SceneLayout
from auscult.scenes.geometry import choose as choose_layout
from auscult.scenes.options import SceneOptions
from auscult.scenes.sound.mix import SoundSource, SoundTrack, TimeSpan, gain_by_distance, pan_by_x
from auscult.scenes.sound.spans import GAP_S, MARGIN_S, choose_spans
from auscult.scenes.splits import MIXTURE, Assets, Shelf, Split

SIDES = (32, 4096)
SECONDS = (3.0, 120.0)
RATES_HZ = (8_000, 96_000)

_Side: TypeAlias = Annotated[int, Meta(ge=SIDES[0], le=SIDES[1])]


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectPlan:
    """One thing of a scene."""

    id: str  # `1`, `2`, ...: its number in the scene and its `fid` on disk
    look: Look  # what it looks like
    track: SoundTrack | None = None  # how it sounds; None for a silent thing


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenePlan:
    """A scene before it is drawn."""

    vid: Word  # name of the scene
    split: Split  # the split it belongs to
    size: tuple[_Side, _Side]  # (height, width) in pixels
    seconds: Annotated[float, Meta(ge=SECONDS[0], le=SECONDS[1])]  # length of the clip
    rate_hz: Annotated[int, Meta(ge=RATES_HZ[0], le=RATES_HZ[1])]  # sample rate of its sound
    background: Word
    unlisted: bool = False  # the background is a photograph, which may show things that are not of the scene
    light: Light
    objects: Annotated[tuple[ObjectPlan, ...], Meta(min_length=1, max_length=MOST_OBJECTS)]
    layout: SceneLayout  # their ways, in the order of `objects`
    elsewhere: Annotated[tuple[SoundTrack, ...], Meta(max_length=64)] = ()  # sounds from outside the picture

    @property
    def key_times_s(self) -> tuple[float, ...]:
        """Times of the key frames: one a second, the first at 0 s; ten of them in ten seconds."""
        return tuple(float(second) for second in range(int(self.seconds)))

    @property
    def tracks(self) -> tuple[SoundTrack, ...]:
        """Everything that sounds."""
        return (*(planned.track for planned in self.objects if planned.track is not None), *self.elsewhere)

    def as_json(self) -> dict[str, Any]:
        """The plan as JSON values."""
        value: dict[str, Any] = codec.to_json(self)
        return value

    @classmethod
    def from_json(cls, row: object) -> ScenePlan:
        """Read the JSON values of a plan, whose parts must fit together."""
        plan = codec.from_json(cls, row, error=InputError, hint="correct the line", exact=True)
        if not re.fullmatch(r"[A-Za-z0-9-]{1,100}", plan.vid):
            raise fields.wrong("vid", plan.vid, "a name of letters, digits and hyphens")
        if len(plan.objects) != len(plan.layout.paths):
            raise InputError(
                f"the scene has {len(plan.objects)} objects and {len(plan.layout.paths)} paths",
                expected="one path an object",
                hint="correct the line",
            )
        for number, planned in enumerate(plan.objects, 1):
            if planned.id != str(number):
                raise fields.wrong("id", planned.id, f"{str(number)!r}: things are numbered from 1")
        for track in plan.tracks:
            _check_track(track, until_s=plan.seconds)
        return plan


def _check_track(track: SoundTrack, *, until_s: float) -> None:
    """Insist on times and spans that rise, are as many as they should be, and end with the clip."""
    times = track.times_s
    rising = all(later > earlier for earlier, later in pairwise(times))
    if not times or not rising or times[-1] > until_s or not len(times) == len(track.gain_db) == len(track.pan):
        raise InputError(
            f"a track has {len(times)} times, {len(track.gain_db)} levels and {len(track.pan)} places",
            expected=f"as many of each, at rising times up to {until_s:g} s",
            hint="correct the line",
        )
    check_spans(track.spans, until_s=until_s)


def check_spans(spans: Sequence[TimeSpan], *, until_s: float) -> None:
    """Refuse spans that are none, empty, out of order, overlap, or end after ``until_s``, with an InputError."""
    in_order = all(later[0] >= earlier[1] for earlier, later in pairwise(spans))
    if not spans or not in_order or not all(start < end <= until_s for start, end in spans):
        raise InputError(
            "'spans' is empty, or holds spans that are empty, overlap, are out of order or end after the clip",
            expected=f"[start, end] in seconds, start < end, one after the other, up to {until_s:g} s",
            hint="correct the line; a silent thing has no voice and no track",
        )


_TWINS = 0.55  # chance that two things have category and, where it can be had, colour in common
_TRIPLETS = 0.15  # chance that a third one is like them
_SAME_INSTANCE = 0.3
_COLOUR_TRIES = 40
_UNSEEN_SHARE = 0.5  # of the further things of a test_u scene
_SOUNDS = 0.65  # chance that a thing sounds
_SOUNDS_OWN = 0.85  # the same where only some things have a sound at all
_LABEL_AGAIN = 0.2  # chance that a voice is of a kind that is already in the scene
_ELSEWHERE = (0.55, 0.35, 0.10)  # chances of 0, 1 and 2 sounds from outside the picture
_OWN_LOUDNESS_DB = 14.0  # things differ in loudness by up to this, so that the nearest is not always the loudest
_STEP_S = 0.25  # between two points of a moving thing's level and place


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stock:
    assets: Assets
    shelf: Shelf


def choose_split(seed: int, index: int, *, wanted: Sequence[Split]) -> Split:
    """Draw the split of a scene: the only one wanted, or by the mixture."""
    if len(wanted) == 1:
        return wanted[0]
    weights = np.cumsum([MIXTURE[split] for split in wanted])
    draw = generator(seed, "scene", index, "split").random() * weights[-1]
    return wanted[int(np.searchsorted(weights, draw, side="right"))]


def numbered_id(seed: int, index: int) -> str:
    """The id of a scene or mixture by its number."""
    return f"s{seed}-{index:05d}"


def choose(
    seed: int, index: int, *, assets: Assets, shelves: Mapping[Split, Shelf], options: SceneOptions
) -> ScenePlan:
    """Draw scene ``index`` from what its split may use; ``index`` and ``seed`` determine every draw."""
    split = choose_split(seed, index, wanted=tuple(shelves))
    shelf = shelves[split]
    stock = _Stock(assets=assets, shelf=shelf)
    looks = _looks(generator(seed, "scene", index, "looks"), stock, objects=options.objects)
    height, width = options.size
    layout = choose_layout(
        generator(seed, "scene", index, "layout"),
        [look.aspect for look in looks],
        duration_s=options.seconds,
        frame_aspect=width / height,
    )
    rng = generator(seed, "scene", index, "surroundings")
    voices, elsewhere = _voices(generator(seed, "scene", index, "voices"), stock, looks)
    # as many voices as have room one after another, which ``choose_spans`` asks for
    fitting = int((options.seconds - MARGIN_S) / (MARGIN_S + GAP_S))
    voices, elsewhere = dict(list(voices.items())[:fitting]), elsewhere[: max(0, fitting - len(voices))]
    rng_spans = generator(seed, "scene", index, "spans")
    spans = choose_spans(rng_spans, len(voices) + len(elsewhere), duration_s=options.seconds)
    inside = dict(zip(voices, spans, strict=False))
    background = _background(rng, stock, {look.category for look in looks})
    return ScenePlan(
        vid=numbered_id(seed, index),
        split=split,
        size=options.size,
        seconds=options.seconds,
        rate_hz=options.rate_hz,
        background=background,
        unlisted=assets.looks.held(background) is not None,
        light=choose_light(rng),
        objects=tuple(
            ObjectPlan(
                id=str(number + 1),
                look=look,
                track=_track(rng_spans, voices[number], spans=inside[number], path=layout.paths[number])
                if number in voices
                else None,
            )
            for number, look in enumerate(looks)
        ),
        layout=layout,
        elsewhere=tuple(
            _far_track(rng_spans, source, when) for source, when in zip(elsewhere, spans[len(voices) :], strict=True)
        ),
    )


def _background(rng: np.random.Generator, stock: _Stock, categories: Collection[str]) -> str:
    """A background that is not known to show a category of the scene."""
    looks, names = stock.assets.looks, {category.lower() for category in categories}
    free = [name for name in stock.shelf.backgrounds if not names & (looks.held(name) or frozenset())]
    if not free:
        raise InputError(
            f"every background of this split is known to show one of: {', '.join(sorted(categories))}",
            expected="a background without them",
            hint="add photographs to backgrounds/, or correct backgrounds/names.csv",
        )
    return pick(rng, free)


def _looks(rng: np.random.Generator, stock: _Stock, *, objects: tuple[int, int]) -> list[Look]:
    """Draw the things: often two alike, the others of other categories as long as there are some."""
    assets, shelf = stock.assets.looks, stock.shelf
    count = int(rng.integers(objects[0], objects[1] + 1))
    first = pick(rng, shelf.targets)
    look = assets.look(rng, first, instance=pick(rng, shelf.categories[first]))
    looks = [look]
    if count > 1 and rng.random() < _TWINS:
        looks.append(_like(rng, stock, look))
        if count > 2 and rng.random() < _TRIPLETS:
            looks.append(_like(rng, stock, look))
    used = {first}
    while len(looks) < count:
        category = _another(rng, shelf, used)
        used.add(category)
        looks.append(assets.look(rng, category, instance=pick(rng, shelf.categories[category])))
    return [looks[int(index)] for index in rng.permutation(count)]


def _another(rng: np.random.Generator, shelf: Shelf, used: set[str]) -> str:
    """A category for one more thing; of a scene of unseen targets, each further thing is unseen half the time."""
    names = shelf.targets if rng.random() < _UNSEEN_SHARE else tuple(shelf.categories)
    fresh = [name for name in names if name not in used] or [name for name in shelf.categories if name not in used]
    return pick(rng, fresh or tuple(shelf.categories))


def _like(rng: np.random.Generator, stock: _Stock, look: Look) -> Look:
    """Another thing of the same category and, where some draw has it, the same colour."""
    assets, shelf = stock.assets.looks, stock.shelf
    others = tuple(name for name in shelf.categories[look.category] if name != look.instance)
    same = not others or rng.random() < _SAME_INSTANCE
    instance = look.instance if same else pick(rng, others)
    other = assets.look(rng, look.category, instance=instance)
    for _ in range(_COLOUR_TRIES):
        if other.colour == look.colour:
            break
        other = assets.look(rng, look.category, instance=instance)
    return other


def _voices(
    rng: np.random.Generator, stock: _Stock, looks: Sequence[Look]
) -> tuple[dict[int, SoundSource], tuple[SoundSource, ...]]:
    """Draw who sounds and how: number of the thing to its source, and sources from outside the picture."""
    assets, shelf = stock.assets, stock.shelf
    own_voices = assets.own_voices
    able = [number for number, look in enumerate(looks) if not own_voices or look.category in shelf.sounds]
    able = able if shelf.sounds else []
    chosen = [number for number in able if rng.random() < (_SOUNDS_OWN if own_voices else _SOUNDS)]
    if not chosen and able and rng.random() < 0.9:
        chosen = [pick(rng, able)]
    labels: list[str] = []
    for number in chosen:
        repeat = bool(labels) and rng.random() < _LABEL_AGAIN
        fresh = [name for name in shelf.sounds if name not in labels] or list(shelf.sounds)
        labels.append(looks[number].category if own_voices else pick(rng, labels) if repeat else pick(rng, fresh))
    barred = {*labels, *(look.category for look in looks)}
    outside = [name for name in shelf.sounds if name not in barred]
    count = int(np.searchsorted(np.cumsum(_ELSEWHERE), rng.random(), side="right"))
    labels += [outside[int(index)] for index in rng.permutation(len(outside))[: min(count, 2)]]
    sources = [assets.sounds.source(rng, name, instance=pick(rng, shelf.sounds[name])) for name in labels]
    return dict(zip(chosen, sources, strict=False)), tuple(sources[len(chosen) :])


def _track(rng: np.random.Generator, source: SoundSource, *, spans: tuple[TimeSpan, ...], path: Path) -> SoundTrack:
    """A thing's track: level by distance, place by x, sampled along its way."""
    own_db = float(rng.uniform(-_OWN_LOUDNESS_DB, 0.0))
    steps = 1 if path.motion == "still" else int(path.duration_s / _STEP_S) + 1
    times = tuple(step * _STEP_S for step in range(steps))
    return SoundTrack(
        source=source,
        spans=spans,
        gain_db=tuple(round(own_db + gain_by_distance(path.distance(time)), 2) for time in times),
        pan=tuple(round(pan_by_x(path.pose(time).x), 3) for time in times),
        times_s=times,
    )


def _far_track(rng: np.random.Generator, source: SoundSource, spans: tuple[TimeSpan, ...]) -> SoundTrack:
    """A track from outside the picture: it stays where it is."""
    return SoundTrack(
        source=source,
        spans=spans,
        gain_db=(round(float(rng.uniform(-_OWN_LOUDNESS_DB - 4.0, -3.0)), 2),),
        pan=(round(float(rng.uniform(-1.0, 1.0)), 3),),
        times_s=(0.0,),
    )
