"""AVI-Bench's released tree read as it is: samples with their keys resolved, media found and truths typed.

::

    levels/{perception,understand,reasoning,sensation}/<FOLDER>/data.json     and input/{wavs,images,videos}/...

Samples are told apart by folder and array position, since ids repeat. An entry whose id is ``pre_`` and that of a
question confirms it: of several of one id the first confirms the first question, and so on. An empty one, as 147 of
VSQA_I's, is left out, and its question has no confirmation. Beyond the release an entry may say of which ``clip`` it
is. A sample that cannot be used is an error and costs itself; a question costs its confirmation too, and a confirmation
leaves its question ``unconfirmed``.

Short keys stand for prompts and options; the release resolves a key by the entry's folder, and a value that is no key
of it is used as it is. Option words are the release's, since its truths are; where it misspells one, both are read as
the right spelling. Prompts are ours.

Source: FudanCVL/AVI-Bench at 2ba4eb0b, of which words and forms are facts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, TypeAlias

from auscult.arrays.boxes import FourNumbers, FrameBoxes, SoundingBoxes
from auscult.cases.avibench import CONFIRMATION, DATA, STAGE_OF, prompt_of
from auscult.cases.fields import kind, load, mapping, number, text, wrong
from auscult.cases.ids import shown
from auscult.cases.problems import ListError, Problems
from auscult.errors import InputError, NothingToDo, UsageError
from auscult.media.paths import inside
from auscult.shipped import read_shipped

AviTruth: TypeAlias = str | tuple[str, ...] | Mapping[str, int] | tuple[int, ...] | SoundingBoxes | FrameBoxes
"""By the task's answer form: ``option`` a word; ``option list`` and ``caption`` words or references; ``counts`` class
to count; ``indices`` numbers from 0; ``boxes`` and ``frame boxes`` their types."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AviSample:
    """One question of the released tree, a confirmation being one too."""

    folder: str  # its folder, such as ``VSQA_I``; ``TASK_OF`` says of which task
    position: int  # its place in the folder's ``data.json``, from 0
    name: str  # its id there, which other samples may have too
    subtask: str  # the type of question; empty where the release has none
    # what is shown or heard, so that samples of one clip are drawn together by intervals; empty where only its media
    # tell
    clip: str
    prompt: str  # how to answer
    text: str  # what is asked
    options: tuple[str, ...]  # what may be answered; empty where anything may be
    images: tuple[Path, ...]  # files that are shown, in order
    sounds: tuple[Path, ...]  # files that are heard, in order
    video: Path | None  # the file that is shown, or None
    truth: AviTruth  # what is right
    confirms: int | None = None  # position of the question that this one confirms; None for a question of its own
    # whether its confirmation cannot be asked, though it is no empty one: whether an answer is a guess is then not
    # known
    unconfirmed: bool = False

    @property
    def id(self) -> str:
        """Unique in a tree: folder, position and the id of the release."""
        return f"{self.folder}/{self.position:04d}/{self.name}"

    @property
    def words(self) -> tuple[str, ...]:
        """The words that an answer may consist of: the options, of lists between # marks their parts."""
        if self.folder != "AVSQA":
            return self.options
        return tuple(dict.fromkeys(part.strip() for option in self.options for part in option.strip("# ").split(";")))

    @property
    def question(self) -> str:
        """The whole text that is sent: how to answer, what may be answered, what is asked."""
        offered = f"Choose from: {', '.join(self.options)}." if self.options else ""
        return "\n".join(filter(None, (self.prompt, offered, self.text)))

    @property
    def files(self) -> tuple[Path, ...]:
        """All media, in the order in which they are sent."""
        return (*self.images, *self.sounds, *(() if self.video is None else (self.video,)))


def with_lost(
    samples: Iterable[AviSample], lost: Collection[tuple[str, int]]
) -> tuple[list[AviSample], list[AviSample]]:
    """Samples where some of their questions or confirmations cannot be used.

    Args:
        samples: The samples that can be used.
        lost: Folder and position of each question that cannot be used, and of each question whose confirmation cannot.

    Returns:
        The samples, with a question whose confirmation is lost marked ``unconfirmed``; and confirmations of lost
        questions, which ask nothing alone.
    """
    usable, orphans = [], []
    for sample in samples:
        if sample.confirms is not None and (sample.folder, sample.confirms) in lost:
            orphans.append(sample)
        else:
            usable.append(replace(sample, unconfirmed=True) if (sample.folder, sample.position) in lost else sample)
    return usable, orphans


