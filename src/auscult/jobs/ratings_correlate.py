"""``auscult ratings correlate``: columns of a table against one of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from auscult.cases.fields import number_of
from auscult.cases.problems import required_file
from auscult.cases.ratings import rows_of
from auscult.errors import UsageError
from auscult.jobs.against_truth import cell
from auscult.jobs.options import Flag, RecordOptions, input_path
from auscult.jobs.ratings import Done, write_record
from auscult.outcome import Scored
from auscult.record.schema import metric_row
from auscult.report.tables import Table
from auscult.score.judges import reals
from auscult.score.stats import associations_by


@dataclass(frozen=True, slots=True, kw_only=True)
class CorrelateOptions(RecordOptions):
    """Which columns to compare.

    Attributes:
        source: CSV or JSON lines, a row an item, such as the scores.jsonl of `auscult ratings import`, the verdicts.csv
            of an audit, or the metadata.jsonl of `auscult make mixtures`.
        against: The column that all others with numbers are compared with.
        cluster: The column that says what belongs together, such as a mixture or song; intervals draw whole ones, and a
            row without a value is one.
        by: A column, such as domain, by whose values the rows are compared as well.
        seed: The same seed draws the same intervals.
    """

    source: Annotated[Path, Flag(read=input_path, metavar="FILE", positional=True)]
    against: str = "overall"
    cluster: Annotated[str | None, Flag(shown="each row by itself")] = None
    by: Annotated[str | None, Flag(shown="none")] = None
    seed: int = 0


def correlate(options: CorrelateOptions) -> Done:
    """Correlate columns of a table: Pearson, Spearman and Kendall with intervals."""
    by, cluster = (options.by or "").lower(), (options.cluster or "").lower()  # names of columns are read in lower case
    against = options.against.lower()
    needed = [name for name in (against, cluster, by) if name]
    with required_file(options.source):
        found_rows = rows_of(options.source, needed=needed, expected=f"the columns {', '.join(needed)}")
        rows = [{name.lower(): value for name, value in row.items()} for _, row in found_rows]
    every = dict.fromkeys(name for row in rows for name in row if name not in {cluster, by})
    parsed = {name: [number_of(_present(row.get(name))) for row in rows] for name in every}
    known = {name: [number for number in cells if number is not None] for name, cells in parsed.items()}
    columns = {name: reals(cells) for name, cells in parsed.items() if known[name] and np.isfinite(known[name]).all()}
    if against not in columns or len(columns) < 2:
        message, present = f"{against} is no column of numbers, or the only one", ", ".join(columns)
        raise UsageError(message, expected=f"two columns of numbers; there is {present}", path=options.source)
    clusters = [number if name is None else name for number, name in enumerate(_names(rows, cluster, options.source))]
    groups = [name or "unknown" for name in _names(rows, by, options.source)] if by else None
    associations = associations_by(columns, against=against, clusters=clusters, groups=groups, seed=options.seed)
    table = Table(
        title=f"Columns against {against}",
        header=(by or "of", "column", "Pearson", "Spearman", "Kendall"),
        rows=tuple(
            ("all" if of is None else str(of), name, *map(cell, values.values()))
            for (of, name), values in associations.items()
        ),
        note=f"{len(rows)} rows; in brackets 95 % intervals over {cluster or 'rows'}; Kendall's is tau-b.",
    )
    metrics = {
        f"{kind}_{name}": metric_row(value, n=int((~np.isnan(columns[name] + columns[against])).sum()))
        for (of, name), values in associations.items()
        for kind, value in values.items()
        if of is None and isinstance(value, Scored)
    }
    return write_record("ratings correlate", options, {"columns": table}, n=len(rows), metrics=metrics, files={})


def _present(cell: object) -> object:
    """A cell, or None for what R, pandas and spreadsheets write where there is no number."""
    return None if isinstance(cell, str) and cell.strip().lower() in {"na", "n/a", "nan", "none", "null"} else cell


def _names(rows: Sequence[Mapping[str, Any]], column: str, source: Path) -> list[str | None]:
    """What a column says of each row, None for nothing; an error where it says nothing of any."""
    cells = [row.get(column) for row in rows]
    names = [None if cell is None or cell == "" else str(cell) for cell in cells]
    if column and not any(names):
        raise UsageError(f"no row has a {column}", expected="the name of a column that has values", path=source)
    return names
