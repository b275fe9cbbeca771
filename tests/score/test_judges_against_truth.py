"""Judges against truth: drawing sums is drawing items, whatever the quantity."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from auscult.outcome import Scored, Undefined
from auscult.rng import generator
from auscult.score.judges import ClusterDraws, JudgeColumns, TruthColumns, measures, texts, with_interval
from auscult.score.stats import Interval, bootstrap_interval, few_clusters
from auscult.types import ACTIONS, DEFECTS

RNG = np.random.default_rng(3)
N = 60
ESTIMATES = RNG.random(N)
SAID = JudgeColumns(
    iou=ESTIMATES,
    rank=RNG.random(N),
    low=ESTIMATES - 0.2,
    high=ESTIMATES + 0.2,
    accepted=RNG.random(N) < 0.5,
    defect=texts([None if n % 9 == 0 else DEFECTS[n % 5] for n in range(N)]),
    action=texts([ACTIONS[n % 3] for n in range(N)]),
    flagged=RNG.random(N) < 0.3,
    map_f1=np.where(RNG.random(N) < 0.2, np.nan, RNG.random(N)),
)
TRUE = TruthColumns(
    iou=RNG.random(N),
    cluster=texts([f"clip {n % 7}" for n in range(N)]),
    defect=texts([DEFECTS[n % 6] for n in range(N)]),
    action=texts([None if n % 8 == 0 else ACTIONS[n % 4] for n in range(N)]),
    track=texts([f"track {n % 14}" for n in range(N)]),
)
QUANTITIES = {
    "rmse": measures.rmse,
    "bias": measures.bias,
    "spearman": measures.spearman,
    "auc": measures.auc_of_good,
    "coverage": measures.coverage,
    "width": measures.width,
    "accepted": measures.accepted,
    "precision": measures.accept_precision,
    "recall": measures.accept_recall,
    "called": partial(measures.called, defect="erode"),
    "flagged": measures.flagged,
    "flagged worse": measures.flagged_worse,
    "error map": measures.error_map_f1,
    "F2-tables": measures.f2_tables,
    "F2-tables of actions": partial(measures.f2_tables, label="action"),
    "F2-confusion": measures.f2_confusion,
    "F2 of a defect": partial(measures.f2_of_defect, defect="erode"),
}


@pytest.mark.parametrize("name", QUANTITIES)
def test_draws_of_sums_are_the_bootstrap_of_the_items(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(few_clusters, "FEW", 2)  # the draws themselves
    quantity = QUANTITIES[name]
    measurement = quantity(SAID, TRUE)
    draws = ClusterDraws.of(TRUE.cluster, rng=partial(generator, 1, "test"), replicates=50)
    result = with_interval(measurement.outcome, draws.values(measurement), clusters=7)
    places = [np.flatnonzero(TRUE.cluster == f"clip {clip}").tolist() for clip in range(7)]
    expected = bootstrap_interval(
        lambda indices: quantity(SAID.where(np.array(indices)), TRUE.where(np.array(indices))).outcome,
        places,
        rng=generator(1, "test"),
        replicates=50,
    )
    if name == "width":  # all intervals of these columns are equally wide
        assert not isinstance(result, Interval)
        assert isinstance(expected, Undefined)
        return
    assert isinstance(result, Interval)
    assert isinstance(expected, Interval)
    assert (result.value, result.low, result.high) == pytest.approx((expected.value, expected.low, expected.high))


def test_draws_are_the_same_however_many_are_held_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    draws = ClusterDraws.of(TRUE.cluster, rng=partial(generator, 1, "test"), replicates=50)
    measurement = measures.rmse(SAID, TRUE)
    all_at_once = draws.values(measurement)
    monkeypatch.setattr(measures, "CELLS", 20)
    assert draws.values(measurement) == pytest.approx(all_at_once)


def test_frames_of_a_track_come_to_one_value_and_a_silent_track_counts_as_0() -> None:
    estimates = JudgeColumns(iou=np.array([0.9, 0.5, np.nan, np.nan]))
    true = TruthColumns(
        iou=np.array([0.7, 0.5, 0.3, 0.6]), cluster=texts(["a", "a", "a", "b"]), track=texts(["t", "t", "t", "u"])
    )
    wrong = measures.rmse(estimates, true, over="tracks")
    assert isinstance(wrong.outcome, Scored)
    assert wrong.outcome.value == pytest.approx(np.sqrt((0.1**2 + 0.6**2) / 2))
    assert (wrong.n, wrong.unparsed, wrong.clusters) == (2, 2, ("a", "b"))
    skipped = measures.rmse(estimates, true, over="tracks", unparsed="skip")
    assert (skipped.n, skipped.clusters) == (1, ("a",))


def test_an_unjudged_mask_is_a_miss_among_the_actions() -> None:
    iou = np.array([0.9, 0.9])
    true = TruthColumns(iou=iou, cluster=texts(["a", "b"]), action=texts(["accept", "accept"]))
    columns_ = [JudgeColumns(iou=iou, action=texts(["accept", other])) for other in ("unjudged", "reject")]
    unjudged, wrong = (measures.f2_tables(column, true, label="action") for column in columns_)
    assert unjudged.outcome.value == wrong.outcome.value < 1.0
    assert (unjudged.n, unjudged.unparsed) == (2, 1)
    assert measures.f2_tables(columns_[0], true, label="action", unparsed="skip").outcome.value == 1.0
