"""Drawings: charts as values of lines and words, and the renderers that make SVG and PNG of the same geometry.

Colours have names, each with a tone for a light and one for a dark page. The eight colours of series differ in
lightness as well as in hue, but no drawing relies on colour alone: marks and dashes tell series apart too. The
diverging scale runs from orange over grey to blue, which people who confuse red and green can read. Each step of it has
a colour for the text on it, the one of two that has the higher contrast.

Units are pixels of the drawing, x to the right, y downwards, angles clockwise in degrees. Text stands on its baseline.

Widths are the larger of those of two fonts that drawings meet, one narrow and one wide, so that a label that fits by
this measure fits in a browser without the first font too, and in a picture.

The font is the one that comes with Pillow, so that a picture is the same on every machine. It has the characters of
ASCII and few others: letters with accents lose them here (SVG keeps them), what has no likeness is a box.

No script, no reference to anything outside. Words come from strangers: they are stripped of control characters and
escaped.

A chart is a pure function to a ``Drawing``; what becomes of it is decided where it is shown::

    to_svg(drawing)      a file that stands alone, light
    to_markup(drawing)   an element of a page, light or dark as the page
    to_png(drawing)      a picture, light
    to_picture(drawing)  the same as an array, to put other pictures into
"""

from __future__ import annotations

import io
import itertools
import math
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from html import escape
from itertools import pairwise
from typing import Final, Literal, TypeAlias

import numpy as np
from markupsafe import Markup
from PIL import Image, ImageDraw, ImageFont

from auscult.errors import TooLarge
from auscult.types import Frame

SERIES: Final = 8
"""How many colours of series there are: ``s0`` to ``s7``."""

SCALE_STEPS: Final = 10
"""Steps of the diverging scale on either side of its middle: ``scale-10`` to ``scale10``."""

_NAMES = (
    *("ground", "ink", "quiet", "line", "faint", "accent"),
    *("a-accept", "a-minor_revision", "a-major_revision", "a-reject", "a-undecided", "a-reject-ink"),
    *(f"s{number}" for number in range(SERIES)),
)
"""Names of the colours; those of actions are the page's, as ``report.css`` has them."""

# fmt: off
_LIGHT = (
    "#ffffff", "#1b1f23", "#5a6168", "#d9dad4", "#eeeeea", "#1f5aa8",
    "#1f9d7d", "#efce52", "#e58a2e", "#b8370f", "#8a9097", "#ab2f0a",
    "#1f5aa8", "#b8370f", "#1f8d6d", "#7a4fb5", "#8a6d00", "#a3246f", "#4d5963", "#0f7f93",
)
_DARK = (
    "#1c2024", "#e7e7e2", "#a2a9b0", "#343a40", "#262b30", "#7fb2f5",
    "#2bab89", "#efd25f", "#ee9743", "#dd5428", "#8a9097", "#ff8f69",
    "#7fb2f5", "#ff8f69", "#56cfae", "#bd9cf0", "#efd25f", "#ee86c2", "#b4bcc4", "#66cfe0",
)
# fmt: on
_LIGHT_ENDS = "#a8470a", "#f1f0ec", "#1f5aa8"
_DARK_ENDS = "#f09a5c", "#2b3137", "#6fa8f3"
_ON_LIGHT, _ON_DARK = "#14181c", "#ffffff"


def scale(value: float) -> str:
    """The name of the diverging scale's colour for a value in -1..1; what is outside takes the end's."""
    return f"scale{round(max(-1.0, min(1.0, value)) * SCALE_STEPS)}"


def on_scale(value: float) -> str:
    """The name of the colour of text on ``scale(value)``."""
    return "on-" + scale(value)


