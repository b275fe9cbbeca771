"""Scores as a grid: model, condition and metric to the value of every case."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from auscult.errors import ErrorRecord, InputError
from auscult.jobs.predict import READ
from auscult.media.rle import decode
from auscult.outcome import Failed, Outcome, Scored, Signature, Undefined
from auscult.record.schema import error_to_json, score_to_json
from auscult.score.masks.ref_avs import avs_scores
from auscult.score.masks.video import j_and_f
from auscult.suites.core.results import is_valid
from auscult.suites.r2.cases import R2Case, TaskRules, Truths, scored_frames, truths_of
from auscult.suites.r2.conditions import Condition
from auscult.suites.r2.perturbing import Prepared
from auscult.types import Mask

_AND: Final = " and "


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
        failed: (model, condition's name) under which a question failed.
        waiting: (model, condition's name) to the ids of the cases that were to be asked and never were.
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
    waiting: Mapping[tuple[str, str], frozenset[str]] = field(default_factory=dict)

    def cell(self, model: str, condition: str, metric: str) -> Cell:
        """One place; empty where nothing was scored."""
        return self.cells.get((model, condition, metric), Cell())

    def signature(self, model: str, metric: str) -> Mapping[str, Any]:
        """How the scores behind a number were made."""
        made = {"J&F": ("F", "mean of J and F"), "oIoU": ("IoU", "pixels in both of pixels in either")}
        parts, said = made.get(metric, (metric, ""))
        found = self.by_model.get((model, parts), self.signatures.get(parts, {}))
        return {**found, "metric": said} if said and found else found

    def asked(self, model: str, condition: str) -> bool:
        """Whether anything is known of a model under a condition, if only that it failed.

        Not where a case is yet to be asked that was asked clean: it would be missing from every average of levels.
        """
        return self.known(model, condition) and not self._behind(model, condition)

    def known(self, model: str, condition: str) -> bool:
        """Whether a model has an answer under a condition, or failed at one, even where cases are yet to be asked."""
        scored = any((model, condition, metric) in self.cells for metric in self.task.metrics)
        return scored or (model, condition) in self.failed

    def _behind(self, model: str, condition: str) -> bool:
        mine = self.waiting.get((model, condition))
        return mine is not None and not mine <= self.waiting.get((model, self.conditions[0].name), frozenset())

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
    waiting: Iterable[tuple[str, str, str]] = (),
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
        waiting: The same of what was never asked.
    """
    cells: dict[tuple[str, str, str], Cell] = {}
    pixels: dict[tuple[str, str], dict[str, tuple[int, int]]] = {}
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
    return Grid(
        task=task,
        cases={name: clip for name, (clip, _) in cases.items()},
        splits={name: split for name, (_, split) in cases.items() if split},
        models=tuple(models),
        conditions=tuple(conditions),
        cells=cells,
        pixels=pixels,
        failed=frozenset((model, condition) for model, condition, _ in failed),
        waiting=_by_place(waiting),
        signatures={metric: joined_signature(told) for metric, told in _by_metric(signed).items()},
        by_model={place: joined_signature(told.values()) for place, told in signed.items()},
    )


def _by_place(waiting: Iterable[tuple[str, str, str]]) -> dict[tuple[str, str], frozenset[str]]:
    found: dict[tuple[str, str], set[str]] = {}
    for model, condition, case in waiting:
        found.setdefault((model, condition), set()).add(case)
    return {place: frozenset(cases) for place, cases in found.items()}


def _by_metric(signed: Mapping[tuple[str, str], Mapping[str, Mapping[str, Any]]]) -> dict[str, list[Mapping[str, Any]]]:
    found: dict[str, list[Mapping[str, Any]]] = {}
    for (_, metric), told in signed.items():
        found.setdefault(metric, []).extend(told.values())
    return found


