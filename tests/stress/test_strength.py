"""Severities as they are written, and constants between levels."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from auscult.errors import UsageError
from auscult.stress.perturbation import NAMED, STRONGEST, Constant, Range, between, monotone, strength_of

NUMBERS = st.floats(-1e6, 1e6)
SIX = st.lists(NUMBERS, min_size=6, max_size=6)


@given(st.floats(0.0, STRONGEST))
def test_numbers_in_range_are_read_as_they_are_and_as_text(severity: float) -> None:
    assert strength_of(severity) == severity
    assert strength_of(repr(severity)) == severity


def test_low_medium_high_are_1_3_5() -> None:
    assert [strength_of(name) for name in ("low", "medium", "high")] == [1.0, 3.0, 5.0]


@pytest.mark.parametrize("severity", [0, 1, 5])
def test_whole_numbers_will_do(severity: int) -> None:
    strength = strength_of(severity)
    assert strength == severity
    assert isinstance(strength, float)


@given(st.floats().filter(lambda value: not 0.0 <= value <= STRONGEST))
def test_numbers_out_of_range_are_refused(severity: float) -> None:
    for given_as in (severity, repr(severity)):
        with pytest.raises(UsageError) as error:
            strength_of(given_as)
        assert all(name in error.value.expected for name in NAMED)
        assert error.value.hint


@pytest.mark.parametrize(
    "severity",
    [
        "",
        "strong",
        "Low",
        "3,5",
        "0x1",
        10**400,
        "nan",
        "inf",
        "-0.1",
        "5.0001",
        True,
        False,
        None,
        [3],
        {},
        3j,
        object(),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_no_number_is_refused(severity: Any) -> None:
    with pytest.raises(UsageError):
        strength_of(severity)


@given(st.text(max_size=20))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        strength = strength_of(text)
    except UsageError:
        return
    assert 0.0 <= strength <= STRONGEST


@given(SIX)
def test_at_a_level_the_constant_is_its_own(values: list[float]) -> None:
    for level, value in enumerate(values):
        assert between(values, float(level)) == pytest.approx(value, rel=1e-9, abs=1e-9)


@given(SIX, st.floats(0.0, STRONGEST))
def test_between_levels_the_constant_lies_on_the_line(values: list[float], strength: float) -> None:
    below = min(int(strength), 4)
    low, high = values[below], values[below + 1]
    constant = between(values, strength)
    assert min(low, high) - 1e-6 <= constant <= max(low, high) + 1e-6
    assert constant == pytest.approx(low * (1 - strength + below) + high * (strength - below), rel=1e-9, abs=1e-6)


@given(SIX, st.floats(0.0, STRONGEST), st.floats(-1e-6, 1e-6))
def test_the_constant_does_not_jump(values: list[float], strength: float, step: float) -> None:
    near = min(max(strength + step, 0.0), STRONGEST)
    steepest = max(abs(after - before) for before, after in pairwise(values))
    assert abs(between(values, strength) - between(values, near)) <= steepest * abs(near - strength) + 1e-6


@given(SIX, SIX, st.floats(0.0, STRONGEST), st.floats(0.0, 1.0))
def test_a_range_has_both_bounds_of_a_strength_and_what_lies_between(
    low: list[float], high: list[float], strength: float, share: float
) -> None:
    range_ = Range("constant", tuple(low), tuple(high))
    bounds = between(low, strength), between(high, strength)
    assert range_.at(strength) == bounds
    assert min(bounds) - 1e-6 <= range_.within(strength, share) <= max(bounds) + 1e-6
    assert Constant("constant", tuple(low)).at(strength) == bounds[0]


def test_an_endless_constant_stays_between_two_levels_that_both_have_it() -> None:
    values = (float("inf"), float("inf"), 4.0, 3.0, 2.0, 1.0)
    assert between(values, 0.5) == float("inf")
    assert between(values, 3.0) == 3.0


@given(SIX)
def test_sorted_constants_are_monotone_and_only_levels_count(values: list[float]) -> None:
    upward = [values[0], *sorted(values[1:])]
    downward = [values[0], *sorted(values[1:], reverse=True)]
    assert monotone([(value,) for value in upward], 0)
    assert monotone([(value,) for value in downward], 0)


@given(SIX)
def test_constants_that_turn_are_not_monotone(values: list[float]) -> None:
    steps = [after - before for before, after in pairwise(values[1:])]
    turns = any(step > 0 for step in steps) and any(step < 0 for step in steps)
    assert monotone([(value,) for value in values], 0) is not turns


def test_each_column_is_looked_at_by_itself() -> None:
    rows = ((0.0, 1.0), (1.0, 0.3), (2.0, 0.1), (3.0, 2.0), (4.0, 5.0), (5.0, 20.0))
    assert monotone(rows, 0)
    assert not monotone(rows, 1)
