"""Readers for what a plan on disk says of looks and sizes: every value is checked before it is used."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

from auscult.errors import InputError
from auscult.scenes.appearance.colours import Tone

_LONGEST_PX: Final = 8192


class LookParams:
    """The parameters of a look.

    Args:
        values: JSON values.
    """

    def __init__(self, values: Mapping[str, Any]) -> None:
        if not isinstance(values, Mapping):
            raise InputError(f"look parameters are {type(values).__name__}", expected="a JSON object")
        self._values = values

    def real(self, name: str, *, low: float, high: float) -> float:
        """A finite number in [low, high]."""
        value = self._values.get(name)
        if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
            raise InputError(
                f"look parameter {name} is {str(value)[:40]}", expected=f"a number from {low:g} to {high:g}"
            )
        return float(value)

    def whole(self, name: str, *, low: int, high: int) -> int:
        """An integer in [low, high]."""
        value = self._values.get(name)
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise InputError(f"look parameter {name} is {str(value)[:40]}", expected=f"an integer from {low} to {high}")
        return value

    def tone(self, name: str) -> Tone:
        """Three bytes."""
        value = self._values.get(name)
        if not isinstance(value, list | tuple) or len(value) != 3 or not all(map(_is_byte, value)):
            raise InputError(f"look parameter {name} is {str(value)[:40]}", expected="three integers from 0 to 255")
        red, green, blue = value
        return red, green, blue


def _is_byte(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= 255


def height(height_px: int, *, tallest_px: int) -> int:
    """A sprite's height.

    Raises:
        InputError: It is below 1 or above ``tallest_px``.
    """
    if not 1 <= height_px <= tallest_px:
        raise InputError(f"a thing's height is {height_px} pixels", expected=f"1 to {tallest_px}")
    return int(height_px)


def degrees(turn_deg: float) -> float:
    """A turn."""
    if not math.isfinite(turn_deg):
        raise InputError(f"a thing's turn is {turn_deg} degrees", expected="a finite number")
    return float(turn_deg) % 360.0


def size(given: tuple[int, int]) -> tuple[int, int]:
    """(height, width) of a picture."""
    if not all(1 <= side <= _LONGEST_PX for side in given):
        raise InputError(f"a picture of {given[0]} x {given[1]} pixels", expected=f"sides of 1 to {_LONGEST_PX}")
    return int(given[0]), int(given[1])