def joined_signature(many: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """How several scores were made, as one signature: a field that differs has each of its values.

    ``none`` stands for those that have no such field, as masks have no threshold.
    """
    each = list(many)
    found: dict[str, Any] = {}
    for key in dict.fromkeys(key for one in each for key in one):
        values = {str(one.get(key, "none")): one.get(key, "none") for one in each}
        parts = dict.fromkeys(part for value in sorted(values) for part in value.split(_AND))
        found[key] = next(iter(values.values())) if len(values) == 1 else _AND.join(parts)
    return found


def questions(grid: Grid) -> tuple[int, int, int]:
    """How many questions were asked, failed, and have no score that could be defined, by models under conditions."""
    asked = failed = undefined = 0
    for model in grid.models:
        for one in grid.conditions:
            if not grid.known(model, one.name):
                continue
            cells = [grid.cell(model, one.name, metric) for metric in grid.task.metrics]
            mine = grid.cases.keys() - grid.waiting.get((model, one.name), frozenset())
            scored = mine & {case for cell in cells for case in cell.values}
            without = (mine & {case for cell in cells for case in cell.undefined}) - scored
            asked += len(mine)
            failed += len(mine - scored - without)
            undefined += len(without)
    return asked, failed, undefined


@dataclass(frozen=True, slots=True, kw_only=True)
class ToScore:
    """A stored prediction and what it is of; goes to a worker process.

    Attributes:
        row: The prediction's row.
        prepared: The case under its condition.
    """

    row: Mapping[str, Any]
    prepared: Prepared


class Scorer:
    """Scores predictions in one process; keeps the true masks of the last case.

    Args:
        task: The task.
    """

    def __init__(self, task: TaskRules) -> None:
        self._task = task
        self._case = ""
        self._truths = Truths([], {})

    def __call__(self, given: ToScore) -> list[dict[str, Any]] | Failed:
        """The rows of one prediction; or why there is nothing to score with, whichever model answered.

        A frame whose true mask cannot be read is not scored, and the rows say so under ``unread``.
        """
        case, row = given.prepared.case, given.row
        if self._case != case.id:
            self._case, self._truths = case.id, truths_of(case)
        truths, unread = given.prepared.truths(self._truths.masks), list(self._truths.errors.values())
        frames = [place for place in scored_frames(case.scored, len(truths)) if truths[place] is not None]
        about = {name: row[name] for name in ("key", "model", "condition")} | {
            "clip": case.clip, "split": case.split, "truth": case.truth
        }  # fmt: skip
        if unread:
            about["unread"] = [error_to_json(None, ErrorRecord.of(_unscored(one), "truth")) for one in unread]
        if not frames and unread:
            return Failed(ErrorRecord.of(unread[0], READ))
        if not frames:
            nothing = Undefined("no frame is left to score", {"rule": case.scored, "frames": len(truths)})
            return [{**score_to_json(case.id, metric, nothing), **about} for metric in self._task.metrics]
        prediction = _stack([_predicted(row, place, case) for place in frames])
        truth = _stack([mask for place in frames if (mask := truths[place]) is not None])
        outcomes = scores_of(self._task, prediction, truth, frames=case.scored, threshold=row.get("threshold"))
        pixels = {
            "both_px": int(np.count_nonzero(prediction & truth)), "either_px": int(np.count_nonzero(prediction | truth))
        }  # fmt: skip
        return [{**score_to_json(case.id, metric, outcome), **about, **pixels} for metric, outcome in outcomes.items()]


def _unscored(error: InputError) -> InputError:
    message = f"the true mask cannot be read, so that its frame is shown and not scored: {error.message}"
    return InputError(message, expected=error.expected, hint=error.hint, path=error.path)


def scores_of(
    task: TaskRules,
    prediction: NDArray[np.bool_],
    truth: NDArray[np.bool_],
    *,
    frames: str = "all",
    threshold: float | None = None,
) -> dict[str, Outcome[float]]:
    """The metrics of one case.

    Args:
        task: The task.
        prediction: bool (T, H, W): the frames that are scored, and no other.
        truth: The same shape.
        frames: The rule by which these frames were chosen, for the signature.
        threshold: What probabilities were cut at, for the signature; None for masks.

    Returns:
        Metric to score, 0..1, higher is better.
    """
    if task.name == "avs":
        return {
            name: _signed_for_task(one, task, frames=frames, threshold=threshold)
            for name, one in avs_scores(prediction, truth).items()
        }
    found = j_and_f(prediction, truth, protocol="davis2016")
    if isinstance(found, Undefined):
        return dict.fromkeys(task.metrics, found)
    values = (found.j,) if task.name == "ris" else (found.j, found.f)
    plain = {name: Scored(value, _plain(name)) for name, value in zip(task.metrics, values, strict=True)}
    return {name: _signed_for_task(one, task, frames=frames, threshold=threshold) for name, one in plain.items()}


def _plain(metric: str) -> Signature:
    tolerance = {"tolerance": "0.008 of the diagonal"} if metric == "F" else {}
    return Signature.of(metric=metric, objects="one at a time", empty=1, **tolerance)


def _signed_for_task(
    outcome: Scored[float] | Undefined, task: TaskRules, *, frames: str, threshold: float | None
) -> Scored[float] | Undefined:
    """The outcome with the task, the frames and the threshold in its signature."""
    if isinstance(outcome, Undefined):
        return outcome
    fields = {name: value for name, value in outcome.signature.fields if name != "version"}
    told: dict[str, Any] = {"task": task.name, **fields, "frames": frames, "resize": "none"}
    if threshold is not None:
        told["threshold"] = threshold
    return Scored(outcome.value, Signature.of(**told))


def _predicted(row: Mapping[str, Any], place: int, case: R2Case) -> Mask:
    counts: Sequence[Any] = row["counts"]
    if len(counts) != len(case.frames) or list(row["size"]) != list(case.size):
        raise InputError(
            f"the stored prediction has {len(counts)} masks of {row['size']}",
            expected=f"{len(case.frames)} masks of {list(case.size)}",
        )
    return decode({"size": list(case.size), "counts": counts[place]})


def _stack(masks: Sequence[Mask]) -> NDArray[np.bool_]:
    return np.stack(masks)
