"""Statistics over several data sets: each counts alike, draws are within each, a single cluster leaves no interval."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from auscult.errors import InputError
from auscult.outcome import Undefined
from auscult.rng import generator
from auscult.score.stats import Counts, Scores, change_interval, rank_by_change, rank_by_score
from auscult.score.stats.change import change_fields, change_sums, changes_of
from auscult.score.stats.few_clusters import widening
from auscult.score.stats.ranking import (
    DataSet,
    Stratum,
    interval_over,
    over_strata,
    rank_by_change_over,
    rank_by_score_over,
)

SETS = st.dictionaries(
    st.sampled_from("abc"), st.lists(st.floats(0, 1), min_size=1, max_size=6), min_size=1, max_size=3
)


def stratum(values, *, key="x", per_cluster=1):
    """Samples of a mean, ``each`` to a cluster."""
    values = np.asarray(values, dtype=float)
    return Stratum(
        samples=range(len(values)),
        columns=np.stack([values, np.ones_like(values)], axis=1),
        clusters={index: index // per_cluster for index in range(len(values))},
        rng=generator(1, "strata", key),
        counts=Counts(n=len(values), failed=0, undefined=0, missing=0),
    )


def mean(sums):
    return sums[:, :1] / sums[:, 1:]


@given(SETS)
@settings(max_examples=40)
def test_every_data_set_counts_alike_however_many_samples_it_has(sets):
    result = over_strata({name: stratum(values) for name, values in sets.items()}, mean, replicates=5)
    assert result.values[0] == pytest.approx(np.mean([np.mean(values) for values in sets.values()]))
    doubled = {name: stratum([*values, *values] if name == "a" else values) for name, values in sets.items()}
    assert over_strata(doubled, mean, replicates=5).values[0] == pytest.approx(result.values[0])
    assert result.single_cluster == tuple(name for name, values in sets.items() if len(values) == 1)
    assert (result.draws is None) == bool(result.single_cluster)
    assert result.counts.n == sum(map(len, sets.values()))


def test_draws_are_of_whole_clusters_within_each_data_set():
    first, second = [0.1, 0.2, 0.6, 0.7], [0.0, 1.0, 0.5]
    result = over_strata(
        {"a": stratum(first, key="a", per_cluster=2), "b": stratum(second, key="b")}, mean, replicates=200
    )
    of_first = np.array([0.15, 0.65])[generator(1, "strata", "a").integers(2, size=(200, 2))].mean(axis=1)
    of_second = np.array(second)[generator(1, "strata", "b").integers(3, size=(200, 3))].mean(axis=1)
    wide = 0.4 + widening([2, 2]) * (of_first - 0.4), 0.5 + widening([1, 1, 1]) * (of_second - 0.5)
    assert result.draws[:, 0] == pytest.approx(sum(wide) / 2)
    assert result.clusters == 5


def scores(seed, count=12):
    rng = np.random.default_rng(seed)
    low, high = ({index: float(value) for index, value in enumerate(rng.uniform(0, 1, count))} for _ in range(2))
    return Scores(clean=dict.fromkeys(range(count), 0.8), levels={"low": low, "high": high})


def test_one_data_set_is_as_without():
    first, clusters = scores(3), {index: index // 2 for index in range(12)}
    alone = change_interval(first, clusters=clusters, rng=generator(2, "one"))
    values = np.array([list(column.values()) for column in first.columns])
    part = Stratum(
        samples=range(12), columns=change_sums(values), clusters=clusters, rng=generator(2, "one"),
        counts=Counts(n=12, failed=0, undefined=0, missing=0),
    )  # fmt: skip
    result = interval_over(
        {"x": part}, lambda sums: changes_of(sums, "difference"), fields=change_fields(first, "difference")
    )
    assert result == alone
    models = {"m": scores(4), "n": scores(5)}
    ranked = rank_by_change(models, clusters=clusters, rng=generator(2, "rank"))
    over = rank_by_change_over({"x": DataSet(models=models, clusters=clusters, rng=generator(2, "rank"))})
    assert over == ranked


def ranked(seed, *, clips=(6, 9)):
    sets = {}
    for name, count in zip("ab", clips, strict=True):
        rng = np.random.default_rng([seed, count])
        models = {model: dict(enumerate(rng.uniform(0, 1, count).tolist())) for model in "mno"}
        clusters = {index: index for index in range(count)}
        sets[name] = DataSet(models=models, clusters=clusters, rng=generator(seed, "ranked", name))
    return sets


@pytest.mark.parametrize("seed", range(4))
def test_places_over_data_sets_are_those_of_the_means(seed):
    sets = ranked(seed)
    ranking = rank_by_score_over(sets)
    means = {
        model: np.mean([np.mean(list(data_set.models[model].values())) for data_set in sets.values()])
        for model in "mno"
    }
    assert [row.model for row in ranking.rows] == sorted(means, key=means.__getitem__, reverse=True)
    assert [row.value for row in ranking.rows] == pytest.approx(sorted(means.values(), reverse=True))
    assert sum(row.first for row in ranking.rows) == pytest.approx(1)
    assert all(row.place_low <= row.place <= row.place_high for row in ranking.rows)
    assert (ranking.counts.n, ranking.clusters, ranking.single_cluster) == (15, 15, ())
    assert "each alike" in str(ranking.signature)
    reversed_ranking = rank_by_score_over(dict(reversed(ranked(seed).items())))
    assert [(row.model, row.place_low, row.place_high, row.first) for row in reversed_ranking.rows] == [
        (row.model, row.place_low, row.place_high, row.first) for row in ranking.rows
    ]


def test_a_better_model_on_a_small_data_set_weighs_as_much_as_on_a_large_one():
    sets = ranked(1, clips=(2, 40))
    small = {"m": {0: 1.0, 1: 1.0}, "n": {0: 0.0, 1: 0.0}}
    large = {"m": dict.fromkeys(range(40), 0.4), "n": dict.fromkeys(range(40), 0.6)}
    ranking = rank_by_score_over(
        {name: DataSet(models=models, clusters=sets[name].clusters, rng=sets[name].rng)
         for name, models in (("a", small), ("b", large))}
    )  # fmt: skip
    assert [(row.model, row.first) for row in ranking.rows] == [("m", 1.0), ("n", 0.0)]
    joined_models = {
        model: {**{f"s{index}": value for index, value in small[model].items()}, **large[model]} for model in "mn"
    }
    alone = rank_by_score(
        joined_models, clusters={name: name for name in joined_models["m"]}, rng=generator(1, "pooled")
    )
    assert alone.rows[0].model == "n"


def test_a_single_cluster_leaves_places_without_interval():
    ranking = rank_by_score_over(ranked(1, clips=(1, 9)))
    assert ranking.single_cluster == ("a",)
    assert {(row.place_low, row.place_high, row.first, row.low) for row in ranking.rows} == {(None, None, None, None)}
    assert "interval" not in str(ranking.signature)


def test_what_cannot_be_joined_is_refused_or_undefined():
    with pytest.raises(InputError, match="no data set"):
        over_strata({}, mean)
    with pytest.raises(InputError, match="'a' has no sample"):
        over_strata({"a": stratum([])}, mean)
    sets = ranked(1)
    other = DataSet(models={"m": {}, "z": {}}, clusters={}, rng=generator(1, "other"))
    with pytest.raises(InputError, match="c has the models m, z"):
        rank_by_score_over({**sets, "c": other})
    with pytest.raises(InputError, match="no model to rank"):
        rank_by_score_over({})
    disjoint = DataSet(
        models={"m": {0: 1.0}, "n": {1: 1.0}, "o": {0: 1.0}}, clusters={0: 0, 1: 1}, rng=generator(1, "a")
    )
    outcome = rank_by_score_over({**sets, "c": disjoint})
    assert isinstance(outcome, Undefined)
    assert outcome.reason == "no sample is scored by all models on c"
    undefined = interval_over({"a": stratum([0.0, 0.0])}, lambda sums: np.full((len(sums), 1), np.nan), fields={})
    assert isinstance(undefined, Undefined)


def test_intervals_over_data_sets_hold_what_they_promise():
    n_covered = 0
    for trial in range(300):
        rng = generator(trial, "strata coverage")
        parts = {
            "a": stratum(rng.normal(0.2, 0.3, 40), key=f"a{trial}"),
            "b": stratum(rng.normal(0.6, 0.1, 25), key=f"b{trial}"),
        }
        result = interval_over(parts, mean, fields={}, replicates=400)
        n_covered += result.low <= 0.4 <= result.high
    assert 0.91 <= n_covered / 300 <= 0.98
