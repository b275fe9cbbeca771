"""Line charts as inline SVG: values over steps, one line per row, told apart by mark and dash as well as by shade."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

_WIDTH, _LEFT, _TOP, _HIGH = 520.0, 44.0, 12.0, 210.0
_STYLES = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line of a chart.

    Attributes:
        name: What it is of.
        points: (x, y, words); x and y in the units of the axes, words for the mark's title.
        style: Number of its mark and shade, 0 or more; they repeat after eight.
        quiet: Drawn thin, as something to compare with.
    """

    name: str
    points: tuple[tuple[float, float, str], ...]
    style: int
    quiet: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Axes:
    """What a chart is drawn on.

    Attributes:
        x: Low and high end.
        y: Low and high end.
        ticks: x to the text under it.
        across: Words under the x axis.
        up: Words above the y axis.
        diagonal: Draw the line of perfect agreement.
    """

    x: tuple[float, float]
    y: tuple[float, float]
    ticks: tuple[tuple[float, str], ...]
    across: str
    up: str
    diagonal: bool = False


def lines_chart(lines: Sequence[Line], axes: Axes, *, label: str) -> Markup:
    """Draw lines.

    Args:
        lines: In the order of the legend.
        axes: Scales and words. Values outside are drawn at the edge.
        label: The chart in words, for those who cannot see it.
    """
    parts = [_grid(axes)]
    if axes.diagonal:
        parts.append(_line(_place(axes, axes.x[0], axes.y[0]), _place(axes, axes.x[1], axes.y[1]), "diagonal"))
    parts += [_drawn(line, line.style % _STYLES, axes) for line in lines]
    rows = (len(lines) + 1) // 2
    parts += [_legend(line, number, _TOP + _HIGH + 52) for number, line in enumerate(lines)]
    height = _TOP + _HIGH + 48 + rows * 20
    return Markup('<svg class="chart lines" viewBox="0 0 {} {}" role="img" aria-label="{}">{}</svg>').format(
        _short(_WIDTH), _short(height), label, Markup("").join(parts)
    )


def _place(axes: Axes, x: float, y: float) -> tuple[float, float]:
    across = (min(max(x, axes.x[0]), axes.x[1]) - axes.x[0]) / (axes.x[1] - axes.x[0])
    up = (min(max(y, axes.y[0]), axes.y[1]) - axes.y[0]) / (axes.y[1] - axes.y[0])
    return _LEFT + across * (_WIDTH - _LEFT - 12), _TOP + _HIGH * (1 - up)


def _grid(axes: Axes) -> Markup:
    parts = []
    for step in range(6):
        value = axes.y[0] + (axes.y[1] - axes.y[0]) * step / 5
        left, y = _place(axes, axes.x[0], value)
        right, _ = _place(axes, axes.x[1], value)
        parts += [_line((left, y), (right, y), "grid"), _text(left - 8, y + 4, f"{value:.2f}", anchor="end")]
    parts += [
        _text(_place(axes, x, axes.y[0])[0], _TOP + _HIGH + 17, words, anchor="middle") for x, words in axes.ticks
    ]
    parts.append(_text((_LEFT + _WIDTH) / 2, _TOP + _HIGH + 36, f"{axes.across}; up: {axes.up}", anchor="middle"))
    return Markup("").join(parts)


def _drawn(line: Line, style: int, axes: Axes) -> Markup:
    places = [(*_place(axes, x, y), words) for x, y, words in line.points]
    path = " ".join(f"{_short(x)},{_short(y)}" for x, y, _ in places)
    drawn = Markup('<polyline points="{}" class="l{}{}"/>').format(path, style, " quiet" if line.quiet else "")
    marks = (_mark(x, y, style, words=f"{line.name}: {words}") for x, y, words in places)
    return drawn + Markup("").join(marks)


def _mark(x: float, y: float, style: int, *, words: str) -> Markup:
    """Circle, square, triangle, diamond in turn; filled, then hollow."""
    shape = style % 4
    name = f"m{style}"
    if shape == 0:
        return Markup('<circle cx="{}" cy="{}" r="4" class="mark {}"><title>{}</title></circle>').format(
            _short(x), _short(y), name, words
        )
    corners = {
        1: ((-3.6, -3.6), (3.6, -3.6), (3.6, 3.6), (-3.6, 3.6)),
        2: ((0, -4.8), (4.6, 3.6), (-4.6, 3.6)),
        3: ((0, -5), (5, 0), (0, 5), (-5, 0)),
    }[shape]
    points = " ".join(f"{_short(x + dx)},{_short(y + dy)}" for dx, dy in corners)
    return Markup('<polygon points="{}" class="mark {}"><title>{}</title></polygon>').format(points, name, words)


def _legend(line: Line, number: int, top: float) -> Markup:
    x, y = _LEFT + (number % 2) * 236, top + (number // 2) * 20
    style = line.style % _STYLES
    quiet = " quiet" if line.quiet else ""
    stroke = Markup('<line x1="{}" y1="{}" x2="{}" y2="{}" class="l{}{}"/>').format(
        _short(x), _short(y), _short(x + 30), _short(y), style, quiet
    )
    return stroke + _mark(x + 15, y, style, words=line.name) + _text(x + 38, y + 4, line.name, anchor="start")


def _line(start: tuple[float, float], end: tuple[float, float], style: str) -> Markup:
    return Markup('<line x1="{}" y1="{}" x2="{}" y2="{}" class="{}"/>').format(
        _short(start[0]), _short(start[1]), _short(end[0]), _short(end[1]), style
    )


def _text(x: float, y: float, words: str, *, anchor: str) -> Markup:
    return Markup('<text x="{}" y="{}" text-anchor="{}">{}</text>').format(_short(x), _short(y), anchor, escape(words))


def _short(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
