"""A policy turns a verdict into an action: one small file of thresholds, applied again at any time without judging.

Defects fall into four groups. In each, the most lenient action whose threshold the estimated IoU reaches is taken, and
``reject`` where it reaches none:

============  =======================  ==========================================================
group         defects                  ``default``
============  =======================  ==========================================================
``perfect``   perfect                  accept from .95, else minor revision
``shape``     cutout, dilate, erode    minor revision from .825, major revision from .75
``merge``     merge                    minor revision from .90, major revision from .75
``full_neg``  full_neg                 reject
============  =======================  ==========================================================

One rule is no policy's to change: an empty mask is right when the target is known to be absent (accept), and wrong
otherwise (reject). A mask that is not empty on an absent target counts as ``full_neg``.
"""

from __future__ import annotations

import math
from dataclasses import replace

from auscult.act.policy_file import load_policy
from auscult.act.thresholds import GROUP_OF, Policy, Threshold
from auscult.types import Action, Defect, Existence, Verdict

__all__ = ["DEFAULT", "RELEASE", "Policy", "Threshold", "action_of", "decide", "load_policy", "with_note"]

DEFAULT = load_policy("default")
RELEASE = load_policy("release")

IOU_DECIMALS = 6
UNCHECKED_EMPTY = "Rejected although the target may be absent: whether it is there was not checked."
UNCHECKED_IDENTITY = "Not accepted as it is: that this is the object asked for was not checked."
NO_ESTIMATE = "Rejected because the judge gave no estimate of the IoU."
_NOTES = (UNCHECKED_EMPTY, UNCHECKED_IDENTITY, NO_ESTIMATE)


def decide(verdict: Verdict, policy: Policy = DEFAULT) -> Verdict:
    """Set a verdict's action.

    Deciding again, by the same or another policy, starts from what the judge said: the action is replaced, and a note
    that an earlier decision added to the rationale is taken back.

    Args:
        verdict: What the judge said.
        policy: What to do about it.

    Returns:
        The same verdict with its action, and with a note in its rationale where something unchecked decided.
    """
    action, note = action_of(
        policy,
        defect=verdict.defect,
        iou=verdict.iou,
        target_exists=verdict.target_exists,
        identity=verdict.evidence.identity,
    )
    return replace(verdict, action=action, rationale=with_note(verdict.rationale, note))


def action_of(
    policy: Policy, *, defect: Defect, iou: float | None, target_exists: Existence = "unchecked", identity: bool = False
) -> tuple[Action, str]:
    """What a policy does about one estimate.

    Args:
        policy: The policy.
        defect: The judge's defect.
        iou: Its estimate, 0..1, taken to the six decimals that a record keeps, so that a later decision on the record
            is the same; None or NaN where it has none, which is rejected.
        target_exists: Whether the target is there at all.
        identity: Whether the judge checked that this is the object asked for.

    Returns:
        The action, and a sentence on what was not checked (empty for none).
    """
    if defect == "empty":
        if target_exists == "no":
            return "accept", ""
        return "reject", UNCHECKED_EMPTY if target_exists == "unchecked" else ""
    group = "full_neg" if target_exists == "no" else GROUP_OF[defect]
    thresholds = policy.thresholds(group)
    if iou is None or math.isnan(iou):
        return "reject", NO_ESTIMATE if thresholds else ""
    kept = round(iou, IOU_DECIMALS)
    action: Action = next((threshold.action for threshold in thresholds if threshold.reached(kept)), "reject")
    if action == "accept" and policy.require_identity and not identity:
        return "minor_revision", UNCHECKED_IDENTITY
    return action, ""


def with_note(rationale: str, note: str) -> str:
    """A rationale with the note of this decision in place of an earlier one's."""
    for known in _NOTES:
        if rationale.endswith(known):
            rationale = rationale.removesuffix(known).rstrip()
    return f"{rationale} {note}".lstrip() if note else rationale
