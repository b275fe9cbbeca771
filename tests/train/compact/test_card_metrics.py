"""The card's metrics from sums are those of score.stats, and its constant intervals are the shortest there are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from auscult.outcome import Scored
from auscult.score.stats import coverage, f2_confusion, f2_tables, rmse
from auscult.train.compact import card_metrics
from auscult.train.compact.card_judging import Measured, Said
from auscult.types import DEFECTS

UNIT = st.floats(0, 1, allow_nan=False, width=32)
MASK = st.tuples(UNIT, UNIT, st.sampled_from(DEFECTS), st.sampled_from(DEFECTS), st.booleans())


def row_of(masks: list[tuple[float, float, str, str, bool]]) -> card_metrics.Row:
    estimate, truth, said, true, keep = (np.array(part) for part in zip(*masks, strict=True))
    count = len(masks)
    row = Said(
        iou=estimate.astype(np.float64),
        low=np.clip(estimate - 0.2, 0, 1).astype(np.float64),
        high=np.clip(estimate + 0.1, 0, 1).astype(np.float64),
        defect=said,
        action=np.full(count, "reject"),
    )
    measured = Measured(
        name="set",
        source="coco",
        cluster=np.array([str(at % 3) for at in range(count)]),
        item=np.array([str(at) for at in range(count)]),
        defect=true,
        difficulty=np.full(count, ""),
        iou=truth.astype(np.float64),
        side_px=np.full(count, 50.0),
        off_px=np.ones(count),
        rows={"row": row},
    )
    return card_metrics.Row(measured=measured, said=row, keep=keep.astype(np.bool_))


def whole(metric: card_metrics.Metric) -> float:
    return float(metric.value((metric.adds * metric.keep[:, None]).sum(axis=0, keepdims=True))[0])


@given(st.lists(MASK, min_size=1, max_size=30))
@settings(max_examples=60, deadline=None)
def test_metrics_are_those_of_the_statistics(masks: list[tuple[float, float, str, str, bool]]) -> None:
    row = row_of(masks)
    keep = row.keep
    if not keep.any():
        assert np.isnan(whole(card_metrics.rmse("rmse", row)))
        return
    said, true = row.said.defect[keep].tolist(), row.true[keep].tolist()
    truth = row.measured.iou[keep]
    expected = {
        "rmse": rmse(row.said.iou[keep], truth),
        "tables": f2_tables(said, true, DEFECTS),
        "confusion": f2_confusion(said, true, DEFECTS),
        "coverage": coverage(row.said.low[keep], row.said.high[keep], truth),
    }
    found = {
        "rmse": card_metrics.rmse("rmse", row),
        "tables": card_metrics.f2_tables("tables", row),
        "confusion": card_metrics.f2_confusion("confusion", row, of=DEFECTS),
        "coverage": card_metrics.share("coverage", row, row.covered),
    }
    for name, outcome in expected.items():
        assert isinstance(outcome, Scored)
        assert whole(found[name]) == pytest.approx(outcome.value, abs=1e-9), name


@given(st.lists(UNIT, min_size=1, max_size=60))
@settings(max_examples=60, deadline=None)
def test_constant_intervals_hold_their_level_and_none_shorter_does(ious: list[float]) -> None:
    held = np.sort(np.array(ious, dtype=np.float64))
    low, high = card_metrics.constant_intervals(held)
    widths = high - low
    assert (np.diff(widths) >= -1e-12).all()
    for at in (0, 40, 80, 99):
        needed = int(np.ceil(card_metrics.LEVELS[at] * len(held)))
        inside = ((held >= low[at]) & (held <= high[at])).sum()
        assert inside >= needed
        shortest = min(held[end] - held[end - needed + 1] for end in range(needed - 1, len(held)))
        assert widths[at] == pytest.approx(shortest, abs=1e-12)


def test_a_judge_that_says_a_constant_interval_has_width_ratio_one() -> None:
    held = np.linspace(0.4, 1.0, 200)
    low, high = card_metrics.constant_intervals(held)
    truth = np.linspace(0.41, 0.99, 50)
    row = row_of([(0.8, float(one), "erode", "erode", True) for one in truth])
    said = Said(
        iou=row.said.iou,
        low=np.full(50, low[60]),
        high=np.full(50, high[60]),
        defect=row.said.defect,
        action=row.said.action,
    )
    ratio = whole(
        card_metrics.width_ratio("ratio", card_metrics.Row(measured=row.measured, said=said, keep=row.keep), held=held)
    )
    assert ratio == pytest.approx(1.0, abs=0.03)


def test_f2_confusion_over_types_that_occur_does_not_count_types_that_are_only_said() -> None:
    row = row_of([(0.5, 0.5, "erode", "erode", True), (0.5, 0.5, "merge", "dilate", True)])
    assert whole(card_metrics.f2_confusion("", row)) == pytest.approx(0.5)
    assert whole(card_metrics.f2_confusion("", row, of=DEFECTS)) == pytest.approx(1 / 3)
