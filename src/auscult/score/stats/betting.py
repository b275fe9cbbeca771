"""An exact bound on the share of bad ones among items that come in clusters, each item counted once.

Conventions: cluster c has ``accepted[c]`` items of which ``bad[c]`` are bad; clusters are independent, items of one
cluster need not be. The rate is (expected bad) / (expected accepted), so that a large cluster counts for more than a
small one. One item a cluster is the case of ``binomial``, which is tighter there.

For a supposed rate r, cluster c pays ``1 - stake * (bad - r * accepted)``. If the true rate is r or more, the expected
product of all payments is at most 1, whatever happens inside the clusters; a product above 1 / (1 - confidence) is then
an event of probability at most 1 - confidence (Markov), and r is ruled out. The stake may depend on the counts
``accepted``, never on ``bad``: given the counts, the product's expectation is still at most 1 where the mean rate of
these very clusters is r or more, because the mean of logarithms is at most the logarithm of the mean.

Reference: I. Waudby-Smith, A. Ramdas, "Estimating Means of Bounded Random Variables by Betting", JRSS B 86, 2024,
Sec. 4 (products of bets); J. Kelly, "A New Interpretation of Information Rate", Bell System Technical Journal 35, 1956.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from auscult.errors import InputError
from auscult.score.stats.inputs import numbers

_HALVINGS: Final = 50


def cluster_upper_bound(accepted: ArrayLike, bad: ArrayLike, *, aim: float, confidence: float = 0.95) -> float:
    """Highest share of bad items that is still credible.

    Args:
        accepted: Items of each cluster, (n,), 0 or more.
        bad: Bad ones among them, (n,).
        aim: The share that the bound is to stay below; the stake is chosen for it, the bound is valid with any.
        confidence: How sure the bound is, both ends excluded.

    Returns:
        0..1; 1 where there is no item.

    Raises:
        InputError: Counts, aim or confidence are out of range.

    Example:
        >>> round(cluster_upper_bound([3] * 59, [0] * 59, aim=0.05), 4)
        0.05
        >>> round(cluster_upper_bound([3] * 200, [0] * 199 + [3], aim=0.05), 4)
        0.0296
    """
    items, faults = _counts(accepted, bad)
    _check(aim)
    _check(confidence)
    if not items.any():
        return 1.0
    enough = -math.log(1 - confidence)
    stake = _stake(float(items.sum() / items.max()), aim, enough)
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if _growth(items, faults, rate=middle, stake=stake) >= enough else (middle, high)
    return high


def fewest_clusters(accepted: ArrayLike, rate: float, *, confidence: float = 0.95) -> int:
    """How many clusters of such sizes, without a single bad item, give an upper bound of at most ``rate``.

    Args:
        accepted: Items of each cluster there is, (n,), not all 0.
        rate: The wanted bound, both ends excluded.
        confidence: How sure it is to be, both ends excluded.

    Raises:
        InputError: A number is out of range, or there is no item.

    Example:
        >>> fewest_clusters([1, 1], 0.05), fewest_clusters([1, 4], 0.05)
        (59, 94)
    """
    items, _ = _counts(accepted, np.zeros_like(np.asarray(accepted, dtype=np.float64)))
    _check(confidence)
    _check(rate)
    if not items.any():
        raise InputError("no cluster has an item", expected="at least one")
    growth = _growth(items, np.zeros_like(items), rate=rate, stake=1.0) / items.size
    return max(1, math.ceil(-math.log(1 - confidence) / growth - 1e-9))


def _counts(accepted: ArrayLike, bad: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    items, faults = numbers(accepted=accepted, bad=bad)
    wrong = np.flatnonzero((faults < 0) | (faults > items))
    if wrong.size:
        at = int(wrong[0])
        raise InputError(f"cluster {at} has {faults[at]:g} bad of {items[at]:g}", expected="0 <= bad <= accepted")
    return items, faults


def _check(share: float) -> None:
    if not 0 < share < 1:
        raise InputError(f"{share!r} is no share", expected="a number between 0 and 1, such as 0.95")


def _stake(clusters: float, aim: float, enough: float) -> float:
    """The stake that admits most bad clusters, as a share of the largest that cannot lose more than everything.

    Where none may be bad it is the least that wins enough without one: a larger one would win no more, and say less of
    how bad things are where one is.

    Args:
        clusters: How many of the largest size all items would make.
        aim: The rate to be ruled out.
        enough: Log of what has to be won.

    Returns:
        1 - q / aim, Kelly's stake where the share q of the clusters is bad, for the largest q that still wins enough.
    """
    stake = min(1.0, 1.0001 * math.expm1(enough / clusters) * (1 - aim) / aim)
    for faults in range(1, int(clusters * aim) + 1):
        share = faults / clusters
        if share >= aim:
            break
        won = clusters * (share * math.log(share / aim) + (1 - share) * math.log((1 - share) / (1 - aim)))
        if won < enough:
            break
        stake = 1 - share / aim
    return stake


def _growth(items: NDArray[np.float64], faults: NDArray[np.float64], *, rate: float, stake: float) -> float:
    """Log of what one unit has come to; -inf where everything was lost."""
    lost = stake * (faults - rate * items) / (max(1 - rate, 1e-12) * items.max())
    with np.errstate(divide="ignore"):
        return float(np.log(np.maximum(0.0, 1 - lost)).sum())
