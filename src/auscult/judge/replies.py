"""Verdicts of any model as a judge: replies that lie in files, or a program that is asked for each.

A reply names the IoU and the type of a mask, and the action if it likes, in the tags of MQA-RefAVS (App. G.4) or as a
JSON object; what stands around them is its reasoning::

    <audit> A part of the ear is missing. The IoU with GT is <iou> 0.8731 </iou>, its mask type belongs to
    <mask_type> erode </mask_type>, and the recommended action is <action> Minor Revision </action> </audit>

    {"iou": 0.8731, "mask_type": "erode", "action": "minor_revision"}

What is read how, and that nothing else is:

==========================================  ==========================================================================
in the reply                                is read as
==========================================  ==========================================================================
``<IOU>.87</iou>``, ``&lt;iou&gt;``         .87: capitals, spaces and code fences do not matter
``<mask> Full-Neg </mask>``                 full_neg, as in ``<mask_type>``
``87 %``                                    .87; 87 without the sign, 1.7, -.1, nan and 0,87 are no IoU
``.8-.9``, ``about .8``, ``not perfect``    no value: a range, or words around a value, name none
``<iou> .87, its type is <mask> erode``     .87 and erode: a tag that is not closed holds what stands up to a comma,
                                            semicolon, full stop, the line's end or the next tag
two IoUs, types or actions                  no value where they differ; placeholders beside a value do not matter
tags in tags, or in JSON                    each tag by itself; one with tags in place of its value has none
``<think> ... </think>``                    drafts: what follows the last ``</think>`` counts; nothing where it is cut
JSON among prose                            every object with such keys; a key that stands twice has both values
prose, a refusal, another language          no verdict
``<target>``, ``<distractor>``              short phrases, or none; they decide nothing
==========================================  ==========================================================================

Nothing is guessed: a reply without an IoU from 0 to 1 or without one of the six types raises ``InputError``, and has no
score. Replies are text of strangers: bounded, and never run.

A reply gives neither an interval nor probabilities: the ends are None, and the type it names has probability 1. What it
looked at is not known, so that no evidence is claimed. A mask without a pixel is ``empty`` by rule, without a reply.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

from auscult.errors import InputError, NothingToDo
from auscult.judge.masks.shared import check, nothing_segmented
from auscult.media.frames import stored_png
from auscult.media.limits import Limits
from auscult.media.masks import encode_mask
from auscult.media.paths import inside, read_bytes, write_bytes
from auscult.record.digest import digest_json
from auscult.types import ACTIONS, DEFECTS, Action, Case, Defect, Evidence, Metadata, Prediction, Verdict
from auscult.work.chat.replies import after_thought
from auscult.work.line_program import LineProgram, shown

T = TypeVar("T")

MOST_CHARACTERS: Final = 262_144
"""Of one reply."""

_SUFFIXES: Final = (".txt", ".json", ".md")
_MOST_FILES: Final = 1_000_000
_LIMITS: Final = Limits(max_bytes=4 * MOST_CHARACTERS)
_FILE_LIMITS: Final = Limits(max_bytes=1 << 30)
_MOST_REASON: Final = 300
_SHOWN: Final = 60

EXPECTED: Final = (
    "<iou> 0.87 </iou>, <mask_type> one of "
    + ", ".join(DEFECTS)
    + ' </mask_type> and, if wanted, <action> ... </action>; or JSON {"iou": 0.87, "mask_type": "erode"}'
)
_ANSWERS: Final = 'for each question one line: {"id": ..., "reply": "<iou>..."}, or the keys iou, mask_type and action'
_FIX: Final = "correct the reply, or ask the model again; the other items are not affected"

_KEYS: Final = {
    "iou": "iou",
    "mask_type": "type",
    "masktype": "type",
    "mask": "type",
    "defect": "type",
    "action": "action",
    "target": "target",
    "distractor": "distractor",
}
_PHRASES: Final = ("target", "distractor")
_NO_PHRASE: Final = frozenset({"", "none", "null", "n/a", "nothing", "-", "target", "distractor"})
_TAGS: Final = re.compile(
    r"<{1,2}\s{0,9}(iou|mask[ _-]?type|mask|action|target|distractor)\s{0,9}>{1,2}([^<>]{0,200})"
    r"(<{1,2}\s{0,9}/\s{0,9}\1\s{0,9}>{1,2})?",
    re.IGNORECASE,
)
_OWN_TAG: Final = re.compile(r"<{1,2}\s{0,9}/?\s{0,9}(iou|mask|action|target|distractor|audit)", re.IGNORECASE)
_END_OF_VALUE: Final = re.compile(r"[,;\n]|\.(?!\d)")
_ANY_TAG: Final = re.compile(r"<{1,2}[^<>]{1,20}>{1,2}")
_AROUND: Final = " \t\r\n\u00a0\"'`*"
_NUMBER: Final = re.compile(r"(\d{1,3}(?:\.\d{0,17})?|\.\d{1,17})\s?(%?)")
_MOST_OBJECTS: Final = 64
_ENDS: Final = (".", "!", "?", "…", "。", "！", "？")
_CLOSING: Final = " \"'”’»)]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What a reply says."""

    iou: float  # 0..1
    defect: Defect
    action: Action | None  # None where it names none
    reason: str  # its words without the tags, shortened; may be empty
    target: str | None = None  # what was meant, a short phrase
    distractor: str | None = None  # what was segmented instead

    @property
    def rationale(self) -> str:
        """The reason as a sentence that ends, since cascades, checks and policies add theirs to it."""
        words = self.reason or "The reply gives no reason."
        return words if words.rstrip(_CLOSING).endswith(_ENDS) else f"{words}."


