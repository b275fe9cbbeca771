"""Conformal quantiles of clustered scores: how far to reach so that a share of new items is covered.

Conventions: scores are 0 or more, larger is stranger; a level is 0..1. Items of one cluster (the masks of one
photograph, the frames of one video) resemble one another, so each cluster has the same weight, however many items it
has, and one more cluster, the one to come, counts as infinitely strange.

Metrics:

- ``conformal_quantile``: for a new item of a new cluster, exchangeable with these, the score is at most the quantile
  with a probability of ``level`` or more. It guards against few clusters and is too wide where the scores of one
  cluster differ about as much as those of all.
- ``clustered_quantile``: the same without the cluster to come; covers the level on the clusters given.
- ``left_out_coverage``: what share of a cluster's items the quantile of the other clusters covers, on average: what a
  ``clustered_quantile`` will cover on a new cluster.

Source: Y. Lee, R. F. Barber, R. Willett, "Distribution-free inference with hierarchical data", 2023, Sec. 3
(hierarchical conformal prediction); R. Dunn, L. Wasserman, A. Ramdas, "Distribution-Free Prediction Sets for Two-Layer
Hierarchical Models", JASA 2023, for pooled distribution functions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from auscult.outcome import Scored, Signature, Undefined
from auscult.score.stats.inputs import between, members_of, numbers, same_length
from auscult.types import Doubles

_ROUNDING = 1e-9  # shares that should sum to the level exactly may fall short of it by rounding


def conformal_quantile(
    scores: ArrayLike, clusters: Sequence[str | int], *, level: float = 0.9
) -> Scored[float] | Undefined:
    """The score that a new item of a new cluster stays below with a probability of ``level`` or more.

    Args:
        scores: One per item, (n,).
        clusters: The cluster of each item, (n,).
        level: 0..1, both ends excluded.

    Returns:
        One of the scores. Undefined without items, and where there are too few clusters for any finite score: a level
        of 0.9 takes nine.

    Raises:
        InputError: Unequal lengths, a number that is not finite, or a level out of range.

    Example:
        >>> conformal_quantile([1, 2, 3, 4, 5, 6, 7, 8, 9], range(9), level=0.9).value
        9.0
    """
    values, member, count = _read(scores, clusters, level)
    if count == 0:
        return Undefined("no items")
    if count / (count + 1) < level - _ROUNDING:
        return Undefined("too few clusters for the level", {"clusters": count, "level": level})
    found = _quantile(values, _weights(member, count) * (count / (count + 1)), level)
    return Scored(found, Signature.of(quantile="conformal", level=f"{level:g}", weight="cluster", clusters=count))


def clustered_quantile(
    scores: ArrayLike, clusters: Sequence[str | int], *, level: float = 0.9
) -> Scored[float] | Undefined:
    """The least score with a share of ``level`` at or below it, where each cluster has the same weight.

    Args:
        scores: One per item, (n,).
        clusters: The cluster of each item, (n,).
        level: 0..1, both ends excluded.

    Returns:
        One of the scores. Undefined without items.

    Raises:
        InputError: Unequal lengths, a number that is not finite, or a level out of range.

    Example:
        >>> clustered_quantile([1, 1, 1, 1, 1, 1, 5, 6], "aaaaaabb", level=0.7).value
        5.0
    """
    values, member, count = _read(scores, clusters, level)
    if count == 0:
        return Undefined("no items")
    found = _quantile(values, _weights(member, count), level)
    return Scored(found, Signature.of(quantile="clustered", level=f"{level:g}", weight="cluster", clusters=count))


def left_out_coverage(
    scores: ArrayLike, clusters: Sequence[str | int], *, level: float = 0.9
) -> Scored[float] | Undefined:
    """Mean share of a cluster's items that the ``clustered_quantile`` of the other clusters covers.

    Args:
        scores: One per item, (n,).
        clusters: The cluster of each item, (n,).
        level: 0..1, both ends excluded.

    Returns:
        0..1; best is the level. Undefined for fewer than two clusters.

    Raises:
        InputError: Unequal lengths, a number that is not finite, or a level out of range.
    """
    values, member, count = _read(scores, clusters, level)
    if count < 2:
        return Undefined("no items" if count == 0 else "one cluster says nothing about others")
    order = np.argsort(values, kind="stable")
    ordered, owner, weight = values[order], member[order], _weights(member, count)[order]
    shares = []
    for left_out in range(count):
        own = owner == left_out
        reach = _quantile_of_ordered(ordered[~own], weight[~own], level)
        shares.append(float(np.mean(ordered[own] <= reach)))
    return Scored(math.fsum(shares) / count, Signature.of(metric="coverage", left_out="clusters", level=f"{level:g}"))


def _read(scores: ArrayLike, clusters: Sequence[str | int], level: float) -> tuple[Doubles, NDArray[np.int64], int]:
    between(level=level)
    (values,) = numbers(scores=scores)
    same_length(scores=values, clusters=clusters)
    members = members_of(clusters)
    return values, members, int(members.max(initial=-1)) + 1


def _weights(member: NDArray[np.int64], count: int) -> Doubles:
    """Each item's weight, (n,), the same for each cluster as a whole, summing to 1."""
    sizes = np.bincount(member, minlength=count)
    return np.asarray(1.0 / (count * sizes[member]), dtype=np.float64)


def _quantile(values: Doubles, weights: Doubles, level: float) -> float:
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weights[order])
    at = int(np.searchsorted(reached, level - _ROUNDING))
    return float(values[order][min(at, len(values) - 1)])


def _quantile_of_ordered(values: Doubles, weights: Doubles, level: float) -> float:
    reached = np.cumsum(weights)
    at = int(np.searchsorted(reached, level * reached[-1] - _ROUNDING))
    return float(values[min(at, len(values) - 1)])
