"""Read untrusted JSON, JSON lines and CSV: finite numbers only, each value checked by type; else an InputError."""

from __future__ import annotations

import csv
import io
import itertools
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

from auscult.cases.ids import shown
from auscult.cases.problems import required_file
from auscult.cases.walk import within
from auscult.errors import InputError, NothingToDo
from auscult.media.limits import Limits
from auscult.media.paths import open_regular, read_bytes

BOM = b"\xef\xbb\xbf"

JSON_LINES = frozenset({".jsonl", ".ndjson"})
"""Endings of tables that are JSON lines; any other is CSV."""

_CHUNK = 1 << 20
_SEPARATORS = {";": "semicolons", "\t": "tabs"}


def parse(data: bytes, *, path: Path, line: int | None = None) -> Any:
    """Read one JSON value: UTF-8, without a byte order mark, without NaN, infinity or half a surrogate pair.

    ``line`` is its line number in a file of JSON lines; None when ``data`` is a whole file.
    """
    try:
        value = json.loads(data.decode("utf-8"), parse_constant=_refuse_constant, parse_float=_finite)
        if b"\\ud" in data.lower():
            json.dumps(value, ensure_ascii=False).encode("utf-8")
    except json.JSONDecodeError as error:
        line_number = error.lineno if line is None else line
        raise _broken(f"broken JSON at column {error.colno}: {error.msg}", path=path, line=line_number) from error
    except UnicodeDecodeError as error:
        raise _broken(f"byte {error.start + 1} is not UTF-8", path=path, line=line) from error
    except UnicodeEncodeError as error:
        raise _broken("text holds half a surrogate pair", path=path, line=line) from error
    except RecursionError as error:
        raise _broken("JSON nests too deeply", path=path, line=line) from error
    except ValueError as error:
        raise _broken(f"a number cannot be used: {str(error)[:80]}", path=path, line=line) from error
    return value


def load(path: Path, *, max_bytes: int) -> Any:
    """Read a whole JSON file, without which the INPUT holds no case; a byte order mark is accepted."""
    with required_file(path):
        return parse(read_bytes(path, limits=Limits(max_bytes=max_bytes)).removeprefix(BOM), path=path)


def lines_of(file: BinaryIO, *, max_bytes: int) -> Iterator[tuple[int, bytes | None]]:
    """Number and content of each line of JSON lines that is not blank, without space around it and byte order mark.

    None stands for a line of more than ``max_bytes``, which is passed over.
    """
    for number in itertools.count(1):
        content = file.readline(max_bytes + 1)
        if len(content) > max_bytes and not content.endswith(b"\n"):
            yield number, None
            while (rest := file.readline(_CHUNK)) and not rest.endswith(b"\n"):
                pass
        elif not content:
            return
        elif stripped := content.strip(b" \t\r\n").removeprefix(BOM if number == 1 else b"").strip():
            yield number, stripped


