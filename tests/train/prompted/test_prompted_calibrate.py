"""Fitted on masks of some families, what the judge says holds for other masks; each family counts alike."""

from __future__ import annotations

from dataclasses import fields, replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch", reason="the extra `train` is not installed")

import torch

from auscult.errors import UsageError
from auscult.judge.masks.prompted import PromptedJudge
from auscult.judge.masks.prompted.calibration import (
    BINS,
    CENTRES,
    Bent,
    Calibration,
    bend,
    load_calibration,
    mean_iou,
    save_calibration,
)
from auscult.judge.masks.shared import softmax
from auscult.rng import generator
from auscult.train.prompted import calibrate
from auscult.train.prompted.calibrate import (
    LEAST_MASKS,
    accept_threshold,
    estimates,
    families_of,
    fit,
    fit_bent,
    fit_types,
    left_out_coverage,
    refit,
    soft,
    summary,
    weights_of,
)
from auscult.train.prompted.outputs import FLAWLESS, MADE, Outputs

pytestmark = pytest.mark.extra_train
torch.set_num_threads(1)
TYPES = ("perfect", "cutout", "dilate", "erode", "merge", "arbitrary")
SHARP, SLOPE = 0.5, 4.0
"""How the made networks are wrong: too sure of themselves, and too low."""
WEIGHTS = ("a" * 64, "b" * 64)
CLASSIFIER = "c" * 64


def outputs(seed: int, **counts: int) -> Outputs:
    """What two made networks say of masks of some families; the truth is drawn from what they should have said."""
    rng = generator(seed, "outputs")
    family = np.repeat(list(counts), list(counts.values()))
    n = len(family)
    middle, width = rng.uniform(0.3, 0.98, n), rng.uniform(0.06, 0.18, n)
    middle[family == FLAWLESS], width[family == FLAWLESS] = 1.0, 0.03
    bell = np.exp(-0.5 * ((CENTRES - middle[:, None]) / width[:, None]) ** 2) + 3e-3
    shares = bell / bell.sum(axis=1, keepdims=True)
    bins = (shares.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1).clip(max=BINS - 1)
    iou = np.where(family == FLAWLESS, 1.0, (bins + rng.random(n)) / BINS)
    logits = (np.log(shares) - SLOPE * CENTRES) / SHARP
    type_index = np.where(family == FLAWLESS, 0, rng.integers(6, size=n))
    types = 2.0 * np.eye(6)[type_index] + rng.normal(0, 0.5, (n, 6)) + (0, 0, 0, 3.0, 0, 0)  # all look eroded
    return Outputs(
        iou=iou,
        family=family.astype(np.str_),
        cluster=np.array([f"photo-{index // 4}" for index in range(n)]),
        source=np.where(np.arange(n) % 8 < 2, "davis", "more"),
        name=np.array([f"{index}" for index in range(n)]),
        defect=np.where(np.isin(family, [FLAWLESS, MADE]), np.array(TYPES)[type_index], ""),
        difficulty=np.full(n, ""),
        order=np.zeros(n, np.int64),
        area=np.full(n, 1000.0),
        share=np.full(n, 0.1),
        ious=(logits[:, None] + rng.normal(0, 0.05, (n, 2, BINS))).astype(np.float32),
        types=(types[:, None] + rng.normal(0, 0.05, (n, 2, 6))).astype(np.float32),
        classifier_log_probs=np.log(softmax(2 * np.eye(6)[type_index] + rng.normal(0, 0.5, (n, 6)))),
        features=rng.normal(0, 1, (n, 2, 64)).astype(np.float32),
        size=rng.normal(0, 0.5, n),
    )


COUNTS = {"a": 300, "b": 150, "c": 200, FLAWLESS: 60, MADE: 200, "rare": LEAST_MASKS - 1}
COUNTED = ["a", "b", "c", FLAWLESS, MADE]
SEEN = outputs(1, **COUNTS)
FRESH = outputs(2, a=600, b=600, c=600, flawless=200)
REAL = FRESH.where(FRESH.family != FLAWLESS)


