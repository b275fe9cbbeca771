"""A drawing as a value: lines, shapes and text at places, in colours with names. Renderers make files of it.

Units are pixels of the drawing, x to the right, y downwards, angles clockwise in degrees. Text stands on its baseline.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from auscult.errors import TooLarge
from auscult.media.drawing_palette import LIGHT

Point: TypeAlias = tuple[float, float]
Anchor: TypeAlias = Literal["start", "middle", "end"]

MAX_SIDE_PX: Final = 12_000
MAX_AREA_PX: Final = 16_000_000
MAX_PARTS: Final = 40_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A straight line.

    Attributes:
        start: One end.
        end: The other.
        colour: Name in the palette.
        width: In pixels.
        dash: Lengths drawn and left out in turn; empty for an unbroken line.
        title: Words that a page shows on pointing at it.
    """

    start: Point
    end: Point
    colour: str
    width: float = 1.0
    dash: tuple[float, ...] = ()
    title: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Polyline:
    """A line through points, with the attributes of ``Line``."""

    points: tuple[Point, ...]
    colour: str
    width: float = 1.5
    dash: tuple[float, ...] = ()
    title: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Polygon:
    """A closed shape.

    Attributes:
        points: Its corners.
        fill: Name of its colour; empty for none.
        stroke: Name of the outline's colour; empty for none.
        width: Of the outline, in pixels.
        opacity: Of the fill, 0..1.
        title: Words that a page shows on pointing at it.
    """

    points: tuple[Point, ...]
    fill: str = ""
    stroke: str = ""
    width: float = 1.0
    opacity: float = 1.0
    title: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rect:
    """An upright rectangle from its top left corner, with the other attributes of ``Polygon``."""

    x: float
    y: float
    width_px: float
    height_px: float
    fill: str = ""
    stroke: str = ""
    width: float = 1.0
    opacity: float = 1.0
    title: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Circle:
    """A circle, with the other attributes of ``Polygon``."""

    centre: Point
    radius: float
    fill: str = ""
    stroke: str = ""
    width: float = 1.0
    opacity: float = 1.0
    title: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """One line of text.

    Attributes:
        at: Where its baseline is anchored.
        words: As they come; control characters are left out when it is drawn.
        size: Of the letters, in pixels.
        colour: Name in the palette.
        anchor: Which end of the text is at ``at``.
        rotation: Clockwise about ``at``, in degrees.
        bold: Drawn stronger.
        title: The words in full where ``words`` is cut.
    """

    at: Point
    words: str
    size: float = 12.0
    colour: str = "ink"
    anchor: Anchor = "start"
    rotation: float = 0.0
    bold: bool = False
    title: str = ""


Part: TypeAlias = Line | Polyline | Polygon | Rect | Circle | Text


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    """A picture of lines and words.

    Attributes:
        size: Width and height in pixels.
        parts: In the order they are drawn.
        title: What it is, in a few words.
        words: What it shows, for those who cannot see it.

    Raises:
        TooLarge: More parts or pixels than a page or a picture can hold.
        ValueError: A colour that is not in the palette, or a number that is not finite.
    """

    size: tuple[int, int]
    parts: tuple[Part, ...]
    title: str
    words: str = ""

    def __post_init__(self) -> None:
        """Check the bounds."""
        width, height = self.size
        if min(self.size) < 1 or max(self.size) > MAX_SIDE_PX or width * height > MAX_AREA_PX:
            raise TooLarge(
                f"a drawing of {width} x {height} pixels",
                expected=f"1 to {MAX_SIDE_PX} pixels a side, {MAX_AREA_PX:,} in all",
                hint="draw fewer rows at once",
            )
        if len(self.parts) > MAX_PARTS:
            raise TooLarge(
                f"a drawing of {len(self.parts):,} parts",
                expected=f"at most {MAX_PARTS:,}",
                hint="draw fewer rows at once",
            )
        for part in self.parts:
            _check(part)


def points_of(part: Part) -> tuple[Point, ...]:
    """The places that make a part: ends, corners, centre or anchor."""
    match part:
        case Line():
            return part.start, part.end
        case Polyline() | Polygon():
            return part.points
        case Rect():
            right, bottom = part.x + part.width_px, part.y + part.height_px
            return (part.x, part.y), (right, part.y), (right, bottom), (part.x, bottom)
        case Circle():
            return (part.centre,)
        case Text():
            return (part.at,)


def colours_of(part: Part) -> tuple[str, ...]:
    """The names of the colours a part uses."""
    if isinstance(part, Line | Polyline | Text):
        return (part.colour,)
    return tuple(name for name in (part.fill, part.stroke) if name)


def _check(part: Part) -> None:
    for name in colours_of(part):
        if name not in LIGHT:
            raise ValueError(f"{name!r} is not a colour of the palette")
    if not all(math.isfinite(value) and abs(value) <= 4 * MAX_SIDE_PX for value in _numbers(part)):
        raise ValueError(f"a {type(part).__name__} with a number that is not finite or far outside")
    if isinstance(part, Line | Polyline) and any(length <= 0 for length in part.dash):
        raise ValueError(f"dash {part.dash}: lengths are above 0")
    if isinstance(part, Rect) and min(part.width_px, part.height_px) < 0:
        raise ValueError("a rectangle's sides are 0 or more")


def _numbers(part: Part) -> Iterator[float]:
    for point in points_of(part):
        yield from point
    match part:
        case Text():
            yield from (part.size, part.rotation)
        case Circle():
            yield from (part.radius, part.width, part.opacity)
        case Polygon() | Rect():
            yield from (part.width, part.opacity)
        case Line() | Polyline():
            yield from (part.width, *part.dash)
