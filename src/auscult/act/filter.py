"""Pick verdicts, and decide again by another policy, from what is on record: nothing is judged.

A row is a line of ``verdicts.jsonl``: the verdict's keys, and whatever else the record says of the item.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, TypeVar, cast, get_args

from auscult.act.export import JsonRow
from auscult.act.policy import Policy, action_of, with_note
from auscult.errors import UsageError
from auscult.types import ACTIONS, DEFECTS, Defect, Existence, Verdict

R = TypeVar("R", Verdict, JsonRow)

_DEFECTS = (*DEFECTS, "empty")


def select(
    verdicts: Iterable[R],
    *,
    actions: Collection[str],
    defects: Collection[str] | None = None,
    min_iou: float | None = None,
) -> list[R]:
    """Pick verdicts in their order; one without an action, or without the estimate that ``min_iou`` needs, never is."""
    _known(actions, ACTIONS, "action")
    _known(defects or (), _DEFECTS, "defect")
    if min_iou is not None and not 0.0 <= min_iou <= 1.0:
        raise UsageError(f"the least IoU is {min_iou:g}", expected="a number from 0 to 1")
    return [
        verdict
        for verdict in verdicts
        if _value(verdict, "action") in actions
        and (defects is None or _value(verdict, "defect") in defects)
        and (min_iou is None or _reaches(_value(verdict, "iou"), min_iou))
    ]


def redecide(rows: Iterable[JsonRow], policy: Policy) -> list[dict[str, Any]]:
    """Decide again on rows of a record; every other key stays as it is."""
    return [_redecided(row, policy) for row in rows]


def _redecided(row: JsonRow, policy: Policy) -> dict[str, Any]:
    defect, iou, exists = row.get("defect"), row.get("iou"), row.get("target_exists", "unchecked")
    probability = row.get("prob_iou_80")
    if defect not in _DEFECTS or exists not in get_args(Existence) or not (_number(iou) and _number(probability)):
        raise UsageError(
            f"the row of {str(row.get('id'))[:80]!r} is no verdict",
            expected="the keys defect, iou, prob_iou_80 and target_exists of a line of verdicts.jsonl",
        )
    evidence = row.get("evidence")
    action, note = action_of(
        policy,
        defect=cast("Defect", defect),
        iou=iou,
        target_exists=cast("Existence", exists),
        identity=isinstance(evidence, Mapping) and evidence.get("identity") is True,
        prob_iou_80=probability,
    )
    return {**row, "action": action, "rationale": with_note(str(row.get("rationale") or ""), note)}


def _number(value: object) -> bool:
    """Whether it is a number, or None for none."""
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))


def _value(verdict: Verdict | JsonRow, key: str) -> Any:
    return getattr(verdict, key) if isinstance(verdict, Verdict) else verdict.get(key)


def _reaches(iou: object, least: float) -> bool:
    return isinstance(iou, int | float) and iou >= least


def _known(names: Collection[str], allowed: Sequence[str], what: str) -> None:
    for name in names:
        if name not in allowed:
            raise UsageError(f"there is no {what} {name!r}", expected=f"some of: {', '.join(allowed)}")
