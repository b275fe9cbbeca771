"""All that an analysis may speak of: the numbers of a suite's record as one table, each with a reference.

It is computed from the record alone, by what ``auscult score`` computes with; nothing is asked and nothing written.
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
from auscult.suites.core.conditions import CLEAN, DYNAMIC, is_mix
from auscult.suites.core.grid import request_counts
from auscult.suites.core.measures import static_of
from auscult.suites.core.numbers import GridCell, GridColumns, Number
from auscult.suites.core.page import results_of
from auscult.suites.core.records import SuiteRecord, read_record, suite_of
from auscult.suites.core.runner import ERRORS
from auscult.suites.core.tables import Index

Unit: TypeAlias = Literal["percent", "points", "strength", "count"]
AVERAGE: Final = "average"
"""The level of a number over levels."""
PAIR: Final = " - "
"""Between the two of a difference."""
DIFFERENCES: Final = ("difference", "difference of changes", "difference of kinds", "dynamic - static")
"""Measures of two things beside each other."""
CHANGES: Final = ("change", "average change", "cost")
"""Measures against the same model on clean input."""

_KINDS: Final[Mapping[str, tuple[str, Unit]]] = {  # measure of a suite: as it is called here, unit
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
"""Of suites whose main metric is no mean over cases; where it has no score the first that has one."""
_OF_SHARES: Final = ("r2", "rris", "avi")
_WORST: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultCell:
    """One number of a record, 0..1 where it is printed in percent or points; None where it does not exist.

    ``measure`` is mean, change, average change, relative loss, breaking point, dynamic - static, difference,
    difference of changes, difference of kinds, cost, case or count. Intervals are of 95 %.
    """

    ref: str = ""  # by which a sentence refers to it: c1, c2, ...
    measure: str
    model: str = ""  # of a difference ``first - second``
    metric: str = ""  # as tables call it
    group: str = ""  # what is perturbed, in words; ``clean``; of a difference of kinds ``first - second``
    level: str = ""  # clean, low, medium, high, a strength, dynamic, removed, or average
    split: str = ""  # where the record has seen and unseen cases; empty for all
    unit: Unit
    value: float | None
    low: float | None = None
    high: float | None = None
    p: float | None = None  # of a change or difference, by sign flips of whole clips, adjusted by Holm for all
    n: int | None = None  # cases behind it
    clusters: int | None = None  # clips or photographs behind its interval
    lower_is_better: bool = False
    case: str = ""  # of a single case its id; of a count what is counted
    reason: str = ""  # why it does not exist; of a breaking point ``above 5`` where it lies beyond what was asked

    @property
    def path(self) -> str:
        """What it is, in words."""
        parts = {
            name: getattr(self, name) for name in ("measure", "model", "metric", "group", "level", "split", "case")
        }
        return " ".join(f"{name}/{text}" for name, text in parts.items() if text)

    @property
    def is_shown(self) -> bool:
        """Whether its interval leaves out zero."""
        return self.low is not None and self.high is not None and (self.low > 0 or self.high < 0)

    @property
    def sign(self) -> int:
        """1 for better, -1 for worse, 0 for neither."""
        value = self.value or 0.0
        return ((value > 0) - (value < 0)) * (-1 if self.lower_is_better else 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultTable:
    """The numbers of a record, and what they are of."""

    suite: str
    task: str
    data: str
    seed: int  # from which everything random was drawn
    metric: str  # the main metric
    models: tuple[str, ...]  # under test, in their order
    baselines: tuple[str, ...]  # what looks at next to nothing
    groups: tuple[str, ...]  # what was perturbed, each alone
    mixes: tuple[str, ...]  # the same, drawn for each case
    levels: tuple[str, ...]  # of constant strength, mildest first
    floor: tuple[str, ...] = ()  # models not shown to beat every baseline on clean input
    unscored: tuple[str, ...] = ()  # models without one clean score
    failures: tuple[str, ...] = ()  # what failed, as errors.jsonl says it, the first few
    cells: tuple[ResultCell, ...]

    def of(self, measure: str, **named: str) -> list[ResultCell]:
        """The cells of a measure with these fields, in their order; of the main metric where it has one."""
        criteria = {"metric": self.metric, "split": "", **named} if measure not in ("count", "case") else named
        cells = (cell for cell in self.cells if cell.measure == measure)
        return [cell for cell in cells if all(getattr(cell, name) == value for name, value in criteria.items())]

    def known(self, measure: str, **named: str) -> list[ResultCell]:
        """Those of these that have a value."""
        return [cell for cell in self.of(measure, **named) if cell.value is not None]

    def get(self, measure: str, **named: str) -> ResultCell | None:
        """The first of these that has a value."""
        return next(iter(self.known(measure, **named)), None)


def result_table(folder: Path, *, metrics: Sequence[str] = ()) -> ResultTable:
    """Read the table off a record of a suite of models, finished or not; of the task's main metric.

    Where ``metrics`` are given and the main one is not among them, it is of the first of them that has scores.
    """
    record = _record(folder)
    view = GridColumns(grid=record.grid, seed=record.seed)
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
            dict.fromkeys(maker.words(number.grid_cell) for number in index.of("level") if number.group != CLEAN)
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
    """The charts of a record by a metric, as tables call it, that is not its main one; none by that."""
    record = _record(folder)
    metrics = [name for name in record.task.metrics if record.task.metric_name(name) == metric]
    if not metrics or record.task.main in metrics or record.task.suite != "r2":
        return []
    results = results_of(GridColumns(grid=record.grid, seed=record.seed))
    task = replace(record.task, metrics=(*metrics, *record.task.metrics), means={})
    return charts_of(Index(results.numbers, task), correlations={}, ranks=(), splits=())


def _numbered(made: Iterable[ResultCell]) -> tuple[ResultCell, ...]:
    """The cells with references, and p adjusted for all changes and differences."""
    cells = list(made)
    tested = [index for index, cell in enumerate(cells) if cell.p is not None]
    adjusted = dict(zip(tested, holm([cells[index].p or 0.0 for index in tested]), strict=True)) if tested else {}
    return tuple(replace(cell, ref=f"c{index + 1}", p=adjusted.get(index)) for index, cell in enumerate(cells))


class _CellMaker:
    """Makes the cells of a record from its numbers and its grid."""

    def __init__(self, view: GridColumns, index: Index, main: str) -> None:
        self.view, self.index, self.main = view, index, main

    def words(self, group: GridCell) -> str:
        """What is perturbed, in words."""
        return self.view.grid.task.group_name(*group)

    def made(self, tested: Sequence[str]) -> Iterator[ResultCell]:
        """All numbers that are worth a sentence, the main metric's in full."""
        for number in self.index.numbers:
            if number.measure in _KINDS and number.metric not in _NOT_SHARES and self._is_wanted(number, tested):
                yield self._cell(number)
        if self.view.grid.task.suite == "r2":
            for model in tested:
                yield from self._changes(model)
                yield from self._kinds(model)
        yield from self._cases(tested)

    def _is_wanted(self, number: Number, tested: Sequence[str]) -> bool:
        models = number.model.split(PAIR)
        if not any(model in tested for model in models) and (number.measure, number.metric) != ("level", self.main):
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
            group=self.words(number.grid_cell),
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
        """The level of a number over levels: the one that it is over, else average."""
        if number.measure not in {"apc", "apc_relative", "apc_difference"}:
            return ""  # a suite whose conditions have no levels has no averages either
        over = self.index.levels(number.model.split(PAIR)[0], *number.grid_cell)
        return over[0] if len(over) == 1 else AVERAGE

    def _changes(self, model: str) -> Iterator[ResultCell]:
        """The change at each level that is not the only one of its average."""
        for group in self.view.grid.groups():
            static = static_of(self.view, model, group)
            moving = [condition for condition in self.view.grid.of_group(*group) if condition.level == DYNAMIC]
            for condition in (*(static if len(static) > 1 else ()), *moving):
                if self.view.grid.is_complete(model, condition.name):
                    scores = self.view.scores(model, [condition], self.main)
                    outcome = change_interval(scores, **self.view.drawn(CORRELATION))
                    number = self.view.number("apc", condition, model=model, metric=self.main, outcome=outcome)
                    yield self._cell(number, measure="change", level=condition.level)

    def _kinds(self, model: str) -> Iterator[ResultCell]:
        """What costs most beside each of the others, at the levels that both have."""
        changes = {kind: self.index.get("apc", model, kind, metric=self.main) for kind in self.index.kinds()}
        values = {
            kind: number.value for kind, number in changes.items() if number is not None and number.value is not None
        }
        if len(values) < 2:
            return
        worst = min(values, key=lambda kind: values[kind])
        by_level = {condition.level: condition for condition in static_of(self.view, model, worst)}
        for kind in values:
            other = {condition.level: condition for condition in static_of(self.view, model, kind)}
            shared = [level for level in by_level if level in other]
            if kind != worst and shared:
                scores = [
                    self.view.scores(model, [part[level] for level in shared], self.main) for part in (by_level, other)
                ]
                outcome = change_difference(*scores, **self.view.drawn(CORRELATION))
                number = self.view.number("apc_difference", worst, model=model, metric=self.main, outcome=outcome)
                pair = PAIR.join(map(self.words, (worst, kind)))
                yield self._cell(number, measure="difference of kinds", group=pair)

    def _cases(self, tested: Sequence[str]) -> Iterator[ResultCell]:
        """The case that each model loses most on, by what is perturbed; of suites without levels the lowest scores."""
        grid, by_level = self.view.grid, self.view.grid.task.suite == "r2"
        metric = self.main if self.main in self.view.metrics else grid.task.metrics[0]
        for model in tested:
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


def _scored(view: GridColumns, model: str, condition: str, *, metric: str) -> dict[str, float]:
    """The values of the cases that have one."""
    values = view.values(model, condition, metric)
    return {str(case): float(value) for case, value in values.items() if isinstance(value, float | int)}


def _counts(record: SuiteRecord, tested: Sequence[str], errors: int) -> Iterator[ResultCell]:
    grid = record.grid
    asked, failed, undefined = request_counts(grid)
    counts = {
        "models": len(tested),
        "baselines": len(grid.models) - len(tested),
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
