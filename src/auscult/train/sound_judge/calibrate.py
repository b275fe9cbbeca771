"""Fits scores, intervals and novelty of the compact judge on the calibration part."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import torch

from auscult.judge.sound.compact.calibration import SoundCalibration, error_of
from auscult.nets.sound_judge.network import SoundJudgeNet
from auscult.train.sound_judge.feed import SUBSETS, subset_rows, tensors
from auscult.train.sound_judge.store import StoredSample
from auscult.train.sound_judge.trainer import judge
from auscult.types import Doubles, Floats

COVERED: Final = 0.9
_LEAST: Final = 100  # samples of a group that has factors of its own
_AXES: Final = 24
_AT_ONCE: Final = 32
_FAR: Final = 2.0  # times the distance that 99 of 100 calibration samples are within


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Said:
    """What a network says of samples, in their order."""

    scores: Floats  # (n, 4)
    spread: Floats  # (n, 4)
    pooled: Floats
    difficulty: Floats  # (n, 5)
    truth: Floats  # (n, 4)
    hard: Floats  # (n, 5) true difficulty


def said(net: SoundJudgeNet, samples: Sequence[StoredSample], *, subset: str) -> Said:
    """Judge samples with a subset of their prompts."""
    by_length: dict[int, list[int]] = defaultdict(list)
    for at, sample in enumerate(samples):
        by_length[sample.steps].append(at)
    rows: dict[int, tuple[Floats, ...]] = {}
    net.eval()
    for places in by_length.values():
        for start in range(0, len(places), _AT_ONCE):
            part = places[start : start + _AT_ONCE]
            batch = tensors([samples[at] for at in part], subset_rows(subset, len(part)))
            with torch.no_grad():
                judged, hardness = judge(net, batch)
            found = (judged.scores, judged.spread, judged.pooled, hardness.difficulty)
            arrays = [one.numpy() for one in (*found, batch["scores"], batch["difficulty"])]
            rows.update({at: tuple(array[row] for array in arrays) for row, at in enumerate(part)})
    columns = [np.stack(one).astype(np.float32) for one in zip(*(rows[at] for at in range(len(samples))), strict=True)]
    names = ("scores", "spread", "pooled", "difficulty", "truth", "hard")
    return Said(**dict(zip(names, columns, strict=True)))


def calibrate(net: SoundJudgeNet, samples: Sequence[StoredSample], *, digest: str) -> SoundCalibration:
    """Fit the calibration of a network, whose files have a hash, on samples that it has not learned from."""
    found = {subset: said(net, samples, subset=subset) for subset in SUBSETS}
    scores = np.concatenate([one.scores for one in found.values()]).astype(np.float64)
    truth = np.concatenate([one.truth for one in found.values()]).astype(np.float64)
    lines = [np.polyfit(scores[:, axis], truth[:, axis], 1) for axis in range(scores.shape[1])]
    slope, offset = np.array(lines).T
    domains = np.array([sample.about["domain"] for sample in samples])
    ratios: dict[str, list[Doubles]] = defaultdict(list)
    for subset, one in found.items():
        moved = np.clip(one.scores * slope + offset, 1.0, 5.0)
        ratio = (one.truth - moved) / error_of(one.spread)
        ratios["all"].append(ratio)
        for domain in sorted(set(domains)):
            prompts = {"all": "text+spans+picture"}.get(subset, subset)
            ratios[f"{domain}/{prompts}"].append(ratio[domains == domain])
    whole = {group: np.concatenate(values) for group, values in ratios.items()}
    centre, axes, near, far = _novelty(found["all"].pooled)
    return SoundCalibration(
        network=digest,
        lines=tuple((round(float(one), 6), round(float(two), 6)) for one, two in lines),
        factors={group: _factors(values) for group, values in whole.items() if len(values) >= _LEAST},
        centre=centre,
        axes=axes,
        near=near,
        far=far,
    )


def _factors(ratios: Doubles) -> tuple[tuple[float, float], ...]:
    """How many expected errors the ends are away, for each score: one of twenty is beyond each of them."""
    level = min(1.0, (1 - (1 - COVERED) / 2) * (1 + 1 / len(ratios)))
    low, high = (np.quantile(sign * ratios, level, axis=0) for sign in (-1, 1))
    ends = np.maximum(np.stack([low, high], axis=1), 0.0).round(4)
    return tuple((float(one), float(two)) for one, two in ends)


def _novelty(pooled: Floats) -> tuple[tuple[float, ...], tuple[tuple[float, ...], ...], float, float]:
    centre = pooled.mean(axis=0, dtype=np.float64)
    _, spread, axes = np.linalg.svd(pooled - centre, full_matrices=False)
    scaled = axes[:_AXES] / (spread[:_AXES, None] / np.sqrt(len(pooled)) + 1e-9)
    distance = np.sqrt(np.square((pooled - centre) @ scaled.T).mean(axis=1))
    near, far = (float(np.quantile(distance, level)) for level in (0.9, 0.99))
    rows = tuple(tuple(round(float(value), 6) for value in row) for row in scaled)
    return tuple(round(float(value), 6) for value in centre), rows, round(near, 6), round(_FAR * far, 6)
