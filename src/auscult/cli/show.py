"""How the command line shows things: progress and tables for people, JSON for programs."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer

from auscult.cli.terminal import clean

if TYPE_CHECKING:
    from pathlib import Path

    from auscult.cli.fitted import Piece
    from auscult.record.schema import Summary
    from auscult.report.tables import Table


class Lines:
    """Shows a job's stages where stderr is no terminal: a line when one begins, and one every few seconds."""

    EVERY_S = 10.0

    def __init__(self) -> None:
        self._name, self._done, self._total, self._told_s = "", 0, 0, 0.0

    def stage(self, name: str, total: int) -> None:
        """Begin a stage."""
        self._name, self._done, self._total, self._told_s = name, 0, total, time.monotonic()
        if total:
            say(f"{name}: {total}")

    def step(self, count: int = 1) -> None:
        """Count, and say so now and then."""
        self._done += count
        if time.monotonic() - self._told_s >= self.EVERY_S:
            self._told_s = time.monotonic()
            say(f"{self._name}: {self._done} of {self._total}")


class Bar:
    """Shows a job's stages on a terminal: a moving bar for each."""

    def __init__(self, progress: Any) -> None:
        self._progress = progress
        self._task: Any = None

    def stage(self, name: str, total: int) -> None:
        """Begin a stage; an earlier one stays on screen as it ended."""
        self._task = self._progress.add_task(name, total=total)

    def step(self, count: int = 1) -> None:
        """Move the bar."""
        self._progress.advance(self._task, count)


@contextmanager
def progress_bar(*, quiet: bool) -> Iterator[Any]:
    """Show progress on stderr while the block runs; nothing at all when ``quiet``."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    from auscult.jobs.progress import Silent

    if quiet:
        yield Silent()
        return
    console = Console(stderr=True)
    if not console.is_terminal:
        yield Lines()
        return
    columns = (
        TextColumn("{task.description:<20}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console) as progress:
        yield Bar(progress)


def tables(shown: Sequence[Table]) -> None:
    """Print tables on stdout; one that is too wide for the terminal in parts, of which none breaks a number in two."""
    from rich.console import Console
    from rich.text import Text

    from auscult.cli.fitted import blocks, pieces

    console = Console(file=sys.stdout, highlight=False, width=None if sys.stdout.isatty() else 120)
    for table in shown:
        title = clean(table.title)
        found = pieces(table, console.width)
        for place, piece in enumerate(found, start=1):
            part = f" ({place} of {len(found)})" if len(found) > 1 else ""
            console.print(Text(f"{title}{part}", style="italic"))
            console.print(_grid(piece))
        if not found:
            console.print(Text(f"{title}\n", style="italic"))
            for block in blocks(table, console.width):
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
    """Talk to the person: stderr."""
    print(clean(text), file=sys.stderr)


def _errors_of(record: Path) -> list[Path]:
    """Where a record says what failed: its own list, and those of the judges of a suite."""
    return [record / "errors.jsonl", *sorted(record.glob("judges/*/errors.jsonl"))]


def exit_code(summary: Summary, *, max_failed: int, record: Path | None = None) -> None:
    """End with 1 when more cases failed than allowed.

    Raises:
        typer.Exit: More failed.
    """
    if summary.failed > max_failed:
        places = () if record is None else [path for path in _errors_of(record) if path.is_file()]
        why = f"; see {' and '.join(map(str, places))}" if places else ""
        say(f"{summary.failed} failed, more than --max-failed {max_failed}{why}")
        raise typer.Exit(1)