def json_rows(path: Path, *, max_bytes: int, expected: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of a file of JSON lines, each with its line; ``expected`` says what one holds."""
    content = read_bytes(path, limits=Limits(max_bytes=max_bytes)).removeprefix(BOM)
    for line, text in enumerate(content.split(b"\n"), start=1):
        if text.strip():
            row = parse(text, path=path, line=line)
            if not isinstance(row, dict):
                raise InputError("the line holds no object", expected=expected, path=path, line=line)
            yield line, row


def table_rows(path: Path, *, max_bytes: int, expected: str, strict: bool = True) -> Iterator[tuple[int, list[str]]]:
    """The rows of a CSV file, without empty lines, each with the line it begins in; a byte order mark is accepted.

    ``expected`` names its columns; quotation marks inside a cell are refused where ``strict``, rather than guessed at.
    """
    data = read_bytes(path, limits=Limits(max_bytes=max_bytes)).removeprefix(BOM)
    line = 1
    try:
        reader = csv.reader(io.StringIO(data.decode("utf-8"), newline=""), strict=strict)
        for cells in reader:
            if cells:
                yield line, cells
            line = reader.line_num + 1
    except UnicodeDecodeError as error:
        message, hint = f"byte {error.start + 1} is not UTF-8", "save the file as UTF-8"
        raise InputError(message, expected=expected, hint=hint, path=path) from error
    except csv.Error as error:
        message = f"broken CSV, which cannot be read: {error}"
        raise InputError(message, expected=expected, path=path, line=line) from error


def named_rows(
    path: Path, *, needed: Sequence[str], once: Sequence[str] = (), max_bytes: int, expected: str, hint: str
) -> Iterator[tuple[int, dict[str, Any]]]:
    """The rows of a CSV by the names in its first row, in lower case, or the objects of JSON lines, each with its line.

    A CSV has to name the ``needed`` columns, these and ``once`` no more than once, and its rows to have as many cells
    as the first; ``hint`` says what to do about one that has not.
    """
    if path.suffix.lower() in JSON_LINES:
        yield from json_rows(path, max_bytes=max_bytes, expected=expected)
        return
    rows = table_rows(path, max_bytes=max_bytes, expected=expected)
    line, head = next(rows, (1, []))
    names = [cell.strip().lower() for cell in head]
    if missing := [name for name in needed if name not in names]:
        text = ",".join(head)
        message = f"the first row has no column {' and no '.join(missing)}: {shown(text)}"
        raise InputError(message, expected=expected, hint=columns_hint(text), path=path, line=line)
    if twice := [name for name in (*needed, *once) if names.count(name) > 1]:
        message = f"the first row names {twice[0]} twice"
        raise InputError(message, expected=expected, hint="name each column once", path=path, line=line)
    for line, cells in rows:
        if len(cells) != len(names):
            message = f"the row has {len(cells)} cells, the first row {len(names)}"
            raise InputError(message, expected=expected, hint=hint, path=path, line=line)
        yield line, dict(zip(names, cells, strict=True))


def number_of(value: object) -> float | None:
    """A number of a cell or of JSON; None for an empty one, NaN for what is none."""
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return math.nan
    try:
        return float(value)
    except (ValueError, OverflowError):
        return math.nan


def columns_hint(first_row: str) -> str:
    """What to do about a table whose first row lacks a column."""
    other = next((words for sign, words in _SEPARATORS.items() if sign in first_row), "")
    return f"save it with commas instead of {other}" if other else "name the columns in the first row"


def _broken(message: str, *, path: Path, line: int | None) -> InputError:
    return InputError(message, expected="one JSON value in UTF-8", hint="repair or drop it", path=path, line=line)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text[:40]} is too large")
    return value


MAX_TEXT_CHARS = 100_000


def kind(value: object) -> str:
    """The type of a JSON value, as messages name it."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true or false"
    for types, name in (((int, float), "a number"), (str, "a text"), (list, "a list"), (dict, "an object")):
        if isinstance(value, types):
            return name
    return "an unknown value"


def wrong(key: str, value: object, expected: str) -> InputError:
    """The error for a value of the wrong kind."""
    detail = f" ({shown(value)})" if isinstance(value, str) else f" ({value})" if _short(value) else ""
    actual = "an empty list" if value == [] else kind(value)
    return InputError(f"{key!r} is {actual}{detail}", expected=f"{key!r} is {expected}", hint="correct the line")


def text(row: Mapping[str, Any], key: str) -> str | None:
    """A text of at most 100,000 characters without NUL, or None where it is absent."""
    value = row.get(key)
    if value is None:
        return None
    if not isinstance(value, str):
        raise wrong(key, value, "a text")
    if len(value) > MAX_TEXT_CHARS or "\x00" in value:
        problem = "holds a NUL character" if "\x00" in value else f"has {len(value)} characters"
        raise InputError(f"{key!r} {problem}", expected=f"a text of at most {MAX_TEXT_CHARS} characters, without NUL")
    return value


def required(row: Mapping[str, Any], key: str) -> str:
    """A text that must be there and not empty."""
    value = text(row, key)
    if not value:
        raise InputError(f"there is no {key!r}", expected=f"{key!r} is a text", hint=f"add {key!r} to the line")
    return value


def number(row: Mapping[str, Any], key: str, *, low: float | None = None, high: float | None = None) -> float | None:
    """A finite number within its bounds, or None where it is absent."""
    value = row.get(key)
    if value is None:
        return None
    span = "a number" if low is None or high is None else f"a number from {low:g} to {high:g}"
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise wrong(key, value, span)
    if (low is not None and value < low) or (high is not None and value > high) or abs(value) > 1e300:
        raise wrong(key, value, span)
    return float(value)


def one_of(row: Mapping[str, Any], key: str, allowed: Sequence[str]) -> str | None:
    """One of the ``allowed`` words, or None where it is absent."""
    value = row.get(key)
    if value is None:
        return None
    if not isinstance(value, str) or value not in allowed:
        raise wrong(key, value, f"one of: {', '.join(allowed)}")
    return value


def mapping(row: Mapping[str, Any], key: str) -> Mapping[str, Any] | None:
    """An object, or None where it is absent."""
    value = row.get(key)
    if value is None:
        return None
    if not isinstance(value, dict):
        raise wrong(key, value, "an object")
    return value


def json_objects(rows: object) -> list[dict[str, Any]]:
    """The JSON objects of a list; empty if it is no list."""
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []


def _short(value: object) -> bool:
    return isinstance(value, float) or (isinstance(value, int) and abs(value) < 10**15)


# --- files of items, one a line ---

FILE = "items.jsonl"
SUFFIXES = frozenset({".jsonl", ".json-lines", ".jsonlines", ".ndjson"})
MAX_LINE_BYTES = 16 * 1024 * 1024
MAX_FILE_BYTES = 4 * 1024 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Home:
    """Where a file of lines stands, whose paths may not leave ``base``; ``labels`` reads grey values as indices."""

    file: Path
    base: Path
    labels: bool = False
    _known: dict[str, Path] = field(default_factory=dict, repr=False, compare=False)

    def path(self, name: str) -> Path:
        """The path that a name in the file means; it may not leave ``base``."""
        resolved = self._known.get(name)  # many masks name one frame, and following links takes time
        if resolved is None:
            resolved = self._known[name] = within(self.base, home=self.file.parent, name=name)
        return resolved


def item_lines(file: Path) -> Iterator[tuple[int, bytes | None]]:
    """Number and content of every line that is not blank; None for one that is too long."""
    try:
        with open_regular(file) as opened:
            size = file.stat().st_size
            if size > MAX_FILE_BYTES:
                raise NothingToDo(
                    f"the file has {size:,} bytes", expected=f"at most {MAX_FILE_BYTES:,}", hint="split it", path=file
                )
            yield from lines_of(opened, max_bytes=MAX_LINE_BYTES)
    except OSError as error:
        raise NothingToDo(f"cannot be opened: {error.strerror}", path=file, expected="a file of JSON lines") from error


def parsed_line(content: bytes | None, *, file: Path, line: int) -> Any:
    """What a line of ``item_lines`` holds."""
    if content is None:
        raise InputError(
            f"the line is longer than {MAX_LINE_BYTES:,} bytes",
            expected="one item a line",
            hint="put large masks into files",
        )
    return parse(content, path=file, line=line)
