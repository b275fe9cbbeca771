"""What one measurement gives back to the driver that prints them all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from time import process_time
from typing import Any


@dataclass(frozen=True, slots=True)
class Table:
    """One table of a benchmark."""

    title: str  # what was measured
    header: list[str]  # with units
    rows: list[list[str]]  # each as long as the header
    note: str  # on what it was measured, and what the numbers are to be read against


def text(table: Table) -> str:
    """A table as aligned text, with its title above and its note below."""
    lines = [table.header, *table.rows]
    widths = [max(len(row[i]) for row in lines) for i in range(len(table.header))]
    laid = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in lines]
    return "\n".join([table.title, *laid, table.note])


def timed_ms(call: Callable[[], Any], turns: int) -> tuple[float, Any]:
    """Median processor time of a call, in milliseconds, and what it gave last."""
    spent = []
    for _ in range(turns):
        begun = process_time()
        made = call()
        spent.append(1000 * (process_time() - begun))
    return median(spent), made
