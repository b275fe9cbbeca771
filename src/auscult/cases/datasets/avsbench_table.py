"""``s4_meta_data.csv`` and ``ms3_meta_data.csv`` of AVSBench: which clips there are, and what is wrong with a row."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from auscult.cases.datasets.ytvos_videos import at, check_name
from auscult.cases.ids import check_id, counted, shown
from auscult.cases.strict_json import BOM
from auscult.errors import ErrorRecord, InputError, NothingToDo
from auscult.media.limits import Limits
from auscult.media.paths import read_bytes

MAX_TABLE_BYTES: Final = 64 * 1024 * 1024

_NAMES = ("name", "video_name", "video_id", "vid", "video", "uid")
_SPLIT, _CATEGORY = "split", "category"
_CATEGORY_AT = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A clip.

    Attributes:
        id: ``<split>/<category>/<name>``, without the category where clips stand in none.
        name: The clip's name.
        split: ``train``, ``val`` or ``test``.
        category: What sounds; empty where the table does not say it.
        line: The line, from 1.
    """

    id: str
    name: str
    split: str
    category: str
    line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Columns:
    name: int
    split: int
    category: int | None


def read_rows(path: Path, *, categories: bool) -> tuple[tuple[Row, ...], tuple[ErrorRecord, ...]]:
    """Read a table.

    The first column is the name and, of s4, the third the category, unless the heading says otherwise; the split is
    found by its heading.

    Args:
        path: The file.
        categories: Whether clips stand in folders of categories, as in s4.

    Returns:
        The rows in the order of the file, ids unique, and what cannot be used.

    Raises:
        NothingToDo: It cannot be read, is over 64 MB, is not UTF-8, or has no column ``split``.
    """
    lines = _lines(path)
    head = [cell.strip().casefold() for cell in lines[0][1]] if lines else []
    columns = _columns(head, path, categories=categories)
    rows: dict[str, Row] = {}
    errors: list[ErrorRecord] = []
    for line, cells in lines[1:]:
        try:
            row = _row(cells, columns, line=line, width=len(head))
            first = rows.setdefault(row.id, row)
            if first is not row:
                errors.append(at(_twice(row, first), path, line=line))
        except InputError as error:
            errors.append(at(error, path, line=line))
    return tuple(rows.values()), tuple(errors)


def _lines(path: Path) -> list[tuple[int, Sequence[str]]]:
    try:
        data = read_bytes(path, limits=Limits(max_bytes=MAX_TABLE_BYTES)).removeprefix(BOM)
        reader = csv.reader(io.StringIO(data.decode("utf-8"), newline=""), strict=True)
        return [(reader.line_num, cells) for cells in reader if any(cell.strip() for cell in cells)]
    except InputError as error:
        raise NothingToDo(error.message, expected=error.expected, hint=error.hint, path=path) from error
    except UnicodeDecodeError as error:
        raise NothingToDo(f"byte {error.start + 1} is not UTF-8", expected="a table in UTF-8", path=path) from error
    except csv.Error as error:
        raise NothingToDo(f"broken table: {error}", expected="a CSV table", path=path) from error


def _columns(head: Sequence[str], path: Path, *, categories: bool) -> _Columns:
    if _SPLIT not in head:
        raise NothingToDo(
            f"the heading is {shown(','.join(head))}", expected="columns name, split and, of s4, category", path=path
        )
    name = next((head.index(word) for word in _NAMES if word in head), 0)
    category = head.index(_CATEGORY) if _CATEGORY in head else None
    if categories and category is None:
        if len(head) <= _CATEGORY_AT:
            raise NothingToDo("there is no column category", expected="name, ..., category, split", path=path)
        category = _CATEGORY_AT
    return _Columns(name=name, split=head.index(_SPLIT), category=category if categories else None)


def _row(cells: Sequence[str], columns: _Columns, *, line: int, width: int) -> Row:
    if len(cells) != width:
        raise InputError(
            f"the row has {counted(len(cells), 'cell')}", expected=f"{width}, as the heading", hint="correct the row"
        )
    name, split = check_name(cells[columns.name].strip()), check_name(cells[columns.split].strip())
    category = "" if columns.category is None else check_name(cells[columns.category].strip())
    return Row(
        id=check_id("/".join(filter(None, (split, category, name)))),
        name=name,
        split=split,
        category=category,
        line=line,
    )


def _twice(row: Row, first: Row) -> InputError:
    return InputError(
        f"the clip {shown(row.id)} is there twice; the first, in line {first.line}, is kept",
        expected="one row a clip",
        hint="drop one of the two",
    )
