"""Readers for stressor parameters that come from a file: every value is checked before it is used."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from auscult.errors import InputError


def exactly(value: object, names: Sequence[str]) -> Mapping[str, Any]:
    """A JSON object with these keys and no other.

    Raises:
        InputError: Not an object, or keys missing or unknown.
    """
    if not isinstance(value, Mapping):
        raise InputError(f"stressor parameters are {type(value).__name__}", expected="a JSON object")
    if set(value) != set(names):
        given = ", ".join(sorted(map(str, value))) or "none"
        raise InputError(
            f"stressor parameters have the keys {given[:200]}",
            expected=", ".join(names) or "no keys",
            hint="parameters replay only with the stressor and version that wrote them",
        )
    return value


def real(value: object, name: str, *, low: float, high: float) -> float:
    """A finite number in [low, high].

    Raises:
        InputError: Anything else.
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(f"parameter {name} is {type(value).__name__}", expected="a number")
    if not (math.isfinite(value) and low <= value <= high):
        raise InputError(f"parameter {name} is {str(value)[:40]}", expected=f"a number from {low} to {high}")
    return float(value)


def whole(value: object, name: str, *, low: int, high: int) -> int:
    """An integer in [low, high].

    Raises:
        InputError: Anything else.
    """
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise InputError(f"parameter {name} is {str(value)[:40]}", expected=f"an integer from {low} to {high}")
    return value


def one_of(value: object, name: str, choices: Sequence[str]) -> str:
    """One of a few words.

    Raises:
        InputError: Anything else.
    """
    if not isinstance(value, str) or value not in choices:
        raise InputError(f"parameter {name} is {str(value)[:40]!r}", expected=f"one of: {', '.join(choices)}")
    return value


def listed(value: object, name: str, *, most: int) -> list[Any]:
    """A JSON list of at most ``most`` values.

    Raises:
        InputError: Anything else.
    """
    if not isinstance(value, list | tuple):
        raise InputError(f"parameter {name} is {type(value).__name__}", expected="a list")
    if len(value) > most:
        raise InputError(f"parameter {name} has {len(value)} entries", expected=f"at most {most}")
    return list(value)
