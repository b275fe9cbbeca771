"""Referring expressions that come beside the masks: one for all, or a CSV table."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from itertools import islice
from pathlib import Path

from auscult.cases.fields import MAX_TEXT_CHARS
from auscult.cases.ids import shown
from auscult.errors import ErrorRecord, InputError, UsageError
from auscult.media.limits import Limits
from auscult.media.paths import read_bytes
from auscult.types import Item, Query

MAX_TABLE_BYTES = 64 * 1024 * 1024

_HINT = "correct or drop the row"
_FEW = 3
_MOST_COMPARED, _MOST_NAMES, _MOST_CHARS = 20, 2_000, 100
_SEPARATORS = {";": "semicolons", "\t": "tabs"}
_COLUMNS = "columns id,text or frame,text, in UTF-8"


@dataclass(frozen=True, slots=True)
class _Row:
    line: int
    name: str
    text: str


def with_texts(
    items: Sequence[Item], *, text: str | None, texts: Path | None
) -> tuple[tuple[Item, ...], tuple[tuple[str | None, ErrorRecord], ...]]:
    """Give items their expressions: the table's first, then what the INPUT says, then ``text``.

    Args:
        items: The items.
        text: For every item that has no expression.
        texts: CSV; ``id`` is an item's id, ``frame`` a picture's file name or path, with or without its ending, and
            stands for every item of that frame. A byte order mark is accepted.

    Returns:
        The items, and an error for each row of the table that names no item or names one again.

    Raises:
        UsageError: The table cannot be read as a whole.
    """
    by_id: Mapping[str, str] = {}
    errors: tuple[tuple[str | None, ErrorRecord], ...] = ()
    if texts is not None:
        by_id, errors = _table(texts, items)
    if not by_id and text is None:
        return tuple(items), errors
    return tuple(_told(item, by_id.get(item.id), text) for item in items), errors


def _told(item: Item, own: str | None, general: str | None) -> Item:
    wanted = own if own is not None else item.query.text if item.query.text is not None else general
    return item if wanted == item.query.text else replace(item, query=Query(wanted))


def _table(path: Path, items: Sequence[Item]) -> tuple[dict[str, str], tuple[tuple[None, ErrorRecord], ...]]:
    column, rows, errors = _read(path)
    known = _names(items, column)
    near = _Near(items, known, column)
    found: dict[str, str] = {}
    used: dict[str, int] = {}
    for row in rows:
        ids = known.get(row.name)
        problem, hint = "", _HINT
        if ids is None:
            problem, hint = f"{column} {shown(row.name)} is none of the input's", near.hint(row.name)
        elif row.name in used:
            problem = f"{column} {shown(row.name)} has a text already, in line {used[row.name]}, which is kept"
        if problem:
            errors.append(
                InputError(problem, expected=f"each {column} of the input once", hint=hint, path=path, line=row.line)
            )
            continue
        used[row.name] = row.line
        found.update(dict.fromkeys(ids or (), row.text))
    return found, tuple((None, ErrorRecord.of(error, "texts")) for error in errors)


class _Near:
    """Says what a name that is none of the input's may have meant."""

    def __init__(self, items: Sequence[Item], known: Mapping[str, object], column: str) -> None:
        self._known = known
        self._column = column
        self._items = items
        self._frames: Mapping[str, Sequence[str]] | None = None
        self._left = _MOST_COMPARED

    def hint(self, name: str) -> str:
        """The next step. Only the first names are compared with all others, which takes time."""
        if self._column == "id":
            if self._frames is None:
                self._frames = _names(self._items, "frame")
            ids = self._frames.get(name)
            if ids:
                told = _told_few(ids)
                return f"the ids of this frame are {told}; or name the column frame, which stands for all of them"
        if self._left <= 0:
            return _HINT
        self._left -= 1
        near = get_close_matches(name[:_MOST_CHARS], islice(self._known, _MOST_NAMES), n=_FEW)
        return f"is it {' or '.join(shown(one) for one in near)}? {_HINT}" if near else _HINT


def _told_few(names: Sequence[str]) -> str:
    return ", ".join(shown(name) for name in names[:_FEW]) + (", ..." if len(names) > _FEW else "")


def _names(items: Sequence[Item], column: str) -> dict[str, list[str]]:
    """What a row may call an item, to the ids it means."""
    if column == "id":
        return {item.id: [item.id] for item in items}
    known: dict[str, list[str]] = {}
    for item in items:
        name, key = item.frame.name, item.id.partition("#")[0]
        stem = item.frame.stem
        clip = f"{item.clip}/{stem}" if item.clip else stem
        for form in dict.fromkeys((name, stem, clip, f"{clip}{item.frame.suffix}", key)):
            known.setdefault(form, []).append(item.id)
    return known


def _read(path: Path) -> tuple[str, list[_Row], list[InputError]]:
    try:
        content = read_bytes(path, limits=Limits(max_bytes=MAX_TABLE_BYTES)).decode("utf-8-sig")
    except InputError as error:
        raise UsageError(f"--texts: {error.message}", expected=_COLUMNS, hint=error.hint, path=path) from error
    except UnicodeDecodeError as error:
        raise UsageError(f"--texts: byte {error.start + 1} is not UTF-8", expected=_COLUMNS, path=path) from error
    reader = csv.reader(io.StringIO(content, newline=""), strict=True)
    column, rows, broken = "", [], []
    places = (0, 0)
    for line, cells in _cells(reader, path):
        if not column:
            column, places = _header(cells, path)
        elif len(cells) <= max(places) or not cells[places[0]]:
            broken.append(_bad_row(f"the row has {len(cells)} cells or no {column}", path=path, line=line))
        elif len(cells[places[1]]) > MAX_TEXT_CHARS or "\x00" in cells[places[1]]:
            broken.append(_bad_row("the text is too long or holds a NUL", path=path, line=line))
        else:
            rows.append(_Row(line, cells[places[0]], cells[places[1]]))
    if not column:
        raise UsageError("--texts: the table is empty", expected=_COLUMNS, path=path)
    return column, rows, broken


def _cells(reader: Iterator[list[str]], path: Path) -> Iterator[tuple[int, list[str]]]:
    line = 1
    try:
        for cells in reader:
            if cells:
                yield line, cells
            line = int(getattr(reader, "line_num", line)) + 1
    except csv.Error as error:
        raise UsageError(f"--texts: broken CSV: {error}", expected=_COLUMNS, path=path, line=line) from error


def _header(cells: Sequence[str], path: Path) -> tuple[str, tuple[int, int]]:
    names = [cell.strip().lower() for cell in cells]
    column = "id" if "id" in names else "frame"
    if column not in names or "text" not in names:
        row = ",".join(cells)
        others = [words for sign, words in _SEPARATORS.items() if sign in row]
        parted = f", separated by {others[0]}" if others else ""
        hint = f"save it with commas instead of {others[0]}" if others else "name the columns in the first row"
        raise UsageError(
            f"--texts: the first row is {shown(row)}{parted}", expected=_COLUMNS, hint=hint, path=path, line=1
        )
    return column, (names.index(column), names.index("text"))


def _bad_row(message: str, *, path: Path, line: int) -> InputError:
    return InputError(message, expected=_COLUMNS, hint=_HINT, path=path, line=line)
