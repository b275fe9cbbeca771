"""A drawing as a picture: the same geometry as its SVG, drawn larger than asked for and averaged, on white.

The font is the one that comes with Pillow, so that a picture is the same on every machine. It has the characters of
ASCII and few others: letters with accents lose them here (SVG keeps them), what has no likeness is a box.
"""

from __future__ import annotations

import io
import itertools
import math
import unicodedata
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from auscult.errors import TooLarge
from auscult.media.drawing_palette import LIGHT, rgb
from auscult.media.drawing_parts import Circle, Drawing, Line, Part, Point, Polygon, Polyline, Rect, Text
from auscult.media.drawing_text import plain
from auscult.types import Frame

MAX_PIXELS: Final = 64_000_000
_ANCHORS: Final = {"start": "ls", "middle": "ms", "end": "rs"}
_FINE = 4
_KEPT = frozenset("…°±·©«»‘’“”™")
_LIKE: Final = {"–": "-", "—": "-", "−": "-", "×": "x", "ß": "ss", "ø": "o", "ł": "l", "æ": "ae", "µ": "u"}


def to_png(drawing: Drawing, *, scale: int = 2) -> bytes:
    """The drawing as the bytes of an RGB PNG file.

    Args:
        drawing: What to draw.
        scale: Pixels of the picture for one of the drawing, 1..4.

    Raises:
        TooLarge: Over ``MAX_PIXELS`` at that scale.
        ValueError: Another scale.
    """
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
    wanted = max(2, _FINE // scale)
    return next((fine for fine in range(wanted, 1, -1) if pixels * fine * fine <= MAX_PIXELS), 1)


class _Pen:
    """Draws parts on an image that is ``zoom`` times the drawing."""

    def __init__(self, image: Image.Image, zoom: int) -> None:
        self._image = image
        self._zoom = zoom
        self._ink = ImageDraw.Draw(image, "RGBA")
        self._fonts: dict[float, ImageFont.FreeTypeFont | ImageFont.ImageFont] = {}

    def draw(self, part: Part) -> None:
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
            self._ink.polygon(self._scaled(part.points), fill=_seen(part.fill, part.opacity))
        if part.stroke:
            points = _corners(part) if isinstance(part, Rect) else part.points
            self._line([*points, *points[:2]], part.stroke, part.width)

    def _rect(self, part: Rect) -> None:
        if part.fill and part.width_px > 0 and part.height_px > 0:
            (left, top), _, (right, bottom), _ = self._scaled(_corners(part))
            box = (left, top, max(left, right - 1), max(top, bottom - 1))  # Pillow counts the last pixel in
            self._ink.rectangle(box, fill=_seen(part.fill, part.opacity))

    def _circle(self, part: Circle) -> None:
        ((x, y),) = self._scaled([part.centre])
        if part.fill:
            reach = part.radius * self._zoom
            self._ink.ellipse((x - reach, y - reach, x + reach, y + reach), fill=_seen(part.fill, part.opacity))
        if part.stroke:
            reach = (part.radius + part.width / 2) * self._zoom
            broad = max(1, round(part.width * self._zoom))
            box = (x - reach, y - reach, x + reach, y + reach)
            self._ink.ellipse(box, outline=rgb(LIGHT[part.stroke]), width=broad)

    def _text(self, part: Text) -> None:
        words = _drawable(plain(part.words))
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


def _drawable(words: str) -> str:
    """The words in characters that the font has, where there is one that is alike."""
    return "".join(_alike(character) for character in words)


def _alike(character: str) -> str:
    if character.isascii() or character in _KEPT:
        return character
    bare = "".join(one for one in unicodedata.normalize("NFKD", character) if one.isascii())
    return _LIKE.get(character, bare or character)


def _seen(name: str, opacity: float) -> tuple[int, int, int, int]:
    return (*rgb(LIGHT[name]), round(255 * opacity))


def _dashes(points: Sequence[Point], dash: tuple[float, ...]) -> Iterator[list[Point]]:
    """The pieces of a line that are drawn; the pattern goes on round corners, as in SVG."""
    lengths = itertools.cycle(dash if len(dash) % 2 == 0 else dash * 2)
    left, drawn = next(lengths), True
    piece = [points[0]]
    for start, end in itertools.pairwise(points):
        whole = math.dist(start, end)
        done = 0.0
        while whole - done > left:
            done += left
            share = done / whole
            place = (start[0] + (end[0] - start[0]) * share, start[1] + (end[1] - start[1]) * share)
            if drawn:
                yield [*piece, place]
            left, drawn, piece = next(lengths), not drawn, [place]
        left -= whole - done
        piece.append(end)
    if drawn:
        yield piece
