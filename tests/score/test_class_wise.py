"""Class-wise mIoU and F: against the release's rule written out as loops, and at its edges."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from auscult.errors import InputError
from auscult.outcome import Undefined
from auscult.score.masks import class_sums, class_wise

Maps = NDArray[np.int64]


def written_out(pairs: list[tuple[Maps, Maps]], classes: int) -> tuple[float, float]:
    """The last line of the release's test: each class over the frames that have it, then all classes, 0 for none."""
    ious: dict[int, list[float]] = {number: [] for number in range(classes)}
    scores: dict[int, list[float]] = {number: [] for number in range(classes)}
    for prediction, truth in pairs:
        for predicted, true in zip(prediction, truth, strict=True):
            for number in range(classes):
                n_shared = int(((predicted == number) & (true == number)).sum())
                either = int(((predicted == number) | (true == number)).sum())
                if not either:
                    continue
                ious[number].append(n_shared / either)
                if not n_shared:
                    scores[number].append(0.0)
                    continue
                precision, recall = n_shared / int((predicted == number).sum()), n_shared / int((true == number).sum())
                scores[number].append(1.3 * precision * recall / (0.3 * precision + recall))
    means = [
        [sum(values) / len(values) if values else 0.0 for values in values_of.values()] for values_of in (ious, scores)
    ]
    return sum(means[0]) / classes, sum(means[1]) / classes


def clips(seed: int) -> list[tuple[Maps, Maps]]:
    rng = np.random.default_rng(seed)
    return [(rng.integers(0, 5, (3, 9, 11)), rng.integers(0, 7, (3, 9, 11))) for _ in range(4)]


@pytest.mark.parametrize("seed", range(5))
def test_is_the_rule_of_the_release(seed: int) -> None:
    pairs = clips(seed)
    sums = [class_sums(*pair, classes=9) for pair in pairs]
    result = class_wise(sums, classes=9, variant="avss")
    assert (result["mIoU"].value, result["F"].value) == pytest.approx(written_out(pairs, 9))
    plain = class_wise(sums, classes=9)  # of nine classes seven occur
    assert plain["mIoU"].value == pytest.approx(result["mIoU"].value * 9 / 7)
    assert "classes that occur" in str(plain["mIoU"].signature)


def test_a_class_that_is_nowhere_true_costs_a_whole_zero() -> None:
    truth = np.zeros((1, 10, 10), np.uint8)
    truth[0, :5] = 41
    guess = truth.copy()
    guess[0, 9, 9] = 70
    result = class_wise([class_sums(guess, truth)])
    assert result["mIoU"].value == pytest.approx((1 + 49 / 50 + 0) / 3)


def test_nothing_to_score_and_no_class_map() -> None:
    empty = np.zeros((0, 4, 4), np.uint8)
    assert isinstance(class_wise([class_sums(empty, empty)])["F"], Undefined)
    truth = np.zeros((1, 4, 4), np.uint8)
    for wrong in (truth + 71, truth.astype(float), truth.astype(bool)):
        with pytest.raises(InputError):
            class_sums(wrong, truth)
