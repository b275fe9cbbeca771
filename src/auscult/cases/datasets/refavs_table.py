"""``metadata.csv`` of Ref-AVSBench and MQ-RAVSBench: rows, what is wrong with them, and the class of an expression."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from auscult.cases.fields import MAX_TEXT_CHARS
from auscult.cases.ids import check_id, counted, shown
from auscult.cases.layouts.refavs import COLUMNS, TODO, Row
from auscult.cases.strict_json import BOM
from auscult.errors import ErrorRecord, InputError, NothingToDo
from auscult.media.limits import Limits
from auscult.media.paths import read_bytes

MAX_TABLE_BYTES = 256 * 1024 * 1024
KEY_FRAME = "kfid"

_HEAD_BYTES = 256
_MAX_NUMBER = 99_999
_HINT = "correct or drop the row"


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """A row and the id its instance has: the uid, or ``<uid>#2`` for the second row of one uid."""

    id: str
    row: Row


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """What a table holds.

    Attributes:
        rows: Usable rows, in the order of the file, ids unique; rows marked ``TODO`` are not among them.
        errors: Rows that cannot be used.
        todo: How many rows are marked ``TODO``.
        repeats: How many rows repeat a uid.
        copies: How many of those repeat the whole row.
    """

    rows: tuple[Named, ...]
    errors: tuple[ErrorRecord, ...]
    todo: int = 0
    repeats: int = 0
    copies: int = 0

    def notes(self) -> tuple[str, ...]:
        """What was left out or renamed on purpose, in plain sentences."""
        told = []
        if self.rows:
            splits = Counter(one.row.split or "no split" for one in self.rows)
            told.append(f"{counted(len(self.rows), 'row')}: {', '.join(f'{name} {n}' for name, n in splits.items())}")
        if self.todo:
            told.append(f"{counted(self.todo, 'row')} marked TODO left out")
        if self.repeats:
            copies = f", {self.copies} of them word for word" if self.copies else ""
            told.append(
                f"{counted(self.repeats, 'row')} with a uid that stands above{copies}: kept apart as <uid>#2, ..."
            )
        return tuple(told)


def has_heading(path: Path, *columns: str) -> bool:
    """Whether a file is a table with these columns first; cheap, and False for what cannot be read."""
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD_BYTES).removeprefix(BOM)
    except (OSError, ValueError):
        return False
    cells = [cell.strip().strip(b'"').lower() for cell in head.split(b"\n")[0].split(b",")]
    return cells[: len(columns)] == [name.encode() for name in columns]


def file_names(folder: Path) -> list[str]:
    """The names of what is in a folder; none where there is no folder or it cannot be opened."""
    try:
        return sorted(path.name for path in folder.iterdir())
    except (OSError, ValueError):
        return []


def read_table(path: Path, *, released: bool = True) -> Rows:
    """Read a table of expressions.

    Args:
        path: The file.
        released: A uid names a folder and an object, as in the release, and an expression is never empty; False for a
            table that only says what is known of ids, which may be any.

    Raises:
        NothingToDo: It cannot be read, is not UTF-8, or has another heading.
    """
    errors: list[ErrorRecord] = []
    rows: list[Row] = []
    for line, cells in _cells(path):
        try:
            rows.append(_row(cells, line, released=released))
        except InputError as error:
            at = InputError(error.message, expected=error.expected, hint=error.hint or _HINT, path=path, line=line)
            errors.append(ErrorRecord.of(at, "read"))
    kept = [row for row in rows if row.split != TODO]
    named = _named(kept)
    repeats = [one for one in named if one.id != one.row.uid]
    whole = Counter(replace(row, line=0) for row in kept)
    return Rows(
        rows=tuple(named),
        errors=tuple(errors),
        todo=len(rows) - len(kept),
        repeats=len(repeats),
        copies=sum(count - 1 for count in whole.values()),
    )


def _cells(path: Path) -> Iterator[tuple[int, Sequence[str]]]:
    try:
        data = read_bytes(path, limits=Limits(max_bytes=MAX_TABLE_BYTES)).removeprefix(BOM)
        reader = csv.reader(io.StringIO(data.decode("utf-8"), newline=""), strict=True)
        head = next(reader, [])
        _check_heading(head, path)
        first = reader.line_num + 1
        for cells in reader:
            line, first = first, reader.line_num + 1
            if cells:
                yield line, cells
    except InputError as error:
        raise NothingToDo(
            error.message, expected=error.expected, hint=error.hint, path=path, line=error.line
        ) from error
    except UnicodeDecodeError as error:
        raise NothingToDo(f"byte {error.start + 1} is not UTF-8", expected="a table in UTF-8", path=path) from error
    except csv.Error as error:
        raise NothingToDo(f"broken table: {error}", expected=f"a CSV table {','.join(COLUMNS)}", path=path) from error


