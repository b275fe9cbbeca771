"""Scores over strength: places follow the numbers, gaps stay gaps, breaking points are on their lines."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from auscult.errors import InputError
from auscult.report.charts.lines import StrengthLine, robustness_lines
from auscult.report.charts.marks import ChartEstimate, Words, counts, estimate_text, printed, style_of, ticks
from auscult.report.drawing import Drawing, Line, Polygon, Polyline, Text, points_of, to_png, to_svg

WORDS = Words(axis="J&F, higher is better")
STRENGTHS = (0.0, 1.0, 3.0, 5.0)


def line(name: str, *values: float | None, half_width: float = 0.05) -> StrengthLine:
    estimates = [
        ChartEstimate() if v is None else ChartEstimate(value=v, low=v - half_width, high=v + half_width, n=40)
        for v in values
    ]
    return StrengthLine(name=name, at=tuple(zip(STRENGTHS, estimates, strict=False)))


def texts(drawing: Drawing) -> list[str]:
    return [part.words for part in drawing.parts if isinstance(part, Text)]


def path(drawing: Drawing, colour: str) -> list[tuple[tuple[float, float], ...]]:
    return [part.points for part in drawing.parts if isinstance(part, Polyline) and part.colour == colour]


def test_heights_and_widths_are_proportional() -> None:
    (points,) = path(robustness_lines([line("a", 0.8, 0.6, 0.4, 0.1)], WORDS), "s0")
    xs, ys = zip(*points, strict=True)
    assert (xs[2] - xs[1]) / (xs[1] - xs[0]) == pytest.approx(2)
    assert (ys[1] - ys[0]) / (ys[3] - ys[0]) == pytest.approx(0.2 / 0.7)
    assert ys[0] < ys[1] < ys[2] < ys[3]  # higher is better, and up


def test_whiskers_hold_the_point_and_have_the_intervals_length() -> None:
    drawing = robustness_lines([line("a", 0.8, 0.6, 0.4, 0.1, half_width=0.05)], WORDS)
    (points,) = path(drawing, "s0")
    upright = [p for p in drawing.parts if isinstance(p, Line) and p.colour == "s0" and p.start[0] == p.end[0]]
    assert len(upright) == 4
    for (x, y), whisker in zip(points, upright, strict=True):
        low, high = sorted((whisker.start[1], whisker.end[1]))
        assert whisker.start[0] == pytest.approx(x)
        assert low < y < high
        assert high - low == pytest.approx((points[3][1] - points[0][1]) * 0.1 / 0.7)


def test_marks_and_whiskers_of_many_models_are_on_their_own_lines() -> None:
    lines = [line(f"m{number}", 0.8, 0.6, 0.4, 0.1) for number in range(5)]
    drawing = robustness_lines(lines, WORDS)
    places = set()
    for number in range(5):
        (points,) = path(drawing, f"s{number}")
        marks = [part for part in drawing.parts if not isinstance(part, Text) and part.title.startswith(f"m{number}, ")]
        assert len(marks) == 4
        for (x, y), mark in zip(points, marks, strict=True):
            corners = points_of(mark)
            assert min(px for px, _ in corners) - 0.01 <= x <= max(px for px, _ in corners) + 0.01
            assert min(py for _, py in corners) - 0.01 <= y <= max(py for _, py in corners) + 0.01
        places.add(points[0][0])
    assert len(places) == 5  # equal scores do not hide one another


def test_a_gap_splits_the_line_and_says_so() -> None:
    drawing = robustness_lines([line("a", 0.8, 0.6, None, 0.1)], WORDS)
    assert [len(points) for points in path(drawing, "s0")] == [2]
    assert texts(drawing).count("n/a") == 1
    assert "medium n/a" in drawing.words


def test_undefined_is_never_drawn_as_zero() -> None:
    drawing = robustness_lines([line("a", None, None, None, None)], WORDS)
    assert path(drawing, "s0") == []
    assert texts(drawing).count("n/a") == 4
    assert not [p for p in drawing.parts if isinstance(p, Polygon)]


def test_the_breaking_point_is_on_the_line() -> None:
    curve = StrengthLine(
        name="a", at=line("a", 0.8, 0.6, 0.2, 0.1).at, breaks_at=ChartEstimate(value=2.0, low=1.5, high=2.4)
    )
    drawing = robustness_lines([curve], WORDS)
    (points,) = path(drawing, "s0")
    middle = (points[1][0] + points[2][0]) / 2, (points[1][1] + points[2][1]) / 2
    crossing = [p for p in drawing.parts if isinstance(p, Line) and "half of the clean score" in p.title]
    assert len(crossing) == 2
    for stroke in crossing:
        assert (stroke.start[0] + stroke.end[0]) / 2 == pytest.approx(middle[0])
        assert (stroke.start[1] + stroke.end[1]) / 2 == pytest.approx(middle[1])
    assert any("half lost at 2.0 [1.5, 2.4]" in text for text in texts(drawing))


def test_the_interval_of_a_breaking_point_is_drawn_between_its_ends() -> None:
    curve = StrengthLine(
        name="a", at=line("a", 0.8, 0.6, 0.2, 0.1).at, breaks_at=ChartEstimate(value=2.0, low=1.5, high=2.4)
    )
    drawing = robustness_lines([curve], WORDS)
    (points,) = path(drawing, "s0")
    height = (points[1][1] + points[2][1]) / 2
    (lying,) = [
        p for p in drawing.parts if isinstance(p, Line) and p.colour == "s0" and p.start[1] == p.end[1] == height
    ]
    per_strength = (points[2][0] - points[1][0]) / 2
    assert lying.start[0] == pytest.approx(points[1][0] + 0.5 * per_strength)
    assert lying.end[0] == pytest.approx(points[1][0] + 1.4 * per_strength)


@pytest.mark.parametrize(
    ("values", "broken", "note"),
    [
        ((0.8, 0.7, 0.3), ChartEstimate(value=2.5, low=2.25, beyond=3.0), "half lost at 2.5 [2.2, above 3]"),
        ((0.8, 0.7, 0.5), ChartEstimate(value=None, low=2.25, beyond=3.0), "half lost above 3 [2.2, above 3]"),
        ((0.8, 0.7, 0.75), ChartEstimate(value=None, low=2.25, beyond=3.0), "half lost above 3 [2.2, above 3]"),
    ],
    ids=["broken", "hardly", "below the chart"],
)
def test_an_open_end_is_an_arrow_beyond_the_last_strength(
    values: tuple[float, ...], broken: ChartEstimate, note: str
) -> None:
    drawing = robustness_lines([StrengthLine(name="a", at=line("a", *values).at, breaks_at=broken)], WORDS)
    (points,) = path(drawing, "s0")
    (head,) = [p for p in drawing.parts if isinstance(p, Polygon) and p.fill == "s0" and len(p.points) == 3]
    assert points[2][0] < max(x for x, _ in head.points) < drawing.size[0]
    shafts = [
        p
        for p in drawing.parts
        if isinstance(p, Line) and p.colour == "s0" and p.start[1] == p.end[1] == head.points[0][1] and p.title == ""
    ]
    (shaft,) = [p for p in shafts if p.end[0] - p.start[0] > 10 and p.start[0] > points[1][0]]
    assert shaft.start[0] == pytest.approx(points[1][0] + 0.625 * (points[2][0] - points[1][0]))
    assert note in texts(drawing)[-1]
    assert note in drawing.words


def test_a_score_that_never_halves_is_said_and_not_marked() -> None:
    curve = StrengthLine(name="a", at=line("a", 0.8, 0.7, 0.7, 0.6).at, breaks_at=ChartEstimate())
    drawing = robustness_lines([curve], WORDS)
    assert not [p for p in drawing.parts if isinstance(p, Line) and "half of the clean score" in p.title]
    assert any("half lost above 5" in text for text in texts(drawing))
    never = StrengthLine(name="a", at=curve.at[:3], breaks_at=ChartEstimate(value=None, beyond=3.0))
    drawing = robustness_lines([never], WORDS)
    assert [p for p in drawing.parts if isinstance(p, Polygon) and len(p.points) == 3] == []
    assert any("half lost above 3" in text for text in texts(drawing))


def test_the_dynamic_condition_stands_to_the_right_of_all_strengths() -> None:
    curve = StrengthLine(name="a", at=line("a", 0.8, 0.7, 0.7, 0.6).at, dynamic=ChartEstimate(value=0.5))
    drawing = robustness_lines([curve], WORDS)
    (points,) = path(drawing, "s0")
    (mark,) = [p for p in drawing.parts if not isinstance(p, Text) and p.title.startswith("a, dynamic: 0.50")]
    assert points_of(mark)[0][0] > points[-1][0] + 30
    assert "dynamic" in texts(drawing)
    assert "dynamic" not in texts(robustness_lines([line("a", 0.8)], WORDS))


@pytest.mark.parametrize(
    "lines",
    [
        [],
        [line("a", 0.5)],
        [line("x" * 5000, 0.5, 0.4, 0.3, 0.2)],
        [line("a", 1e-7, 2e-7, 0, -1e-7, half_width=1e-8)],
        [line("a", -3e5, 2e6, 1, 0)],
        [line(f"m{i}", 0.9 - i / 50, 0.5, 0.4, 0.3) for i in range(24)],
    ],
    ids=["none", "one point", "long name", "tiny", "huge", "many"],
)
def test_everything_is_inside_and_is_drawn(lines: list[StrengthLine]) -> None:
    drawing = robustness_lines(lines, WORDS)
    for part in drawing.parts:
        for x, y in points_of(part):
            assert -1 <= x <= drawing.size[0] + 1
            assert -1 <= y <= drawing.size[1] + 1
    assert all(len(text) < 120 for text in texts(drawing))
    assert len(to_svg(drawing)) > 1000
    assert len(to_png(drawing, scale=1)) > 1000


def test_ten_thousand_models_or_strengths_are_refused() -> None:
    with pytest.raises(InputError, match="10,000 models"):
        robustness_lines([line("a", 0.5)] * 10_000, WORDS)
    long_curve = StrengthLine(name="a", at=tuple((i / 100, ChartEstimate(value=0.5)) for i in range(10_000)))
    with pytest.raises(InputError, match="10,000 strengths"):
        robustness_lines([long_curve], WORDS)


def test_no_two_models_look_the_same() -> None:
    styles = [style_of(number) for number in range(24)]
    assert len(set(styles)) == 24
    without_colour = {(style.shape, style.hollow) for style in styles[:8]}
    assert len(without_colour) == 8


@given(st.lists(st.floats(-1e6, 1e6).map(lambda value: round(value, 6)), max_size=5))
def test_ticks_span_the_numbers_evenly(numbers: list[float]) -> None:
    scale = ticks(numbers)
    low, high = scale.ends
    slack = (high - low) * 1e-5
    assert all(low - slack <= number <= high + slack for number in (0.0, *numbers))
    assert 2 <= len(scale.at) <= 9
    assert len(set(scale.words)) == len(scale.words)


def test_estimates_that_make_no_sense_are_refused() -> None:
    for given_numbers in ({"value": float("nan")}, {"value": 1, "low": 0}, {"value": None, "low": 0, "high": 1}):
        with pytest.raises(ValueError, match="Estimate"):
            ChartEstimate(**given_numbers)
    for beyond in ({"value": 2, "high": 3}, {"value": 6}, {"value": None, "low": 6}):
        with pytest.raises(ValueError, match="above its open end"):
            ChartEstimate(**beyond, beyond=5)
    with pytest.raises(ValueError, match="low is above high"):
        ChartEstimate(value=0, low=1, high=0)


def test_numbers_in_words() -> None:
    assert (printed(None), printed(-0.0), printed(0.001), printed(-2e-9)) == ("n/a", "0.00", "0.001", "-2.0e-09")
    assert estimate_text(ChartEstimate(value=0.5, low=0.4, high=0.6)) == "0.50 [0.40, 0.60]"
    assert estimate_text(ChartEstimate(value=None, beyond=2.5), 1) == "above 2.5"
    assert estimate_text(ChartEstimate(value=4.9, beyond=5.0), 1) == "4.9 [above 5, above 5]"
    assert counts([ChartEstimate(value=1, n=1200), ChartEstimate(value=1, n=30), ChartEstimate()]) == "n 30 to 1,200"
    assert counts([ChartEstimate()]) == ""
