"""What charts are drawn from: numbers with intervals, and the words for them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from auscult.errors import TooLarge

NONE: Final = "n/a"
"""What is printed for a number that does not exist."""

MAX_MODELS: Final = 24
MAX_TYPES: Final = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A number with its interval, or the lack of one.

    Attributes:
        value: The number; None where it is Undefined. It is never drawn as 0.
        low: Lower end of the interval; None for none.
        high: Upper end.
        n: What it was computed over; None where that has no count.
        beyond: Of a number that was looked for up to some end: that end, where the upper end of the interval (``high``
            None), or the number itself (``value`` None), lies above it.

    Raises:
        ValueError: A number that is not finite, an end alone, or ends in the wrong order.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    n: int | None = None
    beyond: float | None = None

    def __post_init__(self) -> None:
        """Check that the numbers belong together."""
        given = [number for number in (self.value, self.low, self.high, self.beyond) if number is not None]
        if not all(math.isfinite(number) for number in given):
            raise ValueError(f"{self}: a number that is not finite; Undefined is value=None")
        if self.beyond is not None:
            if self.high is not None or max(given) > self.beyond:
                raise ValueError(f"{self}: above its open end is no number")
            return
        if (self.low is None) != (self.high is None) or (self.value is None and self.low is not None):
            raise ValueError(f"{self}: an interval has two ends and a value")
        if self.low is not None and self.high is not None and self.low > self.high:
            raise ValueError(f"{self}: low is above high")

    @property
    def numbers(self) -> tuple[float, ...]:
        """Value and ends, those that exist."""
        return tuple(number for number in (self.value, self.low, self.high) if number is not None)


UNDEFINED: Final = Estimate(value=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """The words around a chart.

    Attributes:
        axis: What the numbers are, with unit and direction, for example ``J&F, higher is better``.
        heading: Drawn above the chart; empty where the page has a caption.
        digits: Decimals of printed numbers.
    """

    axis: str
    heading: str = ""
    digits: int = 2


def printed(number: float | None, digits: int = 2) -> str:
    """A number as text; more decimals where it would read as 0, ``n/a`` where there is none."""
    if number is None:
        return NONE
    text = f"{number:.{digits}f}"
    if number and not float(text):
        text = f"{number:.1g}" if abs(number) >= 1e-4 else f"{number:.1e}"
    return text.removeprefix("-") if not float(text) else text


def told(estimate: Estimate, digits: int = 2) -> str:
    """A number with its interval as text, ``0.71 [0.68, 0.74]`` or, with an open end, ``4.4 [3.9, above 5]``."""
    if estimate.beyond is not None:
        end = f"above {estimate.beyond:g}"
        value = end if estimate.value is None else printed(estimate.value, digits)
        if estimate.low is None:
            return value if estimate.value is None else f"{value} [{end}, {end}]"
        return f"{value} [{printed(estimate.low, digits)}, {end}]"
    if estimate.low is None or estimate.high is None:
        return printed(estimate.value, digits)
    return f"{printed(estimate.value, digits)} [{printed(estimate.low, digits)}, {printed(estimate.high, digits)}]"


def with_count(estimate: Estimate, digits: int = 2) -> str:
    """``told`` and the count."""
    return told(estimate, digits) + ("" if estimate.n is None else f", n {estimate.n:,}")


def counts(estimates: Iterable[Estimate]) -> str:
    """How many cases numbers are over, ``n 312`` or ``n 300 to 312``; empty where nobody said."""
    known = sorted({one.n for one in estimates if one.n is not None})
    if not known:
        return ""
    return f"n {known[0]:,}" if len(known) == 1 else f"n {known[0]:,} to {known[-1]:,}"


def check_size(what: str, rows: Sequence[object], most: int) -> None:
    """Refuse more than a chart can show.

    Raises:
        TooLarge: More than ``most``.
    """
    if len(rows) > most:
        raise TooLarge(
            f"a chart of {len(rows):,} {what}",
            expected=f"at most {most}",
            hint="draw a part of them, or read the table",
        )
