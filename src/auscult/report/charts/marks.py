"""How series are told apart: colour, mark and dash together; whiskers, gaps, legends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from auscult.media.drawing import SERIES, Anchor, Circle, Line, Part, Point, Polygon, Text, fitted, plain

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
    """How one series is drawn.

    Attributes:
        colour: Name in the palette.
        shape: Number of its mark: circle, square, triangle, diamond.
        hollow: The mark is an outline.
        dash: Of its line.
    """

    colour: str
    shape: int
    hollow: bool
    dash: tuple[float, ...]


def style_of(number: int) -> Style:
    """The style of a series by its place, from 0; no two of the first 24 are the same."""
    turn = number // SERIES
    return Style(
        colour=f"s{number % SERIES}",
        shape=(number + turn) % 4,
        hollow=(number // 4 + turn) % 2 == 1,
        dash=_DASHES[(number + turn) % 4],
    )


def mark(at: Point, style: Style, *, title: str = "", size: float = 1.0) -> Part:
    """The mark of a series at a place."""
    fill, stroke = ("ground" if style.hollow else style.colour), style.colour
    if style.shape == 0:
        return Circle(centre=at, radius=4.2 * size, fill=fill, stroke=stroke, width=1.4, title=title)
    corners = tuple((at[0] + x * size, at[1] + y * size) for x, y in _SHAPES[style.shape])
    return Polygon(points=corners, fill=fill, stroke=stroke, width=1.4, title=title)


def cross(at: Point, colour: str, *, title: str = "", reach: float = 5.0) -> tuple[Part, Part]:
    """Two lines that cross at a place, for a point that is marked on a line."""
    x, y = at
    return (
        Line(start=(x - reach, y - reach), end=(x + reach, y + reach), colour=colour, width=2.2, title=title),
        Line(start=(x - reach, y + reach), end=(x + reach, y - reach), colour=colour, width=2.2, title=title),
    )


def upright_whisker(x: float, ends: tuple[float, float], colour: str) -> list[Part]:
    """An interval from top to bottom, with caps."""
    first, last = ends
    return [
        Line(start=(x, first), end=(x, last), colour=colour, width=1.2),
        *(Line(start=(x - _CAP_PX, y), end=(x + _CAP_PX, y), colour=colour, width=1.2) for y in ends),
    ]


def lying_whisker(y: float, ends: tuple[float, float], colour: str, *, cap: float = _CAP_PX) -> list[Part]:
    """An interval from left to right, with caps."""
    first, last = ends
    return [
        Line(start=(first, y), end=(last, y), colour=colour, width=1.2),
        *(Line(start=(x, y - cap), end=(x, y + cap), colour=colour, width=1.2) for x in ends),
    ]


def lying_arrow(y: float, ends: tuple[float, float], colour: str, *, capped: bool = True) -> list[Part]:
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
    at: Point, words: str, room_px: float, *, size: float = 12.0, anchor: Anchor = "start", colour: str = "ink"
) -> Text:
    """A text cut to the room there is; where it is cut the whole is its title."""
    shown = fitted(words, size, room_px)
    return Text(at=at, words=shown, size=size, anchor=anchor, title=_whole(words, shown), colour=colour)


def name_label(at: Point, name: str, room_px: float, *, anchor: Anchor = "start") -> Text:
    """A name, which keeps its end where it has to be cut; the whole is its title then."""
    shown = fitted(name, 12, room_px, ends=True)
    return Text(at=at, words=shown, anchor=anchor, title=_whole(name, shown))


def _whole(words: str, shown: str) -> str:
    """The words where they are not shown in full."""
    return "" if shown == plain(words) else words


def heading(words: str, width_px: float) -> list[Part]:
    """The words above a chart; nothing for none."""
    if not words:
        return []
    shown = fitted(words, 15.5, width_px)
    return [Text(at=(8, 22), words=shown, size=14.5, bold=True, title=_whole(words, shown))]


def legend(names: Sequence[str], *, left: float, top: float, room_px: float) -> tuple[list[Part], float]:
    """Marks and names in columns.

    Args:
        names: In the order of their styles.
        left: Where it begins.
        top: Where its first row begins.
        room_px: The width there is.

    Returns:
        The parts and the height they take.
    """
    columns = min(3, max(1, len(names)), max(1, int(room_px // 190)))
    wide = room_px / columns
    parts: list[Part] = []
    for number, name in enumerate(names):
        x, y = left + (number % columns) * wide, top + (number // columns) * 19 + 11
        parts.append(mark((x + 7, y - 4), style_of(number)))
        parts.append(name_label((x + 19, y), name, wide - 30))
    return parts, -(-len(names) // columns) * 19.0
