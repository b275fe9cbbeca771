"""Verdicts as CSV for a spreadsheet."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

from auscult.act.export.masks import JsonRow
from auscult.record.cells import disarmed
from auscult.record.schema import is_sound
from auscult.types import DIFFICULTY_AXES, PERFORMANCE

COLUMNS = (
    *("id", "action", "defect", "iou", "iou_low", "iou_high", "novelty"),
    *("text", "frame", "mask", "reading", "rationale", "judge"),
)
OPTIONAL_COLUMNS = (
    *("missing_share", "extra_share", "prob_iou_80", "prob_iou_50", "model_score", "joint_wrong", "joint_same"),
)
"""Columns that follow where a row has them: from judges with an error map (the map itself stays in the record), from
judges with probabilities, the model's own score where INPUT has it, and what mask and separated sound come to."""
SOUND_COLUMNS = (
    *("id", "action", *(f"{axis}{end}" for axis in reversed(PERFORMANCE) for end in ("", "_low", "_high"))),
    *("novelty", "domain", *(f"difficulty_{axis}" for axis in DIFFICULTY_AXES)),
    *("text", "mixture", "separated", "video", "cluster", "family", "system", "duration_s"),
    *("checked_text", "checked_spans", "checked_picture", "unknown", "notes", "rationale", "judge"),
)
"""Columns of separated sounds: the others where there is no mask, behind ``COLUMNS`` where there are both."""


def verdicts_csv(rows: Iterable[JsonRow]) -> str:
    """``verdicts_lines`` as one text."""
    return "".join(verdicts_lines(list(rows)))


def verdicts_lines(rows: Sequence[JsonRow]) -> Iterator[str]:
    r"""Write rows of a record as CSV, one line each, safe to open in a spreadsheet.

    Texts are ``disarmed``: no program takes one for a formula. Missing values and empty texts are empty cells; keys
    that are neither in ``COLUMNS`` nor in ``OPTIONAL_COLUMNS`` are left out. Lines end in ``\r\n`` (RFC 4180).
    """
    sounds, held = sum(map(is_sound, rows)), set[str]()
    for row in map(_flat, rows):
        held.update(name for name in OPTIONAL_COLUMNS if row.get(name) is not None)
    columns: tuple[str, ...] = COLUMNS if sounds < len(rows) or not rows else ()
    columns += tuple(name for name in OPTIONAL_COLUMNS if name in held)
    columns += tuple(name for name in SOUND_COLUMNS if sounds and name not in columns)
    for cells in chain((columns,), ([_cell(row.get(column)) for column in columns] for row in map(_flat, rows))):
        line = io.StringIO(newline="")
        csv.writer(line, lineterminator="\r\n").writerow(cells)
        yield line.getvalue()


def _flat(row: JsonRow) -> dict[str, Any]:
    """A row with its nested values under names of their own."""
    flat = {**row, **{f"joint_{key}": value for key, value in (row.get("joint") or {}).items()}}
    if is_sound(row):
        flat |= {f"difficulty_{axis}": value for axis, value in row["difficulty"].items()}
        flat |= {f"checked_{prompt}": str(value).lower() for prompt, value in row["evidence"].items()}
        flat |= {"unknown": " ".join(row["evidence"].get("unknown", ())), "notes": "; ".join(row.get("notes") or ())}
    return flat


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return repr(float(value))
    return disarmed(str(value))
