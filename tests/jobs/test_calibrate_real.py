"""Sixty labels make estimates of real models' masks better than a constant that knows as much."""

from __future__ import annotations

from collections import defaultdict
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from auscult.jobs.calibrate import MEAN_IOU, Estimates, Labels, fit
from auscult.judge.masks.prompted import PromptedJudge
from auscult.train.prompted.material import read_material
from auscult.train.prompted.outputs import Judgeable, real_and_flawless
from auscult.types import Case, Prediction

SOURCES = (
    ("osvos", "davis"),
    ("rvos", "davis"),
    ("yolo-320", "pets"),
    ("deeplab", "pets"),
    ("yolo-256", "more"),
    ("yolo-crops", "more"),
)
EACH = 100
LABELS = 60
DRAWS = 20


def masks_of(data: Path) -> dict[tuple[str, str], list[Judgeable]]:
    """Masks of each source, of photographs and sequences that no training and no calibration saw."""
    families = {family for family, _ in SOURCES}
    pictures = read_material(data, families=families, parts=("test", "unseen")).pictures
    found: dict[tuple[str, str], list[Judgeable]] = defaultdict(list)
    for at in np.random.default_rng(0).permutation(len(pictures)):
        for one in real_and_flawless([pictures[at]]):
            if (one.family, one.source) in SOURCES and len(found[one.family, one.source]) < EACH:
                found[one.family, one.source].append(one)
        if all(len(found[source]) >= EACH for source in SOURCES):
            break
    return found


@cache
def judged(data: Path) -> dict[tuple[str, str], tuple[Estimates, np.ndarray, list[str]]]:
    """Of each source what the judge says, the true IoUs, and the photograph or sequence of each mask."""
    found = {}
    for source, masks in masks_of(data).items():
        cases = [Case(id=one.name, frame=one.frame) for one in masks]
        pairs = zip(masks, PromptedJudge().batch(cases, [Prediction(one.mask) for one in masks]), strict=True)
        kept = [(one, verdict) for one, verdict in pairs if verdict.iou is not None]
        true = [(one.mask & one.truth).sum() / (one.mask | one.truth).sum() for one, _ in kept]
        columns = Estimates.of([verdict for _, verdict in kept])
        found[source] = columns, np.array(true), [one.cluster for one, _ in kept]
    return found


def rmse(estimated: np.ndarray, true: np.ndarray) -> float:
    return float(np.sqrt(np.mean((estimated - true) ** 2)))


def ratios(data: Path, *, known: bool) -> dict[tuple[str, str], float]:
    """Of each source the RMSE after fitting to labels, by that of the labels' mean: of IoUs, or of good and bad."""
    found = {}
    for source, (columns, true, clusters) in judged(data).items():
        marks = np.where(true >= 0.8, MEAN_IOU["good"], MEAN_IOU["bad"])
        errors = []
        for seed in range(DRAWS):
            order = np.random.default_rng(seed).permutation(len(true))
            index, rest = order[:LABELS], order[LABELS:]
            labels = Labels(index=index, iou=(true if known else marks)[index], known=known)
            estimated = fit(columns, labels, clusters=clusters).columns.iou
            errors.append((rmse(estimated[rest], true[rest]), rmse(np.full(len(rest), true[index].mean()), true[rest])))
        calibrated, constant = np.mean(errors, axis=0)
        found[source] = calibrated / constant
    return found


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_sixty_labels_beat_a_constant_on_five_of_six_sources(data: Path) -> None:
    for known in (True, False):  # in one test: two processes would judge the same 600 masks
        found = ratios(data, known=known)
        print({f"{family} on {where}": round(ratio, 3) for (family, where), ratio in found.items()})
        assert len(found) == len(SOURCES)
        assert sum(ratio < 1 for ratio in found.values()) >= 5
