"""From one view of scores to numbers, tables and charts, and how these are written and laid out on a page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import Any, Final

from auscult.cases.ids import counted
from auscult.errors import REMARKS, RecordError
from auscult.jobs.predict import FILE as PREDICTIONS
from auscult.jobs.predict import STAGE
from auscult.jobs.runner import ERRORS
from auscult.record.folder import RunFolder
from auscult.record.lines import numbered_lines, read_lines
from auscult.record.manifest import argument
from auscult.record.schema import Summary
from auscult.report.facts import facts_of
from auscult.report.page import Example, Figure, Page, Section
from auscult.report.tables import Table
from auscult.score.stats.correlation import Correlation
from auscult.suites.core.finish import write_run
from auscult.suites.core.grid import Grid, questions
from auscult.suites.core.numbers import GridColumns, Number
from auscult.suites.core.results import FILE as SCORES
from auscult.suites.core.results import ResultKey
from auscult.suites.r2 import tables as shown
from auscult.suites.r2.answering import Answers, answers_of, answers_table
from auscult.suites.r2.cases import R2Case
from auscult.suites.r2.compare_sets import R2Record, labels_of, read_record
from auscult.suites.r2.conditions import MIXES
from auscult.suites.r2.figures import charts_of, draw_strips
from auscult.suites.r2.measures import numbers_of
from auscult.suites.r2.relations import (
    Ranks,
    correlation_table,
    correlations_of,
    ranking_table,
    rankings_of,
    strengths_text,
    unranked,
)
from auscult.suites.r2.tables import is_baseline, summary_metrics, waiting_notes
from auscult.suites.registered import SuiteRun

SPLITS: Final = ("seen", "unseen")
FAILED: Final = "Failed questions are in no number; cells.csv counts them, and the cases, for every number."
_BY_SPLIT: Final = frozenset({"level", "apc", "apc_dynamic"})


@dataclass(frozen=True, slots=True, kw_only=True)
class R2Results:
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

    view: GridColumns
    metric: str
    numbers: tuple[Number, ...]
    tables: Mapping[str, Table]
    charts: tuple[Figure, ...]
    correlations: Mapping[str, Correlation]
    ranks: tuple[Ranks, ...]
    uninformative: tuple[str, ...]
    unscored: tuple[str, ...] = ()


def results_of(view: GridColumns) -> R2Results:
    """Everything that follows from the scores."""
    # A source's own words, such as train and test, say nothing of what a model knows.
    splits = tuple(one for one in SPLITS if one in view.grid.splits.values())
    parts = splits if len(splits) > 1 else ()
    numbers = numbers_of(view)
    for split in parts:
        mine = numbers_of(GridColumns(grid=view.grid, seed=view.seed, split=split))
        numbers += tuple(one for one in mine if one.measure in _BY_SPLIT)
    if not numbers:
        return _nothing(view)
    index = shown.Index(numbers)
    metric = shown.main_metric(index)
    correlations, ranks = correlations_of(view, metric), rankings_of(view, metric)
    tables = tables_of(index, splits=parts)
    tables |= {
        f"correlation_{room}": correlation_table(room, found, strengths_text([view], room))
        for room, found in correlations.items()
    }
    ranking = ranking_table(ranks)
    return R2Results(
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


def _nothing(view: GridColumns) -> R2Results:
    return R2Results(
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
    found["kinds"] = shown.kinds_table(index)
    found["breaking"] = shown.breaking_table(index)
    found["differences"] = shown.difference_table(index)
    found["dynamic"] = shown.dynamic_table(index)
    return {name: table for name, table in found.items() if table is not None and table.rows}


def sections_of(tables: Mapping[str, Table], charts: Sequence[Figure]) -> tuple[Section, ...]:
    """General first, then kinds, then the rest; each table in the first section that its name fits."""
    left_tables, left_charts = dict(tables), list(charts)
    found = []
    for name, title, lead, table_names, chart_names in _PARTS:
        mine = [left_tables.pop(one) for one in list(left_tables) if one.startswith(table_names)]
        drawn = [one for one in left_charts if one.name.startswith(chart_names)]
        left_charts = [one for one in left_charts if one not in drawn]
        if mine or drawn:
            found.append(Section(name=name, title=title, lead=lead, figures=tuple(drawn), tables=tuple(mine)))
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


_MOST_REASONS: Final = 4
_MOST_NAMED: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOutcome:
    """What a run came to before anything is computed from it.

    Attributes:
        command: The verb.
        grid: All scores.
        answers: Model to what became of its questions.
        cases: What was asked about.
        unlisted: What could not be made a case.
        absent: Expressions that refer to nothing, left out.
        valid: Key of an answer to (model, condition, case), for the pictures.
        seed: The run's seed.
        workers: Worker processes, for the pictures.
        notes: What is to be said of the data.
    """

    command: str
    grid: Grid
    answers: Mapping[str, Answers]
    cases: tuple[R2Case, ...]
    unlisted: int
    absent: int
    valid: Mapping[str, ResultKey]
    seed: int
    workers: int
    notes: tuple[str, ...] = ()


def write_results(run: RunFolder, outcome: RunOutcome) -> SuiteRun:
    """Write everything that follows from the scores."""
    results = results_of(GridColumns(grid=outcome.grid, seed=outcome.seed))
    tables = {**results.tables, "answers": answers_table(outcome.answers, outcome.grid.waiting)}
    strips = draw_strips(run, results.view, outcome.cases, valid=outcome.valid, workers=outcome.workers)
    reasons = undefined_reasons(read_lines(run.path / SCORES), outcome.grid)
    sections = (*sections_of(tables, results.charts), *_pictures(strips))
    page = _page(run, outcome, results, sections=sections, reasons=reasons)
    return write_run(
        run,
        replace(page, shown=shown_of(tables)),
        tables=tables,
        numbers=results.numbers,
        summary=summary_of(outcome, results.numbers),
        remarks=tuple(waiting_notes(outcome.grid)),
    )


def shown_of(tables: Mapping[str, Table]) -> tuple[Table, ...]:
    """Those of the tables that fit a console."""
    first = [name for name in tables if name.startswith("general") and "__" not in name]
    return tuple(tables[name] for name in (*first, "floor", "answers") if name in tables)


def summary_of(outcome: RunOutcome, numbers: tuple[Number, ...]) -> Summary:
    """Counts are questions: one per model, case and condition."""
    asked = sum(one.asked for one in outcome.answers.values())
    failed = sum(one.failed for one in outcome.answers.values())
    lost = outcome.unlisted * len(outcome.answers)
    _, _, undefined = questions(outcome.grid)
    return Summary(
        command=outcome.command,
        n=asked + lost,
        ok=asked - failed - undefined,
        failed=failed + lost,
        undefined=undefined,
        metrics=summary_metrics(numbers),
    )


def undefined_reasons(rows: Iterable[Mapping[str, Any]], grid: Grid) -> list[str]:
    """Why answers have no score, in a sentence for each of the commonest reasons.

    Returns:
        Sentences with the number of answers and the cases; empty where every answer has a score.
    """
    why = {
        (str(row["model"]), str(row["condition"]), str(row["metric"]), str(row["id"])): str(row.get("reason") or "")
        for row in rows
        if row["outcome"] == "undefined"
    }
    found: dict[str, set[tuple[str, str, str]]] = {}
    for (model, condition, metric, case), reason in why.items():
        if case in grid.cell(model, condition, metric).undefined:
            found.setdefault(reason or "unknown", set()).add((model, condition, case))
    ranked = sorted(found.items(), key=lambda one: (-len(one[1]), one[0]))
    told = [_reason(reason, answers) for reason, answers in ranked[:_MOST_REASONS]]
    left = len(ranked) - _MOST_REASONS
    return told + ([f"{left} more reasons why answers have no score: see scores.jsonl."] if left > 0 else [])


def _reason(reason: str, answers: set[tuple[str, str, str]]) -> str:
    cases = sorted({case for _, _, case in answers})
    named = ", ".join(f"{case[:60]}" for case in cases[:_MOST_NAMED]) + (", ..." if len(cases) > _MOST_NAMED else "")
    return f"Undefined, {reason[:200]}: {len(answers):,} answers to {len(cases):,} cases ({named})."


def _page(
    run: RunFolder, outcome: RunOutcome, results: R2Results, *, sections: Sequence[Section], reasons: Sequence[str]
) -> Page:
    grid = outcome.grid
    models = [name for name in grid.models if not is_baseline(name)]
    floor = [name for name in grid.models if is_baseline(name)]
    told = f"{counted(len(models), 'model')} beside {counted(len(floor), 'baseline')}"
    clips = len(set(grid.cases.values()))
    return Page(
        title=f"{grid.task.title.capitalize()}: {told}",
        command="run r2",
        facts=(
            ("Models", ", ".join((*models, *floor))),
            ("Data", PurePath(str(argument(run.manifest, "data") or "")).name),
            ("Cases", f"{len(grid.cases):,}"),
            ("Clips or photographs", f"{clips:,}"),
            *facts_of(run.manifest),
        ),
        notes=(
            *(
                f"{name} does not beat every baseline on clean input by an interval: its curve carries no information."
                for name in results.uninformative
            ),
            *(f"{name} has not one clean score: nothing is known of it." for name in results.unscored),
            *unranked(results.ranks),
            *reasons,
            FAILED,
            *waiting_notes(grid),
            *outcome.notes,
            *([f"Could not be asked about: {outcome.unlisted:,}; see errors.jsonl."] if outcome.unlisted else []),
            *([f"Expressions that refer to nothing, left out: {outcome.absent:,}."] if outcome.absent else []),
        ),
        links=(),
        sections=tuple(sections),
    )


def _pictures(strips: Sequence[Example]) -> list[Section]:
    lead = (
        "Of each the case that the first model loses most on, or gains least, at the highest strength. Tinted is its "
        "mask, the white line is the true outline. In brackets: the change from clean."
    )
    section = Section(name="strips", title="In pictures", lead=lead, examples=tuple(strips))
    return [section] if strips else []


COMMAND: Final = "score"
_AGAIN: Final = "the file was edited or damaged; run the command of this record again with --overwrite"


def score_r2(folder: Path) -> SuiteRun:
    """Compute the numbers of a record from its scores; nothing is written.

    Args:
        folder: The output folder of ``auscult run r2``; the run may still be at work.

    Returns:
        Summary and tables, as the run itself tells them of the same lines; a remark where it did not come to its end.

    Raises:
        RecordError: It is no such record, or a damaged one; the message names file and line.
    """
    record = read_record(folder, labels_of([folder])[0])
    results = results_of(GridColumns(grid=record.grid, seed=record.seed))
    answers = answers_of(
        _predictions(folder / PREDICTIONS),
        valid=record.places,
        models=record.grid.models,
        failed=tuple(record.failed),
    )
    tables = {**results.tables, "answers": answers_table(answers, record.grid.waiting)}
    summary = summary_of(_outcome(record, answers), results.numbers)
    remarks = () if record.finished else ("the run has not come to its end: what has no score is only yet to come",)
    return SuiteRun(out=folder, summary=summary, tables=tables, shown=shown_of(tables), remarks=remarks)


def _predictions(path: Path) -> Iterator[Mapping[str, Any]]:
    """What the table of answers needs of each prediction; masks are not decoded."""
    numbers = ("seconds", "preparing_s", "overhead_s")
    for number, row in numbered_lines(path):
        times = [row.get(name) for name in numbers]
        optional = [row.get(name) for name in ("peak_mb", "threshold")]
        sound = (
            isinstance(row.get("key"), str)
            and isinstance(row.get("counts"), list)
            and all(_is_number(one) for one in times)
            and all(one is None or _is_number(one) for one in optional)
        )
        if not sound:
            raise RecordError(
                "the line is no answer", path=path, line=number, expected="key, counts and times", hint=_AGAIN
            )
        yield {"threshold": None, **row}


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1 << 53


def _outcome(record: R2Record, answers: Mapping[str, Answers]) -> RunOutcome:
    unlisted = sum(_unlisted(row) for _, row in numbered_lines(record.path / ERRORS))
    return RunOutcome(
        command=COMMAND,
        grid=record.grid,
        answers=answers,
        cases=(),
        unlisted=unlisted,
        absent=0,
        valid={},
        seed=record.seed,
        workers=0,
    )


def _unlisted(row: Mapping[str, Any]) -> int:
    """How many cases an error kept from being made; 0 for one that is about questions or a model, or costs nothing."""
    if row.get("stage") in (*REMARKS, STAGE, "score") or "questions" in row:
        return 0
    cases = row.get("cases")
    return len(cases) if isinstance(cases, list) else 1
