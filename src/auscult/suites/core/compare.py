"""``auscult compare`` of records of a suite of models: side by side, and over several data sets.

Only the files of the records are read, and no model is asked. With an output folder, the files of ``finish`` are
written there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from auscult.errors import RecordError, UsageError
from auscult.jobs.compare import require_apart
from auscult.media.paths import safe_name
from auscult.outcome import Undefined
from auscult.record.digest import digest_file
from auscult.record.folder import RunFolder, open_run
from auscult.record.manifest import build as build_manifest
from auscult.record.schema import Summary
from auscult.report.facts import facts_of
from auscult.report.page import Figure, Page, Section
from auscult.report.tables import Table
from auscult.score.stats.correlation import Correlation
from auscult.suites.core.charts import charts_of
from auscult.suites.core.conditions import REMOVED, Condition, is_kind, is_mix
from auscult.suites.core.data_sets import ALL, DataSet, Overall, data_sets, kind_means, models_over
from auscult.suites.core.grid import Grid, Task, request_counts
from auscult.suites.core.measures import Ranks, correlations_over, unranked
from auscult.suites.core.numbers import Number, metric_json, number_text
from auscult.suites.core.page import FAILED, SuiteResults, results_of, sections_of, write_run
from auscult.suites.core.records import ModelSuite, SuiteRecord, command_of, labels_of, read_record
from auscult.suites.core.results import FILE as SCORES
from auscult.suites.core.tables import (
    Index,
    cases_text,
    correlation_table,
    difference_table,
    digits_of,
    kind_changes,
    metric_path,
    percent_note,
    ranked_clips,
    ranking_table,
    strengths_text,
    summary_metrics,
    waiting_notes,
)
from auscult.suites.options import option_names


def notes_of(
    sets: Sequence[DataSet],
    found: Mapping[str, SuiteResults],
    overall: Overall,
    *,
    dropped: Sequence[Condition],
    broken: Sequence[tuple[Path, RecordError]],
) -> tuple[str, ...]:
    """The notes, the most important first."""
    labels = dict.fromkeys(f"{condition.label} {condition.level}" for condition in dropped)
    return (
        *_of_records(sets, broken),
        *_of_cases(sets),
        *_of_scores(sets, found),
        *_of_all(sets, overall),
        *_of_removals(sets),
        *([f"Not every model was asked under these, so they are left out: {', '.join(labels)}."] if labels else []),
    )


def _of_records(sets: Sequence[DataSet], errors: Sequence[tuple[Path, RecordError]]) -> Iterator[str]:
    for folder, error in errors:
        location = "" if error.path is None else f" ({Path(error.path).name}{f':{error.line}' if error.line else ''})"
        yield f"{folder.name} is left out: {error.message}{location}."
    for record in _each(sets):
        if not record.finished:
            yield f"{record.label} is unfinished: what has no score yet is left out; run it again to go on."
        elif record.grid.waiting:
            yield from (f"{record.label}: {note}" for note in waiting_notes(record.grid))
    versions = dict.fromkeys(record.version for record in _each(sets))
    if len(versions) > 1:
        yield f"The records were made by different versions of auscult: {', '.join(map(str, versions))}."


def _of_cases(sets: Sequence[DataSet]) -> Iterator[str]:
    if len(sets) > 1:
        names = ", ".join(data.name for data in sets)
        yield (
            f"{names} have no case in common (same id, same input, scored alike): models are compared case by case "
            "within each of them only."
        )
        yield from _changed(sets)
    for data in sets:
        for record in data.records:
            omitted = len(record.digests) - len(data.grid.cases)
            if omitted:
                count = len(record.digests)
                yield f"{record.label}: {omitted} of {count} cases are left out: not in all of {data.name}."
        seeds = dict.fromkeys(record.seed for record in data.records)
        if len(seeds) > 1:
            yield (
                f"{data.name}: the records have different seeds ({', '.join(map(str, seeds))}), so their models met "
                "different perturbations of the same cases; only clean scores are of the same input."
            )


def _changed(sets: Sequence[DataSet]) -> Iterator[str]:
    """Notes on cases of one name with different content, and on equal cases scored differently."""
    for index, first in enumerate(sets):
        for second in sets[index + 1 :]:
            record, other = first.records[0], second.records[0]
            identical = [name for name, digest in record.digests.items() if other.digests.get(name) == digest]
            same_name = [name for name in record.digests if name in other.digests]
            if identical:
                count = len(identical)
                yield f"{first.name} and {second.name} have {count} cases in common but score them differently."
            elif same_name:
                yield f"{first.name} and {second.name} have {len(same_name)} cases of one name but of other content."


def _of_scores(sets: Sequence[DataSet], results: Mapping[str, SuiteResults]) -> Iterator[str]:
    for data in sets:
        if data.differing:
            yield (
                f"{data.name}: {data.differing} scores of one model, case and condition differ between records; those "
                "of the record given first are used."
            )
        for model in data.grid.models:
            if not any(
                data.grid.cell(model, condition.name, data.view.metrics[0]).values for condition in data.grid.conditions
            ):
                yield f"{data.name}: {model} has not one score."
        if len(sets) < 2:
            yield from unranked(results[data.name].ranks)
        for name in results[data.name].uninformative:
            yield f"{data.name}: {name} is not shown to beat every baseline: its curve says nothing."


def _of_all(sets: Sequence[DataSet], overall: Overall) -> Iterator[str]:
    """Notes on what is missing from the numbers over all data sets."""
    if len(sets) < 2:
        return
    if overall.not_everywhere:
        names = ", ".join(overall.not_everywhere)
        yield f"Not asked on every data set, so in no number over all of them: {names}."
    for model in overall.without:
        yield f"{model} has no score under some conditions on some data set: it is left out of a ranking over all."
    if not overall.ranks:
        yield "No ranking over all data sets: fewer than two models were asked on every one."
    for ranked in overall.ranks:
        if isinstance(ranked.ranking, Undefined):
            yield f"No ranking over all data sets by {ranked.title}: {ranked.ranking.reason}."
    if overall.single_cluster:
        names = ", ".join(overall.single_cluster)
        yield f"No interval over all data sets: of a single clip or photograph there is nothing to draw ({names})."
    for ranked in overall.ranks:
        if others := [
            name for name in getattr(ranked.ranking, "single_cluster", ()) if name not in overall.single_cluster
        ]:
            names = ", ".join(others)
            yield f"Places by {ranked.title} have no interval: of {names} one clip alone is scored for all models."


def _of_removals(sets: Sequence[DataSet]) -> Iterator[str]:
    """Notes on senses that were taken away, which have no number over several data sets."""
    removals = {data.name: _removals(data.grid) for data in sets if len(sets) > 1}
    for group in dict.fromkeys(group for groups in removals.values() for group in groups):
        asked = [name for name, groups in removals.items() if group in groups]
        unasked = ", ".join(name for name in removals if name not in asked)
        end = f"; {unasked} was not asked so" if unasked else ""
        yield f"{group[0].capitalize()}: in the tables of {', '.join(asked)}, in no number over all data sets{end}."


def _removals(grid: Grid) -> list[tuple[str, str]]:
    """The groups of conditions that take something away, a sense, and so have no strength."""
    groups = (condition for condition in grid.conditions if condition.level == REMOVED)
    return list(dict.fromkeys((condition.group, condition.part) for condition in groups))


def _each(sets: Sequence[DataSet]) -> Iterator[SuiteRecord]:
    return (record for data in sets for record in data.records)


_COUNTS: Final = ("failed", "undefined", "missing")
OVER_ALL: Final = "all models and data sets"


def records_table(sets: Sequence[DataSet]) -> Table:
    """The records, and how much of each is compared."""
    rows = []
    for data in sets:
        for record in data.records:
            requested, failed, undefined = request_counts(record.grid)
            rows.append(
                (
                    record.label,
                    data.name,
                    ", ".join(record.grid.models),
                    f"{len(record.grid.cases):,}",
                    f"{len(data.grid.cases):,}",
                    f"{requested:,}",
                    f"{failed:,}",
                    f"{undefined:,}",
                    str(record.seed),
                    "yes" if record.finished else "no",
                )
            )
    return Table(
        title="What was compared",
        header=("record", "data", "models", "cases", "compared", "asked", "failed", "undefined", "seed", "finished"),
        rows=tuple(rows),
        note="Asked: requests of the record, a case under a condition. A failed one is in no mean. Compared: cases "
        "that all records of the data have.",
    )


def sets_table(found: Mapping[str, SuiteResults], overall: Overall) -> Table:
    """The change of every model on every data set and over all; clean scores if there is no mix."""
    grids = [results.view.grid for results in found.values()]
    groups = dict.fromkeys(group for grid in grids for group in grid.groups() if is_mix(group[0]))
    mixes = [group for group in groups if group not in {removed for grid in grids for removed in _removals(grid)}]
    rows, task = [], next(iter(found.values())).view.grid.task
    shown: list[Number | None] = []
    for name, numbers in (*((name, results.numbers) for name, results in found.items()), (ALL, overall.numbers)):
        index = Index(numbers, task)
        for model in index.models():
            for metric in index.metrics():
                clean, scale = index.get("level", model, metric=metric), task.scale(metric)
                text = partial(number_text, interval=True, digits=digits_of(scale), scale=scale)
                changes = [index.get("apc", model, mix, metric=metric) for mix in mixes]
                if mixes and not any(changes):
                    continue  # clean input only, as for baselines
                shown += [clean, *changes]
                rows.append(
                    (
                        name,
                        model,
                        task.metric_name(metric),
                        text(clean),
                        *(text(change, points=True) for change in changes),
                        cases_text([clean, *changes], counts=_counts),
                    )
                )
    return Table(
        title="Average change by data set and model",
        header=("data", "model", "metric", "clean", *(f"APC, {task.group_name(*mix)}" for mix in mixes), "cases"),
        rows=tuple(rows),
        note="Models that met no perturbation are left out. Clean: of the cases with a clean score. APC: mean over the "
        "strengths of perturbed minus clean, of the cases that have all. Cases: of every column in turn, of all; once "
        f"where all are of as many. {ALL.capitalize()}: the mean over them, each alike. "
        f"{percent_note(shown, scale=task.scale(task.main), clusters=task.cluster_words)}",
    )


def _counts(number: Number | None) -> str:
    counts = None if number is None else number.counts
    if counts is None:
        return "–"
    return f"{counts.n} of {counts.n + counts.failed + counts.undefined + counts.missing}"


_EACH: Final = "Every number is a mean over the data sets, each of which counts alike; clips are drawn within each."


def overall_tables(found: Overall, task: Task) -> dict[str, Table]:
    """The ranking and the differences over all data sets, if any, by file name."""
    tables: dict[str, Table] = {}
    alone = (
        f" No interval: {', '.join(found.single_cluster)} has a single clip or photograph."
        if found.single_cluster
        else ""
    )
    ranking = ranking_table(list(found.ranks), scale=task.scale(task.main))
    differences = difference_table(Index(found.numbers, task))
    if ranking is not None:
        note = (
            f"{_EACH} In brackets: 90 % interval of the place; none where it is one place. First in: the share of "
            "draws that it wins. Of the models that were asked on every data set, on the cases that all of them have. "
            f"{ranked_clips(found.ranks, clusters=task.cluster_words)}{alone}"
        )
        tables["joined_ranking"] = replace(ranking, title=f"{ranking.title} over all data sets", note=note)
    if differences is not None:
        title = f"{differences.title} of all data sets"
        tables["joined_differences"] = replace(differences, title=title, note=f"{differences.note} {_EACH}{alone}")
    return tables


def means_table(numbers: Sequence[Number], task: Task) -> Table | None:
    """Fig. 7 as a table: the change by each kind alone, as a mean over models and data sets."""
    index = Index(numbers, task)
    series = index.models()
    over, kinds = kind_changes(index, series)
    if not kinds:
        return None
    rows = [(task.group_name(*kind), *texts, _counts(cells[-1])) for kind, cells, texts in kinds]
    clips = percent_note((cell for _, cells, _ in kinds for cell in cells), clusters=task.cluster_words)
    return Table(
        title=f"Average change by kind, {index.metric}, mean over models",
        header=("kind", *series, "answers"),
        rows=tuple(rows),
        note=f"Mean over {', '.join(over) or 'no level'}. Every model on every data set counts alike, baselines do "
        f"not. Answers: scored clean and at every strength, of all. {clips} Drawn within each data set; none where "
        "one has a single clip.",
    )


def joined_table(room: str, found: Correlation, over: str) -> Table:
    """The Pearson matrix of a room over all data sets; ``over`` names the strengths of a change."""
    table = correlation_table(room, found, over)
    return replace(table, title=f"{table.title}, all data sets", note=table.note.replace("all models", OVER_ALL, 1))


def metrics_of(
    found: Mapping[str, SuiteResults], means: Sequence[Number], overall: Overall
) -> dict[str, Mapping[str, Any]]:
    """The numbers of ``--json``: of each data set and over all, prefixed with its name; and means."""
    metrics: dict[str, Mapping[str, Any]] = {}
    sources = [
        (f"{name}/" if len(found) > 1 else "", results.numbers, results.ranks) for name, results in found.items()
    ]
    for before, numbers, ranks in (*sources, (f"{ALL}/", overall.numbers, overall.ranks)):
        summary = summary_metrics(numbers) | _differences(numbers) | dict(_ranks(ranks))
        metrics |= {f"{before}{key}": value for key, value in summary.items()}
    changes = [mean for mean in means if mean.measure == "apc" and (len(found) == 1 or mean.model == ALL)]
    return metrics | {metric_path(mean, "mean"): _metric(mean) for mean in changes}


def pearson_metrics(correlations: Mapping[str, Correlation]) -> dict[str, Mapping[str, Any]]:
    """Every coefficient above the diagonal."""
    metrics: dict[str, Mapping[str, Any]] = {}
    for room, matrix in correlations.items():
        for index, first in enumerate(matrix.kinds):
            for second in matrix.kinds[index + 1 :]:
                coefficient = matrix.at(first, second)
                shared = int(matrix.pairs[matrix.kinds.index(first), matrix.kinds.index(second)])
                metrics[f"pearson/{room}/{first}/{second}"] = {
                    "value": None if isinstance(coefficient, Undefined) else round(coefficient.value, 6),
                    "low": None,
                    "high": None,
                    "n": shared,
                    "signature": str(matrix.signature),
                    **({"reason": coefficient.reason} if isinstance(coefficient, Undefined) else {}),
                }
    return metrics


def _differences(numbers: Sequence[Number]) -> dict[str, dict[str, Any]]:
    """Differences of every two models: clean, levels and change by each mix."""
    return {
        metric_path(number, "difference", number.model): _metric(number)
        for number in numbers
        if number.measure in {"difference", "apc_difference"} and not is_kind(number.group) and not number.split
    }


def _ranks(ranks: Sequence[Ranks]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for ranked in ranks:
        if isinstance(ranked.ranking, Undefined):
            continue
        for row in ranked.ranking.rows:
            yield (
                f"place/{ranked.name}/{row.model}",
                {
                    "value": row.place,
                    "low": row.place_low,
                    "high": row.place_high,
                    "n": ranked.ranking.counts.n,
                    "signature": str(row.signature),
                },
            )


def _metric(number: Number) -> dict[str, Any]:
    return metric_json(number) | {
        name: count for name, count in number.counts_by_name().items() if name in _COUNTS and count is not None
    }


def _hint(suite: ModelSuite) -> str:
    task = " --task T" if "task" in option_names(suite.options()) else ""
    return f"`auscult compare DIR DIR ...` with output folders of `auscult {command_of(suite)}{task}` of one task"


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteComparison:
    """The results of a comparison."""

    sets: tuple[DataSet, ...]
    summary: Summary  # for ``--json``: counts are requests on the compared cases and conditions
    notes: tuple[str, ...]  # what is unfinished, left out, or not comparable
    numbers: tuple[Number, ...]  # with several data sets, a model's name is prefixed with that of the data
    tables: Mapping[str, Table]  # by file name, the most important first
    shown: tuple[Table, ...]  # for the console
    sections: tuple[Section, ...]  # the parts of the page


def compare_records(folders: Sequence[Path], suite: ModelSuite) -> SuiteComparison:
    """Compare the models of two or more records of one task; a damaged record is left out, with a note."""
    records, broken = _records(folders, suite)
    sets, dropped = data_sets(records)
    by_set = {data.name: results_of(data.view) for data in sets}
    task = sets[0].grid.task
    means, overall = kind_means(sets, task.main), models_over(sets, task.main)
    correlations = correlations_over({data.name: data.view for data in sets}, task.main)
    joint, charts = _joint(sets, by_set, correlations, means=means, overall=overall)
    renamed = {name: _renamed(name, results) for name, results in by_set.items()} if len(by_set) > 1 else by_set
    own_tables = {key: table for results in renamed.values() for key, table in results.tables.items()}
    last = records_table(sets)
    tables = (joint | own_tables if len(by_set) > 1 else own_tables | joint) | {"records": last}
    several = ((name, number) for name, results in by_set.items() for number in results.numbers)
    own_numbers = [number if len(by_set) == 1 else _of_set(name, number) for name, number in several]
    counts = [request_counts(data.grid) for data in sets]
    requested, failed, undefined = (sum(column) for column in zip(*counts, strict=True))
    return SuiteComparison(
        sets=sets,
        summary=Summary(
            command="compare",
            n=requested,
            ok=requested - failed - undefined,
            failed=failed,
            undefined=undefined,
            metrics=metrics_of(by_set, means, overall) | pearson_metrics(correlations),
        ),
        notes=notes_of(sets, by_set, overall, dropped=dropped, broken=broken),
        numbers=(*own_numbers, *(_of_set(ALL, number) for number in overall.numbers), *means),
        tables=tables,
        shown=tuple(_shown(tables, joint)),
        sections=(
            *_sections(renamed, joint, charts),
            Section(name="records", title="What was compared", tables=(last,)),
        ),
    )


def _records(folders: Sequence[Path], suite: ModelSuite) -> tuple[list[SuiteRecord], list[tuple[Path, RecordError]]]:
    homes = [folder.resolve() for folder in folders]
    for folder, home in zip(folders, homes, strict=True):
        if homes.count(home) > 1:
            raise UsageError("the record is given twice", path=folder, expected="different records", hint=_hint(suite))
    records: list[SuiteRecord] = []
    broken: list[tuple[Path, RecordError]] = []
    for folder, label in zip(folders, labels_of(folders), strict=True):
        try:
            records.append(read_record(folder, suite, label=label))
        except RecordError as error:
            broken.append((folder, error))
    if len(records) < 2:
        if broken:
            raise broken[0][1]
        raise UsageError(
            f"{len(records)} record is nothing to compare", expected="two records or more", hint=_hint(suite)
        )
    tasks = {record.task.name: record.label for record in records}
    if len(tasks) > 1:
        raise UsageError(
            "the records are of different tasks: " + ", ".join(f"{label} of {task}" for task, label in tasks.items()),
            expected="records of one task: their scores are of different things",
            hint=_hint(suite),
        )
    return records, broken


def _joint(
    sets: Sequence[DataSet],
    results: Mapping[str, SuiteResults],
    correlations: Mapping[str, Correlation],
    *,
    means: Sequence[Number],
    overall: Overall,
) -> tuple[dict[str, Table], list[Figure]]:
    """Results over data sets; for a single one only means over models, since its own tables have the rest."""
    task = sets[0].grid.task
    tables: dict[str, Table] = {}
    charts: list[Figure] = []
    mean_charts = charts_of(Index(means, task), correlations=correlations, ranks=(), splits=()) if means else []
    if len(sets) > 1:
        tables["sets"] = sets_table(results, overall)
        tables |= overall_tables(overall, task)
        ranks = charts_of(Index((), task), correlations={}, ranks=overall.ranks, splits=())
        over = ", over all data sets, each of which counts alike."
        charts += [replace(chart, name=f"joined_{chart.name}", caption=chart.caption[:-1] + over) for chart in ranks]
        tables |= {
            f"correlation_{room}": joined_table(room, matrix, strengths_text([data.view for data in sets], room))
            for room, matrix in correlations.items()
        }
        correlation_charts = [chart for chart in mean_charts if chart.name.startswith("correlation")]
        charts += [
            replace(chart, caption=chart.caption.replace("all models", OVER_ALL, 1)) for chart in correlation_charts
        ]
    by_kind = means_table(means, task)
    if by_kind is not None:
        tables["means_kinds"] = by_kind
        caption = f"Average change of {task.metric_name(task.main)} by kind, mean over models and the strengths."
        charts += [
            replace(chart, name="means_kinds", caption=caption) for chart in mean_charts if chart.name == "kinds"
        ]
    return tables, charts


def _renamed(name: str, results: SuiteResults) -> SuiteResults:
    """The results with the data set's name in the files and titles of tables and charts."""
    before = f"{safe_name(name)}__"
    return replace(
        results,
        tables={before + key: replace(table, title=f"{name}: {table.title}") for key, table in results.tables.items()},
        charts=tuple(replace(chart, name=before + chart.name) for chart in results.charts),
    )


