"""Paired comparison: exact McNemar, Holm, the paired bootstrap, and the bootstrap from sums."""

from fractions import Fraction
from itertools import pairwise
from math import comb, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from auscult.errors import InputError
from auscult.outcome import Scored, Undefined
from auscult.rng import generator
from auscult.score.stats import (
    Interval,
    bootstrap_interval,
    cluster_draws,
    few_clusters,
    holm,
    mcnemar,
    percentile_interval,
    right_difference,
    rmse,
    rmse_difference,
    sign_flips,
    sums_by_cluster,
)

COUNTS = st.integers(0, 60)


def _split(first, second, n_both=0, neither=0):
    first_right = [True] * first + [False] * second + [True] * n_both + [False] * neither
    other = [False] * first + [True] * second + [True] * n_both + [False] * neither
    return first_right, other


def _by_fractions(first, second):
    """Sum of the probabilities of all splits that are at most as likely as this one under a fair coin."""
    total = first + second
    ways = [comb(total, k) for k in range(total + 1)]
    return float(Fraction(sum(n_ways for n_ways in ways if n_ways <= ways[first]), 2**total))


@given(COUNTS, COUNTS, COUNTS)
def test_mcnemar_is_the_exact_binomial_test(first, second, both):
    first_right, other = _split(first, second, both, neither=1)
    result = mcnemar(first_right, other)
    assert (result.first, result.second, result.n) == (first, second, first + second + both + 1)
    assert result.value == pytest.approx(_by_fractions(first, second), rel=1e-12)
    assert mcnemar(other, first_right).value == result.value


@pytest.mark.peer
@pytest.mark.parametrize(("first", "second"), [(8, 1), (0, 5), (50, 50), (400, 300), (3, 0), (1200, 1100)])
def test_mcnemar_agrees_with_scipy(first, second):
    from scipy.stats import binomtest

    result = mcnemar(*_split(first, second))
    assert result.value == pytest.approx(binomtest(first, first + second, 0.5).pvalue, rel=1e-9)


def test_mcnemar_of_very_many_items_neither_overflows_nor_vanishes():
    assert mcnemar(*_split(20_000, 19_500)).value == pytest.approx(0.012047, abs=1e-6)
    assert 0 < mcnemar(*_split(700, 200)).value < 1e-60


def test_mcnemar_without_items_is_undefined_and_unequal_lengths_are_refused():
    assert isinstance(mcnemar([], []), Undefined)
    with pytest.raises(InputError):
        mcnemar([True], [True, False])


@given(st.integers(0, 7), st.integers(0, 6), COUNTS)
def test_flips_of_single_items_are_mcnemar(first, second, both):
    first_right, other = _split(first, second, both, neither=1)
    plain = mcnemar(first_right, other)
    result = right_difference(first_right, other, clusters=range(len(first_right)))
    assert result == plain
    assert sign_flips(np.array(first_right) * 1.0 - other).value == pytest.approx(plain.value)


def test_items_of_one_clip_are_no_evidence_of_their_own():
    """Two of three clips speak for the first judge, one against it, each with many masks."""
    first_right, other = _split(20, 6)
    clips = ["a"] * 10 + ["b"] * 10 + ["c"] * 6
    assert mcnemar(first_right, other).value < 0.01
    result = right_difference(first_right, other, clusters=clips)
    assert (result.value, result.first, result.second, result.n, result.clusters) == (0.5, 20, 6, 26, 3)
    assert "sign flips over clusters" in str(result.signature)


def test_flips_by_hand_and_by_drawing():
    assert sign_flips([1.0, 2.0, 4.0, 8.0, 16.0]).value == 2 / 32
    assert sign_flips([1.0, 2.0, 4.0, 8.0, 16.0, 0.5]).value == 2 / 64
    assert sign_flips([1.0, -3.0, 0.0]).value == 1.0
    assert sign_flips([]).value == 1.0
    values = generator(2, "flips").normal(0.4, 1.0, 14)
    drawn_p = sign_flips([*values, 1e-9]).value  # one more than are tried all
    assert drawn_p == pytest.approx(sign_flips(values).value, abs=0.02)


def test_without_difference_five_percent_of_tests_are_below_five_percent():
    rng = np.random.default_rng(4)
    below = [sign_flips(rng.normal(0, rng.uniform(0.2, 3, 9), 9)).value <= 0.05 for _ in range(600)]
    assert np.mean(below) == pytest.approx(0.05, abs=0.027)


