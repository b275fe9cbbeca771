"""A card's charts as files of SVG: reliability of the estimated IoU, and the interval's width by size of the object."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from auscult.judge.cards import Card, Result
from auscult.report.curves import Axes, Line, lines_chart

SIDES: Final = {"side_under_64": "under 64 px", "side_64_128": "64 to 128 px", "side_over_128": "over 128 px"}

_LEAST_IN_BIN: Final = 5
_QUARTERS: Final = tuple((at / 4, f"{at / 4:g}") for at in range(5))
_COLOURS: Final = ("#333", "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#7a5c00", "#56b4e9", "#888")


def reliability(card: Card, sets: Sequence[str]) -> str:
    """Mean true IoU over the mean estimate, in tenths of the estimate that hold five masks or more.

    Args:
        card: A card with the metrics ``reliability``.
        sets: The sets to draw, a line each.

    Returns:
        The text of an SVG file.
    """
    lines = []
    for number, name in enumerate(sets):
        said, true = (_by_end(card, name, f"reliability.{what}.") for what in ("said", "true"))
        points = tuple(
            (said[at].value or 0.0, true[at].value or 0.0, f"{true[at].value:.2f} of n {true[at].n}")
            for at in sorted(said.keys() & true.keys())
            if true[at].n >= _LEAST_IN_BIN
        )
        lines.append(Line(name=name, points=points, style=number))
    axes = Axes(x=(0.0, 1.0), y=(0.0, 1.0), ticks=_QUARTERS, across="estimated IoU", up="mean true IoU", diagonal=True)
    return _file(lines, axes, label="Mean true IoU over estimated IoU; on the diagonal both agree")


def widths(card: Card, sets: Sequence[str]) -> str:
    """Mean width of the 90 % interval by size of the object.

    Args:
        card: A card with the metrics ``width_90.side_...``.
        sets: The sets to draw, a line each.

    Returns:
        The text of an SVG file.
    """
    lines = []
    for number, name in enumerate(sets):
        found = _by_end(card, name, "width_90.")
        points = tuple(
            (float(at), found[side].value or 0.0, f"{found[side].value:.2f}, n {found[side].n}")
            for at, side in enumerate(SIDES)
            if side in found
        )
        lines.append(Line(name=name, points=points, style=number))
    ticks = tuple((float(at), words) for at, words in enumerate(SIDES.values()))
    axes = Axes(
        x=(-0.4, 2.4), y=(0.0, 1.0), ticks=ticks, across="square root of the object's area", up="width of the interval"
    )
    return _file(lines, axes, label="Mean width of the 90 percent interval by size of the object")


def _by_end(card: Card, name: str, start: str) -> Mapping[str, Result]:
    """The judge's own defined results on a set whose metric starts so, by the rest of the metric's name."""
    return {
        result.metric.removeprefix(start): result
        for result in card.results
        if result.set == name
        and result.row == card.judge
        and result.metric.startswith(start)
        and result.value is not None
    }


def _file(lines: Sequence[Line], axes: Axes, *, label: str) -> str:
    """A chart that stands alone: with its own name space and style."""
    chart = str(lines_chart([line for line in lines if line.points], axes, label=label))
    opened, rest = chart.split(">", 1)
    return f'{opened} xmlns="http://www.w3.org/2000/svg">{_style()}{rest}\n'


def _style() -> str:
    rules = [
        "svg{background:#fff}text{font:11px sans-serif;fill:#222}polyline{fill:none;stroke-width:1.5}",
        ".grid{stroke:#ddd}.diagonal{stroke:#999;stroke-dasharray:4 4}",
    ]
    rules += [f".l{at}{{stroke:{colour}}}.m{at}{{fill:{colour}}}" for at, colour in enumerate(_COLOURS)]
    return f"<style>{''.join(rules)}</style>"
