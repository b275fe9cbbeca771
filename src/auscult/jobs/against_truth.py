"""Opens the truth of an INPUT, after the last verdict is written, and keeps what it says in ``truth.jsonl``."""

from __future__ import annotations

import os
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from auscult.arrays.overlap import iou
from auscult.cases.listing import Listing
from auscult.errors import AuscultError
from auscult.jobs.clip_tracks import filmed
from auscult.jobs.errors import ErrorLog, failed_row
from auscult.jobs.groups import Crew, FrameGroup, each_frame
from auscult.jobs.progress import Progress
from auscult.media.masks import read_mask
from auscult.media.readings import LoadedMask
from auscult.outcome import Scored, Signature
from auscult.record.folder import RunFolder
from auscult.record.schema import score_to_json
from auscult.types import Item, MaskRef

FILE = "truth.jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What is known to be right about one item and the score that follows, or why that cannot be read."""

    row: Mapping[str, Any] | None = None
    score: Mapping[str, Any] | None = None
    error: Mapping[str, Any] | None = None


def collect_truth(run: RunFolder, listing: Listing, *, workers: int, errors: ErrorLog, progress: Progress) -> None:
    """Write a row of truth for each judged item that has some, and its score; earlier ones are replaced.

    Truth may be corrected between two runs without judging again, so that it is compared anew each time.

    Args:
        run: The record; its verdicts are all written.
        listing: What INPUT holds.
        workers: Worker processes.
        errors: Where an unreadable truth is noted.
        progress: Who listens.
    """
    run.remove(FILE)
    run.remove("scores.jsonl")
    judged = {row["id"] for row in run.lines("verdicts.jsonl")}
    known = [item for item in listing.items if item.truth is not None and item.id in judged]
    if not known:
        return
    progress.stage("comparing with truth", len(known))
    clusters = clusters_of(listing.items, films=filmed(listing))

    def keep(found: Sequence[Known]) -> None:
        rows = [{**entry.row, "cluster": clusters[entry.row["id"]]} for entry in found if entry.row is not None]
        if rows:
            run.append_many(FILE, rows)
            run.append_many("scores.jsonl", [dict(entry.score) for entry in found if entry.score is not None])
        errors.keep(entry.error for entry in found if entry.error is not None)

    each_frame(
        Crew(partial(_comparer), workers, 120.0, "truth"), known, done=(), keep=keep, errors=errors, progress=progress
    )


def clusters_of(items: Sequence[Item], *, films: Collection[str] | None = None) -> dict[str, Hashable]:
    """What each item is clustered by: its film, or its photograph, named from the deepest folder that holds them all.

    Args:
        items: The items.
        films: Ids of those that are of a film; None for all where every item names a clip and there are several.
    """
    clips = {item.clip for item in items}
    if films is None:
        films = {item.id for item in items} if len(clips) > 1 and None not in clips else ()
    root = Path(os.path.commonpath([item.frame.parent for item in items])) if items else Path()
    return {
        item.id: f"clip {item.clip}" if item.id in films else f"frame {item.frame.relative_to(root).as_posix()}"
        for item in items
    }


def _comparer() -> _Comparer:
    return _Comparer()


def _opened(ref: MaskRef, truths: dict[MaskRef, LoadedMask]) -> LoadedMask:
    """Read a truth, one that several items of a frame share only once; what is written inline is not kept."""
    if ref.segmentation is not None:
        return read_mask(ref)
    if ref not in truths:
        truths[ref] = read_mask(ref)
    return truths[ref]


class _Comparer:
    def __call__(self, group: FrameGroup) -> list[Known]:
        truths: dict[MaskRef, LoadedMask] = {}
        return [self._one(item, truths) for item in group.items if item.id in group.wanted]

    def _one(self, item: Item, truths: dict[MaskRef, LoadedMask]) -> Known:
        truth = item.truth
        if truth is None:
            return Known()
        value, signature = truth.iou, Signature.of(metric="iou", source="given by the input")
        if truth.mask is not None:
            try:
                true = _opened(truth.mask, truths)
                told = read_mask(item.mask, size=(true.mask.shape[0], true.mask.shape[1]))
            except AuscultError as error:
                return Known(error=failed_row(item, error, "truth"))
            value = iou(told.mask, true.mask)
            signature = Signature.of(metric="iou", empty="1", prediction=told.reading, truth=true.reading)
        row = {"defect": truth.defect, "difficulty": truth.difficulty, "action": truth.action}
        score = None if value is None else score_to_json(item.id, "masks.iou.v1", Scored(value, signature))
        return Known(row={"id": item.id, "iou": value, **row}, score=score)
