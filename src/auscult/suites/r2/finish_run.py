"""The end of a run: numbers, tables, figures, page and summary, from the scores alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Any, Final

from auscult.cases.ids import counted
from auscult.record.folder import RunFolder
from auscult.record.lines import read_lines
from auscult.record.manifest import argument
from auscult.record.schema import Summary
from auscult.report.facts import facts_of
from auscult.report.suite import Example, Section, SuitePage, write_page
from auscult.report.tables import Table
from auscult.suites.leftovers import remove_stale, written_files
from auscult.suites.r2 import cells
from auscult.suites.r2.answers import Answers, answers_table
from auscult.suites.r2.asking import Place
from auscult.suites.r2.cases import R2Case
from auscult.suites.r2.grid import Grid, questions
from auscult.suites.r2.measures import Number, View
from auscult.suites.r2.relations import unranked
from auscult.suites.r2.results import FAILED, Results, results_of, sections_of, write_parts
from auscult.suites.r2.scoring import FILE
from auscult.suites.r2.strips import draw_strips
from auscult.suites.r2.tables import is_baseline
from auscult.suites.r2.telling import waiting_notes
from auscult.suites.registered import SuiteRun

_MOST_REASONS: Final = 4
_MOST_NAMED: Final = 3


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
    valid: Mapping[str, Place]
    seed: int
    workers: int
    notes: tuple[str, ...] = ()


def write_results(run: RunFolder, outcome: Outcome) -> SuiteRun:
    """Write everything that follows from the scores.

    Args:
        run: The record.
        outcome: Scores and counts.

    Returns:
        Summary and tables.
    """
    results = results_of(View(grid=outcome.grid, seed=outcome.seed))
    tables = {**results.tables, "answers": answers_table(outcome.answers, outcome.grid.waiting)}
    write_parts(run, tables=tables, charts=results.charts, numbers=results.numbers)
    summary = summary_of(outcome, results.numbers)
    run.write_json("summary.json", summary.as_json())
    strips = draw_strips(run, results.view, outcome.cases, valid=outcome.valid, workers=outcome.workers)
    reasons = undefined_reasons(read_lines(run.path / FILE), outcome.grid)
    sections = (*sections_of(tables, results.charts), *_pictures(strips))
    shown = shown_of(tables)
    page = _page(run, outcome, results, sections=sections, reasons=reasons)
    write_page(run, replace(page, shown=shown), tables)
    remove_stale(run, written_files(tables, (chart.name for chart in results.charts), strips))
    run.finish()
    remarks = tuple(waiting_notes(outcome.grid))
    return SuiteRun(out=run.path, summary=summary, tables=tables, shown=shown, remarks=remarks)


def shown_of(tables: Mapping[str, Table]) -> tuple[Table, ...]:
    """Those of the tables that fit a console."""
    first = [name for name in tables if name.startswith("general") and "__" not in name]
    return tuple(tables[name] for name in (*first, "floor", "answers") if name in tables)


def summary_of(outcome: Outcome, numbers: tuple[Number, ...]) -> Summary:
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
        metrics=cells.summary_metrics(numbers),
    )


def undefined_reasons(rows: Iterable[Mapping[str, Any]], grid: Grid) -> list[str]:
    """Why answers have no score, in a sentence for each of the commonest reasons.

    Args:
        rows: Of ``scores.jsonl``.
        grid: What holds of them.

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
    run: RunFolder, outcome: Outcome, results: Results, *, sections: Sequence[Section], reasons: Sequence[str]
) -> SuitePage:
    grid = outcome.grid
    models = [name for name in grid.models if not is_baseline(name)]
    floor = [name for name in grid.models if is_baseline(name)]
    told = f"{counted(len(models), 'model')} beside {counted(len(floor), 'baseline')}"
    clips = len(set(grid.cases.values()))
    return SuitePage(
        title=f"{grid.task.title.capitalize()}: {told}",
        suite="r2",
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
