"""The end of a run: tables, charts, every number, summary and page, from finished values."""

from __future__ import annotations

import csv
import io
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final

from auscult.errors import AuscultError
from auscult.media.paths import inside
from auscult.record.files import NOTES
from auscult.record.folder import RunFolder
from auscult.record.lines import read_lines
from auscult.record.schema import Summary
from auscult.report.page import Example, Page
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
    """Write everything that follows from the results of a run, tables and remarks the gravest first, and end it."""
    write_tables(run, tables)
    run.write_json("cells.json", cells_json(numbers))
    run.write_text("cells.csv", cells_csv(numbers))
    run.write_json("summary.json", summary.as_json())
    figures = [figure for section in page.sections for figure in section.figures]
    write_charts(run, ((one.name, one.drawing) for one in figures))
    write_page(run, page, tables)
    pictures = [one for section in page.sections for one in section.examples]
    remove_stale(run, written_files(tables, (one.name for one in figures), pictures))
    run.finish()
    return SuiteRun(out=run.path, summary=summary, tables=tables, shown=page.shown, remarks=remarks)


def cells_json(numbers: Iterable[SuiteNumber]) -> list[dict[str, Any]]:
    """Every number as plain values."""
    return [one.row() for one in numbers]


def cells_csv(numbers: Sequence[SuiteNumber]) -> str:
    """The same as CSV, one number a line; no line where there is no number."""
    file = io.StringIO()
    writer = csv.DictWriter(file, (type(numbers[0]) if numbers else Number).keys(), lineterminator="\n")
    writer.writeheader()
    writer.writerows(cells_json(numbers))
    return file.getvalue()


def written_files(tables: Mapping[str, Table], charts: Iterable[str], pictures: Iterable[Example] = ()) -> set[str]:
    """The files of a suite's results, as ``report.suite`` names them."""
    found = {f"tables/{name}{end}" for name in tables for end in _TABLE}
    found |= {f"figures/{name}{end}" for name in charts for end in _CHART}
    return found | {one.file for one in pictures if one.file}


def remove_stale(run: RunFolder, written: Collection[str]) -> None:
    """Remove tables and figures that are none of these: only files that our notes name and that lie in the record."""
    noted = {str(row.get("name")) for row in read_lines(run.path / NOTES)}
    for name in sorted(noted - set(written)):
        if name.startswith(FOLDERS) and _is_plain(run, name):
            run.remove(name)


def _is_plain(run: RunFolder, name: str) -> bool:
    """Whether it is a real file of the record, reached without a symbolic link."""
    try:
        path = inside(run.path, name)
    except AuscultError:
        return False
    hidden = any(part.startswith(".") for part in name.split("/"))
    return not hidden and path.is_file() and path.resolve() == run.path.resolve() / name
