"""The table of question types of the eleven familiar tasks."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from auscult.cases.layouts.avi_prompts import YES_NO
from auscult.scenes.familiar import captions, perception, reasoning, understanding
from auscult.scenes.familiar.base import FamiliarKind, Source
from auscult.scenes.familiar.material import Material

_ALL: Final = (
    FamiliarKind(name="made_sounds", folder="AMIC", stage="perception", draw=perception.made_sounds),
    FamiliarKind(
        name="recordings", folder="AMIC", stage="perception", source="recordings", draw=perception.recordings
    ),
    FamiliarKind(name="made_picture", folder="VMIC", stage="perception", draw=perception.made_picture),
    FamiliarKind(
        name="photograph", folder="VMIC", stage="perception", source="photographs", draw=perception.photograph
    ),
    FamiliarKind(name="made_located", folder="AVL", stage="perception", draw=perception.made_located),
    FamiliarKind(
        name="photograph_located", folder="AVL", stage="perception", source="sounding photographs",
        draw=perception.sounding_photograph,
    ),
    FamiliarKind(name="matching", folder="AVM", stage="perception", answers=YES_NO, draw=perception.matching),
    FamiliarKind(
        name="made_sounds_wanted", folder="VAR", stage="understand", answers=understanding.FITTING,
        draw=understanding.made_sounds_wanted,
    ),
    FamiliarKind(
        name="recordings_wanted", folder="VAR", stage="understand", answers=understanding.FITTING, source="pairs",
        draw=understanding.recordings_wanted,
    ),
    FamiliarKind(
        name="made_pictures_wanted", folder="AVR", stage="understand", answers=understanding.FITTING,
        draw=understanding.made_pictures_wanted,
    ),
    FamiliarKind(
        name="photographs_wanted", folder="AVR", stage="understand", answers=understanding.FITTING, source="pairs",
        draw=understanding.photographs_wanted,
    ),
    FamiliarKind(name="captioned", folder="AVC", stage="understand", draw=captions.captioned),
    FamiliarKind(
        name="seen_or_suggested", folder="AVH", stage="reasoning", answers=YES_NO, draw=reasoning.seen_or_suggested
    ),
    FamiliarKind(
        name="heard_or_suggested", folder="VAH", stage="reasoning", answers=YES_NO, draw=reasoning.heard_or_suggested
    ),
    FamiliarKind(
        name="how_many_sound", folder="AVQA", stage="reasoning", answers=reasoning.NUMBERS,
        draw=reasoning.how_many_sound,
    ),
    FamiliarKind(
        name="where_first", folder="AVQA", stage="reasoning", answers=reasoning.SIDES, draw=reasoning.where_first
    ),
    FamiliarKind(
        name="moving_sounds", folder="AVQA", stage="reasoning", answers=YES_NO[:2], draw=reasoning.moving_sounds
    ),
    FamiliarKind(
        name="more_often", folder="AVQA", stage="reasoning", answers=reasoning.MORE_OFTEN, draw=reasoning.more_often
    ),
    FamiliarKind(
        name="colour_of_sounding", folder="AVQA", stage="reasoning", answers=reasoning.COLOURS,
        draw=reasoning.colour_of_sounding,
    ),
    FamiliarKind(
        name="described", folder="AVLG", stage="reasoning", answers=reasoning.DESCRIBED, draw=reasoning.described
    ),
)  # fmt: skip

KINDS: Final[Mapping[str, FamiliarKind]] = MappingProxyType({kind.name: kind for kind in _ALL})
"""Types by name; a task's samples take its types in turn."""


def kinds_of(folder: str, material: Material) -> tuple[FamiliarKind, ...]:
    """A task's types of which there is material, the made ones first."""
    there: dict[Source, bool] = {
        "scenes": True,
        "recordings": len(material.labels) > perception.MOST_HEARD,
        "pairs": len(material.paired) >= understanding.CANDIDATES,
        "photographs": bool(material.photographs),
        "sounding photographs": bool(material.sounding),
    }
    return tuple(kind for kind in _ALL if kind.folder == folder and there[kind.source])
