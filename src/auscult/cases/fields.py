"""Values of a JSON object, checked one by one; null counts as absent. The caller adds file and line to the error."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from auscult.cases.ids import shown
from auscult.errors import InputError

MAX_TEXT_CHARS = 100_000


def kind(value: object) -> str:
    """What a JSON value is, in words."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true or false"
    for types, name in (((int, float), "a number"), (str, "a text"), (list, "a list"), (dict, "an object")):
        if isinstance(value, types):
            return name
    return "an unknown value"


def wrong(key: str, value: object, expected: str) -> InputError:
    """The error for a value of the wrong kind."""
    told = f" ({shown(value)})" if isinstance(value, str) else f" ({value})" if _short(value) else ""
    return InputError(f"{key!r} is {kind(value)}{told}", expected=f"{key!r} is {expected}", hint="correct the line")


def text(row: Mapping[str, Any], key: str) -> str | None:
    """A text, or None where it is absent.

    Raises:
        InputError: It is something else, longer than 100,000 characters, or holds a NUL.
    """
    value = row.get(key)
    if value is None:
        return None
    if not isinstance(value, str):
        raise wrong(key, value, "a text")
    if len(value) > MAX_TEXT_CHARS or "\x00" in value:
        problem = "holds a NUL character" if "\x00" in value else f"has {len(value)} characters"
        raise InputError(f"{key!r} {problem}", expected=f"a text of at most {MAX_TEXT_CHARS} characters, without NUL")
    return value


def required(row: Mapping[str, Any], key: str) -> str:
    """A text that must be there.

    Raises:
        InputError: It is absent, empty or something else.
    """
    value = text(row, key)
    if not value:
        raise InputError(f"there is no {key!r}", expected=f"{key!r} is a text", hint=f"add {key!r} to the line")
    return value


def number(row: Mapping[str, Any], key: str, *, low: float | None = None, high: float | None = None) -> float | None:
    """A finite number within its bounds, or None where it is absent.

    Raises:
        InputError: It is something else or out of bounds.
    """
    value = row.get(key)
    if value is None:
        return None
    span = "a number" if low is None or high is None else f"a number from {low:g} to {high:g}"
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise wrong(key, value, span)
    if (low is not None and value < low) or (high is not None and value > high) or abs(value) > 1e300:
        raise wrong(key, value, span)
    return float(value)


def one_of(row: Mapping[str, Any], key: str, allowed: Sequence[str]) -> str | None:
    """One of some words, or None where it is absent.

    Raises:
        InputError: It is something else.
    """
    value = row.get(key)
    if value is None:
        return None
    if not isinstance(value, str) or value not in allowed:
        raise wrong(key, value, f"one of: {', '.join(allowed)}")
    return value


def mapping(row: Mapping[str, Any], key: str) -> Mapping[str, Any] | None:
    """An object, or None where it is absent.

    Raises:
        InputError: It is something else.
    """
    value = row.get(key)
    if value is None:
        return None
    if not isinstance(value, dict):
        raise wrong(key, value, "an object")
    return value


def _short(value: object) -> bool:
    return isinstance(value, float) or (isinstance(value, int) and abs(value) < 10**15)
