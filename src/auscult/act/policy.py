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

Before the groups, a policy may have ``good``: a mask whose judge says with what probability its IoU is .8 or more is
accepted where that reaches the threshold (``default``: .62), whatever its defect but ``merge`` and ``full_neg``. Where
it does not, the groups decide, and a mask of the group ``perfect`` is not accepted by its IoU after all.

One rule is no policy's to change: an empty mask is right when the target is known to be absent (accept), and wrong
otherwise (reject). A mask that is not empty on an absent target counts as ``full_neg``.
"""

from __future__ import annotations

import math
from dataclasses import replace

from auscult.act.policy_file import load_policy
from auscult.act.thresholds import GROUP_OF, Good, Group, Policy, Threshold
from auscult.types import Action, Defect, Existence, Verdict

__all__ = ["DEFAULT", "RELEASE", "Good", "Policy", "Threshold", "action_of", "decide", "load_policy", "with_note"]

DEFAULT = load_policy("default")
RELEASE = load_policy("release")

DECIMALS = 6
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
        prob_iou_80=verdict.prob_iou_80,
    )
    return replace(verdict, action=action, rationale=with_note(verdict.rationale, note))


def action_of(
    policy: Policy,
    *,
    defect: Defect,
    iou: float | None,
    target_exists: Existence = "unchecked",
    identity: bool = False,
    prob_iou_80: float | None = None,
) -> tuple[Action, str]:
    """What a policy does about one estimate.

    Args:
        policy: The policy.
        defect: The judge's defect.
        iou: Its estimate, 0..1, taken to the six decimals that a record keeps, so that a later decision on the record
            is the same; None or NaN where it has none, which is rejected unless the probability accepts it.
        target_exists: Whether the target is there at all.
        identity: Whether the judge checked that this is the object asked for.
        prob_iou_80: The judge's probability that the IoU is .8 or more, 0..1, taken to six decimals as well; None or
            NaN where it gives none.

    Returns:
        The action, and a sentence on what was not checked (empty for none).
    """
    if defect == "empty":
        if target_exists == "no":
            return "accept", ""
        return "reject", UNCHECKED_EMPTY if target_exists == "unchecked" else ""
    group = "full_neg" if target_exists == "no" else GROUP_OF[defect]
    good = _good(policy, group, prob_iou_80)
    action, note = _by_iou(policy, group, iou)
    if good:
        action, note = "accept", ""
    elif good is False and group == "perfect" and action == "accept":
        action = "minor_revision"
    if action == "accept" and policy.require_identity and not identity:
        return "minor_revision", UNCHECKED_IDENTITY
    return action, note


def _good(policy: Policy, group: Group, probability: float | None) -> bool | None:
    """Whether a mask is accepted by its probability; None where the policy or the judge leaves that to the groups."""
    other = group in {"full_neg", "merge"}  # it holds another thing, however well it is drawn
    if policy.good is None or other or probability is None or math.isnan(probability):
        return None
    return policy.good.reached(round(probability, DECIMALS))


def _by_iou(policy: Policy, group: Group, iou: float | None) -> tuple[Action, str]:
    """What a group's thresholds say of an estimated IoU, and a sentence where there is none."""
    thresholds = policy.thresholds(group)
    if iou is None or math.isnan(iou):
        return "reject", NO_ESTIMATE if thresholds else ""
    kept = round(iou, DECIMALS)
    return next((threshold.action for threshold in thresholds if threshold.reached(kept)), "reject"), ""


def with_note(rationale: str, note: str) -> str:
    """A rationale with the note of this decision in place of an earlier one's."""
    for known in _NOTES:
        if rationale.endswith(known):
            rationale = rationale.removesuffix(known).rstrip()
    return f"{rationale} {note}".lstrip() if note else rationale
