"""From the verdicts of a clip's frames to one verdict of the clip.

The estimated IoU is the mean over the frames (MQA-RefAVS Eq. 12). So is each end of its interval: as wide as if the
judge erred alike in all frames, since frames of one clip are much alike and their errors do not average out. The defect
is the one with the highest mean probability; a clip of which more than half of the frames are empty is ``empty``, and
one whose other frames could mostly not be judged has none and is ``unjudged``.

A frame on which nothing is segmented has no estimate. Where it is known that the target is there, its IoU is 0, and 1
where it is known that it is not. Where neither is known it is left out of the mean and has the interval 0 to 1.

The action is the policy's for the clip's defect and IoU, and for the mean over the frames of the probability that a
frame's IoU is .8 or more, where the judge gives it for each. One rule is added: a clip is accepted only where none of
its frames is rejected, none failed and none is unjudged, since accepting it accepts each of its masks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from auscult.act.policy import Policy, action_of
from auscult.arrays.averages import group_means
from auscult.outcome import Signature
from auscult.types import DEFECTS, Decision, Defect, Existence, Verdict

HELD_BACK = "Not accepted as a whole: of its frames {rejected} are rejected and {failed} failed or were not judged."


@dataclass(frozen=True, slots=True, kw_only=True)
class ClipVerdict:
    """What the verdicts of the frames come to."""

    iou: float | None  # mean estimated IoU, 0..1; None where no frame has one
    iou_low: float | None  # mean of the lower ends of the frames' 90 % intervals; None where no frame has one
    iou_high: float | None
    defect: Defect | None
    defect_probs: Mapping[str, float]  # mean probabilities of the six defects; empty where no frame has any
    action: Decision
    note: str  # why the action is not the policy's alone; empty where it is
    actions: Mapping[str, int]  # frames by action
    empty: int  # frames on which nothing is segmented
    signature: Signature


def clip_verdict(verdicts: Sequence[Verdict], policy: Policy, *, failed: int = 0) -> ClipVerdict:
    """Aggregate the verdicts of a track; ``failed`` more frames should have one and have none (MQA-RefAVS Eq. 12)."""
    if not verdicts:
        raise ValueError("a clip needs the verdict of at least one frame")
    rows = [row for row in map(_estimate, verdicts) if row is not None]
    ious = [value for value, _, _ in rows if value is not None]
    defect, probs = _defect(verdicts)
    iou = _mean(ious)
    action, note = action_of(
        policy,
        defect=defect,
        iou=iou,
        target_exists=_exists(verdicts),
        identity=all(verdict.evidence.identity for verdict in verdicts),
        prob_iou_80=_probability(verdicts),
    )
    actions = Counter(verdict.action for verdict in verdicts if verdict.action is not None)
    missing = failed + actions["unjudged"]
    if action == "accept" and (actions["reject"] or missing):
        action, note = "minor_revision", HELD_BACK.format(rejected=actions["reject"], failed=missing)
    return ClipVerdict(
        iou=iou,
        iou_low=_mean([low for _, low, _ in rows]),
        iou_high=_mean([high for _, _, high in rows]),
        defect=defect,
        defect_probs=probs,
        action=action,
        note=note,
        actions={str(name): count for name, count in actions.items()},
        empty=sum(verdict.defect == "empty" for verdict in verdicts),
        signature=Signature.of(metric="mean estimated IoU", over="frames", frames=len(ious), judge=verdicts[0].judge),
    )


def _estimate(verdict: Verdict) -> tuple[float | None, float, float] | None:
    """IoU with the ends of its interval; None where the judge gave no estimate and the mask is not empty."""
    if verdict.defect == "empty":
        if verdict.target_exists == "unchecked":
            return None, 0.0, 1.0
        value = 1.0 if verdict.target_exists == "no" else 0.0
        return value, value, value
    if verdict.iou is None:
        return None
    low = verdict.iou if verdict.iou_low is None else verdict.iou_low
    high = verdict.iou if verdict.iou_high is None else verdict.iou_high
    return verdict.iou, low, high


def _probability(verdicts: Sequence[Verdict]) -> float | None:
    """Mean probability of an IoU of .8 or more; None where a frame with a mask has none.

    An empty frame counts with its known IoU (0 or 1); where existence is unchecked it is left out, as is a frame that
    was not judged.
    """
    probabilities: list[float] = []
    for verdict in verdicts:
        if verdict.defect is None:
            continue
        if verdict.defect != "empty":
            if verdict.prob_iou_80 is None:
                return None
            probabilities.append(verdict.prob_iou_80)
        elif verdict.target_exists != "unchecked":
            probabilities.append(float(verdict.target_exists == "no"))
    return _mean(probabilities)


def _mean(values: Sequence[float]) -> float | None:
    means = group_means(values, [0] * len(values))[1]
    return float(means[0]) if means.size else None


def _defect(verdicts: Sequence[Verdict]) -> tuple[Defect | None, dict[str, float]]:
    masks = [verdict for verdict in verdicts if verdict.defect != "empty"]
    sums: dict[str, float] = {name: sum(verdict.defect_probs.get(name, 0.0) for verdict in masks) for name in DEFECTS}
    total = sum(sums.values())
    probs = {name: value / total for name, value in sums.items()} if total > 0 else {}
    if 2 * len(masks) < len(verdicts):
        return "empty", probs
    judged = sum(verdict.defect is not None for verdict in masks)
    if 2 * judged < len(masks):
        return None, probs
    if not probs:
        return Counter(verdict.defect for verdict in masks).most_common(1)[0][0], {}
    return max(DEFECTS, key=lambda name: sums[name]), probs


def _exists(verdicts: Sequence[Verdict]) -> Existence:
    answers = {verdict.target_exists for verdict in verdicts}
    return "yes" if "yes" in answers else "no" if answers == {"no"} else "unchecked"
