"""A judge's verdict and an identity check's finding, joined into one verdict.

A judge of masks looks at outline and colours. It can tell a mask on no object at all (its ``full_neg``, probability f
here), and cannot tell a mask on the object asked for (T) from one as good on another object (O). The check can: its
``match`` m is the probability of T where right and wrong masks are equally frequent. So before the check T and O have
(1 - f) / 2 each and no object has f. The check answers to a mask on no object as to one on another object, hence the
likelihoods m, 1 - m, 1 - m, and by Bayes' rule::

    F = P(O or no object) = (1 - m) (1 + f) / (1 + f - 2 f m)

F is 1 - m where the judge has no doubt (f = 0), 0 for m = 1, 1 for m = 0, and falls with m and rises with f everywhere.

**Merge.** ``kept`` k, the share of the mask on the object asked for, multiplies the odds of ``merge`` against the other
defects by (1 - k) / k, scaled to 1 at ``KEPT_EVEN`` and held within ``KEPT_FACTOR``. A merge that holds all of the
object has IoU k, since |M ∩ T| / |M ∪ T| = |M ∩ T| / |M|; so with probability g of merge the estimate becomes
(1 - g) iou + g k.

**IoU.** Off the object it is 0. The judge's own estimate holds that with probability f already, so the mass at 0 that
it does not hold yet is e = max(0, (F - f) / (1 - f)), and it is scaled by 1 - e. That a mask is on the right object
never raises the estimate: it says nothing about its outline.

**Interval.** The ends are the 5 % and 95 % quantiles of that mixture, where the judge's distribution is drawn as
straight lines through (0, 0), (low, 5 %) and (high, 95 %). From e = 5 % on the lower end is 0. A merge of 5 % or more
stretches the interval to k. The interval always holds the estimate.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from auscult.types import DEFECTS, Defect, Identity, Verdict

NEVER: Final = 0.05
"""Most that ``match`` counts for where the check says that the object is not in the frame at all."""

KEPT_EVEN: Final = 0.85
"""``kept`` that speaks neither for nor against a merge. Chosen, not measured: outlines that are a little off keep as
much, and a merge with a neighbour of a fifth of the object's size keeps less."""

KEPT_FACTOR: Final = (0.05, 20.0)
"""Least and most that ``kept`` multiplies the odds of a merge by."""

TAIL: Final = 0.05
"""What lies beyond each end of a 90 % interval."""

UNCHECKED: Final = "Identity not checked"
_EXISTENCE_UNCHECKED: Final = "; whether the target is in the frame was not checked."
_EARLIER_ENDINGS: Final = (
    "; whether it is the right object was not checked.",
    "; identity not checked.",
    "; identity was not checked.",
)


@dataclass(frozen=True, slots=True)
class _Range:
    """An estimate of the IoU with its 90 % interval, each 0..1."""

    iou: float
    low: float
    high: float


def combined(verdict: Verdict, identity: Identity, *, check: str) -> Verdict:
    """Join a verdict without an action with what an identity check, by its full name, found.

    More ``match`` never lowers the estimate or an end of its interval, nor raises the probability of ``full_neg``. For
    an empty mask only existence, words and evidence change. Where ``match`` or ``kept`` is not finite, the
    verdict is unchanged, but says that identity was not checked.
    """
    if not all(math.isfinite(value) for value in (identity.match, identity.kept) if value is not None):
        return unchecked(verdict, f"{check} gave no number")
    evidence = replace(verdict.evidence, identity=True, sound=verdict.evidence.sound or identity.sound)
    exists = identity.exists if identity.exists != "unchecked" else verdict.target_exists
    rationale = verdict.rationale
    if exists != "unchecked" and rationale.endswith(_EXISTENCE_UNCHECKED):
        rationale = rationale.removesuffix(_EXISTENCE_UNCHECKED) + "."
    joined = replace(
        verdict,
        evidence=evidence,
        target_exists=exists,
        target=identity.target or verdict.target,
        rationale=_with(rationale, _found(identity, check)),
    )
    if not verdict.defect_probs:
        return joined
    match = _bounded(identity.match)
    if exists == "no":
        match = min(match, NEVER)
    kept = None if identity.kept is None else _bounded(identity.kept)
    before = {name: float(verdict.defect_probs.get(name, 0.0)) for name in DEFECTS}
    among = _with_kept(before, kept)
    wrong = off_object(before["full_neg"], match)
    probs: dict[str, float] = {name: (1.0 - wrong) * share for name, share in among.items()}
    probs["full_neg"] = wrong
    defect = max(DEFECTS, key=lambda name: probs[name])
    instead = identity.distractor if defect in {"full_neg", "merge"} else None
    joined = replace(joined, defect=defect, defect_probs=probs, distractor=instead or verdict.distractor)
    if verdict.iou is None or verdict.iou_low is None or verdict.iou_high is None:
        return joined
    estimate = _stretched(_Range(verdict.iou, verdict.iou_low, verdict.iou_high), among.get("merge", 0.0), kept)
    mixed = _mixed(estimate, before["full_neg"], wrong)
    left = 1.0 - _added(before["full_neg"], wrong)
    good, fair = (
        None if chance is None else left * _chance(chance, level, merge=among.get("merge", 0.0), kept=kept)
        for chance, level in ((verdict.prob_iou_80, 0.8), (verdict.prob_iou_50, 0.5))
    )
    return replace(joined, iou=mixed.iou, iou_low=mixed.low, iou_high=mixed.high, prob_iou_80=good, prob_iou_50=fair)


