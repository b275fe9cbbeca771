"""Samples of VAR, where a picture asks and sounds are candidates, and of AVR, the reverse.

One to three of ten candidates fit, each of another kind. With one alone there would be ten answers, and of a hundred
right ones nine in ten would repeat another, which the score takes for guessing (Eqs. 32-34).

Samples of AVC: a scene's video and captions of it, every clause of which is proven true of the scene.

A caption says of each thing, in an order of its own, what it looks like and what it does, in words of the grammar of
referring expressions, and what is heard from elsewhere. A clause is kept with its logical form, of which ``prove``
asks the proof.

Samples of AVM, AVH, VAH and AVQA from a user's photographs and recordings, put together as those of VAR and AVR are,
and of AVLG from clips and recordings.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np

from auscult.cases.avibench import NOT_SURE, YES_NO
from auscult.errors import AuscultError
from auscult.language.forms import SOUNDS, Facts, Form, SceneObject, both, no, places
from auscult.language.lexicon import indefinite
from auscult.language.proof import Proof
from auscult.language.words import sound_name, ways
from auscult.media.frames import decode_frame, encode_jpeg, read_frame
from auscult.media.masks import read_mask
from auscult.record import codec
from auscult.rng import pick
from auscult.scenes.appearance.folder import covering
from auscult.scenes.draw import Stage, hear
from auscult.scenes.facts import facts_of, targets_of
from auscult.scenes.familiar.base import FPS, PICTURE_QUALITY, RATE_HZ, Drawn, World, some_of, sound_of
from auscult.scenes.familiar.perception import MATCHES, as_it_is, heard_once
from auscult.scenes.familiar.reasoning import (
    HOW_MANY,
    NUMBERS,
    SIDES,
    WHERE_FIRST,
    ask_heard,
    ask_seen,
    boxes_of,
    clear_scene,
    even,
)
from auscult.scenes.familiar.staging import (
    ALONE,
    SECONDS,
    STILL_S,
    VIDEO,
    Cast,
    filmed,
    in_row,
    photographed,
    played,
    stage,
    track,
)
from auscult.scenes.options import SceneOptions
from auscult.scenes.sound.mix import SoundSet, SoundTrack
from auscult.types import Frame, Mask, MaskRef

REFERENCES: Final = 4
"""Captions of a clip; all different."""

_SCENES: Final = SceneOptions(size=VIDEO, seconds=SECONDS, rate_hz=RATE_HZ, objects=(2, 3))
_ASKED: Final = "Describe the video with its sound."
_TRIES: Final = 60
_JOINTS: Final = (", while ", ", and ")


@dataclass(frozen=True, slots=True, kw_only=True)
class Clause:
    """A part of a caption."""

    text: str  # its words
    form: Form | None  # what it says of a thing; None of a sound from elsewhere
    thing: str  # the id of the thing, or the noun of the sound from elsewhere


@dataclass(frozen=True, slots=True, kw_only=True)
class Caption:
    """A sentence with the clauses that it is made of."""

    text: str
    clauses: tuple[Clause, ...]


def captioned(rng: np.random.Generator, world: World, _: str) -> Drawn:
    """A scene of two or three things that can all be seen well, with some captions."""
    for _try in range(_TRIES):
        plan = clear_scene(rng, world, _SCENES)
        shots, mix = Stage(plan, world.looks).key_shots(), hear(plan, world.voices)
        if len(targets_of(plan, shots)) < len(plan.objects):
            continue
        facts = facts_of(plan, shots, gain_db=mix.gain_db)
        captions = captions_of(rng, facts, count=REFERENCES)
        if len(captions) == REFERENCES:
            return Drawn(
                text=_ASKED,
                truth=tuple(caption.text for caption in captions),
                sounds=(mix.samples,),
                frames=filmed(plan, world),
                proof={"plan": plan.as_json(), "facts": codec.to_json(facts), "captions": codec.to_json(captions)},
            )
    raise ValueError(f"no scene allows {REFERENCES} captions")


def captions_of(rng: np.random.Generator, facts: Facts, *, count: int) -> tuple[Caption, ...]:
    """So many captions of different texts, each proven; fewer where the scene allows no more."""
    captions: dict[str, Caption] = {}
    for _ in range(_TRIES):
        if len(captions) == count:
            break
        caption = _caption(rng, facts)
        prove(caption, facts)
        captions.setdefault(caption.text, caption)
    return tuple(captions.values())


def prove(caption: Caption, facts: Facts) -> None:
    """Prove every clause of a caption; an AuscultError where one is not true beyond doubt."""
    proof, ids = Proof(facts), [thing.id for thing in facts.things]
    elsewhere = {voice.noun for voice in facts.elsewhere}
    for clause in caption.clauses:
        if clause.form is None:
            holds = clause.thing in elsewhere
        else:
            holds = proof.values(clause.form)[ids.index(clause.thing)] is True
        if not holds:
            raise AuscultError(
                f"the proof of {clause.text!r} fails",
                expected="a clause that is true of the scene",
                hint="this is a fault of auscult, not of the input: please report it",
            )


def _caption(rng: np.random.Generator, facts: Facts) -> Caption:
    proof = Proof(facts)
    clauses = [_clause(rng, proof, facts.things[int(index)]) for index in rng.permutation(len(facts.things))]
    clauses += [
        Clause(text=f"{_the(rng)} {sound_name(voice.noun)} comes from out of the picture", form=None, thing=voice.noun)
        for voice in facts.elsewhere
    ]
    text = clauses[0].text
    for clause in clauses[1:]:
        text += pick(rng, _JOINTS) + clause.text
    return Caption(text=f"{text[0].upper()}{text[1:]}.", clauses=tuple(clauses))


def _the(rng: np.random.Generator) -> str:
    return "a" if rng.random() < 0.5 else "the"


def _clause(rng: np.random.Generator, proof: Proof, thing: SceneObject) -> Clause:
    """What one thing looks like and does; what it sounds like is always said, its motion mostly."""
    looks: list[Form] = [{"op": "category", "word": thing.category}]
    words = [thing.category]
    for name, word in (("texture", thing.texture), ("colour", thing.colour)):
        if word is not None and word != "plain" and rng.random() < 0.75:
            looks.append({"op": name, "word": word})
            words.insert(0, word)
    does = _motion(rng, proof, thing)
    if thing.voice is not None:
        does.append({"op": "voice", "noun": thing.voice.noun, "verb": thing.voice.verb})
    elif not does or rng.random() < 0.3:
        does.append(no(SOUNDS))
    predicate = " and ".join(_wording(rng, form) for form in does)
    return Clause(text=f"{indefinite(' '.join(words))} {predicate}", form=both(*looks, *does), thing=thing.id)


def _motion(rng: np.random.Generator, proof: Proof, thing: SceneObject) -> list[Form]:
    """How a thing moves, else perhaps where it is, as far as that can be said."""
    if thing.motion is not None and rng.random() < 0.8:
        return [{"op": "motion", "word": thing.motion}]
    index = [other.id for other in proof.facts.things].index(thing.id)
    clear = [form for form in places() if proof.values(form)[index] is True]
    return [pick(rng, clear)] if clear and rng.random() < 0.5 else []


def _wording(rng: np.random.Generator, form: Form) -> str:
    """One way to say a predicate of one thing, as a clause."""
    clauses = [phrase.text for phrase in ways(form) if phrase.slot == "that" and "{to}" not in phrase.text]
    return pick(rng, clauses)


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
    return _sounds_wanted(rng, _generated(world), answer)


def made_pictures_wanted(rng: np.random.Generator, world: World, answer: str) -> Drawn:
    """AVR: a generated sound, and pictures of made things."""
    return _pictures_wanted(rng, _generated(world), answer)


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


def _generated(world: World) -> _Pairs:
    return _Pairs(labels=world.things, sounds=world.voices, picture=partial(_scene, world), legend=f" {world.legend}")


def _real(world: World) -> _Pairs:
    material = world.material
    return _Pairs(labels=material.paired, sounds=material.sounds, picture=partial(_photographs, world))


def _sounds_wanted(rng: np.random.Generator, pairs: _Pairs, answer: str) -> Drawn:
    labels, fitting = _candidates(rng, pairs.labels, answer)
    picture = pairs.picture(rng, [labels[index] for index in fitting])
    tracks = [track(rng, sound_of(rng, pairs.sounds, label), [(0.0, _ALONE_S)]) for label in labels]
    return Drawn(
        text=_PICTURE_ASKS + pairs.legend,
        truth=fitting,
        images=(picture.file,),
        sounds=tuple(played([sound], pairs.sounds, seconds=_ALONE_S) for sound in tracks),
        proof={"tracks": codec.to_json(tracks), "pictures": [picture.made_of]},
    )


def _pictures_wanted(rng: np.random.Generator, pairs: _Pairs, answer: str) -> Drawn:
    labels, fitting = _candidates(rng, pairs.labels, answer)
    tracks = _in_turn(rng, pairs.sounds, [labels[int(index)] for index in rng.permutation(fitting)])
    pictures = [pairs.picture(rng, [label]) for label in labels]
    return Drawn(
        text=_SOUND_ASKS + pairs.legend,
        truth=fitting,
        images=tuple(picture.file for picture in pictures),
        sounds=(played(tracks, pairs.sounds, seconds=len(tracks) * (_TURN_S + _PAUSE_S)),),
        proof={"tracks": codec.to_json(tracks), "pictures": [picture.made_of for picture in pictures]},
    )


def _in_turn(rng: np.random.Generator, sounds: SoundSet, labels: Sequence[str]) -> list[SoundTrack]:
    """A sound of each label, one after another."""
    tracks = []
    for place, label in enumerate(labels):
        start_s = place * (_TURN_S + _PAUSE_S)
        span = (round(start_s, 3), round(start_s + _TURN_S, 3))
        tracks.append(track(rng, sound_of(rng, sounds, label), [span]))
    return tracks


def _candidates(rng: np.random.Generator, labels: tuple[str, ...], count: str) -> tuple[list[str], tuple[int, ...]]:
    """Ten different labels in an order of their own, and which of them fit, in their order."""
    chosen = some_of(rng, labels, CANDIDATES)
    if len(chosen) < CANDIDATES:
        raise ValueError(f"{len(chosen)} labels are too few for {CANDIDATES} candidates")
    return chosen, tuple(sorted(int(index) for index in rng.permutation(CANDIDATES)[: int(count)]))


def _scene(world: World, rng: np.random.Generator, categories: Sequence[str]) -> _Picture:
    looks = [world.look(rng, str(category)) for category in rng.permutation(categories)]
    size = ALONE[0], ALONE[1] * len(looks)
    plan = stage(rng, world, Cast(looks=looks, paths=in_row(rng, looks, size=size)), size=size, seconds=STILL_S)
    return _Picture(file=photographed(plan, world)[1], made_of=plan.as_json())


def _photographs(world: World, rng: np.random.Generator, labels: Sequence[str]) -> _Picture:
    """A photograph as it is; of several labels, one of each side by side, in any order."""
    return _side_by_side(world, rng, [str(label) for label in rng.permutation(labels)])


def _side_by_side(world: World, rng: np.random.Generator, labels: Sequence[str]) -> _Picture:
    pictures, chosen = world.material.pictures, list[str]()
    paths = []
    for label in labels:
        chosen.append(pick(rng, tuple(pictures[label])))
        paths.append(pictures[label][chosen[-1]])
    if len(paths) == 1:
        return _Picture(file=as_it_is(paths[0]), made_of=chosen)
    row = np.concatenate([covering(read_frame(path), size=ALONE) for path in paths], axis=1)
    return _Picture(file=(".jpg", encode_jpeg(row, quality=PICTURE_QUALITY)), made_of=chosen)


# --- AVM, AVH, VAH and AVQA of the user's material: photographs that stand still, and recordings ---


def photographs_matching(rng: np.random.Generator, world: World, answer: str) -> Drawn:
    """AVM: photographs with recordings of what they show, with those of other things, or silent."""
    labels, count = some_of(rng, world.material.paired, 5), int(rng.integers(1, 3))
    shown = labels[: int(rng.integers(2, 4))]
    heard = {"yes": shown[:count], "no": labels[3 : 3 + count], NOT_SURE: []}[answer]
    return _still(rng, world, text=MATCHES, truth=answer, shown=shown, heard=heard)


def photographed_or_suggested(rng: np.random.Generator, world: World, answer: str) -> Drawn:
    """AVH: whether a thing is on a photograph, of which a recording is heard in half of the samples."""
    asked, *others = some_of(rng, world.material.paired, 6)
    shown = [*others[:2], asked if answer == "yes" else others[2]]
    heard = [others[3], asked if rng.random() < 0.5 else others[4]]
    sample = _still(rng, world, text=ask_seen(asked), truth=answer, shown=shown, heard=heard, asked=asked)
    return replace(sample, frames=even(rng)) if answer == NOT_SURE else sample


def recorded_or_suggested(rng: np.random.Generator, world: World, answer: str) -> Drawn:
    """VAH: whether a recording of a thing is heard, of which a photograph is seen in half of the samples."""
    asked, *others = some_of(rng, world.material.paired, 6)
    shown = [*others[:2], asked if rng.random() < 0.5 else others[2]]
    heard = {"yes": [others[3], asked], "no": others[3:5], NOT_SURE: []}[answer]
    return _still(rng, world, text=ask_heard(asked), truth=answer, shown=shown, heard=heard, asked=asked)


def _still(
    rng: np.random.Generator, world: World, *, text: str, truth: str, shown: Sequence[str], heard: Sequence[str],
    asked: str = "",
) -> Drawn:  # fmt: skip
    picture = _photographs(world, rng, shown)
    tracks = heard_once(rng, [sound_of(rng, world.material.sounds, label) for label in heard], seconds=SECONDS)
    return _about_still(world, picture, tracks, text=text, truth=truth, options=YES_NO, asked=asked)


def _about_still(
    world: World, picture: _Picture, tracks: Sequence[SoundTrack], *, text: str, truth: str, options: tuple[str, ...],
    asked: str = "",
) -> Drawn:  # fmt: skip
    frame = decode_frame(picture.file[1], path=Path("photographs.jpg"))
    return Drawn(
        text=text,
        truth=truth,
        options=options,
        sounds=(played(tracks, world.material.sounds, seconds=SECONDS),),
        frames=(frame,) * round(SECONDS * FPS),
        proof={"tracks": codec.to_json(tracks), "pictures": [picture.made_of], "asked": asked},
    )


# Options are numbers and places, never names of what is heard: one sense alone would tell those.


def how_many_recorded(rng: np.random.Generator, world: World, answer: str) -> Drawn:
    """AVQA: three photographs and three recordings, of which so many are of what is shown."""
    labels, count = some_of(rng, world.material.paired, 6), int(answer)
    heard = [str(label) for label in rng.permutation([*labels[:count], *labels[3 : 6 - count]])]
    picture, tracks = _photographs(world, rng, labels[:3]), _in_turn(rng, world.material.sounds, heard)
    return _about_still(world, picture, tracks, text=HOW_MANY, truth=answer, options=NUMBERS[:4])


def where_first_recorded(rng: np.random.Generator, world: World, answer: str) -> Drawn:
    """AVQA: three photographs and recordings of two or three of them in turn; the one at a place is heard first."""
    shown = some_of(rng, world.material.paired, len(SIDES))
    first = shown[SIDES.index(answer)]
    heard = [first, *some_of(rng, tuple(shown), int(rng.integers(1, 3)), but=frozenset({first}))]
    picture, tracks = _side_by_side(world, rng, shown), _in_turn(rng, world.material.sounds, heard)
    return _about_still(world, picture, tracks, text=WHERE_FIRST, truth=answer, options=SIDES)


# --- AVLG of the user's material ---

CLIPS: Final = 3
"""Labels with clips that a sample draws on: two are shown, and the third may be heard."""
_HEARD: Final = ("above", "below", "not there")
SHOWN_AT: Final = (*_HEARD, *_HEARD[:2])
"""Where the thing that is heard is shown; of five samples one shows it nowhere."""

_FRAMES: Final = 10
_FILMED_S: Final = 10.0
_WHERE_HEARD: Final = (
    "Two clips are shown, one above the other. Where is the thing that is heard? Where several are of its kind, the "
    "largest is meant. Perhaps it is not shown."
)


def heard_in_clips(rng: np.random.Generator, world: World, answer: str) -> Drawn:
    """Frames of two clips, and a recording of what one of them shows, or neither."""
    material, heard = world.material, _HEARD.index(answer)
    labels = some_of(rng, material.filmed, CLIPS)
    shots, made_of = [], []
    for label in labels[:2]:
        number = int(rng.integers(len(material.clips[label])))
        clip = material.clips[label][number]
        first = int(rng.integers(len(clip) - _FRAMES + 1))
        last = int(rng.integers(first + _FRAMES, len(clip) + 1)) - 1
        numbers = np.linspace(first, last, _FRAMES).round().astype(int).tolist()
        shots.append([_shot(*clip[index]) for index in numbers])
        made_of.append([label, number, numbers])
    tracks = heard_once(rng, [sound_of(rng, material.sounds, labels[heard])], seconds=_FILMED_S)
    moments = list(zip(*shots, strict=True))
    frames = [np.concatenate([frame for frame, _ in moment]) for moment in moments]
    masks = [np.concatenate([mask & (index == heard) for index, (_, mask) in enumerate(moment)]) for moment in moments]
    return Drawn(
        text=_WHERE_HEARD,
        truth=boxes_of(masks, size=(len(moments[0]) * VIDEO[0], VIDEO[1])),
        images=tuple((".jpg", encode_jpeg(frame, quality=PICTURE_QUALITY)) for frame in frames),
        sounds=(played(tracks, material.sounds, seconds=_FILMED_S),),
        proof={"tracks": codec.to_json(tracks), "clips": made_of},
    )


def _shot(frame: Path, mask: Path) -> tuple[Frame, Mask]:
    """A frame of a clip and its mask, at the size of a video."""
    picture = read_frame(frame)
    thing = read_mask(MaskRef(path=mask), size=picture.shape[:2]).mask
    cover = covering(np.where(thing, 255, 0).astype(np.uint8), size=VIDEO)
    # Of what is made smaller all that the thing touches, thin parts as well; what is enlarged is blurred at its edge.
    shrunk = thing.shape[0] > VIDEO[0] and thing.shape[1] > VIDEO[1]
    return covering(picture, size=VIDEO), cover > (0 if shrunk else 127)
