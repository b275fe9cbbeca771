"""Changes per type of perturbation as lying bars, models below one another (R2-Bench, Fig. 7)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from auscult.media.drawing import Drawing, Line, Part, Rect, Text, fitted
from auscult.report.charts.marks import heading, label, legend, lying_whisker, mark, name_label, style_of
from auscult.report.charts.rows import WIDTH, Columns, columns, frame
from auscult.report.charts.values import (
    MAX_MODELS,
    MAX_TYPES,
    NONE,
    UNDEFINED,
    Estimate,
    Words,
    check_size,
    counts,
    told,
    with_count,
)

_BAR, _THIN_BAR, _PAD, _GROUP = 13.0, 9.0, 7.0, 25.0


@dataclass(frozen=True, slots=True, kw_only=True)
class TypeBars:
    """One type of perturbation.

    Attributes:
        name: The type's.
        values: Its number for each model, in the models' order.
    """

    name: str
    values: tuple[Estimate, ...]

    @property
    def mean(self) -> float:
        """Mean of the numbers that exist; infinite for none, so that these come last."""
        found = [one.value for one in self.values if one.value is not None]
        return sum(found) / len(found) if found else math.inf


@dataclass(frozen=True, slots=True, kw_only=True)
class BarGroup:
    """Types that belong together: of one origin or modality.

    Attributes:
        name: Drawn above them; empty for no heading.
        types: In the order drawn, unless sorted.
    """

    name: str
    types: tuple[TypeBars, ...]


def apc_bars(groups: Sequence[BarGroup], models: Sequence[str], words: Words, *, by_size: bool = False) -> Drawing:
    """Draw a bar from zero for each type and model, with its interval.

    Args:
        groups: Top to bottom.
        models: Names, in the order of the values.
        words: Around the chart; the axis names the change and its unit.
        by_size: Order the types of each group by their mean over models, lowest first, instead of as given.

    Raises:
        TooLarge: Over ``MAX_TYPES`` types or ``MAX_MODELS`` models.
        ValueError: A type that has not one value per model.
    """
    types = [one for group in groups for one in group.types]
    check_size("types", types, MAX_TYPES)
    check_size("groups", groups, MAX_TYPES)
    check_size("models", models, MAX_MODELS)
    if any(len(one.values) != len(models) for one in types):
        raise ValueError("every type has one value per model")
    groups = [_sorted(group) for group in groups] if by_size else groups
    numbers = [number for one in types for value in one.values for number in value.numbers]
    layout = columns([one.name for one in types], [_said(one, words.digits) for one in types], numbers)
    top = 38.0 if words.heading else 6.0
    rows, foot = _rows(groups, models, (layout, top, words.digits))
    named, tall = legend(models, left=8, top=foot + 50, room_px=WIDTH - 16)
    parts = [*heading(words.heading, WIDTH - 16), *frame(layout, words, (top, foot)), *rows, *named]
    title = words.heading or f"{words.axis} by type of perturbation"
    return Drawing(
        size=(int(WIDTH), round(foot + 54 + tall)), parts=tuple(parts), title=title, words=_words(groups, models)
    )


def _sorted(group: BarGroup) -> BarGroup:
    return BarGroup(name=group.name, types=tuple(sorted(group.types, key=lambda one: (one.mean, one.name))))


def _rows(
    groups: Sequence[BarGroup], models: Sequence[str], layout: tuple[Columns, float, int]
) -> tuple[list[Part], float]:
    """All rows, and where they end."""
    place, y, digits = layout
    bar = _BAR if len(models) <= 2 else _THIN_BAR
    tall = max(16.0, len(models) * bar) + _PAD
    parts: list[Part] = []
    for group in groups:
        if group.name:
            parts.append(Text(at=(8, y + 17), words=fitted(group.name, 13, 400), bold=True, title=group.name))
            y += _GROUP
        for one in group.types:
            parts.append(Line(start=(8, y), end=(WIDTH - 8, y), colour="faint"))
            middle = y + tall / 2
            parts.append(name_label((place.names_px, middle + 4), one.name, place.names_px - 8, anchor="end"))
            said = _said(one, digits)
            parts.append(label((place.said_px, middle + 4), said, place.said_room, size=11, colour="quiet"))
            parts += _bars(one, models, (place, middle - len(models) * bar / 2, bar, digits))
            y += tall
    if not any(group.types for group in groups):
        parts.append(Text(at=(8, y + 17), words="no type", colour="quiet"))
        y += 30
    return parts, y


def _bars(one: TypeBars, models: Sequence[str], layout: tuple[Columns, float, float, int]) -> list[Part]:
    place, top, bar, digits = layout
    parts: list[Part] = []
    for number, (model, value) in enumerate(zip(models, one.values, strict=True)):
        title = f"{one.name}, {model}: {with_count(value, digits)}"
        parts += _bar(value, number, (place, top + (number + 0.5) * bar, bar, title))
    return parts


def _bar(value: Estimate, number: int, layout: tuple[Columns, float, float, str]) -> list[Part]:
    place, y, bar, title = layout
    style, zero = style_of(number), place.x.at(0.0)
    if value.value is None:
        return [Text(at=(zero + 4, y + 3.2), words=NONE, size=min(10.0, bar), colour=style.colour, title=title)]
    end = place.x.at(value.value)
    tall = bar - 3
    parts: list[Part] = [
        Rect(
            x=min(zero, end),
            y=y - tall / 2,
            width_px=abs(end - zero),
            height_px=tall,
            fill=style.colour,
            opacity=0.45,
            title=title,
        )
    ]
    if value.low is not None and value.high is not None:
        ends = place.x.at(value.low), place.x.at(value.high)
        parts += lying_whisker(y, ends, "ink", cap=min(3.0, tall / 2))
    return [*parts, mark((end, y), style, title=title, size=0.85 if bar > 10 else 0.68)]


def _said(one: TypeBars, digits: int) -> str:
    """What stands at the right: the number where there is one model, and the counts."""
    number = told(one.values[0], digits) if len(one.values) == 1 and one.values[0] != UNDEFINED else ""
    return "; ".join(text for text in (number, counts(one.values)) if text)


def _words(groups: Sequence[BarGroup], models: Sequence[str]) -> str:
    told_types = [
        f"{one.name}: " + ", ".join(f"{model} {told(value)}" for model, value in zip(models, one.values, strict=True))
        for group in groups
        for one in group.types
    ]
    return "; ".join(told_types) or "no type"
