"""Files of one JSON object per line: reading, healing, writing.

Only a line feed ends a line. A last line that is broken is what a killed writer left: readers pass over it and
``heal`` cuts it off. A broken line before the last is damage, and an error.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from sys import intern
from typing import Any, BinaryIO, Generic, NamedTuple, TypeVar

from auscult.errors import OutputError, RecordError
from auscult.media.paths import open_regular
from auscult.record.codec import from_json, load

T = TypeVar("T")

MAX_LINE_BYTES = 64 << 20
_END_BYTES = 1 << 16


class _Line(NamedTuple):
    number: int
    start: int
    row: dict[str, Any] | None
    ended: bool


def read_lines(path: Path) -> Iterator[dict[str, Any]]:
    """Read the rows of a file, none for a missing one; a broken last line is passed over."""
    for _, row in numbered_lines(path):
        yield row


def numbered_lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """``read_lines`` with line numbers, from 1."""
    for line in _sound(path):
        if line.row is not None:
            yield line.number, line.row


def typed_lines(
    kind: type[T], path: Path, *, what: str = "", hint: str = "", exact: bool = False
) -> Iterator[tuple[int, dict[str, Any], T]]:
    """``numbered_lines``, each also as a type; of a line that is none the error says ``what`` it is, then why."""
    for number, row in numbered_lines(path):
        try:
            value = from_json(kind, row, path=path, line=number, hint=hint, exact=exact)
        except RecordError as error:
            message = f"{what}: {error.message}" if what else error.message
            raise RecordError(message, expected=error.expected, hint=error.hint, path=path, line=number) from error
        yield number, row, value


class StoredRows(Mapping[str, T], Generic[T]):
    """Rows of a file by their id, of which only the places are held: each is read when it is asked for.

    Args:
        path: The file; a missing one has no rows.
        value: What a row comes to; it is also called with every row in the beginning, so that damage is found then.
        where: Which rows are meant; by default all.

    Of two rows with one id the later counts.
    """

    def __init__(
        self,
        path: Path,
        value: Callable[[dict[str, Any]], T],
        *,
        where: Callable[[dict[str, Any]], bool] | None = None,
    ) -> None:
        self._path, self._value = path, value
        self._places: dict[str, int] = {}
        for line in _sound(path):
            if line.row is not None and (where is None or where(line.row)):
                self._places[str(line.row.get("id"))] = line.start
                try:
                    value(line.row)
                except RecordError as error:
                    message, expected, hint = error.message, error.expected, error.hint
                    raise RecordError(message, expected=expected, hint=hint, path=path, line=line.number) from error

    def __getitem__(self, name: str) -> T:
        start = self._places[name]
        try:
            with open_regular(self._path) as file:
                file.seek(start)
                row = _row(file.readline(MAX_LINE_BYTES + 1))
        except OSError as error:
            raise RecordError(f"the file cannot be read: {error.strerror}", path=self._path) from error
        if row is None or str(row.get("id")) != name:
            raise RecordError(
                f"the row of {name!r} is no longer where it was",
                expected="a file that nobody else writes to",
                hint="give the command again",
                path=self._path,
            )
        return self._value(row)

    def __contains__(self, name: object) -> bool:
        return name in self._places

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


def heal(path: Path) -> None:
    """Make a file end with a whole line: cut off a broken last one, end one that lacks only its end.

    Of a long file whose end is whole no more than that is read; damage further up is found by who reads it.
    """
    if _ends_well(path):
        return
    last = next(iter(deque(_sound(path), maxlen=1)), None)
    if last is None or (last.row is not None and last.ended):
        return
    try:
        with path.open("r+b") as file:
            if last.row is None:
                file.truncate(last.start)
            else:
                file.seek(0, os.SEEK_END)
                file.write(b"\n")
    except OSError as error:
        raise OutputError(f"the file cannot be repaired: {error.strerror}", path=path) from error


def _ends_well(path: Path) -> bool:
    """Whether a file is long, and its last lines are whole."""
    try:
        if path.is_symlink() or path.stat().st_size <= _END_BYTES:
            return False
        with open_regular(path) as file:
            file.seek(-_END_BYTES, os.SEEK_END)
            file.readline(_END_BYTES)  # the rest of a line
            lines = list(_scan(file, path))
    except OSError:
        return False
    return bool(lines) and lines[-1].ended and all(line.row is not None for line in lines)


def _sound(path: Path) -> Iterator[_Line]:
    """All lines, in which only the last may be broken."""
    broken: _Line | None = None
    if path.is_symlink():
        raise RecordError(
            "the file is a symbolic link; a record holds none",
            expected="a file",
            hint="the folder was altered; use another --out",
            path=path,
        )
    try:
        with open_regular(path) as file:
            for line in _scan(file, path):
                if broken is not None:
                    raise RecordError(
                        "the line is not a JSON object",
                        expected="one JSON object per line",
                        hint="the file was damaged or edited; repair or remove that line, or use another --out",
                        path=path,
                        line=broken.number,
                    )
                broken = line if line.row is None else None
                yield line
    except FileNotFoundError:
        return
    except OSError as error:
        raise RecordError(f"the file cannot be read: {error.strerror}", path=path) from error


def _scan(file: BinaryIO, path: Path) -> Iterator[_Line]:
    start = 0
    number = 0
    while text := file.readline(MAX_LINE_BYTES + 1):
        number += 1
        if len(text) > MAX_LINE_BYTES:
            raise RecordError(f"the line is longer than {MAX_LINE_BYTES >> 20} MiB", path=path, line=number)
        if text != b"\n":
            yield _Line(number, start, _row(text), text.endswith(b"\n"))
        start += len(text)


def _row(text: bytes) -> dict[str, Any] | None:
    try:
        row = load(text)
    except ValueError:
        return None
    # equal keys of all rows are one text: of a long file they would take a third of the memory
    return {intern(key): value for key, value in row.items()} if isinstance(row, dict) else None
