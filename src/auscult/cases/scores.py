"""A model's own scores of its masks, from a table beside the INPUT: CSV, or JSON lines.

Only their order counts, so that any finite number will do: a confidence, a logit, a predicted IoU.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from auscult.cases.ids import counted, shown
from auscult.cases.strict_json import BOM, parse
from auscult.errors import InputError, UsageError
from auscult.media.limits import Limits
from auscult.media.paths import read_bytes
from auscult.types import Item

MAX_BYTES: Final = 256 << 20
JSON_LINES: Final = frozenset({".jsonl", ".ndjson"})

_EXPECTED: Final = "columns id,score as CSV, or JSON lines {id, score}, in UTF-8; a score is a finite number"
_FIX: Final = "correct or drop the row"
_LARGEST: Final = 1e300
_FEW: Final = 3


def with_scores(items: Sequence[Item], path: Path | None) -> tuple[tuple[Item, ...], tuple[str, ...]]:
    """Give items the scores of a table; they come before what the INPUT itself says.

    Args:
        items: The items.
        path: The table, JSON lines where the name ends in ``.jsonl`` or ``.ndjson``, else CSV; None for none.

    Returns:
        The items, and sentences on scores whose id is none of theirs and on items without a score.

    Raises:
        UsageError: The table, or a row of it, cannot be used, or none of its ids is an item's; the message names the
            line.
    """
    if path is None:
        return tuple(items), ()
    try:
        scores = _read(path)
    except InputError as error:
        raise UsageError(
            f"--scores: {error.message}",
            expected=error.expected or _EXPECTED,
            hint=error.hint,
            path=error.path or path,
            line=error.line,
        ) from error
    known = {item.id for item in items}
    unknown = [name for name in scores if name not in known]
    if items and len(unknown) == len(scores):
        raise UsageError(
            f"--scores: {'no row has a score' if not scores else 'none of its ids is one of the input'}",
            expected=f"ids as in the input, such as {shown(items[0].id)}",
            hint=f"the file has {shown(unknown[0])}" if unknown else "",
            path=path,
        )
    told = tuple(replace(item, model_score=scores[item.id]) if item.id in scores else item for item in items)
    return told, tuple(_said(unknown, sum(item.model_score is None for item in told)))


def _said(unknown: Sequence[str], without: int) -> Iterator[str]:
    if unknown:
        few = ", ".join(shown(name) for name in unknown[:_FEW]) + (", ..." if len(unknown) > _FEW else "")
        what = "is of an id that is none" if len(unknown) == 1 else "are of ids that are none"
        yield f"{counted(len(unknown), 'score')} {what} of the input's: {few}"
    if without:
        yield f"{counted(without, 'mask')} without a score of the model's own"


def _read(path: Path) -> dict[str, float]:
    content = read_bytes(path, limits=Limits(max_bytes=MAX_BYTES)).removeprefix(BOM)
    rows = _json_rows(content, path) if path.suffix.lower() in JSON_LINES else _csv_rows(content, path)
    scores: dict[str, float] = {}
    lines: dict[str, int] = {}
    for line, name, score in rows:
        if not isinstance(name, str) or not name:
            raise _wrong(f"'id' is {shown(str(name))}", path, line=line)
        if name in scores:
            raise _wrong(f"the id {shown(name)} has a score already, in line {lines[name]}", path, line=line)
        scores[name], lines[name] = _number(score, path, line=line), line
    return scores


def _json_rows(content: bytes, path: Path) -> Iterator[tuple[int, Any, Any]]:
    for line, text in enumerate(content.split(b"\n"), start=1):
        if text.strip():
            row = parse(text, path=path, line=line)
            if not isinstance(row, dict) or not {"id", "score"} <= row.keys():
                raise _wrong("the line is no object with id and score", path, line=line)
            yield line, row["id"], row["score"]


def _csv_rows(content: bytes, path: Path) -> Iterator[tuple[int, Any, Any]]:
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"byte {error.start + 1} is not UTF-8", path=path) from error
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    names: list[str] = []
    line = 1
    try:
        for cells in reader:
            if cells and not names:
                names = [cell.strip().lower() for cell in cells]
                if names.count("id") != 1 or names.count("score") != 1:
                    raise _wrong(f"the first row is {shown(','.join(cells))}", path, line=line)
            elif cells:
                if len(cells) != len(names):
                    raise _wrong(f"the row has {len(cells)} cells, the first row {len(names)}", path, line=line)
                yield line, cells[names.index("id")], cells[names.index("score")]
            line = reader.line_num + 1
    except csv.Error as error:
        raise _wrong(f"broken CSV: {error}", path, line=line) from error


def _number(value: Any, path: Path, *, line: int) -> float:
    """A score from a cell of CSV or a JSON value."""
    try:
        number = float(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else math.nan
    except (ValueError, OverflowError):
        number = math.nan
    if not abs(number) <= _LARGEST:
        raise _wrong(f"'score' is {shown(str(value))}", path, line=line)
    return number


def _wrong(message: str, path: Path, *, line: int) -> InputError:
    return InputError(message, expected=_EXPECTED, hint=_FIX, path=path, line=line)
