"""Pick verdicts, and decide again by another policy, from what is on record: nothing is judged.

A row is a line of ``verdicts.jsonl``, of a mask or a separated sound: the verdict's keys, and further ones of the item.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from auscult.act.export.masks import JsonRow
from auscult.act.policy import Policy, decide
from auscult.act.sound_policy import SoundPolicy, decide_sound
from auscult.errors import UsageError
from auscult.record.schema import is_sound, sound_verdict_from_json, verdict_from_json
from auscult.types import DECISIONS, DEFECTS


def select(
    rows: Iterable[JsonRow],
    *,
    actions: Collection[str],
    defects: Collection[str] | None = None,
    min_iou: float | None = None,
    min_overall: float | None = None,
) -> list[JsonRow]:
    """Pick rows in their order; one without an action, or without what another option asks for, never is.

    So no separated sound has a defect or an IoU, and no mask has an overall score.
    """
    _check_names(actions, DECISIONS, "action")
    _check_names(defects or (), (*DEFECTS, "empty"), "defect")
    if min_iou is not None and not 0.0 <= min_iou <= 1.0:
        raise UsageError(f"the least IoU is {min_iou:g}", expected="a number from 0 to 1")
    if min_overall is not None and not 1.0 <= min_overall <= 5.0:
        raise UsageError(f"the least overall score is {min_overall:g}", expected="a number from 1 to 5")
    return [
        row
        for row in rows
        if row.get("action") in actions
        and (defects is None or row.get("defect") in defects)
        and all(
            least is None or (row.get(key) is not None and row[key] >= least)
            for key, least in (("iou", min_iou), ("overall", min_overall))
        )
    ]


def redecide(
    rows: Iterable[JsonRow], policy: Policy | None, *, sound: SoundPolicy | None = None
) -> list[dict[str, Any]]:
    """Decide again on rows of a record, on masks by one policy and on sounds by the other; None leaves them.

    Every other key stays as it is.
    """
    return [{**row, **_decided(row, policy, sound)} for row in rows]


def _decided(row: JsonRow, policy: Policy | None, sound: SoundPolicy | None) -> dict[str, Any]:
    """What changes in a row."""
    if is_sound(row):
        return {} if sound is None else {"action": decide_sound(sound_verdict_from_json(row), sound).action}
    if policy is None:
        return {}
    verdict = decide(verdict_from_json({**row, "error_map": None}), policy)
    return {"action": verdict.action, "rationale": verdict.rationale}


def _check_names(names: Collection[str], allowed: Sequence[str], kind: str) -> None:
    for name in names:
        if name not in allowed:
            raise UsageError(f"there is no {kind} {name!r}", expected=f"some of: {', '.join(allowed)}")
