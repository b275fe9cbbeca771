"""The recipe of `sound.cues.v1`: ridge regression on features of made and real outputs, conformal intervals.

    auscult train cues-sound --data DIR --out DIR --samples 2000 --seed 0

Fitted on the part ``train``, calibrated on the part ``calibration`` with a quarter of the samples.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, Final

import numpy as np

from auscult.arrays.resampling import mono
from auscult.jobs.options import TrainOptions
from auscult.jobs.runner import Progress
from auscult.judge.sound.cues import (
    FEATURES,
    HARD_FEATURES,
    SPAN_FEATURES,
    CuesModel,
    OpenedMixture,
    Regression,
    model_json,
)
from auscult.judge.sound.shared import is_silent
from auscult.media.paths import write_bytes
from auscult.record.codec import dump
from auscult.scenes.mixtures.catalogue import Part
from auscult.train.sound_judge.samples import SoundSample, made_samples, real_samples
from auscult.types import DIFFICULTY_AXES, PERFORMANCE, Doubles

SAMPLES: Final = 2000
KNOTS: Final = (0.2, 0.5, 0.8)
PENALTY: Final = 100.0
_TAIL: Final = 0.95  # of a 90 % interval
_SHRINK: Final = 0.1
_HARD: Final = len(HARD_FEATURES)
_PARTS: Final = np.cumsum([len(FEATURES), len(SPAN_FEATURES), 4, _HARD, 5, _HARD])
"""Where a row's parts end: features, those of spans, scores; mixture and difficulty, without spans and with them."""


def cues_sound(options: TrainOptions, progress: Progress) -> Iterator[Path]:
    """Fit, calibrate, and write ``coefficients.json``; without data on generated sounds."""
    count = options.samples or SAMPLES
    parts: tuple[tuple[Part, int], ...] = (("train", count), ("calibration", count // 4))
    train, held_out = (_rows(options, part, size, progress=progress) for part, size in parts)
    models = {name: model_json(fitted(train, held_out, spans=name == "spans")) for name in ("plain", "spans")}
    write_bytes(options.out / "coefficients.json", dump(models) + b"\n")
    yield options.out / "coefficients.json"


def _rows(options: TrainOptions, part: Part, count: int, *, progress: Progress) -> Doubles:
    """Features of made samples, four a mixture, and of all real ones, whose mixtures have no spans."""
    progress.stage(f"features: {part}", count)
    samples = made_samples(options.data, part=part, numbers=range(-(-count // 4)), seed=options.seed)
    real: Iterable[SoundSample] = () if options.data is None else real_samples(options.data, part=part)
    rows = []
    for sample in chain(samples, real):
        rows.append(_row(sample))
        progress.step()
    return np.array([row for row in rows if row is not None])


def _row(sample: SoundSample) -> Doubles | None:
    """What is known of a sample, as ``_PARTS`` says; None for a silent one, which is judged by rule."""
    case, output = sample.case, mono(sample.separated)
    if is_silent(mono(case.mixture)) or is_silent(mono(case.mixture), output):
        return None
    mixture, values = OpenedMixture(case.mixture, rate_hz=case.rate_hz), np.full(_PARTS[1], np.nan)
    features, _ = mixture.features(output, rate_hz=case.rate_hz, spans=case.spans)
    values[: features.size] = features
    parts: list[Any] = [values, [sample.scores[axis] for axis in PERFORMANCE]]
    for spans, truth in (((), sample.without_spans), (case.spans, sample.difficulty)):
        parts += [mixture.difficulty(spans), [truth[axis] for axis in DIFFICULTY_AXES]]
    return np.concatenate(parts)


def fitted(train: Doubles, held: Doubles, *, spans: bool) -> CuesModel:
    """The model for outputs with spans, or for those without, which forgets the spans of all; rows as ``_PARTS``."""
    train, held = (rows[~np.isnan(rows[:, _PARTS[0]])] if spans else rows for rows in (train, held))

    def split(rows: Doubles) -> list[Doubles]:
        plain, inside, scores, *hard = np.split(rows, _PARTS, axis=1)
        return [np.hstack([plain, inside]) if spans else plain, scores, *hard[2 * spans :][:2]]

    values, true, mixtures, hard = split(train)
    scores = _regression(values, true)
    covariance = (1 - _SHRINK) * np.cov(scores.standardised(values), rowvar=False) + _SHRINK * np.eye(values.shape[1])
    model = CuesModel(
        scores=scores,
        hard=_regression(mixtures, hard),
        errors=_ridge(scores.basis(values), np.abs(true - scores(values))),
        reach=np.ones((4, 2)),
        precision=np.asarray(np.linalg.inv(covariance)),
        distances=np.array([0.0, 1.0]),
    )
    values, true, *_ = split(held)
    model = replace(model, distances=np.quantile(model.distance(values), (0.5, 0.95)))
    errors = (true - scores(values)) / model.sizes(values)
    reach = partial(np.quantile, q=min(1.0, _TAIL * (len(held) + 1) / len(held)), axis=0)
    return replace(model, reach=np.maximum(np.stack([reach(-errors), reach(errors)], axis=1), 0.0))


def _regression(values: Doubles, truth: Doubles) -> Regression:
    mean, spread = values.mean(axis=0), np.maximum(values.std(axis=0), 1e-3)
    regression = Regression(mean=mean, spread=spread, knots=np.empty((0, len(mean))), weights=np.empty(0))
    regression = replace(regression, knots=np.quantile(regression.standardised(values), KNOTS, axis=0))
    return replace(regression, weights=_ridge(regression.basis(values), truth))


def _ridge(basis: Doubles, truth: Doubles) -> Doubles:
    penalty = PENALTY * np.eye(basis.shape[1])
    penalty[0, 0] = 0.0
    return np.asarray(np.linalg.solve(basis.T @ basis + penalty, basis.T @ truth))
