"""Which values of a series differ from their neighbours? Running medians, and a scale that outliers do not move.

A value is held against the median of up to ``REACH`` values before it and against that of as many after it. It
deviates by the smaller of the two distances where both point the same way, and not at all where they do not: so a
slope is not odd, nor is a series that changes once and stays changed; a value that leaves its neighbours on both sides
is, alone or up to three in a row. A value with neighbours on one side only, the first or the last, does not deviate: it
cannot be told from the end of a slope.

Deviations are put on the scale of the series: 1.4826 times the median distance of its values from their neighbours
(the MAD, a standard deviation for normal noise), at least a floor, so that a series that hardly moves does not make a
fault of a trifle. ``oddness`` is the deviation over ``LIMIT`` scales: beyond -1 and 1 is odd; the sign says on which
side.

References: Hampel 1974 (the identifier named after him).
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

REACH = 5
LEAST = 3
LIMIT = 5.0

_TO_DEVIATION = 1.4826


def neighbour_medians(values: Sequence[float | None]) -> list[float | None]:
    """The median of each value's neighbours on both sides, the value itself left out.

    Args:
        values: In order; None where there is no value.

    Returns:
        As many; None where fewer than ``LEAST`` neighbours have a value.
    """
    found: list[float | None] = []
    for place in range(len(values)):
        known = [*_before(values, place), *_after(values, place)]
        found.append(median(known) if len(known) >= LEAST else None)
    return found


def oddness(values: Sequence[float | None], *, floor: float) -> list[float | None]:
    """How far each value is from its neighbours, on the scale of the series.

    Args:
        values: In order; None where there is no value.
        floor: The least scale, in the unit of the values; above 0.

    Returns:
        As many: 0 for a value like its neighbours, beyond -1 or 1 for an odd one; None where there is no value or
        fewer than ``LEAST`` neighbours.

    Example:
        >>> oddness([0.9, 0.9, 0.9, 0.4, 0.9, 0.9, 0.9], floor=0.02)
        [0.0, 0.0, 0.0, -5.0, 0.0, 0.0, 0.0]
    """
    around = neighbour_medians(values)
    sizes = [
        abs(value - middle)
        for value, middle in zip(values, around, strict=True)
        if value is not None and middle is not None
    ]
    scale = max(floor, _TO_DEVIATION * median(sizes)) if sizes else floor
    return [
        None if value is None or middle is None else _deviation(values, place) / (LIMIT * scale)
        for place, (value, middle) in enumerate(zip(values, around, strict=True))
    ]


def _deviation(values: Sequence[float | None], place: int) -> float:
    value = values[place] or 0.0
    sides = [side for side in (_before(values, place), _after(values, place)) if side]
    away = [value - median(side) for side in sides]
    if len(away) < 2:
        return 0.0
    same_way = all(one > 0 for one in away) or all(one < 0 for one in away)
    return min(away, key=abs) if same_way else 0.0


def _before(values: Sequence[float | None], place: int) -> list[float]:
    return [value for value in values[max(0, place - REACH) : place] if value is not None]


def _after(values: Sequence[float | None], place: int) -> list[float]:
    return [value for value in values[place + 1 : place + 1 + REACH] if value is not None]
