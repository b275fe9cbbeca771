"""Trend, neighbours, flicker and switches on series whose answer is known."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from auscult.outcome import Scored, Undefined
from auscult.score.masks.video import MaskStep, flicker, is_switch
from auscult.score.stats.trend import MOST, Trend, neighbour_medians, oddness, theil_sen

SHARES = st.floats(0, 1).map(lambda value: round(value, 4))


def step(iou: float | None, followed: float = 0.9, **fields: float) -> MaskStep:
    return MaskStep(iou=iou, followed=followed, everywhere=iou, **fields)


@given(st.lists(SHARES, min_size=5, max_size=30), st.floats(-1, 1))
def test_a_trend_follows_shift_and_slope(values: list[float], slope: float) -> None:
    times = list(range(len(values)))
    plain = theil_sen(values, times)
    tilted = theil_sen([value + slope * time for value, time in zip(values, times, strict=True)], times)
    assert isinstance(plain, Trend)
    assert isinstance(tilted, Trend)
    assert plain.low <= plain.change <= plain.high
    assert tilted.change == pytest.approx(plain.change + slope * (len(values) - 1), abs=1e-9)


def test_a_trend_agrees_with_scipy_values_worked_by_hand() -> None:
    trend = theil_sen([0, 1, 2, 3, 4, 5], [0, 2, 4, 6, 8, 10])
    assert isinstance(trend, Trend)
    assert (trend.change, trend.low, trend.high, trend.n) == (5, 5, 5, 6)
    assert isinstance(theil_sen([1, 2, 3, 4], [0, 1, 2, 3]), Undefined)
    assert isinstance(theil_sen([1, 2, 3, 4, 5], [0, 1, 1, 2, 3]), Undefined)
    long = theil_sen([0.5] * (MOST + 50), range(MOST + 50))
    assert isinstance(long, Trend)
    assert (long.change, long.n) == (0, MOST)


def test_values_that_are_alike_from_frame_to_frame_widen_the_interval() -> None:
    waves = [0.1 if (number // 10) % 2 else 0.0 for number in range(40)]
    mixed = [0.1 if number % 2 else 0.0 for number in range(40)]
    slow, fast = theil_sen(waves, range(40)), theil_sen(mixed, range(40))
    assert isinstance(slow, Trend)
    assert isinstance(fast, Trend)
    assert slow.high - slow.low > fast.high - fast.low


@given(st.lists(st.one_of(st.none(), SHARES), max_size=25), st.floats(-0.5, 0.5))
def test_oddness_asks_for_differences_only(values: list[float | None], shift: float) -> None:
    shifted = [None if value is None else value + shift for value in values]
    assert oddness(shifted, floor=0.05) == pytest.approx(oddness(values, floor=0.05), abs=1e-6)
    assert [value is None for value in oddness(values, floor=0.05)] == [
        value is None or neighbour is None for value, neighbour in zip(values, neighbour_medians(values), strict=True)
    ]


def test_a_slope_and_a_change_that_stays_are_not_odd_and_a_short_run_is() -> None:
    assert not any(oddness([0.1 * number for number in range(10)], floor=0.001))
    assert not any(oddness([0.1 * number if number else None for number in range(10)], floor=0.001))
    assert not any(oddness([0.9] * 8 + [0.2] * 8, floor=0.01))
    run = oddness([0.9] * 8 + [0.2] * 3 + [0.9] * 8, floor=0.01)
    assert [place for place, value in enumerate(run) if value is not None and abs(value) >= 1] == [8, 9, 10]


def test_flicker_is_of_the_usual_step_and_says_when_motion_was_lost() -> None:
    result = flicker([step(0.9), step(0.8), step(0.9), step(0.0), None])
    assert isinstance(result, Scored)
    assert result.value == pytest.approx(0.15)
    assert result.signature.as_dict()["steps"] == "4"
    outcome = flicker([step(0.9, followed=0.1)] * 5 + [step(0.9)] * 3)
    assert isinstance(outcome, Undefined)
    assert "3 of 8" in outcome.reason
    assert isinstance(flicker([step(0.9)] * 2), Undefined)


@pytest.mark.parametrize(
    ("mask_step", "switched"),
    [
        (None, False),
        (step(0.0, within=0.0, jump=2.0, colours=0.1), True),
        (step(0.1, within=0.2, jump=0.1, colours=0.6), True),
        (step(0.0, within=0.0, jump=0.2, colours=0.2), True),  # all around the place where it was
        (step(0.1, within=0.2, jump=0.1, colours=0.1), False),
        (step(0.1, within=1.0, jump=1.0, colours=0.6), False),  # a piece of itself
        (step(0.5, within=0.6, jump=2.0, colours=0.9), False),
        (step(0.0, followed=0.1, within=0.0, jump=5.0, colours=0.3), False),  # a fast object
        (step(0.0, followed=0.1, within=0.0, jump=5.0, colours=0.6), True),
        (MaskStep(iou=None, followed=0.0, everywhere=None, colours=0.7), True),  # back on something else
        (MaskStep(iou=None, followed=0.0, everywhere=None, colours=0.2), False),
        (step(0.0), False),  # one of the two is empty
    ],
)
def test_a_switch_is_another_place_or_other_colours(mask_step: MaskStep | None, switched: bool) -> None:
    assert is_switch(mask_step) is switched