def read_reply(content: str | Mapping[str, Any]) -> Reply:
    """Read a reply, as text or as the JSON object of a line; ``InputError`` says what it lacks."""
    text = content if isinstance(content, str) else content.get("reply", content)
    if isinstance(text, Mapping):
        if text.get("error") is not None and "iou" not in text:
            raise InputError(f"the reply is an error: {shown(text['error'])}", hint=_FIX)
        return _reply(_members([text]), reason=_reason([text]))
    if not isinstance(text, str) or len(text) > MOST_CHARACTERS:
        raise _wrong(f"the reply is longer than {MOST_CHARACTERS:,} characters, or is no text")
    text = after_thought(text.replace("&lt;", "<").replace("&gt;", ">"))
    objects = list(_objects(text))
    tagged = [(_key(tag[1]), tag[2] if tag[3] else _open_value(tag)) for tag in _TAGS.finditer(text)]
    prose = next((text[: tag.start()] for tag in _TAGS.finditer(text) if _key(tag[1]) in _PHRASES), text)
    words = " ".join(_ANY_TAG.sub(" ", _TAGS.sub(lambda match: f" {match[2]} ", prose)).split())
    return _reply([*tagged, *_members(objects)], reason=_reason(objects) if objects else words)


def _reason(objects: Iterable[Mapping[str, Any]]) -> str:
    return next((str(part[key]) for part in objects for key in ("rationale", "reason", "reasoning") if key in part), "")


def _reply(pairs: Iterable[tuple[str, object]], *, reason: str) -> Reply:
    values: dict[str, list[object]] = {name: [] for name in dict.fromkeys(_KEYS.values())}
    for key, value in pairs:
        if value is not None:
            values[key].append(value)
    iou = _agreed(values["iou"], _iou, what="IoU")
    defect: Defect | None = _agreed(values["type"], _one_of(DEFECTS), what="mask type")
    if iou is None or defect is None:
        raise _wrong(f"the reply names no {'IoU' if iou is None else 'mask type'}")
    action: Action | None = _agreed(values["action"], _one_of(ACTIONS), what="action")
    phrases = {name: _phrase(values[name]) for name in _PHRASES}
    return Reply(iou=iou, defect=defect, action=action, reason=printable(reason, _MOST_REASON), **phrases)


def printable(text: str, most: int) -> str:
    """A text on one line, without control characters, shortened."""
    plain = "".join(sign if sign.isprintable() else " " for sign in text[: 2 * most])
    return " ".join(plain.split())[:most]


def _phrase(values: list[object]) -> str | None:
    """The phrase that all agree on; None where there is none, or they differ."""
    phrases = {printable(value, _SHOWN).strip(f"{_AROUND}.,") for value in values if isinstance(value, str)}
    meaningful = {phrase for phrase in phrases if phrase.lower() not in _NO_PHRASE}
    return meaningful.pop() if len(meaningful) == 1 else None