TASK_OF: Final[Mapping[str, str]] = {folder: folder.partition("_")[0] for folder in STAGE_OF}
"""Folder to task: VSQA has two folders, the others one."""

_MOST_BYTES: Final = 268_435_456
_MOST_ENTRIES: Final = 100_000
_MOST_OPTIONS: Final = 1000
_MOST_FILES: Final = 1000
_LARGEST: Final = 10**6
_MOST_DIGITS: Final = 100
_FRAME: Final = re.compile(r"frame_([0-9]{1,4})")
_NEEDED: Final[Mapping[str, frozenset[str]]] = {
    "something to hear": frozenset({"AMIC", "ASQA", "VAR", "AVR"}),
    "something to see": frozenset({"VMIC", "VSQA", "AVL", "AVLG", "VAR", "AVR"}),
}
"""Tasks whose question or answer is about media of a kind; of other tasks any media will do."""
_LITERAL: Final = re.compile(r"[,;]")


@dataclass(slots=True)
class AviListing:
    """The samples of a tree, by folder and position."""

    samples: list[AviSample] = field(default_factory=list)
    errors: list[ListError] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def read_tree(source: Path) -> AviListing:
    """Read all folders that are there, from a tree or its ``levels``; one that cannot be read costs its own samples.

    Raises:
        NothingToDo: It has none of them, or none can be read.
    """
    levels = source / "levels" if (source / "levels").is_dir() else source
    listing, problems = AviListing(), Problems()
    homes = [(levels / stage / name, name) for name, stage in STAGE_OF.items()]
    files = [(home, name) for home, name in homes if (home / DATA).is_file()]
    if not files:
        raise NothingToDo(
            "there is no task of AVI-Bench",
            path=source,
            expected=f"levels/perception/AMIC/{DATA} and so on",
            hint="name the folder that holds levels/; `auscult make avi` and `make prise` write one",
        )
    unread: list[UsageError | InputError] = []
    for home, name in files:
        try:
            listing.samples += _Folder(home, name, problems, listing.notes).samples()
        except (UsageError, InputError) as error:
            unread.append(error)
            problems.add(error, home / DATA)
    if len(unread) == len(files):
        raise unread[0]
    listing.errors = problems.found
    return listing


