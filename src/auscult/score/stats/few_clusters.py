"""Intervals where clusters are few, and where a number does not differ from cluster to cluster.

Percentiles of draws of whole clusters are too narrow for few clusters, for three reasons. A draw varies as if the
spread of n clusters were divided by n, not by n - 1; the spread itself is estimated, so that Student's t holds in the
place of the normal distribution; and clusters of unequal size count as fewer, n* = (sum of sizes)^2 / (sum of their
squares). Below ``FEW`` clusters the distances of all draws from the number are therefore multiplied by ``widening``: of
means of equal normal clusters this is the t interval. Of a root of a mean (RMSE) the squares are widened, as if there
were ``_LESS_OF_ROOT`` clusters fewer.

What is skewed needs more on the side of its long tail. To the second order the ends of an interval lie ``_SKEW`` times
as far aside as those of the draws do: ends that are moved so are taken where they lie outside the others, so that no
interval becomes narrower. Few clusters understate their skew, since the long tail is seldom among them: n clusters, 5
or more, are moved ``1 + _UNDERSTATED / n`` times as far; draws of 2 to 4 take too few values to read more off.
Squares understate it for longer, so that more is taken of a root. All but ``_SKEW`` are from the simulation of
``docs/intervals.md``, which has the coverage of all this.

From ``FEW`` clusters on the percentiles stand as they are.

Where all clusters are wholly right or wholly wrong, every draw is the same and percentiles have no width. The interval
then follows from the count alone (``Range.exact``). Where all draws are the same but the number lies within its range,
nothing is known of its spread, and there is no interval.

References: T. Hesterberg, "What Teachers Should Know About the Bootstrap", The American Statistician 69, 2015, Sec. 4.3
(narrowness bias and t quantiles); P. Hall, "On the Removal of Skewness by Transformation", JRSS B 54, 1992, and "The
Bootstrap and Edgeworth Expansion", 1992, Sec. 3.3 (ends to the second order); L. Kish, "Survey Sampling", 1965, Sec.
11.7 (effective size); J. MacKinnon, M. Nielsen, M. Webb, "Cluster-robust inference: A guide to empirical practice",
Journal of Econometrics 232, 2023 (t and effective clusters); Clopper and Pearson below.

Exact bounds on a rate are by Clopper-Pearson, for independent items and for items that come in clusters: cluster c has
``accepted[c]`` items of which ``bad[c]`` are bad; clusters are independent, items of one cluster need not be. The rate
is the share of bad ones among all items, so that a large cluster counts for more than a small one. Each cluster is kept
by a chance of its size over the largest one, and one of its items is drawn. That a cluster is kept and its item bad has
a mean chance of the rate times the mean of these sizes; the bound on that mean chance, over all clusters, divided by
that mean is a bound on the rate. What is kept and drawn follows from the number of the cluster, never from ``bad``.

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
from dataclasses import dataclass
from functools import cache, lru_cache
from statistics import NormalDist
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from auscult.errors import InputError
from auscult.rng import generator
from auscult.score.stats.inputs import between, numbers, whole
from auscult.types import Doubles


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
    keep_draws, pick_draws = generator(0, "cluster bound").random((items.size, 2)).T
    events = int(np.count_nonzero((keep_draws < sizes) & (pick_draws * items < faults)))
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
        row = int(wrong[0])
        raise InputError(f"cluster {row} has {faults[row]:g} bad of {items[row]:g}", expected="0 <= bad <= accepted")
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


@lru_cache(maxsize=10_000)  # a search asks for the same counts again and again
def _rate_at(events: int, trials: int, tail: float) -> float:
    """The rate at which at most ``events`` have the probability ``tail``: Newton's steps, halving where they stray."""
    low, high = 0.0, 1.0
    log_binomial = math.lgamma(trials + 1) - math.lgamma(events + 1) - math.lgamma(trials - events)
    rate = _score_bound(events, trials, tail)
    for _ in range(_STEPS):
        excess = at_most(events, trials, rate=rate) - tail
        low, high = (rate, high) if excess > 0 else (low, rate)
        slope = math.exp(log_binomial + events * math.log(rate) + (trials - events - 1) * math.log1p(-rate))
        new = rate + excess / slope if slope > _TINY else low
        new = new if low < new < high else (low + high) / 2
        if abs(new - rate) <= 4e-16 * new or high - low <= 4e-16 * high:
            return new
        rate = new
    return rate


