"""What charts of lying rows share: the column of names, the scale above and below, the column of numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from auscult.media.drawing import Line, Part, Text, text_width
from auscult.report.charts.axes import Scale, Ticks, ticks
from auscult.report.charts.marks import label, lying_whisker, mark, style_of
from auscult.report.charts.values import NONE, Estimate, Words, with_count

WIDTH = 720.0
_LEAST_NAME, _MOST_SAID = 190.0, 200.0
"""Names may take this much, and more as long as the scale keeps ``_LEAST_SCALE``."""

_LEAST_SCALE = 250.0
GAP = 12.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """Where the columns of a chart of rows are.

    Attributes:
        names_px: Width of the names.
        x: The scale of the numbers.
        ticks: Its round numbers.
        said_px: Left edge of the column of words at the right.
    """

    names_px: float
    x: Scale
    ticks: Ticks
    said_px: float

    @property
    def said_room(self) -> float:
        """Width of the column at the right."""
        return WIDTH - self.said_px - 8


def columns(names: Sequence[str], said: Sequence[str], numbers: Iterable[float], *, zero: bool = True) -> Columns:
    """Lay out the columns.

    Args:
        names: Of the rows.
        said: Words at the right of the rows.
        numbers: What the scale has to span.
        zero: Span 0 too.
    """
    right = min(_MOST_SAID, max((text_width(text, 11) for text in said), default=0.0) + 2)
    room = max(_LEAST_NAME, WIDTH - 8 - right - _LEAST_SCALE - 8 - GAP - 36)
    wide = min(room, max((text_width(name, 12) for name in names), default=0.0) + 2)
    marks = ticks(numbers, zero=zero)
    said_px = WIDTH - 8 - right
    scale = Scale(
        low=marks.ends[0], high=marks.ends[1], first_px=8 + wide + GAP + 12, last_px=said_px - (24 if right > 2 else 16)
    )
    return Columns(names_px=8 + wide, x=scale, ticks=marks, said_px=said_px)


def frame(columns: Columns, words: Words, rows: tuple[float, float]) -> list[Part]:
    """Upright grid lines with their numbers at the foot, and the axis' words.

    Args:
        columns: From ``columns``.
        words: Around the chart.
        rows: Where the rows begin and end.
    """
    top, foot = rows
    parts: list[Part] = []
    for number, text in zip(columns.ticks.at, columns.ticks.words, strict=True):
        x = columns.x.at(number)
        colour = "quiet" if number == 0 else "line"
        parts.append(Line(start=(x, top), end=(x, foot), colour=colour, width=1.3 if number == 0 else 1))
        parts.append(Text(at=(x, foot + 16), words=text, anchor="middle", colour="quiet"))
    middle = (columns.x.first_px + columns.x.last_px) / 2
    room = 2 * min(middle, WIDTH - middle) - 16
    parts.append(label((middle, foot + 36), words.axis, room, anchor="middle", colour="quiet"))
    return parts


def pointed(one: Estimate, columns: Columns, place: tuple[float, int, str], *, digits: int = 2) -> list[Part]:
    """A mark with its whisker in a row, or ``n/a`` at the left edge of the scale.

    Args:
        one: The number.
        columns: From ``columns``.
        place: y, number of the style, words of the title.
        digits: Decimals in the title.
    """
    y, number, words = place
    style, title = style_of(number), f"{words}: {with_count(one, digits)}"
    if one.value is None:
        x = columns.x.first_px
        return [
            mark((x + 2, y), style, size=0.7, title=title),
            Text(at=(x + 9, y + 3.5), words=NONE, size=10, colour=style.colour, title=title),
        ]
    parts: list[Part] = []
    if one.low is not None and one.high is not None:
        parts = lying_whisker(y, (columns.x.at(one.low), columns.x.at(one.high)), style.colour)
    return [*parts, mark((columns.x.at(one.value), y), style, title=title)]
