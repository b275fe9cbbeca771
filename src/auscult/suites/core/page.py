"""Numbers, tables, charts and page of a run from its scores, and the output files of a run of any suite.

::

    DIR/cells.json .csv     every number with interval, counts and signature
    DIR/tables/ figures/    tables as JSON, CSV and LaTeX; figures as JSON, SVG and PNG
    DIR/report.html summary.json page.json
"""

from __future__ import annotations

import csv
import io
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath
from statistics import median
from types import MappingProxyType
from typing import Any, Final, Protocol, TypeAlias, runtime_checkable

from auscult.cases.ids import counted
from auscult.errors import AuscultError
from auscult.jobs.predict import FILE as PREDICTIONS
from auscult.media.paths import inside
from auscult.record.cells import disarmed
from auscult.record.files import NOTES
from auscult.record.folder import RunFolder
from auscult.record.lines import read_lines
from auscult.record.manifest import argument
from auscult.record.schema import Summary
from auscult.report.facts import facts_of
from auscult.report.page import Figure, Page, Section
from auscult.report.suite import write_charts, write_page, write_tables
from auscult.report.tables import Table
from auscult.suites.core import tables as shown
from auscult.suites.core.charts import charts_of
from auscult.suites.core.conditions import part_name
from auscult.suites.core.grid import Grid, request_counts
from auscult.suites.core.measures import Ranks, correlations_over, numbers_of, rankings_of, unranked
from auscult.suites.core.numbers import GridView, Number, SuiteNumber, number_text, percent
from auscult.suites.core.results import FILE as SCORES
from auscult.suites.core.runner import Finished, SuiteRunner
from auscult.suites.core.tables import Index
from auscult.suites.registered import SuiteRun

SPLITS: Final = ("seen", "unseen")
FAILED: Final = "Failed requests are in no number; cells.csv counts them, and the cases, for every number."
_BY_SPLIT: Final = frozenset({"level", "apc", "apc_dynamic"})


PagePart: TypeAlias = tuple[str, str, str, tuple[str, ...], tuple[str, ...]]
"""A section: anchor, title, lead, and the prefixes of its tables and charts."""

