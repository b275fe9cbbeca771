"""Questions that were asked in vain, by their keys: a failure is told from what was never asked."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from auscult.record.folder import RunFolder
from auscult.record.lines import dump, read_lines

FILE: Final = "unanswered.jsonl"
"""A row for every question that got no answer, or one that could not be scored; a later answer goes before it."""


def vain_keys(folder: Path) -> frozenset[str] | None:
    """Keys of the questions of a record that were asked in vain; None where a version that told none made it.

    Raises:
        RecordError: The file is damaged.
    """
    path = folder / FILE
    return frozenset(str(row.get("key")) for row in read_lines(path)) if path.is_file() else None


def vain_row(key: str, place: tuple[str, str, str]) -> dict[str, Any]:
    """The row of a question of model, condition and case."""
    model, condition, case = place
    return {"key": key, "model": model, "condition": condition, "id": case}


def begin(run: RunFolder, rows: Iterable[dict[str, Any]] = ()) -> None:
    """Make the file, where there is none.

    Args:
        run: The record.
        rows: What is known to have failed before.

    Raises:
        OutputError: It cannot be written.
    """
    run.write_bytes(FILE, b"".join(dump(row) + b"\n" for row in rows))
