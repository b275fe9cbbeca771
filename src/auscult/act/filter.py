"""Pick verdicts, and decide again by another policy, from what is on record: nothing is judged.

A row is a line of ``verdicts.jsonl``: the verdict's keys, and further keys of the item.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from auscult.act.export.masks import JsonRow
from auscult.act.policy import Policy, decide
from auscult.errors import UsageError
from auscult.record.schema import verdict_from_json
from auscult.types import DECISIONS, DEFECTS


def select(
    rows: Iterable[JsonRow],
    *,
    actions: Collection[str],
    defects: Collection[str] | None = None,
    min_iou: float | None = None,
) -> list[JsonRow]:
    """Pick rows in their order; one without an action, or without the estimate that ``min_iou`` needs, never is."""
    _known(actions, DECISIONS, "action")
    _known(defects or (), (*DEFECTS, "empty"), "defect")
    if min_iou is not None and not 0.0 <= min_iou <= 1.0:
        raise UsageError(f"the least IoU is {min_iou:g}", expected="a number from 0 to 1")
    return [
        row
        for row in rows
        if row.get("action") in actions
        and (defects is None or row.get("defect") in defects)
        and (min_iou is None or (row.get("iou") is not None and row["iou"] >= min_iou))
    ]


def redecide(rows: Iterable[JsonRow], policy: Policy) -> list[dict[str, Any]]:
    """Decide again on rows of a record; every other key stays as it is."""
    verdicts = ((row, decide(verdict_from_json({**row, "error_map": None}), policy)) for row in rows)
    return [{**row, "action": verdict.action, "rationale": verdict.rationale} for row, verdict in verdicts]


def _known(names: Collection[str], allowed: Sequence[str], what: str) -> None:
    for name in names:
        if name not in allowed:
            raise UsageError(f"there is no {what} {name!r}", expected=f"some of: {', '.join(allowed)}")
