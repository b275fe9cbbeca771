"""Bootstrap of statistics that are functions of sums: thousands of items, a thousand draws, a second.

Errors squared, hits and counts add up over clusters. A draw of clusters with replacement is then a row of whole
weights, all draws are one product of matrices, and a statistic is computed from the sums of all draws at once. What
comes out is the interval that ``bootstrap_interval`` gives on the items themselves, for the same draws.

What is compared (models, kinds of stress, severities) is drawn together: in each draw every model meets the same
videos, so that what makes a video hard for all cancels. A column of the sums may be any quantity that adds up.

References: as in ``intervals``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from auscult.errors import InputError
from auscult.score.stats.few import widened
from auscult.score.stats.inputs import between
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
    whole = statistic(sums.sum(axis=0)[None])[0]
    return clusters, widened(draws, whole, sizes=np.bincount(members), level=level)
