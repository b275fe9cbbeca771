"""Histograms, bars, scatters and lines: the charts of an audit's page, of the mask benchmark and of a gate.

Every mark has a title with its numbers, and every chart words that say the same: none relies on colour alone. The
names of colours are the palette's; an action's is ``a-<action>``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from auscult.report.charts.marks import Scale, mark, name_label, style_of
from auscult.report.drawing import Circle, Drawing, DrawnShape, Line, Point, Polyline, Rect, Text, TextAnchor

_WIDTH: Final = 520.0
_LEFT, _RIGHT, _TOP = 44.0, 34.0, 12.0
_BARS_PX, _LINES_PX = 150.0, 210.0
_LEGEND_ROW: Final = 20.0
_COLUMN: Final = (_WIDTH - _LEFT) / 2
HISTOGRAM_PX: Final = round(_TOP + _BARS_PX + 26)
"""Height of a histogram."""


@dataclass(frozen=True, slots=True)
class Stack:
    """One bar: its label, and its parts as (colour, words, count), drawn in order."""

    label: str
    parts: tuple[tuple[str, str, int], ...]

    @property
    def total(self) -> int:
        """The sum of the parts."""
        return sum(count for _, _, count in self.parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScatterPoint:
    """One item in a scatter: true and estimated value, 0..1, its colour, its words, and where a click leads."""

    x: float
    y: float
    style: str
    words: str
    link: str = ""


def histogram(stacks: Sequence[Stack], *, title: str, ticks: Mapping[int, str], words: str = "") -> Drawing:
    """Upright bars side by side; the arguments are those of ``histogram_parts`` and ``Drawing``."""
    return _drawing((_WIDTH, HISTOGRAM_PX), histogram_parts(stacks, ticks=ticks), title, words=words)


def histogram_parts(stacks: Sequence[Stack], *, ticks: Mapping[int, str], top: float = 0.0) -> list[DrawnShape]:
    """Upright bars, one a bin, from ``top`` on; ``ticks`` is the edge of a bin (0 is the left end) to its text."""
    foot, right = top + _TOP + _BARS_PX, _WIDTH - _RIGHT
    highest = max((stack.total for stack in stacks), default=0)
    step = (right - _LEFT) / max(1, len(stacks))
    parts: list[DrawnShape] = []
    for height in sorted({highest, highest // 2} - {0}):
        y = foot - _BARS_PX * height / highest
        parts += [_level(y), _level_label(y, f"{height:,}")]
    for index, stack in enumerate(stacks):
        y, x = foot, _LEFT + index * step + 1
        for colour, words, count in stack.parts:
            if count:
                bar_height = _BARS_PX * count / highest
                y -= bar_height
                tooltip = f"{stack.label}: {count:,} {words}"
                parts.append(Rect(x=x, y=y, width_px=step - 2, height_px=bar_height, fill=colour, title=tooltip))
    parts += [_tick_label(_LEFT + edge * step, foot + 17, text) for edge, text in ticks.items()]
    return [*parts, Line(start=(_LEFT, foot), end=(right, foot), colour="quiet")]


def bars_drawing(bars: Sequence[tuple[str, int]], *, ticks: Mapping[int, str], title: str, unit: str) -> Drawing:
    """Upright bars of one colour side by side, for counts over a range of values."""
    stacks = [Stack(label, (("accent", unit, count),)) for label, count in bars]
    words = ", ".join(f"{label}: {count}" for label, count in bars if count)
    return histogram(stacks, title=title, ticks=ticks, words=words)


def bars(stacks: Sequence[Stack], *, title: str) -> Drawing:
    """Lying bars one below the other, for counts of named things; ``title`` is the chart in words."""
    row, left = 26.0, 112.0
    highest = max((stack.total for stack in stacks), default=0)
    parts: list[DrawnShape] = []
    for index, stack in enumerate(stacks):
        x, y = left, index * row + 4
        parts.append(_text((left - 10, y + 13), stack.label, anchor="end"))
        for colour, words, count in stack.parts:
            if count:
                width = (_WIDTH - left - 52) * count / highest
                tooltip = f"{stack.label}: {count:,} {words}"
                parts.append(Rect(x=x, y=y, width_px=max(width - 1, 0.5), height_px=18, fill=colour, title=tooltip))
                x += width
        parts.append(Text(at=(x + 7, y + 13), words=f"{stack.total:,}", size=12.5, bold=True))
    return _drawing((_WIDTH, max(1, len(stacks)) * row + 4), parts, title)


def scatter(points: Sequence[ScatterPoint], *, title: str, axes: tuple[str, str]) -> Drawing:
    """Points in the unit square with the line of perfect agreement; values outside 0..1 are drawn at the edge.

    ``title`` is the chart in words, ``axes`` are the words under the x axis and beside the y axis.
    """
    size, left, top, side = 460.0, 48.0, 10.0, 396.0
    bottom = top + side
    across = Scale(low=0, high=1, first_px=left, last_px=left + side)
    up = Scale(low=0, high=1, first_px=bottom, last_px=top)
    parts: list[DrawnShape] = [
        Line(start=(left, bottom), end=(left + side, top), colour="quiet", dash=(5.0, 4.0)),
    ]
    for step in range(0, 11, 2):
        offset = side * step / 10
        parts += [
            Line(start=(left, bottom - offset), end=(left + side, bottom - offset), colour="line"),
            Line(start=(left + offset, bottom), end=(left + offset, top), colour="line"),
            _text((left - 8, bottom - offset + 4), f"{step / 10:.1f}", anchor="end"),
            _text((left + offset, bottom + 17), f"{step / 10:.1f}", anchor="middle"),
        ]
    parts += [
        Text(at=(left + side / 2, bottom + 38), words=axes[0], size=12.5, anchor="middle", bold=True),
        Text(at=(13, top + side / 2), words=axes[1], size=12.5, anchor="middle", bold=True, rotation=-90),
    ]
    for point in points:
        parts.append(
            Circle(
                centre=(across.at(point.x), up.at(point.y)),
                radius=4,
                fill=point.style,
                stroke="ground",
                width=0.7,
                opacity=0.75,
                title=point.words,
                link=point.link,
            )
        )
    return _drawing((size, size), parts, title)


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """One line of a chart."""

    name: str  # what it is of
    # (x, y, words); x and y in the units of the axes, words for the mark's title
    points: tuple[tuple[float, float, str], ...]
    style: int  # number of its mark, dash and colour, 0 or more
    quiet: bool = False  # drawn thin, as something to compare with


@dataclass(frozen=True, slots=True, kw_only=True)
class Axes:
    """What a chart is drawn on."""

    x: tuple[float, float]  # low and high end
    y: tuple[float, float]  # low and high end
    ticks: tuple[tuple[float, str], ...]  # x to the text under it
    across: str  # words under the x axis
    up: str  # words above the y axis
    diagonal: bool = False  # draw the line of perfect agreement

    def point(self, x: float, y: float) -> Point:
        """Pixel position of a data point; clipped at the edge."""
        across = Scale(low=self.x[0], high=self.x[1], first_px=_LEFT, last_px=_WIDTH - _RIGHT)
        up = Scale(low=self.y[0], high=self.y[1], first_px=_TOP + _LINES_PX, last_px=_TOP)
        return across.at(x), up.at(y)


def lines_drawing(lines: Sequence[Series], axes: Axes, *, title: str) -> Drawing:
    """Lines over steps, distinguished by mark and dash as well as by colour; in the order of the legend."""
    foot = _TOP + _LINES_PX
    parts = _frame(axes, foot)
    if axes.diagonal:
        start, end = axes.point(axes.x[0], axes.y[0]), axes.point(axes.x[1], axes.y[1])
        parts.append(Line(start=start, end=end, colour="quiet", dash=(5, 4)))
    for line in lines:
        parts += _line(line, axes)
    for number, line in enumerate(lines):
        parts += _legend(line, (_LEFT + number % 2 * _COLUMN, foot + 56 + number // 2 * _LEGEND_ROW))
    height = foot + 50 + (len(lines) + 1) // 2 * _LEGEND_ROW
    text = "; ".join(f"{line.name}: {', '.join(words for *_, words in line.points)}" for line in lines)
    return _drawing((_WIDTH, height), parts, title, words=text)


def _frame(axes: Axes, foot: float) -> list[DrawnShape]:
    """Grid and words."""
    parts: list[DrawnShape] = []
    for step in range(6):
        value = axes.y[0] + (axes.y[1] - axes.y[0]) * step / 5
        y = axes.point(axes.x[0], value)[1]
        parts += [_level(y), _level_label(y, f"{value:.2f}")]
    parts += [_tick_label(axes.point(x, axes.y[0])[0], foot + 17, words) for x, words in axes.ticks]
    parts.append(_tick_label((_LEFT + _WIDTH - _RIGHT) / 2, foot + 36, f"{axes.across}; up: {axes.up}"))
    return parts


def _line(line: Series, axes: Axes) -> list[DrawnShape]:
    style = style_of(line.style)
    marks = [(axes.point(x, y), f"{line.name}: {words}") for x, y, words in line.points]
    parts: list[DrawnShape] = []
    if len(marks) > 1:
        path = tuple(point for point, _ in marks)
        parts.append(Polyline(points=path, colour=style.colour, width=1.2 if line.quiet else 2, dash=style.dash))
    return parts + [mark(point, style, title=words) for point, words in marks]


def _legend(line: Series, at: Point) -> list[DrawnShape]:
    (x, y), style = at, style_of(line.style)
    width = 1.2 if line.quiet else 2
    return [
        Line(start=(x, y), end=(x + 30, y), colour=style.colour, width=width, dash=style.dash),
        mark((x + 15, y), style),
        name_label((x + 38, y + 4), line.name, _COLUMN - 46),
    ]


def _drawing(size: Point, parts: Sequence[DrawnShape], title: str, *, words: str = "") -> Drawing:
    return Drawing(size=(round(size[0]), round(size[1])), parts=tuple(parts), title=title, words=words)


def _level(y: float) -> Line:
    return Line(start=(_LEFT, y), end=(_WIDTH - _RIGHT, y), colour="line")


def _level_label(y: float, words: str) -> Text:
    return Text(at=(_LEFT - 7, y + 4), words=words, anchor="end", colour="quiet")


def _tick_label(x: float, y: float, words: str) -> Text:
    return Text(at=(x, y), words=words, anchor="middle", colour="quiet")


def _text(at: Point, words: str, *, anchor: TextAnchor) -> Text:
    return Text(at=at, words=words, size=12.5, anchor=anchor, colour="quiet")
