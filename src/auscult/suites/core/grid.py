"""Scores as a grid: the value of every case by model, condition and metric."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Final

from auscult.stress.recipe_parts import base_of
from auscult.suites.core.conditions import Condition
from auscult.suites.core.results import is_valid

CLIPS: Final = "clips or photographs"
_AND: Final = " and "


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """The task of a suite: its metrics, baselines and words."""

    suite: str  # the suite's short name, in its command and in every seed
    name: str
    title: str  # its name for people
    metrics: tuple[str, ...]  # metrics of each case, the main one first; 0..1, higher is better
    beside: tuple[str, ...] = ()  # metrics of some cases, or where lower is better; without changes and ranks
    # further metrics, and those that each is the mean of; the first goes before the first of ``metrics``
    means: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    # metrics that follow from others: whose signature they have, and what they are
    derived: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    pooled: str = ""  # a metric over the pixels of all cases, such as ``oIoU``; empty for none
    # metrics class by class over the frames of all cases together, as ``mIoU``, in the order of a row's sums
    class_wise: tuple[str, ...] = ()
    baselines: tuple[str, ...] = ()  # trivial predictors; changes of a model that is not better mean little
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)  # of metrics that are not within 0..1
    about: Mapping[str, type] = field(default_factory=dict)  # fields of ``about`` in each case, for results: str, int
    # a metric as tables call it, where that is not its name
    metric_words: Mapping[str, str] = field(default_factory=dict)
    group_words: Mapping[str, str] = field(default_factory=dict)  # a group of conditions as a person says it
    cluster_words: str = CLIPS  # what intervals draw as a whole

    @property
    def main(self) -> str:
        """The main metric, by which models are ranked."""
        return next(iter(self.means), self.metrics[0])

    def metric_name(self, metric: str) -> str:
        """The name of a metric in tables."""
        return self.metric_words.get(metric, metric)

    def scale(self, metric: str) -> float:
        """What a metric is multiplied by in tables: a share is shown as percent, one with its own range as it is."""
        return 1.0 if metric in self.ranges else 100.0

    def group_name(self, group: str, part: str = "all") -> str:
        """A group of conditions in words."""
        name = self.group_words.get(group) or (base_of(group) if "." in group else group)
        name = f"{name} of the first mask" if group.startswith("masks.") else name
        return name if part == "all" else f"{name}, {'first frame' if part == 'first' else 'later frames'}"

    def is_baseline(self, model: str) -> bool:
        """Whether a model is a trivial predictor."""
        return model in self.baselines

    def tested(self, models: Iterable[str]) -> list[str]:
        """The models that are not baselines."""
        return [model for model in models if not self.is_baseline(model)]


@dataclass(frozen=True, slots=True)
class Cell:
    """The values of one model under one condition, for one metric."""

    values: dict[str, float] = field(default_factory=dict)
    undefined: set[str] = field(default_factory=set)  # cases without a defined value


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """All scores of a run."""

    task: Task
    cases: Mapping[str, str]  # case id to its clip, in the order of the run
    # case id to ``seen``, ``unseen`` or another word of the source; those with none are left out
    splits: Mapping[str, str]
    # case id to what else its suite must know of it: texts and whole numbers; empty for most suites
    about: Mapping[str, Mapping[str, str | int]] = field(default_factory=dict)
    models: tuple[str, ...]  # names, those of the last command first
    conditions: tuple[Condition, ...]  # in order, ``clean`` first
    cells: Mapping[tuple[str, str, str], Cell]  # (model, condition's name, metric) to the values
    # (model, condition's name) to case id to (pixels in both masks, pixels in either), over scored frames
    pixels: Mapping[tuple[str, str], Mapping[str, tuple[int, int]]]
    # the same to what the metrics of ``class_wise`` are made of: class to their sums over frames, then the frames
    classes: Mapping[tuple[str, str], Mapping[str, Mapping[str, Sequence[float]]]] = field(default_factory=dict)
    # the same to case id to what else adds up over cases, by name
    sums: Mapping[tuple[str, str], Mapping[str, Mapping[str, Sequence[float]]]] = field(default_factory=dict)
    # the same to case id to the answer that was read, as JSON, of models that answer in text
    answers: Mapping[tuple[str, str], Mapping[str, Mapping[str, Any]]] = field(default_factory=dict)
    signatures: Mapping[str, Mapping[str, Any]]  # metric to the signature of its scores, as JSON
    # the same by (model, metric): what was soft has a threshold in it
    by_model: Mapping[tuple[str, str], Mapping[str, Any]] = field(default_factory=dict)
    failed: frozenset[tuple[str, str]] = frozenset()  # (model, condition's name) under which a request failed
    # (model, condition's name) to the ids of the cases whose requests were never made
    waiting: Mapping[tuple[str, str], frozenset[str]] = field(default_factory=dict)

    def cell(self, model: str, condition: str, metric: str) -> Cell:
        """The values of one cell, perhaps empty."""
        return self.cells.get((model, condition, metric), Cell())

    def signature(self, model: str, metric: str) -> Mapping[str, Any]:
        """The signature of the scores behind a number."""
        parts, description = self.task.derived.get(metric, (metric, ""))
        found = self.by_model.get((model, parts), self.signatures.get(parts, {}))
        return {**found, "metric": description} if description and found else found

    def is_complete(self, model: str, condition: str) -> bool:
        """Whether a model has results, scores or failures, under a condition.

        False if a case with a clean result has no request yet: averages of levels would lack it.
        """
        clean = self.conditions[0].name
        waiting, waiting_clean = (self.waiting.get((model, name), frozenset()) for name in (condition, clean))
        return self.has_results(model, condition) and waiting <= waiting_clean

    def has_results(self, model: str, condition: str) -> bool:
        """Whether a model has any score or failure under a condition, even if requests are missing."""
        scored = any((model, condition, metric) in self.cells for metric in self.task.metrics)
        return scored or (model, condition) in self.failed

    def groups(self) -> tuple[tuple[str, str], ...]:
        """The groups of conditions as (group, part), without ``clean``, in order."""
        found = dict.fromkeys((condition.group, condition.part) for condition in self.conditions[1:])
        return tuple(found)

    def narrowed(self, keys: Container[tuple[str, str, str]]) -> Grid:
        """The grid with only the conditions of these keys."""
        return replace(self, conditions=tuple(condition for condition in self.conditions if condition.key in keys))

    def of_group(self, group: str, part: str = "all") -> tuple[Condition, ...]:
        """The conditions of a group, mildest first, dynamic last."""
        conditions = [condition for condition in self.conditions if condition.group == group and condition.part == part]
        return tuple(sorted(conditions, key=lambda one: 99.0 if one.strength is None else one.strength))


def grid_of(
    rows: Iterable[Mapping[str, Any]],
    *,
    task: Task,
    valid: Mapping[str, tuple[str, str, str]],
    cases: Mapping[str, tuple[str, str]],
    models: Sequence[str],
    conditions: Sequence[Condition],
    truths: Mapping[str, str] = MappingProxyType({}),
    about: Mapping[str, Mapping[str, str | int]] = MappingProxyType({}),
    failed: Iterable[tuple[str, str, str]] = (),
    waiting: Iterable[tuple[str, str, str]] = (),
) -> Grid:
    """Read the rows of ``scores.jsonl`` of these keys and true masks; the last row of a cell counts."""
    cells: dict[tuple[str, str, str], Cell] = {}
    pixels: dict[tuple[str, str], dict[str, tuple[int, int]]] = {}
    extras: dict[str, dict[tuple[str, str], dict[str, Mapping[str, Any]]]] = {"classes": {}, "sums": {}, "answer": {}}
    signed: dict[tuple[str, str], dict[str, Mapping[str, Any]]] = {}
    for row in rows:
        if row["outcome"] == "failed" or not is_valid(row, valid, truths):
            continue
        model, condition, case = valid[str(row["key"])]
        cell = cells.setdefault((model, condition, str(row["metric"])), Cell())
        if row["outcome"] == "scored":
            cell.values[case] = float(row["value"])
            cell.undefined.discard(case)
            signed.setdefault((model, str(row["metric"])), {}).setdefault(repr(row["signature"]), row["signature"])
        else:
            cell.undefined.add(case)
            cell.values.pop(case, None)
        if "both_px" in row:
            pixels.setdefault((model, condition), {})[case] = (int(row["both_px"]), int(row["either_px"]))
        for name in extras.keys() & row.keys():
            extras[name].setdefault((model, condition), {})[case] = row[name]
    left: dict[tuple[str, str], set[str]] = {}
    for model, condition, case in waiting:
        left.setdefault((model, condition), set()).add(case)
    by_metric: dict[str, list[Mapping[str, Any]]] = {}
    for (_, metric), signatures in signed.items():
        by_metric.setdefault(metric, []).extend(signatures.values())
    return Grid(
        task=task,
        cases={name: clip for name, (clip, _) in cases.items()},
        splits={name: split for name, (_, split) in cases.items() if split},
        about=about,
        models=tuple(models),
        conditions=tuple(conditions),
        cells=cells,
        pixels=pixels,
        classes=extras["classes"],
        sums=extras["sums"],
        answers=extras["answer"],
        failed=frozenset((model, condition) for model, condition, _ in failed),
        waiting={pair: frozenset(ids) for pair, ids in left.items()},
        signatures={metric: joined_signature(signatures) for metric, signatures in by_metric.items()},
        by_model={pair: joined_signature(signatures.values()) for pair, signatures in signed.items()},
    )


def joined_signature(many: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """One signature for several: a field that differs has all its values, ``none`` for a missing one."""
    signatures = list(many)
    joined: dict[str, Any] = {}
    for key in dict.fromkeys(key for signature in signatures for key in signature):
        values = {str(signature.get(key, "none")): signature.get(key, "none") for signature in signatures}
        parts = dict.fromkeys(part for value in sorted(values) for part in value.split(_AND))
        joined[key] = next(iter(values.values())) if len(values) == 1 else _AND.join(parts)
    return joined


def request_counts(grid: Grid) -> tuple[int, int, int]:
    """Counts of requests: made, failed, without a defined score."""
    requested = failed = undefined = 0
    for model in grid.models:
        for condition in grid.conditions:
            if not grid.has_results(model, condition.name):
                continue
            metrics = (*grid.task.metrics, *grid.task.beside)
            cells = [grid.cell(model, condition.name, metric) for metric in metrics]
            expected = grid.cases.keys() - grid.waiting.get((model, condition.name), frozenset())
            scored = expected & {case for cell in cells for case in cell.values}
            without = (expected & {case for cell in cells for case in cell.undefined}) - scored
            requested += len(expected)
            failed += len(expected - scored - without)
            undefined += len(without)
    return requested, failed, undefined
