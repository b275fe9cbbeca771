"""Checks of sizes and turns that a plan on disk may hold."""

from __future__ import annotations

import math
from typing import Final

from auscult.errors import InputError

_LONGEST_PX: Final = 8192


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