def _of_set(name: str, number: Number) -> Number:
    return replace(number, model=f"{name}: {number.model}")


def _shown(tables: Mapping[str, Table], joint: Mapping[str, Table]) -> Iterator[Table]:
    """The joint tables, and differences and ranking of each data set; for a single one also the changes."""
    prefixes = ("differences", "ranking") if "sets" in joint else ("differences", "ranking", "general", "correlation")
    for name, table in tables.items():
        if name in joint or name == "records" or name.split("__")[-1].startswith(prefixes):
            yield table


def _sections(
    found: Mapping[str, SuiteResults], joint: Mapping[str, Table], charts: Sequence[Figure]
) -> Iterator[Section]:
    if len(found) == 1:
        (results,) = found.values()
        yield from sections_of(results.parts, results.tables, results.charts)
    parts = (
        ("sets", "Data sets", "", "sets"),
        ("over", "Which model, over all data sets", "Each data set counts alike.", "joined"),
        ("means", "Which perturbation does it, over models", "Each model on each data set counts alike.", "means"),
        ("joined", "Which perturbations harm alike", "Over the samples of all models and data sets.", "correlation"),
    )
    yield from sections_of(
        [(name, title, lead, (start,), (start,)) for name, title, lead, start in parts], joint, charts
    )
    for index, (name, results) in enumerate(found.items() if len(found) > 1 else (), start=1):
        before = f"{safe_name(name)}__"
        for section in sections_of(results.parts, results.tables, results.charts, before=before):
            yield replace(section, name=f"data-{index}-{section.name}", title=f"{name}: {section.title}")


