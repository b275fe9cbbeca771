"""From logits to probabilities, estimates and intervals: golden cases and laws."""

from __future__ import annotations

import numpy as np
import pytest
from compact_fakes import soft_labels
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from auscult.judge.masks.compact.network import (
    BINS,
    bin_values,
    by_defect,
    groups_of,
    interval_of,
    likeliest,
    lowered,
    mean_iou,
    named,
    probabilities,
    quantiles,
    reach_of,
    spread_of,
    widths_of,
)
from auscult.types import DEFECTS

ENDS = (0.0, 1.0)
LOGITS = arrays(np.float64, (3, BINS), elements=st.floats(-8, 8))


def test_a_mask_on_no_object_counts_as_full_neg() -> None:
    probs = by_defect(probabilities([[0, 0, 0, 0, 0, 3.0]], 1.0)[0])
    assert tuple(probs) == DEFECTS
    assert likeliest(probs) == "full_neg"
    assert probs["full_neg"] == pytest.approx(np.exp(3) / (np.exp(3) + 5))


def test_a_temperature_softens() -> None:
    assert probabilities([[2.0, 0.0]], 2.0)[0, 0] == pytest.approx(1 / (1 + np.exp(-1)))


@given(st.floats(0.0125, 0.9875))
def test_a_shared_iou_has_itself_as_mean(iou: float) -> None:
    assert mean_iou(soft_labels(iou), (0.0125, 0.9875))[0] == pytest.approx(iou, abs=1e-9)


def test_the_outermost_bins_reach_nothing_and_all() -> None:
    assert mean_iou(soft_labels(0.0), ENDS)[0] == 0.0
    assert mean_iou(soft_labels(1.0), ENDS)[0] == 1.0
    assert bin_values(ENDS)[1] == pytest.approx(0.0375)


@given(LOGITS, st.floats(0.02, 0.48))
def test_quantiles_ascend_within_the_histogram(logits: np.ndarray, tail: float) -> None:
    shares = probabilities(logits, 1.0)
    low, middle, high = (quantiles(shares, ENDS, level) for level in (tail, 0.5, 1 - tail))
    assert (low >= 0).all()
    assert (low <= middle).all()
    assert (middle <= high).all()
    assert (high <= 1).all()


def test_quantiles_of_an_even_histogram_are_the_levels() -> None:
    even = np.full((1, BINS), 1 / BINS)
    for level in (0.05, 0.3, 0.5, 0.95):
        assert quantiles(even, (0.0125, 0.9875), level)[0] == pytest.approx(level)


@given(LOGITS, st.floats(0, 5), st.floats(0, 5), st.floats(0, 1))
def test_an_interval_holds_its_estimate_and_grows_with_reach_and_novelty(
    logits: np.ndarray, one: float, other: float, novelty: float
) -> None:
    spread = spread_of(probabilities(logits, 1.0), ENDS)
    less, larger_reach = sorted((one, other))
    plain, wide = widths_of(np.zeros(3), 1.0), widths_of(np.full(3, novelty), 1.0)
    low, high = interval_of(spread, np.full(3, less), plain)
    for reach_, widths in ((larger_reach, plain), (less, wide)):
        lower, upper = interval_of(spread, np.full(3, reach_), widths)
        assert (lower <= low).all()
        assert (high <= upper).all()
        assert ((lower <= spread.mean) & (spread.mean <= upper)).all()


@given(LOGITS, st.lists(st.floats(0, 1), min_size=3, max_size=3), st.floats(0.1, 6))
def test_a_true_iou_lies_within_exactly_when_its_score_is_within_reach(
    logits: np.ndarray, ious: list[float], reach: float
) -> None:
    spread, widths = spread_of(probabilities(logits, 1.0), ENDS), widths_of(np.array([0.0, 0.5, 1.0]), 2.0)
    true = np.array(ious)
    off = true - spread.mean
    scores = np.where(off < 0, -off / spread.below, off / spread.above) / widths
    low, high = interval_of(spread, np.full(3, reach), widths)
    clear = np.abs(scores - reach) > 1e-6
    assert (((low <= true) & (true <= high)) == (scores <= reach))[clear].all()


def test_a_mask_belongs_to_the_narrowest_group_that_was_measured() -> None:
    assert [groups_of(area, "erode")[0].split()[0] for area in (0, 1023, 1024, 9215, 9216, 10**6)] == [
        "small", "small", "medium", "medium", "large", "large",
    ]  # fmt: skip
    assert groups_of(2000, "erode") == ("medium erode", "erode", "all")
    reach_by_group = {"all": 3.0, "erode": 2.0, "large erode": 1.0}
    assert reach_of(reach_by_group, 10**5, "erode") == 1.0
    assert reach_of(reach_by_group, 2000, "erode") == 2.0
    assert reach_of(reach_by_group, 10**5, "merge") == 3.0


def test_the_share_of_no_object_moves_to_the_first_bin() -> None:
    shares = np.full((2, BINS), 1 / BINS)
    lowered_shares = lowered(shares, np.array([0.0, 0.5]))
    assert (lowered_shares[0] == shares[0]).all()
    assert lowered_shares[1, 0] == pytest.approx(0.5 + 0.5 / BINS)
    assert lowered_shares.sum(axis=1) == pytest.approx(1.0)


def test_named_kinds_sum_to_one_and_follow_slope_and_offset() -> None:
    logits = np.array([[2.0, 0.0, 0.0, 0.0, 0.0, 1.0], [500.0, -500.0, 0.0, 0.0, 0.0, 500.0]])
    shares = named(logits, 1.0, (1.0, 0.0))
    assert shares.sum(axis=1) == pytest.approx(1.0)
    assert shares[0] == pytest.approx(probabilities(logits[:1], 1.0)[0])
    assert (named(logits, 1.0, (1.0, -3.0))[:, -1] < shares[:, -1]).all()
    assert named(logits, 1.0, (0.0, 0.0))[:, -1] == pytest.approx(0.5)
