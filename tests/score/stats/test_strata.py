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


def stratum(values, *, key="x", each=1):
    """Samples of a mean, ``each`` to a cluster."""
    values = np.asarray(values, dtype=float)
    return Stratum(
        samples=range(len(values)),
        columns=np.stack([values, np.ones_like(values)], axis=1),
        clusters={at: at // each for at in range(len(values))},
        rng=generator(1, "strata", key),
        counts=Counts(n=len(values), failed=0, undefined=0, missing=0),
    )


def mean(sums):
    return sums[:, :1] / sums[:, 1:]


@given(SETS)
@settings(max_examples=40)
def test_every_data_set_counts_alike_however_many_samples_it_has(sets):
    told = over_strata({name: stratum(values) for name, values in sets.items()}, mean, replicates=5)
    assert told.values[0] == pytest.approx(np.mean([np.mean(values) for values in sets.values()]))
    doubled = {name: stratum([*values, *values] if name == "a" else values) for name, values in sets.items()}
    assert over_strata(doubled, mean, replicates=5).values[0] == pytest.approx(told.values[0])
    assert told.lone == tuple(name for name, values in sets.items() if len(values) == 1)
    assert (told.draws is None) == bool(told.lone)
    assert told.counts.n == sum(map(len, sets.values()))


def test_draws_are_of_whole_clusters_within_each_data_set():
    first, second = [0.1, 0.2, 0.6, 0.7], [0.0, 1.0, 0.5]
    told = over_strata({"a": stratum(first, key="a", each=2), "b": stratum(second, key="b")}, mean, replicates=200)
    of_first = np.array([0.15, 0.65])[generator(1, "strata", "a").integers(2, size=(200, 2))].mean(axis=1)
    of_second = np.array(second)[generator(1, "strata", "b").integers(3, size=(200, 3))].mean(axis=1)
    wide = 0.4 + widening([2, 2]) * (of_first - 0.4), 0.5 + widening([1, 1, 1]) * (of_second - 0.5)
    assert told.draws[:, 0] == pytest.approx(sum(wide) / 2)
    assert told.clusters == 5


def scores(seed, count=12):
    rng = np.random.default_rng(seed)
    low, high = ({at: float(value) for at, value in enumerate(rng.uniform(0, 1, count))} for _ in range(2))
    return Scores(clean=dict.fromkeys(range(count), 0.8), levels={"low": low, "high": high})


def test_one_data_set_is_as_without():
    one, clusters = scores(3), {at: at // 2 for at in range(12)}
    alone = change_interval(one, clusters=clusters, rng=generator(2, "one"))
    values = np.array([list(column.values()) for column in one.columns])
    part = Stratum(
        samples=range(12), columns=change_sums(values), clusters=clusters, rng=generator(2, "one"),
        counts=Counts(n=12, failed=0, undefined=0, missing=0),
    )  # fmt: skip
    told = interval_over(
        {"x": part}, lambda sums: changes_of(sums, "difference"), fields=change_fields(one, "difference")
    )
    assert told == alone
    models = {"m": scores(4), "n": scores(5)}
    ranked = rank_by_change(models, clusters=clusters, rng=generator(2, "rank"))
    over = rank_by_change_over({"x": DataSet(models=models, clusters=clusters, rng=generator(2, "rank"))})
    assert over == ranked


def ranked(seed, *, clips=(6, 9)):
    sets = {}
    for name, count in zip("ab", clips, strict=True):
        rng = np.random.default_rng([seed, count])
        models = {model: dict(enumerate(rng.uniform(0, 1, count).tolist())) for model in "mno"}
        own = {at: at for at in range(count)}
        sets[name] = DataSet(models=models, clusters=own, rng=generator(seed, "ranked", name))
    return sets


@pytest.mark.parametrize("seed", range(4))
def test_places_over_data_sets_are_those_of_the_means(seed):
    sets = ranked(seed)
    told = rank_by_score_over(sets)
    means = {model: np.mean([np.mean(list(one.models[model].values())) for one in sets.values()]) for model in "mno"}
    assert [row.model for row in told.rows] == sorted(means, key=means.__getitem__, reverse=True)
    assert [row.value for row in told.rows] == pytest.approx(sorted(means.values(), reverse=True))
    assert sum(row.first for row in told.rows) == pytest.approx(1)
    assert all(row.place_low <= row.place <= row.place_high for row in told.rows)
    assert (told.counts.n, told.clusters, told.lone) == (15, 15, ())
    assert "each alike" in str(told.signature)
    turned = rank_by_score_over(dict(reversed(ranked(seed).items())))
    assert [(row.model, row.place_low, row.place_high, row.first) for row in turned.rows] == [
        (row.model, row.place_low, row.place_high, row.first) for row in told.rows
    ]


def test_a_better_model_on_a_small_data_set_weighs_as_much_as_on_a_large_one():
    sets = ranked(1, clips=(2, 40))
    small = {"m": {0: 1.0, 1: 1.0}, "n": {0: 0.0, 1: 0.0}}
    large = {"m": dict.fromkeys(range(40), 0.4), "n": dict.fromkeys(range(40), 0.6)}
    told = rank_by_score_over(
        {name: DataSet(models=models, clusters=sets[name].clusters, rng=sets[name].rng)
         for name, models in (("a", small), ("b", large))}
    )  # fmt: skip
    assert [(row.model, row.first) for row in told.rows] == [("m", 1.0), ("n", 0.0)]
    pooled = {model: {**{f"s{at}": value for at, value in small[model].items()}, **large[model]} for model in "mn"}
    alone = rank_by_score(pooled, clusters={name: name for name in pooled["m"]}, rng=generator(1, "pooled"))
    assert alone.rows[0].model == "n"


def test_a_single_cluster_leaves_places_without_interval():
    told = rank_by_score_over(ranked(1, clips=(1, 9)))
    assert told.lone == ("a",)
    assert {(row.place_low, row.place_high, row.first, row.low) for row in told.rows} == {(None, None, None, None)}
    assert "interval" not in str(told.signature)


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
    apart = DataSet(models={"m": {0: 1.0}, "n": {1: 1.0}, "o": {0: 1.0}}, clusters={0: 0, 1: 1}, rng=generator(1, "a"))
    told = rank_by_score_over({**sets, "c": apart})
    assert isinstance(told, Undefined)
    assert told.reason == "no sample is scored by all models on c"
    lost = interval_over({"a": stratum([0.0, 0.0])}, lambda sums: np.full((len(sums), 1), np.nan), fields={})
    assert isinstance(lost, Undefined)


def test_intervals_over_data_sets_hold_what_they_promise():
    held = 0
    for trial in range(300):
        rng = generator(trial, "strata coverage")
        parts = {
            "a": stratum(rng.normal(0.2, 0.3, 40), key=f"a{trial}"),
            "b": stratum(rng.normal(0.6, 0.1, 25), key=f"b{trial}"),
        }
        told = interval_over(parts, mean, fields={}, replicates=400)
        held += told.low <= 0.4 <= told.high
    assert 0.91 <= held / 300 <= 0.98
