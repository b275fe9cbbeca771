"""``auscult compare`` of records of ``auscult run r2``: models side by side, and over several data sets, from records.

Nothing is opened but the records' own files, and no model is asked. With an output folder::

    DIR/manifest.json summary.json
    DIR/cells.json .csv     every number with interval, counts and signature
    DIR/tables/ figures/    tables as JSON, CSV and LaTeX; figures as SVG and PNG
    DIR/report.html
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from auscult.errors import RecordError, UsageError
from auscult.media.paths import safe_name
from auscult.record.schema import Summary
from auscult.report.suite import Section
from auscult.report.tables import Table
from auscult.score.stats.correlation import Correlation
from auscult.suites.r2 import compare_tables as told
from auscult.suites.r2.compare_joined import ALL, correlations_over, kind_means
from auscult.suites.r2.compare_models import Overall, models_over, overall_tables
from auscult.suites.r2.compare_notes import notes_of
from auscult.suites.r2.compare_reading import R2Record, labels_of, read_record
from auscult.suites.r2.compare_sets import DataSet, data_sets
from auscult.suites.r2.figures import Chart, charts_of
from auscult.suites.r2.grid import questions
from auscult.suites.r2.measures import Number
from auscult.suites.r2.relations import strengths_told
from auscult.suites.r2.results import Results, figures_of, results_of, sections_of
from auscult.suites.r2.tables import Index, metric_name

COMMAND: Final = "compare r2"
_HINT: Final = "`auscult compare DIR DIR ...` with output folders of `auscult run r2 --task T` of one task"


@dataclass(frozen=True, slots=True, kw_only=True)
class R2Comparison:
    """What a comparison came to.

    Attributes:
        sets: The data sets.
        summary: The content of ``--json``: counts are questions on the cases and conditions that are compared.
        notes: What a reader must know: what is unfinished, left out, or not comparable.
        numbers: Every number; of several data sets the name of the data goes before the model's.
        tables: By file name, the most important first.
        shown: Those that fit a console.
        charts: In order.
        sections: The parts of the page.
    """

    sets: tuple[DataSet, ...]
    summary: Summary
    notes: tuple[str, ...]
    numbers: tuple[Number, ...]
    tables: Mapping[str, Table]
    shown: tuple[Table, ...]
    charts: tuple[Chart, ...]
    sections: tuple[Section, ...]


def compare_r2(folders: Sequence[Path]) -> R2Comparison:
    """Compare the models of several records of one task.

    A damaged record is left out and named; the others are compared.

    Args:
        folders: Output folders of ``auscult run r2``, two or more. The first one's seed draws the intervals.

    Returns:
        Numbers, tables and charts; nothing is written.

    Raises:
        RecordError: A folder is no record, or fewer than two can be read.
        UsageError: There are fewer than two, one twice, or records of different tasks.
    """
    records, broken = _records(folders)
    sets, dropped = data_sets(records)
    found = {one.name: results_of(one.view) for one in sets}
    metric = next(iter(found.values())).metric
    means = kind_means(sets, metric, seed=records[0].seed)
    overall = models_over(sets, metric, seed=records[0].seed)
    joint = _joint(sets, found, means=means, overall=overall)
    mine = [_renamed(name, one, alone=len(found) == 1) for name, one in found.items()]
    own = {key: table for tables, _ in mine for key, table in tables.items()}
    last = told.records_table(sets)
    tables = (joint.tables | own if len(found) > 1 else own | joint.tables) | {"records": last}
    counts = [questions(one.grid) for one in sets]
    asked, failed, undefined = (sum(column) for column in zip(*counts, strict=True))
    return R2Comparison(
        sets=sets,
        summary=Summary(
            command="compare",
            n=asked,
            ok=asked - failed - undefined,
            failed=failed,
            undefined=undefined,
            metrics=told.metrics_of(found, means, overall) | told.pearson_metrics(joint.correlations),
        ),
        notes=notes_of(sets, found, overall, dropped=dropped, broken=broken),
        numbers=(*_all_numbers(found), *(_of_set(ALL, one) for one in overall.numbers), *means),
        tables=tables,
        shown=tuple(_shown(tables, joint.tables)),
        charts=(*joint.charts, *(chart for _, charts in mine for chart in charts)),
        sections=(*_sections(found, joint), Section(name="records", title="What was compared", tables=(last,))),
    )


def _records(folders: Sequence[Path]) -> tuple[list[R2Record], list[tuple[Path, RecordError]]]:
    homes = [folder.resolve() for folder in folders]
    for folder, home in zip(folders, homes, strict=True):
        if homes.count(home) > 1:
            raise UsageError("the record is given twice", path=folder, expected="different records", hint=_HINT)
    found: list[R2Record] = []
    broken: list[tuple[Path, RecordError]] = []
    for folder, label in zip(folders, labels_of(folders), strict=True):
        try:
            found.append(read_record(folder, label))
        except RecordError as error:
            broken.append((folder, error))
    if len(found) < 2:
        if broken:
            raise broken[0][1]
        raise UsageError(f"{len(found)} record is nothing to compare", expected="two records or more", hint=_HINT)
    tasks = {record.task.name: record.label for record in found}
    if len(tasks) > 1:
        raise UsageError(
            "the records are of different tasks: " + ", ".join(f"{label} of {task}" for task, label in tasks.items()),
            expected="records of one task: their scores are of different things",
            hint=_HINT,
        )
    return found, broken


@dataclass(frozen=True, slots=True, kw_only=True)
class _Joint:
    """What is of all data sets together."""

    tables: dict[str, Table]
    charts: tuple[Chart, ...]
    correlations: Mapping[str, Correlation]


def _joint(
    sets: Sequence[DataSet], found: Mapping[str, Results], *, means: Sequence[Number], overall: Overall
) -> _Joint:
    """Of one data set only the means over its models are new; its correlations are among its own tables."""
    metric = next(iter(found.values())).metric
    correlations = correlations_over({one.name: one.view for one in sets}, metric)
    tables: dict[str, Table] = {}
    charts: list[Chart] = []
    if len(sets) > 1:
        tables["sets"] = told.sets_table(found, overall)
        tables |= overall_tables(overall)
        ranks = charts_of(Index(()), correlations={}, ranks=overall.ranks, splits=())
        over = ", over all data sets, each of which counts alike."
        charts += [replace(one, name=f"joined_{one.name}", caption=one.caption[:-1] + over) for one in ranks]
        tables |= {
            f"correlation_{room}": told.joined_table(room, one, strengths_told([each.view for each in sets], room))
            for room, one in correlations.items()
        }
        drawn = [chart for chart in _charts(means, correlations) if chart.name.startswith("correlation")]
        charts += [replace(one, caption=one.caption.replace("all models", told.OVER_ALL, 1)) for one in drawn]
    means_table = told.means_table(means)
    if means_table is not None:
        tables["means_kinds"] = means_table
        caption = f"Average change of {metric_name(metric)} by kind, mean over models and the strengths."
        drawn = [chart for chart in _charts(means, {}) if chart.name == "kinds"]
        charts += [replace(chart, name="means_kinds", caption=caption) for chart in drawn]
    return _Joint(tables=tables, charts=tuple(charts), correlations=correlations)


def _charts(means: Sequence[Number], correlations: Mapping[str, Correlation]) -> list[Chart]:
    return charts_of(Index(means), correlations=correlations, ranks=(), splits=()) if means else []


def _renamed(name: str, found: Results, *, alone: bool) -> tuple[dict[str, Table], list[Chart]]:
    """Tables and charts of a data set; among others their files and titles bear its name."""
    if alone:
        return dict(found.tables), list(found.charts)
    tables = {
        f"{safe_name(name)}__{key}": replace(table, title=f"{name}: {table.title}")
        for key, table in found.tables.items()
    }
    charts = [replace(one, name=f"{safe_name(name)}__{one.name}") for one in found.charts]
    return tables, charts


def _all_numbers(found: Mapping[str, Results]) -> Iterator[Number]:
    for name, results in found.items():
        for one in results.numbers:
            yield one if len(found) == 1 else _of_set(name, one)


def _of_set(name: str, number: Number) -> Number:
    return replace(number, model=f"{name}: {number.model}")


def _shown(tables: Mapping[str, Table], joint: Mapping[str, Table]) -> Iterator[Table]:
    """What is of all together, and of each data set who is better; of one data set alone also how much is lost."""
    wanted = ("differences", "ranking") if "sets" in joint else ("differences", "ranking", "general", "correlation")
    for name, table in tables.items():
        if name in joint or name == "records" or name.split("__")[-1].startswith(wanted):
            yield table


def _sections(found: Mapping[str, Results], joint: _Joint) -> Iterator[Section]:
    if len(found) == 1:
        (one,) = found.values()
        yield from sections_of(one.tables, one.charts)
    named = (
        ("sets", "Data sets", "", "sets"),
        ("over", "Which model, over all data sets", "Each data set counts alike.", "joined"),
        ("means", "Which perturbation does it, over models", "Each model on each data set counts alike.", "means"),
        ("joined", "Which perturbations harm alike", "Over the samples of all models and data sets.", "correlation"),
    )
    for anchor, title, lead, start in named:
        tables = tuple(table for name, table in joint.tables.items() if name.startswith(start))
        charts = [chart for chart in joint.charts if chart.name.startswith(start)]
        if tables or charts:
            yield Section(name=anchor, title=title, lead=lead, figures=figures_of(charts), tables=tables)
    for place, (name, one) in enumerate(found.items() if len(found) > 1 else (), start=1):
        renamed, charts = _renamed(name, one, alone=False)
        written = dict(zip(one.tables.values(), renamed.values(), strict=True))
        files = {old.name: new.name for old, new in zip(one.charts, charts, strict=True)}
        for section in sections_of(one.tables, one.charts):
            yield replace(
                section,
                name=f"data-{place}-{section.name}",
                title=f"{name}: {section.title}",
                tables=tuple(written[table] for table in section.tables),
                figures=tuple(replace(figure, name=files[figure.name]) for figure in section.figures),
            )
