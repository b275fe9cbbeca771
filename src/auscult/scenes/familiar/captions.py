"""Samples of AVC: a scene's video and captions of it, every clause of which is proven true of the scene.

A caption says of each thing, in an order of its own, what it looks like and what it does, in words of the grammar of
referring expressions, and what is heard from elsewhere. A clause is kept with its logical form, of which ``prove``
asks the proof.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from auscult.errors import AuscultError
from auscult.language.forms import SOUNDS, Facts, Form, SceneObject, both, no, places
from auscult.language.morphology import indefinite
from auscult.language.proof import Proof
from auscult.language.words import sound_name, ways
from auscult.record import codec
from auscult.scenes.draw import Stage, hear
from auscult.scenes.facts import facts_of, targets_of
from auscult.scenes.familiar.base import RATE_HZ, Drawn, World
from auscult.scenes.familiar.reasoning import clear_scene
from auscult.scenes.familiar.staging import SECONDS, VIDEO, filmed
from auscult.scenes.options import SceneOptions

REFERENCES: Final = 4
"""Captions of a clip; all different."""

_SCENES: Final = SceneOptions(size=VIDEO, seconds=SECONDS, rate_hz=RATE_HZ, objects=(2, 3))
_ASKED: Final = "Describe the video with its sound."
_TRIES: Final = 60
_JOINTS: Final = (", while ", ", and ")


@dataclass(frozen=True, slots=True, kw_only=True)
class Clause:
    """A part of a caption.

    Attributes:
        text: Its words.
        form: What it says of a thing; None of a sound from elsewhere.
        thing: The id of the thing, or the noun of the sound from elsewhere.
    """

    text: str
    form: Form | None
    thing: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Caption:
    """A sentence with the clauses that it is made of."""

    text: str
    clauses: tuple[Clause, ...]


def captioned(rng: np.random.Generator, world: World, _: str) -> Drawn:
    """A scene of two or three things that can all be seen well, with some captions."""
    for _try in range(_TRIES):
        plan = clear_scene(rng, world, _SCENES)
        shots, heard = Stage(plan, world.looks).key_shots(), hear(plan, world.voices)
        if len(targets_of(plan, shots)) < len(plan.objects):
            continue
        facts = facts_of(plan, shots, gain_db=heard.gain_db)
        captions = captions_of(rng, facts, count=REFERENCES)
        if len(captions) == REFERENCES:
            return Drawn(
                text=_ASKED,
                truth=tuple(caption.text for caption in captions),
                sounds=(heard.samples,),
                frames=filmed(plan, world),
                proof={"plan": plan.as_json(), "facts": codec.to_json(facts), "captions": codec.to_json(captions)},
            )
    raise ValueError(f"no scene allows {REFERENCES} captions")


def captions_of(rng: np.random.Generator, facts: Facts, *, count: int) -> tuple[Caption, ...]:
    """So many captions of different texts, each proven; fewer where the scene allows no more."""
    found: dict[str, Caption] = {}
    for _ in range(_TRIES):
        if len(found) == count:
            break
        caption = _caption(rng, facts)
        prove(caption, facts)
        found.setdefault(caption.text, caption)
    return tuple(found.values())


def prove(caption: Caption, facts: Facts) -> None:
    """Prove every clause of a caption; an AuscultError where one is not true beyond doubt."""
    proof, ids = Proof(facts), [thing.id for thing in facts.things]
    away = {voice.noun for voice in facts.elsewhere}
    for clause in caption.clauses:
        if clause.form is None:
            holds = clause.thing in away
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
    clauses = [_clause(rng, proof, facts.things[int(at)]) for at in rng.permutation(len(facts.things))]
    clauses += [
        Clause(text=f"{_the(rng)} {sound_name(voice.noun)} comes from out of the picture", form=None, thing=voice.noun)
        for voice in facts.elsewhere
    ]
    text = clauses[0].text
    for clause in clauses[1:]:
        text += _JOINTS[int(rng.integers(len(_JOINTS)))] + clause.text
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
    said = " and ".join(_said(rng, form) for form in does)
    return Clause(text=f"{indefinite(' '.join(words))} {said}", form=both(*looks, *does), thing=thing.id)


def _motion(rng: np.random.Generator, proof: Proof, thing: SceneObject) -> list[Form]:
    """How a thing moves, else perhaps where it is, as far as that can be said."""
    if thing.motion is not None and rng.random() < 0.8:
        return [{"op": "motion", "word": thing.motion}]
    at = [one.id for one in proof.facts.things].index(thing.id)
    clear = [form for form in places() if proof.values(form)[at] is True]
    return [clear[int(rng.integers(len(clear)))]] if clear and rng.random() < 0.5 else []


def _said(rng: np.random.Generator, form: Form) -> str:
    """One way to say a predicate of one thing, as a clause."""
    clauses = [way.text for way in ways(form) if way.slot == "that" and "{to}" not in way.text]
    return clauses[int(rng.integers(len(clauses)))]


def read_captions(rows: Sequence[Mapping[str, object]]) -> tuple[Caption, ...]:
    """Captions as ``proof`` of a sample holds them, so that they can be proven from the file."""
    return tuple(codec.from_json(Caption, row, error=AuscultError) for row in rows)