def unchecked(verdict: Verdict, why: str = "") -> Verdict:
    """Say that identity was not checked, and why if there is a reason; again it changes nothing but the reason."""
    reason = why.strip().rstrip(".")
    note = f"{UNCHECKED}: {reason}." if reason else f"{UNCHECKED}."
    evidence = replace(verdict.evidence, identity=False)
    return replace(verdict, evidence=evidence, rationale=_with(verdict.rationale, note))


def off_object(before: float, match: float) -> float:
    """Probability that a mask is not on the object asked for: falls with ``match``, rises with ``before``, all 0..1.

    ``before`` is the judge's that it lies on no object, ``match`` the check's that it lies on the one asked for.
    It is 1 where a judge is certain that there is no object.
    """
    if before >= 1.0:
        return 1.0
    return _bounded((1.0 - match) * (1.0 + before) / (1.0 + before - 2.0 * before * match))


def _with_kept(before: Mapping[Defect, float], kept: float | None) -> dict[Defect, float]:
    """Shares of the defects but ``full_neg`` that a mask on the object has, summing to 1."""
    weights = {name: share for name, share in before.items() if name != "full_neg"}
    if kept is not None:
        least, most = KEPT_FACTOR
        odds = (1.0 - kept) / kept * KEPT_EVEN / (1.0 - KEPT_EVEN) if kept > 0.0 else math.inf
        weights["merge"] *= min(most, max(least, odds))
    total = sum(weights.values())
    if total <= 0.0:  # the judge named full_neg alone: nothing tells the others apart
        return dict.fromkeys(weights, 1.0 / len(weights))
    return {name: share / total for name, share in weights.items()}


def _stretched(estimate: _Range, merge: float, kept: float | None) -> _Range:
    """The judge's range, where a part of the mask is known to lie elsewhere."""
    if kept is None:
        return estimate
    iou = (1.0 - merge) * estimate.iou + merge * kept
    reaches = (kept, iou) if merge >= TAIL else (iou,)
    return _Range(iou, min(estimate.low, *reaches), max(estimate.high, *reaches))


def _mixed(estimate: _Range, before: float, wrong: float) -> _Range:
    """The judge's range with a mass at IoU 0 added; see the module's text."""
    added = _added(before, wrong)
    iou = estimate.iou * (1.0 - added)
    if added >= 1.0:
        return _Range(0.0, 0.0, 0.0)
    low = _quantile(estimate, (TAIL - added) / (1.0 - added))
    high = _quantile(estimate, (1.0 - TAIL - added) / (1.0 - added))
    return _Range(iou, min(low, iou), max(high, iou))


def _added(before: float, wrong: float) -> float:
    """The mass at IoU 0 that a check adds to what the judge said."""
    return 1.0 if before >= 1.0 else max(0.0, (wrong - before) / (1.0 - before))


def _chance(estimate: float, level: float, *, merge: float, kept: float | None) -> float:
    """The probability that the IoU is at least ``level``, where a merge keeps a share of the mask that is known."""
    if kept is None:
        return estimate
    return (1.0 - merge) * estimate + merge * float(kept >= level)


def _quantile(estimate: _Range, share: float) -> float:
    """IoU below which a share lies, of a distribution that is straight from 0 to the lower end and on to the upper."""
    if share <= 0.0:
        return 0.0
    if share <= TAIL:
        return estimate.low * share / TAIL
    return estimate.low + (estimate.high - estimate.low) * min(1.0, (share - TAIL) / (1.0 - 2.0 * TAIL))


def _bounded(value: float) -> float:
    """The nearest number within 0..1."""
    return min(1.0, max(0.0, value))


def _found(identity: Identity, check: str) -> str:
    note = " ".join(identity.note.split()).rstrip(".") or f"it matches with probability {identity.match:.2f}"
    return f"Identity, by {check}: {note}."


def _with(rationale: str, note: str) -> str:
    """A rationale with one sentence on identity, in place of an earlier one."""
    text = rationale.strip()
    for ending in _EARLIER_ENDINGS:
        if text.endswith(ending):
            text = text.removesuffix(ending) + "."
    start = text.find(f"{UNCHECKED}.")
    start = text.find(f"{UNCHECKED}:") if start < 0 else start
    text = text[:start].rstrip() if start >= 0 else text
    return f"{text} {note}".lstrip()
