"""The bound over clusters: it holds whatever happens inside a cluster, by enumeration and by drawing."""

from __future__ import annotations

from itertools import combinations_with_replacement
from math import factorial, prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from auscult.errors import InputError
from auscult.rng import generator
from auscult.score.stats.few_clusters import cluster_upper_bound, fewest_clusters, fewest_trials, upper_bound

counts = st.lists(
    st.integers(0, 6).flatmap(lambda items: st.tuples(st.just(items), st.integers(0, items))), min_size=1, max_size=60
)


def _bound(pairs: list[tuple[int, int]], *, confidence: float = 0.95) -> float:
    return cluster_upper_bound([a for a, _ in pairs], [b for _, b in pairs], confidence=confidence)


def test_by_enumeration_it_lies_below_the_true_rate_no_oftener_than_promised() -> None:
    """Eight clusters of three kinds: one good mask, four good ones, four of which all are bad."""
    kinds = {(1, 0): 0.3, (4, 0): 0.4, (4, 4): 0.3}
    rate = sum(p * b for (_, b), p in kinds.items()) / sum(p * a for (a, _), p in kinds.items())
    missed, total = 0.0, 0.0
    for drawn_clusters in combinations_with_replacement(kinds, 8):
        ways = factorial(8) // prod(factorial(drawn_clusters.count(kind)) for kind in kinds)
        chance = ways * prod(kinds[kind] for kind in drawn_clusters)
        total += chance
        if cluster_upper_bound([a for a, _ in drawn_clusters], [b for _, b in drawn_clusters], confidence=0.8) < rate:
            missed += chance
    assert total == pytest.approx(1)
    assert missed <= 0.2


def test_crowded_clusters_that_are_worse_do_not_fool_it() -> None:
    """A twelfth of the photographs hold half of the masks, and two in three of the bad ones."""
    rng = generator(1, "crowded")
    missed = 0
    for _ in range(200):
        crowded = rng.random(300) < 0.08
        items = np.where(crowded, 12, 1)
        bad = np.where(crowded, 12 * (rng.random(300) < 0.0795), (rng.random(300) < 0.031)).astype(int)
        rate = (0.08 * 12 * 0.0795 + 0.92 * 0.031) / (0.08 * 12 + 0.92)
        missed += cluster_upper_bound(items, bad) < rate
    assert missed <= 200 * 0.05 + 3.1 * (200 * 0.05 * 0.95) ** 0.5


@given(counts)
@settings(max_examples=25, deadline=None)
def test_a_further_bad_mask_never_helps(pairs: list[tuple[int, int]]) -> None:
    bound = _bound(pairs)
    assert 0 <= bound <= 1
    for index, (items, bad) in enumerate(pairs):
        if bad < items:
            assert _bound([*pairs[:index], (items, bad + 1), *pairs[index + 1 :]]) >= bound - 1e-9


@pytest.mark.parametrize("size", [1, 3, 20])
def test_clusters_of_one_size_need_as_many_as_single_masks(size: int) -> None:
    assert fewest_clusters([size] * 5, 0.05) == fewest_trials(0.05) == 59
    assert cluster_upper_bound([size] * 59, [0] * 59) <= 0.05
    assert cluster_upper_bound([size] * 58, [0] * 58) > 0.05


@given(st.lists(st.integers(1, 9), min_size=1, max_size=8), st.sampled_from((0.05, 0.1, 0.3)))
@settings(max_examples=20, deadline=None)
def test_the_fewest_clusters_are_enough(sizes: list[int], rate: float) -> None:
    n_needed = fewest_clusters(sizes, rate)
    repeats = -(-n_needed // len(sizes))
    assert cluster_upper_bound(sizes * repeats, [0] * (len(sizes) * repeats)) <= rate + 1e-9


def test_on_single_masks_it_is_the_exact_bound() -> None:
    for trials, events in ((300, 3), (300, 6), (1000, 20), (1000, 34)):
        bound = cluster_upper_bound([1] * trials, [1] * events + [0] * (trials - events))
        assert bound == upper_bound(events, trials)


@pytest.mark.parametrize("pair", [([1], [2]), ([1], [-1]), ([1, 1], [0]), ([float("nan")], [0])])
def test_impossible_counts_are_refused(pair: tuple[list[float], list[float]]) -> None:
    with pytest.raises(InputError):
        cluster_upper_bound(*pair)


def test_nothing_counted_says_nothing() -> None:
    assert cluster_upper_bound([], []) == cluster_upper_bound([0, 0], [0, 0]) == 1
    with pytest.raises(InputError):
        fewest_clusters([0], 0.05)
    for wrong in (0.0, 1.0):
        with pytest.raises(InputError):
            cluster_upper_bound([1], [0], confidence=wrong)
