"""Agreement of order: does the estimate put the better item first?

Conventions: one number per item; -1..1, higher is better, 0 for no relation. Equal values share the mean of
their ranks.

Metrics: ``auc``, how often an item that should be above one that should not be is; 0..1, .5 for no relation.
``spearman``, the correlation of the ranks. It asks nothing of the scale, so an estimate that is
always .1 too high has 1. When one side is constant there is no order to agree on: Undefined.

Intervals: whole clusters (clips, photographs) are drawn with replacement; ranks are those among all items in each draw.
A draw is a row of whole weights, one for each cluster, and both statistics follow from sums over weighted items in the
order of all items. Without two clusters, or where most draws give no number, the plain statistic stands alone.

References: C. Spearman, "The Proof and Measurement of Association between Two Things", 1904; J. Hanley, B. McNeil, "The
meaning and use of the area under a receiver operating characteristic (ROC) curve", Radiology 143, 1982; intervals as in
``intervals``.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from auscult.outcome import Scored, Signature, Undefined
from auscult.score.stats.few import CORRELATION, SHARE, widened
from auscult.score.stats.inputs import members_of, numbers, same_length
from auscult.score.stats.intervals import with_interval
from auscult.score.stats.resample import CELLS, draws_in_parts, resampled
from auscult.types import Doubles, ScoreSpec


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
    value = _cosine(first, second, np.ones(first.size))
    if np.isnan(value):
        return Undefined("all values are equal", {"predictions": not first.any(), "truths": not second.any()})
    return Scored(value, Signature.of(metric="spearman", ties="mean rank"))


def _cosine(first: Doubles, second: Doubles, weights: Doubles) -> float:
    """Correlation of centred ranks with weights, all whole numbers; NaN where one side is constant.

    Not by ``@``: of long arrays that is shared among threads, which wait for one another on a busy machine.
    """
    mine, other = first * weights, second * weights
    scale = float(np.sqrt((mine * first).sum() * (other * second).sum()))
    return float(np.clip((mine * second).sum() / scale, -1.0, 1.0)) if scale else float("nan")


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
    _, inverse, amount = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(amount)
    twice_mean_rank = 2 * last - amount + 1
    return (twice_mean_rank[inverse] - (values.size + 1)).astype(np.float64)


class _WeightedRanks:
    """Ranks of items that occur so often; sorted once."""

    def __init__(self, values: Doubles) -> None:
        self._order = np.argsort(values, kind="stable")
        last = np.concatenate((np.diff(values[self._order]) != 0, [True]))
        self._ends = np.flatnonzero(last)
        self._group = np.empty(values.size, dtype=np.int64)
        self._group[self._order] = np.cumsum(last) - last

    def centred(self, weights: Doubles) -> Doubles:
        """As ``_centred_ranks`` of each item repeated so often, (n,)."""
        upto = np.concatenate(([0.0], np.cumsum(weights[self._order])[self._ends]))
        ranks: Doubles = (upto[1:] + upto[:-1] - upto[-1])[self._group]
        return ranks


def spearman_of_draws(predictions: ArrayLike, truths: ArrayLike) -> Callable[[Doubles], float]:
    """``spearman`` of items that are drawn with replacement.

    The function takes how often each occurs, (n,), and gives the value, NaN where it is undefined.
    """
    first, second = map(_WeightedRanks, numbers(predictions=predictions, truths=truths))
    return lambda weights: _cosine(first.centred(weights), second.centred(weights), weights)


def auc_of_draws(scores: ArrayLike, positives: ArrayLike) -> Callable[[Doubles], float]:
    """``auc`` of items that are drawn with replacement, as ``spearman_of_draws``."""
    values, marks = numbers(scores=scores, positives=np.asarray(positives, dtype=np.float64))
    areas = _Areas(values, marks > 0.5, np.arange(values.size))
    return lambda weights: float(areas.of(weights[None])[0])


_CONSTANT: Final = 1e-12


def spearman_interval(
    predictions: ArrayLike,
    truths: ArrayLike,
    *,
    clusters: Sequence[Hashable],
    rng: np.random.Generator,
    level: float = 0.95,
    replicates: int = 1000,
) -> Scored[float] | Undefined:
    """Rank correlation with its interval, as of ``auc_interval``."""
    plain = spearman(predictions, truths)
    same_length(predictions=np.asarray(predictions), clusters=clusters)
    if not isinstance(plain, Scored) or len(set(clusters)) < 2:
        return plain
    first, second = mean_ranks(predictions) - 0.5, mean_ranks(truths) - 0.5
    columns = np.column_stack([np.ones(first.size), first, second, first**2, second**2, first * second])
    total, draws = resampled(
        columns, members_of(clusters), pearson_of_sums, rng=rng, replicates=replicates, level=level
    )
    if draws is None:
        return plain
    found = with_interval(plain, draws, clusters=total, level=level, within=CORRELATION, ranks="among all items")
    return found or plain


def auc_interval(
    scores: ArrayLike,
    positives: Sequence[bool],
    *,
    clusters: Sequence[Hashable],
    rng: np.random.Generator,
    level: float = 0.95,
    replicates: int = 1000,
) -> Scored[float] | Undefined:
    """Area under the ROC curve with its interval.

    Args:
        scores: Higher for what is held to be positive, (n,).
        positives: What is positive, (n,).
        clusters: The clip or photograph each item belongs to, (n,).
        rng: The generator of this draw, from ``auscult.rng.generator``.
        level: Share of draws inside the interval, 0..1, both ends excluded.
        replicates: How often to draw.

    Returns:
        As ``auc``, an ``Interval`` where there is one.

    Raises:
        InputError: Unequal lengths, a number that is not finite, or ``level`` or ``replicates`` out of range.
    """
    plain = auc(scores, positives)
    (values,) = numbers(scores=scores)
    same_length(scores=values, clusters=clusters)
    if not isinstance(plain, Scored) or len(set(clusters)) < 2:
        return plain
    members = members_of(clusters)
    amount = int(members.max()) + 1
    areas = _Areas(values, np.asarray(positives, dtype=bool), members)
    parts = draws_in_parts(amount, rng=rng, replicates=replicates, step=max(1, CELLS // len(values)))
    draws = np.concatenate([areas.of(weights) for weights in parts])
    draws = widened(draws, plain.value, sizes=np.bincount(members), level=level)
    return with_interval(plain, draws, clusters=amount, level=level, within=SHARE) or plain


def mean_ranks(values: ArrayLike) -> Doubles:
    """Ranks between 0 and 1, the lowest value first, (n,); equal values share the mean of theirs.

    Raises:
        InputError: A number is not finite.

    Example:
        >>> mean_ranks([5.0, 1.0, 5.0, 9.0]).tolist()
        [0.5, 0.125, 0.5, 0.875]
    """
    (array,) = numbers(values=values)
    _, inverse, amount = np.unique(array, return_inverse=True, return_counts=True)
    ranks: Doubles = (2 * np.cumsum(amount) - amount)[inverse] / max(1, 2 * array.size)
    return ranks


def pearson_of_sums(sums: Doubles) -> Doubles:
    """Correlation from sums of ones, x, y, squares and products, (draws, 6); NaN where a side is constant."""
    n, x, y, xx, yy, xy = sums.T
    spread = np.clip(xx - x * x / n, 0, None) * np.clip(yy - y * y / n, 0, None)
    found: Doubles = np.full(len(sums), np.nan)
    np.divide(xy - x * y / n, np.sqrt(spread), out=found, where=spread > _CONSTANT * n**2)
    return np.clip(found, -1.0, 1.0)


class _Areas:
    """The AUC of items whose clusters occur so often; sorted once."""

    def __init__(self, values: Doubles, positive: NDArray[np.bool_], members: NDArray[np.int64]) -> None:
        order = np.argsort(values[~positive], kind="stable")
        negatives = values[~positive][order]
        self._negative, self._positive = members[~positive][order], members[positive]
        self._below = np.searchsorted(negatives, values[positive], "left")
        self._upto = np.searchsorted(negatives, values[positive], "right")  # those of the same value count half

    def of(self, weights: Doubles) -> Doubles:
        """0..1, (draws,), from how often each cluster occurs, (draws, clusters); NaN where one kind does not."""
        others = np.zeros((len(weights), self._negative.size + 1))
        np.cumsum(weights[:, self._negative], axis=1, out=others[:, 1:])
        above = weights[:, self._positive]
        pairs = above.sum(axis=1) * others[:, -1]
        twice = (above * (others[:, self._below] + others[:, self._upto])).sum(axis=1)
        found: Doubles = np.full(len(weights), np.nan)
        np.divide(twice / 2, pairs, out=found, where=pairs > 0)
        return found


SPEARMAN = ScoreSpec.of(
    spearman,
    takes="numbers",
    summary="rank correlation of estimates with the truth",
    goal="estimates that put masks in a wrong order",
    source="Spearman 1904; ties by mean rank",
    truth="the true values",
    modality="number",
)
AUC = ScoreSpec.of(
    auc,
    takes="marks",
    summary="area under the ROC curve",
    goal="estimates that do not tell good from bad",
    source="Hanley and McNeil 1982; ties count half",
    truth="which are positive",
    modality="number",
)
