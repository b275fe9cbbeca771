"""Numbers of a grid, with interval, counts and signature; as values, as text and as files."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, ClassVar, Final, TypeAlias

import numpy as np

from auscult.errors import ErrorRecord
from auscult.outcome import Failed, Outcome, Scored, Signature, Undefined
from auscult.report.charts.marks import ChartEstimate
from auscult.report.facts import ends_text
from auscult.rng import generator
from auscult.score.stats.breaking import beyond_of
from auscult.score.stats.change import Clusters, Counts, RatioColumns, Scores, Value, mean_ratio
from auscult.score.stats.few_clusters import SHARE, Range
from auscult.score.stats.paired import holm, sign_flips
from auscult.stress.perturbation import strength_of
from auscult.suites.core.conditions import CLEAN, DYNAMIC, Condition
from auscult.suites.core.grid import Grid

PAPER_LEVELS: Final = ("low", "medium", "high")
NO_ANSWER: Final = Failed(ErrorRecord(stage="predict", error="no answer"))

ValueMap: TypeAlias = dict[Hashable, Value]
ConditionGroup: TypeAlias = tuple[str, str]
"""A group of conditions and the perturbed part of a clip."""
CLEAN_GROUP: Final[ConditionGroup] = (CLEAN, "all")


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteNumber:
    """One number of a suite, for tables, files and summaries; a suite adds the fields that identify it."""

    NAMED: ClassVar[tuple[str, ...]] = ()
    """Fields that identify it."""
    COUNTED: ClassVar[tuple[str, ...]] = ()
    """Fields that count cases."""

    outcome: Outcome[float]  # the number, perhaps with interval

    @property
    def value(self) -> float | None:
        """The number, None if undefined."""
        return self.outcome.value if isinstance(self.outcome, Scored) else None

    @property
    def low(self) -> float | None:
        """The lower end of its interval, also for a breaking point beyond every strength."""
        bound = getattr(self.outcome, "low", getattr(self.outcome, "detail", {}).get("low"))
        return bound if isinstance(bound, float) else None

    @property
    def high(self) -> float | None:
        """The upper end; None without interval, or if it is open."""
        bound = getattr(self.outcome, "high", None)
        return bound if isinstance(bound, float) else None

    @property
    def ends(self) -> tuple[float, float] | None:
        """Its interval."""
        return None if self.low is None or self.high is None else (self.low, self.high)

    @property
    def clusters(self) -> int | None:
        """The count of clips or photographs behind its interval; None without interval."""
        count = getattr(self.outcome, "clusters", getattr(self.outcome, "detail", {}).get("clusters"))
        has_interval = self.low is not None or self.high is not None
        return count if has_interval and isinstance(count, int) else None

    def counts_by_name(self) -> dict[str, Any]:
        """Counts, by the names of ``COUNTED``."""
        return {name: getattr(self, name) for name in self.COUNTED}

    def signature_text(self) -> str:
        """Its signature."""
        return str(self.outcome.signature) if isinstance(self.outcome, Scored) else ""

    def row(self) -> dict[str, Any]:
        """The number as plain values, shares 0..1; an undefined one has value null and its reason."""
        return {
            **{name: getattr(self, name) for name in self.NAMED},
            "value": self.value,
            "low": self.low,
            "high": self.high,
            "clusters": self.clusters,
            **self.counts_by_name(),
            "reason": self.outcome.reason if isinstance(self.outcome, Undefined) else None,
            "signature": self.signature_text() or None,
        }

    @classmethod
    def keys(cls) -> tuple[str, ...]:
        """The keys of every row."""
        return (*cls.NAMED, "value", "low", "high", "clusters", *cls.COUNTED, "reason", "signature")


def metric_json(number: SuiteNumber, *more: str) -> dict[str, Any]:
    """A number as a metric of ``summary.json``, rounded, with the fields in ``more`` that are not empty."""
    row = number.row()
    rounded = {key: None if row[key] is None else round(row[key], 6) for key in ("value", "low", "high")}
    extra = {key: row[key] for key in ("clusters", "reason", *more) if row.get(key)}
    return {**rounded, "n": row["n"], "signature": row["signature"], **extra}


@dataclass(frozen=True, slots=True, kw_only=True)
class Number(SuiteNumber):
    """One number of a run."""

    NAMED: ClassVar = ("measure", "model", "metric", "group", "level", "part", "split")
    COUNTED: ClassVar[tuple[str, ...]] = ("beyond", "n", "failed", "undefined", "missing")

    measure: str  # see ``suites.core.measures``
    model: str  # ``first - second`` for a difference
    metric: str
    group: str  # of conditions; ``clean`` without perturbation
    level: str = ""  # empty for numbers over levels
    part: str = "all"  # the perturbed frames
    split: str = ""  # the cases; empty for all
    signature: Mapping[str, Any] = field(default_factory=dict)  # of its scores
    # of an ``apc``, the means of clean and of each level over the cases of the change; of a level outside the
    # change, over those that have that level too
    columns: Mapping[str, float] = field(default_factory=dict)

    @property
    def condition_group(self) -> ConditionGroup:
        """The group of conditions and the perturbed part of a clip."""
        return self.group, self.part

    @property
    def counts(self) -> Counts | None:
        """The cases behind it."""
        found = getattr(self.outcome, "counts", None)
        if isinstance(found, Counts):
            return found
        detail, names = getattr(self.outcome, "detail", {}), self.COUNTED[1:]
        return Counts(**{name: detail[name] for name in names}) if all(name in detail for name in names) else None

    @property
    def beyond(self) -> float | None:
        """For a breaking point beyond the strengths tested, in value or upper end: the strongest of them."""
        return beyond_of(self.outcome)

    @property
    def p(self) -> float | None:
        """The p value of a mean change or difference, by sign flips of whole clips; else None."""
        totals = getattr(self.outcome, "totals", None)
        return None if totals is None else sign_flips(totals).value

    @property
    def differing(self) -> int:
        """For a mean change or difference, the count of clips in which it is not 0; else 0."""
        totals = getattr(self.outcome, "totals", None)
        return 0 if totals is None else int(np.count_nonzero(totals))

    def counts_by_name(self) -> dict[str, Any]:
        """The cases behind it; for a breaking point also the strength that it is above."""
        return {"beyond": self.beyond} | {name: getattr(self.counts, name, None) for name in self.COUNTED[1:]}

    def signature_text(self) -> str:
        """The signature of its scores, then of the statistic."""
        if not isinstance(self.outcome, Scored):
            return ""
        scores = {f"score_{name}": value for name, value in self.signature.items() if name != "version"}
        parameters = dict(self.outcome.signature.fields)
        parameters.pop("version", None)
        return str(Signature.of(**scores, **parameters))


@dataclass(frozen=True, slots=True, kw_only=True)
class GridView:
    """All cases of a grid, or those of a split: values by case, ratios, and how intervals are drawn."""

    grid: Grid
    seed: int
    split: str = ""  # only cases of this split; empty for all

    @property
    def cases(self) -> tuple[str, ...]:
        """The cases of the split."""
        grid = self.grid
        return tuple(name for name in grid.cases if not self.split or grid.splits.get(name) == self.split)

    @property
    def models(self) -> tuple[str, ...]:
        """The models with results of the clean input."""
        return tuple(name for name in self.grid.models if self.grid.is_complete(name, CLEAN))

    def pairs(self) -> Iterator[tuple[str, str]]:
        """Every two of these models, a model before a baseline."""
        return combinations(sorted(self.models, key=self.grid.task.is_baseline), 2)

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics, and means of them."""
        return (*self.grid.task.metrics, *self.grid.task.means)

    def values(self, model: str, condition: str, metric: str) -> ValueMap:
        """The value of every requested case; failed for one without an answer."""
        if metric in self.grid.task.means:
            parts = [self.values(model, condition, name) for name in self.grid.task.means[metric]]
            return {case: mean_value([part[case] for part in parts]) for case in parts[0]}
        cell, cases = self.grid.cell(model, condition, metric), self._requested(model, condition)
        return {case: _value(cell.values.get(case), undefined=case in cell.undefined) for case in cases}

    def pixels(self, model: str, condition: str) -> tuple[dict[Hashable, Value], dict[Hashable, float]]:
        """Pixels of intersection and of union of every case."""
        found, cases = self.grid.pixels.get((model, condition), {}), self._requested(model, condition)
        both: dict[Hashable, Value] = {case: found[case][0] if case in found else NO_ANSWER for case in cases}
        return both, {case: found[case][1] for case in cases if case in found}

    def ratios(self, model: str, condition: str, metric: str) -> RatioColumns:
        """The ratios whose mean is a metric: each numerators and denominators by case."""
        if metric == self.grid.task.pooled:
            both, either = self.pixels(model, condition)
            return [(both, dict(either))]
        if metric not in self.grid.task.class_wise:
            return [(self.values(model, condition, metric), dict.fromkeys(self.cases, 1.0))]
        classes, cases = self.grid.classes.get((model, condition), {}), self._requested(model, condition)
        index = self.grid.task.class_wise.index(metric)
        none: Sequence[float] = (0.0,) * (len(self.grid.task.class_wise) + 1)
        names = sorted({name for case in cases for name in classes.get(case, {})}) or [""]
        return [
            (
                {case: float(classes[case].get(name, none)[index]) if case in classes else NO_ANSWER for case in cases},
                {case: float(classes[case].get(name, none)[-1]) for case in cases if case in classes},
            )
            for name in names
        ]

    def _requested(self, model: str, condition: str) -> tuple[str, ...]:
        """The cases whose requests were made."""
        waiting = self.grid.waiting.get((model, condition))
        return self.cases if waiting is None else tuple(case for case in self.cases if case not in waiting)

    def scores(self, model: str, conditions: Sequence[Condition], metric: str) -> Scores:
        """The scores of clean and of the conditions, by level."""
        levels = {condition.level: self.values(model, condition.name, metric) for condition in conditions}
        return Scores(
            clean=self.values(model, CLEAN, metric), levels={_level(name): column for name, column in levels.items()}
        )

    def number(
        self, measure: str, condition: Condition | ConditionGroup, *, model: str, metric: str, **more: Any
    ) -> Number:
        """A number of a condition, or of all levels of a group; ``more`` has its outcome and other fields."""
        group, level, part = condition.key if isinstance(condition, Condition) else (condition[0], "", condition[1])
        usual = {"level": level, "signature": self.grid.signature(model, metric)}
        return Number(
            measure=measure, model=model, metric=metric, group=group, part=part, split=self.split, **usual | more
        )

    def interval_options(self, within: Range | None = None, *, clusters: Clusters | None = None) -> dict[str, Any]:
        """Arguments for intervals: draws of whole clips or ``clusters``, the same for every model."""
        arguments = {"clusters": self.grid.cases if clusters is None else clusters, "rng": self.rng("levels")}
        return arguments if within is None else {**arguments, "within": within}

    def rng(self, *key: str) -> np.random.Generator:
        """The generator of a number's interval; the same for every model, so that all use the same draws."""
        return generator(self.seed, self.grid.task.suite, "bootstrap", *key)