@dataclass(slots=True)
class _Folder:
    """A folder of the tree."""

    home: Path
    name: str
    problems: Problems
    notes: list[str]

    def samples(self) -> list[AviSample]:
        path = self.home / DATA
        rows = load(path, max_bytes=_MOST_BYTES)
        if not isinstance(rows, list) or len(rows) > _MOST_ENTRIES:
            raise NothingToDo(
                f"the file holds {kind(rows)}", path=path, expected=f"a list of at most {_MOST_ENTRIES:,} samples"
            )
        confirms, samples, empty = _confirmed(rows), [], 0
        lost: set[int] = set()
        for position, row in enumerate(rows):
            confirmation = _id(row).startswith(CONFIRMATION)
            if confirmation and _is_empty(row):
                empty += 1
                continue
            confirmed = confirms.get(position, -1 if confirmation else None)
            try:
                samples.append(self._sample(row, position, confirmed))
            except InputError as error:
                self._note(error, position)
                lost |= {position} if confirmed is None else {confirmed}
        if any(not _id(row) for row in rows):  # any of them may be a confirmation
            lost |= {sample.position for sample in samples if sample.confirms is None} - set(confirms.values())
        samples, orphans = with_lost(samples, {(self.name, position) for position in lost})
        for orphan in orphans:
            problem = f"its question, sample {orphan.confirms}, cannot be used"
            self._note(InputError(problem, expected="a question to confirm"), orphan.position)
        if empty:
            self.notes.append(f"{self.name}: {empty} empty confirmations are left out; their questions have none.")
        self._note_unanswerable(samples)
        return samples

    def _note(self, error: InputError, position: int) -> None:
        self.problems.add(error, self.home / DATA, key=f"sample {position}", item=f"{self.name}/{position:04d}")

    def _sample(self, row: object, position: int, confirms: int | None) -> AviSample:
        if not isinstance(row, dict):
            raise InputError(f"it is {kind(row)}", expected="an object with id, input and output")
        if confirms == -1:
            raise InputError(f"{shown(_id(row))} confirms nothing", expected="a question of that id without pre_")
        task = row.get("task")
        if task not in (None, self.name, TASK_OF[self.name]):
            raise InputError(f"its task is {shown(str(task))}", expected=f"{self.name}, as its folder")
        inputs, output = _part(row, "input"), _part(row, "output")
        question = _part(inputs, "question")
        words = text(question, "text")
        options = self._options(question.get("options"))
        images = tuple(map(self._file, _names(inputs, "image_list")))
        sounds = tuple(map(self._file, _names(inputs, "audio_list")))
        video = text(inputs, "video")
        if not words:
            raise InputError("nothing is asked", expected="a question under input.question.text")
        sample = AviSample(
            folder=self.name,
            position=position,
            name=_id(row),
            subtask=text(row, "subtask") or "",
            clip=text(row, "clip") or "",
            prompt=self._prompt(text(question, "prompt"), options),
            text=words,
            options=options,
            images=images,
            sounds=sounds,
            video=None if video is None else self._file(video),
            truth=truth_of(self.name, output.get("question_answer")),
            confirms=confirms,
        )
        _check_media(sample)
        return sample

    def _file(self, name: str) -> Path:
        """A file of the folder; one that leads out of it or does not exist is refused."""
        path = inside(self.home, name.removeprefix("./"))
        if not path.is_file():
            raise InputError("the file does not exist", path=path, expected="media that the sample names")
        return path

    def _options(self, value: object) -> tuple[str, ...]:
        """The words behind a key, or those that are given; words that read alike are one."""
        keyed = options_of(self.name, value) if isinstance(value, str) else None
        if value is None:
            keyed = unlisted(self.name)
        words: Sequence[object] = (
            keyed if keyed is not None else _LITERAL.split(value.strip("[](){} ")) if isinstance(value, str) else value  # type: ignore[assignment]
        )
        if not isinstance(words, list | tuple) or len(words) > _MOST_OPTIONS:
            raise wrong("options", value, f"a key, null, or at most {_MOST_OPTIONS} words")
        if not all(isinstance(word, str | int) and not isinstance(word, bool) for word in words):
            raise wrong("options", value, "texts")
        plain = [spelled(str(word).strip("'\" \t\n")) for word in words]
        return tuple({_plain(word): word for word in reversed(plain) if _plain(word)}.values())[::-1]

    def _prompt(self, value: str | None, options: tuple[str, ...]) -> str:
        task = TASK_OF[self.name]
        if value is None or not value.strip() or is_prompt(self.name, value):
            return prompt_of(task, options)
        return value

    def _note_unanswerable(self, samples: Sequence[AviSample]) -> None:
        absent = [sample for sample in samples if sample.options and not _is_offered(sample)]
        if absent:
            names = ", ".join(sample.name[:40] for sample in absent[:3])
            self.notes.append(f"{self.name}: of {len(absent)} samples the truth is not among the options ({names}).")


def _check_media(sample: AviSample) -> None:
    """Refuse a sample without what its task shows, plays or chooses from, or with a truth that is no candidate."""
    if not sample.files:
        raise InputError("it has neither picture, sound nor video", expected="media under input")
    task = TASK_OF[sample.folder]
    candidates = {"VAR": len(sample.sounds), "AVR": len(sample.images)}.get(sample.folder, 1)
    needs = [name for name, tasks in _NEEDED.items() if task in tasks]
    has = {"something to hear": sample.sounds or sample.video, "something to see": sample.images or sample.video}
    if not candidates or not all(has[name] for name in needs):
        media = f"{len(sample.images)} pictures, {len(sample.sounds)} sounds and {int(bool(sample.video))} videos"
        raise InputError(f"it has {media}", expected=f"{' and '.join(needs)}, as every sample of {task}")
    if task in ("VAR", "AVR") and isinstance(sample.truth, tuple):
        for index in sample.truth:
            if isinstance(index, int) and index >= candidates:
                raise wrong("question_answer", index, f"indices from 0 of {candidates} candidates")


