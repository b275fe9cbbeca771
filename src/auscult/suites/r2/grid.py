"""Scores as a grid: model, condition and metric to the value of every case."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from auscult.suites.r2.conditions import Condition
from auscult.suites.r2.tasks import TaskRules


@dataclass(frozen=True, slots=True)
class Cell:
    """What stands at one place of the grid, for one metric.

    Attributes:
        values: Case id to value, of the cases that have one.
        undefined: Case ids whose value does not exist.
    """

    values: dict[str, float] = field(default_factory=dict)
    undefined: set[str] = field(default_factory=set)


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """All scores of a run.

    Attributes:
        task: The task.
        cases: Case id to its clip, in the order of the run.
        splits: Case id to ``seen``, ``unseen`` or another word of the source; those with none are left out.
        models: Names, those asked for first.
        conditions: In order, ``clean`` first.
        cells: (model, condition's name, metric) to the values.
        pixels: (model, condition's name) to case id to (pixels in both masks, pixels in either), over scored frames.
        signatures: Metric to the signature of its scores, as JSON has it.
        by_model: The same by (model, metric): what was soft has a threshold in it.
    """

    task: TaskRules
    cases: Mapping[str, str]
    splits: Mapping[str, str]
    models: tuple[str, ...]
    conditions: tuple[Condition, ...]
    cells: Mapping[tuple[str, str, str], Cell]
    pixels: Mapping[tuple[str, str], Mapping[str, tuple[int, int]]]
    signatures: Mapping[str, Mapping[str, Any]]
    by_model: Mapping[tuple[str, str], Mapping[str, Any]] = field(default_factory=dict)
    failed: frozenset[tuple[str, str]] = frozenset()

    def cell(self, model: str, condition: str, metric: str) -> Cell:
        """One place; empty where nothing was scored."""
        return self.cells.get((model, condition, metric), Cell())

    def signature(self, model: str, metric: str) -> Mapping[str, Any]:
        """How the scores behind a number were made.

        Args:
            model: A model; anything else stands for several.
            metric: One of the task's, ``J&F`` or ``oIoU``; these two are told by what they are made of.
        """
        made = {"J&F": ("F", "mean of J and F"), "oIoU": ("IoU", "pixels in both of pixels in either")}
        parts, said = made.get(metric, (metric, ""))
        found = self.by_model.get((model, parts), self.signatures.get(parts, {}))
        return {**found, "metric": said} if said and found else found

    def asked(self, model: str, condition: str) -> bool:
        """Whether anything is known of a model under a condition, if only that it failed."""
        scored = any((model, condition, metric) in self.cells for metric in self.task.metrics)
        return scored or (model, condition) in self.failed

    def groups(self) -> tuple[tuple[str, str], ...]:
        """The groups of conditions as (group, part), without ``clean``, in order."""
        found = dict.fromkeys((one.group, one.part) for one in self.conditions[1:])
        return tuple(found)

    def of_group(self, group: str, part: str = "all") -> tuple[Condition, ...]:
        """The conditions of a group, mildest first, dynamic last."""
        mine = [one for one in self.conditions if one.group == group and one.part == part]
        return tuple(sorted(mine, key=lambda one: 99.0 if one.strength is None else one.strength))


def grid_of(
    rows: Iterable[Mapping[str, Any]],
    *,
    task: TaskRules,
    valid: Mapping[str, tuple[str, str, str]],
    cases: Mapping[str, tuple[str, str]],
    models: Sequence[str],
    conditions: Sequence[Condition],
    truths: Mapping[str, str] = MappingProxyType({}),
    failed: Iterable[tuple[str, str, str]] = (),
) -> Grid:
    """Read the rows of ``scores.jsonl``.

    Args:
        rows: The rows; of several for one place the last holds.
        task: The task.
        valid: Key of a prediction to (model, condition, case); rows of other keys are of another state of the data.
        cases: Case id to (clip, split).
        models: Names.
        conditions: ``clean`` first.
        truths: Case id to the hash of its true masks; rows that were scored by others are passed over.
        failed: (model, condition, case) of what has no answer.
    """
    cells: dict[tuple[str, str, str], Cell] = {}
    pixels: dict[tuple[str, str], dict[str, tuple[int, int]]] = {}
    signatures: dict[str, Mapping[str, Any]] = {}
    by_model: dict[tuple[str, str], Mapping[str, Any]] = {}
    for row in rows:
        place = valid.get(str(row.get("key")))
        if place is None:
            continue
        model, condition, case = place
        if case in truths and row.get("truth", truths[case]) != truths[case]:
            continue
        cell = cells.setdefault((model, condition, str(row["metric"])), Cell())
        if row["outcome"] == "scored":
            cell.values[case] = float(row["value"])
            cell.undefined.discard(case)
            signatures.setdefault(str(row["metric"]), row["signature"])
            by_model.setdefault((model, str(row["metric"])), row["signature"])
        else:
            cell.undefined.add(case)
            cell.values.pop(case, None)
        if "both_px" in row:
            pixels.setdefault((model, condition), {})[case] = (int(row["both_px"]), int(row["either_px"]))
    return Grid(
        task=task,
        cases={name: clip for name, (clip, _) in cases.items()},
        splits={name: split for name, (_, split) in cases.items() if split},
        models=tuple(models),
        conditions=tuple(conditions),
        cells=cells,
        pixels=pixels,
        failed=frozenset((model, condition) for model, condition, _ in failed),
        signatures=signatures,
        by_model=by_model,
    )
