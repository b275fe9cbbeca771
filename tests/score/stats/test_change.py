"""Change under stress: the paper's APC, each sample's own, and intervals that draw whole clusters."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from auscult.errors import ErrorRecord, InputError, UsageError
from auscult.outcome import Failed, Scored, Signature, Undefined
from auscult.rng import generator
from auscult.score.stats import (
    ChangeInterval,
    Counts,
    Scores,
    apc,
    bootstrap_interval,
    change_difference,
    change_interval,
    change_intervals,
    common,
    mean_change,
    sample_changes,
)
from auscult.score.stats.few_clusters import CORRELATION, GAP
from auscult.score.stats.intervals import drawn
from auscult.score.stats.paired import sign_flips

NUMBERS = st.floats(0, 1, allow_subnormal=False)
ROWS = st.lists(st.tuples(NUMBERS, NUMBERS, NUMBERS, NUMBERS), min_size=1, max_size=12)
LEVELS = ("low", "medium", "high")


def _failed():
    return Failed(ErrorRecord(stage="score", error="cannot be read"))


def _scores(rows):
    """Scores of rows (clean, low, medium, high), samples named by their place."""
    levels = {level: {index: row[1 + k] for index, row in enumerate(rows)} for k, level in enumerate(LEVELS)}
    return Scores(clean={index: row[0] for index, row in enumerate(rows)}, levels=levels)


def _random(seed, n, *, loss=0.1, key="rows"):
    rng = generator(seed, key)
    clean = rng.uniform(0.4, 0.9, n)
    return [(c, *(c - loss * k + rng.normal(0, 0.05, 3))) for c, k in zip(clean, rng.uniform(0.5, 1.5, n), strict=True)]


def test_the_change_by_hand():
    scores = _scores([(0.8, 0.7, 0.6, 0.2), (0.6, 0.6, 0.5, 0.4)])
    changes = sample_changes(scores)
    assert [change.value for change in changes.values()] == pytest.approx([-0.3, -0.1])
    result = mean_change(scores)
    assert result.value == pytest.approx(-0.2)
    assert result.counts == Counts(n=2, failed=0, undefined=0, missing=0)
    assert mean_change(scores, variant="relative").value == pytest.approx(0.4 / 1.4)
    assert [relative.value for relative in sample_changes(scores, variant="relative").values()] == pytest.approx(
        [0.375, 1 / 6]
    )
    fields = result.signature.as_dict()
    assert (fields["metric"], fields["variant"], fields["levels"]) == ("apc", "difference", "low,medium,high")


def test_what_failed_or_is_undefined_enters_no_mean_and_is_counted():
    rows = [(0.8, 0.7, 0.6, 0.2)] * 5
    scores = _scores(rows)
    clean = {**scores.clean, 1: Undefined("empty truth"), 4: 0.0}
    low = {**scores.levels["low"], 2: _failed(), 1: _failed()}
    high = {index: value for index, value in scores.levels["high"].items() if index != 3}
    spoilt = Scores(clean=clean, levels={"low": low, "high": high})
    result = mean_change(spoilt)
    assert result.counts == Counts(n=2, failed=2, undefined=0, missing=1)
    assert result.value == pytest.approx((-0.35 + 0.45) / 2)
    changes = sample_changes(spoilt, variant="relative")
    assert list(changes) == [0, 1, 2, 3, 4]
    assert isinstance(changes[1], Failed)
    assert isinstance(changes[2], Failed)
    assert changes[3] == Undefined("not scored at high")
    assert changes[4] == Undefined("the clean score is not above 0")
    outcome = mean_change(Scores(clean={"a": _failed()}, levels={"low": {"a": 0.5, "b": 0.5}}))
    assert isinstance(outcome, Undefined)
    assert outcome.detail == {"n": 0, "failed": 1, "undefined": 0, "missing": 1}


def test_scored_values_and_plain_numbers_are_the_same():
    plain = Scores(clean={"a": 0.75}, levels={"low": {"a": 0.5}})
    with_signature = Scores(clean={"a": Scored(0.75, Signature.of(metric="j"))}, levels={"low": {"a": np.float32(0.5)}})
    assert mean_change(plain).value == mean_change(with_signature).value == -0.25


def test_one_failed_cell_of_a_table_is_no_change():
    error = _failed()
    assert apc(0.8, [0.5, error]) is error
    assert apc(Undefined("nothing"), [0.5, error]) is error
    assert apc(0.8, [0.5, Undefined("nothing")]) == Undefined("nothing")
    assert apc(0.0, [0.5], variant="relative") == Undefined("the clean score is not above 0")
    assert apc(80.0, [60.0, 20.0], variant="relative").value == 0.5


def test_bad_input_is_named():
    with pytest.raises(InputError, match="no level"):
        apc(0.5, [])
    with pytest.raises(InputError, match="sample 'a' holds nan"):
        mean_change(Scores(clean={"a": float("nan")}, levels={"low": {"a": 0.5}}))
    with pytest.raises(InputError, match="sample 'a' holds 'high'"):
        common([{"a": "high"}])
    with pytest.raises(UsageError, match="ratio"):
        apc(0.5, [0.4], variant="ratio")
    first, other = _scores([(1, 1, 1, 1)] * 3), Scores(clean={0: 1.0}, levels={"low": {0: 1.0}})
    rng = generator(1, "bad")
    with pytest.raises(InputError, match="low,medium,high and low"):
        change_difference(first, other, clusters={0: 0, 1: 1, 2: 2}, rng=rng)
    with pytest.raises(InputError, match="sample 2 has no cluster"):
        change_interval(first, clusters={0: "a", 1: "b"}, rng=rng)
    with pytest.raises(InputError, match="level is 95"):
        change_interval(first, clusters={0: 0, 1: 1, 2: 2}, rng=rng, level=95)
    with pytest.raises(InputError, match="0 replicates"):
        change_interval(first, clusters={0: 0, 1: 1, 2: 2}, rng=rng, replicates=0)


@given(st.lists(NUMBERS, min_size=1, max_size=12))
@settings(max_examples=40)
def test_no_change_is_exactly_0(values):
    scores = _scores([(value,) * 4 for value in values])
    assert mean_change(scores).value == 0.0
    assert all(change.value == 0.0 for change in sample_changes(scores).values())
    result = change_interval(
        scores, clusters={index: index for index in range(12)}, rng=generator(1, "none"), replicates=20
    )
    assert result.value == 0.0
    assert not isinstance(result, ChangeInterval), "of no spread there is no interval"


@given(ROWS, st.floats(-10, 10))
@settings(max_examples=40)
def test_a_shift_of_all_scores_changes_nothing(rows, shift):
    shifted = [tuple(value + shift for value in row) for row in rows]
    assert mean_change(_scores(shifted)).value == pytest.approx(mean_change(_scores(rows)).value, abs=1e-12)


@given(ROWS, st.randoms(use_true_random=False))
@settings(max_examples=40)
def test_the_order_of_samples_does_not_matter(rows, random):
    scores = _scores(rows)
    names = list(scores.clean)
    random.shuffle(names)
    mixed = Scores(
        clean={name: scores.clean[name] for name in names},
        levels={
            level: {name: level_scores[name] for name in reversed(names)}
            for level, level_scores in scores.levels.items()
        },
    )
    assert mean_change(mixed).value == mean_change(scores).value
    assert sample_changes(mixed) == sample_changes(scores)


@given(ROWS)
@settings(max_examples=40)
def test_the_mean_of_the_samples_is_the_change_of_the_means(rows):
    clean, *levels = np.mean(rows, axis=0)
    assert mean_change(_scores(rows)).value == pytest.approx(apc(clean, levels).value, abs=1e-12)


@pytest.mark.parametrize("variant", ["difference", "relative"])
def test_the_interval_is_that_of_drawing_the_samples_themselves(variant):
    rows = _random(3, 24)
    result = change_interval(
        _scores(rows), clusters={index: index // 3 for index in range(24)}, rng=generator(4, "same"), variant=variant,
        level=0.9, replicates=200,
    )  # fmt: skip

    def statistic(items):
        clean, *levels = np.mean(items, axis=0)
        return apc(clean, levels, variant=variant)

    plain = bootstrap_interval(
        statistic,
        [rows[start : start + 3] for start in range(0, 24, 3)],
        rng=generator(4, "same"),
        level=0.9,
        replicates=200,
    )
    assert (result.value, result.low, result.high) == pytest.approx((plain.value, plain.low, plain.high), abs=1e-12)
    assert (result.clusters, result.replicates, result.undefined) == (8, 200, 0)
    assert result.signature.as_dict()["level"] == "0.9"


def test_many_at_once_are_each_alone():
    scores_by_kind = {"fog": _scores(_random(1, 20)), "snow": _scores(_random(2, 20, loss=0.3))}
    clusters = {index: index // 2 for index in range(20)}
    all_at_once = change_intervals(scores_by_kind, clusters=clusters, rng=generator(5, "many"), replicates=100)
    for name, scores in scores_by_kind.items():
        alone = change_interval(scores, clusters=clusters, rng=generator(5, "many"), replicates=100)
        assert (all_at_once[name].value, all_at_once[name].counts) == (alone.value, alone.counts)
        assert (all_at_once[name].low, all_at_once[name].high) == pytest.approx((alone.low, alone.high), abs=1e-12)
    assert change_intervals({}, clusters={}, rng=generator(5, "many")) == {}


def test_a_kind_without_samples_spoils_no_other():
    scores_by_kind = {"fog": _scores(_random(1, 6)), "snow": Scores(clean={0: _failed()}, levels={"low": {0: 0.5}})}
    scores_by_kind["rain"] = Scores(clean={0: 0.5}, levels={"low": {0: 0.25}})
    results = change_intervals(
        scores_by_kind, clusters={index: index for index in range(6)}, rng=generator(5, "many"), replicates=50
    )
    assert isinstance(results["fog"], ChangeInterval)
    assert isinstance(results["snow"], Undefined)
    assert not isinstance(results["rain"], ChangeInterval | Undefined), "one cluster has a value and no interval"
    assert results["rain"].value == -0.25


def test_a_relative_change_that_most_draws_do_not_have_is_undefined():
    rows = [(clean, 0.0, 0.0, 0.0) for clean in (-1.2, -0.1, 0.1, 2.9, -1.6)]
    result = change_interval(
        _scores(rows),
        clusters={index: index for index in range(5)},
        rng=generator(1, "few"),
        variant="relative",
        replicates=2000,
    )
    assert result == Undefined(
        "the change is undefined in most draws", {"n": 5, "failed": 0, "undefined": 0, "missing": 0}
    )


def test_a_difference_is_paired():
    rows = _random(6, 40)
    better = [(row[0], *(value + 0.01 for value in row[1:])) for row in rows]
    clusters = {index: index // 2 for index in range(40)}
    result = change_difference(_scores(better), _scores(rows), clusters=clusters, rng=generator(7, "pair"))
    assert result.value == pytest.approx(0.01)
    assert not isinstance(result, ChangeInterval), "what makes a video hard for both cancels: there is no spread"
    assert sign_flips(result.totals).value < 0.001
    reversed_result = change_difference(_scores(rows), _scores(better), clusters=clusters, rng=generator(7, "pair"))
    assert reversed_result.value == -result.value
    assert "the first loses less" in str(result.signature)


def test_a_difference_is_on_the_samples_of_both():
    first = _scores([(0.8, 0.6, 0.6, 0.6), (0.8, 0.0, 0.0, 0.0), (0.8, 0.7, 0.7, 0.7)])
    other = _scores([(0.8, 0.7, 0.7, 0.7), (0.8, 0.7, 0.7, 0.7), (0.8, 0.7, 0.7, 0.7)])
    other.levels["low"][1] = _failed()
    result = change_difference(
        first, other, clusters={index: index for index in range(3)}, rng=generator(7, "both"), replicates=50
    )
    assert result.value == pytest.approx(-0.05)
    assert result.counts == Counts(n=2, failed=1, undefined=0, missing=0)
    nobody = Scores(clean={}, levels={level: {} for level in LEVELS})
    assert isinstance(change_difference(first, nobody, clusters={}, rng=generator(7, "both")), Undefined)


def test_draws_in_pieces_are_the_same_draws():
    sums = generator(1, "sums").uniform(size=(7, 2))
    all_draws = drawn(sums, lambda rows: rows, rng=generator(2, "d"), replicates=101)
    pieces = drawn(sums, lambda rows: rows, rng=generator(2, "d"), replicates=101, cells=30)
    assert all_draws.shape == (101, 2)
    np.testing.assert_allclose(pieces, all_draws, rtol=1e-12)


@pytest.mark.slow
def test_intervals_hold_what_they_promise():
    """Samples of one video share a loss; the true change is known; drawing samples instead would promise too much."""
    inside = np.zeros(2)
    for trial in range(300):
        rng = generator(trial, "coverage")
        video = rng.normal(-0.2, 0.1, 40)
        clean = rng.uniform(0.5, 0.9, 160)
        change = np.repeat(video, 4) + rng.normal(0, 0.03, 160)
        scores = Scores(
            clean=dict(enumerate(clean)), levels={k: dict(enumerate(clean + change * k / 2)) for k in (1, 2, 3)}
        )
        for row_index, size in enumerate((4, 1)):
            result = change_interval(
                scores,
                clusters={k: k // size for k in range(160)},
                rng=generator(trial, "draw"),
                level=0.9,
                replicates=400,
            )
            inside[row_index] += result.low <= -0.2 <= result.high
    clustered, single = inside / 300
    assert 0.84 <= clustered <= 0.95
    assert single < 0.75


def test_of_two_clips_no_interval_leaves_what_a_change_can_be():
    first = Scores(clean={0: 0.9, 1: 0.8}, levels={"low": {0: 0.1, 1: 0.7}})
    other = Scores(clean={0: 0.2, 1: 0.9}, levels={"low": {0: 0.9, 1: 0.8}})
    options = {"clusters": {0: "a", 1: "b"}, "replicates": 100}
    free = change_interval(first, rng=generator(1, "two"), **options)
    assert free.low < -1, "the t interval of two clips"
    bounded = change_interval(first, rng=generator(1, "two"), within=CORRELATION, **options)
    assert (bounded.value, bounded.low, bounded.high) == (free.value, max(free.low, -1.0), min(free.high, 1.0))
    difference = change_difference(first, other, rng=generator(1, "two"), within=GAP, **options)
    assert -2 <= difference.low < difference.value < difference.high <= 2
