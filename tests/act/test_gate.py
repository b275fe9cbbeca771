"""The search for a threshold: what it may look at, where it begins and ends, and that its promise holds."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace
from functools import cache, partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from auscult.act.gate import Bound, Clusters, CountArray, KnownMask, Search, score_of, search
from auscult.errors import UsageError
from auscult.rng import generator
from auscult.score.stats.few_clusters import cluster_upper_bound, fewest_clusters, fewest_trials, upper_bound


def _binomial(accepted: CountArray, bad: CountArray) -> float:
    return upper_bound(int(bad.sum()), int(accepted.sum()))


def _search(known_masks: list[KnownMask], *, accept_error: float = 0.05, clusters: Clusters = "one") -> Search:
    bound = Bound(upper=_binomial, fewest=lambda _: fewest_trials(accept_error))
    if clusters == "bound":
        bound = Bound(upper=cluster_upper_bound, fewest=partial(fewest_clusters, rate=accept_error))
    return search(known_masks, accept_error=accept_error, clusters=clusters, bound=bound)


def _known_masks(scores: list[float | None], bad: list[bool], clusters: list[int] | None = None) -> list[KnownMask]:
    names = clusters or list(range(len(scores)))
    return [
        KnownMask(id=f"m{index}", score=score, bad=wrong, cluster=f"p{name}")
        for index, (score, wrong, name) in enumerate(zip(scores, bad, names, strict=True))
    ]


def _clear(good: int, wrong: int) -> list[KnownMask]:
    """So many good masks with scores above 0.8, so many bad ones below 0.6."""
    high = [0.8 + 0.2 * index / good for index in range(good)]
    return _known_masks([*high, *(0.6 * index / wrong for index in range(wrong))], [False] * good + [True] * wrong)


def test_it_separates_what_is_separate() -> None:
    result = _search(_clear(200, 100))
    assert result.chosen is not None
    assert 0.55 <= result.chosen.threshold <= 0.8
    assert result.chosen.bound <= 0.05
    assert result.chosen.masks >= 200
    assert result.enough


def test_fifty_nine_good_photographs_are_enough_and_fifty_eight_are_not() -> None:
    enough, few = _search(_clear(59, 1)), _search(_known_masks([0.9] * 58, [False] * 58))
    assert enough.chosen is not None
    assert enough.chosen.tested == 59
    assert not few.enough
    assert (few.chosen, few.usable, few.needed) == (None, 58, 59)


def test_many_masks_of_few_photographs_are_few() -> None:
    for clusters in ("one", "bound"):
        result = _search(
            _known_masks([0.9] * 1000, [False] * 1000, [index % 20 for index in range(1000)]), clusters=clusters
        )
        assert not result.enough
        assert (result.usable, result.needed) == (20, 59)


def test_it_ends_at_the_first_threshold_that_cannot_be_ruled_out() -> None:
    """From 0.7 to 0.5 all are bad; below, so many are good that the lowest threshold would pass if it were tried."""
    scores = [*np.linspace(0.71, 1, 120), *np.linspace(0.5, 0.7, 12), *np.linspace(0.01, 0.49, 340)]
    result = _search(_known_masks(scores, [False] * 120 + [True] * 12 + [False] * 340))
    tried_passed = [step.passed for step in result.steps if step.tried]
    assert tried_passed == [True] * (len(tried_passed) - 1) + [False]
    assert result.chosen is not None
    assert 0.65 < result.chosen.threshold < 0.72
    assert result.steps[-1].bound <= 0.05
    assert not result.steps[-1].tried


def test_no_threshold_lies_below_the_lowest_score_seen() -> None:
    result = _search(_known_masks([0.805] * 100, [False] * 100))
    assert [step.threshold for step in result.steps] == [0.805]


def test_nothing_but_bounds_and_passing_depends_on_truth() -> None:
    known_masks = _random(1)
    inverted = [replace(mask, bad=not mask.bad) for mask in known_masks]
    for clusters in ("one", "bound"):
        first_search, other = _search(known_masks, clusters=clusters), _search(inverted, clusters=clusters)
        assert [(s.threshold, s.clusters, s.tested, s.masks) for s in first_search.steps] == [
            (s.threshold, s.clusters, s.tested, s.masks) for s in other.steps
        ]
        first = [next(step.threshold for step in search_.steps if step.tried) for search_ in (first_search, other)]
        assert first[0] == first[1]
        assert all(
            a.tested_bad + b.tested_bad == a.tested for a, b in zip(first_search.steps, other.steps, strict=True)
        )


def test_one_mask_a_photograph_speaks_and_its_bad_ones_are_not_hidden() -> None:
    known_masks = _random(2)
    for step in _search(known_masks).steps:
        assert step.tested == step.clusters
        above = [mask for mask in known_masks if mask.score is not None and mask.score >= step.threshold]
        assert step.masks == len(above)
        assert step.masks_bad == sum(mask.bad for mask in above)
        wholly = {mask.cluster for mask in above} - {mask.cluster for mask in above if not mask.bad}
        touched = {mask.cluster for mask in above if mask.bad}
        assert len(wholly) <= step.tested_bad <= len(touched)


def test_where_crowded_photographs_are_worse_one_mask_each_does_not_hide_it() -> None:
    """2 % of the photographs hold most masks, half of them bad."""
    single = _known_masks([0.9] * 490, [False] * 490)
    crowd = [
        KnownMask(id=f"c{index}", score=0.9, bad=index % 2 == 0, cluster=f"c{index // 60}") for index in range(600)
    ]
    result = _search([*single, *crowd])
    assert result.chosen is None
    assert result.steps[-1].bound <= 0.05  # one a photograph
    assert result.steps[-1].masks_bad == 300


def test_crowded_photographs_that_are_worse_are_detected_where_the_count_would_pass() -> None:
    """500 photographs of one mask, 4 bad; 20 of ten masks, 2 of them wholly bad: 24 of 700, which a count passes."""
    single = _known_masks([0.9] * 500, [index < 4 for index in range(500)])
    crowd = [KnownMask(id=f"c{index}", score=0.9, bad=index < 20, cluster=f"c{index // 10}") for index in range(200)]
    result = _search([*single, *crowd])
    assert result.chosen is not None
    assert result.chosen.masks_bad == 24
    assert result.crowded_p <= 0.1
    equal_crowd = [
        KnownMask(id=f"c{index}", score=0.9, bad=index == 0, cluster=f"c{index // 10}") for index in range(200)
    ]
    assert _search([*single, *equal_crowd]).crowded_p > 0.1
    assert _search([*single, *crowd], clusters="bound").crowded_p == 1.0


def test_one_long_name_does_not_cost_its_length_for_every_mask() -> None:
    known_masks = [*_clear(300, 100), KnownMask(id="long", score=0.9, bad=False, cluster="x" * 60_000)]
    tracemalloc.start()
    try:
        result = _search(known_masks)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert result.usable == 401
    assert peak < 8 << 20


def test_masks_without_a_score_are_never_accepted_and_never_counted() -> None:
    known_masks = [
        *_clear(80, 40),
        *(KnownMask(id=f"n{index}", score=None, bad=True, cluster=f"n{index}") for index in range(500)),
    ]
    assert _search(known_masks) == _search(_clear(80, 40))
    assert not _search([KnownMask(id="n", score=None, bad=False, cluster="n")]).enough
    assert not _search([]).enough


@pytest.mark.parametrize(
    ("row", "score"),
    [
        ({"defect": "perfect", "iou": 0.9, "iou_low": 0.7}, 0.9),
        ({"defect": "erode", "iou": 1, "target_exists": "unchecked"}, 1.0),
        ({"defect": "full_neg", "iou": 0.99}, None),
        ({"defect": "empty", "iou": None}, None),
        ({"defect": "empty", "iou": 1.0}, None),
        ({"defect": "perfect", "iou": None}, None),
        ({"defect": "perfect", "iou": 0.9, "target_exists": "no"}, None),
    ],
)
def test_what_can_be_accepted(row: dict[str, object], score: float | None) -> None:
    assert score_of(row, "iou") == score
    assert score_of({**row, "iou_low": 0.5}, "iou_low") in (None, 0.5)


masks = st.lists(
    st.tuples(st.one_of(st.none(), st.floats(0, 1)), st.booleans(), st.integers(0, 90)), min_size=0, max_size=250
)


@given(masks, st.sampled_from((0.1, 0.3)), st.sampled_from(("one", "bound")))
@settings(max_examples=15, deadline=None)
def test_what_is_chosen_passed_and_everything_before_it_did(
    drawn: list[tuple[float | None, bool, int]], accept_error: float, clusters: Clusters
) -> None:
    known_masks = _known_masks([s for s, _, _ in drawn], [b for _, b, _ in drawn], [c for _, _, c in drawn])
    result = _search(known_masks, accept_error=accept_error, clusters=clusters)
    thresholds = [step.threshold for step in result.steps]
    assert thresholds == sorted(thresholds, reverse=True)
    tried_steps = [step for step in result.steps if step.tried]
    assert all(step.passed for step in tried_steps[:-1])
    assert result.chosen == next((step for step in reversed(tried_steps) if step.passed), None)
    for step in tried_steps:
        assert not step.passed or max(step.bound, step.masks_bad / step.masks) <= accept_error
    assert search_again(known_masks, accept_error, clusters) == result


def search_again(known_masks: list[KnownMask], accept_error: float, clusters: Clusters) -> Search:
    """The same masks in another order."""
    return _search(known_masks[::-1], accept_error=accept_error, clusters=clusters)


@pytest.mark.parametrize("accept_error", [0.0, 1.0, -0.1])
def test_an_error_that_is_no_share_is_refused(accept_error: float) -> None:
    with pytest.raises(UsageError):
        search(
            _clear(5, 5), accept_error=accept_error, clusters="one", bound=Bound(upper=_binomial, fewest=lambda _: 1)
        )


def _random(seed: int) -> list[KnownMask]:
    rng = generator(seed, "gate test")
    return [
        KnownMask(id=f"{p}/{m}", score=float(rng.random()), bad=bool(rng.random() < 0.3), cluster=f"{p}")
        for p in range(150)
        for m in range(int(rng.integers(1, 6)))
    ]


@cache
def _population(kind: str) -> dict[str, list[KnownMask]]:
    """4,000 photographs, most of 1 to 9 masks. Where a photograph is hard, all its masks above a score of 0.6 are bad.

    ``level``: 5.2 % are bad at every score above 0.6, so that accepting anything there is one error too many.
    ``slope``: the share of bad ones rises as the score falls, through 5 % at about 0.8. ``crowded``: as ``level``, but
    hard photographs have more masks. ``many``: as ``level``, with 20 masks a photograph. Hard
    photographs are counted out, not drawn: a share drawn just above 5 % may come out below.
    """
    rng = generator(3, "population", kind)
    photographs: dict[str, list[KnownMask]] = {}
    for number in range(4_000):
        luck = number % 1000 / 1000
        size = int(rng.integers(5, 10)) if kind == "crowded" and luck < 0.026 else int(rng.integers(1, 6))
        size = 20 if kind == "many" else size
        scores = 1 - 0.4 * rng.random(size) if kind != "slope" else 1 - 0.6 * rng.random(size) ** 1.5
        share = {"level": 0.052, "many": 0.052, "crowded": 0.026}.get(kind, 0.0)
        limits = np.where(scores > 0.8, 0.03, 0.3) if kind == "slope" else np.full(size, share)
        photographs[f"p{number}"] = [
            KnownMask(id=f"p{number}/{index}", score=float(score), bad=bool(luck < limit), cluster=f"p{number}")
            for index, (score, limit) in enumerate(zip(scores, limits, strict=True))
        ]
    return photographs


def _over(kind: str, clusters: Clusters | None, *, splits: int = 200, size: int = 250) -> tuple[int, float]:
    """In how many splits more than 5 % of the accepted masks of the other photographs are bad; mean share accepted."""
    photographs = _population(kind)
    names = list(photographs)
    if clusters is None:  # each mask for itself
        photographs = {name: [replace(mask, cluster=mask.id) for mask in masks] for name, masks in photographs.items()}
    owned_masks = [(index, mask) for index, name in enumerate(names) for mask in photographs[name]]
    owner = np.array([index for index, _ in owned_masks])
    scores = np.array([mask.score for _, mask in owned_masks], dtype=np.float64)
    bad = np.array([mask.bad for _, mask in owned_masks])
    over, accepted = 0, 0.0
    for number in range(splits):
        order = generator(number, "split", kind).permutation(len(names))
        known_masks = [mask for index in order[:size] for mask in photographs[names[index]]]
        result = _search(known_masks, clusters=clusters or "one")
        others = ~np.isin(owner, order[:size])
        threshold = 2.0 if result.chosen is None else result.chosen.threshold
        accepted_masks = others & (scores >= threshold)
        over += bool(accepted_masks.any()) and float(bad[accepted_masks].mean()) > 0.05
        accepted += float(accepted_masks.sum() / others.sum()) / splits
    return over, accepted


# In 200 splits at most 10 may be over on average; a procedure that keeps its promise exactly stays at or below 20 in
# all but one of a thousand runs (binomial, 200 at 5 %).
MOST = 20


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("kind", ["level", "slope"])
@pytest.mark.parametrize("clusters", ["one", "bound"])
def test_over_two_hundred_splits_by_photograph_the_promise_holds(kind: str, clusters: Clusters) -> None:
    over, accepted = _over(kind, clusters)
    assert over <= MOST
    if kind == "slope":
        assert accepted > (0.03 if clusters == "one" else 0.02)  # and it is not kept by accepting nothing


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_where_crowded_photographs_are_worse_the_cluster_bound_holds() -> None:
    assert _over("crowded", "bound")[0] <= MOST


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_masks_of_a_photograph_counted_each_for_itself_would_break_the_promise() -> None:
    """That the test above can fail: the same procedure, told that every mask is a photograph of its own."""
    assert _over("many", None)[0] > MOST
    assert _over("many", "one")[0] <= MOST
