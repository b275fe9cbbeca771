"""The two forms of the benchmark's charts as drawings: counts over a range, and lines over steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from auscult.report.charts.marks import mark, name_label, style_of
from auscult.report.curves import Axes
from auscult.report.curves import Line as Row
from auscult.report.drawing import Drawing, DrawnShape, Line, Polyline, Rect, Text

_WIDTH: Final = 520.0
_LEFT, _RIGHT, _TOP = 44.0, 34.0, 12.0
_BARS_PX, _LINES_PX = 150.0, 210.0
_LEGEND_ROW: Final = 20.0
_COLUMN: Final = (_WIDTH - _LEFT) / 2


def bars_drawing(bars: Sequence[tuple[str, int]], *, ticks: Mapping[int, str], title: str, unit: str) -> Drawing:
    """Upright bars side by side, for counts over a range of values."""
    most = max((count for _, count in bars), default=0)
    foot, step = _TOP + _BARS_PX, (_WIDTH - _LEFT - _RIGHT) / max(1, len(bars))
    parts: list[DrawnShape] = []
    for height in sorted({most, most // 2} - {0}):
        y = foot - _BARS_PX * height / most
        parts += [_level(y), _beside(y, f"{height:,}")]
    for place, (words, count) in enumerate(bars):
        if count:
            tall = _BARS_PX * count / most
            x = _LEFT + place * step + 1
            told = f"{words}: {count:,} {unit}"
            parts.append(Rect(x=x, y=foot - tall, width_px=step - 2, height_px=tall, fill="accent", title=told))
    parts += [_below(_LEFT + edge * step, foot + 17, text) for edge, text in ticks.items()]
    parts.append(Line(start=(_LEFT, foot), end=(_WIDTH - _RIGHT, foot), colour="quiet"))
    said = ", ".join(f"{words}: {count}" for words, count in bars if count)
    return Drawing(size=(int(_WIDTH), round(foot + 26)), parts=tuple(parts), title=title, words=said)


def lines_drawing(rows: Sequence[Row], axes: Axes, *, title: str) -> Drawing:
    """Lines over steps, told apart by mark and dash as well as by colour."""
    foot = _TOP + _LINES_PX
    parts = _frame(axes, foot)
    if axes.diagonal:
        ends = (_place(axes, axes.x[0], axes.y[0]), _place(axes, axes.x[1], axes.y[1]))
        parts.append(Line(start=ends[0], end=ends[1], colour="quiet", dash=(5, 4)))
    for row in rows:
        parts += _row(row, axes)
    for number, row in enumerate(rows):
        parts += _legend(row, (_LEFT + number % 2 * _COLUMN, foot + 56 + number // 2 * _LEGEND_ROW))
    height = round(foot + 50 + (len(rows) + 1) // 2 * _LEGEND_ROW)
    said = "; ".join(f"{row.name}: {', '.join(words for *_, words in row.points)}" for row in rows)
    return Drawing(size=(int(_WIDTH), height), parts=tuple(parts), title=title, words=said)


def _frame(axes: Axes, foot: float) -> list[DrawnShape]:
    """Grid and words."""
    parts: list[DrawnShape] = []
    for step in range(6):
        value = axes.y[0] + (axes.y[1] - axes.y[0]) * step / 5
        y = _place(axes, axes.x[0], value)[1]
        parts += [_level(y), _beside(y, f"{value:.2f}")]
    parts += [_below(_place(axes, x, axes.y[0])[0], foot + 17, words) for x, words in axes.ticks]
    parts.append(_below((_LEFT + _WIDTH - _RIGHT) / 2, foot + 36, f"{axes.across}; up: {axes.up}"))
    return parts


def _row(row: Row, axes: Axes) -> list[DrawnShape]:
    style = style_of(row.style)
    places = [(_place(axes, x, y), f"{row.name}: {words}") for x, y, words in row.points]
    path = tuple(place for place, _ in places)
    parts: list[DrawnShape] = []
    if len(path) > 1:
        parts.append(Polyline(points=path, colour=style.colour, width=1.2 if row.quiet else 2, dash=style.dash))
    return parts + [mark(place, style, title=words) for place, words in places]


def _legend(row: Row, at: tuple[float, float]) -> list[DrawnShape]:
    (x, y), style = at, style_of(row.style)
    width = 1.2 if row.quiet else 2
    return [
        Line(start=(x, y), end=(x + 30, y), colour=style.colour, width=width, dash=style.dash),
        mark((x + 15, y), style),
        name_label((x + 38, y + 4), row.name, _COLUMN - 46),
    ]


def _place(axes: Axes, x: float, y: float) -> tuple[float, float]:
    across = (min(max(x, axes.x[0]), axes.x[1]) - axes.x[0]) / (axes.x[1] - axes.x[0])
    up = (min(max(y, axes.y[0]), axes.y[1]) - axes.y[0]) / (axes.y[1] - axes.y[0])
    return _LEFT + across * (_WIDTH - _LEFT - _RIGHT), _TOP + _LINES_PX * (1 - up)


def _level(y: float) -> Line:
    return Line(start=(_LEFT, y), end=(_WIDTH - _RIGHT, y), colour="line")


def _beside(y: float, words: str) -> Text:
    return Text(at=(_LEFT - 7, y + 4), words=words, anchor="end", colour="quiet")


def _below(x: float, y: float, words: str) -> Text:
    return Text(at=(x, y), words=words, anchor="middle", colour="quiet")
