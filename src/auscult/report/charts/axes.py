"""Scales of charts: from numbers to places, and round numbers to print beside them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

_ROUND = (1.0, 2.0, 2.5, 5.0, 10.0)
_LEAST_SPAN = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """A straight map from numbers to pixels.

    Attributes:
        low: Number at ``first_px``.
        high: Number at ``last_px``; above ``low``.
        first_px: Place of the low end.
        last_px: Place of the high end; may be the smaller one.
    """

    low: float
    high: float
    first_px: float
    last_px: float

    def at(self, number: float) -> float:
        """Where a number is; what is outside is at the edge."""
        share = (min(max(number, self.low), self.high) - self.low) / (self.high - self.low)
        return self.first_px + share * (self.last_px - self.first_px)


@dataclass(frozen=True, slots=True)
class Ticks:
    """Round numbers along a scale and how they are printed."""

    at: tuple[float, ...]
    words: tuple[str, ...]

    @property
    def ends(self) -> tuple[float, float]:
        """The first and the last."""
        return self.at[0], self.at[-1]


def ticks(numbers: Iterable[float], *, most: int = 6, zero: bool = True) -> Ticks:
    """Round numbers, evenly apart, that span some numbers.

    Args:
        numbers: What has to be inside; none gives 0 to 1.
        most: About how many to give.
        zero: Span 0 too.
    """
    found = list(numbers) or [0.0, 1.0]
    low, high = min(found), max(found)
    if zero:
        low, high = min(low, 0.0), max(high, 0.0)
    if high - low <= max(abs(low), abs(high)) * _LEAST_SPAN:
        low, high = low - (abs(low) or 1.0) / 2, high + (abs(high) or 1.0) / 2
    step = _step((high - low) / max(1, most - 1))
    first, last = math.floor(low / step + 1e-6), math.ceil(high / step - 1e-6)
    places = tuple(count * step for count in range(first, max(last, first + 1) + 1))
    return Ticks(places, tuple(_printed(place, step) for place in places))


def _step(least: float) -> float:
    unit: float = 10.0 ** math.floor(math.log10(least))
    return unit * next(round_one for round_one in _ROUND if round_one * unit >= least * (1 - 1e-9))


def _printed(number: float, step: float) -> str:
    digits = max(0, -math.floor(math.log10(step) + 1e-9))
    if digits > 4 or step >= 1e6:
        return f"{number:.3g}"
    if round(step * 10**digits, 6) % 1:
        digits += 1  # steps of 2.5
    text = f"{number:.{digits}f}"
    return text if float(text) else text.removeprefix("-")
