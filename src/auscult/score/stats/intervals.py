"""Intervals: how sure a number is, and whether a judge's own intervals hold.

Conventions: an interval is (low, high); a level is 0..1.

Metrics:

- ``bootstrap_interval``: whole clusters (all masks of one photograph, all frames of one video) are drawn with
  replacement, because items of one cluster resemble one another; drawing items would promise too much. Below 30
  clusters the draws are widened, and where all clusters are wholly right the interval is exact: see
  ``few_clusters``.
- ``coverage``: the share of truths that lie in their intervals. A 90 % interval should cover 0.90; more is as
  wrong as less.

References: B. Efron, R. Tibshirani, "An Introduction to the Bootstrap", 1993, Ch. 13 (percentile interval);
A. Davison, D. Hinkley, "Bootstrap Methods and their Application", 1997, Sec. 3.8 (clusters).

Statistics that are functions of sums are drawn for thousands of items, a thousand times, in a second: errors squared,
hits and counts add up over clusters. A draw of clusters with replacement is then a row of whole weights, all draws are
one product of matrices, and a statistic is computed from the sums of all draws at once. What comes out is the interval
that ``bootstrap_interval`` gives on the items themselves, for the same draws.

What is compared (models, kinds of stress, severities) is drawn together: in each draw every model meets the same
videos, so that what makes a video hard for all cancels. A column of the sums may be any quantity that adds up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from auscult.errors import InputError
from auscult.outcome import Failed, Scored, Signature, Undefined
from auscult.score.stats.few_clusters import EXACT, Range, ends_of, mostly_undefined, widened
from auscult.score.stats.inputs import between, numbers
from auscult.types import Doubles

FromSums: TypeAlias = Callable[[Doubles], Doubles]


def cluster_draws(clusters: int, *, rng: np.random.Generator, replicates: int = 1000) -> Doubles:
    """How often each cluster occurs in each draw with replacement.

    (replicates, clusters) whole numbers as float64; each row sums to ``clusters``. ``rng`` is the generator of these
    draws, from ``auscult.rng.generator``. An InputError where either number is below 1.
    """
    if clusters < 1 or replicates < 1:
        raise InputError(f"{clusters} clusters and {replicates} replicates", expected="1 or more of each")
    chosen = rng.integers(clusters, size=(replicates, clusters))
    chosen += clusters * np.arange(replicates)[:, None]  # a bin for each draw and cluster
    counted = np.bincount(chosen.ravel(), minlength=replicates * clusters)
    return counted.reshape(replicates, clusters).astype(np.float64)


def percentile_interval(values: Doubles, *, level: float = 0.95) -> tuple[float, float] | None:
    """The middle ``level`` of drawn values, (replicates,), low and high; NaN is a draw without a number.

    None where more than half the draws gave no number. An InputError where ``level`` is not within 0..1.
    """
    between(level=level)
    defined = values[~np.isnan(values)]
    if defined.size == 0 or 2 * defined.size < values.size:
        return None
    tail = (1 - level) / 2
    low, high = np.quantile(defined, (tail, 1 - tail))
    return float(low), float(high)


def sums_by_cluster(rows: NDArray[Any], members: NDArray[np.int64], clusters: int) -> Doubles:
    """Rows that add up, (n, k), summed over the clusters, 0..clusters-1, of each, (n,): (clusters, k)."""
    return np.stack([cluster_totals(column, members, clusters) for column in rows.T], axis=1)


def cluster_totals(values: Doubles, members: NDArray[np.int64], clusters: int = 0) -> Doubles:
    """Values, (n,), summed over the clusters, 0..clusters-1, of each, (n,): (clusters,)."""
    return np.asarray(np.bincount(members, weights=values, minlength=clusters), dtype=np.float64)


_SMALL, _ROWS = 200_000, 32  # multiplications that no BLAS shares among threads; draws of one such product


def weighted_sums(weights: Doubles, sums: Doubles) -> Doubles:
    """Sums of each draw, (draws, k): ``weights``, (draws, clusters), times ``sums``, (clusters, k).

    A large product at once is shared among threads, which on a busy machine wait for one another, for fifty times the
    processor time.
    """
    total = np.zeros((len(weights), sums.shape[1]))
    step = max(1, _SMALL // (_ROWS * max(1, sums.shape[1])))
    for top in range(0, len(weights), _ROWS):
        for start in range(0, len(sums), step):
            part = weights[top : top + _ROWS, start : start + step]
            total[top : top + _ROWS] += part @ sums[start : start + step]
    return total


CELLS = 2_000_000
"""Numbers that draws hold at once."""


def draws_in_parts(clusters: int, *, rng: np.random.Generator, replicates: int, step: int) -> Iterator[Doubles]:
    """``cluster_draws`` of ``step`` draws at a time; the draws are the same for any step."""
    for start in range(0, max(1, replicates), step):
        yield cluster_draws(clusters, rng=rng, replicates=min(step, replicates - start))


def drawn(
    sums: Doubles, statistic: FromSums, *, rng: np.random.Generator, replicates: int, cells: int = CELLS
) -> Doubles:
    """A statistic of sums by cluster, (clusters, k), in each draw of whole clusters with replacement.

    It goes from (draws, k) to one row or number for each draw, NaN where it does not exist. ``cells`` is how many draws
    times clusters are held at once; the values are the same for any.
    """
    step = max(1, cells // max(1, len(sums)))
    parts = draws_in_parts(len(sums), rng=rng, replicates=replicates, step=step)
    return np.concatenate([statistic(weighted_sums(weights, sums)) for weights in parts])


def resampled(
    rows: Doubles,
    members: NDArray[np.int64],
    statistic: FromSums,
    *,
    rng: np.random.Generator,
    replicates: int,
    level: float = 0.95,
) -> tuple[int, Doubles | None]:
    """How many clusters rows, (n, k), belong to, and a statistic of their sums in each draw of whole clusters.

    The draws are ``widened`` for an interval of ``level``. Of one cluster nothing can be drawn: None.
    """
    clusters = int(members.max()) + 1
    if clusters < 2:
        return clusters, None
    sums = sums_by_cluster(rows, members, clusters)
    draws = drawn(sums, statistic, rng=rng, replicates=replicates)
    value = statistic(sums.sum(axis=0)[None])[0]
    return clusters, widened(draws, value, sizes=np.bincount(members), level=level)


Item = TypeVar("Item")
Statistic: TypeAlias = Callable[[Sequence[Item]], "float | Scored[float] | Undefined | Failed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval(Scored[float]):
    """A statistic of all items (``value``) and its interval.

    Attributes:
        low: Lower end.
        high: Upper end.
        clusters: Clusters drawn from.
        replicates: Draws that gave a number.
        undefined: Draws that gave none.
    """

    low: float
    high: float
    clusters: int
    replicates: int
    undefined: int

    @property
    def exact(self) -> bool:
        """Whether it follows from the number of clusters alone, since none of them differs."""
        return ("interval", EXACT) in self.signature.fields


def bootstrap_interval(
    statistic: Statistic[Item],
    clusters: Sequence[Sequence[Item]],
    *,
    rng: np.random.Generator,
    level: float = 0.95,
    replicates: int = 1000,
    within: Range | None = None,
) -> Interval | Undefined:
    """Interval of a statistic by drawing whole clusters with replacement.

    Args:
        statistic: From items, in any order, to a number, a ``Scored`` or ``Undefined``.
        clusters: The items, cluster by cluster.
        rng: The generator of this draw, from ``auscult.rng.generator``.
        level: Share of draws inside the interval, 0..1, both ends excluded.
        replicates: How often to draw.
        within: What the statistic can be, such as ``few_clusters.SHARE``; then one that is at its end in every cluster
            has an exact interval.

    Returns:
        The statistic of all items and its interval. Undefined for fewer than two clusters, when the statistic of all
        items is, when more than half the draws give no number, and when all give the same within its range.

    Raises:
        InputError: ``level`` or ``replicates`` is out of range, or the statistic gives NaN.

    Example:
        >>> from auscult.rng import generator
        >>> result = bootstrap_interval(lambda x: sum(x) / len(x), [[0.0], [1.0], [2.0]], rng=generator(1, "example"))
        >>> result.value, result.low <= 1.0 <= result.high
        (1.0, True)
    """
    between(level=level)
    if replicates < 1:
        raise InputError(f"replicates is {replicates!r}", expected="1 or more, such as 1000")
    filled = [cluster for cluster in clusters if len(cluster)]
    if len(filled) < 2:
        return Undefined("no items" if not filled else "one cluster says nothing about others")
    estimate = _number(statistic([item for cluster in filled for item in cluster]))
    if estimate is None:
        return Undefined("the statistic of all items is undefined")
    draws = np.empty(replicates)
    for draw in range(replicates):
        chosen = rng.integers(len(filled), size=len(filled))
        value = _number(statistic([item for cluster in chosen for item in filled[cluster]]))
        draws[draw] = np.nan if value is None else value
    plain = Scored(estimate, Signature.of())
    sizes, root = [len(cluster) for cluster in filled], within is not None and within.root
    draws = widened(draws, estimate, sizes=sizes, level=level, root=root)
    interval = with_interval(plain, draws, clusters=len(filled), level=level, within=within)
    if interval is None:
        defined = int(np.count_nonzero(~np.isnan(draws)))
        reason = "undefined in most draws" if mostly_undefined(draws) else "the same in every draw"
        return Undefined(f"the statistic is {reason}", {"draws": replicates, "defined": defined})
    return interval


def with_interval(
    plain: Scored[float],
    draws: Doubles,
    *,
    clusters: int,
    level: float = 0.95,
    within: Range | None = None,
    **fields: object,
) -> Interval | None:
    """A statistic with the interval of its draws, as ``few_clusters.ends_of``; None where there is none.

    ``fields`` say what is special about the draws and follow those of the statistic's own signature.
    """
    ends = ends_of(draws, value=plain.value, clusters=clusters, level=level, within=within)
    if ends is None:
        return None
    statistic_fields = {key: text for key, text in plain.signature.fields if key != "version"}
    undefined = int(np.count_nonzero(np.isnan(draws)))
    return Interval(
        value=plain.value,
        signature=Signature.of(**{**statistic_fields, **ends.fields, **fields}),
        low=ends.low,
        high=ends.high,
        clusters=clusters,
        replicates=draws.size - undefined,
        undefined=undefined,
    )


def coverage(low: ArrayLike, high: ArrayLike, truths: ArrayLike) -> Scored[float] | Undefined:
    """Share of truths, (n,), that lie in their intervals from ``low`` to ``high``, (n,) each, ends included.

    0..1; best is the level that the intervals promise. Undefined when there is no item. An InputError where lengths
    differ, a number is not finite, or a lower end is above its upper one.

    Example:
        >>> coverage([0.1, 0.1], [0.5, 0.5], [0.3, 0.9]).value
        0.5
    """
    lower, upper, true = numbers(low=low, high=high, truths=truths)
    if true.size == 0:
        return Undefined("no items")
    crossed = np.flatnonzero(lower > upper)
    if crossed.size:
        index = int(crossed[0])
        raise InputError(f"interval {index} runs from {lower[index]} to {upper[index]}", expected="low <= high")
    inside = int(np.count_nonzero((lower <= true) & (true <= upper)))
    return Scored(inside / true.size, Signature.of(metric="coverage", ends="included"))


def _number(outcome: float | Scored[float] | Undefined | Failed) -> float | None:
    if isinstance(outcome, Undefined | Failed):
        return None
    value = float(outcome.value if isinstance(outcome, Scored) else outcome)
    if np.isnan(value):
        raise InputError("the statistic gave NaN", expected="a number or Undefined")
    return value
