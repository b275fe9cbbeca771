"""Values of a plan's JSON, checked one by one. Plans are files, and files come from strangers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from auscult.cases import fields
from auscult.errors import InputError

_MOST_VALUES = 10_000


def number(row: Mapping[str, Any], key: str, *, low: float, high: float) -> float:
    """A number that must be there, from ``low`` to ``high``.

    Raises:
        InputError: It is absent, no number or out of bounds.
    """
    value = fields.number(row, key, low=low, high=high)
    if value is None or math.isnan(value):
        raise fields.wrong(key, value, f"a number from {low:g} to {high:g}")
    return value


def whole(row: Mapping[str, Any], key: str, *, low: int, high: int) -> int:
    """A whole number that must be there."""
    value = row.get(key)
    if type(value) is not int or not low <= value <= high:
        raise fields.wrong(key, value, f"a whole number from {low} to {high}")
    return value


def flag(row: Mapping[str, Any], key: str, *, default: bool) -> bool:
    """True or false; ``default`` where it is absent."""
    value = row.get(key, default)
    if not isinstance(value, bool):
        raise fields.wrong(key, value, "true or false")
    return value


def word(row: Mapping[str, Any], key: str, allowed: Sequence[str]) -> str:
    """One of some words, which must be there."""
    value = fields.one_of(row, key, allowed)
    if value is None:
        raise fields.wrong(key, None, f"one of: {', '.join(allowed)}")
    return value


def mapping(row: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """An object that must be there."""
    value = fields.mapping(row, key)
    if value is None:
        raise fields.wrong(key, None, "an object")
    return value


def entries(row: Mapping[str, Any], key: str, *, most: int) -> list[Mapping[str, Any]]:
    """A list of at most ``most`` objects, which must be there."""
    value = row.get(key)
    if not isinstance(value, list) or len(value) > most or not all(isinstance(entry, dict) for entry in value):
        raise fields.wrong(key, None, f"a list of at most {most} objects")
    return value


def numbers(row: Mapping[str, Any], key: str, *, low: float, high: float) -> tuple[float, ...]:
    """A list of finite numbers from ``low`` to ``high``, which must be there.

    Raises:
        InputError: It is absent, too long, or a value is no number or out of bounds.
    """
    value = row.get(key)
    if not isinstance(value, list) or len(value) > _MOST_VALUES:
        raise fields.wrong(key, None, f"a list of at most {_MOST_VALUES} numbers")
    return tuple(number({key: each}, key, low=low, high=high) for each in value)


def spans(row: Mapping[str, Any], key: str, *, until_s: float) -> tuple[tuple[float, float], ...]:
    """A list of [start, end] in seconds, ordered and apart, within 0 and ``until_s``."""
    value = row.get(key)
    if not isinstance(value, list) or len(value) > _MOST_VALUES:
        raise fields.wrong(key, None, "a list of [start, end]")
    found: list[tuple[float, float]] = []
    for each in value:
        pair = numbers({key: each}, key, low=0.0, high=until_s)
        if len(pair) != 2 or pair[0] >= pair[1] or (found and pair[0] < found[-1][1]):
            raise InputError(
                f"{key!r} holds spans that are empty, overlap or are out of order",
                expected="[start, end] in seconds, start < end, one after the other",
                hint="correct the line",
            )
        found.append((pair[0], pair[1]))
    return tuple(found)
