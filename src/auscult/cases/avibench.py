"""The layout of AVI-Bench: a folder for each task, its questions as one JSON list, its media beside it.

::

    levels/<stage>/<FOLDER>/data.json         the questions, told apart by their position
    levels/<stage>/<FOLDER>/input/wavs/...    and images/, videos/; named in data.json as ./input/wavs/...

Folders of the last stage, ``sensation``, have the confirmations of their questions after all of them: the id is
``pre_`` and that of the question. A truth is a text, of several words joined by semicolons; class to count, the counts
as texts; a list of indices; a list of captions; or boxes in pixels, as corner, width and height, with the picture's
size.

``prompt_of`` says how to answer each of the fourteen tasks, in our words, the answer forms as in the release. A prompt
is the same for all samples of a task that are answered in one form, so that it tells nothing of an answer. What may be
answered (classes, options) and what is asked stand beside it, in ``options`` and ``text``.

Source: FudanCVL/AVI-Bench at 2ba4eb0b.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from auscult.media.wav import encode_wav
from auscult.record import codec
from auscult.types import Frame, Samples

NOT_SURE: Final = "not sure"
YES_NO: Final = ("yes", "no", NOT_SURE)

_COUNTS: Final = (
    "Answer with a JSON object that gives each class its number and nothing else, such as "
    '{"first class": 2, "second class": 1}; leave out classes that are not there.'
)
_BOX: Final = "boxes [x0, y0, x1, y1], top left to bottom right corner, as shares of width and height from 0 to 1"
_BOXES: Final = (
    "Answer with a JSON object and nothing else. Its keys are the class, an underscore and a number from 1 for each "
    f'one of its class; its values are {_BOX}, such as {{"first class_1": [0.1, 0.25, 0.4, 0.6]}}.'
)
_FRAME_BOXES: Final = (
    "Answer with a JSON object and nothing else. Its keys are frame_0 to frame_9, in the order of the pictures; its "
    f"values are {_BOX}, or null for a frame in which what is described is not seen."
)
_INDICES: Final = (
    "Answer with a list of the numbers of those that fit and nothing else, the surest first; the first candidate has "
    "the number 0. Such as [4]; [] if none fits."
)
_OPTION: Final = "Answer with one of the options, word for word"
_LIST: Final = "Answer with one of the options, word for word and between # marks"
_NUMBER: Final = "Answer with a whole number in digits"
_UNSURE: Final = f'; if what is asked about is not there, answer "{NOT_SURE}"'

_INSTRUCTIONS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "AMIC": f"Listen to the recording. Which of the classes are heard in it, and how many times? {_COUNTS}",
        "VMIC": f"Look at the picture. Which of the classes does it show, and how many of each? {_COUNTS}",
        "AVL": f"Listen to the recording and look at the picture. Where in it is what is heard? {_BOXES}",
        "VAR": f"A picture is shown and several sounds are played. {_INDICES}",
        "AVR": f"A sound is played and several pictures are shown. {_INDICES}",
        "AVC": "Say in one English sentence what is seen and what is heard. Answer with that sentence alone.",
        "AVLG": f"The pictures are frames of one video, one a second; the recording is its sound. {_FRAME_BOXES}",
    }
)
_CHOICES: Final[Mapping[str, str]] = MappingProxyType(
    {**dict.fromkeys(("AVM", "AVH", "VAH", "AVQA", "ASQA", "VSQA"), _OPTION), "AVSQA": _LIST}
)


def prompt_of(task: str, options: Sequence[str] = ()) -> str:
    """The prompt of a question of one of the fourteen tasks.

    Where there is a choice, "not sure" is explained if it is among the options; a number is asked for where a task of
    choices has none.

    Example:
        >>> prompt_of("AVQA", ("left", "right"))
        'Answer with one of the options, word for word.'
    """
    if task in _INSTRUCTIONS:
        return _INSTRUCTIONS[task]
    instruction = _CHOICES[task] if options else _NUMBER
    unsure = NOT_SURE in (option.strip("#") for option in options)
    return f"{instruction}{_UNSURE if unsure else ''}."


STAGE_OF: Final[Mapping[str, str]] = MappingProxyType(
    {
        **dict.fromkeys(("AMIC", "VMIC", "AVL", "AVM"), "perception"),
        **dict.fromkeys(("VAR", "AVR", "AVC"), "understand"),
        **dict.fromkeys(("AVH", "VAH", "AVQA", "AVLG"), "reasoning"),
        **dict.fromkeys(("ASQA", "VSQA_I", "VSQA_V", "AVSQA"), "sensation"),
    }
)
"""Folder of a task to that of its stage, in the order in which samples are listed."""
DATA: Final = "data.json"
CONFIRMATION: Final = "pre_"


@dataclass(frozen=True, slots=True, kw_only=True)
class AviBoxes:
    """Boxes of one picture, or of frames of one size."""

    size: tuple[int, int]  # (width, height) in pixels
    # of what sounds (AVL) class and number, ``dog_1``, to its box; of frames (AVLG) ``frame_0`` and so on to the box of
    # what is sought, None where it is not. A box is left, top, width and height in pixels.
    boxes: Mapping[str, tuple[int, int, int, int] | None]


AviAnswer: TypeAlias = str | tuple[str, ...] | tuple[int, ...] | Mapping[str, int] | AviBoxes
"""A truth: words, captions, indices from 0, class to count, or boxes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AviEntry:
    """One question of ``data.json``."""

    id: str  # names question and confirmation; unique among what we write, not in the release
    folder: str  # its folder, such as ``VSQA_I``
    subtask: str  # the type of question
    prompt: str  # how to answer
    text: str  # what is asked
    options: tuple[str, ...]  # what may be answered; empty where a number is asked for
    answer: AviAnswer  # the truth
    images: tuple[str, ...] = ()  # pictures that are shown, named within the folder (``input/images/a.png``)
    sounds: tuple[str, ...] = ()  # sounds that are heard, likewise
    video: str | None = None  # the video that is shown, likewise; None without one
    # text and truth of the question's confirmation; None where it has none, or is one itself
    confirmation: tuple[str, str] | None = None