def _is_offered(sample: AviSample) -> bool:
    """Whether the truth consists of words that are offered."""
    truth, offered = sample.truth, set(map(_plain, sample.words))
    if isinstance(truth, SoundingBoxes):
        words: Sequence[str] = [name for name, _ in truth.boxes]
    elif isinstance(truth, FrameBoxes) or (isinstance(truth, tuple) and TASK_OF[sample.folder] != "AVSQA"):
        return True
    else:
        words = [truth] if isinstance(truth, str) else [str(word) for word in truth]
    return all(_plain(word) in offered for word in words)


def _plain(word: str) -> str:
    return " ".join(word.casefold().replace("_", " ").split())


def _id(row: object) -> str:
    value = row.get("id") if isinstance(row, dict) else None
    return str(value)[:200] if isinstance(value, str | int) and not isinstance(value, bool) else ""


def _is_empty(row: Mapping[str, Any]) -> bool:
    """Whether a confirmation asks nothing, or has no truth."""
    inputs, output = row.get("input"), row.get("output")
    question = inputs.get("question") if isinstance(inputs, dict) else None
    words = question.get("text") if isinstance(question, dict) else None
    return not words or not isinstance(output, dict) or output.get("question_answer") is None


def _confirmed(rows: Sequence[object]) -> dict[int, int]:
    """Position of a confirmation to that of its question: the n-th of an id is of the n-th question with that id."""
    places: dict[str, list[int]] = {}
    for position, row in enumerate(rows):
        places.setdefault(_id(row), []).append(position)
    return {
        confirmation: question
        for name, positions in places.items()
        if name.startswith(CONFIRMATION)
        for confirmation, question in zip(positions, places.get(name.removeprefix(CONFIRMATION), ()), strict=False)
    }


def _part(row: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    part = mapping(row, key)
    if part is None:
        raise InputError(f"there is no {key!r}", expected=f"{key!r} is an object", hint="is it a file of the release?")
    return part


def _names(row: Mapping[str, Any], key: str) -> list[str]:
    value = row.get(key)
    if value is None:
        return []
    if not isinstance(value, list) or len(value) > _MOST_FILES or not all(isinstance(name, str) for name in value):
        raise wrong(key, value, f"a list of at most {_MOST_FILES} file names, or null")
    return value


# --- truths ---


def truth_of(folder: str, value: object) -> AviTruth:
    """The truth of a sample of a folder, from ``question_answer``; an InputError where it is none."""
    return _TRUTHS[TASK_OF[folder]](value)


def _word(value: object) -> str:
    if isinstance(value, str | int) and not isinstance(value, bool) and str(value).strip():
        return spelled(str(value).strip())
    raise wrong("question_answer", value, "a word or a number")


def _words(value: object) -> tuple[str, ...]:
    parts = value if isinstance(value, list) else [word for word in _word(value).strip("# ").split(";") if word.strip()]
    if not parts:
        raise wrong("question_answer", value, "at least one word")
    return tuple(map(_word, parts))


def _captions(value: object) -> tuple[str, ...]:
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, list) or not texts or not all(isinstance(item, str) and item.strip() for item in texts):
        raise wrong("question_answer", value, "a caption, or a list of them")
    return tuple(" ".join(item.split()) for item in texts)


def _counts(value: object) -> dict[str, int]:
    if not isinstance(value, dict) or not value:
        raise wrong("question_answer", value, "an object of class to count")
    return {str(name): _integer(count, least=1) for name, count in value.items()}


def _indices(value: object) -> tuple[int, ...]:
    if not isinstance(value, list):
        raise wrong("question_answer", value, "a list of indices from 0")
    return tuple(_integer(index, least=0) for index in value)


def _integer(value: object, *, least: int) -> int:
    integer = value
    if isinstance(value, str) and value.isascii() and value.strip().isdigit() and len(value) <= _MOST_DIGITS:
        integer = int(value)
    if isinstance(integer, bool) or not isinstance(integer, int) or not least <= integer <= _LARGEST:
        raise wrong("question_answer", value, f"whole numbers from {least} to {_LARGEST:,}")
    return integer