def _open_value(tag: re.Match[str]) -> str:
    """The value of a tag that is not closed: what stands up to the end of its part of the sentence."""
    if tag.string.startswith("<", tag.end()) and not _OWN_TAG.match(tag.string, tag.end()):
        return ""  # a tag that is none of ours stands in the value
    words = tag[2].lstrip()
    end = _END_OF_VALUE.search(words)
    return words if end is None else words[: end.start()]


def _agreed(values: list[object], read: Callable[[object], T | None], *, what: str) -> T | None:
    """The one value that all readable ones agree on; None where there is nothing to read.

    A template that is repeated, ``<iou> IOU </iou>``, does no harm beside the reply itself.
    """
    readable = list(dict.fromkeys(value for value in map(read, values) if value is not None))
    if len(readable) > 1:
        raise _wrong(f"the reply names two values as {what}: {readable[0]} and {readable[1]}")
    if values and not readable:
        raise _wrong(f"the {what} of the reply is {str(values[0])[:_SHOWN]!a}")
    return readable[0] if readable else None


def _iou(value: object) -> float | None:
    if isinstance(value, str):
        match = _NUMBER.fullmatch(value.strip(_AROUND).rstrip("."))
        if match is None:
            return None
        value = float(match[1]) / (100 if match[2] else 1)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        return None
    return float(value)


def _one_of(names: tuple[T, ...]) -> Callable[[object], T | None]:
    by_name = {str(name): name for name in names}
    return lambda value: by_name.get(re.sub(r"[\s_-]+", "_", str(value).strip(f"{_AROUND}.,").lower()))


def _key(name: str) -> str:
    return _KEYS.get(re.sub(r"[\s_-]+", "_", name.strip().lower()), "")


def _objects(text: str) -> Iterator[dict[str, Any]]:
    """The JSON objects of a text, in code fences or among prose; those within another are its own."""
    reader, position = json.JSONDecoder(object_pairs_hook=_RepeatedKeys), 0
    for _ in range(_MOST_OBJECTS):
        position = text.find("{", position)
        if position < 0:
            return
        try:
            value, position = reader.raw_decode(text, position)
        except (ValueError, RecursionError):
            position += 1
        else:
            yield value


