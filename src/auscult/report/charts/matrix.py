"""A matrix of correlations as coloured cells (R2-Bench, Figs. 8 and 9)."""

from __future__ import annotations

from dataclasses import dataclass

from auscult.media.drawing import Drawing, Line, Part, Rect, Text, fitted, on_scale, scale, text_width
from auscult.report.charts.marks import heading, label
from auscult.report.charts.values import MAX_TYPES, NONE, Words, check_size

_NAME_PX, _SLANT = 150.0, 0.7072
_LEAST, _LARGEST, _SIDE_PX = 18.0, 46.0, 640.0
_NUMBERS_FROM = 25.0
_BAR_PX, _BAR_STEPS = 210.0, 21


@dataclass(frozen=True, slots=True, kw_only=True)
class Matrix:
    """Correlations between things, in the order drawn.

    Attributes:
        names: Of rows and columns alike.
        values: Row by row, -1..1; None where a correlation is Undefined.
        n: What each is over; None where that differs or is not known.
    """

    names: tuple[str, ...]
    values: tuple[tuple[float | None, ...], ...]
    n: int | None = None

    def __post_init__(self) -> None:
        """Check the shape and the range.

        Raises:
            TooLarge: Over ``MAX_TYPES`` rows.
            ValueError: Not square, or a value outside -1..1.
        """
        check_size("rows and columns", self.names, MAX_TYPES)
        side = len(self.names)
        if len(self.values) != side or any(len(row) != side for row in self.values):
            raise ValueError(f"a matrix of {side} names has {side} rows of {side} values")
        if not all(value is None or -1 - 1e-6 <= value <= 1 + 1e-6 for row in self.values for value in row):
            raise ValueError("a correlation is within -1..1; Undefined is None")


def matrix(table: Matrix, words: Words) -> Drawing:
    """Draw a matrix with its scale.

    Cells are wide enough for numbers up to two dozen names; every cell's title has its number. A cell that is
    Undefined is hatched.

    Args:
        table: The correlations.
        words: Around the chart; the axis names the correlation.
    """
    side = len(table.names)
    cell = min(_LARGEST, max(_LEAST, _SIDE_PX / max(1, side)))
    size = 11.0 if cell >= _NUMBERS_FROM else 10.5
    shown = [fitted(name, size, _NAME_PX, ends=True) for name in table.names]
    longest = max((text_width(name, size) for name in shown), default=20.0)
    left = 8 + longest + 8
    top = (34.0 if words.heading else 8.0) + longest * _SLANT + size
    parts: list[Part] = []
    for number, (name, short) in enumerate(zip(table.names, shown, strict=True)):
        title, middle = ("" if short == name else name), (number + 0.5) * cell
        parts.append(Text(at=(left - 7, top + middle + 4), words=short, size=size, anchor="end", title=title))
        parts.append(Text(at=(left + middle + 3, top - 6), words=short, size=size, rotation=-45, title=title))
    for row in range(side):
        for column in range(side):
            parts += _cell(table, (row, column), (left + column * cell, top + row * cell, cell))
    foot = top + side * cell
    reach = max(
        (left + (number + 0.5) * cell + text_width(name, size) * _SLANT for number, name in enumerate(shown)), default=0
    )
    width = max(left + side * cell + 8, reach + 14, _BAR_PX + 260)
    parts += [*_legend(table, words, (8, foot + 18, width - 16)), *heading(words.heading, width - 16)]
    return Drawing(
        size=(round(width), round(foot + 64)),
        parts=tuple(parts),
        title=words.heading or f"{words.axis} of {side} types",
        words=_said(table),
    )


def _cell(table: Matrix, at: tuple[int, int], box: tuple[float, float, float]) -> list[Part]:
    row, column = at
    x, y, side = box
    value = table.values[row][column]
    title = f"{table.names[row]} and {table.names[column]}: {NONE if value is None else f'{value:.2f}'}"
    if value is None:
        return _hatched(box, title)
    inner = side - 1
    parts: list[Part] = [Rect(x=x, y=y, width_px=inner, height_px=inner, fill=scale(value), title=title)]
    if side >= _NUMBERS_FROM:
        size = min(11.5, side * 0.38)
        words = _short(value)
        at_middle = (x + inner / 2, y + inner / 2 + size * 0.35)
        parts.append(Text(at=at_middle, words=words, size=size, anchor="middle", colour=on_scale(value), title=title))
    return parts


def _hatched(box: tuple[float, float, float], title: str) -> list[Part]:
    """Slanted lines in a cell: no colour of the scale, and told apart without colour."""
    x, y, side = box
    inner = side - 1
    parts: list[Part] = [Rect(x=x, y=y, width_px=inner, height_px=inner, fill="ground", stroke="line", title=title)]
    for share in (-0.5, 0.0, 0.5):
        first, last = max(0.0, share), min(1.0, 1 + share)
        start = (x + first * inner, y + inner - (first - share) * inner)
        parts.append(Line(start=start, end=(x + last * inner, y + inner - (last - share) * inner), colour="quiet"))
    return parts


def _short(value: float) -> str:
    """Two decimals without the leading 0, to fit a cell: ``.83``, ``-.12``, ``1``."""
    text = f"{value:.2f}"
    if text in {"1.00", "-1.00"}:
        return text[:-3]
    text = text.replace("0.", ".", 1)
    return "0" if text in {".00", "-.00"} else text


def _legend(table: Matrix, words: Words, box: tuple[float, float, float]) -> list[Part]:
    x, y, room = box
    step = _BAR_PX / _BAR_STEPS
    parts: list[Part] = [
        Rect(x=x + number * step, y=y, width_px=step, height_px=12, fill=scale(number / 10 - 1))
        for number in range(_BAR_STEPS)
    ]
    for value, anchor in ((-1, "start"), (0, "middle"), (1, "end")):
        at = (x + (value + 1) / 2 * _BAR_PX, y + 27)
        parts.append(label(at, str(value), 40, anchor="start" if anchor == "start" else "middle", colour="quiet"))
    after = x + _BAR_PX + 22
    parts += _hatched((after, y - 1, 15), "")
    parts.append(Text(at=(after + 20, y + 10), words=NONE, colour="quiet"))
    count = "" if table.n is None else f"; n {table.n:,}"
    parts.append(label((after + 50, y + 10), words.axis + count, room - (after + 50 - x), colour="quiet"))
    return parts


def _said(table: Matrix) -> str:
    """The strongest pairs in words; the table has the rest."""
    pairs = sorted(
        (
            (value, table.names[row], table.names[column])
            for row in range(len(table.names))
            for column in range(row)
            if (value := table.values[row][column]) is not None
        ),
        key=lambda pair: -abs(pair[0]),
    )
    missing = sum(value is None for row in table.values for value in row)
    told = ", ".join(f"{one} and {other} {value:.2f}" for value, one, other in pairs[:8])
    return (told or "no pair") + (f"; {missing} cells {NONE}" if missing else "")
