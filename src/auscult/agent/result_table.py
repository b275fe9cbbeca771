"""The numbers of a suite's record as one table, each with a reference: an analysis may refer to no others.

It is computed from the record alone, by the code of ``auscult score``; no model is asked and no file written.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from auscult.errors import RecordError
from auscult.record.folder import read_manifest
from auscult.record.lines import read_lines
from auscult.report.drawing import plain
from auscult.report.page import Figure
from auscult.score.stats.change import change_difference, change_interval
from auscult.score.stats.few_clusters import CORRELATION
from auscult.score.stats.paired import holm
from auscult.suites.core.charts import charts_of
from auscult.suites.core.conditions import CLEAN, is_mix
from auscult.suites.core.grid import request_counts
from auscult.suites.core.measures import dynamic_of, scores_at, static_of
from auscult.suites.core.numbers import ConditionGroup, GridView, Number
from auscult.suites.core.page import results_of
from auscult.suites.core.records import SuiteRecord, read_record, suite_of
from auscult.suites.core.runner import ERRORS
from auscult.suites.core.tables import Index

Unit: TypeAlias = Literal["percent", "points", "strength", "count"]
AVERAGE: Final = "average"
"""The level of an average over levels."""
PAIR: Final = " - "
"""Separates the two names of a difference."""
DIFFERENCES: Final = ("difference", "difference of changes", "difference of kinds", "dynamic - static")
"""Measures that compare two models or kinds."""
CHANGES: Final = ("change", "average change", "cost")
"""Measures that compare with the same model on clean input."""

_KINDS: Final[Mapping[str, tuple[str, Unit]]] = {  # measure of a suite: its name here, unit
    "level": ("mean", "percent"),
    "apc": ("average change", "points"),
    "apc_relative": ("relative loss", "percent"),
    "breaking": ("breaking point", "strength"),
    "dynamic_gap": ("dynamic - static", "points"),
    "difference": ("difference", "points"),
    "apc_difference": ("difference of changes", "points"),
    "cost": ("cost", "points"),
}
_LOWER: Final = frozenset({"S", "mask ratio"})
_NOT_SHARES: Final = frozenset({"modality_gap", "bottleneck"})
_MAIN: Final = ("rIoU", "level_1")
"""For suites whose main metric is not a mean over cases; the first that has a score is used."""
_OF_SHARES: Final = ("r2", "rris", "avi")
_WORST: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultCell:
    """One number of a record, 0..1 if it is printed in percent or points; None if it does not exist.

    ``measure`` is mean, change, average change, relative loss, breaking point, dynamic - static, difference,
    difference of changes, difference of kinds, cost, case or count. Intervals are of 95 %.
    """

    ref: str = ""  # reference in sentences: c1, c2, ...
    measure: str
    model: str = ""  # for a difference ``first - second``
    metric: str = ""  # its name in tables
    group: str = ""  # perturbation in words; ``clean``; for a difference of kinds ``first - second``
    level: str = ""  # clean, low, medium, high, a strength, dynamic, removed, or average
    split: str = ""  # seen or unseen; empty for all cases
    unit: Unit
    value: float | None
    low: float | None = None
    high: float | None = None
    p: float | None = None  # for changes and differences: sign flips of whole clips, Holm-adjusted over all
    n: int | None = None  # cases behind it
    clusters: int | None = None  # clips or photographs behind its interval
    lower_is_better: bool = False
    case: str = ""  # id of a single case; for a count, what is counted
    reason: str = ""  # why it does not exist; ``above 5`` for a breaking point beyond the strengths tested

    @property
    def path(self) -> str:
        """Its description, in words."""
        parts = {
            name: getattr(self, name) for name in ("measure", "model", "metric", "group", "level", "split", "case")
        }
        return " ".join(f"{name}/{text}" for name, text in parts.items() if text)

    @property
    def is_shown(self) -> bool:
        """Whether its interval excludes zero."""
        return self.low is not None and self.high is not None and (self.low > 0 or self.high < 0)

    @property
    def sign(self) -> int:
        """1 for better, -1 for worse, 0 for neither."""
        value = self.value or 0.0
        return ((value > 0) - (value < 0)) * (-1 if self.lower_is_better else 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultTable:
    """The numbers of a record, and what was tested."""

    suite: str
    task: str
    data: str
    seed: int  # of the run
    metric: str  # the main metric
    models: tuple[str, ...]  # under test
    baselines: tuple[str, ...]  # trivial predictors
    groups: tuple[str, ...]  # perturbations applied alone
    mixes: tuple[str, ...]  # mixes, drawn for each case
    levels: tuple[str, ...]  # of constant strength, mildest first
    floor: tuple[str, ...] = ()  # models not shown to beat every baseline on clean input
    unscored: tuple[str, ...] = ()  # models without a clean score
    failures: tuple[str, ...] = ()  # the first few messages of errors.jsonl
    cells: tuple[ResultCell, ...]

    def of(self, measure: str, **named: str) -> list[ResultCell]:
        """The cells of a measure with these fields; by default of the main metric and all cases, if cells have them."""
        criteria = {"metric": self.metric, "split": "", **named} if measure not in ("count", "case") else named
        cells = (cell for cell in self.cells if cell.measure == measure)
        return [cell for cell in cells if all(getattr(cell, name) == value for name, value in criteria.items())]

    def known(self, measure: str, **named: str) -> list[ResultCell]:
        """The cells of ``of`` that have a value."""
        return [cell for cell in self.of(measure, **named) if cell.value is not None]

    def get(self, measure: str, **named: str) -> ResultCell | None:
        """The first cell of ``known``, or None."""
        return next(iter(self.known(measure, **named)), None)


def result_table(folder: Path, *, metrics: Sequence[str] = ()) -> ResultTable:
    """The table of the record of a suite of models, finished or not, by the task's main metric.

    If ``metrics`` are given without the main one, the first of them that has scores is used.
    """
    record = _record(folder)
    view = GridView(grid=record.grid, seed=record.seed)
    results = results_of(view)
    index, task = Index(results.numbers, record.task), record.task
    scored = [number.metric for number in index.of("level") if number.value is not None]
    wished = () if task.main in metrics else [metric for metric in metrics if metric in view.metrics]
    main = next((metric for metric in (*wished, task.main, *_MAIN, *scored) if metric in scored), index.metrics()[0])
    maker = _CellMaker(view, index, main)
    errors = [plain(str(row.get("error", "")), limit=300) for row in read_lines(folder / ERRORS)]
    tested = tuple(name for name in record.grid.models if not task.is_baseline(name))
    strengths = [(condition.strength, condition.level) for condition in record.grid.conditions if condition.strength]
    return ResultTable(
        suite=task.suite,
        task=task.title,
        data=record.data,
        seed=record.seed,
        metric=task.metric_name(maker.main),
        models=tested,
        baselines=tuple(name for name in record.grid.models if task.is_baseline(name)),
        groups=tuple(
            dict.fromkeys(maker.words(number.condition_group) for number in index.of("level") if number.group != CLEAN)
        ),
        mixes=tuple(task.group_name(*mix) for mix in index.mixes()) if task.suite == "r2" else (),
        levels=tuple(dict.fromkeys(level for _, level in sorted(strengths))),
        floor=results.uninformative,
        unscored=results.unscored,
        failures=tuple(dict.fromkeys(errors))[:_WORST],
        cells=_numbered(dict.fromkeys((*maker.made(tested), *_counts(record, tested, len(errors))))),
    )


def _record(folder: Path) -> SuiteRecord:
    command = str(read_manifest(folder)["command"])
    suite = suite_of(command, folder)
    if suite is None or command.rpartition(" ")[2] not in _OF_SHARES:
        expected = "the record of a suite whose scores are shares: r2, rris or avi"
        raise RecordError(f"the record is of `auscult {command}`", path=folder, expected=expected)
    return read_record(folder, suite)


def charts_by(folder: Path, metric: str) -> list[Figure]:
    """The charts of a record of r2 by a metric, named as in tables, other than its main one; else empty."""
    record = _record(folder)
    metrics = [name for name in record.task.metrics if record.task.metric_name(name) == metric]
    if not metrics or record.task.main in metrics or record.task.suite != "r2":
        return []
    results = results_of(GridView(grid=record.grid, seed=record.seed))
    task = replace(record.task, metrics=(*metrics, *record.task.metrics), means={})
    return charts_of(Index(results.numbers, task), correlations={}, ranks=(), splits=())


def _numbered(unnumbered: Iterable[ResultCell]) -> tuple[ResultCell, ...]:
    """The cells with references, and with p adjusted over all changes and differences."""
    cells = list(unnumbered)
    tested = [index for index, cell in enumerate(cells) if cell.p is not None]
    adjusted = dict(zip(tested, holm([cells[index].p or 0.0 for index in tested]), strict=True)) if tested else {}
    return tuple(replace(cell, ref=f"c{index + 1}", p=adjusted.get(index)) for index, cell in enumerate(cells))


class _CellMaker:
    """Makes the cells of a record from its numbers and its grid."""

    def __init__(self, view: GridView, index: Index, main: str) -> None:
        self.view, self.index, self.main = view, index, main

    def words(self, group: ConditionGroup) -> str:
        """The name of a perturbation, in words."""
        return self.view.grid.task.group_name(*group)

    def made(self, models: Sequence[str]) -> Iterator[ResultCell]:
        """All numbers for sentences, those of the main metric in full."""
        for number in self.index.numbers:
            if number.measure in _KINDS and number.metric not in _NOT_SHARES and self._is_wanted(number, models):
                yield self._cell(number)
        if self.view.grid.task.suite == "r2":
            for model in models:
                yield from self._changes(model)
                yield from self._kinds(model)
        yield from self._cases(models)

    def _is_wanted(self, number: Number, models: Sequence[str]) -> bool:
        pair = number.model.split(PAIR)
        if not any(model in models for model in pair) and (number.measure, number.metric) != ("level", self.main):
            return False
        if number.split:
            return number.metric == self.main and (number.measure == "apc" or number.group == CLEAN)
        return number.metric == self.main or (number.measure == "level" and number.group == CLEAN)

    def _cell(self, number: Number, **changes: Any) -> ResultCell:
        (name, unit), beyond = _KINDS[number.measure], number.beyond
        reason = str(getattr(number.outcome, "reason", "")) if beyond is None else f"above {beyond:g}"
        counts = number.counts
        cell = ResultCell(
            measure=name,
            model=number.model,
            metric=self.view.grid.task.metric_name(number.metric),
            group=self.words(number.condition_group),
            level=number.level or self._over(number),
            split=number.split,
            unit=unit,
            value=number.value,
            low=number.low,
            high=number.high,
            p=number.p if number.value is not None and unit == "points" else None,
            n=None if counts is None else counts.n,
            clusters=number.clusters,
            lower_is_better=number.metric in _LOWER or name == "relative loss",
            reason=reason,
        )
        return replace(cell, **changes)

    def _over(self, number: Number) -> str:
        """The level of a number over levels: the only one, or average."""
        if number.measure not in {"apc", "apc_relative", "apc_difference"}:
            return ""  # not over levels
        over = self.index.levels(number.model.split(PAIR)[0], *number.condition_group)
        return over[0] if len(over) == 1 else AVERAGE

    def _changes(self, model: str) -> Iterator[ResultCell]:
        """The change at each constant strength, if there are several, and at the dynamic one."""
        for group in self.view.grid.groups():
            static, moving = static_of(self.view, model, group), dynamic_of(self.view, model, group)
            for condition in (*(static if len(static) > 1 else ()), *([] if moving is None else [moving])):
                scores = self.view.scores(model, [condition], self.main)
                outcome = change_interval(scores, **self.view.interval_options(CORRELATION))
                number = self.view.number("apc", condition, model=model, metric=self.main, outcome=outcome)
                yield self._cell(number, measure="change", level=condition.level)

    def _kinds(self, model: str) -> Iterator[ResultCell]:
        """The most costly kind compared with each other one, at their shared levels."""
        changes = {kind: self.index.get("apc", model, kind, metric=self.main) for kind in self.index.kinds()}
        values = {
            kind: number.value for kind, number in changes.items() if number is not None and number.value is not None
        }
        if len(values) < 2:
            return
        worst = min(values, key=lambda kind: values[kind])
        levels = {kind: [condition.level for condition in static_of(self.view, model, kind)] for kind in values}
        for kind in values:
            shared = [level for level in levels[worst] if level in levels[kind]]
            if kind != worst and shared:
                scores = [scores_at(self.view, model, self.main, group=one, levels=shared) for one in (worst, kind)]
                outcome = change_difference(*scores, **self.view.interval_options(CORRELATION))
                number = self.view.number("apc_difference", worst, model=model, metric=self.main, outcome=outcome)
                pair = PAIR.join(map(self.words, (worst, kind)))
                yield self._cell(number, measure="difference of kinds", group=pair)

    def _cases(self, models: Sequence[str]) -> Iterator[ResultCell]:
        """The case with the largest loss by model and perturbation; the lowest scores for suites without levels."""
        grid, by_level = self.view.grid, self.view.grid.task.suite == "r2"
        metric = self.main if self.main in self.view.metrics else grid.task.metrics[0]
        for model in models:
            clean = _scored(self.view, model, CLEAN, metric=metric)
            cell = partial(
                ResultCell, measure="case", model=model, metric=grid.task.metric_name(metric), unit="percent", n=1
            )
            for group in grid.groups() if by_level else ():
                static = static_of(self.view, model, group)
                strong = _scored(self.view, model, static[-1].name, metric=metric) if static else {}
                losses = sorted((strong[case] - clean[case], case) for case in clean.keys() & strong.keys())
                if losses and losses[0][0] < 0 and not is_mix(group[0]):
                    case = losses[0][1]
                    yield cell(case=case, group=CLEAN, level=CLEAN, value=clean[case])
                    yield cell(case=case, group=self.words(group), level=static[-1].level, value=strong[case])
            lowest = sorted((value, case) for case, value in clean.items())[:_WORST]
            for value, case in () if by_level else lowest:
                yield cell(case=case, group=CLEAN, level=CLEAN, value=value)


def _scored(view: GridView, model: str, condition: str, *, metric: str) -> dict[str, float]:
    """The scores by case, where there are any."""
    values = view.values(model, condition, metric)
    return {str(case): float(value) for case, value in values.items() if isinstance(value, float | int)}


def _counts(record: SuiteRecord, models: Sequence[str], errors: int) -> Iterator[ResultCell]:
    grid = record.grid
    asked, failed, undefined = request_counts(grid)
    counts = {
        "models": len(models),
        "baselines": len(grid.models) - len(models),
        "cases": len(grid.cases),
        "clips": len(set(grid.cases.values())),
        "perturbations": len(grid.groups()),
        "requests": asked,
        "failed requests": failed,
        "undefined scores": undefined,
        "unasked requests": sum(map(len, grid.waiting.values())),
        "errors": errors,
        **{f"{split} cases": list(grid.splits.values()).count(split) for split in dict.fromkeys(grid.splits.values())},
    }
    for name, number in counts.items():
        yield ResultCell(measure="count", unit="count", value=float(number), case=name)
