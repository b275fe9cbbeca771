"""Fits scores, intervals and novelty of the compact judge on the calibration part."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.cluster import KMeans

from auscult.judge.sound.compact import FamiliarSounds, SoundCalibration, error_of
from auscult.nets.sound_judge import SoundJudgeNet
from auscult.train.sound_judge.samples import ALL, SUBSETS
from auscult.train.sound_judge.store import StoredSample
from auscult.train.sound_judge.trainer import judge_steps, subset_rows, tensors, trunk_steps
from auscult.types import Doubles, Floats

COVERED: Final = 0.9
_LEAST: Final = 300  # samples of a group that has factors of its own
_POWERS: Final = (0.3, 0.5, 0.75, 1.0)
_OFFSETS: Final = (0.0, 0.1, 0.2, 0.4, 0.8, 1.6)
_ROUNDING: Final = 1e-6
_STRIDE: Final = 5
_AT_ONCE: Final = 32
_PLACES: Final = 64  # around which what the head makes of samples lies
_AXES: Final = 48  # on which most of what the trunk hears in mixtures lies
_LEARNED: Final = ("none", "text", ALL)  # prompts with which samples of training are heard again
_UNLIKE: Final = (0.9, 0.98)
"""Shares of calibration samples with a novelty of 0 and of at most .5, by each of the two distances."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Predictions:
    """What a network says of samples, in their order."""

    scores: Floats  # (n, 4)
    spread: Floats  # (n, 4)
    pooled: Floats
    heard: Floats  # (n, 384) the mean of what the trunk hears in the mixture
    difficulty: Floats  # (n, 5)
    truth: Floats  # (n, 4)
    hard: Floats  # (n, 5) true difficulty


def predictions(net: SoundJudgeNet, samples: Sequence[StoredSample], *, subset: str) -> Predictions:
    """Judge samples with a subset of their prompts."""
    by_length: dict[int, list[int]] = defaultdict(list)
    for index, sample in enumerate(samples):
        by_length[sample.steps].append(index)
    rows: dict[int, tuple[Floats, ...]] = {}
    net.eval()
    for places in by_length.values():
        for start in range(0, len(places), _AT_ONCE):
            part = places[start : start + _AT_ONCE]
            batch = tensors([samples[index] for index in part], subset_rows(subset, len(part)))
            with torch.no_grad():
                steps = trunk_steps(net, batch)
                judged, hardness = judge_steps(net, steps, batch)
            outputs = (judged.scores, judged.spread, judged.pooled, steps[:, 0].mean(2), hardness.difficulty)
            arrays = [value.numpy() for value in (*outputs, batch["scores"], batch["difficulty"])]
            rows.update({index: tuple(array[row] for array in arrays) for row, index in enumerate(part)})
    ordered = (rows[index] for index in range(len(samples)))
    columns = [np.stack(column).astype(np.float32) for column in zip(*ordered, strict=True)]
    names = ("scores", "spread", "pooled", "heard", "difficulty", "truth", "hard")
    return Predictions(**dict(zip(names, columns, strict=True)))


def calibrate(
    net: SoundJudgeNet, samples: Sequence[StoredSample], *, learned: Sequence[StoredSample], digest: str
) -> SoundCalibration:
    """Fit the calibration of a network, whose files have a hash, on samples that it has not learned from.

    What is familiar to it is what it has learned from, of which a part is enough.
    """
    by_subset = {subset: predictions(net, samples, subset=subset) for subset in SUBSETS}
    familiar = _familiar({subset: predictions(net, learned, subset=subset) for subset in _LEARNED}, by_subset)
    scores, truth, spread = (
        np.concatenate([getattr(predicted, name) for predicted in by_subset.values()]).astype(np.float64)
        for name in ("scores", "truth", "spread")
    )
    lines = np.array([np.polyfit(scores[:, axis], truth[:, axis], 1) for axis in range(scores.shape[1])]).round(6)
    moved = np.clip(scores * lines[:, 0] + lines[:, 1], 1.0, 5.0)
    errors = [_error(moved[:, axis], truth[:, axis], spread[:, axis]) for axis in range(moved.shape[1])]
    domains = np.tile([sample.about["domain"] for sample in samples], len(by_subset))
    prompts = np.repeat(list(by_subset), len(samples))
    groups = {"all": np.ones(len(moved), bool)}
    for domain, kinds in product(sorted(set(domains)), sorted(set(prompts))):
        rows = (domains == domain) & (prompts == kinds)
        if np.count_nonzero(rows) >= _LEAST:
            groups[f"{domain}/{kinds}"] = rows
    novelty = familiar.novelty(*_sounds(by_subset))
    error = error_of(spread.astype(np.float32), errors) * (1 + novelty[:, None])
    factors = {
        group: np.array([_ends(moved[rows, axis], truth[rows, axis], error[rows, axis])[:2] for axis in range(4)])
        for group, rows in groups.items()
    }
    real = np.tile([bool(sample.about["family"]) for sample in samples], len(by_subset))
    row_factors = np.stack([factors.get("/".join(pair), factors["all"]) for pair in zip(domains, prompts, strict=True)])
    ends = error[..., None] * row_factors
    wider = np.array([_stretch(moved[:, axis], truth[:, axis], ends[:, axis], real=real) for axis in range(4)])
    return SoundCalibration(
        network=digest,
        lines=tuple((float(slope), float(offset)) for slope, offset in lines),
        errors=tuple(errors),
        factors={
            group: tuple((round(float(low), 4), round(float(high), 4)) for low, high in pairs * wider[:, None])
            for group, pairs in factors.items()
        },
        familiar=familiar,
    )


