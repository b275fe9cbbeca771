"""Records of audits made by hand: verdicts with probabilities, scores of a model, and truth, without judging."""

from __future__ import annotations

import csv
import io
from base64 import b64encode
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from auscult.jobs.audit import audit_folder
from auscult.jobs.finish import finish_run
from auscult.jobs.options import AuditOptions
from auscult.media.rle import encode
from auscult.record.cells import disarmed
from auscult.record.folder import open_run
from auscult.record.schema import Summary, verdict_to_json
from auscult.types import Evidence, Verdict
from small_inputs import LEFT, folder_input, write_lines

ODD_IDS = ("=1+1", "a;=b", 'x, "y"', "'q", "\uff0bz")
"""Ids that a spreadsheet would take for formulas, and such as need quotation marks in CSV."""

DOT = b64encode(b"\xff\xd8 a picture").decode()
"""A thumbnail as a record keeps it."""


def verdict(name: str, **changes: Any) -> Verdict:
    """A verdict of a judge that gives no probability, unless told otherwise."""
    fields: dict[str, Any] = {
        "id": name, "iou": 0.7, "iou_low": 0.6, "iou_high": 0.8, "defect": "erode", "defect_probs": {"erode": 1.0},
        "evidence": Evidence(shape=True), "rationale": "", "judge": "masks.any.v1", "action": "reject",
    }  # fmt: skip
    return Verdict(**{**fields, **changes})


def page_marks(labels: Mapping[str, str]) -> bytes:
    """The CSV that a report's page exports of its marks; the test of the page holds it to that."""
    table = io.StringIO(newline="")
    csv.writer(table).writerows([("id", "label"), *((disarmed(name), label) for name, label in labels.items())])
    return table.getvalue().encode()


def marked_audit(folder: Path, count: int = 64) -> Path:
    """An audit of masks with odd ids and others, each on a photograph of its own."""
    ids = (*ODD_IDS, *(f"m{number}" for number in range(count - len(ODD_IDS))))
    folder_input(folder / "in", [f"f{number}" for number in range(count)])
    lines = (
        {"id": name, "frame": f"frames/f{index}.png", "mask": f"masks/f{index}.png"} for index, name in enumerate(ids)
    )
    write_lines(folder / "in" / "items.jsonl", *lines)
    audit_folder(AuditOptions(source=folder / "in", out=folder / "out", judge="cues", workers=0))
    return folder / "out"


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
        run.append_many("masks.jsonl", [{"id": verdict_.id, "segmentation": encode(LEFT)} for verdict_, _ in rows])
        run.append_many("thumbnails.jsonl", [{"id": verdict_.id, "jpeg": DOT} for verdict_, _ in rows])
        run.append_many(
            "verdicts.jsonl", [verdict_to_json(verdict_, **{"frame": "a.png", **fields}) for verdict_, fields in rows]
        )
        run.append_many("truth.jsonl", truths)
        return finish_run(run, command="audit")