def write_comparison(
    folders: Sequence[Path], suite: ModelSuite, out: Path, *, overwrite: bool = False
) -> SuiteComparison:
    """Compare records and write the results into a folder; the same call again replaces them."""
    require_apart(out, folders)
    comparison = compare_records(folders, suite)
    with open_run(out, _manifest(folders, comparison), overwrite=overwrite) as run:
        page = replace(_page(run, comparison), shown=tuple(comparison.shown))
        write_run(run, page, tables=comparison.tables, numbers=comparison.numbers, summary=comparison.summary)
    return comparison


def _manifest(folders: Sequence[Path], comparison: SuiteComparison) -> dict[str, object]:
    records = [record for data in comparison.sets for record in data.records]
    return build_manifest(
        f"compare {comparison.sets[0].grid.task.suite}",
        given={"records": [str(folder.resolve()) for folder in folders]},
        defaulted={},
        seeds={"seed": comparison.sets[0].view.seed},
        inputs={record.label: digest_file(record.path / SCORES) for record in records},
    )


def _page(run: RunFolder, comparison: SuiteComparison) -> Page:
    first = comparison.sets[0]
    models = dict.fromkeys(model for data in comparison.sets for model in data.grid.models)
    counted = first.grid.task.tested(models) or list(models)
    clips = sum(len(set(data.grid.cases.values())) for data in comparison.sets)
    cases = sum(len(data.grid.cases) for data in comparison.sets)
    return Page(
        title=f"{first.grid.task.title.capitalize()}: {len(counted)} model{'' if len(counted) == 1 else 's'} compared",
        command=f"run {first.grid.task.suite}",
        facts=(
            ("Models", ", ".join(models)),
            ("Data", ", ".join(data.name for data in comparison.sets)),
            ("Records", ", ".join(record.label for data in comparison.sets for record in data.records)),
            ("Cases", f"{cases:,} of {clips:,} {first.grid.task.cluster_words}"),
            *facts_of(run.manifest),
        ),
        notes=(*comparison.notes, FAILED),
        links=(),
        sections=comparison.sections,
    )
