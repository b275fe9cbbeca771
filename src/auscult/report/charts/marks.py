"""What charts share: axes, values, rows, and how series differ (colour, mark and dash together)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from auscult.errors import TooLarge
from auscult.report.drawing import (
    SERIES,
    Circle,
    DrawnShape,
    Line,
    Point,
    Polygon,
    Rect,
    Text,
    TextAnchor,
    fitted,
    plain,
    scale,
    text_width,
)

BAR_PX: Final = 210.0
"""Width of a ``scale_bar``."""
_BAR_STEPS: Final = 21
_ROUND = (1.0, 2.0, 2.5, 5.0, 10.0)
_LEAST_SPAN = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """A straight map from numbers to pixels."""

    low: float  # number at `first_px`
    high: float  # number at `last_px`; above `low`
    first_px: float  # place of the low end
    last_px: float  # place of the high end; may be the smaller one

    def at(self, number: float) -> float:
        """Pixel position of a number; clipped at the edge."""
        share = (min(max(number, self.low), self.high) - self.low) / (self.high - self.low)
        return self.first_px + share * (self.last_px - self.first_px)


@dataclass(frozen=True, slots=True)
class Ticks:
    """Round numbers along a scale and how they are printed."""

    at: tuple[float, ...]
    words: tuple[str, ...]

    @property
    def ends(self) -> tuple[float, float]:
        """The first and the last."""
        return self.at[0], self.at[-1]


def ticks(numbers: Iterable[float]) -> Ticks:
    """About six round numbers, evenly apart, that span some numbers and 0; none gives 0 to 1."""
    data = list(numbers) or [1.0]
    low, high = min(0.0, *data), max(0.0, *data)
    if high - low <= max(abs(low), abs(high)) * _LEAST_SPAN:
        low, high = low - (abs(low) or 1.0) / 2, high + (abs(high) or 1.0) / 2
    step = _step((high - low) / 5)
    first, last = math.floor(low / step + 1e-6), math.ceil(high / step - 1e-6)
    values = tuple(count * step for count in range(first, max(last, first + 1) + 1))
    return Ticks(values, tuple(_printed(value, step) for value in values))


def _step(least: float) -> float:
    unit: float = 10.0 ** math.floor(math.log10(least))
    return unit * next(factor for factor in _ROUND if factor * unit >= least * (1 - 1e-9))


def _printed(number: float, step: float) -> str:
    digits = max(0, -math.floor(math.log10(step) + 1e-9))
    if digits > 4 or step >= 1e6:
        return f"{number:.3g}"
    if round(step * 10**digits, 6) % 1:
        digits += 1  # steps of 2.5
    text = f"{number:.{digits}f}"
    return text if float(text) else text.removeprefix("-")


NONE: Final = "n/a"
"""What is printed for a number that does not exist."""

MAX_MODELS: Final = 24
MAX_TYPES: Final = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartEstimate:
    """A number with its interval, or the lack of one."""

    value: float | None = None  # the number; None where it is Undefined. It is never drawn as 0
    low: float | None = None  # lower end of the interval; None for none
    high: float | None = None  # upper end
    n: int | None = None  # what it was computed over; None where that has no count
    # of a number that was looked for up to some end: that end, where the upper end of the interval (`high` None), or
    # the number itself (`value` None), lies above it
    beyond: float | None = None

    def __post_init__(self) -> None:
        """Check that the numbers belong together."""
        numbers = [number for number in (self.value, self.low, self.high, self.beyond) if number is not None]
        if not all(math.isfinite(number) for number in numbers):
            raise ValueError(f"{self}: a number that is not finite; Undefined is value=None")
        if self.beyond is not None:
            if self.high is not None or max(numbers) > self.beyond:
                raise ValueError(f"{self}: above its open end is no number")
            return
        if (self.low is None) != (self.high is None) or (self.value is None and self.low is not None):
            raise ValueError(f"{self}: an interval has two ends and a value")
        if self.low is not None and self.high is not None and self.low > self.high:
            raise ValueError(f"{self}: low is above high")

    @property
    def numbers(self) -> tuple[float, ...]:
        """Value and ends, those that exist."""
        return tuple(number for number in (self.value, self.low, self.high) if number is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """The words around a chart."""

    axis: str  # what the numbers are, with unit and direction, for example `J&F, higher is better`
    heading: str = ""  # drawn above the chart; empty where the page has a caption
    digits: int = 2  # decimals of printed numbers


def printed(number: float | None, digits: int = 2) -> str:
    """A number as text; more decimals where it would read as 0, ``n/a`` where there is none."""
    if number is None:
        return NONE
    text = f"{number:.{digits}f}"
    if number and not float(text):
        text = f"{number:.1g}" if abs(number) >= 1e-4 else f"{number:.1e}"
    return text.removeprefix("-") if not float(text) else text


def estimate_text(estimate: ChartEstimate, digits: int = 2) -> str:
    """A number with its interval as text, ``0.71 [0.68, 0.74]`` or, with an open end, ``4.4 [3.9, above 5]``."""
    if estimate.beyond is not None:
        end = f"above {estimate.beyond:g}"
        value = end if estimate.value is None else printed(estimate.value, digits)
        if estimate.low is None:
            return value if estimate.value is None else f"{value} [{end}, {end}]"
        return f"{value} [{printed(estimate.low, digits)}, {end}]"
    if estimate.low is None or estimate.high is None:
        return printed(estimate.value, digits)
    return f"{printed(estimate.value, digits)} [{printed(estimate.low, digits)}, {printed(estimate.high, digits)}]"


def with_count(estimate: ChartEstimate, digits: int = 2) -> str:
    """``estimate_text`` and the count."""
    return estimate_text(estimate, digits) + ("" if estimate.n is None else f", n {estimate.n:,}")


def counts(estimates: Iterable[ChartEstimate]) -> str:
    """How many cases numbers are over, ``n 312`` or ``n 300 to 312``; empty where unknown."""
    sizes = sorted({estimate.n for estimate in estimates if estimate.n is not None})
    if not sizes:
        return ""
    return f"n {sizes[0]:,}" if len(sizes) == 1 else f"n {sizes[0]:,} to {sizes[-1]:,}"


def check_size(what: str, rows: Sequence[object], most: int) -> None:
    """Refuse more than a chart can show."""
    if len(rows) > most:
        raise TooLarge(
            f"a chart of {len(rows):,} {what}",
            expected=f"at most {most}",
            hint="draw a part of them, or read the table",
        )


_DASHES: tuple[tuple[float, ...], ...] = ((), (7, 4), (2, 3), (9, 3, 2, 3))
_SHAPES: tuple[tuple[Point, ...], ...] = (
    (),
    ((-3.7, -3.7), (3.7, -3.7), (3.7, 3.7), (-3.7, 3.7)),
    ((0, -5), (4.8, 3.7), (-4.8, 3.7)),
    ((0, -5.2), (5.2, 0), (0, 5.2), (-5.2, 0)),
)
_CAP_PX = 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Style:
    """How one series is drawn."""

    colour: str  # name in the palette
    shape: int  # number of its mark: circle, square, triangle, diamond
    hollow: bool  # the mark is an outline
    dash: tuple[float, ...]  # of its line


def style_of(number: int) -> Style:
    """The style of a series by its index, from 0; no two of the first 24 are the same."""
    turn = number // SERIES
    return Style(
        colour=f"s{number % SERIES}",
        shape=(number + turn) % 4,
        hollow=(number // 4 + turn) % 2 == 1,
        dash=_DASHES[(number + turn) % 4],
    )


def mark(at: Point, style: Style, *, title: str = "", size: float = 1.0) -> DrawnShape:
    """The mark of a series at a point."""
    fill, stroke = ("ground" if style.hollow else style.colour), style.colour
    if style.shape == 0:
        return Circle(centre=at, radius=4.2 * size, fill=fill, stroke=stroke, width=1.4, title=title)
    corners = tuple((at[0] + x * size, at[1] + y * size) for x, y in _SHAPES[style.shape])
    return Polygon(points=corners, fill=fill, stroke=stroke, width=1.4, title=title)


def cross(at: Point, colour: str, *, title: str = "") -> tuple[DrawnShape, DrawnShape]:
    """A cross, for a point that is marked on a line."""
    (x, y), reach = at, 5.0
    return (
        Line(start=(x - reach, y - reach), end=(x + reach, y + reach), colour=colour, width=2.2, title=title),
        Line(start=(x - reach, y + reach), end=(x + reach, y - reach), colour=colour, width=2.2, title=title),
    )


def upright_whisker(x: float, ends: tuple[float, float], colour: str) -> list[DrawnShape]:
    """An interval from top to bottom, with caps."""
    first, last = ends
    return [
        Line(start=(x, first), end=(x, last), colour=colour, width=1.2),
        *(Line(start=(x - _CAP_PX, y), end=(x + _CAP_PX, y), colour=colour, width=1.2) for y in ends),
    ]


def lying_whisker(y: float, ends: tuple[float, float], colour: str, *, cap: float = _CAP_PX) -> list[DrawnShape]:
    """An interval from left to right, with caps."""
    first, last = ends
    return [
        Line(start=(first, y), end=(last, y), colour=colour, width=1.2),
        *(Line(start=(x, y - cap), end=(x, y + cap), colour=colour, width=1.2) for x in ends),
    ]


def lying_arrow(y: float, ends: tuple[float, float], colour: str, *, capped: bool = True) -> list[DrawnShape]:
    """An interval from left to right whose right end is open: a cap, if any, and the head of an arrow."""
    first, last = ends
    head = ((last, y), (last - 7, y - 3.6), (last - 7, y + 3.6))
    cap = [Line(start=(first, y - _CAP_PX), end=(first, y + _CAP_PX), colour=colour, width=1.2)] if capped else []
    return [
        Line(start=(first, y), end=(last - 4, y), colour=colour, width=1.2),
        *cap,
        Polygon(points=head, fill=colour),
    ]


def label(
    at: Point, words: str, room_px: float, *, size: float = 12.0, anchor: TextAnchor = "start", colour: str = "ink"
) -> Text:
    """A text cut to the room there is; where it is cut the whole is its title."""
    short = fitted(words, size, room_px)
    return Text(at=at, words=short, size=size, anchor=anchor, title=_title(words, short), colour=colour)


def name_label(
    at: Point, name: str, room_px: float, *, size: float = 12.0, anchor: TextAnchor = "start", rotation: float = 0.0
) -> Text:
    """A name, which keeps its end where it has to be cut; the whole is its title then."""
    short = fitted(name, size, room_px, ends=True)
    return Text(at=at, words=short, size=size, anchor=anchor, rotation=rotation, title=_title(name, short))


def _title(words: str, text: str) -> str:
    """The words where they are not shown in full."""
    return "" if text == plain(words) else words


def heading(words: str, width_px: float) -> list[DrawnShape]:
    """The words above a chart; nothing for none."""
    if not words:
        return []
    short = fitted(words, 15.5, width_px)
    return [Text(at=(8, 22), words=short, size=14.5, bold=True, title=_title(words, short))]


def legend(names: Sequence[str], *, left: float, top: float, room_px: float) -> tuple[list[DrawnShape], float]:
    """Marks and names in columns."""
    columns = min(3, max(1, len(names)), max(1, int(room_px // 190)))
    width = room_px / columns
    parts: list[DrawnShape] = []
    for number, name in enumerate(names):
        x, y = left + (number % columns) * width, top + (number // columns) * 19 + 11
        parts.append(mark((x + 7, y - 4), style_of(number)))
        parts.append(name_label((x + 19, y), name, width - 30))
    return parts, -(-len(names) // columns) * 19.0


WIDTH = 720.0
_LEAST_NAME, _MOST_DETAIL = 190.0, 200.0
"""Names may take this much, and more as long as the scale keeps ``_LEAST_SCALE``."""

_LEAST_SCALE = 250.0
GAP = 12.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """Where the columns of a chart of rows are."""

    names_px: float  # width of the names
    x: Scale  # the scale of the numbers
    ticks: Ticks  # its round numbers
    detail_px: float  # left edge of the column of words at the right

    @property
    def detail_room(self) -> float:
        """Width of the column at the right."""
        return WIDTH - self.detail_px - 8


def columns(names: Sequence[str], details: Sequence[str], numbers: Iterable[float]) -> Columns:
    """Lay out names of rows, a scale that spans some numbers and 0, and words at the right."""
    right = min(_MOST_DETAIL, max((text_width(text, 11) for text in details), default=0.0) + 2)
    room = max(_LEAST_NAME, WIDTH - 8 - right - _LEAST_SCALE - 8 - GAP - 36)
    names_width = min(room, max((text_width(name, 12) for name in names), default=0.0) + 2)
    marks = ticks(numbers)
    detail_px = WIDTH - 8 - right
    last_px = detail_px - (24 if right > 2 else 16)
    scale = Scale(low=marks.ends[0], high=marks.ends[1], first_px=8 + names_width + GAP + 12, last_px=last_px)
    return Columns(names_px=8 + names_width, x=scale, ticks=marks, detail_px=detail_px)


def frame(columns: Columns, words: Words, rows: tuple[float, float]) -> list[DrawnShape]:
    """Upright grid lines with their numbers at the foot, and the axis' words."""
    top, foot = rows
    parts: list[DrawnShape] = []
    for number, text in zip(columns.ticks.at, columns.ticks.words, strict=True):
        x = columns.x.at(number)
        colour = "quiet" if number == 0 else "line"
        parts.append(Line(start=(x, top), end=(x, foot), colour=colour, width=1.3 if number == 0 else 1))
        parts.append(Text(at=(x, foot + 16), words=text, anchor="middle", colour="quiet"))
    middle = (columns.x.first_px + columns.x.last_px) / 2
    room = 2 * min(middle, WIDTH - middle) - 16
    parts.append(label((middle, foot + 36), words.axis, room, anchor="middle", colour="quiet"))
    return parts


def pointed(
    estimate: ChartEstimate, columns: Columns, at: tuple[float, int, str], *, digits: int = 2
) -> list[DrawnShape]:
    """A mark with its whisker in a row, or ``n/a`` at the left edge of the scale."""
    y, number, words = at
    style, title = style_of(number), f"{words}: {with_count(estimate, digits)}"
    if estimate.value is None:
        x = columns.x.first_px
        return [
            mark((x + 2, y), style, size=0.7, title=title),
            Text(at=(x + 9, y + 3.5), words=NONE, size=10, colour=style.colour, title=title),
        ]
    parts: list[DrawnShape] = []
    if estimate.low is not None and estimate.high is not None:
        parts = lying_whisker(y, (columns.x.at(estimate.low), columns.x.at(estimate.high)), style.colour)
    return [*parts, mark((columns.x.at(estimate.value), y), style, title=title)]


def scale_bar(x: float, y: float) -> list[DrawnShape]:
    """The colours of values from -1 to 1 side by side, for a legend; its upper left corner is given."""
    step = BAR_PX / _BAR_STEPS
    return [
        Rect(x=x + number * step, y=y, width_px=step, height_px=12, fill=scale(number / 10 - 1))
        for number in range(_BAR_STEPS)
    ]
