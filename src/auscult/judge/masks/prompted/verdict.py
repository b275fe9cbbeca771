"""Verdicts from what the networks gave: estimate, interval, probabilities, novelty, error map, one sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import cv2
import numpy as np
from numpy.typing import NDArray

from auscult.arrays.error_map import error_map_of
from auscult.judge.masks.compact.network import likeliest, novelty_of
from auscult.judge.masks.compact.verdict import in_frame, noted, places_of, rationale_of, sight_of
from auscult.judge.masks.compact.view import Outline, outline_of
from auscult.judge.masks.prompted import calibration as numbers
from auscult.judge.masks.prompted.calibration import Calibration
from auscult.judge.masks.prompted.network import Classifier, Member, run
from auscult.judge.masks.prompted.view import View, inputs, looks
from auscult.judge.masks.shared import BLIND, NOTHING_SEEN, softmax, unjudged
from auscult.types import DEFECTS, Case, Defect, Doubles, Evidence, Floats, Mask, Verdict

if TYPE_CHECKING:
    from auscult.judge.masks.prompted.network import Evidence as Segmenter

MAP_SIDE: Final = 64
MIXED_FROM: Final = 0.3
"""Two defects that are both at least this likely are reported as mixed."""
_MOST: Final = 4  # more at once leave the processor's cache, and take memory


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Estimates:
    """The estimates of n masks, each (n,) but for ``types`` (n, 6)."""

    iou: Doubles  # estimated IoU if it is the right object, 0..1
    low: Doubles  # lower end of the 90 % interval
    high: Doubles  # upper end
    good: Doubles  # probability that the IoU is at least .8
    fair: Doubles  # the same for .5
    types: Doubles  # probabilities of the six types
    novelty: Doubles  # 0 (like the calibration data) to 1


def estimates_of(
    ious: Floats,
    types: Floats,
    classifier_log_probs: Doubles,
    *,
    features: Floats,
    size: Doubles,
    calibration: Calibration,
) -> Estimates:
    """The numbers of n verdicts.

    ``ious`` and ``types`` are logits of each network, (n, members, 25) and (n, members, 6); ``classifier_log_probs``
    log shares of the types, (n, 6); ``features`` (n, members, 64); ``size`` the log share of the frame, (n,).
    """
    bent = numbers.histograms(ious, features, size=size, calibration=calibration)
    novelty = novelty_from(ious, features, bent=bent, calibration=calibration)
    bent = numbers.mixed(bent, novelty, calibration)
    low, high = numbers.interval_of(bent, calibration.tails)
    return Estimates(
        iou=numbers.mean_iou(bent),
        low=low,
        high=high,
        good=numbers.share_from(bent, numbers.GOOD),
        fair=numbers.share_from(bent, numbers.BAD),
        types=numbers.types_of(numbers.log_shares(list(types.transpose(1, 0, 2))), classifier_log_probs, calibration),
        novelty=novelty,
    )


def novelty_from(ious: Floats, features: Floats, *, bent: Doubles, calibration: Calibration) -> Doubles:
    """Novelty, (n,): the larger of how far the features are from the calibration's and how wide the histogram is.

    The width is that of the calibrated histogram, since the networks' own says little of how far off the estimate is;
    but where that is far wider than if they knew nothing, they contradict one another and the novelty is 1.
    """
    distance = novelty_of(features[:, 0], calibration.known)
    width = np.interp(numbers.spread_of(bent), calibration.spread, (0.0, 0.5, 1.0))
    disagree = numbers.spread_of(softmax(ious).mean(axis=1)) > numbers.DISAGREEMENT
    return np.where(disagree, 1.0, np.maximum(distance, width))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class JudgeParts:
    """The files of a judge, opened."""

    name: str  # of the judge
    members: Sequence[Member]
    classifier: Classifier
    calibration: Calibration
    evidence: Segmenter | None  # another segmenter, whose answers count instead of the networks' own


def verdicts_of(cases: Sequence[Case], masks: Sequence[Mask], parts: JudgeParts) -> list[Verdict]:
    """Make verdicts of candidates, bool (H, W), none empty, at most 4 through the networks at once."""
    batches = [slice(begin, begin + _MOST) for begin in range(0, len(cases), _MOST)]
    return [verdict for batch in batches for verdict in _batch(cases[batch], masks[batch], parts)]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Seen:
    """A candidate with what the networks look at: a view through each lens, and its outline."""

    case: Case
    mask: Mask
    views: tuple[View, ...]
    outline: Outline


def _batch(cases: Sequence[Case], masks: Sequence[Mask], parts: JudgeParts) -> list[Verdict]:
    lenses = tuple(member.lens for member in parts.members)
    verdicts: list[Verdict | None] = []
    seen: list[_Seen] = []
    for case, mask in zip(cases, masks, strict=True):
        outline = outline_of(case.frame, mask)
        views = looks(case.frame, mask, lenses, outline=outline)
        sight = sight_of(mask, four_channels(views[0]), views[0].box)
        verdicts.append(unjudged(case.id, parts.name, NOTHING_SEEN[sight]) if sight in BLIND else None)
        if sight not in BLIND:
            seen.append(_Seen(case=case, mask=mask, views=views, outline=outline))
    judged = iter(_judged(seen, parts) if seen else ())
    return [verdict or next(judged) for verdict in verdicts]


def _judged(seen: Sequence[_Seen], parts: JudgeParts) -> list[Verdict]:
    """Verdicts of candidates that can be looked at."""
    by_member = [[candidate.views[index] for candidate in seen] for index in range(len(parts.members))]
    answers = None
    if parts.evidence is not None:
        cases, masks = [candidate.case for candidate in seen], [candidate.mask for candidate in seen]
        answers = parts.evidence.answers(cases, masks, by_member)
    outputs = run(parts.members, [inputs(batch) for batch in by_member], answers)
    shapes = np.stack([candidate.views[0].shape for candidate in seen])
    estimates = estimates_of(
        np.stack([output["ious"] for output in outputs], axis=1),
        np.stack([output["types"] for output in outputs], axis=1),
        parts.classifier(np.stack([candidate.outline.cues for candidate in seen]), shapes),
        features=np.stack([output["features"] for output in outputs], axis=1),
        size=shapes[:, 0].astype(np.float64),
        calibration=parts.calibration,
    )
    return [
        _verdict(candidate, answer=outputs[0]["answer"][index, 0], estimates=estimates, index=index, judge=parts.name)
        for index, candidate in enumerate(seen)
    ]


def _verdict(candidate: _Seen, *, answer: Floats, estimates: Estimates, index: int, judge: str) -> Verdict:
    view, size = candidate.views[0], (candidate.mask.shape[0], candidate.mask.shape[1])
    signed, inside = differences(answer, view, size)
    probs: dict[str, float] = {
        str(name): float(value) for name, value in zip(DEFECTS, estimates.types[index], strict=True)
    }
    defect = likeliest(probs)
    low, high, novelty = (float(column[index]) for column in (estimates.low, estimates.high, estimates.novelty))
    sentence, region = rationale_of(
        places_of(signed, inside, box=view.box, size=size),
        defect=defect,
        probs=probs,
        sight="clear",
        width=high - low,
        novelty=novelty,
    )
    return Verdict(
        id=candidate.case.id,
        iou=float(estimates.iou[index]),
        iou_low=low,
        iou_high=high,
        defect=defect,
        defect_probs=probs,
        evidence=Evidence(shape=True, boundary=True),
        rationale=_named_mixed(sentence, defect, probs),
        judge=judge,
        novelty=novelty,
        region=region,
        error_map=error_map_of(noted(signed), view.box),
        prob_iou_80=float(estimates.good[index]),
        prob_iou_50=float(estimates.fair[index]),
    )


def _named_mixed(sentence: str, defect: Defect, probs: Mapping[str, float]) -> str:
    """Say so where two defects are likely at once."""
    likely = [name for name in DEFECTS if name != "perfect" and probs[name] >= MIXED_FROM]
    if defect == "perfect" or len(likely) < 2:
        return sentence
    return f"Mixed ({' and '.join(likely)}): {sentence[0].lower()}{sentence[1:]}"


def four_channels(view: View) -> NDArray[np.uint8]:
    """A view's crop at the candidate's grid, with the candidate as fourth channel, (4, grid, grid)."""
    grid = len(view.candidate)
    small = [cv2.resize(channel, (grid, grid), interpolation=cv2.INTER_AREA) for channel in view.crop]
    return np.stack([*small, view.candidate]).astype(np.uint8, copy=False)


def differences(answer: Floats, view: View, size: tuple[int, int]) -> tuple[Floats, Floats]:
    """Compare the answer mask, logits (grid, grid) over the crop, with the candidate on the error map's grid.

    Gives signed errors, float32 (64, 64) in [-1, 1], positive where something is missing, 0 outside the frame of
    ``size`` (height, width); and the share of each cell that the candidate covers, float32 (64, 64), 0..1.
    """
    likely = 1.0 / (1.0 + np.exp(-np.clip(answer, -30.0, 30.0)))
    small, inside = (
        np.asarray(cv2.resize(values.astype(np.float32), (MAP_SIDE, MAP_SIDE), interpolation=cv2.INTER_AREA))
        for values in (likely, view.candidate / np.float32(255))
    )
    signed = np.where(in_frame(view.box, size, MAP_SIDE), small - inside, np.float32(0))
    return signed.astype(np.float32), inside.astype(np.float32)