def contrast(first: str, second: str) -> float:
    """Contrast of two colours ``#rrggbb``, 1..21, as WCAG 2 defines it."""
    light, dark = sorted((_luminance(first), _luminance(second)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def rgb(colour: str) -> tuple[int, int, int]:
    """``#rrggbb`` as three numbers, 0..255."""
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def _luminance(colour: str) -> float:
    parts = [value / 255 for value in rgb(colour)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _mixed(first: str, second: str, share: float) -> str:
    pairs = zip(rgb(first), rgb(second), strict=True)
    return "#" + "".join(f"{round(start + (end - start) * share):02x}" for start, end in pairs)


def _steps(ends: tuple[str, str, str]) -> dict[str, str]:
    low, middle, high = ends
    colours = {}
    for step in range(-SCALE_STEPS, SCALE_STEPS + 1):
        colour = _mixed(middle, low if step < 0 else high, abs(step) / SCALE_STEPS)
        colours[f"scale{step}"] = colour
        colours[f"on-scale{step}"] = max((_ON_LIGHT, _ON_DARK), key=partial(contrast, colour))
    return colours


LIGHT: Final[dict[str, str]] = {**dict(zip(_NAMES, _LIGHT, strict=True)), **_steps(_LIGHT_ENDS)}
"""Name to ``#rrggbb`` on a white page and on paper."""

DARK: Final[dict[str, str]] = {**dict(zip(_NAMES, _DARK, strict=True)), **_steps(_DARK_ENDS)}
"""Name to ``#rrggbb`` on a dark page; the same names."""


Point: TypeAlias = tuple[float, float]
TextAnchor: TypeAlias = Literal["start", "middle", "end"]

MAX_SIDE_PX: Final = 12_000
MAX_AREA_PX: Final = 16_000_000
MAX_PARTS: Final = 40_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A straight line."""

    start: Point  # one end
    end: Point  # the other
    colour: str  # name in the palette
    width: float = 1.0  # in pixels
    dash: tuple[float, ...] = ()  # lengths drawn and left out in turn; empty for an unbroken line
    title: str = ""  # words that a page shows on pointing at it
    link: str = ""  # place of the same page, `#name`, that a click leads to; empty for none


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
    """A closed shape."""

    points: tuple[Point, ...]  # its corners
    fill: str = ""  # name of its colour; empty for none
    stroke: str = ""  # name of the outline's colour; empty for none
    width: float = 1.0  # of the outline, in pixels
    opacity: float = 1.0  # of the fill, 0..1
    title: str = ""  # words that a page shows on pointing at it


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
    """A circle, with the other attributes of ``Polygon`` and the link of ``Line``."""

    centre: Point
    radius: float
    fill: str = ""
    stroke: str = ""
    width: float = 1.0
    opacity: float = 1.0
    title: str = ""
    link: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """One line of text."""

    at: Point  # where its baseline is anchored
    words: str  # as they come; control characters are left out when it is drawn
    size: float = 12.0  # of the letters, in pixels
    colour: str = "ink"  # name in the palette
    anchor: TextAnchor = "start"  # which end of the text is at `at`
    rotation: float = 0.0  # clockwise about `at`, in degrees
    bold: bool = False  # drawn stronger
    title: str = ""  # the words in full where `words` is cut


DrawnShape: TypeAlias = Line | Polyline | Polygon | Rect | Circle | Text


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    """A picture of lines and words; TooLarge for too many parts or pixels, ValueError for colours of no palette."""

    size: tuple[int, int]  # width and height in pixels
    parts: tuple[DrawnShape, ...]  # in the order they are drawn
    title: str  # what it is, in a few words
    words: str = ""  # what it shows, for those who cannot see it

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


def points_of(part: DrawnShape) -> tuple[Point, ...]:
    """The points of a part: ends, corners, centre or anchor."""
    match part:
        case Line():
            return part.start, part.end
        case Polyline() | Polygon():
            return part.points
        case Rect():
            return _corners(part)
        case Circle():
            return (part.centre,)
        case Text():
            return (part.at,)


def colours_of(part: DrawnShape) -> tuple[str, ...]:
    """The names of the colours a part uses."""
    if isinstance(part, Line | Polyline | Text):
        return (part.colour,)
    return tuple(name for name in (part.fill, part.stroke) if name)


def _check(part: DrawnShape) -> None:
    for name in colours_of(part):
        if name not in LIGHT:
            raise ValueError(f"{name!r} is not a colour of the palette")
    if not all(math.isfinite(value) and abs(value) <= 4 * MAX_SIDE_PX for value in _numbers(part)):
        raise ValueError(f"a {type(part).__name__} with a number that is not finite or far outside")
    if isinstance(part, Line | Polyline) and any(length <= 0 for length in part.dash):
        raise ValueError(f"dash {part.dash}: lengths are above 0")
    if isinstance(part, Line | Circle) and part.link and not part.link.startswith("#"):
        raise ValueError(f"link {part.link[:40]!r}: a link stays on its page and begins with #")
    if isinstance(part, Rect) and min(part.width_px, part.height_px) < 0:
        raise ValueError("a rectangle's sides are 0 or more")


def _numbers(part: DrawnShape) -> Iterator[float]:
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


LONGEST = 400
"""Characters of a text that are kept."""

_FIRST, _LAST = " ", "~"
# fmt: off
_WIDTHS = (
    32, 41, 46, 84, 64, 96, 78, 28, 40, 40, 56, 84, 32, 37, 32, 34, 64, 64, 64, 64, 64, 64, 64, 64,
    64, 64, 34, 34, 84, 84, 84, 54, 100, 69, 69, 70, 77, 64, 58, 78, 76, 30, 55, 66, 58, 87, 75, 79,
    61, 79, 70, 64, 62, 74, 69, 99, 69, 62, 69, 40, 34, 40, 84, 50, 50, 62, 64, 55, 64, 62, 36, 64,
    64, 28, 28, 58, 28, 98, 64, 62, 64, 64, 42, 53, 40, 64, 60, 82, 60, 60, 53, 64, 34, 64, 84,
)
# fmt: on
"""Width of each printable ASCII character, in hundredths of the letters' size."""

_OTHER, _WIDE = 0.70, 1.05
_DROPPED = frozenset({"Cf", "Cs", "Co", "Cn"})
_SPACES = frozenset({"Cc", "Zl", "Zp"})
_MARKS = frozenset({"Mn", "Me"})


def plain(words: str, *, limit: int = LONGEST) -> str:
    """The words on one line, without characters that control, turn or stack text, cut after ``limit`` characters.

    What is left may stand in XML; ``<`` and ``&`` still have to be escaped.
    """
    characters = []
    for before, character in pairwise(" " + words[: 4 * limit]):
        kind = unicodedata.category(character)
        stacked = kind in _MARKS and unicodedata.category(before) in _MARKS
        if kind not in _DROPPED and not stacked:
            characters.append(" " if kind in _SPACES else character)
    text = " ".join("".join(characters).split())
    return text if len(text) <= limit else text[: limit - 1] + "…"


def text_width(words: str, size: float) -> float:
    """Width of a line of text in pixels, rather too large than too small."""
    return sum(_width(character) for character in plain(words)) * size


def fitted(words: str, size: float, width_px: float, *, ends: bool = False) -> str:
    """The words, or as many of their characters as fit ``width_px`` with an ellipsis; never less than one character.

    With ``ends`` the middle is left out, so that names that only end differently stay apart; else the end.
    """
    text = plain(words)
    if text_width(text, size) <= width_px:
        return text
    room = width_px / size - _width("…")
    last = _count(text[::-1], 0.4 * room) if ends else 0
    tail = text[len(text) - last :].lstrip()
    head = text[: max(1, _count(text[: len(text) - last], room - sum(map(_width, tail))))]
    return f"{head.rstrip()}…{tail}"


def _count(text: str, room: float) -> int:
    """How many characters from the left fit into a room, in sizes of the letters."""
    for count, character in enumerate(text):
        room -= _width(character)
        if room < 0:
            return count
    return len(text)


def _width(character: str) -> float:
    if _FIRST <= character <= _LAST:
        return _WIDTHS[ord(character) - ord(_FIRST)] / 100
    if character == "…":
        return 1.0
    if unicodedata.category(character) in _MARKS:
        return 0.0
    return _WIDE if unicodedata.east_asian_width(character) in {"W", "F"} else _OTHER


MAX_PIXELS: Final = 64_000_000
_ANCHORS: Final = {"start": "ls", "middle": "ms", "end": "rs"}
_FINE = 4
_KEPT = frozenset("…°±·©«»‘’“”™")
_LIKE: Final = {"–": "-", "—": "-", "−": "-", "×": "x", "ß": "ss", "ø": "o", "ł": "l", "æ": "ae", "µ": "u"}


def to_png(drawing: Drawing, *, scale: int = 2) -> bytes:
    """The drawing as the bytes of an RGB PNG file."""
    file = io.BytesIO()
    Image.fromarray(to_picture(drawing, scale=scale)).save(file, format="PNG", optimize=True)
    return file.getvalue()


def to_picture(drawing: Drawing, *, scale: int = 1) -> Frame:
    """The drawing as an array, uint8 RGB (height * scale, width * scale, 3); errors as ``to_png``."""
    if scale not in range(1, 5):
        raise ValueError(f"scale {scale}: expected 1 to 4")
    width, height = (side * scale for side in drawing.size)
    if width * height > MAX_PIXELS:
        raise TooLarge(
            f"a picture of {width} x {height} pixels", expected=f"at most {MAX_PIXELS:,}", hint="use a smaller scale"
        )
    fine = _fineness(width * height, scale)
    image = Image.new("RGB", (width * fine, height * fine), rgb(LIGHT["ground"]))
    pen = _Pen(image, scale * fine)
    for part in drawing.parts:
        pen.draw(part)
    return np.asarray(image.reduce(fine) if fine > 1 else image, dtype=np.uint8)


def _fineness(pixels: int, scale: int) -> int:
    """How many times finer than the picture is drawn, within the bound on pixels."""
    factor = max(2, _FINE // scale)
    return next((fine for fine in range(factor, 1, -1) if pixels * fine * fine <= MAX_PIXELS), 1)


class _Pen:
    """Draws parts on an image that is ``zoom`` times the drawing."""

    def __init__(self, image: Image.Image, zoom: int) -> None:
        self._image = image
        self._zoom = zoom
        self._ink = ImageDraw.Draw(image, "RGBA")
        self._fonts: dict[float, ImageFont.FreeTypeFont | ImageFont.ImageFont] = {}

    def draw(self, part: DrawnShape) -> None:
        match part:
            case Line():
                self._stroke([part.start, part.end], part)
            case Polyline():
                self._stroke(part.points, part)
            case Polygon() | Rect():
                self._polygon(part)
            case Circle():
                self._circle(part)
            case Text():
                self._text(part)

    def _stroke(self, points: Sequence[Point], part: Line | Polyline) -> None:
        for piece in _dashes(points, part.dash) if part.dash else [points]:
            self._line(piece, part.colour, part.width)

    def _line(self, points: Sequence[Point], colour: str, width: float) -> None:
        if len(points) > 1:
            broad = max(1, round(width * self._zoom))
            self._ink.line(self._scaled(points), fill=rgb(LIGHT[colour]), width=broad, joint="curve")

    def _polygon(self, part: Polygon | Rect) -> None:
        if isinstance(part, Rect):
            self._rect(part)
        elif part.fill and len(part.points) > 2:
            self._ink.polygon(self._scaled(part.points), fill=_rgba(part.fill, part.opacity))
        if part.stroke:
            points = _corners(part) if isinstance(part, Rect) else part.points
            self._line([*points, *points[:2]], part.stroke, part.width)

    def _rect(self, part: Rect) -> None:
        if part.fill and part.width_px > 0 and part.height_px > 0:
            (left, top), _, (right, bottom), _ = self._scaled(_corners(part))
            box = (left, top, max(left, right - 1), max(top, bottom - 1))  # Pillow counts the last pixel in
            self._ink.rectangle(box, fill=_rgba(part.fill, part.opacity))

    def _circle(self, part: Circle) -> None:
        ((x, y),) = self._scaled([part.centre])
        if part.fill:
            reach = part.radius * self._zoom
            self._ink.ellipse((x - reach, y - reach, x + reach, y + reach), fill=_rgba(part.fill, part.opacity))
        if part.stroke:
            reach = (part.radius + part.width / 2) * self._zoom
            broad = max(1, round(part.width * self._zoom))
            box = (x - reach, y - reach, x + reach, y + reach)
            self._ink.ellipse(box, outline=rgb(LIGHT[part.stroke]), width=broad)

    def _text(self, part: Text) -> None:
        words = "".join(map(_drawable, plain(part.words)))
        if not words:
            return
        ((x, y),) = self._scaled([part.at])
        anchor, colour = _ANCHORS[part.anchor], rgb(LIGHT[part.colour])
        font, strong = self._font(part.size), round(part.size * self._zoom / 60) if part.bold else 0
        if not part.rotation:
            self._ink.text((x, y), words, fill=colour, font=font, anchor=anchor, stroke_width=strong)
            return
        reach = math.ceil(font.getlength(words) + 2 * part.size * self._zoom)
        stencil = Image.new("L", (2 * reach, 2 * reach))
        ImageDraw.Draw(stencil).text((reach, reach), words, fill=255, font=font, anchor=anchor, stroke_width=strong)
        turned = stencil.rotate(-part.rotation, resample=Image.Resampling.BICUBIC)
        self._image.paste(colour, (round(x) - reach, round(y) - reach), turned)

    def _font(self, size: float) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
        if size not in self._fonts:
            self._fonts[size] = ImageFont.load_default(size * self._zoom)
        return self._fonts[size]

    def _scaled(self, points: Sequence[Point]) -> list[Point]:
        return [(x * self._zoom, y * self._zoom) for x, y in points]


def _corners(part: Rect) -> tuple[Point, Point, Point, Point]:
    right, bottom = part.x + part.width_px, part.y + part.height_px
    return (part.x, part.y), (right, part.y), (right, bottom), (part.x, bottom)


def _drawable(character: str) -> str:
    """The character, or one that is alike where the font has none."""
    if character.isascii() or character in _KEPT:
        return character
    bare = "".join(letter for letter in unicodedata.normalize("NFKD", character) if letter.isascii())
    return _LIKE.get(character, bare or character)


def _rgba(name: str, opacity: float) -> tuple[int, int, int, int]:
    return (*rgb(LIGHT[name]), round(255 * opacity))


def _dashes(points: Sequence[Point], dash: tuple[float, ...]) -> Iterator[list[Point]]:
    """The pieces of a line that are drawn; the pattern goes on round corners, as in SVG."""
    lengths = itertools.cycle(dash if len(dash) % 2 == 0 else dash * 2)
    left, visible = next(lengths), True
    piece = [points[0]]
    for start, end in itertools.pairwise(points):
        length = math.dist(start, end)
        done = 0.0
        while length - done > left:
            done += left
            share = done / length
            point = (start[0] + (end[0] - start[0]) * share, start[1] + (end[1] - start[1]) * share)
            if visible:
                yield [*piece, point]
            left, visible, piece = next(lengths), not visible, [point]
        left -= length - done
        piece.append(end)
    if visible:
        yield piece


_FONT = "&quot;Helvetica Neue&quot;, Arial, &quot;Liberation Sans&quot;, system-ui, sans-serif"
_WIDE_PX = 620
_WORDS = 4000

_Paint: TypeAlias = Callable[[str, str], str]


def to_svg(drawing: Drawing) -> str:
    """The drawing as a file of its own, in the light colours on white; UTF-8 when written."""
    width, height = drawing.size
    return "".join(
        (
            '<svg xmlns="http://www.w3.org/2000/svg" ',
            f'width="{width}" height="{height}" viewBox="0 0 {width} {height}" ',
            f'role="img" aria-label="{_alt_text(drawing)}" font-family="{_FONT}">',
            f"<title>{_safe(drawing.title)}</title>",
            f"<desc>{_safe(drawing.words, limit=_WORDS)}</desc>" if drawing.words else "",
            f'<rect width="{width}" height="{height}" fill="{LIGHT["ground"]}"/>',
            f"<g>{''.join(_element(part, _fixed) for part in drawing.parts)}</g></svg>\n",
        )
    )


def to_markup(drawing: Drawing, *, kind: str = "") -> Markup:
    """The drawing as an element of a page, with its links, on the page's ground.

    Its colours follow ``prefers-color-scheme`` on a screen and are the light ones on paper. ``kind`` is a class for the
    page's rules: such a chart is as wide as its panel. Without one a drawing is at most of its own size; one wider than
    620 px has the class ``wide`` and takes a whole row of a grid of panels.
    """
    width, height = drawing.size
    classes, style = f"drawing chart {kind}", ""
    if not kind:
        wide = width > _WIDE_PX
        classes = "drawing wide" if wide else "drawing"
        style = f' style="max-width:{width}px{f";min-width:{_WIDE_PX}px" if wide else ""}"'
    return Markup(  # noqa: S704 - every word in it is escaped
        f'<svg class="{classes}" viewBox="0 0 {width} {height}" role="img"{style} '
        f'aria-label="{_alt_text(drawing)}" font-family="{_FONT}">'
        f"{_style(drawing)}<g>{''.join(map(_linked, drawing.parts))}</g></svg>"
    )


def _linked(part: DrawnShape) -> str:
    """A part in the page's colours, within its link where it has one."""
    element = _element(part, _followed)
    link = part.link if isinstance(part, Line | Circle) else ""
    return f'<a href="{escape(link, quote=True)}" tabindex="-1">{element}</a>' if link else element


def _element(part: DrawnShape, paint: _Paint) -> str:
    match part:
        case Line():
            (x1, y1), (x2, y2) = part.start, part.end
            return _tag(
                "line",
                f'x1="{_short(x1)}" y1="{_short(y1)}" x2="{_short(x2)}" y2="{_short(y2)}" {_stroke(part, paint)}',
                part.title,
            )
        case Polyline():
            return _tag("polyline", f'points="{_points(part.points)}" fill="none" {_stroke(part, paint)}', part.title)
        case Polygon():
            return _tag("polygon", f'points="{_points(part.points)}" {_shape(part, paint)}', part.title)
        case Rect():
            position = f'x="{_short(part.x)}" y="{_short(part.y)}"'
            size = f'width="{_short(part.width_px)}" height="{_short(part.height_px)}"'
            return _tag("rect", f"{position} {size} {_shape(part, paint)}", part.title)
        case Circle():
            position = f'cx="{_short(part.centre[0])}" cy="{_short(part.centre[1])}" r="{_short(part.radius)}"'
            return _tag("circle", f"{position} {_shape(part, paint)}", part.title)
        case Text():
            return _text(part, paint)


def _text(part: Text, paint: _Paint) -> str:
    x, y = _short(part.at[0]), _short(part.at[1])
    turned = f' transform="rotate({_short(part.rotation)} {x} {y})"' if part.rotation else ""
    bold = ' font-weight="600"' if part.bold else ""
    title = f"<title>{_safe(part.title)}</title>" if part.title else ""
    return (
        f'<text x="{x}" y="{y}" font-size="{_short(part.size)}" text-anchor="{part.anchor}"{bold}{turned} '
        f"{paint(part.colour, '')}>{title}{_safe(part.words)}</text>"
    )


def _tag(name: str, attributes: str, title: str) -> str:
    return f"<{name} {attributes}><title>{_safe(title)}</title></{name}>" if title else f"<{name} {attributes}/>"


def _stroke(part: Line | Polyline, paint: _Paint) -> str:
    dash = f' stroke-dasharray="{" ".join(map(_short, part.dash))}"' if part.dash else ""
    return f'{paint("", part.colour)} stroke-width="{_short(part.width)}" stroke-linejoin="round"{dash}'


def _shape(part: Polygon | Rect | Circle, paint: _Paint) -> str:
    none = "" if part.fill else 'fill="none" '
    opacity = f' fill-opacity="{_short(part.opacity)}"' if part.opacity < 1 else ""
    line = f' stroke-width="{_short(part.width)}"' if part.stroke else ""
    return none + paint(part.fill, part.stroke) + opacity + line


def _fixed(fill: str, stroke: str) -> str:
    """Colours as they are."""
    colours = (("fill", fill), ("stroke", stroke))
    return " ".join(f'{attribute}="{LIGHT[name]}"' for attribute, name in colours if name)


def _followed(fill: str, stroke: str) -> str:
    """Colours by class, for the rules of ``_style``."""
    return f'class="{" ".join(f"{use}-{name}" for use, name in (("f", fill), ("s", stroke)) if name)}"'


def _style(drawing: Drawing) -> str:
    """The rules for the colours that the drawing uses; several drawings of a page may say the same."""
    names = sorted({name for part in drawing.parts for name in colours_of(part)})
    light = "".join(f"--k-{name}:{LIGHT[name]};" for name in names)
    dark = "".join(f"--k-{name}:{DARK[name]};" for name in names)
    used = "".join(
        f".drawing .f-{name}{{fill:var(--k-{name})}}.drawing .s-{name}{{stroke:var(--k-{name})}}" for name in names
    )
    return (
        "<style>.drawing{display:block;width:100%;height:auto}"
        ".panel:has(>.drawing.wide){grid-column:1/-1;overflow-x:auto}"
        f".drawing{{{light}}}@media screen and (prefers-color-scheme:dark){{.drawing{{{dark}}}}}{used}</style>"
    )


def _alt_text(drawing: Drawing) -> str:
    return _safe(f"{drawing.title}. {drawing.words}" if drawing.words else drawing.title, limit=_WORDS)


def _safe(words: str, *, limit: int = 400) -> str:
    return escape(plain(words, limit=limit), quote=True)


def _points(points: tuple[Point, ...]) -> str:
    return " ".join(f"{_short(x)},{_short(y)}" for x, y in points)


def _short(value: float) -> str:
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text
