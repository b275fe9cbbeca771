"""Output of the command line: progress and tables for people, JSON for programs, no control characters.

- A table that fits is printed as it is. Running text may take several lines; numbers with their intervals and units,
  and names, are never broken.
- A wider one is split into several with the same rows, each with the columns that identify a row.
- If even these columns and one more do not fit, every row is a block of lines, ``column: value``.
"""

from __future__ import annotations

import json
import re
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol, Self, TypeAlias

import typer
from rich.cells import cell_len, chop_cells

if TYPE_CHECKING:
    from pathlib import Path

    from auscult.record.schema import Summary
    from auscult.report.tables import Table


_CONTROL: Final = dict.fromkeys(
    (*range(9), *range(11, 32), *range(127, 160), *range(0x202A, 0x202F), *range(0x2066, 0x206A)), "\ufffd"
) | {9: " "}
"""Characters that move the cursor, change colours, or turn the direction of text."""


def clean(text: str) -> str:
    """Text without control characters (cursor, colours, text direction); line breaks stay."""
    return text.translate(_CONTROL)


Lines: TypeAlias = tuple[str, ...]
"""The lines of a cell."""

GAPS: Final = (3, 2)
"""Columns of the terminal between two columns of a table: the usual gap, and a narrower one that avoids a split."""

_WIDEST: Final = 100
"""Most columns of a table, on any terminal."""

_EDGES: Final = 2
_PROSE: Final = 20
"""Least width of running text."""

_WORD: Final = 40
"""Length above which a word, such as a path, may be broken."""

_FIGURE: Final = re.compile(r"[<>+\-–]?\s?\d|above \d|n/a|–|[<>] ")
_TOKEN: Final = re.compile(r"[+\-]?\d[\d.,]* \[[^\]]*\](?: \*)?\S*|\S+")
_KEYS: Final = 3
"""Most columns repeated in every part of a table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A table, or a part of one, for printing."""

    header: tuple[Lines, ...]  # the lines of each column's name
    rows: tuple[tuple[Lines, ...], ...]
    widths: tuple[int, ...]  # of each column, in cells of the terminal
    gap: int


def pieces(table: Table, width: int) -> tuple[Piece, ...]:
    """Split a table by columns into parts that fit; none if the key columns and one more do not fit."""
    columns = [[header, *(row[index] for row in table.rows)] for index, header in enumerate(table.header)]
    columns = [[clean(text) for text in column] for column in columns]
    least, most = [_least(column) for column in columns], [_most(column) for column in columns]
    gap = next((gap for gap in GAPS if sum(least) + _room(len(least), gap) <= width), GAPS[-1])
    parts = []
    for chosen in _split(table, least, width=width, gap=gap):
        room = width - _room(len(chosen), gap)
        widths = _widened([least[index] for index in chosen], [most[index] for index in chosen], room)
        if sum(widths) > room:
            return ()
        wrapped = [[wrapped_at(text, wide) for text in columns[i]] for i, wide in zip(chosen, widths, strict=True)]
        rows = tuple(zip(*(column[1:] for column in wrapped), strict=True))
        header = tuple(column[0] for column in wrapped)
        parts.append(Piece(header=header, rows=rows, widths=tuple(widths), gap=gap))
    return tuple(parts)


def blocks(table: Table, width: int) -> list[Lines]:
    """Every row as lines of ``column: value``, for a narrow terminal; without rows, the columns."""
    room = max(1, width)
    entries = []
    for row in table.rows or (("",) * len(table.header),):
        lines: list[str] = []
        for number, (name, text) in enumerate(zip(table.header, row, strict=True)):
            before = "" if number == 0 else "  "
            wrapped = wrapped_at(clean(f"{name}: {text}" if name else text), max(1, room - len(before)))
            lines += [f"{before}{line}" for line in wrapped]
        entries.append(tuple(lines))
    return entries


def keys(table: Table) -> int:
    """How many of the first columns, at most three, identify a row: the fewest with the most distinct values."""
    counts = range(1, max(2, min(_KEYS + 1, len(table.header))))
    return max(counts, key=lambda count: (len({row[:count] for row in table.rows}), -count))


def wrapped_at(text: str, width: int) -> Lines:
    """Lines of at most a width, broken at spaces, but not within a number with its interval, if it fits."""
    lines: list[str] = []
    for paragraph in text.split("\n"):
        if cell_len(paragraph) <= width:
            lines.append(paragraph)
            continue
        line = ""
        for word in _words(paragraph):
            longer = f"{line} {word}" if line else word
            if cell_len(longer) <= width:
                line = longer
                continue
            lines += [line] if line else []
            *full, line = _parts(word, width)
            lines += full
        lines.append(line)
    return tuple(lines)


