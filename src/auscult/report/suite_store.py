"""What a suite lays down in its record: tables, charts, and the page that says how they stand on ``report.html``.

::

    DIR/tables/<name>.json .csv .tex     finished tables
    DIR/figures/<name>.json .svg .png    charts: as values, from which the page is laid out, and as pictures
    DIR/page.json                        title, facts, notes, links, and the sections with the names of their files
    DIR/report.html                      made from these alone
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any, Final

from auscult.errors import OutputError
from auscult.media.drawing import Drawing, to_png, to_svg
from auscult.record.folder import RunFolder
from auscult.report.latex import table_csv, table_latex
from auscult.report.suite import Example, Section, SuitePage, render_suite
from auscult.report.suite_drawing import drawing_json
from auscult.report.suite_read import PAGE, read_page
from auscult.report.tables import Table

REPORT: Final = "report.html"


def write_tables(run: RunFolder, tables: Mapping[str, Table]) -> None:
    """Write each table as JSON, CSV and LaTeX.

    Raises:
        OutputError: The disk is full, or the folder cannot be written to.
    """
    for name, table in tables.items():
        run.write_json(f"tables/{name}.json", asdict(table))
        run.write_text(f"tables/{name}.csv", table_csv(table))
        run.write_text(f"tables/{name}.tex", table_latex(table))


def write_charts(run: RunFolder, charts: Iterable[tuple[str, Drawing]]) -> None:
    """Write each chart, by name, as JSON, SVG and PNG.

    Raises:
        OutputError: The disk is full, or the folder cannot be written to.
    """
    for name, drawing in charts:
        run.write_json(f"figures/{name}.json", drawing_json(drawing), indent=None)
        run.write_text(f"figures/{name}.svg", to_svg(drawing))
        run.write_bytes(f"figures/{name}.png", to_png(drawing), durable=False)


def write_page(run: RunFolder, page: SuitePage, tables: Mapping[str, Table]) -> None:
    """Write ``page.json``, and ``report.html`` from what lies in the record.

    Args:
        run: The record; the page's tables, charts and pictures have been written.
        page: The page.
        tables: File name of every table, without folder and ending.

    Raises:
        OutputError: The page shows what is not in the record, or the folder cannot be written to.
    """
    run.write_json(PAGE, _page_json(page, {table: name for name, table in tables.items()}))
    run.write_text(REPORT, render_suite(read_page(run.path)))


def _page_json(page: SuitePage, names: Mapping[Table, str]) -> dict[str, Any]:
    return {
        "title": page.title,
        "suite": page.suite,
        "facts": [list(one) for one in page.facts],
        "notes": list(page.notes),
        "links": [list(one) for one in page.links],
        "shown": [_file_of(table, names) for table in page.shown],
        "sections": [_section_json(one, names) for one in page.sections],
    }


def _section_json(section: Section, names: Mapping[Table, str]) -> dict[str, Any]:
    return {
        "name": section.name,
        "title": section.title,
        "lead": section.lead,
        "figures": [{"file": f"figures/{one.name}.json", "caption": one.caption} for one in section.figures],
        "tables": [_file_of(table, names) for table in section.tables],
        "examples": [_example_json(one) for one in section.examples],
    }


def _file_of(table: Table, names: Mapping[Table, str]) -> str:
    if table not in names:
        raise OutputError(f"the page shows a table that is not in the record: {table.title[:100]}")
    return f"tables/{names[table]}.json"


def _example_json(example: Example) -> dict[str, Any]:
    if not example.file:
        raise OutputError(f"the page shows a picture that is not in the record: {example.title[:100]}")
    return {
        "title": example.title,
        "file": example.file,
        "text": example.text,
        "id": example.id,
        "facts": [list(one) for one in example.facts],
        "broad": example.broad,
    }
