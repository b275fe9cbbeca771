"""The JSON files of MQ-RAVSBench as documents: every known key checked, every unknown one kept."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from auscult.cases import fields
from auscult.cases.ids import check_id, shown
from auscult.cases.layouts.mqravs import FULL, GT, NOT_PARTS, NULL, PART, Candidate, Document, Entry, Protocol, Shown
from auscult.cases.strict_json import load
from auscult.errors import ErrorRecord, InputError, NothingToDo

MAX_FILE_BYTES = 1024 * 1024 * 1024

_ENTRY = ("uid", "vid", "exp", "kfid")
_SHOWN = ("image_path", GT, PART, FULL, NULL)
_MASK = ("mask_path", "iou_to_gt", "rank", "action", "response")
_MAX_NUMBER = (1 << 31) - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """A document, and the entries that cannot be used: (uid or None, record)."""

    document: Document
    errors: tuple[tuple[str | None, ErrorRecord], ...]


def read_document(path: Path, *, protocol: Protocol | None = None) -> Read:
    """Read one file.

    Args:
        path: The file.
        protocol: What its name says; None to tell it from the entries, of which video entries have ``frames``.

    Raises:
        NothingToDo: It cannot be read, is not JSON, or holds no list or object of entries.
    """
    data = load(path, max_bytes=MAX_FILE_BYTES)
    if not isinstance(data, dict | list):
        raise NothingToDo(f"the file holds {fields.kind(data)}", expected="a list or an object of entries", path=path)
    rows = list(data.items()) if isinstance(data, dict) else [(None, row) for row in data]
    if protocol is None:
        videos = any(isinstance(row, dict) and isinstance(row.get("frames"), list) for _, row in rows)
        protocol = "video" if videos else "image"
    entries: list[Entry] = []
    errors: list[tuple[str | None, ErrorRecord]] = []
    for place, (key, row) in enumerate(rows, start=1):
        try:
            entries.append(_entry(key, row, protocol))
        except InputError as error:
            name = shown(key) if isinstance(key, str) else _uid_or_place(row, place)
            at = InputError(f"entry {name}: {error.message}", expected=error.expected, hint=error.hint, path=path)
            errors.append((None, ErrorRecord.of(at, "read")))
    document = Document(protocol=protocol, entries=tuple(entries), keyed=isinstance(data, dict))
    return Read(document=document, errors=tuple(errors))


def _uid_or_place(row: object, place: int) -> str:
    uid = row.get("uid") if isinstance(row, dict) else None
    return shown(uid) if isinstance(uid, str) else str(place)


def _entry(key: str | None, row: object, protocol: Protocol) -> Entry:
    if not isinstance(row, dict):
        raise InputError(f"it is {fields.kind(row)}", expected="an object with masks")
    inside = fields.text(row, "uid")
    uid = inside or key
    if not uid:
        raise InputError("there is no 'uid'", expected="'uid' is a text")
    if protocol == "video":
        frames = row.get("frames")
        if not isinstance(frames, list):
            raise fields.wrong("frames", frames, "a list of frames with masks")
        shown_here = tuple(_shown(frame, numbered=True) for frame in frames)
        more = _more(row, (*_ENTRY, "frames"))
    else:
        shown_here, more = (_shown(row, numbered=False),), {}
    return Entry(
        uid=check_id(uid),
        vid=fields.text(row, "vid"),
        exp=fields.text(row, "exp"),
        kfid=_whole(row, "kfid"),
        shown=shown_here,
        inside=inside is not None,
        more=more,
    )


def _shown(row: object, *, numbered: bool) -> Shown:
    if not isinstance(row, dict):
        raise InputError(f"a frame is {fields.kind(row)}", expected="an object with masks")
    known = (*_SHOWN, "frame") if numbered else (*_SHOWN, *_ENTRY)
    parts = fields.mapping(row, PART) or {}
    if not NOT_PARTS.isdisjoint(parts):
        raise InputError(f"{PART} holds {', '.join(sorted(NOT_PARTS & parts.keys()))}", expected="defects of a part")
    groups: dict[str, Any] = {**{kind: _list(parts, kind) for kind in parts}, "full_neg": _list(row, FULL)}
    groups["null"] = _list(row, NULL)
    candidates = [*_true(row), *(_candidate(kind, one) for kind, group in groups.items() for one in group)]
    empty = [name for name in (GT, PART, FULL, NULL) if name in row and row[name] is not None and not row[name]]
    return Shown(
        frame=_whole(row, "frame") if numbered else None,
        image=fields.text(row, "image_path"),
        candidates=tuple(candidates),
        empty=(*empty, *(kind for kind in parts if not parts[kind])),
        more=_more(row, known),
    )


def _true(row: Mapping[str, Any]) -> Iterator[Candidate]:
    value = row.get(GT)
    if isinstance(value, str) and value:
        yield Candidate(kind="perfect", mask=value, bare=True)
    elif value is not None and value != {}:
        yield _candidate("perfect", value)


def _candidate(kind: str, row: object) -> Candidate:
    if not isinstance(row, dict):
        raise InputError(f"a mask of {shown(kind)} is {fields.kind(row)}", expected="an object with mask_path")
    return Candidate(
        kind=kind,
        mask=fields.required(row, "mask_path"),
        iou=fields.number(row, "iou_to_gt", low=0.0, high=1.0),
        rank=_whole(row, "rank"),
        action=fields.text(row, "action"),
        response=fields.text(row, "response"),
        more=_more(row, _MASK),
    )


def _list(row: Mapping[str, Any], key: str) -> list[Any]:
    value = row.get(key)
    if value is None:
        return []
    if not isinstance(value, list):
        raise fields.wrong(key, value, "a list of masks")
    return value


def _whole(row: Mapping[str, Any], key: str) -> int | None:
    value = row.get(key)
    if value is None:
        return None
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= 9:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= _MAX_NUMBER:
        raise fields.wrong(key, row.get(key), "a whole number, 0 or more")
    return value


def _more(row: Mapping[str, Any], known: tuple[str, ...]) -> dict[str, Any]:
    """What the file says beside the known keys; a known key that is null is kept as well."""
    return {key: value for key, value in row.items() if key not in known or value is None}
