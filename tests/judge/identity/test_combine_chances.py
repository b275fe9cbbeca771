"""The chances of a good IoU follow the identity check as the estimate does."""

from __future__ import annotations

import pytest

from auscult.judge.identity.combine import combined
from auscult.types import Evidence, Identity, Verdict


def _verdict() -> Verdict:
    probs = {"perfect": 0.8, "cutout": 0.1, "dilate": 0.0, "erode": 0.0, "merge": 0.1, "full_neg": 0.0}
    return Verdict(
        id="a",
        iou=0.9,
        iou_low=0.8,
        iou_high=1.0,
        defect="perfect",
        defect_probs=probs,
        evidence=Evidence(shape=True),
        rationale="Good.",
        judge="masks.prompted.v1",
        prob_iou_80=0.9,
        prob_iou_50=0.98,
    )


@pytest.mark.parametrize("match", [1.0, 0.7, 0.3, 0.0])
def test_a_mask_that_is_likely_on_another_thing_is_less_likely_good(match: float) -> None:
    joined = combined(_verdict(), Identity(match=match), check="identity.scenes.v1")
    assert joined.prob_iou_80 == pytest.approx(0.9 * match)
    assert joined.prob_iou_50 == pytest.approx(0.98 * match)


def test_a_judge_that_gives_no_chance_still_gives_none() -> None:
    from dataclasses import replace

    joined = combined(replace(_verdict(), prob_iou_80=None, prob_iou_50=None), Identity(match=0.5), check="x")
    assert joined.prob_iou_80 is None
    assert joined.prob_iou_50 is None


def test_a_merge_that_keeps_little_is_less_likely_good() -> None:
    little, much = (combined(_verdict(), Identity(match=1.0, kept=kept_share), check="x") for kept_share in (0.2, 1.0))
    assert (little.prob_iou_80 or 0) < (much.prob_iou_80 or 0)
