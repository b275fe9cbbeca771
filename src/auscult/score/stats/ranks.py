"""Agreement of order: does the estimate put the better item first?

Conventions: one number per item; -1..1, higher is better, 0 for no relation. Equal values share the mean of
their ranks.

Metrics: ``auc``, how often an item that should be above one that should not be is; 0..1, .5 for no relation.
``spearman``, the correlation of the ranks. It asks nothing of the scale, so an estimate that is
always .1 too high has 1. When one side is constant there is no order to agree on: Undefined.

References: C. Spearman, "The Proof and Measurement of Association between Two Things", 1904.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from auscult.outcome import Scored, Signature, Undefined
from auscult.score.stats.inputs import numbers


def spearman(predictions: ArrayLike, truths: ArrayLike) -> Scored[float] | Undefined:
    """Rank correlation of estimates with the truth.

    Args:
        predictions: Estimates, (n,).
        truths: True values, (n,).

    Returns:
        -1..1, higher is better. Undefined for fewer than two items and when either side is constant.

    Raises:
        InputError: Unequal lengths, or a number that is not finite.

    Example:
        >>> spearman([0.1, 0.2, 0.9], [5, 6, 7]).value
        1.0
    """
    predicted, true = numbers(predictions=predictions, truths=truths)
    if predicted.size < 2:
        return Undefined("no items" if predicted.size == 0 else "one item has no order")
    first, second = (_centred_ranks(values) for values in (predicted, true))
    scale = float(np.sqrt((first @ first) * (second @ second)))
    if scale == 0:
        return Undefined("all values are equal", {"predictions": not first.any(), "truths": not second.any()})
    value = float(np.clip((first @ second) / scale, -1.0, 1.0))
    return Scored(value, Signature.of(metric="spearman", ties="mean rank"))


def auc(scores: ArrayLike, positives: ArrayLike) -> Scored[float] | Undefined:
    """Area under the ROC curve: the share of pairs of a positive and a negative that the scores order rightly.

    Args:
        scores: Higher for what is held to be positive, (n,).
        positives: What is positive, bool (n,).

    Returns:
        0..1, higher is better, .5 for no relation; pairs of equal scores count half. Undefined without positives or
        without negatives.

    Raises:
        InputError: Unequal lengths, or a number that is not finite.

    Example:
        >>> auc([0.9, 0.2, 0.5], [True, False, False]).value
        1.0
    """
    values, marks = numbers(scores=scores, positives=np.asarray(positives, dtype=np.float64))
    true = marks > 0.5
    ours, theirs = int(np.count_nonzero(true)), int(np.count_nonzero(~true))
    if not ours or not theirs:
        return Undefined("all items are positive" if ours else "no item is positive")
    # centred doubled ranks sum to 2 x wins + ties - pairs over the positives
    above = float(_centred_ranks(values)[true].sum())
    value = 0.5 + above / (2.0 * ours * theirs)
    return Scored(float(np.clip(value, 0.0, 1.0)), Signature.of(metric="auc", ties="half"))


def _centred_ranks(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Twice the ranks around their mean: whole numbers, so that the sums are exact."""
    _, place, amount = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(amount)
    twice_mean_rank = 2 * last - amount + 1
    return (twice_mean_rank[place] - (values.size + 1)).astype(np.float64)