def _parts(word: str, width: int) -> list[str]:
    """The parts of a word that is too long, split at spaces if it has any, else anywhere."""
    if cell_len(word) <= width:
        return [word]
    if " " not in word:
        return chop_cells(word, width)
    lines: list[str] = []
    for part in word.split(" "):
        if lines and cell_len(f"{lines[-1]} {part}") <= width:
            lines[-1] += f" {part}"
        else:
            lines += _parts(part, width)
    return lines


def _words(text: str) -> list[str]:
    """The unbreakable parts: words, numbers with interval, and short figures with their units."""
    if _FIGURE.match(text) and cell_len(text) <= _WORD:
        return [text]
    return _TOKEN.findall(text)


def _least(column: Sequence[str]) -> int:
    """The least width at which a column is readable."""
    words = [cell_len(word) for text in column for word in _words(text)]
    longest = max(words, default=0)
    prose = any(len(_words(text)) > 1 for text in column[1:])
    return min(_most(column), max(min(longest, _WORD), _PROSE if prose else 0))


def _most(column: Sequence[str]) -> int:
    return max(cell_len(line) for text in column for line in text.split("\n"))


def _room(count: int, gap: int) -> int:
    """The width of edges and gaps of a number of columns."""
    return _EDGES + gap * (count - 1)


def _split(table: Table, least: Sequence[int], *, width: int, gap: int) -> list[list[int]]:
    """The columns of each piece: all if they fit, else the keys with as many others as fit."""
    columns = list(range(len(least)))
    first = columns[: keys(table)]
    if sum(least) + _room(len(least), gap) <= width or len(first) == len(columns):
        return [columns]
    parts: list[list[int]] = []
    for column in columns[len(first) :]:
        wider = [*parts[-1], column] if parts else []
        if wider and sum(least[index] for index in wider) + _room(len(wider), gap) <= width:
            parts[-1] = wider
        else:
            parts.append([*first, column])
    return parts


