"""A question by its number: the true answer is dealt first, then a stimulus is drawn that it is true of.

Answers are dealt in rounds: in each, every answer that a type has comes once, in an order of its own. So every answer
is true as often as the others, give or take one, and neither the number of a question nor its words tell which.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from auscult.cases.layouts.avi_prompts import YES_NO, prompt_of
from auscult.cases.layouts.avibench import CONFIRMATION, AviEntry, Medium, entry_json, media_name, task_folder
from auscult.media.frames import encode_png
from auscult.media.wav import encode_wav
from auscult.rng import generator
from auscult.scenes.dealing import dealt
from auscult.scenes.primitives.base import FPS, RATE_HZ, Folder, Stimulus, StimulusKind

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
    """What a question is asked about."""
    return kind.draw(generator(seed, "prise", kind.name, index), true_answer(kind, index, seed=seed))


def question_id(kind: StimulusKind, index: int) -> str:
    """The id of a question by its number."""
    return f"{kind.name}_{index:05d}"


def question(kind: StimulusKind, index: int, *, seed: int) -> PriseQuestion:
    """A question of a type by its number, from 0."""
    made, name = stimulus(kind, index, seed=seed), question_id(kind, index)
    files = _files(made, name)
    shown: dict[str, Any] = {
        "folder": kind.folder,
        "subtask": kind.name,
        "sounds": tuple(file for file in files if file.endswith(".wav")),
        "images": tuple(file for file in files if file.endswith(".png")),
        "video": next((file for file in files if file.endswith(".mp4")), None),
    }
    text, there = _CONFIRMATIONS[kind.folder], "no" if made.empty else "yes"
    task = kind.folder.partition("_")[0]
    listed = task == "AVSQA"
    entry = AviEntry(
        id=name,
        prompt=prompt_of(task, _marked(kind.options, listed=listed)),
        text=kind.text,
        options=_marked(kind.options, listed=listed),
        answer=true_answer(kind, index, seed=seed),
        confirmation=(text, there),
        **shown,
    )
    confirmation = AviEntry(
        id=CONFIRMATION + name,
        prompt=prompt_of(task, _marked(YES_NO, listed=listed)),
        text=text,
        options=_marked(YES_NO, listed=listed),
        answer=there,
        **shown,
    )
    home = task_folder("sensation", kind.folder)
    return PriseQuestion(
        entry=entry, confirmation=confirmation, files={f"{home}/{file}": data for file, data in files.items()}
    )


def question_row(asked: PriseQuestion) -> dict[str, Any]:
    """A question and its confirmation as a line of ``questions.jsonl``."""
    entry = asked.entry
    return {"id": entry.id, "formal": entry_json(entry), "pre": entry_json(asked.confirmation)}


def _files(made: Stimulus, name: str) -> dict[str, bytes]:
    """The media, by name within the task's folder."""
    coded: dict[tuple[Medium, str], bytes] = {}
    if made.picture is not None:
        coded["images", ".png"] = encode_png(made.picture)
    if made.video is not None:
        from auscult.media.video_write import encode_video

        coded["videos", ".mp4"] = encode_video(made.video, fps=FPS, samples=made.sound, rate_hz=RATE_HZ)
    if made.sound is not None:
        coded["wavs", ".wav"] = encode_wav(made.sound, RATE_HZ)
    return {media_name(medium, name + suffix): data for (medium, suffix), data in coded.items()}


def _marked(options: Sequence[str], *, listed: bool) -> tuple[str, ...]:
    return tuple(f"#{option}#" for option in options) if listed else tuple(options)
