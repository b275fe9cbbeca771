"""Quantities of judges of separated sounds against truth."""

from __future__ import annotations

import numpy as np
import pytest

from auscult.outcome import Undefined
from auscult.rng import generator
from auscult.score.judges import ClusterDraws, JudgeColumns, TruthColumns, sounds, with_interval

TRUE = np.array([1.0, 2.0, 3.0, 4.0, 4.4, 5.0])
CLUSTERS = np.array(list("aabbcc"), dtype=object)
MIXTURES = tuple("aabbcc")


def columns(scores: list[float]) -> tuple[JudgeColumns, TruthColumns]:
    given = np.array(scores)
    return JudgeColumns(iou=given, low=given - 0.5, high=given + 0.5), TruthColumns(iou=TRUE, cluster=CLUSTERS)


def test_pearson_is_that_of_numpy_and_leaves_out_what_has_no_score() -> None:
    scores = [1.5, 1.0, 3.5, 3.0, np.nan, 4.0]
    there = ~np.isnan(scores)
    found = sounds.pearson(*columns(scores))
    assert found.outcome.value == pytest.approx(np.corrcoef(np.array(scores)[there], TRUE[there])[0, 1])
    assert found.n == 5
    draws = ClusterDraws.of(found.clusters, rng=lambda: generator(0, "test"), replicates=200)
    whole = with_interval(found.outcome, draws.values(found), clusters=3, within=found.within)
    assert whole.low <= whole.value <= whole.high
    assert isinstance(sounds.pearson(*columns([3.0] * 6)).outcome, Undefined)
    assert isinstance(sounds.pearson(*columns([3.0 + 1e-9 * at for at in range(6)])).outcome, Undefined)


def test_only_pairs_of_one_mixture_that_are_apart_are_counted() -> None:
    found = sounds.pairs_in_order(*columns([2.0, 1.0, 1.0, 5.0, 3.0, 3.0]), mixtures=MIXTURES)
    assert (found.n, found.outcome.value) == (3, pytest.approx(1.5 / 3))  # wrong, right, equal
    close = sounds.pairs_in_order(*columns([2.0, 1.0, 1.0, 5.0, 3.0, 3.0]), mixtures=MIXTURES, apart=1.0)
    assert (close.n, close.outcome.value) == (2, pytest.approx(0.5))
    alone = sounds.pairs_in_order(*columns([1.0] * 6), mixtures=range(6))
    assert isinstance(alone.outcome, Undefined)


def test_rmse_and_width_are_in_points() -> None:
    predicted, truth = columns(list(TRUE + 2))
    assert sounds.rmse(predicted, truth).outcome.value == pytest.approx(2.0)
    assert sounds.width(predicted, truth).outcome.value == pytest.approx(1.0)
    assert isinstance(sounds.width(JudgeColumns(iou=TRUE), truth).outcome, Undefined)