@pytest.fixture(scope="module")
def fitted() -> Calibration:
    return fit(SEEN, WEIGHTS, CLASSIFIER)


def test_nine_of_ten_fresh_masks_lie_in_their_interval(fitted: Calibration) -> None:
    estimated = estimates(REAL, fitted)
    is_covered = (estimated.low <= REAL.iou) & (REAL.iou <= estimated.high)
    assert 0.86 <= is_covered.mean() <= 0.95
    for name in ("a", "b", "c"):
        assert 0.84 <= is_covered[REAL.family == name].mean() <= 0.97
    assert (estimated.high - estimated.low).mean() < 0.5


@pytest.mark.parametrize(("column", "level"), [("good", 0.8), ("fair", 0.5)])
def test_probabilities_come_true_as_often_as_said(fitted: Calibration, column: str, level: float) -> None:
    probability, true = getattr(estimates(REAL, fitted), column), REAL.iou >= level
    edges = np.quantile(probability, [0, 0.25, 0.5, 0.75, 1])
    for low, high in pairwise(edges):
        in_bin = (probability >= low) & (probability <= high)
        assert probability[in_bin].mean() == pytest.approx(true[in_bin].mean(), abs=0.08)


def test_bending_undoes_what_the_networks_do_wrong(fitted: Calibration) -> None:
    raw = softmax(REAL.ious).mean(axis=1)
    right = softmax(SHARP * REAL.ious.mean(axis=1) + SLOPE * CENTRES)
    before, after = (
        np.abs(mean_iou(histograms_) - mean_iou(right)).mean()
        for histograms_ in (raw, bend(raw, REAL.size, fitted.bent))
    )
    assert after < 0.02 < before


def test_the_estimate_beats_the_raw_one(fitted: Calibration) -> None:
    raw = mean_iou(softmax(REAL.ious).mean(axis=1))
    off = estimates(REAL, fitted).iou - REAL.iou
    assert np.sqrt((off**2).mean()) < 0.95 * np.sqrt(((raw - REAL.iou) ** 2).mean())
    assert abs(off.mean()) < 0.02


def test_types_are_named_where_the_networks_lean_to_one(fitted: Calibration) -> None:
    typed_outputs = outputs(3, made=400)
    right = np.array([TYPES.index(str(name)) for name in typed_outputs.defect])
    raw, fitted_types = (
        typed_outputs.types.mean(axis=1).argmax(axis=1),
        estimates(typed_outputs, fitted).types.argmax(axis=1),
    )
    assert np.mean(raw == right) < 0.4
    assert np.mean(fitted_types == right) > 0.8
    without_classifier = estimates(typed_outputs, replace(fitted, classifier_temperature=0.0)).types.argmax(axis=1)
    assert np.mean(fitted_types == right) > np.mean(without_classifier == right) + 0.02
    assert (fitted.temperature, fitted.classifier_temperature, fitted.offsets) == fit_types(SEEN)


def test_novelty_is_low_for_the_like_and_one_for_the_unlike(fitted: Calibration) -> None:
    familiar_novelty = estimates(FRESH, fitted).novelty
    assert np.median(familiar_novelty) < 0.5
    assert np.mean(familiar_novelty >= 0.5) < 0.25
    strange = replace(FRESH, features=FRESH.features + 20)
    assert (estimates(strange, fitted).novelty == 1).all()
    differ = FRESH.ious.copy()
    differ[:, 0], differ[:, 1] = -60 * CENTRES, 60 * CENTRES
    assert estimates(replace(FRESH, ious=differ), fitted).novelty.mean() > 0.9


