"""The table of question types: text, options in the form of the task's answers, how many, and what draws them.

Answers are dealt in rounds: in each, every answer that a type has comes once, in an order of its own. So every answer
is true as often as the others, give or take one, and neither the number of a question nor its words tell which.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from auscult.cases.avibench import CONFIRMATION, AviEntry, entry_json, media_files, prompt_of
from auscult.media.frames import encode_png
from auscult.rng import generator
from auscult.scenes.dealing import dealt
from auscult.scenes.primitives import pictures, sounds, videos
from auscult.scenes.primitives.base import (
    FPS,
    NOT_SURE,
    RATE_HZ,
    SHAPES,
    SOLIDS,
    YES_NO,
    Folder,
    Stimulus,
    StimulusKind,
)

_CONFIRMATIONS: Final[Mapping[Folder, str]] = {
    "ASQA": "Can anything be heard in this recording?",
    "VSQA_I": "Can anything be seen in this picture, apart from one even colour?",
    "VSQA_V": "Can anything be seen in this video, apart from one even colour?",
    "AVSQA": "Can anything be heard in this video?",
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PriseQuestion:
    """A question with its confirmation, and the files that both show, by name in the output folder."""

    entry: AviEntry
    confirmation: AviEntry
    files: Mapping[str, bytes]


def true_answer(kind: StimulusKind, index: int, *, seed: int) -> str:
    """The true answer of a question."""
    return dealt(kind.answers, index, seed=seed, key=("prise", kind.name, "answers"))


def stimulus(kind: StimulusKind, index: int, *, seed: int) -> Stimulus:
    """What a question is asked about; where nothing can be told, silence or one even colour."""
    rng, answer = generator(seed, "prise", kind.name, index), true_answer(kind, index, seed=seed)
    untold = _UNTOLD.get(kind.folder) if answer == NOT_SURE else None
    return kind.draw(rng, answer) if untold is None else untold(rng)


_UNTOLD: Final[Mapping[Folder, Callable[[np.random.Generator], Stimulus]]] = {
    "ASQA": sounds.silent,
    "VSQA_I": pictures.even,
    "VSQA_V": videos.even,
}
"""What *not sure* is true of; in AVSQA the videos are drawn as ever, without a sound."""


def question_id(kind: StimulusKind, index: int) -> str:
    """The id of a question by its number."""
    return f"{kind.name}_{index:05d}"


def question(kind: StimulusKind, index: int, *, seed: int) -> PriseQuestion:
    """A question of a type by its number, from 0."""
    sample, name = stimulus(kind, index, seed=seed), question_id(kind, index)
    media, files = media_files(
        kind.folder,
        name,
        images=() if sample.picture is None else ((".png", encode_png(sample.picture)),),
        sounds=() if sample.sound is None else (sample.sound,),
        frames=sample.video,
        fps=FPS,
        rate_hz=RATE_HZ,
    )
    shared: dict[str, Any] = {"folder": kind.folder, "subtask": kind.name, **media}
    text, truth = _CONFIRMATIONS[kind.folder], "no" if sample.empty else "yes"
    task = kind.folder.partition("_")[0]
    listed = task == "AVSQA"
    entry = AviEntry(
        id=name,
        prompt=prompt_of(task, _marked(kind.options, listed=listed)),
        text=kind.text,
        options=_marked(kind.options, listed=listed),
        answer=true_answer(kind, index, seed=seed),
        confirmation=(text, truth),
        **shared,
    )
    confirmation = AviEntry(
        id=CONFIRMATION + name,
        prompt=prompt_of(task, _marked(YES_NO, listed=listed)),
        text=text,
        options=_marked(YES_NO, listed=listed),
        answer=truth,
        **shared,
    )
    return PriseQuestion(entry=entry, confirmation=confirmation, files=files)


def question_row(item: PriseQuestion) -> dict[str, Any]:
    """A question and its confirmation as a line of ``questions.jsonl``."""
    entry = item.entry
    return {"id": entry.id, "formal": entry_json(entry), "pre": entry_json(item.confirmation)}


def _marked(options: Sequence[str], *, listed: bool) -> tuple[str, ...]:
    return tuple(f"#{option}#" for option in options) if listed else tuple(options)


_COMPARED: Final = ("first", "second", "the same", NOT_SURE)

_ASQA: Final = (
    StimulusKind(
        name="clarity", folder="ASQA", count=52, options=_COMPARED, draw=sounds.clarity,
        text="You hear two sounds, one after the other. In which of them is the tone clearer, with less noise over it?",
    ),
    StimulusKind(
        name="volume", folder="ASQA", count=52, options=_COMPARED, draw=sounds.volume,
        text="You hear two sounds, one after the other. Which of them is louder?",
    ),
    StimulusKind(
        name="order", folder="ASQA", count=51, options=("tone", "noise", NOT_SURE), draw=sounds.order,
        text="A tone and a noise are played. Which of the two comes first?",
    ),
    StimulusKind(
        name="presence", folder="ASQA", count=48, options=YES_NO, draw=sounds.presence,
        text="A noise is played. Does a tone sound within it?",
    ),
    StimulusKind(
        name="beats", folder="ASQA", count=48, numbers=8, draw=sounds.beats,
        text="How many short beats are played?",
    ),
)  # fmt: skip

_VSQA_I: Final = (
    StimulusKind(
        name="background", folder="VSQA_I", count=27, options=YES_NO, draw=pictures.background,
        text="Is everything behind the shape one even colour?",
    ),
    StimulusKind(
        name="foreground", folder="VSQA_I", count=27, options=YES_NO, draw=pictures.foreground,
        text="Is the shape filled with its colour, and not a mere outline?",
    ),
    StimulusKind(
        name="sharpness", folder="VSQA_I", count=28, options=("left", "right", "the same", NOT_SURE),
        draw=pictures.sharpness,
        text="There is one shape on the left and one on the right. Which of them is drawn more sharply?",
    ),
    StimulusKind(
        name="position_3d", folder="VSQA_I", count=28, options=("left", "right", "equally near", NOT_SURE),
        draw=pictures.position_3d,
        text="Two balls of the same size lie on a floor, one left and one right. Which of them is nearer?",
    ),
    StimulusKind(
        name="shape_3d", folder="VSQA_I", count=30, options=(*SOLIDS, NOT_SURE), draw=pictures.shape_3d,
        text="Which solid is shown?",
    ),
    StimulusKind(
        name="placement", folder="VSQA_I", count=27, options=pictures.PLACES, draw=pictures.placement,
        text="In which part of the picture is the shape?",
    ),
    StimulusKind(
        name="colour", folder="VSQA_I", count=28, options=(*pictures.HUES, NOT_SURE), draw=pictures.colour,
        text="Which colour does the shape have?",
    ),
    StimulusKind(
        name="line_direction", folder="VSQA_I", count=28, options=tuple(pictures.DIRECTIONS),
        draw=pictures.line_direction,
        text="In which direction does the line run? From left to right, a rising line goes up, a falling line down.",
    ),
    StimulusKind(
        name="area", folder="VSQA_I", count=30, options=pictures.ORDINALS, draw=pictures.area,
        text="Five shapes stand side by side. Counted from the left, which is the largest?",
    ),
    StimulusKind(
        name="brightness", folder="VSQA_I", count=30, options=pictures.ORDINALS, draw=pictures.brightness,
        text="Five squares stand side by side. Counted from the left, which is the brightest?",
    ),
    StimulusKind(
        name="counting", folder="VSQA_I", count=27, numbers=7, draw=pictures.counting,
        text="How many shapes are in the picture?",
    ),
)  # fmt: skip

_VSQA_V: Final = (
    StimulusKind(
        name="motion_2d", folder="VSQA_V", count=48, options=(*videos.HEADINGS, videos.STILL, NOT_SURE),
        draw=videos.motion_2d,
        text="Which way does the shape go?",
    ),
    StimulusKind(
        name="motion_3d", folder="VSQA_V", count=48, options=(*videos.MOTIONS, NOT_SURE), draw=videos.motion_3d,
        text="What does the cube do?",
    ),
    StimulusKind(
        name="surface", folder="VSQA_V", count=50, options=(*videos.SURFACES, NOT_SURE), draw=videos.surface,
        text="What is the surface of the disc like?",
    ),
    StimulusKind(
        name="diagonal", folder="VSQA_V", count=49,
        options=(*videos.DIAGONALS, videos.TO_AND_FRO, videos.STILL, NOT_SURE), draw=videos.diagonal,
        text="Where does the shape go? To and fro means along a diagonal and back again.",
    ),
    StimulusKind(
        name="moving_shape", folder="VSQA_V", count=48, options=(*SHAPES, NOT_SURE), draw=videos.outline,
        text="Which shape is it that moves?",
    ),
    StimulusKind(
        name="moving_count", folder="VSQA_V", count=47, numbers=videos.MOST + 1, draw=videos.moving_count,
        text="How many discs are moving?",
    ),
)  # fmt: skip

_AVSQA: Final = (
    StimulusKind(
        name="heard_object", folder="AVSQA", count=78, options=(*SHAPES, NOT_SURE), draw=videos.heard_object,
        text="Several shapes are shown in turn. Which of them is shown while the sound is heard?",
    ),
    StimulusKind(
        name="heard_colours", folder="AVSQA", count=64, options=(*videos.SUBSETS, NOT_SURE), draw=videos.heard_colours,
        text="A disc changes its colour. Which colours does it have while a sound is heard?",
    ),
    StimulusKind(
        name="together", folder="AVSQA", count=52, options=YES_NO, draw=videos.together,
        text="A shape shows several times for a moment. Does it show just when the beeps are heard?",
    ),
)  # fmt: skip

KINDS: Final[Mapping[str, StimulusKind]] = MappingProxyType(
    {kind.name: kind for kind in (*_ASQA, *_VSQA_I, *_VSQA_V, *_AVSQA)}
)
"""The types by name, in the order of the paper's tasks."""
