import numpy as np
import pytest

from auscult.errors import InputError
from auscult.outcome import Undefined
from auscult.score.masks import iou, miou, oiou

EMPTY = np.zeros((3, 4), bool)


def mask(*pixels, shape=(3, 4)):
    out = np.zeros(shape, bool)
    for pixel in pixels:
        out[pixel] = True
    return out


def test_iou_counts_shared_over_all_pixels():
    outcome = iou(mask((0, 0), (0, 1)), mask((0, 1), (0, 2)))
    assert outcome.value == pytest.approx(1 / 3)
    assert outcome.signature.as_dict()["empty"] == "1"


def test_a_clip_given_to_iou_is_one_volume():
    prediction = np.stack([mask((0, 0)), mask((0, 0), (0, 1), (0, 2))])
    truth = np.stack([mask((0, 0)), mask((0, 0))])
    assert iou(prediction, truth).value == 2 / 4


@pytest.mark.parametrize(("empty", "signed_value"), [(1.0, "1"), (0.0, "0")])
def test_two_empty_masks_give_the_stated_value(empty, signed_value):
    outcome = iou(EMPTY, EMPTY, empty=empty)
    assert outcome.value == empty
    assert outcome.signature.as_dict()["empty"] == signed_value


def test_two_empty_masks_are_undefined_on_request_and_an_empty_prediction_is_zero():
    assert isinstance(iou(EMPTY, EMPTY, empty=None), Undefined)
    assert iou(EMPTY, mask((1, 1)), empty=None).value == 0.0
    assert iou(mask((1, 1)), EMPTY, empty=None).value == 0.0


def test_oiou_weighs_by_size_and_miou_does_not():
    big, small = np.ones((10, 10), bool), mask((0, 0), (0, 1))
    predictions, truths = [big, mask((0, 0))], [big, small]
    assert miou(predictions, truths).value == pytest.approx((1 + 0.5) / 2)
    assert oiou(predictions, truths).value == pytest.approx(101 / 102)


def test_means_count_what_entered_and_what_did_not():
    outcome = miou([EMPTY, mask((0, 0))], [EMPTY, mask((0, 0), (1, 1))], empty=None)
    assert (outcome.value, outcome.n, outcome.undefined) == (0.5, 1, 1)
    assert miou([EMPTY, mask((0, 0))], [EMPTY, mask((0, 0), (1, 1))]).value == 0.75


@pytest.mark.parametrize("score", [miou, oiou])
def test_no_items_and_nothing_but_empty_pairs_are_undefined(score):
    assert score([], []) == Undefined("no items")
    assert score([EMPTY], [EMPTY], empty=None) == Undefined("both masks of every pair are empty")
    assert score([EMPTY], [EMPTY]).value == 1.0


@pytest.mark.parametrize("score", [miou, oiou])
def test_unequal_numbers_are_refused_with_both_numbers(score):
    with pytest.raises(InputError, match="2 predictions and 1 truths"):
        score([EMPTY, EMPTY], [EMPTY])


def test_a_bad_pair_is_named_by_its_position():
    with pytest.raises(InputError, match="pair 1: prediction has shape"):
        miou([EMPTY, EMPTY], [EMPTY, EMPTY.T])


@pytest.mark.parametrize(
    ("prediction", "truth", "message"),
    [
        (EMPTY, EMPTY.T, r"\(3, 4\) and truth has shape \(4, 3\)"),
        (EMPTY, EMPTY[None], r"\(3, 4\) and truth has shape \(1, 3, 4\)"),
        (EMPTY.astype(np.uint8), EMPTY, "dtype uint8"),
        (EMPTY, EMPTY.astype(float), "dtype float64"),
        (np.zeros((0, 4), bool), np.zeros((0, 4), bool), "no pixels"),
        (np.zeros(4, bool), np.zeros(4, bool), r"shape \(4,\)"),
        ([[True]], EMPTY, "prediction is list"),
    ],
)
def test_what_cannot_be_compared_is_refused_and_said(prediction, truth, message):
    with pytest.raises(InputError, match=message) as error:
        iou(prediction, truth)
    assert error.value.expected