def test_what_was_fitted_is_named_and_survives_its_file(fitted: Calibration, tmp_path: Path) -> None:
    assert (fitted.weights, fitted.classifier) == (WEIGHTS, CLASSIFIER)
    assert {name: masks for name, (masks, _) in fitted.counts.items()} == {name: COUNTS[name] for name in COUNTED}
    assert all(clusters == pytest.approx(masks / 4, abs=1) for masks, clusters in fitted.counts.values())
    reloaded = load_calibration(save_calibration(fitted, tmp_path / "calibration.json"))
    first, second = estimates(FRESH, fitted), estimates(FRESH, reloaded)
    assert all(
        np.abs(getattr(first, field_.name) - getattr(second, field_.name)).max() < 1e-3 for field_ in fields(first)
    )


def test_left_out_families_are_covered_and_the_log_is_complete(fitted: Calibration) -> None:
    coverage_of = left_out_coverage(fitted, SEEN)
    assert list(coverage_of) == COUNTED
    assert 0.88 <= np.mean(list(coverage_of.values())) <= 1
    numbers = summary(fitted, SEEN)
    assert 0.86 <= numbers["coverage"] <= 0.97
    assert 0 < numbers["width"] < 0.6
    assert 0 < numbers["rmse"] < 0.2


@pytest.mark.parametrize("precise", [0.7, 0.85, 0.95])
def test_what_is_accepted_is_good_as_often_as_wanted(fitted: Calibration, precise: float) -> None:
    level = accept_threshold(estimates(SEEN, fitted).good, SEEN, precise=precise)
    for sample, slack in ((SEEN, 0.0), (FRESH, 0.08)):
        accepted = estimates(sample, fitted).good >= level
        inside = [accepted & (sample.family == name) for name in ("a", "b", "c", FLAWLESS)]
        shares = [rows.sum() / np.count_nonzero(sample.family == sample.family[rows][0]) for rows in inside]
        good = [np.mean(sample.iou[rows] >= 0.8) for rows in inside]
        assert np.average(good, weights=shares) >= precise - slack
        assert accepted.mean() > 0.1


def test_where_nothing_is_good_nothing_is_accepted() -> None:
    bad = replace(SEEN, iou=np.full(len(SEEN), 0.4))
    assert accept_threshold(generator(5, "good").random(len(SEEN)), bad) == 0.96


def test_families_count_alike_and_rare_ones_not_at_all() -> None:
    assert families_of(SEEN) == COUNTED
    weights = weights_of(SEEN)
    for name in families_of(SEEN):
        share = (0.25 if name == "flawless" else 1.0) / 4.25
        assert weights[SEEN.family == name].sum() == pytest.approx(share)
    assert weights[SEEN.family == "rare"].sum() == 0


def test_the_slope_by_size_is_that_of_real_models_masks() -> None:
    rng = generator(9, "size")
    size = rng.uniform(-1, 1, len(SEEN))
    models = ~np.isin(SEEN.family, [FLAWLESS, MADE])
    worse_where_small = replace(SEEN, size=size, iou=np.where(models, np.clip(SEEN.iou + 0.2 * size, 0, 1), SEEN.iou))
    bent = fit(worse_where_small, WEIGHTS, CLASSIFIER).bent
    assert bent.by_size > 1
    others_elsewhere = replace(worse_where_small, size=np.where(models, size, rng.permutation(size)))
    assert fit(others_elsewhere, WEIGHTS, CLASSIFIER).bent.by_size == pytest.approx(bent.by_size, abs=1e-6)


def test_where_no_real_model_has_enough_masks_size_says_nothing() -> None:
    few = outputs(1, flawless=200, made=300, deeplab=LEAST_MASKS - 1)
    bent = fit_bent(softmax(few.ious).mean(axis=1), few, weights_of(few))
    assert bent.by_size == 0
    assert np.isfinite([bent.sharp, bent.slope, bent.bend]).all()