USUAL_PARTS: Final[tuple[PagePart, ...]] = (
    ("general", "How much is lost", "", ("general", "floor"), ("curve", "seen")),
    ("kinds", "Which perturbation does it", "Each kind alone, the same for every case.", ("kinds",), ("kinds",)),
    ("dynamic", "Static and dynamic", "", ("dynamic",), ("dynamic",)),
    ("alike", "Which perturbations harm alike", "", ("correlation",), ("correlation",)),
    ("models", "Which model", "", ("ranking", "differences", "breaking"), ("ranks",)),
    ("answers", "What was asked", "", ("",), ("",)),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteResults:
    """All results from the scores of one view."""

    view: GridView
    numbers: tuple[Number, ...]
    tables: Mapping[str, Table]
    charts: tuple[Figure, ...] = ()
    ranks: tuple[Ranks, ...] = ()
    uninformative: tuple[str, ...] = ()  # models that do not beat every baseline
    unscored: tuple[str, ...] = ()  # models without a clean score
    lead: str = ""  # the results in one paragraph; empty for the usual one
    parts: Sequence[PagePart] = USUAL_PARTS  # the sections of the page


@runtime_checkable
class TaskWithResults(Protocol):
    """A task of a suite whose numbers are not means over cases."""

    def results(self, view: GridView) -> SuiteResults:
        """The results from the scores."""
        ...


def results_of(view: GridView) -> SuiteResults:
    """All results from the scores."""
    return view.grid.task.results(view) if isinstance(view.grid.task, TaskWithResults) else usual_results(view)


def usual_results(view: GridView) -> SuiteResults:
    """The results of a task whose numbers are means over cases."""
    # Other splits of a source, such as train and test, do not tell what a model has seen.
    splits = tuple(split for split in SPLITS if split in view.grid.splits.values())
    parts = splits if len(splits) > 1 else ()
    numbers = numbers_of(view)
    for split in parts:
        split_numbers = numbers_of(GridView(grid=view.grid, seed=view.seed, split=split))
        numbers += tuple(number for number in split_numbers if number.measure in _BY_SPLIT)
    index, metric = Index(numbers, view.grid.task), view.grid.task.main
    correlations, ranks = correlations_over({"": view}, metric), rankings_of({"": view}, metric)
    tables = tables_of(index, splits=parts)
    tables |= {
        f"correlation_{room}": shown.correlation_table(room, matrix, shown.strengths_text([view], room))
        for room, matrix in correlations.items()
    }
    ranking = shown.ranking_table(ranks)
    return SuiteResults(
        view=view,
        numbers=numbers,
        tables=tables if ranking is None else tables | {"ranking": ranking},
        charts=tuple(charts_of(index, correlations=correlations, ranks=ranks, splits=splits)),
        ranks=tuple(ranks),
        uninformative=shown.uninformative(index),
        unscored=shown.unscored(index),
    )


def tables_of(index: Index, *, splits: Sequence[str]) -> dict[str, Table]:
    """The non-empty tables of numbers, by file name."""
    tables: dict[str, Table | None] = {}
    for mix in index.mixes():
        name = part_name("general", *mix)
        tables[name] = shown.general_table(index, *mix)
        for split in splits:
            tables[f"{name}__{split}"] = shown.general_table(index, *mix, split=split)
    tables["floor"] = shown.baselines_table(index)
    tables["kinds"] = shown.kinds_table(index)
    tables["breaking"] = shown.breaking_table(index)
    tables["differences"] = shown.difference_table(index)
    tables["dynamic"] = shown.dynamic_table(index)
    return {name: table for name, table in tables.items() if table is not None and table.rows}


def sections_of(
    parts: Iterable[PagePart], tables: Mapping[str, Table], charts: Iterable[Figure], *, before: str = ""
) -> tuple[Section, ...]:
    """The sections of a page; a table or chart goes to the first with a prefix of its name, ``before`` left aside."""
    left_tables, left_charts = dict(tables), list(charts)
    sections = []
    for name, title, lead, table_names, chart_names in parts:
        section_tables = [
            left_tables.pop(key) for key in list(left_tables) if key.removeprefix(before).startswith(table_names)
        ]
        figures = [chart for chart in left_charts if chart.name.removeprefix(before).startswith(chart_names)]
        left_charts = [chart for chart in left_charts if chart not in figures]
        if section_tables or figures:
            sections.append(
                Section(name=name, title=title, lead=lead, figures=tuple(figures), tables=tuple(section_tables))
            )
    return tuple(sections)


# --- outcomes of the requests ---


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """One model's answers."""

    requested: int  # cases times conditions
    answered: int  # of the requested
    failed: int  # of the requested; the rest was not sent
    frames: int  # 0 for answers in text
    # medians over answers (per frame for masks): the model, reading and perturbing, the rest
    times_ms: tuple[float, ...]  # empty without answers
    peak_mb: int | None  # of a worker with the model; None if the system does not report it


def answers_of(
    rows: Iterable[Mapping[str, Any]],
    *,
    valid: Mapping[str, tuple[str, str, str]],
    models: Sequence[str],
    failed: Sequence[tuple[str, str, str]],
) -> dict[str, Answers]:
    """Count and time the stored predictions of each model; ``failed`` has no answer or no score."""
    times: dict[str, list[list[float]]] = {model: [] for model in models}
    frames = dict.fromkeys(models, 0)
    peaks: dict[str, int | None] = dict.fromkeys(models)
    seen: set[str] = set()
    for row in rows:
        key = str(row["key"])
        if key not in valid or key in seen:
            continue
        seen.add(key)
        model, count = valid[key][0], max(1, len(row["counts"])) if "counts" in row else 0
        parts = max(1, count)
        times[model].append([1000 * float(row[name]) / parts for name in ("seconds", "preparing_s", "overhead_s")])
        frames[model] += count
        if row.get("peak_mb") is not None:
            peaks[model] = max(peaks[model] or 0, int(row["peak_mb"]))
    stored = {valid[key] for key in seen}
    failures = {model: {request for request in failed if request[0] == model} for model in models}
    return {
        model: Answers(
            requested=len(times[model]) + len(failures[model] - stored),
            answered=len(times[model]),
            failed=len(failures[model]),
            frames=frames[model],
            times_ms=tuple(map(median, zip(*times[model], strict=True))),
            peak_mb=peaks[model],
        )
        for model in models
    }


def answers_table(
    answers: Mapping[str, Answers], waiting: Mapping[tuple[str, str], Collection[str]] = MappingProxyType({})
) -> Table:
    """The outcomes of the requests, by model."""
    left = {model: sum(len(cases) for (name, _), cases in waiting.items() if name == model) for model in answers}
    any_left = any(left.values())
    in_text = any(answer.answered and not answer.frames for answer in answers.values())
    rows = [
        (
            model,
            f"{answer.requested:,}",
            f"{answer.answered:,}",
            f"{answer.failed:,}",
            *((f"{left[model]:,}",) if any_left else ()),
            *(() if in_text else (f"{answer.frames:,}",)),
            *([f"{value:.1f}" for value in answer.times_ms] or ["–"] * 3),
            "–" if answer.peak_mb is None else f"{answer.peak_mb:,}",
        )
        for model, answer in answers.items()
    ]
    return Table(
        title="Requests",
        header=(
            "model", "asked", "answered", "failed", *(("not yet asked",) if any_left else ()),
            *(() if in_text else ("frames",)), *_OF_TIME,
        ),
        rows=tuple(rows),
        note="A request is a case under a condition; a failed one is in no mean. Times are medians per "
        f"{'request' if in_text else 'frame'} on this machine: the model alone, reading and "
        f"{'preparing' if in_text else 'perturbing'} its input, and what adapter and storing add.",
    )  # fmt: skip


_OF_TIME: Final = ("model ms", "input ms", "ours ms", "peak MB")


# --- the end of a run ---


def write_results(
    runner: SuiteRunner[Any, Any],
    done: Finished,
    *,
    unlisted: int = 0,
    absent: int = 0,
    notes: tuple[str, ...] = (),
    first: Sequence[Section] = (),
    pictures: Sequence[Section] = (),
) -> SuiteRun:
    """Write all results, with sections of the suite, and finish the run.

    ``first`` are sections before the tables, ``pictures`` after them.
    """
    run, grid = runner.run, done.grid
    runner.progress.stage("tables and report", 0)
    stored = read_lines(run.path / PREDICTIONS)
    answers = answers_of(stored, valid=done.requests, models=grid.models, failed=done.failed)
    results = results_of(GridView(grid=grid, seed=runner.seed))
    tables = {**results.tables, "answers": answers_table(answers, grid.waiting)}
    waiting = shown.waiting_notes(grid)
    all_notes = (
        *undefined_reasons(read_lines(run.path / SCORES), grid),
        FAILED,
        *waiting,
        *notes,
        *([f"Could not be asked about: {unlisted:,}; see errors.jsonl."] if unlisted else []),
        *([f"Expressions that refer to nothing, left out: {absent:,}."] if absent else []),
    )
    sections = (*first, *sections_of(results.parts, tables, results.charts), *pictures)
    page = _page(run, results, sections=sections, notes=all_notes)
    return write_run(
        run,
        replace(page, shown=shown_of(tables)),
        tables=tables,
        numbers=results.numbers,
        summary=summary_of(f"run {grid.task.suite}", grid, answers, numbers=results.numbers, unlisted=unlisted),
        remarks=(*(f"{name}: {error}" for name, error in runner.unloaded.items()), *waiting),
    )


def shown_of(tables: Mapping[str, Table]) -> tuple[Table, ...]:
    """The tables for the console."""
    first = [name for name in tables if name.startswith("general") and "__" not in name]
    return tuple(tables[name] for name in (*first, "floor", "answers") if name in tables)


def summary_of(
    command: str, grid: Grid, answers: Mapping[str, Answers], *, numbers: Iterable[Number], unlisted: int
) -> Summary:
    """The summary; counts are requests, and an instance that cannot be made a case fails for each of its requests."""
    requested = sum(answer.requested for answer in answers.values())
    failed = sum(answer.failed for answer in answers.values())
    unlisted_requests = unlisted * len(answers)
    _, _, undefined = request_counts(grid)
    return Summary(
        command=command,
        n=requested + unlisted_requests,
        ok=requested - failed - undefined,
        failed=failed + unlisted_requests,
        undefined=undefined,
        metrics=shown.summary_metrics(numbers),
    )


_MOST_REASONS: Final = 4
_MOST_NAMED: Final = 3


def undefined_reasons(rows: Iterable[Mapping[str, Any]], grid: Grid) -> list[str]:
    """Sentences on the most frequent reasons of undefined scores, with counts of answers and cases."""
    reasons = {
        (str(row["model"]), str(row["condition"]), str(row["metric"]), str(row["id"])): str(row.get("reason") or "")
        for row in rows
        if row["outcome"] == "undefined"
    }
    by_reason: dict[str, set[tuple[str, str, str]]] = {}
    for (model, condition, metric, case), reason in reasons.items():
        if case in grid.cell(model, condition, metric).undefined:
            by_reason.setdefault(reason or "unknown", set()).add((model, condition, case))
    ranked = sorted(by_reason.items(), key=lambda one: (-len(one[1]), one[0]))
    sentences = [_reason(reason, answers) for reason, answers in ranked[:_MOST_REASONS]]
    left = len(ranked) - _MOST_REASONS
    return sentences + ([f"{left} more reasons why answers have no score: see scores.jsonl."] if left > 0 else [])


def _reason(reason: str, answers: set[tuple[str, str, str]]) -> str:
    cases = sorted({case for _, _, case in answers})
    names = ", ".join(case[:60] for case in cases[:_MOST_NAMED]) + (", ..." if len(cases) > _MOST_NAMED else "")
    return f"Undefined, {reason[:200]}: {len(answers):,} answers to {len(cases):,} cases ({names})."


def lead_of(results: SuiteResults) -> str:
    """The results in one paragraph: clean scores, losses, and the largest loss."""
    grid = results.view.grid
    index = Index(results.numbers, grid.task)
    tested, kinds = index.tested(), index.kinds()
    clips = len(set(grid.cases.values()))
    opening = f"{counted(len(tested), 'model')} {'was' if len(tested) == 1 else 'were'} asked about "
    under = f" and under {counted(len(kinds), 'perturbation')}" if kinds else " and perturbed" if index.mixes() else ""
    sentences = [f"{opening}{counted(len(grid.cases), 'case')} from {clips:,} {grid.task.cluster_words}, clean{under}."]
    clean = {name: index.get("level", name) for name in index.models()}
    scores = ", ".join(f"{name} {number_text(clean[name], interval=True)}" for name in tested)
    blind = (number.value for name, number in clean.items() if number is not None and name not in tested)
    best = max((value for value in blind if value is not None), default=None)
    baseline = "" if best is None else f"; the best baseline, which hardly looks, has {percent(best)}"
    sentences.append(f"Clean {index.metric}, in percent with 95 % intervals: {scores}{baseline}.")
    for mix in index.mixes():
        costs = [f"{name} {number_text(index.get('apc', name, mix), points=True, interval=True)}" for name in tested]
        sentences.append(f"Change under {grid.task.group_name(*mix)}, in points: {', '.join(costs)}.")
    worst = [(name, costliest) for name in tested if (costliest := _costliest(index, name)) is not None]
    if worst:
        said = ", ".join(
            f"{name} by {grid.task.group_name(*kind)} ({percent(change, points=True)})"
            for name, (change, kind) in worst
        )
        sentences.append(f"What costs most, in points: {said}.")
    return " ".join(sentences)


def _costliest(index: Index, model: str) -> tuple[float, tuple[str, str]] | None:
    """The largest loss of a model by a single kind, and the kind; None without a loss."""
    changes = [(number.value, kind) for kind in index.kinds() if (number := index.get("apc", model, kind))]
    losses = ((change, kind) for change, kind in changes if change is not None and round(change, 3) < 0)
    return min(losses, default=None)


def _page(run: RunFolder, results: SuiteResults, *, sections: tuple[Section, ...], notes: tuple[str, ...]) -> Page:
    grid = results.view.grid
    models = grid.task.tested(grid.models)
    baselines = [name for name in grid.models if name not in models]
    subtitle = f"{counted(len(models), 'model')} beside {counted(len(baselines), 'baseline')}"
    clips = len(set(grid.cases.values()))
    return Page(
        title=f"{grid.task.title.capitalize()}: {subtitle}",
        command=f"run {grid.task.suite}",
        lead=results.lead or lead_of(results),
        facts=(
            ("Models", ", ".join((*models, *baselines))),
            ("Data", PurePath(str(argument(run.manifest, "data") or "")).name),
            ("Cases", f"{len(grid.cases):,}"),
            (grid.task.cluster_words.capitalize(), f"{clips:,}"),
            *facts_of(run.manifest),
        ),
        notes=(
            *(
                f"{name} is not shown to beat every baseline on clean input: its curve carries no information."
                for name in results.uninformative
            ),
            *(f"{name} has not one clean score: nothing is known of it." for name in results.unscored),
            *unranked(results.ranks),
            *notes,
        ),
        links=(),
        sections=sections,
    )


# --- the output files of a run of any suite ---


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
    """Write all result files of a run, and finish it; tables and remarks are in order of importance."""
    write_tables(run, tables)
    run.write_json("cells.json", [number.row() for number in numbers])
    run.write_text("cells.csv", cells_csv(numbers))
    run.write_json("summary.json", summary.as_json())
    figures = [figure for section in page.sections for figure in section.figures]
    write_charts(run, ((figure.name, figure.drawing) for figure in figures))
    write_page(run, page, tables)
    written = {f"tables/{name}{end}" for name in tables for end in _TABLE}
    written |= {f"figures/{figure.name}{end}" for figure in figures for end in _CHART}
    examples = [example for section in page.sections for example in section.examples]
    sounds = {sound.file for example in examples for sound in example.sounds}
    remove_stale(run, written | sounds | {example.file for example in examples})
    run.finish()
    return SuiteRun(out=run.path, summary=summary, tables=tables, shown=page.shown, remarks=remarks)


def cells_csv(numbers: Sequence[SuiteNumber]) -> str:
    """The numbers as CSV, one per line; texts are protected from use as formulas."""
    file = io.StringIO()
    writer = csv.DictWriter(file, (type(numbers[0]) if numbers else Number).keys(), lineterminator="\n")
    writer.writeheader()
    for number in numbers:
        writer.writerow({key: disarmed(cell) if isinstance(cell, str) else cell for key, cell in number.row().items()})
    return file.getvalue()


def remove_stale(run: RunFolder, written: Collection[str]) -> None:
    """Remove tables and figures of earlier commands: only files in the notes, inside the record."""
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
