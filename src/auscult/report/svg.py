"""Small charts as inline SVG: they need no script, they print, and they follow the page's light and dark colours.

Colours come from the page's style sheet through the classes ``a-<action>``; a chart never relies on them alone: every
mark has a title with its numbers, and every chart a label that says the same in words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

_WIDTH = 520.0


@dataclass(frozen=True, slots=True)
class Stack:
    """One bar: its label, and its parts as (class, words, count), drawn in order."""

    label: str
    parts: tuple[tuple[str, str, int], ...]

    @property
    def total(self) -> int:
        """The sum of the parts."""
        return sum(count for _, _, count in self.parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One item in a scatter: true and estimated value, 0..1, its colour class, its words, and where a click leads."""

    x: float
    y: float
    style: str
    words: str
    link: str = ""


def histogram(stacks: Sequence[Stack], *, label: str, ticks: Mapping[int, str]) -> Markup:
    """Upright bars side by side, for counts over a range of values.

    Args:
        stacks: One per bin, left to right.
        label: The chart in words, for those who cannot see it.
        ticks: Edge of a bin (0 is the left end) to the text under it.
    """
    height, base, top = 190.0, 164.0, 14.0
    most = max((stack.total for stack in stacks), default=0)
    step = (_WIDTH - 44) / max(1, len(stacks))
    parts = [_grid(most, base=base, top=top)]
    for index, stack in enumerate(stacks):
        y = base
        for style, words, count in stack.parts:
            if count:
                tall = (base - top) * count / most
                y -= tall
                parts.append(
                    _rect((40 + index * step + 1, y, step - 2, tall), style, f"{stack.label}: {count} {words}")
                )
    for edge, text in ticks.items():
        parts.append(_text(40 + edge * step, base + 17, text, anchor="middle"))
    parts.append(_line((40, base, _WIDTH - 4, base), "axis"))
    return _svg(parts, (_WIDTH, height), label)


def bars(stacks: Sequence[Stack], *, label: str) -> Markup:
    """Lying bars one below the other, for counts of named things."""
    row, left = 26.0, 112.0
    most = max((stack.total for stack in stacks), default=0)
    parts: list[Markup] = []
    for index, stack in enumerate(stacks):
        y = index * row + 4
        parts.append(_text(left - 10, y + 13, stack.label, anchor="end"))
        x = left
        for style, words, count in stack.parts:
            if count:
                wide = (_WIDTH - left - 52) * count / most
                parts.append(_rect((x, y, max(wide - 1, 0.5), 18), style, f"{stack.label}: {count} {words}"))
                x += wide
        parts.append(_text(x + 7, y + 13, f"{stack.total:,}", anchor="start", style="strong"))
    return _svg(parts, (_WIDTH, max(1, len(stacks)) * row + 4), label)


def scatter(points: Sequence[Point], *, label: str, axes: tuple[str, str]) -> Markup:
    """Points in the unit square with the line of perfect agreement.

    Args:
        points: What to draw; values outside 0..1 are drawn at the edge.
        label: The chart in words.
        axes: Words under the x axis and beside the y axis.
    """
    size, left, top, side = 460.0, 48.0, 10.0, 396.0
    bottom = top + side
    parts = [_line((left, bottom, left + side, top), "diagonal")]
    for step in range(0, 11, 2):
        place = step / 10
        parts += [
            _line((left, bottom - side * place, left + side, bottom - side * place), "grid"),
            _line((left + side * place, bottom, left + side * place, top), "grid"),
            _text(left - 8, bottom - side * place + 4, f"{place:.1f}", anchor="end"),
            _text(left + side * place, bottom + 17, f"{place:.1f}", anchor="middle"),
        ]
    parts += [
        _text(left + side / 2, bottom + 38, axes[0], anchor="middle", style="strong"),
        Markup('<text transform="translate(13 {}) rotate(-90)" text-anchor="middle" class="strong">{}</text>').format(
            _short(top + side / 2), axes[1]
        ),
    ]
    parts += [_dot(point, (left, bottom), side) for point in points]
    return _svg(parts, (size, size), label, style="chart scatter")


def _dot(point: Point, origin: tuple[float, float], side: float) -> Markup:
    x = origin[0] + side * min(1.0, max(0.0, point.x))
    y = origin[1] - side * min(1.0, max(0.0, point.y))
    mark = Markup('<circle cx="{}" cy="{}" r="4" class="{}"><title>{}</title></circle>').format(
        _short(x), _short(y), point.style, point.words
    )
    return Markup('<a href="{}" tabindex="-1">{}</a>').format(point.link, mark) if point.link else mark


def _grid(most: int, *, base: float, top: float) -> Markup:
    """Three quiet lines that give the heights a number."""
    marks = sorted({most, most // 2}) if most > 1 else [most]
    drawn = [
        _line((40, base - (base - top) * mark / most, _WIDTH - 4, base - (base - top) * mark / most), "grid")
        + _text(34, base - (base - top) * mark / most + 4, f"{mark:,}", anchor="end")
        for mark in marks
        if mark
    ]
    return Markup("").join(drawn)


def _svg(parts: Sequence[Markup], size: tuple[float, float], label: str, *, style: str = "chart") -> Markup:
    return Markup('<svg class="{}" viewBox="0 0 {} {}" role="img" aria-label="{}">{}</svg>').format(
        style, _short(size[0]), _short(size[1]), label, Markup("").join(parts)
    )


def _rect(box: tuple[float, float, float, float], style: str, words: str) -> Markup:
    x, y, width, height = (_short(value) for value in box)
    return Markup('<rect x="{}" y="{}" width="{}" height="{}" class="{}"><title>{}</title></rect>').format(
        x, y, width, height, style, words
    )


def _line(ends: tuple[float, float, float, float], style: str) -> Markup:
    x1, y1, x2, y2 = (_short(value) for value in ends)
    return Markup('<line x1="{}" y1="{}" x2="{}" y2="{}" class="{}"/>').format(x1, y1, x2, y2, style)


def _text(x: float, y: float, words: str, *, anchor: str, style: str = "") -> Markup:
    return Markup('<text x="{}" y="{}" text-anchor="{}"{}>{}</text>').format(
        _short(x), _short(y), anchor, Markup(' class="{}"').format(style) if style else "", escape(words)
    )


def _short(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
