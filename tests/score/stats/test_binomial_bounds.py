"""Clopper-Pearson bounds: printed tables, exact fractions, coverage by enumeration, and what cannot be."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from math import comb

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from auscult.errors import InputError
from auscult.score.stats.few_clusters import at_most, fewest_trials, lower_bound, upper_bound

counts = st.integers(1, 400).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
confidences = st.sampled_from((0.5, 0.8, 0.9, 0.95, 0.975, 0.999))


def _at_most(events: int, trials: int, rate: Fraction) -> Fraction:
    return sum((comb(trials, k) * rate**k * (1 - rate) ** (trials - k) for k in range(events + 1)), Fraction(0))


# Two-sided 95 % limits as textbooks print them: both ends at 97.5 %.
@pytest.mark.parametrize(
    ("events", "trials", "low", "high"),
    [
        (0, 10, 0.0, 0.3085),
        (1, 10, 0.0025, 0.4450),
        (5, 10, 0.1871, 0.8129),
        (10, 10, 0.6915, 1.0),
        (3, 20, 0.0321, 0.3789),
        (10, 100, 0.0490, 0.1762),
        (50, 100, 0.3983, 0.6017),
    ],
)
def test_the_limits_of_printed_tables(events: int, trials: int, low: float, high: float) -> None:
    assert lower_bound(events, trials, confidence=0.975) == pytest.approx(low, abs=5e-5)
    assert upper_bound(events, trials, confidence=0.975) == pytest.approx(high, abs=5e-5)


@given(counts, confidences)
@settings(max_examples=30, deadline=None)
def test_at_the_bound_as_few_events_have_exactly_the_leftover_probability(
    pair: tuple[int, int], confidence: float
) -> None:
    events, trials = min(pair[0], 60), min(pair[1], 60)
    events = min(events, trials)
    if events == trials:
        assert upper_bound(events, trials, confidence=confidence) == 1
        return
    bound = upper_bound(events, trials, confidence=confidence)
    assert float(_at_most(events, trials, Fraction(bound))) == pytest.approx(1 - confidence, rel=1e-9)


@given(counts, confidences)
@settings(max_examples=30, deadline=None)
def test_bounds_enclose_the_share_and_move_with_events_and_confidence(pair: tuple[int, int], confidence: float) -> None:
    events, trials = pair
    low, high = (bound(events, trials, confidence=confidence) for bound in (lower_bound, upper_bound))
    if confidence > 0.5:
        assert 0 <= low <= events / trials <= high <= 1
    if events:
        assert upper_bound(events - 1, trials, confidence=confidence) < high
        assert upper_bound(events, trials + 1, confidence=confidence) < high
    assert upper_bound(events, trials, confidence=0.9999) >= high
    assert high == pytest.approx(1 - lower_bound(trials - events, trials, confidence=confidence), abs=1e-15)


@pytest.mark.parametrize("trials", [1, 7, 40])
@pytest.mark.parametrize("confidence", [0.8, 0.95])
def test_the_bound_holds_at_every_rate_at_least_as_often_as_promised(trials: int, confidence: float) -> None:
    bounds = [upper_bound(events, trials, confidence=confidence) for events in range(trials + 1)]
    for step in range(1, 100):
        rate = step / 100
        coverage = sum(
            comb(trials, k) * rate**k * (1 - rate) ** (trials - k) for k, bound in enumerate(bounds) if bound >= rate
        )
        assert coverage >= confidence - 1e-12


@given(st.floats(0.001, 0.9), st.sampled_from((0.8, 0.9, 0.95, 0.99)))
@settings(max_examples=30, deadline=None)
def test_the_fewest_trials_are_enough_and_one_less_is_not(rate: float, confidence: float) -> None:
    n_trials = fewest_trials(rate, confidence=confidence)
    assert upper_bound(0, n_trials, confidence=confidence) <= rate + 1e-9
    assert n_trials == 1 or upper_bound(0, n_trials - 1, confidence=confidence) > rate - 1e-9


def test_the_sizes_that_people_know() -> None:
    assert (fewest_trials(0.05), fewest_trials(0.1), fewest_trials(0.01)) == (59, 29, 299)
    assert fewest_trials(0.05, confidence=0.99) == 90
    assert upper_bound(0, 59) <= 0.05 < upper_bound(0, 58)
    assert upper_bound(1, 93) <= 0.05 < upper_bound(1, 92)


def test_a_million_trials_are_no_trouble() -> None:
    bounds = [upper_bound(events, 1_000_000) for events in (0, 10, 50_000, 999_999)]
    assert bounds[2] == pytest.approx(0.05 + 1.645 * (0.05 * 0.95 / 1e6) ** 0.5, abs=2e-6)
    assert all(bound < other for bound, other in pairwise(bounds))
    assert at_most(50_000, 1_000_000, rate=0.05) == pytest.approx(0.5, abs=0.002)


def test_nothing_counted_says_nothing() -> None:
    assert (lower_bound(0, 0), upper_bound(0, 0)) == (0, 1)


@pytest.mark.parametrize(("events", "trials", "confidence"), [(-1, 5, 0.9), (6, 5, 0.9), (1, 5, 0.0), (1, 5, 1.0)])
def test_impossible_counts_are_refused(events: int, trials: int, confidence: float) -> None:
    for bound in (lower_bound, upper_bound):
        with pytest.raises(InputError):
            bound(events, trials, confidence=confidence)


@pytest.mark.parametrize("rate", [0.0, 1.0, -0.1, float("nan")])
def test_a_wanted_bound_must_be_a_rate(rate: float) -> None:
    with pytest.raises(InputError):
        fewest_trials(rate)


@pytest.mark.extra_train
def test_equal_to_scipy() -> None:
    beta = pytest.importorskip("scipy.stats", reason="the extra `train` is not installed").beta
    for trials in (1, 2, 59, 333, 20_000):
        for events in {0, 1, trials // 50, trials // 10, trials // 2, trials - 1, trials}:
            for confidence in (0.5, 0.9, 0.95, 0.999):
                high = 1.0 if events == trials else beta.ppf(confidence, events + 1, trials - events)
                low = 0.0 if events == 0 else beta.ppf(1 - confidence, events, trials - events + 1)
                assert upper_bound(events, trials, confidence=confidence) == pytest.approx(high, rel=1e-8)
                assert lower_bound(events, trials, confidence=confidence) == pytest.approx(low, abs=1e-9)
