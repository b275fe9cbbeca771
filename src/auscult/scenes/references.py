"""Generated scenes as pictures with references: one frame of each, all that is seen on it, and what is said of it.

Everything in a generated scene is known, so that a category that is not on a picture is absent; where the background
is a photograph, ``facts.unlisted`` says that more may be there. Sentences keep their logical forms, pictures their
facts.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from auscult.cases.datasets.refavs import FILE, MAX_LINE_BYTES, Clips
from auscult.cases.fields import lines_of, mapping, parse, required
from auscult.cases.problems import Problems
from auscult.cases.references import AnnotatedObject, AnnotatedPicture, Reference, ReferenceListing, Sentence
from auscult.errors import AuscultError, InputError
from auscult.language.forms import read
from auscult.media.masks import read_mask
from auscult.media.paths import open_regular
from auscult.scenes.facts import facts_from_json, hidden_sentences

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
    names = frozenset(thing.category for one in facts for thing in one.things)
    voices = {thing.voice for one in facts for thing in one.things} | {
        voice for one in facts for voice in one.elsewhere
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
    kept = tuple(ref for ref in references if split in {"", ref.split})
    whole = tuple(
        objects.get(thing.id, AnnotatedObject(id=thing.id, category=thing.category)) for thing in facts.things
    )
    return AnnotatedPicture(id=vid, path=clip.frames[frame], size=None, objects=whole, references=kept, facts=facts)


def _references(
    row: Mapping[str, Any], *, vid: str, objects: Mapping[str, AnnotatedObject], hidden: frozenset[str]
) -> list[Reference]:
    """The targets that are seen, with their sentences, and each null expression by itself."""
    said: dict[str, list[Sentence]] = {}
    found: list[Reference] = []
    own = str(row.get("split") or "")
    expressions = row.get("expressions")
    for at, one in enumerate(expressions if isinstance(expressions, list) else ()):
        text, target = required(one, "text"), one.get("target")
        if one.get("uid") in hidden:
            continue
        if target is None:
            null = Sentence(text=text, exists=False, kind="null")
            found.append(Reference(id=f"{vid}/null/{at}", target="", sentences=(null,), split=own))
        elif target in objects:
            said.setdefault(target, []).append(Sentence(text=text, form=read(mapping(one, "form"))))
    positive = [
        Reference(id=f"{vid}/{name}", target=name, sentences=tuple(sentences), split=own)
        for name, sentences in said.items()
    ]
    return [*positive, *found]
