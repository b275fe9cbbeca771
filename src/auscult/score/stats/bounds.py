"""Exact bounds on a rate, by Clopper-Pearson: for independent items, and for items that come in clusters.

Clusters: cluster c has ``accepted[c]`` items of which ``bad[c]`` are bad; clusters are independent, items of one
cluster need not be. The rate is the share of bad ones among all items, so that a large cluster counts for more than a
small one. Each cluster is kept by a chance of its size over the largest one, and one of its items is drawn. That a
cluster is kept and its item bad has a mean chance of the rate times the mean of these sizes; the bound on that mean
chance, over all clusters, divided by that mean is a bound on the rate. What is kept and drawn follows from the number
of the cluster, never from ``bad``.

Clopper-Pearson: ``events`` of ``trials`` happened, the trials independent; a rate and a confidence are 0..1. The bounds
are one-sided: whatever the true rate, ``upper_bound`` lies at or above it with at least the confidence. Trials of
unequal rates are covered too, where the confidence is high enough: the bound then holds for their mean rate. That is
Theorem 4 of Hoeffding for an event count of at least one below its mean, which at the bound is so from a confidence of
0.75 on, and from 0.7 on where the bound is at most 0.5 (worst cases 1 of 3, 0.741, and 1 of 4, 0.6875). Without an
event it is so at any confidence, by the inequality of means.

References: C. Clopper, E. Pearson, "The Use of Confidence or Fiducial Limits Illustrated in the Case of the Binomial",
Biometrika 26, 1934; W. Hoeffding, "On the Distribution of the Number of Successes in Independent Trials", Annals of
Mathematical Statistics 27, 1956; W. Cochran, "Sampling Techniques", 1977, Sec. 9A (by size);
continued fraction: NIST Digital Library of Mathematical Functions, 8.17.22.
"""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from auscult.errors import InputError
from auscult.rng import generator
from auscult.score.stats.inputs import between, numbers, whole


def cluster_upper_bound(accepted: ArrayLike, bad: ArrayLike, *, confidence: float = 0.95) -> float:
    """Highest share of bad items that is still credible, 0..1; 1 where there is no item.

    ``accepted``, (n,), are the items of each cluster, ``bad`` the bad ones among them.

    Example:
        >>> round(cluster_upper_bound([3] * 59, [0] * 59), 4)
        0.0495
    """
    items, faults = _counts(accepted, bad)
    between(confidence=confidence)
    if not items.any():
        return 1.0
    sizes = items / items.max()
    kept, chosen = generator(0, "cluster bound").random((items.size, 2)).T
    events = int(np.count_nonzero((kept < sizes) & (chosen * items < faults)))
    return min(1.0, upper_bound(events, items.size, confidence=confidence) / float(sizes.mean()))


def fewest_clusters(accepted: ArrayLike, rate: float, *, confidence: float = 0.95) -> int:
    """How many clusters of sizes (n,), without a single bad item, give an upper bound of at most ``rate``.

    Example:
        >>> fewest_clusters([1, 1], 0.05), fewest_clusters([1, 4], 0.05)
        (59, 95)
    """
    items, _ = _counts(accepted, np.zeros_like(np.asarray(accepted, dtype=np.float64)))
    between(confidence=confidence, rate=rate)
    if not items.any():
        raise InputError("no cluster has an item", expected="at least one")
    return fewest_trials(rate * float((items / items.max()).mean()), confidence=confidence)


def _counts(accepted: ArrayLike, bad: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    items, faults = numbers(accepted=accepted, bad=bad)
    wrong = np.flatnonzero((faults < 0) | (faults > items))
    if wrong.size:
        at = int(wrong[0])
        raise InputError(f"cluster {at} has {faults[at]:g} bad of {items[at]:g}", expected="0 <= bad <= accepted")
    return items, faults


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
    confidence = float(confidence)
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
    rate = float(rate)
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
    rate = _score_bound(events, trials, rest)
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


def _score_bound(events: int, trials: int, rest: float) -> float:
    """Wilson's upper bound, which is near: where the search begins."""
    z = NormalDist().inv_cdf(1 - rest)
    middle = events + z * z / 2
    spread = z * math.sqrt(events * (trials - events) / trials + z * z / 4)
    return min(max((middle + spread) / (trials + z * z), _TINY), 1 - 1e-16)


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
        d = 1 / ((1 + term * d) or _TINY)
        c = (1 + term / c) or _TINY
        value *= c * d
        if abs(c * d - 1) < 1e-15:
            break
    return value
