import math

import numpy as np
import pytest

from auscult.errors import InputError
from auscult.outcome import Scored, Undefined
from auscult.rng import generator
from auscult.score.stats import bootstrap_interval, coverage, rmse, rmse_video, spearman


def mean(items):
    return sum(items) / len(items)


def test_rmse_is_the_root_of_the_mean_square():
    assert rmse([1.0, 0.5, 0.0], [0.9, 0.9, 0.0]).value == pytest.approx(math.sqrt((0.01 + 0.16) / 3))
    assert rmse([0.3], [0.3]).value == 0.0


def test_rmse_video_averages_frames_before_it_squares():
    predicted, true = [1.0, 0.0, 0.4], [0.0, 1.0, 0.8]
    assert rmse_video(predicted, true, videos=["a", "a", "b"]).value == pytest.approx(math.sqrt((0 + 0.16) / 2))
    assert rmse_video(predicted, true, videos=[1, 2, 3]).value == pytest.approx(rmse(predicted, true).value)
    assert rmse_video(predicted, true, videos=[1, 2, 3]).signature.as_dict()["over"] == "videos"


def test_spearman_knows_order_only_and_shares_ranks():
    assert spearman([0.1, 0.2, 0.9], [1, 8, 9]).value == 1.0
    assert spearman([0.1, 0.2, 0.9], [9, 8, 1]).value == -1.0
    assert spearman([1, 2, 2, 4], [1, 3, 2, 4]).value == pytest.approx(0.9486832980505138)


@pytest.mark.parametrize(
    ("predicted", "true", "reason"),
    [([], [], "no items"), ([1.0], [1.0], "one item has no order"), ([1, 1], [1, 2], "all values are equal")],
)
def test_spearman_without_an_order_is_undefined(predicted, true, reason):
    assert spearman(predicted, true).reason == reason


def test_coverage_counts_the_ends_in():
    assert coverage([0.1, 0.1, 0.1], [0.5, 0.5, 0.5], [0.1, 0.5, 0.6]).value == pytest.approx(2 / 3)
    with pytest.raises(InputError, match=r"from 0\.9 to 0\.1"):
        coverage([0.9], [0.1], [0.5])


def test_nothing_is_undefined_everywhere():
    assert rmse([], []) == Undefined("no items")
    assert rmse_video([], [], videos=[]) == Undefined("no items")
    assert coverage([], [], []) == Undefined("no items")
    assert bootstrap_interval(mean, [], rng=generator(0, "t")) == Undefined("no items")


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, None])
@pytest.mark.parametrize("score", [rmse, spearman])
def test_numbers_that_are_none_are_refused_by_position(score, bad):
    with pytest.raises(InputError, match="position 1"):
        score([0.1, bad, 0.3], [0.1, 0.2, 0.3])


@pytest.mark.parametrize(
    ("predicted", "true"), [([1.0, 2.0], [1.0]), ([[1.0]], [[1.0]]), (["a"], [1.0]), ([[1.0], [1.0, 2.0]], [1.0, 2.0])]
)
def test_columns_that_do_not_fit_are_refused(predicted, true):
    with pytest.raises(InputError):
        rmse(predicted, true)


def test_the_bootstrap_draws_clusters_not_items():
    # Ten clusters of 50 equal items: the mean is only as sure as ten numbers make it.
    values = np.linspace(0.0, 1.0, 10)
    clustered = bootstrap_interval(mean, [[value] * 50 for value in values], rng=generator(3, "clusters"))
    itemwise = bootstrap_interval(mean, [[value] for value in values for _ in range(50)], rng=generator(3, "items"))
    by_hand = 2 * 2.262 * float(np.std(values, ddof=1)) / math.sqrt(10)  # the t interval of ten numbers
    assert clustered.high - clustered.low == pytest.approx(by_hand, rel=0.15)
    assert itemwise.high - itemwise.low < (clustered.high - clustered.low) / 4
    assert clustered.value == pytest.approx(0.5)
    assert clustered.low < clustered.value < clustered.high


def test_the_interval_holds_the_truth_about_as_often_as_it_says():
    hits = 0
    for trial in range(100):
        sample = generator(trial, "sample").normal(size=30)
        result = bootstrap_interval(
            mean, [[value] for value in sample], rng=generator(trial, "draw"), level=0.9, replicates=200
        )
        hits += result.low <= 0.0 <= result.high
    assert 80 <= hits <= 97


def test_the_same_generator_gives_the_same_interval_and_the_level_widens_it():
    clusters = [[float(value)] for value in range(12)]
    first = bootstrap_interval(mean, clusters, rng=generator(5, "x"))
    assert first == bootstrap_interval(mean, clusters, rng=generator(5, "x"))
    wider = bootstrap_interval(mean, clusters, rng=generator(5, "x"), level=0.99)
    assert wider.low <= first.low < first.high <= wider.high
    assert first.signature.as_dict()["level"] == "0.95"


def test_undefined_draws_are_counted_and_too_many_are_undefined():
    def spread(items):
        return Undefined("constant") if len(set(items)) == 1 else Scored(float(max(items) - min(items)), FAKE)

    result = bootstrap_interval(spread, [[0.0], [1.0], [2.0]], rng=generator(1, "s"), replicates=400)
    assert result.replicates + result.undefined == 400
    assert result.undefined == pytest.approx(400 / 9, rel=0.5)
    rare = bootstrap_interval(spread, [[0.0]] * 20 + [[1.0]], rng=generator(1, "s"), replicates=50)
    assert rare.reason == "the statistic is the same in every draw"
    assert isinstance(bootstrap_interval(spread, [[0.0], [0.0]], rng=generator(1, "s")), Undefined)


FAKE = rmse([0.0], [0.0]).signature


@pytest.mark.parametrize("options", [{"level": 0.0}, {"level": 1.0}, {"level": 95}, {"replicates": 0}])
def test_impossible_options_are_refused(options):
    with pytest.raises(InputError):
        bootstrap_interval(mean, [[0.0], [1.0]], rng=generator(1, "o"), **options)


def test_a_statistic_that_gives_nan_is_refused_and_one_cluster_is_undefined():
    with pytest.raises(InputError, match="NaN"):
        bootstrap_interval(lambda _items: math.nan, [[0.0], [1.0]], rng=generator(1, "n"))
    assert isinstance(bootstrap_interval(mean, [[0.0, 1.0]], rng=generator(1, "n")), Undefined)
