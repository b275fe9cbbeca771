"""Checks that all statistics share, of their numbers and labels."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence, Sized

import numpy as np
from numpy.typing import ArrayLike, NDArray

from auscult.errors import InputError


def numbers(**columns: ArrayLike) -> tuple[NDArray[np.float64], ...]:
    """Columns of numbers of one length, as float64; an InputError for other lengths or values."""
    arrays = tuple(_column(name, values) for name, values in columns.items())
    same_length(**dict(zip(columns, arrays, strict=True)))
    return arrays


def marks(**columns: Sequence[bool]) -> tuple[NDArray[np.bool_], ...]:
    """Columns of booleans of one length, also given as 0 and 1; an InputError for other lengths or values."""
    arrays = numbers(**columns)
    for name, array in zip(columns, arrays, strict=True):
        wrong = array[(array != 0) & (array != 1)]
        if wrong.size:
            raise InputError(f"{name} holds {wrong[0]:g}", expected="booleans, or 0 and 1")
    return tuple(array.astype(np.bool_) for array in arrays)


def whole(**counts: int) -> tuple[int, ...]:
    """Counts as Python's whole numbers, which neither overflow nor wrap; an InputError for others."""
    for name, value in counts.items():
        if int(value) != value:
            raise InputError(f"{name} is {value!r}", expected="a whole number")
    return tuple(int(value) for value in counts.values())


def same_length(**columns: Sized) -> None:
    """Refuse columns of different lengths."""
    (first, items), *others = columns.items()
    for name, other in others:
        if len(other) != len(items):
            raise InputError(
                f"there are {len(items)} {first} and {len(other)} {name}", expected="one of each per item, in one order"
            )


def between(**shares: float) -> None:
    """Refuse a level, a confidence or another share that is not between 0 and 1, both ends excluded."""
    for name, value in shares.items():
        if not 0 < value < 1:
            raise InputError(f"{name} is {value!r}", expected="between 0 and 1, both ends excluded, such as 0.95")


def members_of(clusters: Iterable[Hashable]) -> NDArray[np.int64]:
    """The number of each item's cluster, (n,), from 0 in the order of first appearance."""
    numbered: dict[Hashable, int] = {}
    return np.array([numbered.setdefault(cluster, len(numbered)) for cluster in clusters], dtype=np.int64)


def _column(name: str, values: ArrayLike) -> NDArray[np.float64]:
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} cannot be read as numbers: {error}", expected="a list of numbers") from error
    if array.ndim != 1:
        raise InputError(f"{name} has shape {array.shape}", expected="one number per item, shape (n,)")
    bad = np.flatnonzero(~np.isfinite(array))
    if bad.size:
        raise InputError(
            f"{name} holds {array[bad[0]]} at position {bad[0]} ({bad.size} of {array.size} are not finite)",
            expected="finite numbers",
            hint="an item that failed or is undefined has no number: leave it out and count it",
        )
    return array
