"""Bars per type of perturbation: lengths follow the numbers, from zero, in the order asked for."""

from __future__ import annotations

from itertools import pairwise

import pytest

from auscult.errors import InputError
from auscult.report.charts.bars import BarGroup, TypeBars, apc_bars
from auscult.report.charts.marks import ChartEstimate, Words
from auscult.report.drawing import Drawing, Line, Rect, Text, points_of, to_markup, to_png, to_svg

WORDS = Words(axis="APC (lower is worse)")


def kind(name: str, *values: float | None) -> TypeBars:
    estimates = (
        ChartEstimate() if v is None else ChartEstimate(value=v, low=v - 0.02, high=v + 0.01, n=480) for v in values
    )
    return TypeBars(name=name, values=tuple(estimates))


def bars(drawing: Drawing) -> dict[str, Rect]:
    return {part.title.split(":")[0]: part for part in drawing.parts if isinstance(part, Rect)}


def zero(drawing: Drawing) -> float:
    (place,) = [p.at[0] for p in drawing.parts if isinstance(p, Text) and p.words in {"0.0", "0.00"}]
    return place


def texts(drawing: Drawing) -> list[str]:
    return [part.words for part in drawing.parts if isinstance(part, Text)]


GROUPS = [
    BarGroup(name="noise", types=(kind("shot", -0.1, -0.3), kind("impulse", -0.2, None))),
    BarGroup(name="sound", types=(kind("gain", 0.05, -0.4),)),
]


def test_bars_are_as_long_as_their_numbers_and_begin_at_zero() -> None:
    drawing = apc_bars(GROUPS, ["a", "b"], WORDS)
    lengths, origin = bars(drawing), zero(drawing)
    assert set(lengths) == {"shot, a", "shot, b", "impulse, a", "gain, a", "gain, b"}
    unit = lengths["gain, b"].width_px / 0.4
    for name, value in {"shot, a": -0.1, "shot, b": -0.3, "impulse, a": -0.2, "gain, a": 0.05}.items():
        bar = lengths[name]
        assert bar.width_px == pytest.approx(abs(value) * unit)
        assert (bar.x if value > 0 else bar.x + bar.width_px) == pytest.approx(origin)


def test_whiskers_hold_the_end_of_the_bar() -> None:
    drawing = apc_bars([BarGroup(name="", types=(kind("fog", -0.2),))], ["a"], WORDS)
    bar = bars(drawing)["fog, a"]
    lying = [p for p in drawing.parts if isinstance(p, Line) and p.colour == "ink" and p.start[1] == p.end[1]]
    (whisker,) = lying
    low, high = whisker.start[0], whisker.end[0]
    assert low < bar.x < high
    assert (bar.x - low) / (high - bar.x) == pytest.approx(2)


def test_an_undefined_bar_says_so() -> None:
    drawing = apc_bars(GROUPS, ["a", "b"], WORDS)
    (label,) = [p for p in drawing.parts if isinstance(p, Text) and p.words == "n/a"]
    assert label.title == "impulse, b: n/a"
    assert "n 480" in texts(drawing)


def test_types_come_in_the_order_given() -> None:
    worse = BarGroup(name="", types=(kind("x", None, None), kind("y", -0.1, -0.1), kind("z", None, -0.5)))
    drawing = apc_bars([*GROUPS, worse], ["a", "b"], WORDS)
    order = [text for text in texts(drawing) if text in {"shot", "impulse", "gain", "x", "y", "z"}]
    assert order == ["shot", "impulse", "gain", "x", "y", "z"]


def test_one_model_has_its_numbers_printed() -> None:
    drawing = apc_bars([BarGroup(name="", types=(kind("fog", -0.2),))], ["a"], WORDS)
    assert "-0.20 [-0.22, -0.19]; n 480" in texts(drawing)


@pytest.mark.parametrize("models", [1, 2, 24])
@pytest.mark.parametrize("types", [0, 1, 35])
def test_rows_do_not_overlap_and_stay_inside(types: int, models: int) -> None:
    rows = tuple(kind(f"type {i} " + "long " * (i % 9), *[-0.1] * models) for i in range(types))
    drawing = apc_bars([BarGroup(name="all", types=rows)], [f"m{i}" for i in range(models)], WORDS)
    boxes = sorted((bar.y, bar.y + bar.height_px) for bar in bars(drawing).values())
    assert len(boxes) == types * models
    assert all(before[1] <= after[0] for before, after in pairwise(boxes))
    for part in drawing.parts:
        assert all(0 <= x <= drawing.size[0] and 0 <= y <= drawing.size[1] for x, y in points_of(part))


def test_names_of_strangers_stay_words() -> None:
    hostile = '<img src=x onerror="alert(1)">'
    drawing = apc_bars([BarGroup(name=hostile, types=(kind(hostile, -0.1),))], [hostile], Words(axis=hostile))
    for text in (to_svg(drawing), str(to_markup(drawing))):
        assert "<img" not in text
        assert "&lt;img" in text
    assert to_png(drawing, scale=1)[1:4] == b"PNG"


def test_sizes_and_shapes_are_checked() -> None:
    with pytest.raises(InputError, match="10,000 types"):
        apc_bars([BarGroup(name="", types=(kind("x", -0.1),) * 10_000)], ["a"], WORDS)
    with pytest.raises(InputError, match="10,000 groups"):
        apc_bars([BarGroup(name="", types=())] * 10_000, ["a"], WORDS)
    with pytest.raises(InputError, match="25 models"):
        apc_bars([], ["a"] * 25, WORDS)
    with pytest.raises(ValueError, match="one value per model"):
        apc_bars(GROUPS, ["a"], WORDS)
