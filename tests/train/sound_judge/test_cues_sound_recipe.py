"""The recipe of `sound.cues.v1` finds what is there, and its intervals hold what they say."""

from __future__ import annotations

import json

import numpy as np

from auscult.judge.sound.cues import model_json, model_of
from auscult.rng import generator
from auscult.train.sound_judge.cues import fitted
from auscult.types import Doubles


def _rows(count: int, *, seed: int, noise: float = 0.3) -> Doubles:
    """Rows whose scores bend with the first feature and turn with the first one of spans; half have no spans."""
    rng = generator(seed, "rows")
    values = rng.normal(size=(count, 13))
    score = 3 + np.maximum(values[:, :1], 0) + 0.8 * values[:, 10:11] * values[:, 1:2]
    values[::2, 10:] = np.nan
    scores = np.clip(np.nan_to_num(score, nan=3.0) + noise * rng.normal(size=(count, 4)), 1, 5)
    mixtures = rng.normal(size=(2, count, 8))
    hard = np.clip(3 + mixtures[..., :1] + 0.1 * rng.normal(size=(2, count, 5)), 1, 5)
    return np.hstack([values, scores, mixtures[0], hard[0], mixtures[1], hard[1]])


def test_it_learns_bends_and_products_and_holds_nine_of_ten() -> None:
    model = fitted(_rows(2000, seed=1), _rows(800, seed=2), spans=True)
    fresh = _rows(2000, seed=3)[1::2]
    intervals = model.intervals(fresh[:, :13])
    true = fresh[:, 13:17]
    assert np.corrcoef(intervals[:, 3, 0], true[:, 3])[0, 1] > 0.85
    assert 0.86 < ((intervals[..., 1] <= true) & (true <= intervals[..., 2])).mean() < 0.94
    assert np.corrcoef(model.hard(fresh[:, 30:38])[:, 0], fresh[:, 38])[0, 1] > 0.9


def test_without_spans_all_rows_count_and_their_features_are_not_read() -> None:
    train, calibration_rows = _rows(1000, seed=1), _rows(400, seed=2)
    model = fitted(train, calibration_rows, spans=False)
    assert model.scores.mean.size == 10
    train[:, 10:13] = 7.0
    calibration_rows[:, 10:13] = 7.0
    assert np.array_equal(fitted(train, calibration_rows, spans=False).scores.weights, model.scores.weights)


def test_what_is_written_is_read_back() -> None:
    model = fitted(_rows(400, seed=1), _rows(200, seed=2), spans=True)
    reloaded = model_of(json.loads(json.dumps(model_json(model))))
    values = _rows(50, seed=3)[1::2, :13]
    assert np.allclose(reloaded.intervals(values), model.intervals(values), atol=1e-3)
    assert np.allclose(reloaded.novelty(values), model.novelty(values), atol=1e-3)
