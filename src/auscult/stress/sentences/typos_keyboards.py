"""Which keys lie beside which, from the rows of a keyboard."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

_REACH: Final = 1.3
"""In widths of a key, between the middles of two: the next key of a row, and those that touch in the rows beside it."""


def neighbours(rows: Sequence[str], offsets: Sequence[float]) -> Mapping[str, str]:
    """The keys beside each key.

    Args:
        rows: The letters of each row from left to right, the upper row first.
        offsets: How far each row is set to the right, in widths of a key.

    Returns:
        Each letter with those beside it, the nearest first.

    Example:
        >>> neighbours(("qwe", "asd"), (0.0, 0.25))["a"]
        'sqw'
    """
    keys = {
        letter: (column + offset, float(row))
        for row, (letters, offset) in enumerate(zip(rows, offsets, strict=True))
        for column, letter in enumerate(letters)
    }
    found = {}
    for letter, (x, y) in keys.items():
        away = {other: ((x - u) ** 2 + (y - v) ** 2) ** 0.5 for other, (u, v) in keys.items() if other != letter}
        near = [other for other in away if away[other] <= _REACH]
        found[letter] = "".join(sorted(near, key=lambda other: (round(away[other], 6), other)))
    return found
