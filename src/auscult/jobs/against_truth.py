"""Opens the truth of an INPUT, after the last verdict is written, and keeps what it says in ``truth.jsonl``."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from auscult.arrays.overlap import iou
from auscult.errors import AuscultError
from auscult.jobs.errors import ErrorLog, failed_row
from auscult.jobs.groups import Crew, FrameGroup, each_frame
from auscult.jobs.progress import Progress
from auscult.media.masks import read_mask
from auscult.outcome import Scored, Signature
from auscult.record.folder import RunFolder
from auscult.record.schema import score_to_json
from auscult.types import Item

FILE = "truth.jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What is known to be right about one item and the score that follows, or why that cannot be read."""

    row: Mapping[str, Any] | None = None
    score: Mapping[str, Any] | None = None
    error: Mapping[str, Any] | None = None


def collect_truth(run: RunFolder, items: Sequence[Item], *, workers: int, errors: ErrorLog, progress: Progress) -> None:
    """Write a row of truth for each judged item that has some, and its score; earlier ones are replaced.

    Truth may be corrected between two runs without judging again, so that it is compared anew each time.

    Args:
        run: The record; its verdicts are all written.
        items: The INPUT.
        workers: Worker processes.
        errors: Where an unreadable truth is noted.
        progress: Who listens.
    """
    run.remove(FILE)
    run.remove("scores.jsonl")
    judged = {row["id"] for row in run.lines("verdicts.jsonl")}
    known = [item for item in items if item.truth is not None and item.id in judged]
    if not known:
        return
    progress.stage("comparing with truth", len(known))
    clusters = clusters_of(items)

    def keep(found: Sequence[Known]) -> None:
        rows = [{**entry.row, "cluster": clusters[entry.row["id"]]} for entry in found if entry.row is not None]
        if rows:
            run.append_many(FILE, rows)
            run.append_many("scores.jsonl", [dict(entry.score) for entry in found if entry.score is not None])
        errors.keep(entry.error for entry in found if entry.error is not None)

    each_frame(
        Crew(partial(_comparer), workers, 120.0, "truth"), known, done=(), keep=keep, errors=errors, progress=progress
    )


def clusters_of(items: Sequence[Item]) -> dict[str, Hashable]:
    """What each item is clustered by: its clip where there are several clips, else its photograph."""
    clips = {item.clip for item in items}
    if len(clips) > 1 and None not in clips:
        return {item.id: item.clip for item in items}
    return {item.id: str(item.frame.name) for item in items}


def _comparer() -> _Comparer:
    return _Comparer()


class _Comparer:
    def __call__(self, group: FrameGroup) -> list[Known]:
        return [self._one(item) for item in group.items if item.id in group.wanted]

    def _one(self, item: Item) -> Known:
        truth = item.truth
        if truth is None:
            return Known()
        value, signature = truth.iou, Signature.of(metric="iou", source="given by the input")
        if truth.mask is not None:
            try:
                true = read_mask(truth.mask)
                told = read_mask(item.mask, size=(true.mask.shape[0], true.mask.shape[1]))
            except AuscultError as error:
                return Known(error=failed_row(item, error, "truth"))
            value = iou(told.mask, true.mask)
            signature = Signature.of(metric="iou", empty="1", prediction=told.reading, truth=true.reading)
        row = {"defect": truth.defect, "difficulty": truth.difficulty, "action": truth.action}
        score = None if value is None else score_to_json(item.id, "masks.iou.v1", Scored(value, signature))
        return Known(row={"id": item.id, "iou": value, **row}, score=score)