class _RepeatedKeys(dict[str, Any]):
    """A JSON object that keeps the values of a key that it has twice."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        self.pairs = pairs


def _members(objects: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, object]]:
    for entry in objects:
        pairs = entry.pairs if isinstance(entry, _RepeatedKeys) else entry.items()
        yield from ((key, value) for name, value in pairs if (key := _key(name)))


def _wrong(message: str) -> InputError:
    return InputError(message, expected=EXPECTED, hint=_FIX)


def _verdict(reply: Reply, case: Case, judge: str) -> Verdict:
    return Verdict(
        id=case.id,
        iou=reply.iou,
        iou_low=None,
        iou_high=None,
        defect=reply.defect,
        defect_probs={name: float(name == reply.defect) for name in DEFECTS},
        evidence=Evidence(),
        rationale=reply.rationale,
        judge=judge,
        own_action=reply.action,
        target=reply.target,
        distractor=reply.distractor,
    )


class FileJudge:
    """A judge whose replies lie in a folder, a file an item, or in a file of JSON lines.

    ``<id>.txt``, ``.json`` or ``.md`` holds the reply to the item of that id, in folders where the id has ``/``; a line
    is ``{"id": ..., "reply": "..."}``, or has the keys of a JSON reply.
    """

    meta = Metadata(
        summary="replies of a model of yours, from files",
        goal="measures any model that judges masks",
        modality="mask",
        source="MQA-RefAVS, App. G.4: the tags",
        truth="none is read",
    )

    def __init__(self, source: Path, name: str) -> None:
        self.name = name
        self._source = source
        self._lines = dict[str, list[Any]]()  # by what a case is called
        self._files = dict[str, list[str]]()
        self._example = ""
        self._broken = list[int]()
        if source.is_dir():
            self._list_files()
        else:
            self._read_lines()

    def __call__(self, case: Case, prediction: Prediction) -> Verdict:
        """The verdict that the reply to this item gives; ``InputError`` where there is none or it cannot be read."""
        check(case, prediction)
        if not prediction.mask.any():
            return nothing_segmented(case.id, self.name)
        replies = self._replies(case.id)
        read = list(dict.fromkeys(read_reply(reply) for reply in replies))
        if len(read) > 1:
            raise InputError(f"there are {len(replies)} replies to this item, and they differ", path=self._source,
                             expected="one reply an item", hint="remove those that do not count")  # fmt: skip
        return _verdict(read[0], case, self.name)

    def _replies(self, case: str) -> list[Any]:
        lines, files = self._lines.get(case, []), self._files.get(case, [])
        if not lines and not files:
            broken = f"; line {self._broken[0]} is no JSON object with an id" if self._broken else ""
            raise InputError(
                f"there is no reply to this item{broken}",
                expected="a file <id>.txt, or a line with its id, in the replies",
                hint=f"ids are as in the record; one reply has {self._example!a}" if self._example else _FIX,
                path=self._source,
            )
        paths = [inside(self._source, name) for name in files]
        return [*lines, *(read_bytes(path, limits=_LIMITS).decode("utf-8", "replace") for path in paths)]

    def _list_files(self) -> None:
        for folder, _, names in os.walk(self._source):
            for name in names:
                relative = os.path.relpath(os.path.join(folder, name), self._source)  # noqa: PTH118 - faster by far
                stem, suffix = os.path.splitext(relative)  # noqa: PTH122
                key = stem if suffix.lower() in _SUFFIXES else relative
                self._files.setdefault(digest_json(key), []).append(relative)
                self._example = self._example or key
            if len(self._files) > _MOST_FILES:
                raise InputError(f"there are more than {_MOST_FILES:,} replies", path=self._source)
        if not self._files:
            raise _nothing(self._source)

    def _read_lines(self) -> None:
        for number, line in enumerate(read_bytes(self._source, limits=_FILE_LIMITS).splitlines(), start=1):
            if not line.strip():
                continue
            try:
                row = json.loads(line, object_pairs_hook=_RepeatedKeys) if len(line) <= _LIMITS.max_bytes else None
            except (ValueError, RecursionError):
                row = None
            if not isinstance(row, dict) or not isinstance(row.get("id"), str):
                self._broken.append(number)
                continue
            self._lines.setdefault(digest_json(row["id"]), []).append(row)
            self._example = self._example or row["id"][:_SHOWN]
        if not self._lines:
            raise _nothing(self._source)


def _nothing(source: Path) -> NothingToDo:
    return NothingToDo(
        "there is no reply in it",
        path=source,
        expected='files <id>.txt, or lines {"id": ..., "reply": "..."}',
        hint="name the folder, or the .jsonl file, that holds the replies",
    )


class ProgramJudge:
    """A judge that asks a program: a line of JSON for each mask, and a line of JSON as its reply.

    The question is ``{"id", "frame", "mask", "text"}``: paths of two PNG files, of the frame and of the mask (white on
    black), and the expression or null. The answer is ``{"id", "reply": "..."}``, or the keys of a JSON reply, or
    ``{"id", "error": "why"}``.
    """

    meta = Metadata(
        summary="a program of yours that judges masks",
        goal="measures any model that judges masks",
        modality="mask",
        source="MQA-RefAVS, App. G.4: the tags",
        truth="none is read",
    )

    def __init__(self, program: LineProgram, name: str) -> None:
        self.name = name
        self._program = program

    @classmethod
    def start(cls, words: tuple[str, ...], name: str) -> ProgramJudge:
        """Start the program."""
        return cls(LineProgram(words, name=name, answers=_ANSWERS), name)

    def __call__(self, case: Case, prediction: Prediction) -> Verdict:
        """Ask the program about one candidate."""
        check(case, prediction)
        if not prediction.mask.any():
            return nothing_segmented(case.id, self.name)
        with tempfile.TemporaryDirectory(prefix="auscult-ask-", ignore_cleanup_errors=True) as folder:
            frame, mask = Path(folder, "frame.png"), Path(folder, "mask.png")
            write_bytes(frame, stored_png(case.frame))
            write_bytes(mask, encode_mask(prediction.mask))
            question = {
                "id": self._program.key(case.id),
                "frame": str(frame),
                "mask": str(mask),
                "text": case.query.text,
            }
            answer = self._program.ask(question, most_bytes=8 * MOST_CHARACTERS)
        return _verdict(read_reply(answer), case, self.name)
