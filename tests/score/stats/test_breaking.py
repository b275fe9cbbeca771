"""The breaking point: where straight lines cross half of the clean score, and how sure that is."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from auscult.errors import ErrorRecord, InputError
from auscult.outcome import Failed, Undefined
from auscult.rng import generator
from auscult.score.stats import Counts, Scores, breaking_point, crossing
from auscult.score.stats.breaking import beyond_of

CURVES = st.tuples(st.floats(0.1, 1), *[st.floats(0, 1)] * 3)


def _scores(rows, levels=("low", "medium", "high")):
    level_scores = {level: {index: row[1 + k] for index, row in enumerate(rows)} for k, level in enumerate(levels)}
    return Scores(clean={index: row[0] for index, row in enumerate(rows)}, levels=level_scores)


def _one_cluster_each(rows):
    return {index: index for index in range(len(rows))}


@pytest.mark.parametrize(
    ("clean", "levels", "expected"),
    [
        (1.0, {1: 0.875, 3: 0.625, 5: 0.375}, 4.0),
        (0.8, {"low": 0.6, "medium": 0.2, "high": 0.0}, 2.0),
        (80.0, {"high": 0.0, "low": 60.0, "medium": 20.0}, 2.0),
        (1.0, {5: 0.0}, 2.5),
        (1.0, {0.5: 0.0, 1: 1.0}, 0.25),
        (1.0, {1: 1.0, 3: 0.5, 5: 0.5}, 3.0),
        (1.0, {1: 1.5, 3: 0.5}, 3.0),
        (1.0, {1: 0.25, 3: 0.9, 5: 0.1}, 2 / 3),
    ],
    ids=["straight", "names", "order", "one", "weak", "touches", "rises", "first"],
)
def test_the_crossing_by_hand(clean, levels, expected):
    result = crossing(clean, levels)
    assert result.value == pytest.approx(expected, rel=1e-14)
    assert result.signature.as_dict()["lost"] == "0.5"


def test_a_curve_that_never_breaks_has_no_breaking_point():
    assert crossing(1.0, {"low": 0.9, "high": 0.51}) == Undefined("not reached up to strength 5", {"strongest": 5.0})
    assert crossing(1.0, {3: 0.9}) == Undefined("not reached up to strength 3", {"strongest": 3.0})
    assert crossing(0.0, {1: 0.0}) == Undefined("the clean score is not above 0")
    assert crossing(-1.0, {1: -3.0}) == Undefined("the clean score is not above 0")


@given(st.floats(0.6, 4.9), st.floats(0.01, 100), st.sets(st.floats(0.25, 4.99), max_size=5))
@settings(max_examples=40)
def test_a_straight_line_breaks_where_it_should(where, clean, between):
    levels = {strength: clean * (1 - strength / (2 * where)) for strength in (*between, 5.0)}
    assert crossing(clean, levels).value == pytest.approx(where, rel=1e-9)


@given(CURVES, st.floats(0.01, 1000))
@settings(max_examples=40)
def test_the_unit_does_not_matter(curve, unit):
    levels = dict(zip((1, 3, 5), curve[1:], strict=True))
    scaled = crossing(unit * curve[0], {level: unit * value for level, value in levels.items()})
    plain = crossing(curve[0], levels)
    if not isinstance(plain, Undefined) and not isinstance(scaled, Undefined):
        distance = min(abs(value - curve[0] / 2) for value in curve[1:])
        assert distance < 1e-9 or scaled.value == pytest.approx(plain.value, abs=1e-6)
        assert 0 < plain.value <= 5


@given(CURVES, st.floats(0.05, 0.45), st.floats(0.5, 0.95))
@settings(max_examples=40)
def test_losing_less_comes_no_later(curve, less, more):
    levels = dict(zip((1, 3, 5), curve[1:], strict=True))
    early, later = crossing(curve[0], levels, lost=less), crossing(curve[0], levels, lost=more)
    if not isinstance(later, Undefined):
        assert early.value <= later.value


def test_the_interval_is_around_the_crossing_of_the_means():
    rng = generator(1, "curves")
    rows = [(0.8, 0.65 + noise, 0.35 + noise, 0.05 + noise) for noise in rng.normal(0, 0.05, 60)]
    result = breaking_point(_scores(rows), clusters={index: index // 2 for index in range(60)}, rng=generator(2, "b"))
    clean, *levels = np.mean(rows, axis=0)
    assert result.value == pytest.approx(crossing(clean, dict(zip((1, 3, 5), levels, strict=True))).value)
    assert result.low < result.value < result.high
    assert (result.reached, result.clusters, result.replicates) == (1.0, 30, 1000)
    assert result.counts.n == 60
    assert result.signature.as_dict()["strengths"] == "0,1,3,5"


def test_draws_that_never_break_lie_beyond_the_interval():
    rows = [(1.0, 0.9, 0.7, 0.3)] * 12 + [(1.0, 1.0, 0.9, 0.75)] * 8
    result = breaking_point(_scores(rows), clusters=_one_cluster_each(rows), rng=generator(3, "beyond"))
    assert result.value == pytest.approx(5 - 2 * 0.02 / 0.30)
    assert result.high is None
    assert result.low < result.value
    assert 0.3 < result.reached < 0.9
    hardly = [(1.0, 0.9, 0.7, 0.3)] * 10 + [(1.0, 1.0, 0.9, 0.75)] * 10
    never = breaking_point(_scores(hardly), clusters=_one_cluster_each(hardly), rng=generator(3, "beyond"))
    assert never.reason == "not reached up to strength 5"
    assert 0.1 < never.detail["reached_in_draws"] < 0.6
    assert 3 < never.detail["low"] < 5
    assert (never.detail["n"], never.detail["strongest"]) == (20, 5.0)


@pytest.mark.parametrize("strongest", [2.5, 3, 5])
def test_what_lies_beyond_lies_above_the_strongest_that_was_measured(strongest):
    levels = (1, strongest)
    broken = _scores([(1.0, 0.6, 0.3)] * 20, levels)
    closed_interval = breaking_point(
        broken, clusters=_one_cluster_each(range(20)), rng=generator(4, "closed"), replicates=200
    )
    assert (beyond_of(closed_interval), closed_interval.strongest) == (None, strongest)
    rows = [(1.0, 0.9, 0.3)] * 12 + [(1.0, 1.0, 0.75)] * 8
    open_interval = breaking_point(
        _scores(rows, levels), clusters=_one_cluster_each(rows), rng=generator(3, "open"), replicates=200
    )
    assert open_interval.high is None
    assert beyond_of(open_interval) == strongest
    never = breaking_point(
        _scores([(1.0, 0.9, 0.9)] * 9, levels), clusters=_one_cluster_each(range(9)), rng=generator(3, "never")
    )
    assert beyond_of(never) == strongest
    assert "low" not in never.detail
    alone = breaking_point(broken, clusters=dict.fromkeys(range(20), "v"), rng=generator(1, "alone"))
    assert (alone.low, alone.high, beyond_of(alone)) == (None, None, None)


def test_one_cluster_has_no_interval():
    result = breaking_point(
        _scores([(1.0, 0.75, 0.25, 0.0)] * 3), clusters=dict.fromkeys(range(3), "v"), rng=generator(1, "o")
    )
    assert (result.value, result.low, result.high, result.replicates) == (2.0, None, None, 0)


def test_clusters_that_do_not_differ_have_no_interval():
    rows = [(1.0, 0.75, 0.25, 0.0)] * 8
    result = breaking_point(_scores(rows), clusters=_one_cluster_each(rows), rng=generator(1, "same"))
    assert (result.value, result.low, result.high, result.clusters, beyond_of(result)) == (2.0, None, None, 8, None)
    assert "interval" not in result.signature.as_dict()


def test_what_failed_is_counted():
    scores = _scores([(1.0, 0.75, 0.25, 0.0)] * 4)
    scores.levels["low"][0] = Failed(ErrorRecord(stage="score", error="gone"))
    scores.clean[1] = Undefined("empty truth")
    result = breaking_point(scores, clusters=_one_cluster_each(range(4)), rng=generator(1, "f"), replicates=20)
    assert result.counts == Counts(n=2, failed=1, undefined=1, missing=0)
    outcome = breaking_point(Scores(clean={}, levels={"low": {}}), clusters={}, rng=generator(1, "f"))
    assert isinstance(outcome, Undefined)
    zero = [(0.0, 0.0, 0.0, 0.0)] * 3
    result = breaking_point(_scores(zero), clusters=_one_cluster_each(zero), rng=generator(1, "f"), replicates=20)
    assert result.reason == "the clean score is not above 0"
    assert (beyond_of(result), result.detail["n"]) == (None, 3)


def test_mostly_empty_clean_scores_have_no_interval():
    rows = [(clean, 0.0, -1.0, -1.0) for clean in (-1.2, -0.1, 0.1, 2.9, -1.6)]
    result = breaking_point(_scores(rows), clusters=_one_cluster_each(rows), rng=generator(1, "few"), replicates=2000)
    assert result == Undefined(
        "the clean score is not above 0 in most draws", {"n": 5, "failed": 0, "undefined": 0, "missing": 0}
    )


@pytest.mark.parametrize(
    ("levels", "options", "message"),
    [
        ({"dynamic": 0.5}, {}, "'dynamic' is no strength"),
        ({0: 0.5}, {}, "0 is no strength"),
        ({6: 0.5}, {}, "6 is no strength"),
        ({float("nan"): 0.5}, {}, "nan is no strength"),
        ({"low": 0.5, 1: 0.5}, {}, "each of its own strength"),
        ({}, {}, "one level or more"),
        ({1: float("inf")}, {}, "finite"),
        ({1: 0.5}, {"lost": 1.0}, "lost is 1.0"),
    ],
    ids=["name", "zero", "strong", "nan", "twice", "none", "infinite", "lost"],
)
def test_bad_input_is_named(levels, options, message):
    with pytest.raises(InputError, match=message):
        crossing(1.0, levels, **options)


@pytest.mark.parametrize("ends", [(0.3, 0.9), (0.6, 1.7), (0.7, 2.9)], ids=str)
def test_a_crossing_at_the_strongest_strength_is_not_above_it(ends):
    assert crossing(1.0, {ends[0]: 0.9, ends[1]: 0.5}).value == ends[1]


@pytest.mark.slow
def test_intervals_of_breaking_points_hold_what_they_promise():
    inside = 0
    for trial in range(300):
        rng = generator(trial, "breaking coverage")
        shared = np.repeat(rng.normal(0, 0.1, 40), 3)[:, None]
        rows = np.array([0.8, 0.7, 0.5, 0.2]) + shared * np.array([0, 0.5, 1, 1]) + rng.normal(0, 0.05, (120, 4))
        result = breaking_point(
            _scores(rows.tolist()), clusters={n: n // 3 for n in range(120)}, rng=generator(trial, "d"), level=0.9,
            replicates=400,
        )  # fmt: skip
        inside += result.low <= 3 + 2 * 0.1 / 0.3 <= result.high
    assert 0.84 <= inside / 300 <= 0.95
