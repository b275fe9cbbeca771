"""Names of what files show or play, from sub-folders or ``names.csv``; and a check for duplicate contents.

A file that repeats an earlier one is refused: under two names the same picture or sound could come into training and
into tests.
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from auscult.cases.fields import table_rows
from auscult.cases.ids import shown
from auscult.cases.walk import Tree
from auscult.errors import ErrorRecord, InputError

NAMES: Final = "names.csv"
COLUMNS: Final = ("file", "name")
_MAX_BYTES: Final = 16_777_216
_LONGEST: Final = 60
_ARTICLES: Final = frozenset({"a", "an", "the"})
_GENERIC: Final = frozenset({"thing", "object", "item", "one", "something", "anything", "everything", "nothing"})


@dataclass(frozen=True, slots=True)
class NamedFile:
    """A file, also relative to its folder with ``/``, and the name, as ``noun`` gives it, of what is in it."""

    file: str
    path: Path
    name: str


@dataclass(frozen=True, slots=True)
class NameRow:
    """A row of a table: stripped texts of the columns asked for, the first not empty, and its first line, from 1."""

    cells: tuple[str, ...]
    line: int


def named_files(tree: Tree, suffixes: frozenset[str], *, what: str) -> tuple[list[NamedFile], list[ErrorRecord]]:
    """Name the files of a folder by the sub-folder each lies in, else by its row in ``names.csv``, in natural order.

    ``what`` such a file is called in messages. An error stands for each file without a usable name, and for each row
    that names no file or one that has a row already.
    """
    listed, errors = listed_rows(tree)
    rows, repeats = first_rows(listed, path=tree.folder / NAMES)
    home = tree.folder.name
    unnamed = InputError(
        f"the {what} has no name",
        expected=f"a sub-folder of {home}/ that says what it is, or a row in {home}/{NAMES} ({','.join(COLUMNS)})",
    )
    errors = [*errors, *repeats]
    files = []
    for file, path in tree.with_suffix(suffixes).items():
        name = PurePosixPath(file).parent.name or (rows[file].cells[1] if file in rows else "")
        if not name.strip():
            errors.append(replace(ErrorRecord.of(unnamed, "read"), path=str(path)))
            continue
        try:
            files.append(NamedFile(file, path, noun(name, f"the {what}'s name", path=path)))
        except InputError as error:
            errors.append(ErrorRecord.of(error, "read"))
    return files, errors


def first_rows(rows: Iterable[NameRow], *, path: Path) -> tuple[dict[str, NameRow], list[ErrorRecord]]:
    """The first row of each first cell, and an error for each further one."""
    first: dict[str, NameRow] = {}
    errors = []
    for row in rows:
        if first.setdefault(row.cells[0], row) is not row:
            problem = f"{shown(row.cells[0])} has a row already, in line {first[row.cells[0]].line}"
            hint = "remove one of the two; the first is used"
            errors.append(_bad_row(problem, path=path, line=row.line, expected="one row for each", hint=hint))
    return first, errors


def listed_rows(tree: Tree) -> tuple[list[NameRow], list[ErrorRecord]]:
    """The rows of ``names.csv`` whose file is there, and an error for each other one."""
    rows, errors = table(tree, NAMES, columns=COLUMNS)
    expected = f"the name of a file, relative to {tree.folder.name}/, with / between its parts"
    for row in rows:
        if row.cells[0] not in tree.files:
            problem = f"the row names the file {shown(row.cells[0])}, which is not in the folder"
            path, hint = tree.files[NAMES], "correct or remove the row"
            errors.append(_bad_row(problem, path=path, line=row.line, expected=expected, hint=hint))
    return [row for row in rows if row.cells[0] in tree.files], errors


def table(tree: Tree, name: str, *, columns: tuple[str, ...]) -> tuple[list[NameRow], list[ErrorRecord]]:
    """The rows of a table that a folder may hold, and an error where it cannot be read, or for an empty first cell."""
    path = tree.files.get(name)
    if path is None:
        return [], []
    expected = f"a CSV file in UTF-8 with the columns {','.join(columns)}"
    rows: list[NameRow] = []
    errors: list[ErrorRecord] = []
    try:
        cells_of = table_rows(path, max_bytes=_MAX_BYTES, expected=expected, strict=False)
        _, head = next(cells_of, (1, []))
        if not set(columns) <= set(head):
            return [], [_bad_row("the list has other columns", path=path, line=1, expected=expected)]
        for line, cells in cells_of:
            values = dict(zip(head, cells, strict=False))
            row = NameRow(tuple(values.get(column, "").strip() for column in columns), line)
            if row.cells[0]:
                rows.append(row)
            else:
                errors.append(_bad_row(f"the row has no {columns[0]}", path=path, line=line, expected=expected))
    except InputError as error:
        return [], [ErrorRecord.of(error, "read")]
    return rows, errors


def _bad_row(problem: str, *, path: Path, line: int, expected: str, hint: str = "") -> ErrorRecord:
    return ErrorRecord(stage="read", error=problem, expected=expected, hint=hint, path=str(path), line=line)


def plain(text: str, what: str, *, path: Path, line: int | None = None) -> str:
    """Words of a user's file or folder, 1 to 60 printable characters: underscores are spaces, spaces are single."""
    words = " ".join(text.replace("_", " ").split())
    if not words or len(words) > _LONGEST or not words.isprintable():
        problem = f"is {words[:_LONGEST]!a}" if words else "is missing"
        raise InputError(f"{what} {problem}", expected=f"1 to {_LONGEST} printable characters", path=path, line=line)
    return words


def noun(text: str, what: str, *, path: Path, line: int | None = None) -> str:
    """A countable noun that "the" can be put before, no article, no ``thing``; upper and lower case are one.

    Example:
        >>> noun("Fire_Engine", "the name", path=Path("a.png"))
        'fire engine'
    """
    # One spelling for a letter with an accent, too: file systems differ in that.
    name = plain(unicodedata.normalize("NFC", text.casefold()), what, path=path, line=line)
    first, last = name.split()[0], name.split()[-1]
    if first in _ARTICLES:
        raise InputError(
            f"{what} {name!r} begins with an article",
            expected="a noun without article: dog, fire engine",
            hint=f"leave out {first!r}",
            path=path,
            line=line,
        )
    if last.removesuffix("s") in _GENERIC:
        raise InputError(
            f"{what} {name!r} fits everything",
            expected="a noun that tells it from other things: dog, fire engine",
            hint="rename the sub-folder or correct the row",
            path=path,
            line=line,
        )
    return name


class Contents:
    """Hashes of file contents, to refuse duplicates."""

    def __init__(self) -> None:
        self._first: dict[bytes, str] = {}

    def add(self, content: NDArray[Any], file: NamedFile, *, rate_hz: int = 0) -> None:
        """Refuse a file whose decoded pixels or samples an earlier one has: a copy in another format is found, too."""
        digest = hashlib.blake2b(repr((content.shape, content.dtype.str, rate_hz)).encode(), digest_size=32)
        digest.update(np.ascontiguousarray(content).data)
        earlier = self._first.setdefault(digest.digest(), file.file)
        if earlier != file.file:
            raise InputError(
                f"{shown(file.file)} has the same content as {shown(earlier)}",
                expected="files that differ, so that none is in training and in tests under two names",
                hint="remove one of the two; the other one is used",
                path=file.path,
            )
