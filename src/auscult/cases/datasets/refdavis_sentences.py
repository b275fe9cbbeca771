"""The sentences of Ref-DAVIS, from the released text files or from an ``expressions.json``.

A line of ``davis_text_annotations/Davis17_annot1.txt`` is ``<video> <object> "<sentence>"``; some files are UTF-8, some
Latin-1, so that each line is decoded by itself. Three videos are misspelt in them, which is put right. In
``Davis16_annot*.txt`` the object is the whole foreground, and its number may be left out.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from auscult.cases import fields
from auscult.cases.datasets.ytvos_meta import index_of
from auscult.cases.datasets.ytvos_videos import at, check_name
from auscult.cases.ids import check_id, shown
from auscult.cases.strict_json import BOM, load
from auscult.errors import ErrorRecord, InputError, NothingToDo
from auscult.media.limits import Limits
from auscult.media.paths import read_bytes

FOREGROUND: Final = "foreground"
NULL: Final = "null"
FILE: Final = "expressions.json"
TEXTS: Final = re.compile(r"^Davis(16|17)_(annot[0-9]{1,2}(?:_full_video)?)\.txt$")

_MAX_BYTES = 16 * 1024 * 1024
_MAX_LINE = 4096
_LINE = re.compile(r"^(\S+)\s+([0-9]{1,3})\s+(\S.*)$")
_UNNUMBERED = re.compile(r"^(\S+)\s+(?:[0-9]{1,3}\s+)?(\S.*)$")
_QUOTES = "\"'`\u201c\u201d\u2018\u2019"
_MISSPELT = {"clasic-car": "classic-car", "dog-scale": "dogs-scale", "motor-bike": "motorbike"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentence:
    """A sentence about a video.

    Attributes:
        id: Unique in its file: ``<video>/<object>/<annotator or number>``.
        video: The video.
        text: The words.
        index: The object it refers to; None for the whole foreground, or for nothing.
        absent: It refers to nothing in the video.
        kind: What the file calls its kind; empty where it does not.
        file: The file.
        line: The line, from 1; None in a JSON file.
    """

    id: str
    video: str
    text: str
    index: int | None
    absent: bool = False
    kind: str = ""
    file: Path
    line: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentences:
    """What a file holds, in its order, ids unique; and what of it cannot be used."""

    rows: tuple[Sentence, ...]
    errors: tuple[ErrorRecord, ...]


def read_texts(path: Path) -> Sentences:
    """Read a released text file.

    Raises:
        NothingToDo: It cannot be read, is over 16 MB, or has another name than those released.
    """
    named = TEXTS.match(path.name)
    if named is None:
        raise NothingToDo("the file has another name", expected="Davis17_annot1.txt and the like", path=path)
    try:
        data = read_bytes(path, limits=Limits(max_bytes=_MAX_BYTES)).removeprefix(BOM)
    except InputError as error:
        raise NothingToDo(error.message, expected=error.expected, hint=error.hint, path=path) from error
    rows: list[Sentence] = []
    errors: list[ErrorRecord] = []
    seen: Counter[str] = Counter()
    for line, content in enumerate(data.split(b"\n"), start=1):
        if not content.strip():
            continue
        try:
            video, index, text = _parsed(_decoded(content), whole=named[1] == "16")
            name = f"{video}/{index or FOREGROUND}/{named[2]}"
            seen[name] += 1
            name = check_id(name if seen[name] == 1 else f"{name}#{seen[name]}")
            rows.append(Sentence(id=name, video=video, text=text, index=index, file=path, line=line))
        except InputError as error:
            errors.append(at(error, path, line=line))
    return Sentences(rows=tuple(rows), errors=tuple(errors))


def _decoded(content: bytes) -> str:
    if len(content) > _MAX_LINE:
        raise InputError(
            f"the line has {len(content):,} bytes", expected=f"at most {_MAX_LINE:,}", hint="correct or drop it"
        )
    for name in ("utf-8", "cp1252"):
        try:
            return content.decode(name).strip()
        except UnicodeDecodeError:
            continue
    return content.decode("latin-1").strip()


def _parsed(line: str, *, whole: bool) -> tuple[str, int | None, str]:
    match = (_UNNUMBERED if whole else _LINE).match(line)
    if match is None:
        raise InputError(
            f"the line is {shown(line)}", expected='<video> <object> "<sentence>"', hint="correct or drop it"
        )
    text = match[match.lastindex or 1].strip().strip(_QUOTES).strip()
    if not text or "\0" in text:
        raise InputError("the sentence is empty or holds a NUL", expected="a sentence", hint="correct or drop it")
    video = check_name(_MISSPELT.get(match[1], match[1]))
    return video, None if whole else index_of(match[2]), text


def read_expressions(path: Path) -> Sentences:
    """Read an ``expressions.json``: ``{"expressions": [{"video", "exp", "object", "referent"}]}``.

    ``object`` is an index of the palette masks, ``"foreground"`` for all that is drawn, or null for a sentence that
    refers to nothing; ``referent`` repeats whether it refers to anything.

    Raises:
        NothingToDo: It cannot be read, is not JSON, is over 16 MB, or has no expressions.
    """
    data = load(path, max_bytes=_MAX_BYTES)
    rows = data.get("expressions") if isinstance(data, dict) else None
    if not isinstance(rows, list):
        raise NothingToDo("there is no list 'expressions'", expected='{"expressions": [{...}]}', path=path)
    found: list[Sentence] = []
    errors: list[ErrorRecord] = []
    seen: Counter[str] = Counter()
    for place, row in enumerate(rows, start=1):
        try:
            one = _expression(row, path)
            seen[one.id] += 1
            found.append(replace(one, id=check_id(f"{one.id}/{seen[one.id]}")))
        except InputError as error:
            errors.append(at(error, path, key=f"expression {place}"))
    return Sentences(rows=tuple(found), errors=tuple(errors))


def _expression(row: object, file: Path) -> Sentence:
    if not isinstance(row, dict):
        raise InputError(f"it is {fields.kind(row)}", expected="an object with video, exp and object")
    video = check_name(fields.required(row, "video"))
    text = fields.required(row, "exp").strip()
    if not text:
        raise InputError("'exp' is empty", expected="'exp' is a sentence", hint="correct or drop it")
    if "object" not in row:
        raise InputError("there is no 'object'", expected=f'an index, "{FOREGROUND}" or null', hint="add 'object'")
    value = row["object"]
    referent = row.get("referent", value is not None)
    if not isinstance(referent, bool) or referent != (value is not None):
        raise InputError(
            f"'referent' is {fields.kind(referent)} where 'object' is {fields.kind(value)}",
            expected="'referent' is true where 'object' names something, false where it is null",
            hint="correct one of the two",
        )
    index = None if value is None or value == FOREGROUND else index_of(value)
    return Sentence(
        id=f"{video}/{NULL if value is None else index or FOREGROUND}",
        video=video,
        text=text,
        index=index,
        absent=value is None,
        kind=(fields.text(row, "kind") or "").strip(),
        file=file,
    )


def splits_in(folder: Path) -> Iterator[tuple[str, str]]:
    """The videos of ``train.txt`` and ``val.txt`` in a folder, each with its split."""
    for split in ("train", "val"):
        try:
            data = read_bytes(folder / f"{split}.txt", limits=Limits(max_bytes=_MAX_BYTES))
        except InputError:
            continue
        for line in data.decode("utf-8", "replace").splitlines():
            if line.strip():
                yield line.strip(), split