@given(st.lists(st.floats(0, 1), max_size=12))
def test_holm_never_lowers_a_p_value_and_keeps_the_order(values):
    adjusted = holm(values)
    assert len(adjusted) == len(values)
    assert all(value <= new <= 1 for value, new in zip(values, adjusted, strict=True))
    order = sorted(range(len(values)), key=values.__getitem__)
    assert all(adjusted[a] <= adjusted[b] for a, b in pairwise(order))
    if values:
        assert min(adjusted) == pytest.approx(min(1.0, len(values) * min(values)))


def test_holm_by_hand_and_out_of_range():
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    with pytest.raises(InputError):
        holm([1.5])


def _estimates(seed, clusters=12, per_cluster=5):
    rng = np.random.default_rng(seed)
    true = rng.random(clusters * per_cluster)
    shared = np.repeat(rng.normal(0, 0.3, clusters), per_cluster)  # what makes a clip hard is hard for both
    first = true + shared + rng.normal(0, 0.02, true.size)
    second = true + shared + rng.normal(0, 0.02, true.size) + 0.1
    return first, second, true, [f"clip{number // per_cluster}" for number in range(true.size)]


@pytest.mark.parametrize("seed", range(4))
def test_rmse_difference_is_the_difference_of_the_rmses(seed):
    first, second, true, clusters = _estimates(seed)
    result = rmse_difference(first, second, true, clusters=clusters, rng=generator(seed, "test"))
    assert isinstance(result, Interval)
    assert result.value == pytest.approx(rmse(first, true).value - rmse(second, true).value)
    assert result.low <= result.value <= result.high
    swapped = rmse_difference(second, first, true, clusters=clusters, rng=generator(seed, "test"))
    assert (swapped.low, swapped.high) == pytest.approx((-result.high, -result.low))


def test_a_paired_interval_is_narrower_than_two_apart():
    first, second, true, clusters = _estimates(7)
    result = rmse_difference(first, second, true, clusters=clusters, rng=generator(7, "test"))
    parts = []
    for values in (first, second):
        groups = [
            list(zip(values[start : start + 5], true[start : start + 5], strict=True))
            for start in range(0, len(true), 5)
        ]
        parts.append(
            bootstrap_interval(
                lambda pairs: rmse([a for a, _ in pairs], [b for _, b in pairs]), groups, rng=generator(7, "one"),
                replicates=300,
            )
        )  # fmt: skip
    unpaired_width = sqrt(sum((part.high - part.low) ** 2 for part in parts))
    assert result.high - result.low < 0.7 * unpaired_width


def test_one_cluster_has_no_interval_and_no_item_no_difference():
    result = rmse_difference([0.5, 1.0], [1.0, 1.0], [1.0, 1.0], clusters="aa", rng=generator(1, "test"))
    assert isinstance(result, Scored)
    assert not isinstance(result, Interval)
    assert result.value == pytest.approx(sqrt(0.125))
    assert isinstance(rmse_difference([], [], [], clusters=[], rng=generator(1, "test")), Undefined)


@given(st.integers(1, 30), st.integers(0, 5))
def test_each_draw_has_as_many_clusters_as_there_are(clusters, seed):
    draws = cluster_draws(clusters, rng=generator(seed, "test"), replicates=7)
    assert draws.shape == (7, clusters)
    assert (draws.sum(axis=1) == clusters).all()
    assert np.array_equal(draws, cluster_draws(clusters, rng=generator(seed, "test"), replicates=7))


def test_the_bootstrap_from_sums_is_the_bootstrap_of_the_items(monkeypatch):
    monkeypatch.setattr(few_clusters, "FEW", 2)  # the draws themselves
    first, _, true, names = _estimates(3)
    groups = [
        list(zip(first[start : start + 5], true[start : start + 5], strict=True)) for start in range(0, len(true), 5)
    ]
    slow = bootstrap_interval(
        lambda pairs: rmse([a for a, _ in pairs], [b for _, b in pairs]), groups, rng=generator(5, "test")
    )
    rows = np.stack([(first - true) ** 2, np.ones_like(true)], axis=1)
    members = np.array([int(name[4:]) for name in names])
    sums = cluster_draws(12, rng=generator(5, "test")) @ sums_by_cluster(rows, members, 12)
    assert percentile_interval(np.sqrt(sums[:, 0] / sums[:, 1])) == pytest.approx((slow.low, slow.high))


def test_an_interval_needs_half_of_the_draws():
    assert percentile_interval(np.array([1.0, np.nan, np.nan])) is None
    assert percentile_interval(np.array([1.0, 1.0, np.nan])) == (1.0, 1.0)
    with pytest.raises(InputError):
        percentile_interval(np.array([1.0]), level=1.0)
    with pytest.raises(InputError):
        cluster_draws(0, rng=generator(0, "test"))
