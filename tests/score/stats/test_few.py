"""Intervals over few clusters: wider than percentiles, exact where nothing differs, and as often right as they say."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from auscult.errors import InputError
from auscult.rng import generator
from auscult.score.stats import bootstrap_interval
from auscult.score.stats.change import mean_ratio
from auscult.score.stats.few_clusters import FEW, ROOT, SHARE, ends_of, t_quantile, widening

PAGE = Path(__file__).resolve().parents[3] / "docs" / "intervals.md"


def mean(values):
    return sum(values) / len(values)


@pytest.mark.parametrize(
    ("freedom", "share", "value"),
    [(1, 0.975, 12.7062), (4, 0.975, 2.7764), (28, 0.95, 1.7011), (1e6, 0.975, 1.96)],
)
def test_quantiles_of_t_are_those_of_the_tables(freedom, share, value):
    assert t_quantile(share, freedom) == pytest.approx(value, abs=1e-4)


@given(st.lists(st.integers(1, 50), min_size=2, max_size=FEW - 1))
def test_fewer_and_less_equal_clusters_widen_more(sizes):
    assert widening(sizes) > 1.0
    assert widening(sizes) >= widening([1] * len(sizes)) - 1e-9
    assert widening([*sizes, *[round(mean(sizes))] * (FEW - len(sizes))]) == 1.0


def test_of_normal_clusters_it_is_the_t_interval():
    values = generator(1, "few").normal(size=6)
    values = np.concatenate([values, -values])  # without skew
    result = bootstrap_interval(mean, [[value] for value in values], rng=generator(1, "draws"), replicates=20_000)
    half_width = 2.201 * float(np.std(values, ddof=1)) / np.sqrt(12)
    assert (result.low, result.high) == pytest.approx(
        (values.mean() - half_width, values.mean() + half_width), abs=0.08 * half_width
    )
    assert "widened by t" in str(result.signature)


def test_from_thirty_clusters_on_it_is_the_percentiles_as_ever():
    values = generator(1, "many").random(30)
    result = bootstrap_interval(mean, [[value] for value in values], rng=generator(1, "draws"))
    draw_indices = generator(1, "draws").integers(30, size=(1000, 30))
    assert (result.low, result.high) == pytest.approx(
        tuple(np.quantile(values[draw_indices].mean(axis=1), (0.025, 0.975)))
    )
    assert "interval:percentile bootstrap|" in str(result.signature)


@pytest.mark.parametrize(("value", "ends"), [(1.0, (0.6915, 1.0)), (0.0, (0.0, 0.3085))])
def test_what_is_wholly_right_or_wrong_has_the_interval_of_the_number_of_clusters(value, ends):
    scores = dict.fromkeys(range(40), value)
    clusters = {index: index // 4 for index in range(40)}
    result = mean_ratio(scores, clusters=clusters, rng=generator(1, "exact"), within=SHARE)
    assert (result.low, result.high) == pytest.approx(ends, abs=1e-4)
    assert "interval:exact over clusters" in str(result.signature)
    half_right = mean_ratio(dict.fromkeys(range(40), 0.5), clusters=clusters, rng=generator(1, "exact"), within=SHARE)
    assert (half_right.value, half_right.low, half_right.high) == (0.5, None, None)


def test_an_exact_interval_is_as_often_right_as_it_says():
    """A cluster is wholly right by a chance of .7: five of five are so in 17 %, and then the interval holds .7."""
    assert SHARE.exact(1.0, clusters=5)[0] < 0.7
    assert SHARE.exact(1.0, clusters=11)[0] > 0.7  # 2 % of the time
    assert ROOT.exact(0.0, clusters=10) == pytest.approx((0.0, np.sqrt(0.3085)), abs=1e-4)
    assert SHARE.exact(0.5, clusters=10) is None


def test_ends_stay_within_the_range_and_nan_draws_are_no_numbers():
    draws = np.array([0.9, 1.1, 0.95, 1.2, np.nan, 0.8] * 50)
    ends = ends_of(draws, value=0.97, clusters=8, within=SHARE)
    assert ends is not None
    assert ends.low < 0.97 < ends.high == 1.0
    assert ends_of(np.full(10, np.nan), value=0.5, clusters=8) is None
    with pytest.raises(InputError):
        widening([5])


def coverage_on_the_page() -> dict[str, list[float]]:
    rows = [line.strip("| \n").split(" | ") for line in PAGE.read_text(encoding="utf-8").splitlines()]
    return {row[0]: [float(cell) for cell in row[1:5]] for row in rows if len(row) == 6 and re.match(r"[01]\.", row[1])}


def test_the_committed_coverage_is_at_least_93_percent():
    coverage_of = coverage_on_the_page()
    assert len(coverage_of) >= 10
    assert min(min(row) for row in coverage_of.values()) >= 0.93


@pytest.mark.slow
def test_the_coverage_is_as_committed():
    from studies.cluster_intervals import CLUSTERS, DESIGNS, covered

    committed = coverage_on_the_page()
    for name in DESIGNS:
        for clusters, committed_coverage in zip(CLUSTERS, committed[name], strict=True):
            sets = 100
            error = np.sqrt(0.93 * 0.07 / sets)
            assert abs(covered(name, clusters, sets=sets) - committed_coverage) <= 3.5 * error, (name, clusters)
