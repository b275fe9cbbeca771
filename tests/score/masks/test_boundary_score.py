import numpy as np
import pytest

from auscult.errors import InputError
from auscult.score.masks import boundary_f


def square(shape, top, left_px, size):
    mask = np.zeros(shape, bool)
    mask[top : top + size, left_px : left_px + size] = True
    return mask


def test_a_shift_within_the_tolerance_is_perfect_and_beyond_it_is_not():
    truth = square((300, 400), 100, 100, 80)  # diagonal 500, tolerance 4
    within = boundary_f(square((300, 400), 100, 104, 80), truth)
    beyond = boundary_f(square((300, 400), 100, 105, 80), truth)
    assert within.radius_px == 4
    assert within.value == 1.0
    assert 0.4 < beyond.value < 1.0


def test_precision_and_recall_tell_what_is_wrong():
    truth = square((300, 400), 20, 20, 60)
    too_much = boundary_f(truth | square((300, 400), 200, 300, 60), truth)
    too_little = boundary_f(truth, truth | square((300, 400), 200, 300, 60))
    assert (too_much.precision, too_much.recall) == (0.5, 1.0)
    assert (too_little.precision, too_little.recall) == (1.0, 0.5)
    assert too_much.value == too_little.value == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("prediction", "truth", "expected"),
    [("empty", "empty", 1.0), ("empty", "square", 0.0), ("square", "empty", 0.0), ("full", "full", 1.0)],
)
def test_empty_and_full_masks(prediction, truth, expected):
    masks = {"empty": np.zeros((30, 40), bool), "full": np.ones((30, 40), bool), "square": square((30, 40), 5, 5, 9)}
    assert boundary_f(masks[prediction], masks[truth]).value == expected


def test_the_tolerance_is_signed():
    mask = square((30, 40), 5, 5, 9)
    assert boundary_f(mask, mask, tolerance=0.02).signature.as_dict()["tolerance"] == "0.02 of the diagonal"
    shifted = square((30, 40), 5, 6, 9)
    assert boundary_f(shifted, mask, tolerance=0).value < 1.0 == boundary_f(shifted, mask, tolerance=0.02).value


@pytest.mark.parametrize("tolerance", [-0.1, float("nan"), float("inf"), 8])
def test_a_tolerance_that_is_no_share_is_refused(tolerance):
    mask = square((30, 40), 5, 5, 9)
    with pytest.raises(InputError, match="tolerance is"):
        boundary_f(mask, mask, tolerance=tolerance)


def test_a_clip_is_refused():
    with pytest.raises(InputError, match=r"\(2, 30, 40\)"):
        boundary_f(np.zeros((2, 30, 40), bool), np.zeros((2, 30, 40), bool))
