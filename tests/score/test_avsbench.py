"""J and both F of audio-visual segmentation: against loops written out, and at the edges of the rules."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from auscult.errors import InputError
from auscult.outcome import Scored, Undefined
from auscult.score.masks.ref_avs import AVS_METRICS, avs_scores
from auscult.score.masks.video import boundary_f

Masks = NDArray[np.bool_]


def masks(seed: int, *, frames: int = 4, empty: tuple[int, ...] = ()) -> Masks:
    rng = np.random.default_rng(seed)
    random_masks = np.zeros((frames, 24, 32), bool)
    for frame in range(frames):
        if frame not in empty:
            y, x, high, wide = rng.integers(0, 12), rng.integers(0, 16), rng.integers(3, 12), rng.integers(3, 16)
            random_masks[frame, y : y + high, x : x + wide] = True
    return random_masks


def value(outcome: object) -> float:
    assert isinstance(outcome, Scored)
    return float(outcome.value)


def plain_j(prediction: Masks, truth: Masks) -> float:
    values = []
    for frame, other in zip(prediction.tolist(), truth.tolist(), strict=True):
        pairs = [(a, b) for row, true in zip(frame, other, strict=True) for a, b in zip(row, true, strict=True)]
        if not any(b for _, b in pairs):
            values.append(sum(not a for a, _ in pairs) / len(pairs))
        else:
            values.append(sum(a and b for a, b in pairs) / sum(a or b for a, b in pairs))
    return sum(values) / len(values)


def plain_f_region(prediction: Masks, truth: Masks) -> float | None:
    values = []
    for frame, other in zip(prediction, truth, strict=True):
        if other.sum() == 0:
            continue
        hits = float((frame * other).sum())
        if hits == 0:
            values.append(0.0)
            continue
        precision, recall = hits / float(frame.sum()), hits / float(other.sum())
        values.append(1.3 * precision * recall / (0.3 * precision + recall))
    return sum(values) / len(values) if values else None


@settings(max_examples=12, deadline=None)
@given(seed=st.integers(0, 10_000), hidden=st.sets(st.integers(0, 3)), silent=st.sets(st.integers(0, 3)))
def test_agrees_with_loops(seed: int, hidden: set[int], silent: set[int]) -> None:
    prediction, truth = masks(seed, empty=tuple(hidden)), masks(seed + 1, empty=tuple(silent))
    outcomes = avs_scores(prediction, truth)
    assert value(outcomes["J"]) == pytest.approx(plain_j(prediction, truth), abs=1e-6)
    frames = [boundary_f(frame, other).value for frame, other in zip(prediction, truth, strict=True)]
    assert value(outcomes["F_contour"]) == pytest.approx(math.fsum(frames) / 4)
    expected = plain_f_region(prediction, truth)
    if expected is None:
        assert isinstance(outcomes["F_region"], Undefined)
    else:
        assert value(outcomes["F_region"]) == pytest.approx(expected, abs=1e-9)


def test_three_names_each_signed_apart() -> None:
    outcomes = avs_scores(masks(1), masks(2))
    assert tuple(outcomes) == AVS_METRICS == ("J", "F_contour", "F_region")
    signatures = {str(outcome.signature) for outcome in outcomes.values() if isinstance(outcome, Scored)}
    assert len(signatures) == 3
    assert any("beta2:0.3" in signature and "none: bool masks" in signature for signature in signatures)
    assert any("background share" in signature for signature in signatures)


def test_silence_is_scored_by_the_ground_left_alone() -> None:
    empty_masks = np.zeros((2, 10, 10), bool)
    quarter = empty_masks.copy()
    quarter[:, :5, :5] = True
    assert value(avs_scores(empty_masks, empty_masks)["J"]) == 1.0
    assert value(avs_scores(quarter, empty_masks)["J"]) == pytest.approx(0.75)
    assert value(avs_scores(quarter, empty_masks)["F_contour"]) == 0.0
    assert avs_scores(quarter, empty_masks)["F_region"] == Undefined("nothing sounds that is seen")


def test_precision_counts_more_than_recall() -> None:
    truth = np.zeros((1, 20, 20), bool)
    truth[0, 5:15, 5:15] = True
    half_mask, double = truth.copy(), truth.copy()
    half_mask[0, 10:] = False
    double[0, 5:15, 0:20] = True
    assert value(avs_scores(half_mask, truth)["F_region"]) > value(avs_scores(double, truth)["F_region"])
    assert value(avs_scores(half_mask, truth)["J"]) == pytest.approx(value(avs_scores(double, truth)["J"]), abs=1e-6)


def test_no_frame_is_no_number() -> None:
    no_frames = np.zeros((0, 8, 8), bool)
    assert all(outcome == Undefined("no frames") for outcome in avs_scores(no_frames, no_frames).values())


@pytest.mark.parametrize(
    ("prediction", "truth"),
    [
        (np.zeros((2, 8, 8), bool), np.zeros((3, 8, 8), bool)),
        (np.zeros((8, 8), bool), np.zeros((8, 8), bool)),
        (np.zeros((2, 8, 8), np.float32), np.zeros((2, 8, 8), bool)),
        (np.zeros((2, 8, 8), bool), np.zeros((2, 8, 8), np.uint8)),
    ],
    ids=["frames", "one-frame", "soft", "numbers"],
)
def test_refuses_what_it_cannot_compare(prediction: NDArray[np.bool_], truth: NDArray[np.bool_]) -> None:
    with pytest.raises(InputError):
        avs_scores(prediction, truth)
