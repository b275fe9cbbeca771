"""One mask's verdict from what the network gave: estimate, interval, probabilities, novelty, error map, sentence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from auscult.judge.masks.compact.answer import by_defect, likeliest, lowered, named, probabilities
from auscult.judge.masks.compact.calibration import Calibration
from auscult.judge.masks.compact.error_map import differences, map_of
from auscult.judge.masks.compact.interval import interval_of, reach_of, spread_of, widths_of
from auscult.judge.masks.compact.novelty import novelty_of
from auscult.judge.masks.compact.places import places_of
from auscult.judge.masks.compact.sight import BLIND, Sight, sight_of
from auscult.judge.masks.compact.view import View
from auscult.judge.masks.compact.words import say
from auscult.types import DEFECTS, Case, Evidence, Mask, Verdict

_NEVER_ACCEPTED: Final = 0.89  # under every shipped policy's least IoU for accepting

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """What is said of a mask in numbers.

    Attributes:
        iou: Estimated IoU if it is the right object, 0..1.
        low: Lower end of the 90 % interval.
        high: Upper end.
        probs: The six defects' probabilities, summing to 1.
        novelty: 0 (like the calibration data) to 1.
    """

    iou: float
    low: float
    high: float
    probs: Mapping[str, float]
    novelty: float


def verdict_of(
    case: Case, mask: Mask, *, view: View, found: Mapping[str, Floats], calibration: Calibration, judge: str
) -> Verdict:
    """Make a verdict.

    Args:
        case: The frame.
        mask: The candidate, bool (H, W), not empty.
        view: What the network saw.
        found: What it gave, a batch of one.
        calibration: What these numbers mean.
        judge: The judge's name.
    """
    sight = sight_of(mask, view.crop, view.box)
    estimate = estimated(found, calibration, area_px=int(np.count_nonzero(mask)), sight=sight)
    height, width = mask.shape
    signed, inside = differences(found["truth"][0, 0], view, (height, width))
    defect = likeliest(estimate.probs)
    sentence, region = say(
        places_of(signed, inside, box=view.box, size=(height, width)),
        defect=defect,
        probs=estimate.probs,
        sight=sight,
        width=estimate.high - estimate.low,
        novelty=estimate.novelty,
    )
    return Verdict(
        id=case.id,
        iou=estimate.iou,
        iou_low=estimate.low,
        iou_high=estimate.high,
        defect=defect,
        defect_probs=estimate.probs,
        evidence=Evidence(shape=True, boundary=sight not in BLIND),
        rationale=sentence,
        judge=judge,
        novelty=estimate.novelty,
        region=region,
        error_map=None if sight in BLIND else map_of(signed, view.box),
    )


def estimated(found: Mapping[str, Floats], calibration: Calibration, *, area_px: int, sight: Sight) -> Estimate:
    """The numbers of a verdict.

    Below the measured size the estimate is drawn half-way to what masks are like on the whole and the interval takes
    in theirs; where nothing can be seen, only the latter is left. No shipped policy accepts either, and both are novel.
    """
    kinds = named(found["types"], calibration.temperature, calibration.arbitrary)
    probs = by_defect(kinds[0])
    if sight in BLIND:
        return _unseen(probs, calibration, sight)
    shares = lowered(probabilities(found["ious"], calibration.iou_temperature), kinds[:, -1])
    plain = lowered(probabilities(found["ious"], 1.0), kinds[:, -1])
    spread = spread_of(shares, calibration.ends, plain=plain)
    novelty = np.ones(1) if sight == "small" else novelty_of(found["features"], calibration.known)
    reach = reach_of(calibration.reach, area_px, likeliest(probs))
    low, high = interval_of(spread, np.array([reach]), widths_of(novelty, calibration.widening))
    raw = Estimate(
        iou=float(spread.mean[0]), low=float(low[0]), high=float(high[0]), probs=probs, novelty=float(novelty[0])
    )
    return raw if sight == "clear" else _unmeasured(raw, calibration)


def _unmeasured(raw: Estimate, calibration: Calibration) -> Estimate:
    prior, low, high = calibration.prior
    iou = min((raw.iou + prior) / 2, _NEVER_ACCEPTED)
    return Estimate(
        iou=iou, low=min(iou, low, raw.low), high=max(iou, high, raw.high), probs=raw.probs, novelty=raw.novelty
    )


def _unseen(probs: Mapping[str, float], calibration: Calibration, sight: Sight) -> Estimate:
    """No outline to look at: the prior's IoU; of the kinds, what the shape says, or for a speck next to nothing."""
    if sight == "flat":
        kept = {name: 0.0 if name == "full_neg" else max(probs[name], 1e-9) for name in DEFECTS}
    else:  # a speck has no shape to speak of, a full frame neither: too little, or too much, is all one can say
        likely = "erode" if sight == "tiny" else "dilate"
        kept = {name: 0.0 if name in {"perfect", "full_neg"} else 1.0 + (name == likely) for name in DEFECTS}
    whole = sum(kept.values())
    prior, low, high = calibration.prior
    iou = min(prior, _NEVER_ACCEPTED)
    return Estimate(
        iou=iou,
        low=min(low, iou),
        high=max(high, iou),
        probs={name: value / whole for name, value in kept.items()},
        novelty=1.0,
    )
