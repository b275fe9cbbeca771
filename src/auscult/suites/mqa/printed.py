"""What the paper prints: the rows of its Tables 2 to 6 and 9 to 11, to stand beside tables of the same form.

They are of other data, MQ-RAVSBench itself, so that a difference to a row that was measured here says nothing.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Final

from auscult.report.tables import Table
from auscult.suites.mqa.evaluate import ALL, COLUMNS, GROUPS, METRICS, Block

OTHER_DATA: Final = "Printed in the paper, on MQ-RAVSBench: other data, not comparable with what was measured here."
ABLATIONS: Final = {"4": "mask use", "5": "IoU estimate", "6": "perfect masks of a batch", "9": "mask use, overlay",
                    "10": "training data"}  # fmt: skip
_NAMES: Final = {"rmse": "RMSE", "f2_m": "F2-M", "f2_a": "F2-A"}
_METHODS: Final = ("metric", "method")


@dataclass(frozen=True, slots=True, kw_only=True)
class PrintedRow:
    """One printed row."""

    table: str  # its number
    part: str  # ``seen``, ``unseen``, or ``both`` one after the other; empty in Table 11
    metric: str  # of ``METRICS``; empty in Table 11
    method: str
    cells: tuple[str, ...]  # as printed, without the average; of Table 11 latency (s), throughput (1/s), memory (GB)
    average: str  # as printed; empty in Table 11


@cache
def printed_rows(table: str) -> tuple[PrintedRow, ...]:
    """The rows of a table of the paper by its number, in the paper's order."""
    text = resources.files("auscult.suites.mqa").joinpath("paper_tables.csv").read_text(encoding="utf-8")
    rows = (row for row in csv.DictReader(text.splitlines()) if row["table"] == table)
    return tuple(PrintedRow(**{**row, "cells": tuple(row["cells"].split())}) for row in rows)  # type: ignore[arg-type]


def printed_table(block: Block) -> Table:
    """Table 2 or 3 as printed, with the columns of ours: the part of a block, or both where it has all."""
    number = "2" if block.protocol == "image" else "3"
    parts = ("seen", "unseen") if block.part == ALL else (block.part,)
    found = [
        row
        for part in parts
        for metric in METRICS
        for row in printed_rows(number)
        if (row.part, row.metric) == (part, metric)
    ]
    return Table(
        title=f"{block.title}: the paper's Table {number}, other data",
        header=("part", *_METHODS, *(column.title for column in COLUMNS[block.protocol]), "Avg."),
        rows=tuple((row.part, _NAMES[row.metric], row.method, *row.cells, row.average) for row in found),
        note=OTHER_DATA,
    )


def printed_ablations() -> Table:
    """Tables 4, 5, 6, 9 and 10 as printed: the paper's auditor, changed in one thing."""
    columns = [f"{part} {defect.capitalize()}" for part in ("S", "U") for defect, _ in GROUPS]
    rows = [(row, what) for number, what in ABLATIONS.items() for row in printed_rows(number)]
    return Table(
        title="The paper's Tables 4, 5, 6, 9 and 10, other data",
        header=("table", *_METHODS, *columns, "Avg."),
        rows=tuple(
            (f"{row.table}: {what}", _NAMES[row.metric], row.method, *row.cells, row.average) for row, what in rows
        ),
        note=f"{OTHER_DATA} S: seen, U: unseen.",
    )
