"""Conformal quantiles of clustered scores: known cases, laws, and the coverage they promise."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from auscult.errors import InputError
from auscult.outcome import Undefined
from auscult.rng import generator
from auscult.score.stats.conformal import clustered_quantile, conformal_quantile, left_out_coverage

SCORES = st.lists(st.tuples(st.integers(0, 40), st.sampled_from("abcdefghijklmnop")), min_size=1, max_size=60)


def columns(rows):
    return [float(score) for score, _ in rows], [name for _, name in rows]


@given(st.lists(st.integers(0, 1000), min_size=9, max_size=80), st.sampled_from([0.5, 0.8, 0.9]))
def test_with_one_item_a_cluster_it_is_the_classical_rank(scores, level):
    rank = math.ceil(level * (len(scores) + 1) - 1e-9)
    expected = sorted(scores)[rank - 1] if rank <= len(scores) else None
    found = conformal_quantile(scores, range(len(scores)), level=level)
    assert isinstance(found, Undefined) if expected is None else found.value == expected


def test_a_cluster_weighs_the_same_however_many_items_it_has():
    few = clustered_quantile([1, 2, 9], ["a", "b", "c"], level=0.6).value
    many = clustered_quantile([1] * 50 + [2] + [9] * 7, ["a"] * 50 + ["b"] + ["c"] * 7, level=0.6).value
    assert few == many == 2.0


@given(SCORES, st.floats(0.05, 0.95), st.floats(0.05, 0.95))
def test_a_higher_level_never_reaches_less(rows, one, other):
    scores, clusters = columns(rows)
    low, high = sorted((one, other))
    assert (
        clustered_quantile(scores, clusters, level=low).value <= clustered_quantile(scores, clusters, level=high).value
    )


@given(SCORES, st.sampled_from([0.5, 0.75, 0.9]))
def test_the_guarantee_never_reaches_less_than_the_plain_quantile(rows, level):
    scores, clusters = columns(rows)
    guarded = conformal_quantile(scores, clusters, level=level)
    if isinstance(guarded, Undefined):
        assert len(set(clusters)) / (len(set(clusters)) + 1) < level
    else:
        assert guarded.value >= clustered_quantile(scores, clusters, level=level).value
        assert guarded.value in scores


@given(SCORES, st.sampled_from([0.5, 0.9]))
def test_at_least_the_level_lies_within(rows, level):
    scores, clusters = columns(rows)
    reach = clustered_quantile(scores, clusters, level=level).value
    by_cluster = [
        np.mean([score <= reach for score, name in zip(scores, clusters, strict=True) if name == own])
        for own in set(clusters)
    ]
    assert np.mean(by_cluster) >= level - 1e-9


def test_eight_clusters_are_too_few_for_ninety_percent():
    found = conformal_quantile(range(8), range(8), level=0.9)
    assert isinstance(found, Undefined)
    assert dict(found.detail) == {"clusters": 8, "level": 0.9}
    assert conformal_quantile(range(9), range(9), level=0.9).value == 8.0


def test_it_covers_new_clusters_on_average():
    """Scores with a strong share of the cluster: the guarantee holds, the plain quantile falls short of it."""
    rng = generator(5, "conformal")
    covered, plain, told = [], [], []
    for _ in range(250):
        shift = rng.exponential(1.0, 15)
        sizes = rng.integers(1, 12, 15)
        clusters = np.repeat(np.arange(15), sizes)
        scores = shift[clusters] + 0.3 * rng.exponential(1.0, len(clusters))
        new = rng.exponential(1.0, 40) + 0.3 * rng.exponential(1.0, 40)
        covered.append(np.mean(new <= conformal_quantile(scores, clusters.tolist()).value))
        plain.append(np.mean(new <= clustered_quantile(scores, clusters.tolist()).value))
        told.append(left_out_coverage(scores, clusters.tolist()).value)
    assert np.mean(covered) >= 0.9
    assert np.mean(plain) < np.mean(covered) - 0.01
    assert np.mean(told) == pytest.approx(np.mean(plain), abs=0.02)


def test_what_is_left_out_is_counted_by_cluster():
    # without `b` (score 5) the others reach 1 and miss it; without one of the others the rest reach at least 1
    assert left_out_coverage([1, 1, 1, 5], ["a", "c", "d", "b"], level=0.6).value == 0.75
    assert left_out_coverage([1, 2], ["a", "a"]) == Undefined("one cluster says nothing about others")


def test_nothing_is_undefined():
    for function in (clustered_quantile, conformal_quantile, left_out_coverage):
        assert function([], []) == Undefined("no items")


@pytest.mark.parametrize(
    ("scores", "clusters", "level", "message"),
    [
        ([1.0, math.nan], ["a", "b"], 0.9, "position 1"),
        ([1.0], ["a", "b"], 0.9, "1 scores and 2 clusters"),
        ([1.0], ["a"], 1.0, r"level is 1\.0"),
    ],
)
def test_what_is_no_score_is_refused(scores, clusters, level, message):
    with pytest.raises(InputError, match=message):
        clustered_quantile(scores, clusters, level=level)