def _error(scores: Doubles, truth: Doubles, spread: Doubles) -> tuple[float, float]:
    """Power and offset of a score's expected error with which its intervals are narrowest, on a part of the samples."""

    def width(factor: tuple[float, float]) -> float:
        error = error_of(spread[::_STRIDE, None].astype(np.float32), [factor])[:, 0]
        return _ends(scores[::_STRIDE], truth[::_STRIDE], error)[2]

    return min(product(_POWERS, _OFFSETS), key=width)


def _ends(scores: Doubles, truth: Doubles, error: Doubles) -> tuple[float, float, float]:
    """How many expected errors the lower and the upper end are away, and the mean width.

    Of all pairs with which the interval, which ends at 1 and 5, covers nine of ten, the one that is narrowest.
    """
    coverage = min(1.0, COVERED * (1 + 1 / len(truth)))
    best = (np.inf, np.inf, np.inf)
    for level in np.linspace(coverage, 0.999, 25):
        low = max(0.0, float(np.quantile((scores - truth) / error, level)))
        above = truth >= np.maximum(scores - low * error, 1.0) - _ROUNDING
        need = np.where(truth >= 5.0 - _ROUNDING, (5.0 - scores) / error, (truth - scores) / error)
        need = np.where(above, np.maximum(need, 0.0), np.inf)
        high = float(np.sort(need)[min(int(np.ceil(coverage * len(need))), len(need)) - 1])
        width = float((np.minimum(scores + high * error, 5.0) - np.maximum(scores - low * error, 1.0)).mean())
        if np.isfinite(high) and width < best[2]:
            best = (round(low, 4), round(high, 4), width)
    return best


def _stretch(scores: Doubles, truth: Doubles, ends: Doubles, *, real: NDArray[np.bool_]) -> float:
    """By how much intervals, whose ends (n, 2) are away so far, must be wider, 1 or more.

    Made outputs are many and real ones few, and what people have is real: each is half of what nine of ten are of.
    """
    for wider in np.arange(1.0, 3.0, 0.02):
        low, high = scores - wider * ends[:, 0], scores + wider * ends[:, 1]
        covered = (truth >= low - _ROUNDING) & (np.minimum(truth, 5.0) <= np.maximum(high, 1.0) + _ROUNDING)
        if not real.any() or (covered[real].mean() + covered[~real].mean()) / 2 >= COVERED:
            return float(wider)
    return 3.0


def _familiar(learned: Mapping[str, Predictions], held: Mapping[str, Predictions]) -> FamiliarSounds:
    """What training sounded like, and how far from it samples of calibration are, by subset of prompts."""
    pooled, heard = _sounds(learned)
    directions = pooled / np.linalg.norm(pooled, axis=1, keepdims=True)
    count = min(_PLACES, len(np.unique(directions, axis=0)))
    places = KMeans(count, n_init=1, random_state=0).fit(directions).cluster_centers_
    centre = heard.mean(axis=0)
    axes = np.linalg.svd(heard - centre, full_matrices=False)[2][:_AXES]
    familiar = FamiliarSounds(
        places=tuple(map(_numbers, places / np.linalg.norm(places, axis=1, keepdims=True))),
        centre=_numbers(centre),
        axes=tuple(map(_numbers, axes)),
        near=(0.0, 0.0),
        far=(1.0, 1.0),
    )
    near, middle = np.quantile(familiar.distances(*_sounds(held)), _UNLIKE, axis=0)
    return replace(familiar, near=_numbers(near), far=_numbers(2 * middle - near))


def _sounds(predicted: Mapping[str, Predictions]) -> tuple[Doubles, Doubles]:
    """What the head pools of samples, (n, 320), and the trunk hears in their mixtures, (n, 384), of all subsets."""
    pooled, heard = (
        np.concatenate([getattr(one, name) for one in predicted.values()]).astype(np.float64)
        for name in ("pooled", "heard")
    )
    return pooled, heard


def _numbers(values: Doubles) -> Any:
    return tuple(round(float(value), 5) for value in values)
