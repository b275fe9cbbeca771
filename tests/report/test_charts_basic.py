"""Charts: well-formed, counted right, closed to markup in labels."""

from __future__ import annotations

from collections.abc import Callable
from xml.etree import ElementTree as ET

import pytest

from auscult.report.charts.basic import ScatterPoint, Stack, bars, histogram, scatter
from auscult.report.drawing import Drawing, to_markup


def _xml_of(drawing: Drawing) -> ET.Element:
    return ET.fromstring(to_markup(drawing, kind="bars"))  # noqa: S314 - our own text


@pytest.mark.parametrize(
    ("draw", "side"),
    [
        (lambda stacks: histogram(stacks, title="l", ticks={}), "height"),
        (lambda stacks: bars(stacks, title="l"), "width"),
    ],
)
def test_bars_are_as_long_as_their_counts(draw: Callable[[list[Stack]], Drawing], side: str) -> None:
    stacks = [
        Stack("x", (("a-accept", "accept", 4), ("a-reject", "reject", 0))),
        Stack("y", (("a-accept", "accept", 2),)),
    ]
    marks = _xml_of(draw(stacks)).findall(".//rect")
    assert [mark.findtext("title") for mark in marks] == ["x: 4 accept", "y: 2 accept"]
    long, short = (float(mark.get(side, "0")) for mark in marks)
    assert long / short == pytest.approx(2, rel=0.02)


def test_charts_of_nothing_are_charts() -> None:
    assert _xml_of(histogram([], title="none", ticks={})).get("aria-label") == "none"
    assert _xml_of(bars([Stack("x", ())], title="none")).findall(".//rect") == []
    assert _xml_of(scatter([], title="none", axes=("x", "y"))).findall(".//circle") == []


def test_points_stay_inside_and_lead_to_their_items() -> None:
    points = [
        ScatterPoint(x=0.0, y=1.0, style="a-accept", words="a", link="#i1"),
        ScatterPoint(x=2.0, y=-1.0, style="a-reject", words="b"),
    ]
    chart = _xml_of(scatter(points, title="l", axes=("true", "estimated")))
    first, second = chart.findall(".//circle")
    assert (first.get("cx"), first.get("cy")) == ("48", "10")
    assert (second.get("cx"), second.get("cy")) == ("444", "406")
    assert [link.get("href") for link in chart.findall(".//a")] == ["#i1"]


def test_labels_cannot_become_markup() -> None:
    hostile = '"><script>x</script>'
    drawing = bars([Stack(hostile, (("a-accept", hostile, 1),))], title=hostile)
    assert "<script" not in to_markup(drawing)
    assert _xml_of(drawing).get("aria-label") == hostile