@pytest.mark.parametrize("counts", [{"a": 200}, {"a": 200, "b": LEAST_MASKS - 1}, {"a": 10, "b": 10}])
def test_fewer_than_two_families_are_refused(counts: dict[str, int]) -> None:
    with pytest.raises(
        UsageError, match=f"there are {sum(n >= LEAST_MASKS for n in counts.values())} families"
    ) as error:
        fit(outputs(4, **counts), WEIGHTS, CLASSIFIER)
    assert error.value.expected == "at least two"


def test_soft_labels_are_those_of_training() -> None:
    from auscult.train.prompted.loop import soft_labels

    ious = np.array([0.0, 0.33, 0.8, 1.0])
    assert np.allclose(soft(ious), soft_labels(torch.from_numpy(ious)).numpy(), atol=1e-6)


def test_an_unbent_histogram_is_learned_from_networks_that_are_right() -> None:
    right = replace(SEEN, ious=(SHARP * SEEN.ious + np.float32(SLOPE) * CENTRES).astype(np.float32))
    bent = fit(right, WEIGHTS, CLASSIFIER).bent
    assert bent.sharp == pytest.approx(Bent().sharp, abs=0.2)
    raw = softmax(right.ious).mean(axis=1)
    assert np.abs(mean_iou(bend(raw, right.size, bent)) - mean_iou(raw)).mean() < 0.02


def users(seed: int, count: int) -> Outputs:
    """Masks of a user's own, of which the networks say still less; how much less shows in their features."""
    base = outputs(seed, mine=count)
    tilt = (8.0 + 6.0 * base.features[:, 0, 0])[:, None, None] * CENTRES
    return replace(base, ious=(base.ious - tilt).astype(np.float32))


@pytest.mark.slow
def test_a_users_own_masks_teach_what_is_peculiar_to_them(fitted: Calibration) -> None:
    fresh = users(12, 400)
    refitted = refit(users(11, 240), fitted)
    before, after = (estimates(fresh, calibration) for calibration in (fitted, refitted))
    rmse = [np.sqrt(np.mean((estimate.iou - fresh.iou) ** 2)) for estimate in (before, after)]
    assert rmse[1] < 0.9 * rmse[0]
    assert abs((after.iou - fresh.iou).mean()) < 0.03 < abs((before.iou - fresh.iou).mean())
    assert 0.82 <= ((after.low <= fresh.iou) & (fresh.iou <= after.high)).mean() <= 0.97
    assert refitted.weights == fitted.weights
    assert estimates(FRESH, fitted).iou.tolist() != estimates(FRESH, refitted).iou.tolist()


@pytest.mark.parametrize("iou", [0.95, 0.65, 0.1])
def test_own_masks_that_are_all_alike_leave_a_share_of_others(fitted: Calibration, iou: float, tmp_path: Path) -> None:
    own = replace(users(11, 60), iou=np.full(60, iou))
    written = save_calibration(calibrate.fitted(own, fitted, ridge=3.0), tmp_path / "calibration.json")
    good, fair = PromptedJudge(members=[], calibration=load_calibration(written)).prob_prior
    assert 1e-3 < good < fair - 1e-3 < 1 - 2e-3
    assert (good, fair) == pytest.approx((float(iou > 0.8), float(iou > 0.5)), abs=0.03)


@pytest.mark.slow
@pytest.mark.parametrize(("own", "no_better"), [(users(11, 240), False), (outputs(15, a=60), True)])
def test_a_fit_that_is_no_better_says_so(fitted: Calibration, own: Outputs, no_better: bool) -> None:
    lines: list[str] = []
    refit(own, fitted, log=lines.append)
    assert any("keep the judge as it ships" in line for line in lines) is no_better


@pytest.mark.parametrize(("count", "message"), [(40, "40 masks"), (59, "15 photographs")])
def test_too_few_masks_of_ones_own_are_refused(fitted: Calibration, count: int, message: str) -> None:
    with pytest.raises(UsageError, match=message) as error:
        refit(users(11, count), fitted)
    assert error.value.expected == "at least 60 masks on 10"
