"""Write the tables of docs/agent-table7.md: ``PYTHONPATH=tools python tests/docs/agent_sheets.py``."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from marked_sections import placed

from auscult.agent.evaluation import SUITE, AgentTableOptions
from auscult.report.tables import Table

PAGE: Final = Path(__file__).resolve().parents[2] / "docs" / "agent-table7.md"


def tables_of(out: Path, half: str) -> Mapping[str, Table]:
    """The tables of a run without a language model."""
    return SUITE.run(AgentTableOptions(out=out, half=half)).tables


def row(cells: tuple[str, ...]) -> str:
    """A row in Markdown."""
    return f"| {' | '.join(cells)} |"


def markdown(table: Table) -> str:
    """A table in Markdown, its title above."""
    rule = ("---",) * len(table.header)
    return "\n".join([f"**{table.title}**\n", *map(row, (table.header, rule, *table.rows))])


def with_tables(page: str, tables: Mapping[str, Table]) -> str:
    """The page with the tables between their marks."""
    for name, table in tables.items():
        page = placed(page, name, markdown(table))
    return page


def main() -> int:
    """Measure the half that is held back, and write its tables."""
    with tempfile.TemporaryDirectory() as folder:
        tables = tables_of(Path(folder) / "out", "test")
    PAGE.write_text(with_tables(PAGE.read_text(encoding="utf-8"), tables), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
