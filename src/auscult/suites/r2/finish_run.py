"""The end of a run: numbers, tables, figures, page and summary, from the scores alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import PurePath
from typing import Final

from markupsafe import Markup

from auscult.media.drawing import to_markup, to_png, to_svg
from auscult.record.folder import RunFolder
from auscult.record.manifest import argument
from auscult.record.schema import Summary
from auscult.report.facts import facts_of
from auscult.report.latex import table_csv, table_latex
from auscult.report.suite import Example, Figure, Section, SuitePage, render_suite
from auscult.report.tables import Table
from auscult.suites.r2 import cells
from auscult.suites.r2 import tables as shown
from auscult.suites.r2.answers import Answers, answers_table
from auscult.suites.r2.cases import R2Case
from auscult.suites.r2.conditions import MIXES
from auscult.suites.r2.figures import Chart, charts_of
from auscult.suites.r2.grid import Grid
from auscult.suites.r2.measures import Number, View, numbers_of
from auscult.suites.r2.relations import correlation_table, correlations_of, ranking_table, rankings_of
from auscult.suites.r2.strips import draw_strips
from auscult.suites.registered import SuiteRun

_BY_SPLIT = frozenset({"level", "apc", "apc_dynamic"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Results:
    """What follows from the scores.

    Attributes:
        view: The scores.
        numbers: Every number.
        tables: By file name.
        charts: In order.
        uninformative: Models that do not beat every baseline.
    """

    view: View
    numbers: tuple[Number, ...]
    tables: Mapping[str, Table]
    charts: tuple[Chart, ...]
    uninformative: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a run came to before anything is computed from it.

    Attributes:
        command: The verb.
        grid: All scores.
        answers: Model to what became of its questions.
        cases: What was asked about.
        unlisted: What could not be made a case.
        absent: Expressions that refer to nothing, left out.
        seed: The run's seed.
        workers: Worker processes, for the pictures.
    """

    command: str
    grid: Grid
    answers: Mapping[str, Answers]
    cases: tuple[R2Case, ...]
    unlisted: int
    absent: int
    seed: int
    workers: int


def write_results(run: RunFolder, outcome: Outcome) -> SuiteRun:
    """Write everything that follows from the scores.

    Args:
        run: The record.
        outcome: Scores and counts.

    Returns:
        Summary and tables.
    """
    results = _results(outcome)
    for name, table in results.tables.items():
        run.write_json(f"tables/{name}.json", asdict(table))
        run.write_text(f"tables/{name}.csv", table_csv(table))
        run.write_text(f"tables/{name}.tex", table_latex(table))
    run.write_json("cells.json", cells.cells_json(results.numbers))
    run.write_text("cells.csv", cells.cells_csv(results.numbers))
    for chart in results.charts:
        run.write_text(f"figures/{chart.name}.svg", to_svg(chart.drawing))
        run.write_bytes(f"figures/{chart.name}.png", to_png(chart.drawing), durable=False)
    summary = _summary(outcome, results.numbers)
    run.write_json("summary.json", summary.as_json())
    strips = draw_strips(run, results.view, outcome.cases, workers=outcome.workers)
    run.write_text("report.html", render_suite(_page(run, outcome, results, strips=strips)))
    run.finish()
    first = [table for name, table in results.tables.items() if name.startswith("general") and "__" not in name]
    return SuiteRun(
        out=run.path,
        summary=summary,
        tables=results.tables,
        shown=(*first, *(results.tables[one] for one in ("floor", "answers") if one in results.tables)),
    )


def _results(outcome: Outcome) -> Results:
    view = View(grid=outcome.grid, seed=outcome.seed)
    splits = tuple(dict.fromkeys(outcome.grid.splits.values()))
    numbers = numbers_of(view)
    for split in splits if len(splits) > 1 else ():
        numbers += tuple(
            one
            for one in numbers_of(View(grid=outcome.grid, seed=outcome.seed, split=split))
            if one.measure in _BY_SPLIT
        )
    index = shown.Index(numbers)
    metric = shown.main_metric(index)
    correlations, ranks = correlations_of(view, metric), rankings_of(view, metric)
    tables = _tables(outcome, index, splits=splits if len(splits) > 1 else ())
    tables |= {f"correlation_{room}": correlation_table(room, found) for room, found in correlations.items()}
    ranking = ranking_table(ranks)
    return Results(
        view=view,
        numbers=numbers,
        tables=tables if ranking is None else tables | {"ranking": ranking},
        charts=tuple(charts_of(index, correlations=correlations, ranks=ranks, splits=splits)),
        uninformative=shown.uninformative(index),
    )


