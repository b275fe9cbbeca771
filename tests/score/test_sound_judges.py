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
    score_values = np.array(scores)
    return JudgeColumns(iou=score_values, low=score_values - 0.5, high=score_values + 0.5), TruthColumns(
        iou=TRUE, cluster=CLUSTERS
    )


def test_pearson_is_that_of_numpy_and_leaves_out_what_has_no_score() -> None:
    scores = [1.5, 1.0, 3.5, 3.0, np.nan, 4.0]
    is_scored = ~np.isnan(scores)
    result = sounds.pearson(*columns(scores))
    assert result.outcome.value == pytest.approx(np.corrcoef(np.array(scores)[is_scored], TRUE[is_scored])[0, 1])
    assert result.n == 5
    draws = ClusterDraws.of(result.clusters, rng=lambda: generator(0, "test"), replicates=200)
    interval = with_interval(result.outcome, draws.values(result), clusters=3, within=result.within)
    assert interval.low <= interval.value <= interval.high
    assert isinstance(sounds.pearson(*columns([3.0] * 6)).outcome, Undefined)
    assert isinstance(sounds.pearson(*columns([3.0 + 1e-9 * n for n in range(6)])).outcome, Undefined)


def test_only_pairs_of_one_mixture_that_are_apart_are_counted() -> None:
    result = sounds.pairs_in_order(*columns([2.0, 1.0, 1.0, 5.0, 3.0, 3.0]), mixtures=MIXTURES)
    assert (result.n, result.outcome.value) == (3, pytest.approx(1.5 / 3))  # wrong, right, equal
    close = sounds.pairs_in_order(*columns([2.0, 1.0, 1.0, 5.0, 3.0, 3.0]), mixtures=MIXTURES, apart=1.0)
    assert (close.n, close.outcome.value) == (2, pytest.approx(0.5))
    alone = sounds.pairs_in_order(*columns([1.0] * 6), mixtures=range(6))
    assert isinstance(alone.outcome, Undefined)


def test_rmse_and_width_are_in_points() -> None:
    predicted, truth = columns(list(TRUE + 2))
    assert sounds.rmse(predicted, truth).outcome.value == pytest.approx(2.0)
    assert sounds.width(predicted, truth).outcome.value == pytest.approx(1.0)
    assert isinstance(sounds.width(JudgeColumns(iou=TRUE), truth).outcome, Undefined)
