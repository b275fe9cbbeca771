"""Series over time: medians of neighbouring frames, and a robust slope with its uncertainty.

Conventions: values in order of time, one number per moment. The change is the slope times the time from the first to
the last value, so that it has the unit of the values: -0.2 is a series that ends .2 below where it began.

Slope: ``theil_sen``, the median of the slopes of all pairs. Its interval takes the order statistics of these slopes
that Kendall's S allows (Sen 1968). Neighbouring frames of a video are alike, so that the variance of S is widened by
(1 + r) / (1 - r) with r the first autocorrelation of what the line leaves over, where that is above 0 (the effective
number of values of Bayley and Hammersley 1946).

Odd values: ``oddness``. A value is held against the median of up to ``REACH`` values before it and against that of as
many after it. It deviates by the smaller of the two distances where both point the same way, and not at all where they
do not: so a slope is not odd, nor is a series that changes once and stays changed; a value that leaves its neighbours
on both sides is, alone or up to three in a row. A value with neighbours on one side only, the first or the last, does
not deviate: it cannot be distinguished from the end of a slope.

Deviations are put on the scale of the series: 1.4826 times the median distance of its values from their neighbours
(the MAD, a standard deviation for normal noise), at least a floor, so that a series that hardly moves does not make a
fault of a trifle. ``oddness`` is the deviation over ``LIMIT`` scales: beyond -1 and 1 is odd; the sign says on which
side.

References: Theil 1950; P. K. Sen, "Estimates of the regression coefficient based on Kendall's tau", 1968; Hampel 1974
(the identifier named after him).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np
from numpy.typing import ArrayLike, NDArray

from auscult.outcome import Signature, Undefined
from auscult.score.stats.inputs import numbers

REACH = 5
LEAST_NEIGHBOURS = 3
LIMIT = 5.0

_TO_DEVIATION = 1.4826


def neighbour_medians(values: Sequence[float | None]) -> list[float | None]:
    """The median of each value's neighbours on both sides, the value itself left out.

    None where fewer than ``LEAST_NEIGHBOURS`` neighbours have a value.
    """
    medians: list[float | None] = []
    for index in range(len(values)):
        neighbours = [*_before(values, index), *_after(values, index)]
        medians.append(median(neighbours) if len(neighbours) >= LEAST_NEIGHBOURS else None)
    return medians


def oddness(values: Sequence[float | None], *, floor: float) -> list[float | None]:
    """How far each value is from its neighbours, on the scale of the series, which is at least ``floor``, in its unit.

    0 for a value like its neighbours, beyond -1 or 1 for an odd one; None where there is no value or fewer than
    ``LEAST_NEIGHBOURS`` neighbours.

    Example:
        >>> oddness([0.9, 0.9, 0.9, 0.4, 0.9, 0.9, 0.9], floor=0.02)
        [0.0, 0.0, 0.0, -5.0, 0.0, 0.0, 0.0]
    """
    medians = neighbour_medians(values)
    sizes = [
        abs(float(value) - middle)
        for value, middle in zip(values, medians, strict=True)
        if value is not None and middle is not None
    ]
    scale = max(float(floor), _TO_DEVIATION * median(sizes)) if sizes else float(floor)
    return [
        None if value is None or middle is None else _deviation(values, index) / (LIMIT * scale)
        for index, (value, middle) in enumerate(zip(values, medians, strict=True))
    ]


def _deviation(values: Sequence[float | None], index: int) -> float:
    value = float(values[index] or 0.0)
    sides = [side for side in (_before(values, index), _after(values, index)) if side]
    distances = [value - median(side) for side in sides]
    if len(distances) < 2:
        return 0.0
    same_way = all(distance > 0 for distance in distances) or all(distance < 0 for distance in distances)
    return min(distances, key=abs) if same_way else 0.0


def _before(values: Sequence[float | None], index: int) -> list[float]:
    return [float(value) for value in values[max(0, index - REACH) : index] if value is not None]


def _after(values: Sequence[float | None], index: int) -> list[float]:
    return [float(value) for value in values[index + 1 : index + 1 + REACH] if value is not None]


LEAST_FRAMES = 5
MOST = 1_000

_Z90 = 1.6448536269514722
_MOST_AUTOCORRELATION = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class Trend:
    """A change over a series."""

    change: float  # slope times the time from first to last value
    low: float  # lower end of its 90 % interval
    high: float  # upper end
    n: int  # values it is from
    signature: Signature


def theil_sen(values: ArrayLike, times: ArrayLike) -> Trend | Undefined:
    """The robust change of a series, (n,), from its first to its last moment, with its 90 % interval (Sen 1968).

    Of more than ``MOST`` values as many evenly spaced ones are taken. Undefined for fewer than ``LEAST_FRAMES`` values,
    or times that do not increase.

    Example:
        >>> round(theil_sen([0.9, 0.8, 0.7, 0.1, 0.5], [0, 1, 2, 3, 4]).change, 6)
        -0.4
    """
    series, moments = numbers(values=values, times=times)
    if series.size < LEAST_FRAMES:
        return Undefined(f"fewer than {LEAST_FRAMES} values")
    if (np.diff(moments) <= 0).any():
        return Undefined("the times do not increase")
    if series.size > MOST:
        chosen = np.linspace(0, series.size - 1, MOST).round().astype(np.intp)
        series, moments = series[chosen], moments[chosen]
    first, second = np.triu_indices(series.size, 1)
    slopes = np.sort((series[second] - series[first]) / (moments[second] - moments[first]))
    slope = float(np.median(slopes))
    low, high = _interval(slopes, series, left=series - slope * moments)
    span = float(moments[-1] - moments[0])
    return Trend(
        change=slope * span,
        low=low * span,
        high=high * span,
        n=int(series.size),
        signature=Signature.of(metric="theil_sen", interval="sen, 90 %, effective n"),
    )


def _interval(
    slopes: NDArray[np.float64], values: NDArray[np.float64], *, left: NDArray[np.float64]
) -> tuple[float, float]:
    """The slopes at the ranks that Kendall's S allows."""
    n = values.size
    ties = np.unique(values, return_counts=True)[1]
    variance = (n * (n - 1) * (2 * n + 5) - float((ties * (ties - 1) * (2 * ties + 5)).sum())) / 18
    reach = _Z90 * math.sqrt(max(0.0, variance) * _widening(left))
    low = math.floor((slopes.size - reach) / 2)
    high = math.ceil((slopes.size + reach) / 2)
    return float(slopes[max(0, low)]), float(slopes[min(slopes.size - 1, high)])


def _widening(residuals: NDArray[np.float64]) -> float:
    """By how much autocorrelation, (1 + r) / (1 - r), widens the variance of the sum of a series."""
    centred = residuals - residuals.mean()
    total = float(centred @ centred)
    autocorrelation = float(centred[1:] @ centred[:-1]) / total if total > 0 else 0.0
    clipped = min(max(autocorrelation, 0.0), _MOST_AUTOCORRELATION)
    return (1 + clipped) / (1 - clipped)
