"""The rows of a run: errors, each kept once however often it is resumed, and columns of a record, checked when read."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from auscult.cases.ids import natural_key
from auscult.errors import AuscultError, ErrorRecord, RecordError
from auscult.record.codec import dump
from auscult.record.folder import RunFolder
from auscult.record.schema import error_to_json
from auscult.types import Item

FILE = "errors.jsonl"

_HINT = "correct the item and give the same command again, or leave the item out; the others are not affected"


class ErrorLog:
    """Appends error rows to a record, leaving out what it already says."""

    def __init__(self, run: RunFolder) -> None:
        self._run = run
        self._known = {_key(row) for row in run.lines(FILE)}

    def keep(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Append the rows that are not on record yet."""
        fresh = []
        for row in rows:
            if _key(row) not in self._known:
                self._known.add(_key(row))
                fresh.append({**row, "hint": row.get("hint") or _HINT})
        if fresh:
            self._run.append_many(FILE, fresh)

    def rewrite(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Let the record say these rows and no others."""
        kept = {_key(row): row for row in rows}
        if kept:
            self._run.write_bytes(FILE, b"".join(dump(dict(row)) + b"\n" for row in kept.values()))
        else:
            self._run.remove(FILE)
        self._known = set(kept)


def _key(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return row.get("id"), row.get("path"), row.get("line"), row.get("stage"), row.get("error")


def failed_row(item: Item, error: AuscultError, stage: str) -> dict[str, Any]:
    """The row of an item's error; it names the line of INPUT where the error names no file itself."""
    record = ErrorRecord.of(error, stage)
    if record.path is None and item.source is not None:
        record = replace(record, path=str(item.source), line=item.line)
    return error_to_json(item.id, record)


_DAMAGED = "the file was damaged or edited; judge again into another --out"


def column(rows: Iterable[Mapping[str, Any]], key: str, *, path: Path) -> dict[str, Any]:
    """One key of each row, by the row's id; of two rows with one id the later counts."""
    found = {}
    for row in rows:
        if not isinstance(row.get("id"), str) or key not in row:
            raise RecordError(
                f"a row lacks 'id' or {key!r}", expected=f"rows of id and {key}", hint=_DAMAGED, path=path
            )
        found[row["id"]] = row[key]
    return found


def in_order(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Rows by the natural order of their ids: the lines of a record stand in the order in which workers were done."""
    return sorted((dict(row) for row in rows), key=lambda row: natural_key(str(row["id"])))


def pictures(rows: Iterable[Mapping[str, Any]], *, path: Path) -> dict[str, bytes]:
    """The bytes of the pictures in ``thumbnails.jsonl``, by id."""
    texts = column(rows, "jpeg", path=path)
    try:
        return {name: b64decode(text) for name, text in texts.items()}
    except (ValueError, TypeError) as error:
        raise RecordError("a row holds no picture", expected="base64 of a JPEG", hint=_DAMAGED, path=path) from error


def known(rows: Iterable[Mapping[str, Any]], *, path: Path) -> list[Mapping[str, Any]]:
    """The rows of ``truth.jsonl``: each has an id, ``iou`` is a number or null, labels are texts or null.

    Raises:
        RecordError: One is not so.
    """
    found = []
    for row in rows:
        labels = (row.get("defect"), row.get("action"), row.get("difficulty"))
        texts = all(isinstance(text, str | None) for text in labels) and isinstance(row.get("cluster"), str | None)
        if not isinstance(row.get("id"), str) or not _is_share(row.get("iou")) or not texts:
            raise RecordError(
                "a row is no truth", expected="id, iou (0..1 or null), defect, action", hint=_DAMAGED, path=path
            )
        found.append(row)
    return found


def _is_share(value: object) -> bool:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return value is None or (number and 0 <= value <= 1)  # type: ignore[operator]