def _level(name: str) -> str | float:
    return name if name in {CLEAN, *PAPER_LEVELS, DYNAMIC} else float(name)


def _value(value: float | None, *, undefined: bool) -> Value:
    if value is not None:
        return value
    return Undefined("not scored") if undefined else NO_ANSWER


def level_numbers(view: GridView, model: str, metric: str) -> Iterator[Number]:
    """The mean of a metric under every condition with results of a model."""
    for condition in view.grid.conditions:
        if view.grid.is_complete(model, condition.name):
            outcome = mean_ratio(view.values(model, condition.name, metric), **view.interval_options(SHARE))
            yield view.number("level", condition, outcome=outcome, model=model, metric=metric)


def mean_value(values: Sequence[Value]) -> Value:
    """The mean of one case's values; the first failed one, else the first undefined one, if any."""
    for kind in (Failed, Undefined):
        for value in values:
            if isinstance(value, kind):
                return value
    return sum(float(value) for value in values if isinstance(value, float | int)) / len(values)


def minus(first: Value, second: Value) -> Value:
    """The difference of two values of one case."""
    mean = mean_value([first, second])
    return mean if isinstance(mean, Failed | Undefined) else first - second  # type: ignore[operator]


def number_text(
    number: Number | None, *, points: bool = False, interval: bool = False, digits: int = 1, scale: float = 100.0
) -> str:
    """A number in percent, or times ``scale``; a dash if not measured, n/a if undefined."""
    if number is None:
        return "–"
    if number.value is None:
        return "n/a"
    text = percent(number.value, points=points, digits=digits, scale=scale)
    if interval and number.ends is not None:
        low, high = (scale * end for end in number.ends)
        return f"{text} [{ends_text(low, high, digits, signed=points)}]"
    return text


