"""Reading and writing files of sentences: lines of a ``.txt``, or rows of a ``.csv``."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from auscult.cases.fields import MAX_TEXT_CHARS, table_rows
from auscult.cases.ids import shown
from auscult.errors import ErrorRecord, InputError, UsageError
from auscult.media.limits import Limits
from auscult.media.paths import read_bytes, safe_name

MOST_BYTES: Final = 64 * 1024 * 1024
_COLUMNS: Final = "columns id,text, in UTF-8 and separated by commas"


@dataclass(frozen=True, slots=True)
class SentenceRow:
    """A sentence of a file; its id is by default the number of its line, its cells are the whole row."""

    id: str
    text: str
    cells: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SentencesFile:
    """A file of sentences."""

    name: str
    header: tuple[str, ...]  # the columns of a table; empty for lines, whose cells are id and text
    rows: tuple[SentenceRow, ...]  # valid rows; blank lines are kept, so that line numbers stay the same
    errors: tuple[ErrorRecord, ...] = ()  # of invalid rows


def read_sentences(path: Path) -> SentencesFile:
    """Read a ``.txt`` with one sentence per line, or a ``.csv`` with a column ``text`` and optionally ``id``."""
    header: list[str] = []
    errors: list[ErrorRecord] = []
    try:
        if path.suffix.lower() == ".csv":
            header, numbered, errors = _table(path)
        else:
            content = read_bytes(path, limits=Limits(max_bytes=MOST_BYTES)).decode("utf-8-sig")
            lines = content.replace("\r\n", "\n").replace("\r", "\n").removesuffix("\n").split("\n")
            numbered = [
                (number, SentenceRow(str(number), line, (str(number), line))) for number, line in enumerate(lines, 1)
            ]
    except InputError as error:
        expected = error.expected if error.line is not None else "a file of sentences"
        raise UsageError(error.message, expected=expected, hint=error.hint, path=path, line=error.line) from error
    except UnicodeDecodeError as error:
        raise UsageError(
            f"byte {error.start + 1} is not UTF-8", expected="UTF-8", hint="save the file as UTF-8", path=path
        ) from error
    rows: dict[str, SentenceRow] = {}
    for line, row in numbered:
        if not row.id or row.id in rows:
            errors.append(_bad(f"the id {shown(row.id)} is {'used twice' if row.id else 'empty'}", path, line))
        elif len(row.text) > MAX_TEXT_CHARS or "\0" in row.text:
            errors.append(_bad(f"the sentence has {len(row.text)} characters, or holds a NUL", path, line))
        else:
            rows[row.id] = row
    return SentencesFile(
        name=safe_name(path.stem), header=tuple(header), rows=tuple(rows.values()), errors=tuple(errors)
    )


def _table(path: Path) -> tuple[list[str], list[tuple[int, SentenceRow]], list[ErrorRecord]]:
    """The header of a table, its rows with their line numbers, and errors of rows of another length."""
    table = table_rows(path, max_bytes=MOST_BYTES, expected=_COLUMNS)
    _, header = next(table, (1, []))
    names = [name.strip().lower() for name in header]
    if "text" not in names:
        raise InputError(f"the first row is {shown(','.join(header))}", expected=_COLUMNS, path=path, line=1)
    column, key = names.index("text"), names.index("id") if "id" in names else None
    numbered: list[tuple[int, SentenceRow]] = []
    errors: list[ErrorRecord] = []
    for line, cells in table:
        if len(cells) == len(header):
            name = str(len(numbered) + len(errors) + 1) if key is None else cells[key]
            numbered.append((line, SentenceRow(name, cells[column], tuple(cells))))
        else:
            errors.append(_bad(f"the row has {len(cells)} cells, the header {len(header)}", path, line))
    return header, numbered, errors


def _bad(problem: str, path: Path, line: int) -> ErrorRecord:
    error = InputError(
        problem,
        expected=f"a row of its own id and a text of at most {MAX_TEXT_CHARS} characters, without NUL",
        hint="correct or drop the row",
        path=path,
        line=line,
    )
    return ErrorRecord.of(error, "read")


def written(sentences: SentencesFile, made: Mapping[str, str]) -> tuple[str, str]:
    """Suffix and content of the output file of one recipe; ``made`` are the perturbed sentences by id.

    A table keeps its other columns, without failed rows. Lines keep their order; if one failed, a table of the others
    is written instead, since an empty or missing line would shift or falsify the result.
    """
    complete = not sentences.errors and all(row.id in made for row in sentences.rows)
    if not sentences.header and complete:
        return ".txt", "".join(f"{made[row.id]}\n" for row in sentences.rows)
    header = sentences.header or ("id", "text")
    column = [name.strip().lower() for name in header].index("text")
    file = io.StringIO(newline="")
    table = csv.writer(file, lineterminator="\n")
    table.writerow(header)
    for row in sentences.rows:
        if row.id in made:
            cells = list(row.cells)
            cells[column] = made[row.id]
            table.writerow(cells)
    return ".csv", file.getvalue()