def _score_bound(events: int, trials: int, tail: float) -> float:
    """Wilson's upper bound, which is near: where the search begins."""
    z = NormalDist().inv_cdf(1 - tail)
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


FEW: Final = 30
"""Clusters from which on percentiles of draws stand as they are."""

LEAST_FOR_STAR: Final = 6
"""Clusters below which no difference can be significant at 5 %: the smallest p value by sign flips is 2 / 2^n."""

EXACT: Final = "exact over clusters"

_SKEW: Final = 3.0  # (2 z^2 + 1) / (z^2 - 1) at z of 95 %
_UNDERSTATED: Final = 15.0
_LEAST_FOR_SKEW: Final = 5
_SKEW_OF_ROOT: Final = 12.0
_LESS_OF_ROOT: Final = 1.25
_LEAST_CLUSTERS: Final = 1.5
_HALVINGS: Final = 80
_SAME: Final = 1e-9  # of the number's size: sums of equal rows differ by rounding


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """What a number that is a mean over items, or the ``root`` of one, can be."""

    low: float
    high: float
    root: bool = False

    def holds(self, value: float) -> bool:
        """Whether the number lies in it."""
        return self.low <= value <= self.high

    def exact(self, value: float, *, clusters: int, level: float = 0.95) -> tuple[float, float] | None:
        """The interval of a number at one end of its range, to which every cluster comes; None for any other number.

        Of n clusters that are all wholly right, at least (tail)^(1 / n) of all clusters are, which bounds the mean over
        clusters from below (Clopper and Pearson); likewise for wholly wrong ones.

        Example:
            >>> [round(end, 4) for end in SHARE.exact(1.0, clusters=10)]
            [0.6915, 1.0]
        """
        power = 2 if self.root else 1
        size = _SAME * (self.high - self.low)
        others = upper_bound(0, clusters, confidence=(1 + level) / 2) * (self.high**power - self.low**power)
        if abs(value - self.low) <= size:
            return self.low, (self.low**power + others) ** (1 / power)
        if abs(value - self.high) <= size:
            return (self.high**power - others) ** (1 / power), self.high
        return None


SHARE: Final = Range(low=0.0, high=1.0)
"""Shares, and means of scores of 0..1."""
CORRELATION: Final = Range(low=-1.0, high=1.0)
"""Correlations, and differences of shares."""
GAP: Final = Range(low=-2.0, high=2.0)
"""Differences of differences of shares."""
ROOT: Final = Range(low=0.0, high=1.0, root=True)
"""RMSE of numbers of 0..1."""


def widening(sizes: ArrayLike, *, level: float = 0.95, root: bool = False) -> float:
    """The factor by which draws are stretched about their number; 1 from ``FEW`` clusters on.

    ``sizes`` are the items of each cluster, (n,), two or more; ``level`` is the share of draws inside the interval,
    0..1; ``root`` is of a root of a mean.

    Example:
        >>> round(widening([1] * 5), 4), round(widening([1, 1, 1, 1, 6]), 4), widening([1] * 30)
        (1.5838, 3.9631, 1.0)
    """
    between(level=level)
    items = np.asarray(sizes, dtype=np.float64)
    items = items[items > 0]
    if items.size < 2:
        raise InputError(f"{items.size} clusters", expected="2 or more")
    if items.size >= FEW:
        return 1.0
    clusters = float(items.sum() ** 2 / (items @ items)) - (_LESS_OF_ROOT if root else 0.0)
    return _widening(max(_LEAST_CLUSTERS, round(clusters, 2)), level)


@cache
def _widening(clusters: float, level: float) -> float:
    normal = NormalDist().inv_cdf((1 + level) / 2)
    return t_quantile((1 + level) / 2, clusters - 1) / normal * math.sqrt(clusters / (clusters - 1))


