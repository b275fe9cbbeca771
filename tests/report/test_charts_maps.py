"""Maps: a cell has the colour and the number of its value, points stand on every square with the value there."""

from __future__ import annotations

import pytest

from auscult.errors import InputError
from auscult.report.charts.maps import MapColumn, MapPoint, Surface, heat_map, surfaces
from auscult.report.charts.marks import Words
from auscult.report.drawing import Circle, Rect, Text, points_of, scale

WORDS = Words(axis="percent", digits=1, heading="Scores")
COLUMNS = [
    MapColumn(name="AMIC", values=(75.0, None), low=0.0, high=100.0),
    MapColumn(name="rank", values=(2.0, 1.0), low=2.0, high=1.0, apart=True),
]


def test_cells_have_the_colours_and_numbers_of_their_values() -> None:
    drawing = heat_map(["one", "two"], COLUMNS, WORDS, ends=("worst", "best"))
    cells = {part.title: part for part in drawing.parts if isinstance(part, Rect) and part.title}
    assert set(cells) == {"one, AMIC: 75.0", "two, AMIC: n/a", "one, rank: 2.0", "two, rank: 1.0"}
    assert cells["one, AMIC: 75.0"].fill == scale(0.5)
    assert (cells["one, rank: 2.0"].fill, cells["two, rank: 1.0"].fill) == (scale(-1), scale(1))
    assert cells["two, AMIC: n/a"].fill == "ground"
    assert drawing.words == "best: AMIC one 75.0, rank two 1.0"
    assert {"one", "two", "AMIC", "rank", "worst", "best", "percent", "Scores"} <= {
        part.words for part in drawing.parts if isinstance(part, Text)
    }


def test_everything_is_inside_however_long_names_are() -> None:
    rows = [f"a model with quite a long name {number} " * 2 for number in range(80)]
    columns = [MapColumn(name="a long name", values=(1.0,) * 80, low=0.0, high=1.0) for _ in range(32)]
    drawing = heat_map(rows, columns, WORDS, ends=("0", "1"))
    for part in drawing.parts:
        for x, y in points_of(part):
            assert 0 <= x <= drawing.size[0]
            assert 0 <= y <= drawing.size[1]
    with pytest.raises(InputError):
        heat_map([*rows, "one more"], columns, WORDS, ends=("0", "1"))


def test_points_stand_on_every_square_with_the_value_there() -> None:
    square = Surface(name="left", values=((0.0, 1.0), (0.5, 0.0)), at_points=(0.25, 1.0), low=0.0, high=1.0)
    points = [MapPoint(name="A", x=0.25, y=0.5), MapPoint(name="B", x=1.0, y=1.0)]
    drawing = surfaces([square, square], points, WORDS, axes=("familiar", "unfamiliar"), ends=("0", "1"))
    circles = [part for part in drawing.parts if isinstance(part, Circle)]
    assert [circle.title for circle in circles] == ["A 0.2", "B 1.0"] * 2
    assert circles[0].centre[0] < circles[1].centre[0] < circles[2].centre[0]
    assert circles[0].centre[1] > circles[1].centre[1]
    fills = [part.fill for part in drawing.parts if isinstance(part, Rect)][:4]
    assert fills == [scale(-1), scale(1), scale(0), scale(-1)]
    assert drawing.words == "left: A 0.2, B 1.0; left: A 0.2, B 1.0"
