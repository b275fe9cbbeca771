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
Journal of Econometrics 232, 2023 (t and effective clusters); Clopper and Pearson as in ``bounds``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from statistics import NormalDist
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from auscult.errors import InputError
from auscult.score.stats.bounds import incomplete_beta, upper_bound
from auscult.score.stats.inputs import between
from auscult.types import Doubles

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
    """How many times as far from the number its draws are put; 1 from ``FEW`` clusters on.

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
    """Draws, (replicates, ...), of one or several numbers, (...), put as far from them as such clusters ask."""
    factor = widening(sizes, level=level, root=root)
    if factor == 1.0:
        return draws
    if root:
        squares = np.maximum(0.0, np.square(value) + factor * (draws**2 - np.square(value)))
        return np.asarray(np.sqrt(squares), dtype=np.float64)
    moved: Doubles = value + factor * (draws - value)
    return moved


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
    """Ends as far out as the skew of the draws asks, nowhere further in than they are."""
    if root:
        squares = _moved(draws**2, value**2, (ends[0] ** 2, ends[1] ** 2), factor=_SKEW_OF_ROOT)
        return math.sqrt(max(0.0, squares[0])), math.sqrt(squares[1])
    understated = _UNDERSTATED / clusters if clusters >= _LEAST_FOR_SKEW else 0.0
    return _moved(draws, value, ends, factor=_SKEW * (1 + understated))


def _moved(draws: Doubles, value: float, ends: tuple[float, float], *, factor: float) -> tuple[float, float]:
    half, aside = (ends[1] - ends[0]) / 2, factor * ((ends[0] + ends[1]) / 2 - float(draws.mean()))
    return min(ends[0], value + aside - half), max(ends[1], value + aside + half)


def drawn_fields(clusters: int, *, level: float, replicates: int) -> dict[str, object]:
    """How an interval from draws was made, for its signature; an InputError where ``level`` is out of range."""
    between(level=level)
    how = "percentile bootstrap" if clusters >= FEW else "percentile bootstrap, widened by t"
    return {"interval": how, "drawn": "clusters", "level": f"{level:g}", "replicates": replicates}


def mostly_undefined(draws: Doubles) -> bool:
    """Whether more than half the draws, (replicates,), gave no number."""
    return bool(2 * np.count_nonzero(np.isnan(draws)) > draws.size or not draws.size)