def widened(
    draws: Doubles, value: float | Doubles, *, sizes: ArrayLike, level: float = 0.95, root: bool = False
) -> Doubles:
    """Draws, (replicates, ...), of one or several numbers, (...), stretched about them by ``widening``."""
    factor = widening(sizes, level=level, root=root)
    if factor == 1.0:
        return draws
    if root:
        squares = np.maximum(0.0, np.square(value) + factor * (draws**2 - np.square(value)))
        return np.asarray(np.sqrt(squares), dtype=np.float64)
    result: Doubles = value + factor * (draws - value)
    return result


def t_quantile(share: float, freedom: float) -> float:
    """The value below which so large a share of Student's t distribution lies; share from .5 to below 1.

    Example:
        >>> round(t_quantile(0.975, 4), 4)
        2.7764
    """
    low, high = 0.0, 1.0
    while _t_above(high, freedom) > 1 - share:
        high *= 2
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if _t_above(middle, freedom) > 1 - share else (low, middle)
    return (low + high) / 2


def _t_above(value: float, freedom: float) -> float:
    """Probability of more than a value above 0."""
    return incomplete_beta(freedom / (freedom + value * value), freedom / 2, 0.5) / 2 if value > 0 else 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Ends:
    """An interval."""

    low: float
    high: float
    fields: dict[str, object]  # how it was made, for its signature


def ends_of(
    draws: Doubles, *, value: float, clusters: int, level: float = 0.95, within: Range | None = None
) -> Ends | None:
    """The interval of a number from its draws, (replicates,), which are ``widened`` already; NaN is one without number.

    ``within`` is the range of the number, which the interval does not leave; None for a number without one. None where
    more than half the draws gave no number, and where all are the same within that range.
    """
    between(level=level)
    if mostly_undefined(draws):
        return None
    defined = draws[~np.isnan(draws)]
    within = within if within is not None and within.holds(value) else None
    if np.ptp(defined) <= _SAME * max(1.0, abs(value)):
        exact = None if within is None else within.exact(value, clusters=clusters, level=level)
        fields: dict[str, object] = {"interval": EXACT, "drawn": "clusters", "level": f"{level:g}"}
        return None if exact is None else Ends(low=exact[0], high=exact[1], fields=fields)
    root = within is not None and within.root
    low, high = np.quantile(defined, ((1 - level) / 2, (1 + level) / 2)).tolist()
    if clusters < FEW:
        low, high = _skewed(defined, value, (low, high), clusters=clusters, root=root)
    if within is not None:
        low, high = max(low, within.low), min(high, within.high)
    return Ends(low=low, high=high, fields=drawn_fields(clusters, level=level, replicates=draws.size))


def _skewed(
    draws: Doubles, value: float, ends: tuple[float, float], *, clusters: int, root: bool
) -> tuple[float, float]:
    """Ends moved outwards by the skew of the draws, never inwards."""
    if root:
        squares = _shifted_ends(draws**2, value**2, (ends[0] ** 2, ends[1] ** 2), factor=_SKEW_OF_ROOT)
        return math.sqrt(max(0.0, squares[0])), math.sqrt(squares[1])
    correction = _UNDERSTATED / clusters if clusters >= _LEAST_FOR_SKEW else 0.0
    return _shifted_ends(draws, value, ends, factor=_SKEW * (1 + correction))


def _shifted_ends(draws: Doubles, value: float, ends: tuple[float, float], *, factor: float) -> tuple[float, float]:
    half, shift = (ends[1] - ends[0]) / 2, factor * ((ends[0] + ends[1]) / 2 - float(draws.mean()))
    return min(ends[0], value + shift - half), max(ends[1], value + shift + half)


def drawn_fields(clusters: int, *, level: float, replicates: int) -> dict[str, object]:
    """How an interval from draws was made, for its signature; an InputError where ``level`` is out of range."""
    between(level=level)
    method = "percentile bootstrap" if clusters >= FEW else "percentile bootstrap, widened by t"
    return {"interval": method, "drawn": "clusters", "level": f"{level:g}", "replicates": replicates}


def mostly_undefined(draws: Doubles) -> bool:
    """Whether more than half the draws, (replicates,), gave no number."""
    return bool(2 * np.count_nonzero(np.isnan(draws)) > draws.size or not draws.size)
