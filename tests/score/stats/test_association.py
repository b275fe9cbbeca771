"""Correlations of two columns with intervals over clusters."""

import tracemalloc

import numpy as np
import pytest

from auscult.errors import InputError
from auscult.outcome import Scored
from auscult.score.stats.correlation import KINDS, associations, associations_by
from auscult.score.stats.intervals import Interval


def tau_b(x, y):
    pairs = [(np.sign(x[i] - x[j]), np.sign(y[i] - y[j])) for i in range(len(x)) for j in range(i)]
    sx, sy = np.array(pairs).T
    return (sx * sy).sum() / np.sqrt(np.abs(sx).sum() * np.abs(sy).sum())


@pytest.fixture
def columns():
    rng = np.random.default_rng(0)
    clusters = np.repeat(np.arange(30), 4)
    x = rng.integers(0, 9, 120) + rng.standard_normal(30)[clusters].round()
    return x, x + 4 * rng.standard_normal(120).round(), clusters


def test_the_coefficients_are_those_of_their_formulas_ties_included(columns):
    x, y, clusters = columns
    result = associations(x, y, clusters=list(clusters))
    assert result["pearson"].value == pytest.approx(np.corrcoef(x, y)[0, 1], abs=1e-12)
    assert result["kendall"].value == pytest.approx(tau_b(x, y), abs=1e-12)
    for kind in KINDS:
        assert isinstance(result[kind], Interval)
        assert result[kind].low < result[kind].value < result[kind].high
        assert result[kind].clusters == 30
    assert associations(x, y, clusters=list(clusters)) == result


def test_clusters_that_agree_within_make_an_interval_wide(columns):
    rng = np.random.default_rng(1)
    clusters = np.repeat(np.arange(12), 20)
    x, y = rng.standard_normal((2, 12))[:, clusters] + 0.01 * rng.standard_normal((2, 240))
    in_clusters = associations(x, y, clusters=list(clusters))
    alone = associations(x, y, clusters=list(range(240)))
    for kind in KINDS:
        assert in_clusters[kind].high - in_clusters[kind].low > 2 * (alone[kind].high - alone[kind].low)


def test_columns_are_compared_with_one_within_groups_and_holes_are_left_out(columns):
    x, y, clusters = columns
    holes = np.where(np.arange(120) % 5, y, np.nan)
    domain = np.where(clusters < 15, "speech", "music")
    result = associations_by(
        {"overall": x, "counting": holes, "same": np.ones(120)},
        against="overall",
        clusters=list(clusters),
        groups=list(domain),
    )
    assert list(result) == [(group, name) for group in (None, "speech", "music") for name in ("counting", "same")]
    is_kept = ~np.isnan(holes) & (domain == "music")
    assert result["music", "counting"]["pearson"].value == pytest.approx(
        np.corrcoef(x[is_kept], y[is_kept])[0, 1], abs=1e-12
    )
    assert "equal" in result[None, "same"]["kendall"].reason


def test_too_little_is_undefined_and_what_does_not_fit_an_error():
    assert all("fewer" in outcome.reason for outcome in associations([1.0], [2.0], clusters="a").values())
    single_cluster = associations([1.0, 2.0, 3.0], [1.0, 3.0, 2.0], clusters="aaa")
    assert all(
        isinstance(score_of_cluster, Scored) and not isinstance(score_of_cluster, Interval)
        for score_of_cluster in single_cluster.values()
    )
    with pytest.raises(InputError):
        associations([1.0, 2.0], [1.0], clusters="ab")


def test_pairs_are_counted_in_parts_that_change_no_digit(columns, monkeypatch):
    x, y, clusters = columns
    whole = associations(x, y, clusters=list(clusters), replicates=20)
    monkeypatch.setitem(associations.__globals__, "_PAIRS_AT_ONCE", 2_640)  # 22 rows, which cut clusters of four
    assert associations(x, y, clusters=list(clusters), replicates=20) == whole
    monkeypatch.setitem(associations.__globals__, "_PAIRS_AT_ONCE", 30_000)
    x, y = np.random.default_rng(2).standard_normal((2, 600))
    tracemalloc.start()
    associations(x, y, clusters=range(600), replicates=20)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4e6, "all pairs of 600 clusters, three times, are 9 MB"
