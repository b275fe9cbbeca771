"""Histograms and line charts as inline SVG: no script, printable, in the page's light and dark colours.

Colours come from the page's style sheet through the classes ``a-<action>``; a chart never relies on them alone: every
mark has a title with its numbers, and every chart a label that says the same in words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

_WIDTH = 520.0


@dataclass(frozen=True, slots=True)
class Stack:
    """One bar: its label, and its parts as (class, words, count), drawn in order."""

    label: str
    parts: tuple[tuple[str, str, int], ...]

    @property
    def total(self) -> int:
        """The sum of the parts."""
        return sum(count for _, _, count in self.parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One item in a scatter: true and estimated value, 0..1, its colour class, its words, and where a click leads."""

    x: float
    y: float
    style: str
    words: str
    link: str = ""


def histogram(stacks: Sequence[Stack], *, label: str, ticks: Mapping[int, str]) -> Markup:
    """Upright bars side by side, for counts over a range of values.

    Args:
        stacks: One per bin, left to right.
        label: The chart in words, for those who cannot see it.
        ticks: Edge of a bin (0 is the left end) to the text under it.
    """
    height, base, top = 190.0, 164.0, 14.0
    most = max((stack.total for stack in stacks), default=0)
    step = (_WIDTH - 44) / max(1, len(stacks))
    parts = [_histogram_grid(most, base=base, top=top)]
    for index, stack in enumerate(stacks):
        y = base
        for style, words, count in stack.parts:
            if count:
                tall = (base - top) * count / most
                y -= tall
                parts.append(
                    _rect((40 + index * step + 1, y, step - 2, tall), style, f"{stack.label}: {count} {words}")
                )
    for edge, text in ticks.items():
        parts.append(_styled_text(40 + edge * step, base + 17, text, anchor="middle"))
    parts.append(_styled_line((40, base, _WIDTH - 4, base), "axis"))
    return _svg(parts, (_WIDTH, height), label)


def bars(stacks: Sequence[Stack], *, label: str) -> Markup:
    """Lying bars one below the other, for counts of named things."""
    row, left = 26.0, 112.0
    most = max((stack.total for stack in stacks), default=0)
    parts: list[Markup] = []
    for index, stack in enumerate(stacks):
        y = index * row + 4
        parts.append(_styled_text(left - 10, y + 13, stack.label, anchor="end"))
        x = left
        for style, words, count in stack.parts:
            if count:
                wide = (_WIDTH - left - 52) * count / most
                parts.append(_rect((x, y, max(wide - 1, 0.5), 18), style, f"{stack.label}: {count} {words}"))
                x += wide
        parts.append(_styled_text(x + 7, y + 13, f"{stack.total:,}", anchor="start", style="strong"))
    return _svg(parts, (_WIDTH, max(1, len(stacks)) * row + 4), label)


def scatter(points: Sequence[Point], *, label: str, axes: tuple[str, str]) -> Markup:
    """Points in the unit square with the line of perfect agreement.

    Args:
        points: What to draw; values outside 0..1 are drawn at the edge.
        label: The chart in words.
        axes: Words under the x axis and beside the y axis.
    """
    size, left, top, side = 460.0, 48.0, 10.0, 396.0
    bottom = top + side
    parts = [_styled_line((left, bottom, left + side, top), "diagonal")]
    for step in range(0, 11, 2):
        place = step / 10
        parts += [
            _styled_line((left, bottom - side * place, left + side, bottom - side * place), "grid"),
            _styled_line((left + side * place, bottom, left + side * place, top), "grid"),
            _styled_text(left - 8, bottom - side * place + 4, f"{place:.1f}", anchor="end"),
            _styled_text(left + side * place, bottom + 17, f"{place:.1f}", anchor="middle"),
        ]
    parts += [
        _styled_text(left + side / 2, bottom + 38, axes[0], anchor="middle", style="strong"),
        Markup('<text transform="translate(13 {}) rotate(-90)" text-anchor="middle" class="strong">{}</text>').format(
            _short(top + side / 2), axes[1]
        ),
    ]
    parts += [_dot(point, (left, bottom), side) for point in points]
    return _svg(parts, (size, size), label, style="chart scatter")


def _dot(point: Point, origin: tuple[float, float], side: float) -> Markup:
    x = origin[0] + side * min(1.0, max(0.0, point.x))
    y = origin[1] - side * min(1.0, max(0.0, point.y))
    mark = Markup('<circle cx="{}" cy="{}" r="4" class="{}"><title>{}</title></circle>').format(
        _short(x), _short(y), point.style, point.words
    )
    return Markup('<a href="{}" tabindex="-1">{}</a>').format(point.link, mark) if point.link else mark


def _histogram_grid(most: int, *, base: float, top: float) -> Markup:
    """Three quiet lines that give the heights a number."""
    marks = sorted({most, most // 2}) if most > 1 else [most]
    drawn = [
        _styled_line((40, base - (base - top) * mark / most, _WIDTH - 4, base - (base - top) * mark / most), "grid")
        + _styled_text(34, base - (base - top) * mark / most + 4, f"{mark:,}", anchor="end")
        for mark in marks
        if mark
    ]
    return Markup("").join(drawn)


def _svg(parts: Sequence[Markup], size: tuple[float, float], label: str, *, style: str = "chart") -> Markup:
    return Markup('<svg class="{}" viewBox="0 0 {} {}" role="img" aria-label="{}">{}</svg>').format(
        style, _short(size[0]), _short(size[1]), label, Markup("").join(parts)
    )


def _rect(box: tuple[float, float, float, float], style: str, words: str) -> Markup:
    x, y, width, height = (_short(value) for value in box)
    return Markup('<rect x="{}" y="{}" width="{}" height="{}" class="{}"><title>{}</title></rect>').format(
        x, y, width, height, style, words
    )


def _styled_line(ends: tuple[float, float, float, float], style: str) -> Markup:
    x1, y1, x2, y2 = (_short(value) for value in ends)
    return Markup('<line x1="{}" y1="{}" x2="{}" y2="{}" class="{}"/>').format(x1, y1, x2, y2, style)


def _styled_text(x: float, y: float, words: str, *, anchor: str, style: str = "") -> Markup:
    return Markup('<text x="{}" y="{}" text-anchor="{}"{}>{}</text>').format(
        _short(x), _short(y), anchor, Markup(' class="{}"').format(style) if style else "", escape(words)
    )


def _short(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


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
