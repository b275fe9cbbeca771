"""Drawings: charts as values of lines and words, and the two renderers that make SVG and PNG of the same geometry.

A chart is a pure function to a ``Drawing``; what becomes of it is decided where it is shown::

    to_svg(drawing)      a file that stands alone, light
    to_markup(drawing)   an element of a page, light or dark as the page
    to_png(drawing)      a picture, light
    to_picture(drawing)  the same as an array, to put other pictures into
"""

from __future__ import annotations

from auscult.media.drawing_palette import SERIES, on_scale, scale
from auscult.media.drawing_parts import (
    Anchor,
    Circle,
    Drawing,
    Line,
    Part,
    Point,
    Polygon,
    Polyline,
    Rect,
    Text,
    colours_of,
    points_of,
)
from auscult.media.drawing_png import to_picture, to_png
from auscult.media.drawing_svg import to_markup, to_svg
from auscult.media.drawing_text import fitted, plain, text_width

__all__ = [
    "SERIES",
    "Anchor",
    "Circle",
    "Drawing",
    "Line",
    "Part",
    "Point",
    "Polygon",
    "Polyline",
    "Rect",
    "Text",
    "colours_of",
    "fitted",
    "on_scale",
    "plain",
    "points_of",
    "scale",
    "text_width",
    "to_markup",
    "to_picture",
    "to_png",
    "to_svg",
]
