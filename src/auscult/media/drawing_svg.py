"""A drawing as SVG: a file that stands alone, or an element for a page that follows the page's light or dark colours.

No script, no reference to anything outside. Words come from strangers: they are stripped of control characters and
escaped.
"""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import TypeAlias

from markupsafe import Markup

from auscult.media.drawing_palette import DARK, LIGHT
from auscult.media.drawing_parts import Circle, Drawing, Line, Part, Point, Polygon, Polyline, Rect, Text, colours_of
from auscult.media.drawing_text import plain

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
            f'role="img" aria-label="{_said(drawing)}" font-family="{_FONT}">',
            f"<title>{_safe(drawing.title)}</title>",
            f"<desc>{_safe(drawing.words, limit=_WORDS)}</desc>" if drawing.words else "",
            f'<rect width="{width}" height="{height}" fill="{LIGHT["ground"]}"/>',
            f"<g>{_elements(drawing, _fixed)}</g></svg>\n",
        )
    )


def to_markup(drawing: Drawing) -> Markup:
    """The drawing as an element of a page: as wide as there is room, at most its own size, on the page's ground.

    Its colours follow ``prefers-color-scheme`` on a screen and are the light ones on paper. A drawing wider than
    620 px has the class ``wide`` and takes a whole row of a grid of panels.
    """
    width, height = drawing.size
    wide = width > _WIDE_PX
    return Markup(  # noqa: S704 - every word in it is escaped
        f'<svg class="drawing{" wide" if wide else ""}" viewBox="0 0 {width} {height}" role="img" '
        f'style="max-width:{width}px{f";min-width:{_WIDE_PX}px" if wide else ""}" '
        f'aria-label="{_said(drawing)}" font-family="{_FONT}">'
        f"{_style(drawing)}<g>{_elements(drawing, _followed)}</g></svg>"
    )


def _elements(drawing: Drawing, paint: _Paint) -> str:
    return "".join(_element(part, paint) for part in drawing.parts)


def _element(part: Part, paint: _Paint) -> str:
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
            place = f'x="{_short(part.x)}" y="{_short(part.y)}"'
            size = f'width="{_short(part.width_px)}" height="{_short(part.height_px)}"'
            return _tag("rect", f"{place} {size} {_shape(part, paint)}", part.title)
        case Circle():
            place = f'cx="{_short(part.centre[0])}" cy="{_short(part.centre[1])}" r="{_short(part.radius)}"'
            return _tag("circle", f"{place} {_shape(part, paint)}", part.title)
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
    seen = f' fill-opacity="{_short(part.opacity)}"' if part.opacity < 1 else ""
    line = f' stroke-width="{_short(part.width)}"' if part.stroke else ""
    return none + paint(part.fill, part.stroke) + seen + line


def _fixed(fill: str, stroke: str) -> str:
    """Colours as they are."""
    given = (("fill", fill), ("stroke", stroke))
    return " ".join(f'{attribute}="{LIGHT[name]}"' for attribute, name in given if name)


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


def _said(drawing: Drawing) -> str:
    return _safe(f"{drawing.title}. {drawing.words}" if drawing.words else drawing.title, limit=_WORDS)


def _safe(words: str, *, limit: int = 400) -> str:
    return escape(plain(words, limit=limit), quote=True)


def _points(points: tuple[Point, ...]) -> str:
    return " ".join(f"{_short(x)},{_short(y)}" for x, y in points)


def _short(value: float) -> str:
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text