def _widened(least: Sequence[int], most: Sequence[int], room: int) -> list[int]:
    """Widths with the remaining room: from the column that lacks least, each gets what it lacks, or an equal share."""
    widths = list(least)
    left = room - sum(widths)
    wanting = sorted(range(len(widths)), key=lambda column: most[column] - least[column])
    for number, column in enumerate(wanting):
        extra = max(0, min(most[column] - least[column], left // (len(wanting) - number)))
        widths[column] += extra
        left -= extra
    return widths


class PlainProgress:
    """Shows a job's stages if stderr is not a terminal: a line at the start of each, and one per minute."""

    EVERY_S: ClassVar[float] = 60.0
    _AT_ONCE_S: ClassVar[float] = 1.0  # steps counted this early were done by an earlier command

    def __init__(self) -> None:
        self._name, self._done, self._before, self._total, self._start_s = "", 0, 0, 0, 0.0

    def stage(self, name: str, total: int) -> None:
        """Begin a stage."""
        self._name, self._done, self._before, self._total = name, 0, 0, total
        self._start_s = time.monotonic()
        if total:
            say(f"{name}: {total:,}")

    def step(self, count: int = 1) -> None:
        """Count finished steps."""
        self._done += count
        if time.monotonic() - self._start_s < self._AT_ONCE_S:
            self._before = self._done

    def tell(self) -> None:
        """Print the progress of the stage and, at the same rate, the time left."""
        if not self._name:
            return
        taken_s, fresh = time.monotonic() - self._start_s, self._done - self._before
        count = f"{self._done:,} of {self._total:,}, " if self._total else ""
        left_s = taken_s / fresh * (self._total - self._done) if fresh and self._total else None
        left = "" if left_s is None else f", about {_minutes(left_s)} left"
        say(f"{self._name}: {count}{_minutes(taken_s)} so far{left}")

    @contextmanager
    def telling(self) -> Iterator[Self]:
        """Print the progress once a minute while the block runs, also without finished steps."""
        ended = threading.Event()

        def tell() -> None:
            while not ended.wait(self.EVERY_S):
                self.tell()

        threading.Thread(target=tell, daemon=True).start()
        try:
            yield self
        finally:
            ended.set()


def _minutes(seconds: float) -> str:
    """A time in words."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60} min"


class Bar:
    """Shows a job's stages on a terminal: a moving bar for each."""

    def __init__(self, progress: Any) -> None:
        self._progress = progress
        self._task: Any = None

    def stage(self, name: str, total: int) -> None:
        """Begin a stage; earlier ones stay on screen."""
        self._task = self._progress.add_task(name, total=total or None)  # None: unknown

    def step(self, count: int = 1) -> None:
        """Move the bar."""
        self._progress.advance(self._task, count)


@contextmanager
def progress_bar(*, quiet: bool, passing: bool = False) -> Iterator[Any]:
    """Show progress on stderr while the block runs, unless ``quiet``; with ``passing`` bars are removed at the end."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    from auscult.jobs.runner import Silent

    if quiet:
        yield Silent()
        return
    console = Console(stderr=True)
    if not console.is_terminal:
        with PlainProgress().telling() as plain:
            yield plain
        return
    columns = (
        TextColumn("{task.description:<20}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=passing) as progress:
        yield Bar(progress)


@contextmanager
def busy(what: str) -> Iterator[None]:
    """Show on stderr that a command without steps is running."""
    with progress_bar(quiet=False, passing=True) as progress:
        progress.stage(what, 0)
        yield


def tables(shown: Sequence[Table]) -> None:
    """Print tables on stdout, too wide ones in parts, without breaking numbers."""
    from rich.console import Console
    from rich.text import Text

    console = Console(file=sys.stdout, highlight=False, width=None if sys.stdout.isatty() else 120)
    width = min(_WIDEST, console.width)
    for table in shown:
        title = clean(table.title)
        parts = pieces(table, width)
        for number, piece in enumerate(parts, start=1):
            part = f" ({number} of {len(parts)})" if len(parts) > 1 else ""
            console.print(Text(f"{title}{part}", style="italic"))
            console.print(_grid(piece))
        if not parts:
            console.print(Text(f"{title}\n", style="italic"))
            for block in blocks(table, width):
                console.print(Text("\n".join((*block, ""))))
        if table.note:
            console.print(Text(clean(table.note), style="dim"))


def _grid(piece: Piece) -> Any:
    from rich import box
    from rich.table import Table as RichTable
    from rich.text import Text

    grid = RichTable(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, piece.gap - 2))
    for name, width in zip(piece.header, piece.widths, strict=True):
        grid.add_column(Text("\n".join(name)), min_width=width, max_width=width, no_wrap=True, overflow="fold")
    for row in piece.rows:
        grid.add_row(*(Text("\n".join(lines)) for lines in row))
    return grid


def as_json(value: Any) -> None:
    """Print one JSON value on stdout."""
    print(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False))


def say(text: str) -> None:
    """Print a message to stderr."""
    print(clean(text), file=sys.stderr)


class Display(Protocol):
    """How a command was asked to show its result: ``command.Shown``."""

    @property
    def json(self) -> bool:
        """Whether the summary is printed as JSON instead of tables."""
        ...

    @property
    def max_failed(self) -> int:
        """The exit code is 1 when more cases failed."""
        ...


def result(
    summary: Summary,
    tables_: Sequence[Table],
    shown: Display,
    *,
    record: Path | None,
    notes: Sequence[str] = (),
    errors: Sequence[Mapping[str, Any]] = (),
    kept: str = "; --out DIR keeps all",
) -> None:
    """Print the result of a command, the summary as JSON or tables and notes; exit 1 when too many cases failed.

    ``errors`` are failures without a record, ``kept`` is the hint on how to record them.
    """
    if shown.json:
        as_json(summary.as_json())
    else:
        tables(tables_)
        for note in notes:
            say(note)
    if record is None:
        _say_reasons(errors, kept)
    exit_code(summary, max_failed=shown.max_failed, record=record)


def warnings_of(record: Path) -> list[str]:
    """Why the verdicts of a record are not to be used, one line each; mostly none."""
    from auscult.record.schema import PROBED

    if not (record / PROBED).is_file():
        return []
    from auscult.jobs.finish import alarms_of  # importing it takes a quarter of a second

    return [f"warning: {alarm}" for alarm in alarms_of(record)]


def exit_code(summary: Summary, *, max_failed: int, record: Path | None = None) -> None:
    """Print why cases failed, and exit with 1 if more failed than allowed."""
    if summary.failed and record is not None:
        failures(record)
    if summary.failed > max_failed:
        say(f"{summary.failed:,} failed, more than --max-failed {max_failed}")
        raise typer.Exit(1)


_ERROR_FILES: Final = ("errors.jsonl", "input/errors.jsonl", "judges/*/errors.jsonl")


def failures(record: Path) -> None:
    """Print the most frequent reasons of failure in a record, with one example each."""
    from auscult.record.lines import read_lines

    files = [path for pattern in _ERROR_FILES for path in sorted(record.glob(pattern))]
    _say_reasons((row for path in files for row in read_lines(path)), f" (all: {', '.join(map(str, files))})")


def _say_reasons(rows: Iterable[Mapping[str, Any]], where_all: str) -> None:
    from auscult.record.reader import failure_reasons

    reasons = failure_reasons(rows)
    if reasons:
        say(f"why, most frequent first{where_all}:")
    for reason in reasons:
        row = reason.example
        line = f":{row['line']}" if row.get("line") is not None else ""
        place = ", ".join(str(part) for part in (row.get("id"), f"{row.get('path') or ''}{line}") if part)
        say(f"  {reason.count:,} x {row.get('cause') or row.get('error')}")
        details = (("for example", place), ("expected", row.get("expected")), ("next step", row.get("hint")))
        for label, text in details:
            if text:
                say(f"      {label}: {text}")
