"""Scores stored predictions with the true masks, in worker processes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from auscult.errors import ErrorRecord, InputError
from auscult.jobs.predict import READ, stored_answer
from auscult.models.base import ClassMaps
from auscult.outcome import Failed, Outcome, Scored, Signature, Undefined
from auscult.record.schema import error_to_json, score_to_json
from auscult.score.masks.overlap import class_sums, class_wise
from auscult.score.masks.ref_avs import avs_scores, clip_sums, ref_avs_f, ref_avs_j, ref_avs_s
from auscult.score.masks.video import j_and_f
from auscult.suites.core.runner import ToScore
from auscult.suites.r2.cases import R2Case, TaskRules, Truths, scored_frames, truths_of
from auscult.suites.r2.perturbing import PerturbedCase
from auscult.types import Mask


class R2Scorer:
    """Scores predictions in one process; keeps the true masks of the last case."""

    def __init__(self, task: TaskRules) -> None:
        self._task = task
        self._case = ""
        self._truths = Truths([], {})

    def __call__(self, given: ToScore[PerturbedCase]) -> list[dict[str, Any]] | Failed:
        """The rows of one prediction, or why it cannot be scored.

        A frame with an unreadable true mask is not scored, and its error is in the rows under ``unread``.
        """
        case, row = given.prepared.case, given.row
        if self._case != case.id:
            self._case, self._truths = case.id, truths_of(case)
        truths, unread = given.prepared.truths(self._truths.masks), list(self._truths.errors.values())
        frames = [index for index in scored_frames(case.scored, len(truths)) if truths[index] is not None]
        context = {name: row[name] for name in ("key", "model", "condition")} | {
            "clip": case.clip, "split": case.split, "truth": case.truth
        }  # fmt: skip
        if unread:
            context["unread"] = [error_to_json(None, ErrorRecord.of(_unscored(error), "truth")) for error in unread]
        if not frames and unread:
            return Failed(ErrorRecord.of(unread[0], READ))
        if not frames:
            nothing = Undefined("no frame is left to score", {"rule": case.scored, "frames": len(truths)})
            return [{**score_to_json(case.id, metric, nothing), **context} for metric in self._task.metrics]
        prediction = np.stack([_predicted(row, index, case) for index in frames])
        truth = np.stack([mask for index in frames if (mask := truths[index]) is not None])
        outcomes = scores_of(self._task, prediction, truth, frames=case.scored, threshold=row.get("threshold"))
        if case.absent:
            outcomes = null_scores(self._task, prediction, threshold=row.get("threshold"))
        sums = _sums(self._task, prediction, truth)
        return [{**score_to_json(case.id, metric, outcome), **context, **sums} for metric, outcome in outcomes.items()]


def _sums(task: TaskRules, prediction: NDArray[Any], truth: NDArray[Any]) -> dict[str, Any]:
    """Sums over cases: pixels, or for each class its IoU, its F and the frames in which it occurs."""
    if task.classes:
        by_class = class_sums(prediction, truth, classes=task.classes)
        return {"classes": {str(number): sums for number, sums in by_class.items()}}
    both, either = np.count_nonzero(prediction & truth), np.count_nonzero(prediction | truth)
    of_releases = {"sums": clip_sums(prediction, truth)} if task.null else {}
    return {"both_px": int(both), "either_px": int(either), **of_releases}


def _unscored(error: InputError) -> InputError:
    message = f"the true mask cannot be read, so that its frame is shown and not scored: {error.message}"
    return InputError(message, expected=error.expected, hint=error.hint, path=error.path)


def scores_of(
    task: TaskRules,
    prediction: NDArray[Any],
    truth: NDArray[Any],
    *,
    frames: str = "all",
    threshold: float | None = None,
) -> dict[str, Outcome[float]]:
    """The metrics of one case, 0..1, higher is better, from bool masks (T, H, W) or class maps of scored frames."""
    outcomes: dict[str, Outcome[float]]
    if task.classes:
        by_class = class_wise([class_sums(prediction, truth, classes=task.classes)], classes=task.classes)
        outcomes = {f"{name}_clip": outcome for name, outcome in by_class.items()}
    elif task.name == "avs":
        outcomes = {str(name): outcome for name, outcome in avs_scores(prediction, truth).items()}
    elif task.name == "refavs":
        outcomes = {"J": ref_avs_j([prediction], [truth]), "F": ref_avs_f([prediction], [truth])}
    elif isinstance(both := j_and_f(prediction, truth, protocol="davis2016"), Undefined):
        outcomes = dict.fromkeys(task.metrics, both)
    else:
        values = (both.j,) if task.name == "ris" else (both.j, both.f)
        outcomes = {name: Scored(value, _plain(name)) for name, value in zip(task.metrics, values, strict=True)}
    return {
        name: _signed_for_task(outcome, task, frames=frames, threshold=threshold) for name, outcome in outcomes.items()
    }


def null_scores(
    task: TaskRules, prediction: NDArray[Any], *, threshold: float | None = None
) -> dict[str, Outcome[float]]:
    """The scores of a null expression: S, 0..1, lower is better; the others are undefined."""
    outcome = _signed_for_task(ref_avs_s([prediction]), task, frames="all", threshold=threshold)
    return {
        **dict.fromkeys(task.metrics, Undefined("the expression refers to nothing, and has S instead")),
        "S": outcome,
    }


def _plain(metric: str) -> Signature:
    tolerance = {"tolerance": "0.008 of the diagonal"} if metric == "F" else {}
    return Signature.of(metric=metric, objects="one at a time", empty=1, **tolerance)


def _signed_for_task(
    outcome: Outcome[float], task: TaskRules, *, frames: str, threshold: float | None
) -> Outcome[float]:
    """The outcome with the task, the frames and the threshold in its signature."""
    if not isinstance(outcome, Scored):
        return outcome
    fields = {name: value for name, value in outcome.signature.fields if name != "version"}
    signed: dict[str, Any] = {"task": task.name, **fields, "frames": frames, "resize": "none"}
    if threshold is not None:
        signed["threshold"] = threshold
    return Scored(outcome.value, Signature.of(**signed))


def _predicted(row: Mapping[str, Any], index: int, case: R2Case) -> Mask | ClassMaps:
    counts: Sequence[Any] = row["counts"]
    if len(counts) != len(case.frames) or list(row["size"]) != list(case.size):
        raise InputError(
            f"the stored prediction has {len(counts)} masks of {row['size']}",
            expected=f"{len(case.frames)} masks of {list(case.size)}",
        )
    return stored_answer(row, index)
