"""What one measurement gives back to the driver that prints them all."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Table:
    """One table of a benchmark.

    Attributes:
        title: What was measured.
        header: Column names, with units.
        rows: Cells as text, each row as long as the header.
        note: On what it was measured, and what the numbers are to be read against.
    """

    title: str
    header: list[str]
    rows: list[list[str]]
    note: str


def text(table: Table) -> str:
    """A table as aligned text, with its title above and its note below."""
    lines = [table.header, *table.rows]
    widths = [max(len(row[i]) for row in lines) for i in range(len(table.header))]
    laid = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in lines]
    return "\n".join([table.title, *laid, table.note])
