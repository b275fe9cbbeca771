"""The mean over models and data sets: every pair alike, and an interval of clips drawn within each data set."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from auscult.errors import ErrorRecord
from auscult.outcome import Failed, Undefined
from auscult.rng import generator
from auscult.score.stats.change import Change, ChangeInterval
from auscult.suites.core.data_sets import mean_over

VALUES = st.lists(st.floats(-1, 1), min_size=1, max_size=6)
SETS = st.lists(st.lists(VALUES, min_size=1, max_size=3), min_size=1, max_size=3)


def draws(seed: int) -> Callable[[str], np.random.Generator]:
    """The generator of each data set's draws."""
    return partial(generator, seed, "r2", "bootstrap", "joined")


@given(data_sets=SETS)
@settings(max_examples=15, deadline=None)
def test_every_model_on_every_data_set_counts_alike(data_sets: list[list[list[float]]]) -> None:
    parts = {str(name): [dict(enumerate(values)) for values in models] for name, models in enumerate(data_sets)}
    clusters = {name: {case: case // 2 for case in range(6)} for name in parts}
    overall = mean_over(parts, clusters, rng=draws(1), replicates=20)
    expected = np.mean([np.mean(values) for models in data_sets for values in models])
    assert overall.value == pytest.approx(expected, abs=1e-12)
    reordered = mean_over(dict(reversed(parts.items())), clusters, rng=draws(1), replicates=20)
    assert reordered.value == pytest.approx(overall.value, abs=1e-12)
    ends = [(getattr(outcome, "low", None), getattr(outcome, "high", None)) for outcome in (overall, reordered)]
    assert ends[0] == pytest.approx(ends[1], abs=1e-12) or ends == [(None, None)] * 2


def test_a_cluster_is_a_clip_within_its_data_set() -> None:
    """Two clips of equal values: no draw differs, though the data sets and the cases do."""
    parts = {"a": [{0: 0.5, 1: -0.5, 2: 0.5, 3: -0.5}], "b": [{0: 0.25, 1: 0.25}]}
    clusters = {"a": {0: "x", 1: "x", 2: "y", 3: "y"}, "b": {0: "x", 1: "y"}}
    overall = mean_over(parts, clusters, rng=draws(3))
    assert isinstance(overall, Change)  # no spread, no interval
    assert overall.value == 0.125
    by_case = mean_over(parts, {"a": {case: case for case in range(4)}, "b": {0: 0, 1: 1}}, rng=draws(3))
    assert isinstance(by_case, ChangeInterval)
    assert by_case.low < 0.0
    assert by_case.high > 0.25


def test_one_clip_gives_no_interval() -> None:
    overall = mean_over({"a": [{0: 0.5}], "b": [{0: 0.0, 1: 1.0}]}, {"a": {0: 0}, "b": {0: 0, 1: 1}}, rng=draws(0))
    assert overall.value == 0.5
    assert not hasattr(overall, "low")


def test_what_failed_is_counted_and_a_model_without_scores_is_in_no_mean() -> None:
    failed = Failed(ErrorRecord(stage="predict", error="no answer"))
    parts = {"a": [{0: 0.5, 1: failed, 2: Undefined("nothing")}, {0: failed, 1: failed, 2: failed}]}
    overall = mean_over(parts, {"a": {0: 0, 1: 1, 2: 2}}, rng=draws(0))
    assert overall.value == 0.5
    assert (overall.counts.n, overall.counts.failed, overall.counts.undefined) == (1, 4, 1)
    none = mean_over({"a": [{0: failed}]}, {"a": {0: 0}}, rng=draws(0))
    assert isinstance(none, Undefined)
    assert none.detail["failed"] == 1
