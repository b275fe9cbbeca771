"""Exact bounds on a rate: by betting for items that come in clusters, by Clopper-Pearson for independent ones.

Betting, for items in clusters: cluster c has ``accepted[c]`` items of which ``bad[c]`` are bad; clusters are
independent, items of one cluster need not be. The rate is (expected bad) / (expected accepted), so that a large cluster
counts for more than a small one. One item a cluster is the case of Clopper-Pearson, which is tighter there.

For a supposed rate r, cluster c pays ``1 - stake * (bad - r * accepted)``. If the true rate is r or more, the expected
product of all payments is at most 1, whatever happens inside the clusters; a product above 1 / (1 - confidence) is then
an event of probability at most 1 - confidence (Markov), and r is ruled out. The stake may depend on the counts
``accepted``, never on ``bad``: given the counts, the product's expectation is still at most 1 where the mean rate of
these very clusters is r or more, because the mean of logarithms is at most the logarithm of the mean.

Reference: I. Waudby-Smith, A. Ramdas, "Estimating Means of Bounded Random Variables by Betting", JRSS B 86, 2024,
Sec. 4 (products of bets); J. Kelly, "A New Interpretation of Information Rate", Bell System Technical Journal 35, 1956.

Clopper-Pearson: ``events`` of ``trials`` happened, the trials independent; a rate and a confidence are 0..1. The bounds
are one-sided: whatever the true rate, ``upper_bound`` lies at or above it with at least the confidence. Trials of
unequal rates are covered too, where the confidence is high enough: the bound then holds for their mean rate. That is
Theorem 4 of Hoeffding for an event count of at least one below its mean, which at the bound is so from a confidence of
0.75 on, and from 0.7 on where the bound is at most 0.5 (worst cases 1 of 3, 0.741, and 1 of 4, 0.6875). Without an
event it is so at any confidence, by the inequality of means.

References: C. Clopper, E. Pearson, "The Use of Confidence or Fiducial Limits Illustrated in the Case of the Binomial",
Biometrika 26, 1934; W. Hoeffding, "On the Distribution of the Number of Successes in Independent Trials", Annals of
Mathematical Statistics 27, 1956; continued fraction: NIST Digital Library of Mathematical Functions, 8.17.22.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from auscult.errors import InputError
from auscult.score.stats.inputs import between, numbers, whole

_HALVINGS: Final = 50


def cluster_upper_bound(accepted: ArrayLike, bad: ArrayLike, *, aim: float, confidence: float = 0.95) -> float:
    """Highest share of bad items that is still credible, 0..1; 1 where there is no item.

    ``accepted``, (n,), are the items of each cluster, ``bad`` the bad ones among them. The stake is chosen for ``aim``,
    the share that the bound is to stay below; the bound is valid with any.

    Example:
        >>> round(cluster_upper_bound([3] * 59, [0] * 59, aim=0.05), 4)
        0.05
    """
    items, faults = _counts(accepted, bad)
    between(aim=aim, confidence=confidence)
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
    """How many clusters of sizes (n,), without a single bad item, give an upper bound of at most ``rate``.

    Example:
        >>> fewest_clusters([1, 1], 0.05), fewest_clusters([1, 4], 0.05)
        (59, 94)
    """
    items, _ = _counts(accepted, np.zeros_like(np.asarray(accepted, dtype=np.float64)))
    between(confidence=confidence, rate=rate)
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


def _stake(clusters: float, aim: float, enough: float) -> float:
    """The stake that admits most bad clusters, as a share of the largest that cannot lose more than everything.

    Kelly's 1 - q / aim for the largest share q of bad clusters that still wins enough. Where none may be bad it is the
    least that wins enough: a larger one would win no more, and say less of how bad things are where one is.
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


_TINY: Final = 1e-300
_STEPS: Final = 200
_TERMS: Final = 100_000


def upper_bound(events: int, trials: int, *, confidence: float = 0.95) -> float:
    """Highest rate at which as few events are still credible: p with P(at most ``events`` | p) = 1 - confidence.

    1 where all happened, and where there is no trial.

    Example:
        >>> round(upper_bound(0, 59), 5), round(upper_bound(2, 100), 5)
        (0.04951, 0.06162)
    """
    events, trials = _checked(events, trials, confidence)
    if events == trials:
        return 1.0
    if events == 0:
        return -math.expm1(math.log(1 - confidence) / trials)
    return _rate_at(events, trials, 1 - confidence)


def lower_bound(events: int, trials: int, *, confidence: float = 0.95) -> float:
    """Lowest rate at which as many events are still credible: ``1 - upper_bound`` of what did not happen."""
    events, trials = _checked(events, trials, confidence)
    return 1 - upper_bound(trials - events, trials, confidence=confidence) if events else 0.0


def at_most(events: int, trials: int, *, rate: float) -> float:
    """Probability of at most ``events`` of ``trials`` at a rate, 0..1."""
    events, trials = _checked(events, trials, 0.5)
    if not 0 <= rate <= 1:
        raise InputError(f"the rate is {rate!r}", expected="a number from 0 to 1")
    if events == trials or rate == 0:
        return 1.0
    if rate == 1:
        return 0.0
    return incomplete_beta(1 - rate, trials - events, events + 1)


def fewest_trials(rate: float, *, confidence: float = 0.95) -> int:
    """How many trials without an event bound the rate by at most ``rate``: n with (1 - rate)^n <= 1 - confidence."""
    between(confidence=confidence, rate=rate)
    return max(1, math.ceil(math.log(1 - confidence) / math.log1p(-rate) - 1e-9))


def _checked(events: int, trials: int, confidence: float) -> tuple[int, ...]:
    events, trials = whole(events=events, trials=trials)
    if not 0 <= events <= trials:
        raise InputError(f"{events} events of {trials}", expected="from 0 to as many as there are trials")
    between(confidence=confidence)
    return events, trials


def _rate_at(events: int, trials: int, rest: float) -> float:
    """The rate at which at most ``events`` have the probability ``rest``: Newton's steps, halving where they stray."""
    low, high = 0.0, 1.0
    ways = math.lgamma(trials + 1) - math.lgamma(events + 1) - math.lgamma(trials - events)
    rate = (events + 1) / (trials + 1)
    for _ in range(_STEPS):
        excess = at_most(events, trials, rate=rate) - rest
        low, high = (rate, high) if excess > 0 else (low, rate)
        slope = math.exp(ways + events * math.log(rate) + (trials - events - 1) * math.log1p(-rate))
        new = rate + excess / slope if slope > _TINY else low
        new = new if low < new < high else (low + high) / 2
        if abs(new - rate) <= 4e-16 * new or high - low <= 4e-16 * high:
            return new
        rate = new
    return rate


def incomplete_beta(x: float, a: float, b: float) -> float:
    """Regularised incomplete beta function I_x(a, b), 0..1; 0 < x < 1, a and b above 0."""
    if x > (a + 1) / (a + b + 2):
        return 1 - incomplete_beta(1 - x, b, a)
    front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    return math.exp(front) / (a * _fraction(x, a, b))


def _fraction(x: float, a: float, b: float) -> float:
    """The continued fraction of DLMF 8.17.22, by the modified Lentz method."""
    value, c, d = 1.0, 1.0, 0.0
    for step in range(1, _TERMS):
        m = step // 2
        if step % 2:
            term = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        else:
            term = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        d = 1 / _away_from_zero(1 + term * d)
        c = _away_from_zero(1 + term / c)
        value *= c * d
        if abs(c * d - 1) < 1e-15:
            break
    return value


def _away_from_zero(value: float) -> float:
    return value if abs(value) > _TINY else _TINY
