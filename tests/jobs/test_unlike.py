"""How many items are out of distribution: what is counted and what is left out."""

from __future__ import annotations

import pytest

from auscult.jobs.finish import out_of_distribution_rate
from auscult.types import Evidence, Verdict


def _verdict(name: str, novelty: float, *, iou: float | None = 0.5, empty: bool = False) -> Verdict:
    return Verdict(
        id=name,
        iou=iou,
        iou_low=None,
        iou_high=None,
        defect="empty" if empty else "erode",
        defect_probs={},
        evidence=Evidence(),
        rationale="",
        judge="masks.some.v1",
        novelty=novelty,
    )


def test_the_share_is_of_judged_items_from_a_novelty_of_one_half_on() -> None:
    verdicts = [_verdict("a", 0.5), _verdict("b", 0.49), _verdict("c", 0.9), _verdict("d", 0.0)]
    others = [_verdict("e", 1.0, empty=True), _verdict("f", 1.0, iou=None)]
    metric = out_of_distribution_rate([*verdicts, *others])["unlike_share"]
    assert metric["value"] == pytest.approx(0.5)
    assert metric["n"] == 4
    assert "novelty:>=0.5" in metric["signature"]
    assert "masks.some.v1" in metric["signature"]


def test_nothing_is_said_of_a_judge_that_measures_no_novelty() -> None:
    assert out_of_distribution_rate([_verdict("a", 0.0), _verdict("b", 0.0)]) == {}
    assert out_of_distribution_rate([]) == {}
    assert out_of_distribution_rate([_verdict("a", 0.1)])["unlike_share"]["value"] == 0
