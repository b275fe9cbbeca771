"""Columns of a record's rows, checked: what was damaged or edited by hand gives an error that names the file."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from auscult.cases.ids import natural_key
from auscult.errors import RecordError

_HINT = "the file was damaged or edited; judge again into another --out"


def column(rows: Iterable[Mapping[str, Any]], key: str, *, path: Path) -> dict[str, Any]:
    """One key of each row, by the row's id; of two rows with one id the later counts."""
    found = {}
    for row in rows:
        if not isinstance(row.get("id"), str) or key not in row:
            raise RecordError(f"a row lacks 'id' or {key!r}", expected=f"rows of id and {key}", hint=_HINT, path=path)
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
        raise RecordError("a row holds no picture", expected="base64 of a JPEG", hint=_HINT, path=path) from error


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
                "a row is no truth", expected="id, iou (0..1 or null), defect, action", hint=_HINT, path=path
            )
        found.append(row)
    return found


def _is_share(value: object) -> bool:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return value is None or (number and 0 <= value <= 1)  # type: ignore[operator]