SIGNIFICANT: Final = 0.05


def significant(numbers: Iterable[Number | None]) -> list[Number]:
    """The changes and differences of a table that differ from 0 at 5 %, by sign flips of clips and Holm over all."""
    tested = [(number, p) for number in numbers if number is not None and (p := number.p) is not None]
    adjusted = holm([p for _, p in tested])
    return [number for (number, _), p in zip(tested, adjusted, strict=True) if p <= SIGNIFICANT]


def averaged(levels: Iterable[str]) -> tuple[str, ...]:
    """The levels of an average: those of the paper, or all there are; mildest first."""
    ordered = sorted(set(levels), key=strength_of)
    return tuple(level for level in ordered if level in PAPER_LEVELS) or tuple(ordered)


def levels_only(levels: Sequence[str], usual: Sequence[str]) -> str:
    """The levels of a change in words, if they are not the usual ones: `` (high only)``."""
    return "" if set(levels) == set(usual) or not levels else f" ({', '.join(levels)} only)"


def percent(value: float, *, points: bool = False, digits: int = 1, scale: float = 100.0) -> str:
    """A share in percent; a change in percentage points, with its sign; one that rounds to zero prints as +0.0."""
    rounded = round(scale * value, digits) + 0.0  # turns -0.0 into 0.0
    return f"{rounded:{'+' if points else ''}.{digits}f}"


def estimate(number: Number | None, *, scale: float = 100.0) -> ChartEstimate:
    """A number as charts take it, in percent, or times ``scale``."""
    if number is None or number.value is None:
        return ChartEstimate()
    counts = number.counts
    n = None if counts is None else counts.n
    low, high = (None, None) if number.ends is None else sorted(scale * end for end in number.ends)
    return ChartEstimate(value=scale * number.value, low=low, high=high, n=n)