def _boxes(value: object) -> SoundingBoxes:
    size, boxes = _sized(value)
    class_boxes = [(_class(name), _corners(box)) for name, box in boxes.items()]
    if not class_boxes:
        raise wrong("question_answer", value, "at least one box")
    return SoundingBoxes(width=size[0], height=size[1], boxes=tuple(class_boxes))


def _class(name: str) -> str:
    head, mark, digits = name.rpartition("_")
    return head if mark and digits.isdigit() else name


def _frames(value: object) -> FrameBoxes:
    size, boxes = _sized(value)
    numbered = {name: _FRAME.fullmatch(name) for name in boxes}
    if not boxes or any(match is None for match in numbered.values()):
        raise wrong("question_answer", list(boxes), "frame_0, frame_1 and so on")
    ordered = sorted(boxes, key=lambda name: int(name.removeprefix("frame_")))
    if [int(name.removeprefix("frame_")) for name in ordered] != list(range(len(boxes))):
        raise InputError("frames are missing from the truth", expected="frame_0, frame_1 and so on, without a gap")
    return FrameBoxes(
        width=size[0],
        height=size[1],
        boxes=tuple(None if boxes[name] is None else _corners(boxes[name]) for name in ordered),
    )


def _sized(value: object) -> tuple[tuple[float, float], Mapping[str, Any]]:
    """Size of the picture, (width, height), and its boxes."""
    if not isinstance(value, dict):
        raise wrong("question_answer", value, "an object with original_wh and bbox")
    original_wh, boxes = value.get("original_wh"), mapping(value, "bbox")
    if boxes is None or not isinstance(original_wh, list) or len(original_wh) != 2:
        raise wrong("question_answer", list(value), "original_wh [width, height] and bbox")
    width, height = (number({"original_wh": side}, "original_wh", low=1, high=_LARGEST) for side in original_wh)
    if width is None or height is None:
        raise wrong("original_wh", original_wh, "[width, height]")
    return (width, height), boxes


def _corners(value: object) -> FourNumbers:
    """Corner, width and height in pixels as two corners (Eqs. 21, 45)."""
    given = value if isinstance(value, list) and len(value) == 4 else []
    numbers = [number({"bbox": one}, "bbox", low=-_LARGEST, high=_LARGEST) for one in given]
    known = [one for one in numbers if one is not None]
    if len(known) != 4:
        raise wrong("bbox", value, "[x, y, width, height] in pixels")
    x, y, width, height = known
    if width <= 0 or height <= 0:
        raise wrong("bbox", str(value), "width and height above 0")
    return x, y, x + width, y + height


_TRUTHS: Final[Mapping[str, Callable[[object], AviTruth]]] = {
    **dict.fromkeys(("AVM", "AVH", "VAH", "AVQA", "ASQA", "VSQA"), _word),
    "AVSQA": _words,
    "AVC": _captions,
    "AMIC": _counts,
    "VMIC": _counts,
    "VAR": _indices,
    "AVR": _indices,
    "AVL": _boxes,
    "AVLG": _frames,
}


# --- the release's own words ---

_WORDS: Final = read_shipped("cases/avi_release.json")
"""``options`` are words by folder and key; ``numbers`` are keys that are in its table no more: a number is asked for.

``unlisted`` is the key of the classes that a folder's prompt lists, so that an entry need not; ``prompted`` are folders
with a prompt under a key, ``prompt_`` and the folder's name; ``misspelled`` are words and how they are written.
"""


def spelled(word: str) -> str:
    """A word without the release's misspelling."""
    return str(_WORDS["misspelled"].get(word.strip().casefold(), word))


def options_of(folder: str, key: str) -> Sequence[str] | None:
    """What a key of options means in a folder, empty where a number is asked for; None where it is no key there."""
    listed: Sequence[str] | None = _WORDS["options"].get(folder, {}).get(key)
    return () if key in _WORDS["numbers"] else listed


def unlisted(folder: str) -> Sequence[str]:
    """The classes that a folder's prompt lists itself, empty for all others."""
    return options_of(folder, _WORDS["unlisted"].get(folder, "")) or ()


def is_prompt(folder: str, key: str) -> bool:
    """Whether a text is a folder's key of a prompt."""
    return folder in _WORDS["prompted"] and key == f"prompt_{folder.lower()}"
