"""The layout of AVI-Bench: a folder for each task, its questions as one JSON list, its media beside it.

::

    levels/<stage>/<FOLDER>/data.json         the questions, told apart by their position
    levels/<stage>/<FOLDER>/input/wavs/...    and images/, videos/; named in data.json as ./input/wavs/...

Folders of the last stage, ``sensation``, have the confirmations of their questions after all of them: the id is
``pre_`` and that of the question. A truth is a text, of several words joined by semicolons; class to count, the counts
as texts; a list of indices; a list of captions; or boxes in pixels, as corner, width and height, with the picture's
size.

Source: FudanCVL/AVI-Bench at 2ba4eb0b.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from auscult.record import codec

StageFolder: TypeAlias = Literal["perception", "understand", "reasoning", "sensation"]
Medium: TypeAlias = Literal["wavs", "images", "videos"]

DATA: Final = "data.json"
CONFIRMATION: Final = "pre_"
_MOST_BYTES: Final = 268_435_456


@dataclass(frozen=True, slots=True, kw_only=True)
class AviBoxes:
    """Boxes of one picture, or of frames of one size.

    Attributes:
        size: (width, height) in pixels.
        boxes: Of what sounds (AVL) class and number, ``dog_1``, to its box; of frames (AVLG) ``frame_0`` and so on to
            the box of what is sought, None where it is not. A box is left, top, width and height in pixels.
    """

    size: tuple[int, int]
    boxes: Mapping[str, tuple[int, int, int, int] | None]


AviAnswer: TypeAlias = str | tuple[str, ...] | tuple[int, ...] | Mapping[str, int] | AviBoxes
"""A truth: words, captions, indices from 0, class to count, or boxes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AviEntry:
    """One question of ``data.json``.

    Attributes:
        id: Names question and confirmation; unique among what we write, not in the release.
        folder: Its folder, such as ``VSQA_I``.
        subtask: The type of question.
        prompt: How to answer.
        text: What is asked.
        options: What may be answered; empty where a number is asked for.
        answer: The truth.
        images: Pictures that are shown, named within the task's folder (``input/images/a.png``).
        sounds: Sounds that are heard, likewise.
        video: The video that is shown, likewise; None without one.
        confirmation: Text and truth of the question's confirmation; None where it has none, or is one itself.
    """

    id: str
    folder: str
    subtask: str
    prompt: str
    text: str
    options: tuple[str, ...]
    answer: AviAnswer
    images: tuple[str, ...] = ()
    sounds: tuple[str, ...] = ()
    video: str | None = None
    confirmation: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Question:
    prompt: str
    text: str
    options: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Input:
    question: _Question
    pre_question: str | None = None
    image_list: tuple[str, ...] | None = None
    audio_list: tuple[str, ...] | None = None
    video: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Output:
    question_answer: str
    pre_answer: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry:
    id: str
    task: str
    subtask: str
    input: _Input
    output: _Output


def task_folder(stage: StageFolder, folder: str) -> str:
    """Where a task's questions and media stand."""
    return f"levels/{stage}/{folder}"


def media_name(medium: Medium, name: str) -> str:
    """A file of media, named within its task's folder."""
    return f"input/{medium}/{name}"


def entry_json(entry: AviEntry) -> dict[str, Any]:
    """A question as it stands in ``data.json``; what it does not have is null."""
    text, truth = entry.confirmation or (None, None)
    return {
        "id": entry.id,
        "task": entry.folder,
        "subtask": entry.subtask,
        "input": {
            "pre_question": text,
            "question": {"prompt": entry.prompt, "text": entry.text, "options": list(entry.options) or None},
            "video": _shown(entry.video),
            "image_list": [_shown(name) for name in entry.images] or None,
            "audio_list": [_shown(name) for name in entry.sounds] or None,
        },
        "output": {"pre_answer": truth, "question_answer": _answer_json(entry.answer)},
    }


def _answer_json(answer: AviAnswer) -> Any:
    if isinstance(answer, AviBoxes):
        return {
            "original_wh": list(answer.size),
            "bbox": {name: box and list(box) for name, box in answer.boxes.items()},
        }
    if isinstance(answer, Mapping):
        return {name: str(count) for name, count in answer.items()}
    return answer if isinstance(answer, str) else list(answer)


def data_json(entries: Iterable[dict[str, Any]]) -> bytes:
    """``data.json`` of entries as ``entry_json`` makes them, one a line."""
    return b"[\n" + b",\n".join(codec.dump(entry) for entry in entries) + b"\n]\n"


def read_data(path: Path) -> tuple[AviEntry, ...]:
    """The questions of a ``data.json`` whose prompts and options are written out, as ``make prise`` writes them.

    Raises:
        UsageError: The file cannot be read, or holds something else.
    """
    expected = "a list of questions, as `auscult make prise` writes it"
    found: Sequence[_Entry] = codec.read_file(
        tuple[_Entry, ...], path, what="the task", expected=expected, most_bytes=_MOST_BYTES
    )
    return tuple(_read(entry) for entry in found)


def _read(entry: _Entry) -> AviEntry:
    asked, told = entry.input, entry.output
    pre, truth = asked.pre_question, told.pre_answer
    return AviEntry(
        id=entry.id,
        folder=entry.task,
        subtask=entry.subtask,
        prompt=asked.question.prompt,
        text=asked.question.text,
        options=asked.question.options or (),
        answer=told.question_answer,
        images=tuple(map(_within, asked.image_list or ())),
        sounds=tuple(map(_within, asked.audio_list or ())),
        video=None if asked.video is None else _within(asked.video),
        confirmation=None if pre is None or truth is None else (pre, truth),
    )


def _shown(name: str | None) -> str | None:
    return None if name is None else f"./{name}"


def _within(name: str) -> str:
    return name.removeprefix("./")
