"""Areas of stored predictions and true masks, in worker processes."""

from __future__ import annotations

from typing import Any, Final

from auscult.errors import InputError
from auscult.media.rle import Runs
from auscult.outcome import Failed, Scored, Signature
from auscult.record.schema import score_to_json
from auscult.score.masks import SentenceAreas
from auscult.suites.core.runner import ToScore
from auscult.suites.rris.cases import RrisPrepared

IOU: Final = "IoU"
PAINTED: Final = "painted"
METRICS: Final = (IOU, PAINTED)
"""Metrics of each answer: its IoU, with pixels of intersection and union; the painted share of the picture."""


class Scorer:
    """Scores predictions in one process; keeps the true mask of the last reference."""

    def __init__(self) -> None:
        self._truth = ""
        self._runs: Runs | None = None

    def __call__(self, given: ToScore[RrisPrepared]) -> list[dict[str, Any]] | Failed:
        """The rows of one prediction."""
        row, case = given.row, given.prepared.case
        if self._truth != case.truth:
            mask = case.mask()
            self._truth, self._runs = case.truth, None if mask is None else Runs.of(mask)
        if len(row["counts"]) != 1 or list(row["size"]) != list(case.size):
            raise InputError(
                f"the stored prediction has {len(row['counts'])} masks of {row['size']}",
                expected=f"one of {list(case.size)}",
            )
        prediction = {"size": row["size"], "counts": row["counts"][0]}
        areas = SentenceAreas.of(
            prediction, self._runs, reference=case.reference, id=case.id, picture=case.clip, kind=case.kind
        )
        settings: dict[str, Any] = {"task": "rris", "size": "the picture's"}
        if row["threshold"] is not None:
            settings["threshold"] = row["threshold"]
        context = {name: row[name] for name in ("key", "model", "condition")} | {
            "clip": case.clip, "split": case.split, "truth": case.truth
        }  # fmt: skip
        pixels = {"both_px": areas.both_px, "either_px": areas.either_px}
        iou = Scored(areas.iou, Signature.of(metric=IOU, negative="1 for an empty mask, else 0", **settings))
        share = Scored(
            areas.predicted_px / areas.picture_px, Signature.of(metric=PAINTED, over="the picture", **settings)
        )
        return [
            {**score_to_json(case.id, IOU, iou), **context, **pixels},
            {**score_to_json(case.id, PAINTED, share), **context},
        ]