def task_folder(folder: str) -> str:
    """Where a task's questions and media stand."""
    return f"levels/{STAGE_OF[folder]}/{folder}"


def media_files(
    folder: str,
    name: str,
    *,
    images: Sequence[tuple[str, bytes]] = (),
    sounds: Sequence[Samples] = (),
    frames: Iterable[Frame] | None = None,
    fps: float,
    rate_hz: int,
) -> tuple[dict[str, Any], dict[str, bytes]]:
    """The media of a sample by its name: the fields of its ``AviEntry``, and the files by name in the output folder.

    Pictures are coded, each with its ending; the sound of a video is the first of ``sounds``.
    """
    pictures = {
        f"input/images/{_numbered(name, index, images)}{suffix}": data for index, (suffix, data) in enumerate(images)
    }
    wavs = {
        f"input/wavs/{_numbered(name, index, sounds)}.wav": encode_wav(sound, rate_hz)
        for index, sound in enumerate(sounds)
    }
    videos: dict[str, bytes] = {}
    if frames is not None:
        from auscult.media.video_write import encode_video

        heard = sounds[0] if sounds else None
        videos[f"input/videos/{name}.mp4"] = encode_video(frames, fps=fps, samples=heard, rate_hz=rate_hz)
    fields = {"images": tuple(pictures), "sounds": tuple(wavs), "video": next(iter(videos), None)}
    return fields, {f"{task_folder(folder)}/{file}": data for file, data in {**pictures, **wavs, **videos}.items()}


def _numbered(name: str, index: int, group: Sequence[object]) -> str:
    return name if len(group) == 1 else f"{name}_{index:02d}"


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
            "video": _relative(entry.video),
            "image_list": [_relative(name) for name in entry.images] or None,
            "audio_list": [_relative(name) for name in entry.sounds] or None,
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


def _relative(name: str | None) -> str | None:
    return None if name is None else f"./{name}"
