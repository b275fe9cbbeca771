"""How strong a perturbation is: 0 leaves its input as it was, 1 to 5 are the levels of R2-Bench, with all between.

The papers call 1, 3 and 5 low, medium and high.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Final, TypeAlias

from auscult.errors import UsageError

STRONGEST: Final = 5.0
NAMED: Final[Mapping[str, float]] = {"low": 1.0, "medium": 3.0, "high": 5.0}

_WANTED: Final = f"a number from 0 to {STRONGEST:g}, or {', '.join(NAMED)}"
_LEVELS: Final = "0 changes nothing, 5 is the strongest; low, medium and high are 1, 3 and 5"

Rows: TypeAlias = Sequence[Sequence[float]]


def strength_of(severity: float | str) -> float:
    """The strength, 0..5, of a severity: a number or its text, or ``low``, ``medium``, ``high``; else a UsageError."""
    if isinstance(severity, str) and severity in NAMED:
        return NAMED[severity]
    try:
        found = float(severity)
    except (TypeError, ValueError, OverflowError) as error:
        raise UsageError(f"{severity!r} is no severity", expected=_WANTED, hint=_LEVELS) from error
    if isinstance(severity, bool) or not (math.isfinite(found) and 0.0 <= found <= STRONGEST):
        raise UsageError(f"the severity is {severity!r}", expected=_WANTED, hint=_LEVELS)
    return found


def between(values: Sequence[float], strength: float) -> float:
    """The constant of a strength, 0..5, on straight lines between six: that which changes nothing, then the levels'.

    Example:
        >>> between((0.0, 0.4, 0.3, 0.2, 0.1, 0.05), 2.5)
        0.25
    """
    below = min(int(strength), len(values) - 2)
    low, high = values[below], values[below + 1]
    return low if low == high else low + (strength - below) * (high - low)


def monotone(rows: Rows, column: int) -> bool:
    """Whether a constant goes one way from level 1 to level 5."""
    values = [row[column] for row in rows[1:]]
    steps = [after - before for before, after in pairwise(values)]
    return all(step >= 0 for step in steps) or all(step <= 0 for step in steps)