def _tables(outcome: Outcome, index: shown.Index, *, splits: Sequence[str]) -> dict[str, Table]:
    found: dict[str, Table | None] = {}
    for group, part in index.groups():
        if group in MIXES:
            name = f"general_{group}" + ("" if part == "all" else f"_{part}")
            found[name] = shown.general_table(index, group, part)
            for split in splits:
                found[f"{name}__{split}"] = shown.general_table(index, group, part, split=split)
    found["floor"] = shown.floor_table(index)
    found["kinds"] = shown.kinds_table(index)
    found["breaking"] = shown.breaking_table(index)
    found["differences"] = shown.difference_table(index)
    found["dynamic"] = shown.dynamic_table(index)
    found["answers"] = answers_table(outcome.answers)
    return {name: table for name, table in found.items() if table is not None and table.rows}


def _summary(outcome: Outcome, numbers: tuple[Number, ...]) -> Summary:
    """Counts are questions: one per model, case and condition."""
    asked = sum(one.asked for one in outcome.answers.values())
    failed = sum(one.failed for one in outcome.answers.values())
    lost = outcome.unlisted * len(outcome.answers)
    metrics = outcome.grid.task.metrics
    undefined = {(place[:2], case) for place, cell in outcome.grid.cells.items() for case in cell.undefined if metrics}
    return Summary(
        command=outcome.command,
        n=asked + lost,
        ok=asked - failed,
        failed=failed + lost,
        undefined=len(undefined),
        metrics=cells.summary_metrics(numbers),
    )


def _page(run: RunFolder, outcome: Outcome, results: Results, *, strips: Sequence[Example]) -> SuitePage:
    grid = outcome.grid
    models = ", ".join(grid.models)
    return SuitePage(
        title=f"{grid.task.title.capitalize()}: {len(grid.models)} model{'' if len(grid.models) == 1 else 's'}",
        suite="r2",
        facts=(
            ("Models", models),
            ("Data", PurePath(str(argument(run.manifest, "data") or "")).name),
            ("Cases", f"{len(grid.cases):,} of {len(set(grid.cases.values())):,} clips or photographs"),
            *facts_of(run.manifest),
        ),
        notes=(
            *(
                f"{name} does not beat every baseline on clean input by an interval: its curve carries no information."
                for name in results.uninformative
            ),
            "Failed questions are in no number and are counted in every table.",
            *([f"Could not be asked about: {outcome.unlisted:,}; see errors.jsonl."] if outcome.unlisted else []),
            *([f"Expressions that refer to nothing, left out: {outcome.absent:,}."] if outcome.absent else []),
        ),
        links=(),
        sections=_sections(results, strips),
    )


def _sections(results: Results, strips: Sequence[Example]) -> tuple[Section, ...]:
    """General first, then kinds, then the rest; each table in the first section that its name fits."""
    left_tables, left_charts = dict(results.tables), list(results.charts)
    found = []
    for name, title, lead, tables, charts in _PARTS:
        mine = [left_tables.pop(one) for one in list(left_tables) if one.startswith(tables)]
        drawn = [one for one in left_charts if one.name.startswith(charts)]
        left_charts = [one for one in left_charts if one not in drawn]
        figures = tuple(Figure(caption=one.caption, chart=Markup(to_markup(one.drawing))) for one in drawn)  # noqa: S704
        if mine or figures:
            found.append(Section(name=name, title=title, lead=lead, figures=figures, tables=tuple(mine)))
    if strips:
        lead = "The case that the first model loses most on. Tinted is its mask, the white line is the true outline."
        found.append(Section(name="strips", title="In pictures", lead=lead, examples=tuple(strips)))
    return tuple(found)


_PARTS: Final = (
    ("general", "How much is lost", "", ("general", "floor"), ("curve", "seen")),
    ("kinds", "Which perturbation does it", "Each kind alone, the same for every case.", ("kinds",), ("kinds",)),
    ("dynamic", "Static and dynamic", "", ("dynamic",), ("dynamic",)),
    ("alike", "Which perturbations harm alike", "", ("correlation",), ("correlation",)),
    ("models", "Which model", "", ("ranking", "differences", "breaking"), ("ranks",)),
    ("answers", "What was asked", "", ("",), ("",)),
)
"""Sections: anchor, title, lead, and how the names of their tables and charts begin."""
