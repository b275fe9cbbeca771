"""Rankings: places by hand, ties, models with different samples, and how sure a place is."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from auscult.errors import ErrorRecord, InputError, UsageError
from auscult.outcome import Failed, Undefined
from auscult.rng import generator
from auscult.score.stats import Counts, Scores, mean_change, rank_by_change, rank_by_score
from auscult.score.stats.few_clusters import widening

TABLES = st.integers(1, 5).flatmap(
    lambda models: st.lists(
        st.lists(st.integers(0, 8).map(lambda eighths: eighths / 8), min_size=models, max_size=models),
        min_size=2,
        max_size=8,
    )
)


def _models(table):
    """Models a, b, ... from rows of samples."""
    return {"abcdef"[model]: {index: row[model] for index, row in enumerate(table)} for model in range(len(table[0]))}


def _one_cluster_each(table):
    return {index: index for index in range(len(table))}


def _rank(table, **options):
    options = {"rng": generator(1, "rank"), "replicates": 100, **options}
    return rank_by_score(_models(table), clusters=_one_cluster_each(table), **options)


def _by_name(ranking):
    return {row.model: row for row in ranking.rows}


def test_the_ranking_by_hand():
    ranking = _rank([[0.5, 0.9, 0.1], [0.7, 0.9, 0.2]])
    assert [(row.model, row.place, row.place_low, row.place_high, row.first) for row in ranking.rows] == [
        ("b", 1, 1, 2, 0.77), ("a", 2, 1, 2, 0.23), ("c", 3, 3, 3, 0.0)
    ]  # fmt: skip
    assert [row.value for row in ranking.rows] == pytest.approx([0.9, 0.6, 0.15])
    assert (ranking.clusters, ranking.replicates, ranking.counts.n) == (2, 100, 2)
    assert _by_name(ranking)["a"].low == pytest.approx(0.6 - 0.1 * widening([1, 1], level=0.9))
    assert _by_name(ranking)["a"].high == pytest.approx(0.6 + 0.1 * widening([1, 1], level=0.9))
    lowest = _rank([[0.5, 0.9, 0.1], [0.7, 0.9, 0.2]], higher=False)
    assert [row.model for row in lowest.rows] == ["c", "a", "b"]
    assert "best:lowest" in str(lowest.signature)


@given(TABLES)
@settings(max_examples=30)
def test_places_and_probabilities_are_what_they_should_be(table):
    ranking = _rank(table)
    rows = ranking.rows
    assert sorted(row.model for row in rows) == sorted(_models(table))
    assert sum(row.first for row in rows) == pytest.approx(1)
    for row in rows:
        assert row.place == 1 + sum(other.value > row.value + 1e-12 for other in rows)
        assert 1 <= row.place_low <= row.place_high <= len(rows)
        assert 0 <= row.first <= 1
        assert row.low <= row.high


@given(TABLES)
@settings(max_examples=25)
def test_one_that_is_far_better_everywhere_is_first_for_sure(table):
    with_best = [[*row, 10.0 + row[0]] for row in table]  # two clusters cannot tell a smaller lead from chance
    ranking = _rank(with_best)
    best = ranking.rows[0]
    assert best.model == "abcdef"[len(table[0])]
    assert (best.place, best.place_low, best.place_high, best.first) == (1, 1, 1, 1.0)
    assert all(row.place_low >= 2 and row.first == 0 for row in ranking.rows[1:])


@given(TABLES, st.randoms(use_true_random=False))
@settings(max_examples=25)
def test_the_order_of_samples_and_models_does_not_matter_to_the_places(table, random):
    models = _models(table)
    names = list(models)
    random.shuffle(names)
    mixed = {name: dict(sorted(models[name].items(), reverse=True)) for name in names}
    ranking = rank_by_score(mixed, clusters=_one_cluster_each(table), rng=generator(1, "rank"), replicates=20)
    plain = _by_name(_rank(table, replicates=20))
    assert {row.model: (row.value, row.place) for row in ranking.rows} == {
        name: (row.value, row.place) for name, row in plain.items()
    }


def test_models_of_equal_values_share_place_and_chance():
    table = [[value, value, value - 0.25] for value in (0.1, 0.3, 0.7, 0.9, 0.5)]
    ranking = _rank(table)
    assert [(row.model, row.place, row.place_low, row.place_high) for row in ranking.rows] == [
        ("a", 1, 1, 2), ("b", 1, 1, 2), ("c", 3, 3, 3)
    ]  # fmt: skip
    assert [row.first for row in ranking.rows] == [0.5, 0.5, 0.0]


def test_close_models_are_not_sure_of_their_place():
    rng = generator(2, "close")
    table = (rng.uniform(0.3, 0.9, (40, 1)) + rng.normal(0, 0.1, (40, 3)) + [0.0, 0.005, -0.3]).tolist()
    rank_of = _by_name(_rank(table, replicates=1000, level=0.9))
    for name in "ab":
        assert (rank_of[name].place_low, rank_of[name].place_high) == (1, 2)
        assert 0.05 < rank_of[name].first < 0.95
    assert (rank_of["c"].place_low, rank_of["c"].place_high) == (3, 3)


def test_models_are_compared_on_the_samples_of_all():
    models = {
        "a": {0: 0.5, 1: 0.5, 2: 0.5, 3: 1.0},
        "b": {0: 0.6, 1: 0.4, 2: 0.8},
        "c": {0: 0.1, 1: 0.1, 2: 0.1, 4: 1.0},
    }
    models["b"][2] = Failed(ErrorRecord(stage="score", error="gone"))
    models["c"][1] = Undefined("empty truth")
    models["a"][5] = models["b"][5] = models["c"][5] = 0.25
    ranking = rank_by_score(models, clusters=dict(enumerate("uvwxyz")), rng=generator(1, "common"), replicates=20)
    assert ranking.counts == Counts(n=2, failed=1, undefined=1, missing=2)
    assert {row.model: row.value for row in ranking.rows} == pytest.approx({"b": 0.425, "a": 0.375, "c": 0.175})


def test_by_change_the_one_that_loses_least_is_first():
    clean = {index: 0.8 + 0.01 * index for index in range(6)}
    models = {
        name: Scores(clean=clean, levels={"low": {index: value - loss for index, value in clean.items()}})
        for name, loss in (("weak", 0.5), ("sturdy", 0.1), ("same", 0.1))
    }
    clusters = {index: index // 2 for index in range(6)}
    for variant in ("difference", "relative"):
        ranking = rank_by_change(models, clusters=clusters, rng=generator(1, "c"), variant=variant, replicates=50)
        assert [(row.model, row.place) for row in ranking.rows] == [("sturdy", 1), ("same", 1), ("weak", 3)]
        assert ranking.rows[0].value == mean_change(models["sturdy"], variant=variant).value
        assert ranking.signature.as_dict()["variant"] == variant
    other = Scores(clean=clean, levels={"high": clean})
    with pytest.raises(InputError, match="levels are low and high"):
        rank_by_change({**models, "other": other}, clusters=clusters, rng=generator(1, "c"))
    with pytest.raises(UsageError, match="no variant"):
        rank_by_change(models, clusters=clusters, rng=generator(1, "c"), variant="share")
    none = {"none": Scores(clean=dict.fromkeys(clean, 0.0), levels={"low": dict.fromkeys(clean, 0.0)}), **models}
    ranking = rank_by_change(none, clusters=clusters, rng=generator(1, "c"), variant="relative")
    assert ranking.reason == "a model's value is undefined"


def test_one_cluster_says_nothing_about_places():
    ranking = rank_by_score({"a": {0: 1.0}, "b": {0: 0.5}}, clusters={0: "v"}, rng=generator(1, "one"))
    assert [(row.model, row.place, row.place_low, row.first, row.low) for row in ranking.rows] == [
        ("a", 1, None, None, None), ("b", 2, None, None, None)
    ]  # fmt: skip
    assert ranking.replicates == 0


def test_nothing_to_rank():
    with pytest.raises(InputError, match="no model"):
        rank_by_score({}, clusters={}, rng=generator(1, "none"))
    outcome = rank_by_score({"a": {0: 1.0}, "b": {1: 0.5}}, clusters={0: 0, 1: 1}, rng=generator(1, "none"))
    assert outcome == Undefined(
        "no sample is scored by all models", {"n": 0, "failed": 0, "undefined": 0, "missing": 2}
    )
    with pytest.raises(InputError, match="level is 90"):
        _rank([[0.5], [0.6]], level=90)


@pytest.mark.slow
def test_place_intervals_hold_what_they_promise():
    """The true places are known; the interval of each must hold them at least as often as its level says."""
    inside, firsts = 0, []
    for trial in range(200):
        rng = generator(trial, "places")
        shared = np.repeat(rng.normal(0, 0.2, (30, 4)), 3, axis=0)
        table = 0.5 + shared + np.array([0.06, 0.04, 0.0, -0.2]) + rng.normal(0, 0.05, (90, 4))
        ranking = rank_by_score(
            _models(table.tolist()), clusters={n: n // 3 for n in range(90)}, rng=generator(trial, "d"), level=0.9,
            replicates=300,
        )  # fmt: skip
        rows = _by_name(ranking)
        inside += sum(row.place_low <= 1 + "abcd".index(name) <= row.place_high for name, row in rows.items())
        firsts.append(rows["a"].first)
    assert inside / 800 >= 0.88
    assert 0.4 < np.mean(firsts) < 0.9
