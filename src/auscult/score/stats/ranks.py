"""Agreement of order: does the estimate put the better item first?

Conventions: one number per item; -1..1, higher is better, 0 for no relation. Equal values share the mean of
their ranks.

Metric: ``spearman``, the correlation of the ranks. It asks nothing of the scale, so an estimate that is
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


def _centred_ranks(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Twice the ranks around their mean: whole numbers, so that the sums are exact."""
    _, place, amount = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(amount)
    twice_mean_rank = 2 * last - amount + 1
    return (twice_mean_rank[place] - (values.size + 1)).astype(np.float64)
