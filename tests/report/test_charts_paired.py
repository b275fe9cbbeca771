"""Two conditions side by side, and ranks: marks where the numbers say, intervals around them, gaps said."""

from __future__ import annotations

import pytest

from auscult.errors import InputError
from auscult.report.charts.bars import PairedBar, Rank, paired, ranks, seen_unseen
from auscult.report.charts.marks import ChartEstimate, Words
from auscult.report.drawing import Circle, Drawing, DrawnShape, Line, Polygon, Rect, Text, points_of, to_png

WORDS = Words(axis="APC of J&F")


def score(value: float) -> ChartEstimate:
    return ChartEstimate(value=value, low=value - 0.02, high=value + 0.04, n=30)


def texts(drawing: Drawing) -> list[str]:
    return [part.words for part in drawing.parts if isinstance(part, Text)]


def centre(part: DrawnShape) -> float:
    points = points_of(part)
    return (min(x for x, _ in points) + max(x for x, _ in points)) / 2


def marks(drawing: Drawing) -> dict[str, float]:
    """Words of a mark up to the number, and its x."""
    return {
        part.title.split(":")[0]: centre(part)
        for part in drawing.parts
        if isinstance(part, Circle | Polygon) and part.title
    }


def lying(drawing: Drawing, colour: str) -> list[Line]:
    return [
        p for p in drawing.parts if isinstance(p, Line) and p.colour == colour and p.start[1] == p.end[1] and not p.dash
    ]


PAIRS = [
    PairedBar(
        name="fog", first=score(-0.1), second=score(-0.3), difference=ChartEstimate(value=-0.2, low=-0.25, high=-0.15)
    ),
    PairedBar(name="snow", first=score(-0.2), second=ChartEstimate()),
]


def test_marks_are_where_the_numbers_say() -> None:
    positions = marks(paired(PAIRS, ("static", "dynamic"), WORDS))
    step = positions["fog, static"] - positions["snow, static"]
    assert step > 0
    assert positions["fog, static"] - positions["fog, dynamic"] == pytest.approx(2 * step)


def test_whiskers_hold_their_marks() -> None:
    drawing = paired(PAIRS[:1], ("static", "dynamic"), WORDS)
    positions = marks(drawing)
    for colour, name in (("s0", "fog, static"), ("s1", "fog, dynamic")):
        (whisker,) = lying(drawing, colour)
        assert whisker.start[0] < positions[name] < whisker.end[0]
        assert whisker.end[0] - positions[name] == pytest.approx(2 * (positions[name] - whisker.start[0]))


def test_the_difference_and_the_counts_are_printed() -> None:
    labels = texts(paired(PAIRS, ("static", "dynamic"), WORDS))
    assert "diff. -0.20 [-0.25, -0.15]; n 30" in labels
    assert labels.count("n/a") == 1
    assert {"static", "dynamic", "fog", "snow"} <= set(labels)


def test_a_pair_with_a_gap_has_no_way_between() -> None:
    drawing = paired(PAIRS, ("static", "dynamic"), WORDS)
    ways = [p for p in drawing.parts if isinstance(p, Line) and p.dash]
    assert len(ways) == 1


def test_seen_and_unseen_are_named() -> None:
    drawing = seen_unseen(PAIRS, WORDS)
    assert {"seen", "unseen"} <= set(texts(drawing))
    assert "fog: seen -0.10" in drawing.words


@pytest.mark.parametrize("count", [0, 1, 80])
def test_rows_stay_inside(count: int) -> None:
    pairs = [PairedBar(name=f"{i} " + "x" * 300, first=score(1e-9), second=ChartEstimate()) for i in range(count)]
    drawing = paired(pairs, ("a" * 200, "b" * 200), WORDS)
    for part in drawing.parts:
        assert all(0 <= x <= drawing.size[0] and 0 <= y <= drawing.size[1] for x, y in points_of(part))


ROWS = [
    Rank(name="a", rank=ChartEstimate(value=1.2, low=1, high=2, n=30), first=0.8),
    Rank(name="b", rank=ChartEstimate(value=1.8, low=1, high=3, n=30), first=0.2),
    Rank(name="c", rank=ChartEstimate()),
]


def test_ranks_run_from_the_left_and_probabilities_are_proportional() -> None:
    drawing = ranks(ROWS, WORDS)
    positions = marks(drawing)
    assert positions["a"] < positions["b"]
    first, second = (p.width_px for p in drawing.parts if isinstance(p, Rect))
    assert first / second == pytest.approx(4)
    for colour, name in (("s0", "a"), ("s1", "b")):
        (whisker,) = lying(drawing, colour)
        assert whisker.start[0] <= positions[name] <= whisker.end[0]


def test_ranks_say_what_is_missing_and_over_how_many() -> None:
    labels = texts(ranks(ROWS, WORDS))
    assert labels.count("n/a") == 2  # the rank and the probability
    assert {"80 %", "20 %", "rank by APC of J&F (1 is best); n 30"} <= set(labels)


def test_a_probability_is_not_rounded_to_certainty() -> None:
    row, other = (Rank(name="a", rank=ChartEstimate(), first=share) for share in (0.999, 0.001))
    assert {"> 99 %", "< 1 %"} <= set(texts(ranks([row, other], WORDS)))


def test_ranks_of_none_and_of_many_are_drawn() -> None:
    for count in (0, 1, 24):
        rows = [Rank(name=f"m{i}", rank=ChartEstimate(value=i + 1), first=0.0) for i in range(count)]
        drawing = ranks(rows, Words(axis="J", heading="Who is first"))
        assert len(to_png(drawing, scale=1)) > 500


def test_sizes_are_checked() -> None:
    with pytest.raises(InputError, match="10,000 rows"):
        paired(PAIRS[:1] * 10_000, ("a", "b"), WORDS)
    with pytest.raises(InputError, match="10,000 models"):
        ranks(ROWS[:1] * 10_000, WORDS)
    with pytest.raises(ValueError, match=r"0\.\.1"):
        ranks([Rank(name="a", rank=ChartEstimate(), first=1.2)], WORDS)


def test_names_are_wide_where_there_is_room_and_the_scale_stays() -> None:
    name = "classical.onsets.v1, jpeg_compression"
    estimate = ChartEstimate(value=-3.2, low=-11.5, high=-2.0, n=16)
    drawing = paired(
        [PairedBar(name=name, first=estimate, second=estimate, difference=estimate)], ("static", "dynamic"), WORDS
    )
    assert name in texts(drawing)
    long = paired(
        [PairedBar(name=name * 5, first=estimate, second=estimate, difference=estimate)], ("static", "dynamic"), WORDS
    )
    grid = [p for p in long.parts if isinstance(p, Line) and p.start[0] == p.end[0]]
    assert max(p.start[0] for p in grid) - min(p.start[0] for p in grid) >= 220
