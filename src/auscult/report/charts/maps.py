"""Maps: a number in each cell of a table, and a number over a square of two others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from auscult.report.charts.marks import BAR_PX, NONE, Words, check_size, heading, label, name_label, scale_bar
from auscult.report.drawing import Circle, Drawing, DrawnShape, Line, Rect, Text, fitted, on_scale, scale, text_width

MAX_ROWS: Final = 80
MAX_COLUMNS: Final = 32

_CELL_PX: Final = (44.0, 19.0)
_NAME_PX: Final = 170.0
_GAP_PX: Final = 7.0
_LETTERS: Final = 10.5


@dataclass(frozen=True, slots=True, kw_only=True)
class MapColumn:
    """A column: its name, its numbers from the first row down, and what is at either end of the colours.

    Attributes:
        name: Above the column.
        values: None where there is none.
        low: The number that has the colour of the lower end.
        high: That of the upper end; below ``low`` where small numbers are good, as ranks are.
        apart: Whether there is a gap before it.
    """

    name: str
    values: tuple[float | None, ...]
    low: float
    high: float
    apart: bool = False


def heat_map(rows: Sequence[str], columns: Sequence[MapColumn], words: Words, *, ends: tuple[str, str]) -> Drawing:
    """Draw a table whose cells are coloured by their numbers, which stand in them.

    Args:
        rows: Names, from the first row down.
        columns: What stands in them.
        words: What the numbers are; ``digits`` are their decimals.
        ends: What the lower and the upper end of the colours mean.
    """
    check_size("rows", rows, MAX_ROWS)
    check_size("columns", columns, MAX_COLUMNS)
    cell_width, cell_height = _CELL_PX
    labels = [fitted(name, _LETTERS, _NAME_PX, ends=True) for name in rows]
    left = 16 + max((text_width(name, _LETTERS) for name in labels), default=20.0)
    top = (34.0 if words.heading else 8.0) + 18
    parts: list[DrawnShape] = [
        name_label((left - 7, top + (index + 0.5) * cell_height + 4), name, _NAME_PX, size=_LETTERS, anchor="end")
        for index, name in enumerate(rows)
    ]
    x = left
    for column in columns:
        x += _GAP_PX if column.apart else 0.0
        above = (x + cell_width / 2, top - 5)
        parts.append(label(above, column.name, cell_width + 2, size=_LETTERS, anchor="middle"))
        for index, name in enumerate(rows):
            parts += _cell(column, (index, name), (x, top + index * cell_height), digits=words.digits)
        x += cell_width
    foot = top + len(rows) * cell_height
    width = max(x + 8, BAR_PX + 330)
    parts += [*_colours((8, foot + 16), ends, axis=words.axis, room=width - 16), *heading(words.heading, width - 16)]
    return Drawing(
        size=(round(width), round(foot + 56)),
        parts=tuple(parts),
        title=words.heading or words.axis,
        words=_text(rows, columns, words.digits),
    )


def _cell(column: MapColumn, row: tuple[int, str], at: tuple[float, float], *, digits: int) -> list[DrawnShape]:
    (x, y), (width, height), (number, name) = at, _CELL_PX, row
    value = column.values[number]
    title = f"{name}, {column.name}: {NONE if value is None else f'{value:.{digits}f}'}"
    if value is None:
        parts: list[DrawnShape] = [
            Rect(x=x, y=y, width_px=width - 1, height_px=height - 1, fill="ground", stroke="line", title=title)
        ]
        middle = (x + (width - 1) / 2, y + height / 2 + 3.4)
        return [*parts, Text(at=middle, words=NONE, size=10, anchor="middle", colour="quiet", title=title)]
    shade = _shade(value, column.low, column.high)
    box = Rect(x=x, y=y, width_px=width - 1, height_px=height - 1, fill=scale(shade), title=title)
    at_middle = (x + (width - 1) / 2, y + height / 2 + 3.4)
    number_text = f"{value:.{digits}f}"
    return [box, Text(at=at_middle, words=number_text, size=10, anchor="middle", colour=on_scale(shade), title=title)]


def _shade(value: float, low: float, high: float) -> float:
    return 2 * (value - low) / (high - low) - 1 if high != low else 0.0


def _colours(at: tuple[float, float], ends: tuple[str, str], *, axis: str, room: float) -> list[DrawnShape]:
    """The scale of colours with what its ends mean."""
    x, y = at
    parts = scale_bar(x, y)
    parts.append(label((x, y + 27), ends[0], BAR_PX / 2, colour="quiet"))
    parts.append(label((x + BAR_PX, y + 27), ends[1], BAR_PX / 2, anchor="end", colour="quiet"))
    parts.append(label((x + BAR_PX + 18, y + 10), axis, room - BAR_PX - 18, colour="quiet"))
    return parts


def _text(rows: Sequence[str], columns: Sequence[MapColumn], digits: int) -> str:
    """The best row of each column in words; the table has the rest."""
    best = []
    for column in columns:
        scored = [(value, name) for value, name in zip(column.values, rows, strict=True) if value is not None]
        if scored:
            value, name = (max if column.high > column.low else min)(scored)
            best.append(f"{column.name} {name} {value:.{digits}f}")
    return "best: " + ", ".join(best) if best else "no number"


_SIDE_PX: Final = 250.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Surface:
    """A number over two others, each 0..1.

    Attributes:
        name: Above the square.
        values: At the middles of as many squares a row as there are rows, the topmost row first.
        at_points: At the points of the chart.
        low: The number that has the colour of the lower end.
        high: That of the upper end.
    """

    name: str
    values: tuple[tuple[float, ...], ...]
    at_points: tuple[float, ...]
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class MapPoint:
    """A named place on each square: x and y, 0..1."""

    name: str
    x: float
    y: float


def surfaces(
    squares: Sequence[Surface],
    points: Sequence[MapPoint],
    words: Words,
    *,
    axes: tuple[str, str],
    ends: tuple[str, str],
) -> Drawing:
    """Draw squares beside one another, coloured by their numbers, with the same points on each.

    Args:
        squares: What is drawn, from the left.
        points: Named places; the number there stands beside the name.
        words: What the numbers are; ``digits`` are their decimals.
        axes: What the two numbers are, to the right and upwards.
        ends: What the lower and the upper end of the colours mean.
    """
    check_size("squares", squares, 3)
    check_size("points", points, 12)
    top = (34.0 if words.heading else 8.0) + 18
    parts: list[DrawnShape] = []
    for number, square in enumerate(squares):
        parts += _square(square, points, (44 + number * (_SIDE_PX + 64), top), axes=axes, digits=words.digits)
    foot = top + _SIDE_PX + 34
    width = 44 + len(squares) * (_SIDE_PX + 64)
    parts += [*_colours((44, foot + 10), ends, axis=words.axis, room=width - 60), *heading(words.heading, width - 16)]
    return Drawing(
        size=(round(width), round(foot + 50)),
        parts=tuple(parts),
        title=words.heading or words.axis,
        words="; ".join(
            f"{square.name}: "
            + ", ".join(
                f"{point.name} {value:.{words.digits}f}" for point, value in zip(points, square.at_points, strict=True)
            )
            for square in squares
        ),
    )


def _square(
    square: Surface, points: Sequence[MapPoint], at: tuple[float, float], *, axes: tuple[str, str], digits: int
) -> list[DrawnShape]:
    left, top = at
    side = _SIDE_PX / len(square.values)
    parts: list[DrawnShape] = [label((left, top - 6), square.name, _SIDE_PX + 40)]
    for row, values in enumerate(square.values):
        for column, value in enumerate(values):
            colour = scale(_shade(value, square.low, square.high))
            x, y = left + column * side, top + row * side
            parts.append(Rect(x=x, y=y, width_px=side + 0.3, height_px=side + 0.3, fill=colour))
    foot = top + _SIDE_PX
    for share in (0.0, 0.5, 1.0):
        x, y = left + share * _SIDE_PX, foot - share * _SIDE_PX
        parts.append(Line(start=(x, foot), end=(x, foot + 4), colour="quiet"))
        parts.append(Text(at=(x, foot + 16), words=f"{share:g}", size=_LETTERS, anchor="middle", colour="quiet"))
        parts.append(Text(at=(left - 6, y + 4), words=f"{share:g}", size=_LETTERS, anchor="end", colour="quiet"))
    parts.append(Text(at=(left + _SIDE_PX / 2, foot + 29), words=axes[0], size=_LETTERS, anchor="middle"))
    parts.append(Text(at=(left - 26, top + _SIDE_PX / 2), words=axes[1], size=_LETTERS, anchor="middle", rotation=-90))
    for point, value in zip(points, square.at_points, strict=True):
        ink = on_scale(_shade(value, square.low, square.high))
        parts += _point(point, (left, foot), ink=ink, words=f"{point.name} {value:.{digits}f}")
    return parts


def _point(point: MapPoint, corner: tuple[float, float], *, ink: str, words: str) -> list[DrawnShape]:
    x, y = corner[0] + point.x * _SIDE_PX, corner[1] - point.y * _SIDE_PX
    right = x + 8 + text_width(words, 11) > corner[0] + _SIDE_PX
    return [
        Circle(centre=(x, y), radius=4.0, fill=ink, title=words),
        Text(
            at=(x - 8 if right else x + 8, y + 4), words=words, size=11, colour=ink, anchor="end" if right else "start"
        ),
    ]
