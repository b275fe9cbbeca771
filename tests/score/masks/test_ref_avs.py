"""J, F and S of Ref-AVS: against a slow second version of the releases' rules, on values done by hand, by property."""

from __future__ import annotations

from typing import get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from auscult.errors import InputError
from auscult.outcome import Undefined
from auscult.score.masks import ref_avs_f, ref_avs_j, ref_avs_s
from auscult.score.masks.ref_avs import RefAvsVariant

VARIANTS = get_args(RefAvsVariant)


def _clips(seed: int, count: int, *, empty: float = 0.3):
    rng = np.random.default_rng(seed)
    predictions, truths = [], []
    for _ in range(count):
        shape = (int(rng.integers(1, 4)), 6, 7)
        truth = rng.random(shape) < 0.3
        truth[rng.random(shape[0]) < empty] = False
        predictions.append(np.clip(truth * 0.3 + rng.random(shape) * 0.5, 0, 1))
        truths.append(truth)
    return predictions, truths


def _slow_j(predictions, truths, *, threshold, group_size):
    groups = []
    for start in range(0, len(truths), group_size):
        values = []
        for clip, true in zip(predictions[start : start + group_size], truths[start : start + group_size], strict=True):
            for frame, mask in zip(clip >= threshold, true, strict=True):
                if mask.sum() == 0:
                    values.append((~frame & ~mask).sum() / mask.size)
                else:
                    values.append((frame & mask).sum() / ((frame | mask).sum() + 1e-7))
        groups.append(np.mean(values))
    return np.mean(groups)


def _slow_f(predictions, truths, *, group_size):
    groups = []
    for start in range(0, len(truths), group_size):
        total, frames = np.zeros(255), 0
        for clip, true in zip(predictions[start : start + group_size], truths[start : start + group_size], strict=True):
            for frame, mask in zip(clip, true, strict=True):
                if mask.sum() == 0:
                    continue
                frames += 1
                for place, threshold in enumerate(np.linspace(0, 1 - 1e-10, 255)):
                    predicted = frame >= threshold
                    hits = (predicted & mask).sum()
                    precision, recall = hits / (predicted.sum() + 1e-20), hits / (mask.sum() + 1e-20)
                    below = 0.3 * precision + recall
                    total[place] += 0 if below == 0 else 1.3 * precision * recall / below
        if frames:
            groups.append((total / frames).max())
    return np.mean(groups)


@pytest.mark.parametrize("seed", range(4))
def test_equal_to_a_slow_version_of_the_releases(seed):
    predictions, truths = _clips(seed, 9)
    for variant, threshold, group_size in (("ref-avs", 0.4, 4), ("tgs-agent", 0.5, 1)):
        j = ref_avs_j(predictions, truths, variant=variant)
        assert j.value == pytest.approx(
            _slow_j(predictions, truths, threshold=threshold, group_size=group_size), abs=1e-12
        )
        f = ref_avs_f(predictions, truths, variant=variant)
        assert f.value == pytest.approx(_slow_f(predictions, truths, group_size=group_size), abs=1e-12)


def test_s_by_hand():
    clip = np.zeros((2, 10, 10), bool)
    clip[0, :1] = True  # 10 of 100 pixels, then none
    assert ref_avs_s([clip]).value == pytest.approx(np.sqrt(0.1) / 2)
    assert ref_avs_s([clip], variant="ref-avs").value == pytest.approx(np.sqrt(0.05))
    assert ref_avs_s([clip], variant="tgs-agent").value == ref_avs_s([clip]).value


def test_f_depends_on_the_grouping_only_where_clips_are_pooled():
    predictions, truths = _clips(5, 8, empty=0.0)
    order = [3, 0, 6, 1, 7, 2, 5, 4]
    shuffled = [predictions[i] for i in order], [truths[i] for i in order]
    for variant in ("plain", "tgs-agent"):
        unshuffled = ref_avs_f(predictions, truths, variant=variant).value
        assert ref_avs_f(*shuffled, variant=variant).value == pytest.approx(unshuffled)
    assert ref_avs_f(*shuffled, variant="ref-avs").value != ref_avs_f(predictions, truths, variant="ref-avs").value


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_truth_itself_is_perfect(variant):
    _, truths = _clips(1, 5)
    assert ref_avs_j(truths, truths, variant=variant).value == pytest.approx(1.0, abs=1e-6)
    assert ref_avs_f(truths, truths, variant=variant).value == pytest.approx(1.0)
    empty_masks = [np.zeros_like(truth) for truth in truths]
    assert ref_avs_s(empty_masks, variant=variant).value == 0.0


def test_an_empty_truth_is_counted_and_never_zero():
    truth = np.zeros((2, 4, 4), bool)
    truth[0, 0] = True
    score = ref_avs_f([truth], [truth])
    assert (score.frames, score.undefined, score.clips) == (1, 1, 1)
    assert isinstance(ref_avs_f([truth[1:]], [truth[1:]]), Undefined)
    assert isinstance(ref_avs_j([], []), Undefined)
    assert isinstance(ref_avs_s([]), Undefined)


def test_the_signature_says_which_rules():
    _, truths = _clips(1, 2)
    fields = ref_avs_j(truths, truths, variant="ref-avs").signature.as_dict()
    assert fields["threshold"] == "0.4"
    assert fields["empty_truth"] == "background"
    assert fields["pooled_clips"] == "4"


@settings(max_examples=60, deadline=None)
@given(arrays(np.float64, (2, 3, 4), elements=st.floats(0, 1)), arrays(bool, (2, 3, 4)), st.sampled_from(VARIANTS))
def test_bounds(prediction, truth, variant):
    assert 0 <= ref_avs_j([prediction], [truth], variant=variant).value <= 1
    assert 0 <= ref_avs_s([prediction], variant=variant).value <= 1
    f = ref_avs_f([prediction], [truth], variant=variant)
    assert isinstance(f, Undefined) or 0 <= f.value <= 1


@pytest.mark.parametrize(
    ("prediction", "truth"),
    [
        (np.zeros((2, 3), bool), np.zeros((2, 3), bool)),
        (np.zeros((1, 2, 3), bool), np.zeros((1, 3, 2), bool)),
        (np.zeros((1, 2, 3), np.uint8), np.zeros((1, 2, 3), bool)),
        (np.full((1, 2, 3), 1.5), np.zeros((1, 2, 3), bool)),
        (np.full((1, 2, 3), np.nan), np.zeros((1, 2, 3), bool)),
        (np.zeros((1, 2, 3), bool), np.zeros((1, 2, 3), np.uint8)),
    ],
)
def test_what_cannot_be_scored_is_refused(prediction, truth):
    with pytest.raises(InputError):
        ref_avs_j([prediction], [truth])


def test_one_truth_a_prediction_and_a_known_variant():
    clip = np.zeros((1, 2, 3), bool)
    with pytest.raises(InputError, match="1 predictions and 2 truths"):
        ref_avs_j([clip], [clip, clip])
    with pytest.raises(InputError, match="no variant"):
        ref_avs_j([clip], [clip], variant="best")
