"""The area under the ROC curve that cards hold: scikit-learn's, and the laws of an order."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from auscult.errors import InputError
from auscult.outcome import Scored, Undefined
from auscult.score.stats import auc

LABELLED = st.lists(st.tuples(st.integers(-30, 30), st.booleans()), min_size=2, max_size=30).filter(
    lambda pairs: len({label for _, label in pairs}) == 2
)


def value(scores: np.ndarray, labels: np.ndarray) -> float:
    outcome = auc(scores, labels)
    assert isinstance(outcome, Scored)
    return outcome.value


@pytest.mark.extra_train
def test_scikit_learn_says_the_same() -> None:
    metrics = pytest.importorskip("sklearn.metrics", reason="the extra `train` is not installed")
    rng = np.random.default_rng(0)
    for size in (2, 3, 10, 200):
        for ties in (2, 50, 10**6):
            labels = rng.permutation(np.arange(size) % 3 == 0)
            scores = rng.integers(ties, size=size) / ties
            assert value(scores, labels) == pytest.approx(metrics.roc_auc_score(labels, scores), abs=1e-12)


@given(LABELLED)
def test_only_the_order_counts_and_turning_it_turns_the_area(pairs: list[tuple[int, bool]]) -> None:
    scores, labels = (np.array(column) for column in zip(*pairs, strict=True))
    area = value(scores, labels)
    assert area == value(scores**3 / 7 + 2, labels)
    assert area == pytest.approx(1 - value(-scores, labels))
    assert area == pytest.approx(1 - value(scores, ~labels))
    wins = [(positive > other) + (positive == other) / 2 for positive in scores[labels] for other in scores[~labels]]
    assert area == pytest.approx(np.mean(wins))


@pytest.mark.parametrize("labels", [[True, True], [False, False], []])
def test_without_pairs_there_is_no_area(labels: list[bool]) -> None:
    assert isinstance(auc([0.5] * len(labels), labels), Undefined)


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(InputError):
        auc([0.1, 0.2], [True])
    with pytest.raises(InputError):
        auc([0.1, float("nan")], [True, False])
