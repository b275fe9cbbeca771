"""Intervals of rank statistics are those of the items drawn one by one; a logistic fit joins what each knows alone."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from auscult.errors import InputError
from auscult.outcome import Scored, Undefined
from auscult.rng import generator
from auscult.score.stats import (
    Interval,
    auc,
    auc_interval,
    bootstrap_interval,
    cross_fitted,
    logistic,
    logistic_fit,
    mean_ranks,
    spearman,
    spearman_interval,
)

CLUSTERS = [place // 5 for place in range(200)]


def columns() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    first = np.round(rng.normal(size=200) + rng.normal(size=40)[CLUSTERS], 1)
    return first, first + rng.normal(size=200)


def test_both_intervals_are_those_of_drawing_the_items_themselves() -> None:
    estimates, true = columns()
    good = (true > 0).tolist()
    items = [
        [(estimates[index], true[index], good[index]) for index in range(200) if CLUSTERS[index] == name]
        for name in range(40)
    ]
    quick = spearman_interval(estimates, true, clusters=CLUSTERS, rng=generator(1, "a"), replicates=300)
    slow = bootstrap_interval(
        lambda rows: spearman([row[0] for row in rows], [row[1] for row in rows]), items, rng=generator(1, "a"),
        replicates=300,
    )  # fmt: skip
    assert isinstance(quick, Interval)
    assert isinstance(slow, Interval)
    assert (quick.value, quick.clusters) == (slow.value, slow.clusters)
    assert (quick.low, quick.high) == pytest.approx((slow.low, slow.high), abs=0.01)
    quick = auc_interval(estimates, good, clusters=CLUSTERS, rng=generator(1, "a"), replicates=300)
    slow = bootstrap_interval(
        lambda rows: auc([row[0] for row in rows], [row[2] for row in rows]), items, rng=generator(1, "a"),
        replicates=300,
    )  # fmt: skip
    assert isinstance(quick, Interval)
    assert isinstance(slow, Interval)
    assert (quick.value, quick.low, quick.high) == pytest.approx((slow.value, slow.low, slow.high), abs=1e-9)


def test_without_clusters_to_draw_the_number_stands_alone() -> None:
    estimates, true = columns()
    one_cluster = ["photo"] * 200
    alone = spearman_interval(estimates, true, clusters=one_cluster, rng=generator(1))
    assert alone == spearman(estimates, true)
    assert auc_interval(estimates, (true > 0).tolist(), clusters=one_cluster, rng=generator(1)) == auc(
        estimates, true > 0
    )
    assert isinstance(spearman_interval([1, 1], [1, 2], clusters="ab", rng=generator(1)), Undefined)
    assert isinstance(auc_interval([1, 2], [True, True], clusters="ab", rng=generator(1)), Undefined)
    with pytest.raises(InputError):
        spearman_interval([1, 2], [1, 2], clusters="a", rng=generator(1))


@settings(deadline=None)
@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=30))
def test_ranks_follow_the_order_and_share_ties(values: list[float]) -> None:
    ranks = mean_ranks(values)
    assert ranks.mean() == pytest.approx(0.5)
    for first in range(len(values)):
        for other in range(len(values)):
            assert (values[first] < values[other]) == (ranks[first] < ranks[other])


def test_a_fit_without_the_own_cluster_joins_what_each_number_knows() -> None:
    rng = np.random.default_rng(0)
    first, second = rng.random(600), rng.random(600)
    good = (first + second + rng.normal(0, 0.3, 600) > 1).tolist()
    rows = np.column_stack([first, second]) - 0.5
    predictions = cross_fitted(rows, good, clusters=[index // 3 for index in range(600)], rng=generator(0, "parts"))
    assert predictions is not None
    alone, joint_auc = auc(first, good), auc(predictions, good)
    assert isinstance(alone, Scored)
    assert isinstance(joint_auc, Scored)
    assert joint_auc.value > alone.value + 0.05
    assert ((predictions > 0) & (predictions < 1)).all()


def test_labels_without_any_relation_promise_nothing_out_of_fold() -> None:
    rng = np.random.default_rng(2)
    rows, good = rng.random((300, 2)) - 0.5, (rng.random(300) > 0.5).tolist()
    predictions = cross_fitted(rows, good, clusters=list(range(300)), rng=generator(0, "parts"))
    assert predictions is not None
    outcome = auc(predictions, good)
    assert isinstance(outcome, Scored)
    assert outcome.value < 0.6


def test_a_cluster_never_tells_about_itself() -> None:
    """Each photograph has a label of its own that the first number gives away; without it nothing is known."""
    rng = np.random.default_rng(1)
    labels = rng.random(40) > 0.5
    clusters = [index // 10 for index in range(400)]
    rows = np.column_stack([rng.random(400), rng.random(400)]) - 0.5
    predictions = cross_fitted(
        rows, [bool(labels[name]) for name in clusters], clusters=clusters, rng=generator(0, "p")
    )
    assert predictions is not None
    outcome = auc(predictions, [bool(labels[name]) for name in clusters])
    assert isinstance(outcome, Scored)
    assert outcome.value < 0.62


def test_fits_exist_where_labels_are_alike_or_separated() -> None:
    rows = np.array([[-0.5], [0.5]] * 20)
    for good in ([True] * 40, [False] * 40, [False, True] * 20):
        coefficients = logistic_fit(rows, good)
        assert np.isfinite(coefficients).all()
        chances = logistic(rows, coefficients)
        assert ((chances > 0.5) == np.array(good)).all()
    assert cross_fitted(rows, [True] * 40, clusters=["one"] * 40, rng=generator(0)) is None
    with pytest.raises(InputError, match="no item"):
        logistic_fit(np.zeros((0, 2)), [])
