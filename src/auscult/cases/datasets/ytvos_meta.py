"""``meta.json`` and ``meta_expressions.json`` of YouTube-VOS: every key checked, a bad entry costs itself."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from auscult.cases import fields
from auscult.cases.datasets.ytvos_videos import LAST_INDEX, at, check_name
from auscult.cases.ids import check_id, shown
from auscult.cases.strict_json import load
from auscult.errors import ErrorRecord, InputError, NothingToDo

MAX_FILE_BYTES = 64 * 1024 * 1024

RowT = TypeVar("RowT")


@dataclass(frozen=True, slots=True, kw_only=True)
class Thing:
    """An object of a video.

    Attributes:
        index: Its index in the palette masks, from 1.
        category: Its category; empty where not told.
        frames: The frames it is annotated in, or is to be predicted in; empty where not told.
    """

    index: int
    category: str = ""
    frames: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentence:
    """An expression about a video.

    Attributes:
        id: Its key, unique in the video.
        text: The words.
        index: The object it refers to; None where the release keeps that to itself.
    """

    id: str
    text: str
    index: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Told(Generic[RowT]):
    """What a file says of a video.

    Attributes:
        video: Its name.
        rows: Its objects, or its expressions.
        frames: The frames of the video; empty where not told.
    """

    video: str
    rows: tuple[RowT, ...]
    frames: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Meta(Generic[RowT]):
    """What a file says, in its order, and what of it cannot be used."""

    file: Path
    videos: tuple[Told[RowT], ...]
    errors: tuple[ErrorRecord, ...] = ()


def read_things(path: Path) -> Meta[Thing]:
    """Read the objects of every video.

    Raises:
        NothingToDo: It cannot be read, is not JSON, is over 64 MB, or has no videos.
    """
    errors: list[ErrorRecord] = []
    videos: list[Told[Thing]] = []
    for name, row in _videos(path, errors):
        found: dict[int, Thing] = {}
        for key, value in _entries(row, "objects", file=path, video=name, errors=errors):
            try:
                thing = _thing(key, value, known=found)
                found[thing.index] = thing
            except InputError as error:
                errors.append(at(error, path, key=f"video {shown(name)}, object {shown(key)}"))
        videos.append(Told(video=name, rows=tuple(found[index] for index in sorted(found))))
    return Meta(file=path, videos=tuple(videos), errors=tuple(errors))


def read_sentences(path: Path) -> Meta[Sentence]:
    """Read the expressions of every video.

    Raises:
        NothingToDo: It cannot be read, is not JSON, is over 64 MB, or has no videos.
    """
    errors: list[ErrorRecord] = []
    videos: list[Told[Sentence]] = []
    for name, row in _videos(path, errors):
        try:
            frames = _frames(row)
        except InputError as error:
            errors.append(at(error, path, key=f"video {shown(name)}"))
            continue
        found = []
        for key, value in _entries(row, "expressions", file=path, video=name, errors=errors):
            try:
                found.append(_sentence(name, key, value))
            except InputError as error:
                errors.append(at(error, path, key=f"video {shown(name)}, expression {shown(key)}"))
        videos.append(Told(video=name, rows=tuple(found), frames=frames))
    return Meta(file=path, videos=tuple(videos), errors=tuple(errors))


def index_of(value: object) -> int:
    """The index of an object, written as a number or as digits.

    Raises:
        InputError: It is none from 1 to 254.
    """
    number = int(value) if isinstance(value, str) and re.fullmatch("[0-9]{1,3}", value) else value
    if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= LAST_INDEX:
        told = shown(str(value)) if isinstance(value, str | int) else fields.kind(value)
        raise InputError(
            f"the object is {told}", expected=f"an index from 1 to {LAST_INDEX}", hint="correct or drop the entry"
        )
    return number


def _videos(path: Path, errors: list[ErrorRecord]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    data = load(path, max_bytes=MAX_FILE_BYTES)
    rows = data.get("videos") if isinstance(data, dict) else None
    if not isinstance(rows, dict):
        told = "'videos' is " + fields.kind(rows) if isinstance(data, dict) else f"the file holds {fields.kind(data)}"
        raise NothingToDo(told, expected='{"videos": {"<video>": {...}}}', path=path)
    for name, row in rows.items():
        try:
            video = _video(name, row)
        except InputError as error:
            errors.append(at(error, path, key=f"video {shown(name)}"))
            continue
        yield name, video


def _video(name: str, row: object) -> Mapping[str, Any]:
    check_id(check_name(name))
    if not isinstance(row, dict):
        raise InputError(f"it is {fields.kind(row)}", expected="an object", hint="correct or drop the video")
    return row


def _entries(
    row: Mapping[str, Any], key: str, *, file: Path, video: str, errors: list[ErrorRecord]
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    rows = row.get(key)
    if not isinstance(rows, dict):
        error = InputError(f"{key!r} is {fields.kind(rows)}", expected=f"{key!r} is an object", hint="correct the file")
        errors.append(at(error, file, key=f"video {shown(video)}"))
        return
    for name, value in rows.items():
        if isinstance(value, dict):
            yield name, value
            continue
        error = InputError(f"it is {fields.kind(value)}", expected="an object", hint="correct or drop the entry")
        errors.append(at(error, file, key=f"video {shown(video)}, {key} {shown(name)}"))


def _thing(key: str, row: Mapping[str, Any], *, known: Collection[int]) -> Thing:
    index = index_of(key)
    if index in known:
        raise InputError(f"the object {index} is there twice", expected="one entry an object", hint="drop one of them")
    return Thing(index=index, category=(fields.text(row, "category") or "").strip(), frames=_frames(row))


def _sentence(video: str, key: str, row: Mapping[str, Any]) -> Sentence:
    text = fields.required(row, "exp").strip()
    if not text:
        raise InputError("'exp' is empty", expected="'exp' is a sentence", hint="correct or drop the entry")
    check_id(f"{video}/{check_name(key)}")
    index = row.get("obj_id")
    return Sentence(id=key, text=text, index=None if index is None else index_of(index))


def _frames(row: Mapping[str, Any]) -> tuple[str, ...]:
    value = row.get("frames")
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise fields.wrong("frames", value, "a list of names")
    return tuple(dict.fromkeys(check_name(name) for name in value))
