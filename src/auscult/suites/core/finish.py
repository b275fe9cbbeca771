"""The output files of a run of any suite.

::

    DIR/cells.json .csv     every number with interval, counts and signature
    DIR/tables/ figures/    tables as JSON, CSV and LaTeX; figures as JSON, SVG and PNG
    DIR/report.html summary.json page.json
"""

from __future__ import annotations

import csv
import io
from collections.abc import Collection, Mapping, Sequence
from typing import Final

from auscult.errors import AuscultError
from auscult.media.paths import inside
from auscult.record.cells import disarmed
from auscult.record.files import NOTES
from auscult.record.folder import RunFolder
from auscult.record.lines import read_lines
from auscult.record.schema import Summary
from auscult.report.page import Page
from auscult.report.suite import write_charts, write_page, write_tables
from auscult.report.tables import Table
from auscult.suites.core.numbers import Number, SuiteNumber
from auscult.suites.registered import SuiteRun

FOLDERS: Final = ("tables/", "figures/", "pictures/")
_TABLE: Final = (".json", ".csv", ".tex")
_CHART: Final = (".json", ".svg", ".png")


def write_run(
    run: RunFolder,
    page: Page,
    *,
    tables: Mapping[str, Table],
    numbers: Sequence[SuiteNumber],
    summary: Summary,
    remarks: tuple[str, ...] = (),
) -> SuiteRun:
    """Write all files that depend on the results of a run, and finish it; tables and remarks by importance."""
    write_tables(run, tables)
    run.write_json("cells.json", [number.row() for number in numbers])
    run.write_text("cells.csv", cells_csv(numbers))
    run.write_json("summary.json", summary.as_json())
    figures = [figure for section in page.sections for figure in section.figures]
    write_charts(run, ((figure.name, figure.drawing) for figure in figures))
    write_page(run, page, tables)
    written = {f"tables/{name}{end}" for name in tables for end in _TABLE}
    written |= {f"figures/{figure.name}{end}" for figure in figures for end in _CHART}
    shown = [example for section in page.sections for example in section.examples]
    heard = {sound.file for example in shown for sound in example.sounds}
    remove_stale(run, written | heard | {example.file for example in shown})
    run.finish()
    return SuiteRun(out=run.path, summary=summary, tables=tables, shown=page.shown, remarks=remarks)


def cells_csv(numbers: Sequence[SuiteNumber]) -> str:
    """The numbers as CSV, one per line; no text is taken for a formula."""
    file = io.StringIO()
    writer = csv.DictWriter(file, (type(numbers[0]) if numbers else Number).keys(), lineterminator="\n")
    writer.writeheader()
    for number in numbers:
        writer.writerow({key: disarmed(cell) if isinstance(cell, str) else cell for key, cell in number.row().items()})
    return file.getvalue()


def remove_stale(run: RunFolder, written: Collection[str]) -> None:
    """Remove tables and figures of earlier commands: only files that the notes list and that lie in the record."""
    noted = {str(row.get("name")) for row in read_lines(run.path / NOTES)}
    for name in sorted(noted - set(written)):
        if name.startswith(FOLDERS) and _is_plain(run, name):
            run.remove(name)


def _is_plain(run: RunFolder, name: str) -> bool:
    """Whether it is a regular file of the record, reached without a symbolic link."""
    try:
        path = inside(run.path, name)
    except AuscultError:
        return False
    hidden = any(part.startswith(".") for part in name.split("/"))
    return not hidden and path.is_file() and path.resolve() == run.path.resolve() / name