def _check_heading(head: Sequence[str], path: Path) -> None:
    if tuple(cell.strip().lower() for cell in head[: len(COLUMNS)]) != COLUMNS:
        raise InputError(f"the heading is {shown(','.join(head))}", expected=",".join(COLUMNS), path=path, line=1)


def _row(cells: Sequence[str], line: int, *, released: bool) -> Row:
    if len(cells) not in {len(COLUMNS), len(COLUMNS) + 1}:
        raise InputError(
            f"the row has {counted(len(cells), 'cell')}",
            expected=",".join(COLUMNS),
            hint="put an expression that holds commas into quotation marks",
        )
    vid, uid, split, fid, exp = cells[: len(COLUMNS)]
    if released:
        _check_uid(uid)
    if (released and not exp.strip()) or len(exp) > MAX_TEXT_CHARS or "\0" in exp:
        raise InputError(f"the expression is {shown(exp)}", expected="a sentence")
    key = cells[len(COLUMNS)] if len(cells) > len(COLUMNS) else ""
    return Row(
        vid=check_id(vid),
        uid=check_id(uid),
        split=split.strip(),
        fid=_number(fid, "fid"),
        exp=exp,
        kfid=_number(key, KEY_FRAME) if key.strip() else None,
        line=line,
    )


def _check_uid(uid: str) -> None:
    if not all(uid.rsplit("_", 2)) or uid.count("_") < 2:
        raise InputError(f"the uid is {shown(uid)}", expected="<folder>_<object>_<n>")
    if "/" in uid or "\\" in uid or uid.startswith("."):
        raise InputError(f"the uid {shown(uid)} is no name of a folder", expected="<folder>_<object>_<n>")


def _number(text: str, name: str) -> int:
    digits = text.strip()
    if not (digits.isascii() and digits.isdigit()) or len(digits) > len(str(_MAX_NUMBER)):
        raise InputError(f"{name} is {shown(text)}", expected=f"a whole number from 0 to {_MAX_NUMBER}")
    return int(digits)


def _named(rows: Iterable[Row]) -> list[Named]:
    seen: Counter[str] = Counter()
    named = []
    for row in rows:
        seen[row.uid] += 1
        count = seen[row.uid]
        named.append(Named(id=row.uid if count == 1 else f"{row.uid}#{count}", row=row))
    return named


# Our own coarse rule, not the release's: the first class one of whose words stands in the expression. What is said of
# time and strength of a sound is rarer than that something sounds, and place rarer than action, so they go first.
_CLASSES: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (name, re.compile(rf"\b(?:{'|'.join(words)})", re.IGNORECASE))
    for name, words in (
        (
            "silence",
            (
                r"silent|silence|mute|quiet\b|no sound|without (?:\w+ )?sound",
                r"not? (?:\w+ )?(?:mak|sound|emit|produc)",
            ),
        ),
        (
            "order",
            (r"first\b|last\b|second\b|third\b|before\b|after\b", r"latest\b|end\b|begin|start|initial|final|earli"),
        ),
        ("loudness", (r"loud|soft|intense|volume|quieter|quietest|strong|weak",)),
        (
            "duration",
            (
                r"long(?:er|est)? (?:\w+ )?(?:sound|duration|time)|short(?:er|est)\b|duration|continu|constant",
                r"keeps|always|throughout|entire|whole|all times|at times|intermittent|interval",
            ),
        ),
        ("rhythm", (r"rhythm|tempo|pitch|tone|frequen|faster|slower|higher|lower",)),
        (
            "position",
            (
                r"left|right\b|middle|cent(?:er|re)|front|behind|near|next|beside|between|top\b|bottom|above|below",
                r"under|beneath|far\b|farthest|close|back\b|upper|opposite|against",
            ),
        ),
        (
            "action",
            (
                r"(?!making|sounding|emitting)\w+ing (?:a|an|the|on|in|at|with|to|his|her|its)\b|playing\b",
                r"\w+ed by\b|(?:held|driven|ridden|hit) by\b|by (?!the\b)\w+ing\b",
            ),
        ),
        ("sound", (r"sound|audib|hear|nois|voice|emit|sing|speak|talk|bark",)),
    )
)


def template_of(expression: str) -> str:
    """The coarse class of an expression: ``silence``, ``order``, ``loudness``, ``duration``, ``rhythm``, ``position``,
    ``action``, ``sound``, or ``attribute`` for what names none of these.

    The classes are auscult's own, by single words, so that benchmarks can be balanced over kinds of expressions where
    a data set does not say how its expressions were made.
    """  # noqa: D205 - the classes are the summary
    for name, words in _CLASSES:
        if words.search(expression):
            return name
    return "attribute"
