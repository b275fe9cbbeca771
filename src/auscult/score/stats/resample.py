"""Bootstrap of statistics that are functions of sums: thousands of items, a thousand draws, a second.

Errors squared, hits and counts add up over clusters. A draw of clusters with replacement is then a row of whole
weights, all draws are one product of matrices, and a statistic is computed from the sums of all draws at once. What
comes out is the interval that ``bootstrap_interval`` gives on the items themselves, for the same draws.

References: as in ``intervals``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from auscult.errors import InputError

Floats: TypeAlias = NDArray[np.float64]
FromSums: TypeAlias = Callable[[Floats], Floats]


def cluster_draws(clusters: int, *, rng: np.random.Generator, replicates: int = 1000) -> Floats:
    """How often each cluster occurs in each draw with replacement.

    Args:
        clusters: How many clusters there are, 1 or more.
        rng: The generator of these draws, from ``auscult.rng.generator``.
        replicates: How often to draw.

    Returns:
        (replicates, clusters) whole numbers as float64; each row sums to ``clusters``.

    Raises:
        InputError: ``clusters`` or ``replicates`` is below 1.

    Example:
        >>> from auscult.rng import generator
        >>> cluster_draws(3, rng=generator(1, "example"), replicates=2).sum(axis=1).tolist()
        [3.0, 3.0]
    """
    if clusters < 1 or replicates < 1:
        raise InputError(f"{clusters} clusters and {replicates} replicates", expected="1 or more of each")
    chosen = rng.integers(clusters, size=(replicates, clusters))
    chosen += clusters * np.arange(replicates)[:, None]  # a bin for each draw and cluster
    counted = np.bincount(chosen.ravel(), minlength=replicates * clusters)
    return counted.reshape(replicates, clusters).astype(np.float64)


def percentile_interval(values: Floats, *, level: float = 0.95) -> tuple[float, float] | None:
    """The middle ``level`` of drawn values; NaN is a draw in which the statistic is undefined.

    Args:
        values: One per draw, (replicates,).
        level: Share of draws inside, 0..1, both ends excluded.

    Returns:
        Low and high; None where more than half the draws gave no number.

    Raises:
        InputError: ``level`` is out of range.
    """
    if not 0 < level < 1:
        raise InputError(f"level is {level!r}", expected="between 0 and 1, such as 0.95")
    defined = values[~np.isnan(values)]
    if defined.size == 0 or 2 * defined.size < values.size:
        return None
    tail = (1 - level) / 2
    low, high = np.quantile(defined, (tail, 1 - tail))
    return float(low), float(high)


def sums_by_cluster(rows: Floats, members: NDArray[np.int64], clusters: int) -> Floats:
    """Add up rows over the clusters they belong to.

    Args:
        rows: What adds up, (n, k).
        members: The cluster of each row, 0..clusters-1, (n,).
        clusters: How many clusters there are.

    Returns:
        (clusters, k).
    """
    total = np.zeros((clusters, rows.shape[1]))
    np.add.at(total, members, rows)
    return total
