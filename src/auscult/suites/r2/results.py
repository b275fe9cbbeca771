"""From one view of scores to numbers, tables and charts, and how these are written and laid out on a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from auscult.record.folder import RunFolder
from auscult.report.suite import Figure, Section, write_charts, write_tables
from auscult.report.tables import Table
from auscult.score.stats.correlation import Correlation
from auscult.suites.r2 import cells
from auscult.suites.r2 import tables as shown
from auscult.suites.r2 import tables_alone as alone
from auscult.suites.r2.conditions import MIXES
from auscult.suites.r2.figures import Chart, charts_of
from auscult.suites.r2.measures import Number, View, numbers_of
from auscult.suites.r2.relations import (
    Ranks,
    correlation_table,
    correlations_of,
    ranking_table,
    rankings_of,
    strengths_told,
)

SPLITS: Final = ("seen", "unseen")
FAILED: Final = "Failed questions are in no number; cells.csv counts them, and the cases, for every number."
_BY_SPLIT: Final = frozenset({"level", "apc", "apc_dynamic"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Results:
    """What follows from the scores of one view.

    Attributes:
        view: The scores.
        metric: What one number a model is told in.
        numbers: Every number.
        tables: By file name.
        charts: In order.
        correlations: Room to the correlation of its kinds.
        ranks: The rankings.
        uninformative: Models that do not beat every baseline.
        unscored: Models without one clean score.
    """

    view: View
    metric: str
    numbers: tuple[Number, ...]
    tables: Mapping[str, Table]
    charts: tuple[Chart, ...]
    correlations: Mapping[str, Correlation]
    ranks: tuple[Ranks, ...]
    uninformative: tuple[str, ...]
    unscored: tuple[str, ...] = ()


def results_of(view: View) -> Results:
    """Everything that follows from the scores."""
    # A source's own words, such as train and test, say nothing of what a model knows.
    splits = tuple(one for one in SPLITS if one in view.grid.splits.values())
    parts = splits if len(splits) > 1 else ()
    numbers = numbers_of(view)
    for split in parts:
        mine = numbers_of(View(grid=view.grid, seed=view.seed, split=split))
        numbers += tuple(one for one in mine if one.measure in _BY_SPLIT)
    if not numbers:
        return _nothing(view)
    index = shown.Index(numbers)
    metric = shown.main_metric(index)
    correlations, ranks = correlations_of(view, metric), rankings_of(view, metric)
    tables = tables_of(index, splits=parts)
    tables |= {
        f"correlation_{room}": correlation_table(room, found, strengths_told([view], room))
        for room, found in correlations.items()
    }
    ranking = ranking_table(ranks)
    return Results(
        view=view,
        metric=metric,
        numbers=numbers,
        tables=tables if ranking is None else tables | {"ranking": ranking},
        charts=tuple(charts_of(index, correlations=correlations, ranks=ranks, splits=splits)),
        correlations=correlations,
        ranks=tuple(ranks),
        uninformative=shown.uninformative(index),
        unscored=shown.unscored(index),
    )


def _nothing(view: View) -> Results:
    return Results(
        view=view,
        metric=view.metrics[-1],
        numbers=(),
        tables={},
        charts=(),
        correlations={},
        ranks=(),
        uninformative=(),
    )


def tables_of(index: shown.Index, *, splits: Sequence[str]) -> dict[str, Table]:
    """The tables of numbers, by file name; empty ones are left out."""
    found: dict[str, Table | None] = {}
    for group, part in index.groups():
        if group in MIXES:
            name = f"general_{group}" + ("" if part == "all" else f"_{part}")
            found[name] = shown.general_table(index, group, part)
            for split in splits:
                found[f"{name}__{split}"] = shown.general_table(index, group, part, split=split)
    found["floor"] = shown.floor_table(index)
    found["kinds"] = alone.kinds_table(index)
    found["breaking"] = alone.breaking_table(index)
    found["differences"] = shown.difference_table(index)
    found["dynamic"] = alone.dynamic_table(index)
    return {name: table for name, table in found.items() if table is not None and table.rows}


def write_parts(
    run: RunFolder, *, tables: Mapping[str, Table], charts: Sequence[Chart], numbers: Sequence[Number]
) -> None:
    """Write tables as JSON, CSV and LaTeX, charts as JSON, SVG and PNG, and every number.

    Raises:
        OutputError: The disk is full, or the folder cannot be written to.
    """
    write_tables(run, tables)
    run.write_json("cells.json", cells.cells_json(numbers))
    run.write_text("cells.csv", cells.cells_csv(numbers))
    write_charts(run, ((chart.name, chart.drawing) for chart in charts))


def sections_of(tables: Mapping[str, Table], charts: Sequence[Chart]) -> tuple[Section, ...]:
    """General first, then kinds, then the rest; each table in the first section that its name fits."""
    left_tables, left_charts = dict(tables), list(charts)
    found = []
    for name, title, lead, table_names, chart_names in _PARTS:
        mine = [left_tables.pop(one) for one in list(left_tables) if one.startswith(table_names)]
        drawn = [one for one in left_charts if one.name.startswith(chart_names)]
        left_charts = [one for one in left_charts if one not in drawn]
        if mine or drawn:
            found.append(Section(name=name, title=title, lead=lead, figures=figures_of(drawn), tables=tuple(mine)))
    return tuple(found)


def figures_of(charts: Sequence[Chart]) -> tuple[Figure, ...]:
    """Charts as they stand on a page."""
    return tuple(Figure(name=one.name, caption=one.caption, drawing=one.drawing) for one in charts)


_PARTS: Final = (
    ("general", "How much is lost", "", ("general", "floor"), ("curve", "seen")),
    ("kinds", "Which perturbation does it", "Each kind alone, the same for every case.", ("kinds",), ("kinds",)),
    ("dynamic", "Static and dynamic", "", ("dynamic",), ("dynamic",)),
    ("alike", "Which perturbations harm alike", "", ("correlation",), ("correlation",)),
    ("models", "Which model", "", ("ranking", "differences", "breaking"), ("ranks",)),
    ("answers", "What was asked", "", ("",), ("",)),
)
"""Sections: anchor, title, lead, and how the names of their tables and charts begin."""
