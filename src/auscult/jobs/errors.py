"""The errors of a run: each is kept once, however often the run is resumed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from auscult.errors import AuscultError, ErrorRecord
from auscult.record.folder import RunFolder
from auscult.record.lines import dump
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
