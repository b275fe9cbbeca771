"""Records of audits made by hand: verdicts with probabilities, scores of a model, and truth, without judging."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from auscult.jobs.finish import finish_run
from auscult.media.rle import encode
from auscult.record.folder import open_run
from auscult.record.schema import Summary, verdict_to_json
from auscult.types import Evidence, Verdict
from small_inputs import LEFT

DOT = b64encode(b"\xff\xd8 a picture").decode()
"""A thumbnail as a record keeps it."""


def verdict(name: str, **changes: Any) -> Verdict:
    """A verdict of a judge that gives no probability, unless told otherwise."""
    known: dict[str, Any] = {
        "id": name, "iou": 0.7, "iou_low": 0.6, "iou_high": 0.8, "defect": "erode", "defect_probs": {"erode": 1.0},
        "evidence": Evidence(shape=True), "rationale": "", "judge": "masks.any.v1", "action": "reject",
    }  # fmt: skip
    return Verdict(**{**known, **changes})


def record(
    folder: Path, rows: Sequence[tuple[Verdict, Mapping[str, Any]]], truths: Sequence[Mapping[str, Any]] = ()
) -> Summary:
    """Write a record of verdicts with further keys of their rows, and of what is true of them; finish it."""
    manifest = {
        "schema": 1,
        "command": "audit",
        "arguments": {"given": {"source": "in"}, "defaulted": {}},
        "inputs": {},
    }
    with open_run(folder, manifest) as run:
        run.append_many("masks.jsonl", [{"id": one.id, "segmentation": encode(LEFT)} for one, _ in rows])
        run.append_many("thumbnails.jsonl", [{"id": one.id, "jpeg": DOT} for one, _ in rows])
        run.append_many("verdicts.jsonl", [verdict_to_json(one, **{"frame": "a.png", **more}) for one, more in rows])
        run.append_many("truth.jsonl", truths)
        return finish_run(run, command="audit")
