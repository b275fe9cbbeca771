"""Generated scenes as pictures with references: one frame of each, all that is seen on it, and what is said of it.

Everything in a generated scene is known, so that a category that is not on a picture is absent; where the background
is a photograph, ``facts.unlisted`` says that more may be there. Sentences keep their logical forms, pictures their
facts.

A joint item is an expression, a mask and a separated sound, either of them another thing's on purpose.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from auscult.cases.datasets.refavs import FILE, MAX_LINE_BYTES, Clips
from auscult.cases.fields import lines_of, mapping, parse, required
from auscult.cases.problems import Problems
from auscult.cases.references import AnnotatedObject, AnnotatedPicture, Reference, ReferenceListing, Sentence
from auscult.errors import AuscultError, InputError
from auscult.language.forms import Expression, read
from auscult.media.masks import read_mask
from auscult.media.paths import open_regular
from auscult.rng import pick
from auscult.scenes.draw import RenderedScene
from auscult.scenes.facts import TARGET_SHARE, facts_from_json, hidden_sentences
from auscult.scenes.plan import ScenePlan
from auscult.scenes.sound.mix import Mix, SoundSet, mix_down
from auscult.types import JOINT_FAULTS, JointFault, Mask, Samples

LAYOUT = "datasets.scenes.v1"
_LEFT_OUT = "{:,} sentences left out: a silent picture does not tell whom they mean (--kind sound keeps them)"


def scene_references(folder: Path, *, split: str = "", heard: bool = False) -> ReferenceListing:
    """List the scenes of a folder that ``auscult make scenes`` wrote, each at its middle frame.

    Masks are opened, since a target may be out of the picture at that frame; its sentences are then left out. So are,
    unless ``heard``, those that a silent picture cannot tell.
    """
    clips, problems = Clips(folder), Problems()
    pictures: list[AnnotatedPicture] = []
    file, hidden = folder / FILE, 0
    with open_regular(file) as opened:
        for number, content in lines_of(opened, max_bytes=MAX_LINE_BYTES):
            try:
                row: Any = None if content is None else parse(content, path=file, line=number)
                if not isinstance(row, Mapping):
                    raise InputError("the line is no scene", expected="a line that `auscult make scenes` wrote")
                untold = frozenset(() if heard else hidden_sentences(row, still=True, null=True))
                picture = _picture(clips, row, split=split, hidden=untold)
            except AuscultError as error:
                problems.add(error, file, line=number)
                continue
            hidden += len(untold)
            if picture.references:
                pictures.append(picture)
    facts = [picture.facts for picture in pictures if picture.facts is not None]
    names = frozenset(thing.category for scene in facts for thing in scene.things)
    voices = {thing.voice for scene in facts for thing in scene.things} | {
        voice for scene in facts for voice in scene.elsewhere
    }
    return ReferenceListing(
        pictures=lambda: iter(pictures),
        count=sum(len(picture.references) for picture in pictures),
        layout=LAYOUT,
        looked_for=names,
        own=names,
        errors=tuple(problems.found),
        notes=("scenes are taken at their middle frame", *([_LEFT_OUT.format(hidden)] if hidden else ())),
        files=(file,),
        voices=frozenset((voice.noun, voice.verb) for voice in voices if voice is not None),
    )


def _picture(clips: Clips, row: Mapping[str, Any], *, split: str, hidden: frozenset[str]) -> AnnotatedPicture:
    vid, facts = required(row, "id"), facts_from_json(row.get("facts"))
    clip = clips.clip(vid)
    if not clip.frames:
        raise InputError(f"the scene {vid} has no frames", hint="make the scenes again")
    frame = sorted(clip.frames)[len(clip.frames) // 2]
    objects = {}
    for thing in facts.things:
        mask = clip.ref(int(thing.id), frame) if thing.id.isdecimal() else None
        if mask is not None and read_mask(mask).mask.any():
            objects[thing.id] = AnnotatedObject(id=thing.id, category=thing.category, mask=mask)
    references = _references(row, vid=vid, objects=objects, hidden=hidden)
    chosen = tuple(ref for ref in references if split in {"", ref.split})
    things = tuple(
        objects.get(thing.id, AnnotatedObject(id=thing.id, category=thing.category)) for thing in facts.things
    )
    return AnnotatedPicture(id=vid, path=clip.frames[frame], size=None, objects=things, references=chosen, facts=facts)


def _references(
    row: Mapping[str, Any], *, vid: str, objects: Mapping[str, AnnotatedObject], hidden: frozenset[str]
) -> list[Reference]:
    """The targets that are seen, with their sentences, and each null expression by itself."""
    by_target: dict[str, list[Sentence]] = {}
    nulls: list[Reference] = []
    split = str(row.get("split") or "")
    expressions = row.get("expressions")
    for index, expression in enumerate(expressions if isinstance(expressions, list) else ()):
        text, target = required(expression, "text"), expression.get("target")
        if expression.get("uid") in hidden:
            continue
        if target is None:
            null = Sentence(text=text, exists=False, kind="null")
            nulls.append(Reference(id=f"{vid}/null/{index}", target="", sentences=(null,), split=split))
        elif target in objects:
            by_target.setdefault(target, []).append(Sentence(text=text, form=read(mapping(expression, "form"))))
    positive = [
        Reference(id=f"{vid}/{name}", target=name, sentences=tuple(sentences), split=split)
        for name, sentences in by_target.items()
    ]
    return [*positive, *nulls]


LEAK_DB: Final = (-30.0, -12.0)
"""How loud the rest of the mixture is left in a separated sound."""

_SAME_AGAIN: Final = 0.5  # where both are wrong: chance that mask and sound are one other thing's, if it sounds


@dataclass(frozen=True, slots=True, kw_only=True)
class JointSample:
    """What was chosen for one joint item."""

    expression: Expression  # its target is seen and sounds
    shot: int  # number of the key frame
    mask: int  # number of the object whose mask it is, from 0
    track: int  # number of the track of ``ScenePlan.tracks`` that was separated
    leak_db: float  # level of the rest of the mixture in it
    wrong: JointFault


def choose_joint(
    rng: np.random.Generator,
    plan: ScenePlan,
    shots: Sequence[RenderedScene],
    *,
    expressions: Sequence[Expression],
) -> Iterator[JointSample]:
    """Four items of each expression whose target sounds, one a fault; none where scene or frame have no other thing."""
    sounding = [number for number, planned in enumerate(plan.objects) if planned.track is not None]
    for expression in expressions:
        target = None if expression.target is None else int(expression.target) - 1
        if target not in sounding or len(plan.tracks) < 2:
            continue
        visible = [[number for number, mask in enumerate(shot.visible) if _shows(mask)] for shot in shots]
        fit = [index for index, numbers in enumerate(visible) if target in numbers and len(numbers) > 1]
        for wrong in JOINT_FAULTS if fit else ():
            shot = pick(rng, fit)
            others = [number for number in visible[shot] if number != target]
            mask = pick(rng, others) if wrong in {"mask", "both"} else target
            track = sounding.index(target)
            if wrong in {"stem", "both"}:
                shown_track = sounding.index(mask) if mask in sounding and mask != target else None
                other_tracks = [index for index in range(len(plan.tracks)) if index != track]
                random_track = pick(rng, other_tracks)
                track = shown_track if shown_track is not None and rng.random() < _SAME_AGAIN else random_track
            leak_db = round(float(rng.uniform(*LEAK_DB)), 2)
            yield JointSample(expression=expression, shot=shot, mask=mask, track=track, leak_db=leak_db, wrong=wrong)


def separated(sample: JointSample, plan: ScenePlan, sounds: SoundSet, *, mixed: Mix) -> Samples:
    """The track of an item as a separator might give it, with some of the rest; (2, samples) float32 in [-1, 1]."""
    alone = mix_down([plan.tracks[sample.track]], sounds, seconds=plan.seconds, rate_hz=plan.rate_hz)
    stem = alone.samples * np.float32(10.0 ** ((mixed.gain_db - alone.gain_db) / 20.0))
    leak = np.float32(10.0 ** (sample.leak_db / 20.0))
    return np.clip(stem + leak * (mixed.samples - stem), -1.0, 1.0)


def _shows(mask: Mask) -> bool:
    return bool(np.count_nonzero(mask) >= TARGET_SHARE * mask.size)
