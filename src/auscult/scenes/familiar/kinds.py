"""The table of question types of the eleven familiar tasks.

The true answer of a sample is dealt first, then one is drawn that it is true of.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from auscult.cases.avibench import YES_NO, AviEntry, entry_json, media_files, prompt_of
from auscult.record import codec
from auscult.rng import generator
from auscult.scenes.dealing import dealt
from auscult.scenes.familiar import perception, reasoning, understanding
from auscult.scenes.familiar.base import FPS, RATE_HZ, Drawn, FamiliarKind, Source, World
from auscult.scenes.familiar.material import Material


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FamiliarSample:
    """A sample with its files, by name in the output folder, and what an observer needs to check it."""

    entry: AviEntry
    files: Mapping[str, bytes]
    proof: Mapping[str, Any]


def true_answer(kind: FamiliarKind, index: int, *, seed: int, world: World) -> str:
    """A sample's answer, dealt by its number; of photographs with boxes, which one; "" for a kind without answers."""
    answers = _DEALT[kind.source](world.material) if kind.source in _DEALT else kind.answers
    return dealt(answers, index, seed=seed, key=("avi", kind.name, "answers")) if answers else ""


_DEALT: Final[Mapping[Source, Callable[[Material], tuple[str, ...]]]] = {
    "photographs": lambda material: tuple(map(str, range(len(material.photographs)))),
    "sounding photographs": lambda material: tuple(map(str, range(len(material.sounding)))),
}


def sample_id(kind: FamiliarKind, index: int) -> str:
    """The id of a sample by its number."""
    return f"{kind.name}_{index:05d}"


def draw(kind: FamiliarKind, index: int, *, seed: int, world: World) -> Drawn:
    """What a sample shows, plays and asks."""
    return kind.draw(generator(seed, "avi", kind.name, index), world, true_answer(kind, index, seed=seed, world=world))


def sample(kind: FamiliarKind, index: int, *, seed: int, world: World) -> FamiliarSample:
    """A sample of a type by its number, from 0."""
    drawn, name = draw(kind, index, seed=seed, world=world), sample_id(kind, index)
    media, files = media_files(
        kind.folder, name, images=drawn.images, sounds=drawn.sounds, frames=drawn.frames, fps=FPS, rate_hz=RATE_HZ
    )
    entry = AviEntry(
        id=name,
        folder=kind.folder,
        subtask=kind.name,
        prompt=prompt_of(kind.folder, drawn.options),
        text=drawn.text,
        options=drawn.options,
        answer=drawn.truth,
        **media,
    )
    return FamiliarSample(entry=entry, files=files, proof=drawn.proof)


def sample_row(item: FamiliarSample) -> dict[str, Any]:
    """A sample as a line of ``samples.jsonl``."""
    return {"id": item.entry.id, "entry": entry_json(item.entry), "proof": codec.to_json(item.proof)}


_ALL: Final = (
    FamiliarKind(name="made_sounds", folder="AMIC", draw=perception.made_sounds),
    FamiliarKind(name="recordings", folder="AMIC", source="recordings", draw=perception.recordings),
    FamiliarKind(name="made_picture", folder="VMIC", draw=perception.made_picture),
    FamiliarKind(name="photograph", folder="VMIC", source="photographs", draw=perception.photograph),
    FamiliarKind(name="made_located", folder="AVL", draw=perception.made_located),
    FamiliarKind(
        name="photograph_located", folder="AVL", source="sounding photographs", draw=perception.sounding_photograph,
    ),
    FamiliarKind(name="matching", folder="AVM", answers=YES_NO, draw=perception.matching),
    FamiliarKind(
        name="photographs_matching", folder="AVM", answers=YES_NO, source="pairs",
        draw=understanding.photographs_matching,
    ),
    FamiliarKind(
        name="made_sounds_wanted", folder="VAR", answers=understanding.FITTING, draw=understanding.made_sounds_wanted,
    ),
    FamiliarKind(
        name="recordings_wanted", folder="VAR", answers=understanding.FITTING, source="pairs",
        draw=understanding.recordings_wanted,
    ),
    FamiliarKind(
        name="made_pictures_wanted", folder="AVR", answers=understanding.FITTING,
        draw=understanding.made_pictures_wanted,
    ),
    FamiliarKind(
        name="photographs_wanted", folder="AVR", answers=understanding.FITTING, source="pairs",
        draw=understanding.photographs_wanted,
    ),
    FamiliarKind(name="captioned", folder="AVC", draw=understanding.captioned),
    FamiliarKind(name="seen_or_suggested", folder="AVH", answers=YES_NO, draw=reasoning.seen_or_suggested),
    FamiliarKind(
        name="photographed_or_suggested", folder="AVH", answers=YES_NO, source="pairs",
        draw=understanding.photographed_or_suggested,
    ),
    FamiliarKind(name="heard_or_suggested", folder="VAH", answers=YES_NO, draw=reasoning.heard_or_suggested),
    FamiliarKind(
        name="recorded_or_suggested", folder="VAH", answers=YES_NO, source="pairs",
        draw=understanding.recorded_or_suggested,
    ),
    FamiliarKind(name="how_many_sound", folder="AVQA", answers=reasoning.NUMBERS, draw=reasoning.how_many_sound),
    FamiliarKind(
        name="how_many_recorded", folder="AVQA", answers=reasoning.NUMBERS[:4], source="pairs",
        draw=understanding.how_many_recorded,
    ),
    FamiliarKind(name="where_first", folder="AVQA", answers=reasoning.SIDES, draw=reasoning.where_first),
    FamiliarKind(
        name="where_first_recorded", folder="AVQA", answers=reasoning.SIDES, source="pairs",
        draw=understanding.where_first_recorded,
    ),
    FamiliarKind(name="moving_sounds", folder="AVQA", answers=YES_NO[:2], draw=reasoning.moving_sounds),
    FamiliarKind(name="more_often", folder="AVQA", answers=reasoning.MORE_OFTEN, draw=reasoning.more_often),
    FamiliarKind(
        name="colour_of_sounding", folder="AVQA", answers=reasoning.COLOURS, draw=reasoning.colour_of_sounding,
    ),
    FamiliarKind(name="described", folder="AVLG", answers=reasoning.DESCRIBED, draw=reasoning.described),
    FamiliarKind(
        name="heard_in_clips", folder="AVLG", answers=understanding.SHOWN_AT, source="clips",
        draw=understanding.heard_in_clips,
    ),
)  # fmt: skip

KINDS: Final[Mapping[str, FamiliarKind]] = MappingProxyType({kind.name: kind for kind in _ALL})
"""Types by name; a task's samples take its types in turn."""


def kinds_of(folder: str, material: Material) -> tuple[FamiliarKind, ...]:
    """A task's types of which there is material, in the order of their turns."""
    available: dict[Source, bool] = {
        "scenes": True,
        "recordings": len(material.labels) > perception.MOST_HEARD,
        "pairs": len(material.paired) >= understanding.CANDIDATES,
        "photographs": bool(material.photographs),
        "sounding photographs": bool(material.sounding),
        "clips": len(material.filmed) >= understanding.CLIPS,
    }
    return tuple(kind for kind in _ALL if kind.folder == folder and available[kind.source])
