"""Verdicts as CSV for a spreadsheet."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable

from auscult.act.export.masks import JsonRow
from auscult.record.cells import disarmed

COLUMNS = (
    "id",
    "action",
    "defect",
    "iou",
    "iou_low",
    "iou_high",
    "novelty",
    "text",
    "frame",
    "mask",
    "reading",
    "rationale",
    "judge",
)
OPTIONAL_COLUMNS = (
    *("missing_share", "extra_share", "prob_iou_80", "prob_iou_50", "model_score", "joint_wrong", "joint_same"),
)
"""Columns that follow where a row has them: from judges with an error map (the map itself stays in the record), from
judges with probabilities, the model's own score where INPUT has it, and what mask and separated sound come to."""


def verdicts_csv(rows: Iterable[JsonRow]) -> str:
    r"""Write rows of a record as CSV, one line each, safe to open in a spreadsheet.

    Texts are ``disarmed``: no program takes one for a formula. Missing values and empty texts are empty cells; keys
    that are neither in ``COLUMNS`` nor in ``OPTIONAL_COLUMNS`` are left out. Lines end in ``\r\n`` (RFC 4180).
    """
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\r\n")
    kept = [{**row, **{f"joint_{key}": value for key, value in (row.get("joint") or {}).items()}} for row in rows]
    columns = (*COLUMNS, *(name for name in OPTIONAL_COLUMNS if any(row.get(name) is not None for row in kept)))
    writer.writerow(columns)
    for row in kept:
        writer.writerow([_cell(row.get(column)) for column in columns])
    return out.getvalue()


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return repr(float(value))
    return disarmed(str(value))
