"""Matrices of correlations: one cell per pair, coloured by its value, hatched where there is none."""

from __future__ import annotations

import pytest

from auscult.errors import InputError
from auscult.report.charts.lines import Matrix, matrix
from auscult.report.charts.marks import Words
from auscult.report.drawing import Drawing, Line, Rect, Text, points_of, scale, text_width, to_svg

WORDS = Words(axis="Pearson correlation")
THREE = Matrix(
    names=("fog", "snow", "frost"),
    values=((1.0, -0.52, None), (-0.52, 1.0, 0.004), (None, 0.004, 1.0)),
    n=480,
)


def even(count: int, name: str = "type") -> Matrix:
    values = tuple(tuple(1.0 if i == j else 0.25 for j in range(count)) for i in range(count))
    return Matrix(names=tuple(f"{name} {i}" for i in range(count)), values=values)


def cells(drawing: Drawing) -> dict[str, Rect]:
    return {part.title: part for part in drawing.parts if isinstance(part, Rect) and part.title}


def test_cells_have_the_colours_of_their_values_in_the_order_given() -> None:
    colours = cells(matrix(THREE, WORDS))
    assert len(colours) == 9
    assert colours["fog and snow: -0.52"].fill == scale(-0.52)
    assert colours["fog and snow: -0.52"].x > colours["fog and fog: 1.00"].x
    assert colours["snow and fog: -0.52"].y > colours["fog and fog: 1.00"].y
    assert colours["fog and frost: n/a"].fill == "ground"


def test_numbers_stand_in_cells_that_have_room() -> None:
    labels = [p.words for p in matrix(THREE, WORDS).parts if isinstance(p, Text)]
    assert labels.count("-.52") == 2
    assert labels.count("0") == 2 + 1  # twice in cells, once on the scale
    assert labels.count("1") == 3 + 1
    assert "Pearson correlation; n 480" in labels
    small = [p.words for p in matrix(even(35), WORDS).parts if isinstance(p, Text)]
    assert ".25" not in small


def test_undefined_cells_are_hatched_within_their_cell() -> None:
    drawing = matrix(THREE, WORDS)
    hatches = [p for p in drawing.parts if isinstance(p, Line)]
    assert len(hatches) == 3 * (2 + 1)  # two cells and the key
    box = cells(drawing)["fog and frost: n/a"]
    for stroke in hatches[:3]:
        for x, y in (stroke.start, stroke.end):
            assert box.x - 0.01 <= x <= box.x + box.width_px + 0.01
            assert box.y - 0.01 <= y <= box.y + box.height_px + 0.01


@pytest.mark.parametrize("count", [0, 1, 2, 16, 35, 80])
def test_names_and_cells_stay_inside(count: int) -> None:
    drawing = matrix(even(count, "a name of some length, number"), WORDS)
    assert max(drawing.size) < 1800
    for part in drawing.parts:
        assert all(0 <= x <= drawing.size[0] and 0 <= y <= drawing.size[1] for x, y in points_of(part))
        if isinstance(part, Text) and part.rotation == -45:
            extent = text_width(part.words, part.size) * 0.7072
            assert part.at[0] + extent <= drawing.size[0]
            assert part.at[1] - extent >= 0
        if isinstance(part, Text) and part.anchor == "end":
            assert part.at[0] - text_width(part.words, part.size) >= 0


def test_a_name_that_is_cut_is_told_in_full() -> None:
    long = "an adversarial name " * 10
    text = to_svg(matrix(Matrix(names=(long,), values=((1.0,),)), WORDS))
    assert text.count(f"<title>{long.strip()}</title>") == 2


def test_a_heading_stands_above_the_names() -> None:
    small_matrix = Matrix(names=("a name of some length",), values=((1.0,),))
    drawing = matrix(small_matrix, Words(axis="r", heading="Which types harm the same cases"))
    labels = [p for p in drawing.parts if isinstance(p, Text)]
    (title,) = [p for p in labels if p.bold]
    assert title.words == "Which types harm the same cases"
    slanted = min(p.at[1] - text_width(p.words, p.size) * 0.7072 for p in labels if p.rotation == -45)
    assert title.at[1] < slanted


def test_the_words_name_the_strongest_pairs() -> None:
    assert matrix(THREE, WORDS).words == "snow and fog -0.52, frost and snow 0.00; 2 cells n/a"


def test_shapes_and_sizes_are_checked() -> None:
    with pytest.raises(InputError, match="10,000 rows"):
        Matrix(names=("x",) * 10_000, values=())
    with pytest.raises(ValueError, match="3 rows of 3"):
        Matrix(names=("a", "b", "c"), values=((1.0,),) * 3)
    with pytest.raises(ValueError, match=r"within -1\.\.1"):
        Matrix(names=("a",), values=((1.5,),))
    with pytest.raises(ValueError, match=r"within -1\.\.1"):
        Matrix(names=("a",), values=((float("nan"),),))
