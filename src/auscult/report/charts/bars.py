"""Charts of the R2 suite with one row each: bars of changes (R2-Bench, Fig. 7), paired changes, ranks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from auscult.report.charts.marks import (
    MAX_MODELS,
    MAX_TYPES,
    NONE,
    WIDTH,
    ChartEstimate,
    Columns,
    Scale,
    Ticks,
    Words,
    check_size,
    columns,
    counts,
    estimate_text,
    frame,
    heading,
    label,
    legend,
    lying_whisker,
    mark,
    name_label,
    pointed,
    style_of,
    with_count,
)
from auscult.report.drawing import Drawing, DrawnShape, Line, Rect, Text, fitted, text_width

_BAR, _THIN_BAR, _PAD, _GROUP = 13.0, 9.0, 7.0, 25.0


@dataclass(frozen=True, slots=True, kw_only=True)
class TypeBars:
    """One type of perturbation."""

    name: str  # the type's
    values: tuple[ChartEstimate, ...]  # its number for each model, in the models' order


@dataclass(frozen=True, slots=True, kw_only=True)
class BarGroup:
    """Types that belong together: of one origin or modality."""

    name: str  # drawn above them; empty for no heading
    types: tuple[TypeBars, ...]  # in the order drawn


def apc_bars(groups: Sequence[BarGroup], models: Sequence[str], words: Words) -> Drawing:
    """Draw a bar from zero for each type and model, with its interval, the groups from top to bottom."""
    types = [row for group in groups for row in group.types]
    check_size("types", types, MAX_TYPES)
    check_size("groups", groups, MAX_TYPES)
    check_size("models", models, MAX_MODELS)
    if any(len(row.values) != len(models) for row in types):
        raise ValueError("every type has one value per model")
    numbers = [number for row in types for value in row.values for number in value.numbers]
    layout = columns([row.name for row in types], [_bars_text(row, words.digits) for row in types], numbers)
    top = 38.0 if words.heading else 6.0
    rows, foot = _rows(groups, models, (layout, top, words.digits))
    keys, height = legend(models, left=8, top=foot + 50, room_px=WIDTH - 16)
    parts = [*heading(words.heading, WIDTH - 16), *frame(layout, words, (top, foot)), *rows, *keys]
    title = words.heading or f"{words.axis} by type of perturbation"
    return Drawing(
        size=(int(WIDTH), round(foot + 54 + height)), parts=tuple(parts), title=title, words=_words(groups, models)
    )


def _rows(
    groups: Sequence[BarGroup], models: Sequence[str], layout: tuple[Columns, float, int]
) -> tuple[list[DrawnShape], float]:
    """All rows, and where they end."""
    grid, y, digits = layout
    bar = _BAR if len(models) <= 2 else _THIN_BAR
    height = max(16.0, len(models) * bar) + _PAD
    parts: list[DrawnShape] = []
    for group in groups:
        if group.name:
            parts.append(Text(at=(8, y + 17), words=fitted(group.name, 13, 400), bold=True, title=group.name))
            y += _GROUP
        for row in group.types:
            parts.append(Line(start=(8, y), end=(WIDTH - 8, y), colour="faint"))
            middle = y + height / 2
            parts.append(name_label((grid.names_px, middle + 4), row.name, grid.names_px - 8, anchor="end"))
            detail = _bars_text(row, digits)
            parts.append(label((grid.detail_px, middle + 4), detail, grid.detail_room, size=11, colour="quiet"))
            parts += _bars(row, models, (grid, middle - len(models) * bar / 2, bar, digits))
            y += height
    if not any(group.types for group in groups):
        parts.append(Text(at=(8, y + 17), words="no type", colour="quiet"))
        y += 30
    return parts, y


def _bars(row: TypeBars, models: Sequence[str], layout: tuple[Columns, float, float, int]) -> list[DrawnShape]:
    grid, top, bar, digits = layout
    parts: list[DrawnShape] = []
    for number, (model, value) in enumerate(zip(models, row.values, strict=True)):
        title = f"{row.name}, {model}: {with_count(value, digits)}"
        parts += _bar(value, number, (grid, top + (number + 0.5) * bar, bar, title))
    return parts


def _bar(value: ChartEstimate, number: int, layout: tuple[Columns, float, float, str]) -> list[DrawnShape]:
    grid, y, bar, title = layout
    style, zero = style_of(number), grid.x.at(0.0)
    if value.value is None:
        return [Text(at=(zero + 4, y + 3.2), words=NONE, size=min(10.0, bar), colour=style.colour, title=title)]
    end = grid.x.at(value.value)
    height = bar - 3
    parts: list[DrawnShape] = [
        Rect(
            x=min(zero, end),
            y=y - height / 2,
            width_px=abs(end - zero),
            height_px=height,
            fill=style.colour,
            opacity=0.45,
            title=title,
        )
    ]
    if value.low is not None and value.high is not None:
        ends = grid.x.at(value.low), grid.x.at(value.high)
        parts += lying_whisker(y, ends, "ink", cap=min(3.0, height / 2))
    return [*parts, mark((end, y), style, title=title, size=0.85 if bar > 10 else 0.68)]


def _bars_text(row: TypeBars, digits: int) -> str:
    """What stands at the right: the number where there is one model, and the counts."""
    number = estimate_text(row.values[0], digits) if len(row.values) == 1 and row.values[0] != ChartEstimate() else ""
    return "; ".join(text for text in (number, counts(row.values)) if text)


def _words(groups: Sequence[BarGroup], models: Sequence[str]) -> str:
    type_texts = [
        f"{row.name}: "
        + ", ".join(f"{model} {estimate_text(value)}" for model, value in zip(models, row.values, strict=True))
        for group in groups
        for row in group.types
    ]
    return "; ".join(type_texts) or "no type"


_ROW, _SHARE_PX, _NUMBER_PX = 30.0, 110.0, 46.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Rank:
    """One model's place."""

    name: str  # the model's
    rank: ChartEstimate  # 1 is best, with its interval; value None where the model has no rank
    first: float | None = None  # probability of being first, 0..1; None where that is not known


def ranks(rows: Sequence[Rank], words: Words) -> Drawing:
    """Draw each model's rank with its interval, 1 at the left, and its probability of being first."""
    check_size("models", rows, MAX_MODELS)
    if any(row.first is not None and not 0 <= row.first <= 1 for row in rows):
        raise ValueError("a probability is within 0..1")
    top = 60.0 if words.heading else 28.0
    foot = top + max(1, len(rows)) * _ROW
    names_px = 8 + min(190.0, max((text_width(row.name, 12) for row in rows), default=0.0) + 2)
    last = WIDTH - 8 - _NUMBER_PX - _SHARE_PX
    numbers = [number for row in rows for number in row.rank.numbers]
    end = max([2.0, float(len(rows)), *numbers])
    scale = Scale(low=min([1.0, *numbers]), high=end, first_px=names_px + 24, last_px=last - 34)
    caption = "; ".join(filter(None, (f"rank by {words.axis} (1 is best)", counts(row.rank for row in rows))))
    parts = [*heading(words.heading, WIDTH - 16), *_frame(caption, scale, (top, foot, last))]
    for number, row in enumerate(rows):
        parts += _rank_row(row, number, (scale, top + number * _ROW, names_px, last))
    if not rows:
        parts.append(Text(at=(8, top + 18), words="no model", colour="quiet"))
    return Drawing(
        size=(int(WIDTH), round(foot + 62)),
        parts=tuple(parts),
        title=words.heading or f"Ranks by {words.axis}",
        words="; ".join(f"{row.name}: rank {with_count(row.rank)}, first {_percent(row.first)}" for row in rows)
        or "no model",
    )


def _frame(axis: str, scale: Scale, box: tuple[float, float, float]) -> list[DrawnShape]:
    top, foot, share_px = box
    ticks_at = range(1, int(scale.high) + 1, max(1, round((scale.high - 1) / 11)))
    marks = Ticks(tuple(map(float, ticks_at)), tuple(map(str, ticks_at)))
    grid = Columns(names_px=scale.first_px, x=scale, ticks=marks, detail_px=share_px)
    return [
        *frame(grid, Words(axis=axis), (top, foot)),
        Text(at=(share_px, top - 9), words="probability of being first", size=11, colour="quiet"),
        Line(start=(share_px, top), end=(share_px, foot), colour="quiet"),
    ]


def _rank_row(row: Rank, number: int, layout: tuple[Scale, float, float, float]) -> list[DrawnShape]:
    scale, top, names_px, share_px = layout
    y, style = top + _ROW / 2, style_of(number)
    title = f"{row.name}: rank {with_count(row.rank, 1)}, first {_percent(row.first)}"
    parts: list[DrawnShape] = [
        Line(start=(8, top), end=(WIDTH - 8, top), colour="faint"),
        name_label((names_px, y + 4), row.name, names_px - 8, anchor="end"),
    ]
    if row.rank.value is None:
        parts.append(Text(at=(scale.first_px, y + 4), words=NONE, size=11, colour="quiet", title=title))
    else:
        if row.rank.low is not None and row.rank.high is not None:
            parts += lying_whisker(y, (scale.at(row.rank.low), scale.at(row.rank.high)), style.colour, cap=4)
        parts.append(mark((scale.at(row.rank.value), y), style, title=title))
    if row.first is not None:
        width = row.first * (_SHARE_PX - 6)
        parts.append(
            Rect(x=share_px, y=y - 6, width_px=width, height_px=12, fill=style.colour, opacity=0.6, title=title)
        )
    end = share_px + _SHARE_PX + _NUMBER_PX
    parts.append(Text(at=(end, y + 4), words=_percent(row.first), anchor="end", title=title))
    return parts


def _percent(share: float | None) -> str:
    if share is None:
        return NONE
    rounded = round(100 * share)
    if share < 1 and rounded == 100:
        return "> 99 %"
    return "< 1 %" if share > 0 and not rounded else f"{rounded} %"


_APART = 6.5


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedBar:
    """One model or type under two conditions."""

    name: str
    first: ChartEstimate  # number under the first condition
    second: ChartEstimate  # under the second
    difference: ChartEstimate | None = None  # second minus first with its interval, printed at the right; None for none


def paired(pairs: Sequence[PairedBar], conditions: tuple[str, str], words: Words) -> Drawing:
    """Draw two marks with whiskers, one for each condition, in each row and the way from one to the other."""
    check_size("rows", pairs, MAX_TYPES)
    numbers = [number for pair in pairs for estimate in (pair.first, pair.second) for number in estimate.numbers]
    details = [_pair_text(pair, words.digits) for pair in pairs]
    layout = columns([pair.name for pair in pairs], details, numbers)
    top = 38.0 if words.heading else 6.0
    parts: list[DrawnShape] = []
    for number, pair in enumerate(pairs):
        parts += _pair_row(pair, conditions, (layout, top + number * _ROW, words.digits))
    foot = top + max(1, len(pairs)) * _ROW
    if not pairs:
        parts.append(Text(at=(8, top + 18), words="no row", colour="quiet"))
    keys, height = legend(conditions, left=8, top=foot + 50, room_px=WIDTH - 16)
    return Drawing(
        size=(int(WIDTH), round(foot + 54 + height)),
        parts=(*heading(words.heading, WIDTH - 16), *frame(layout, words, (top, foot)), *parts, *keys),
        title=words.heading or f"{words.axis}: {conditions[0]} against {conditions[1]}",
        words="; ".join(
            f"{pair.name}: {conditions[0]} {estimate_text(pair.first)}, {conditions[1]} {estimate_text(pair.second)}"
            for pair in pairs
        )
        or "no row",
    )


def seen_unseen(pairs: Sequence[PairedBar], words: Words) -> Drawing:
    """``paired`` for categories that a model was trained on and others."""
    return paired(pairs, ("seen", "unseen"), words)


def _pair_row(pair: PairedBar, conditions: tuple[str, str], layout: tuple[Columns, float, int]) -> list[DrawnShape]:
    grid, top, digits = layout
    middle = top + _ROW / 2
    parts: list[DrawnShape] = [
        Line(start=(8, top), end=(WIDTH - 8, top), colour="faint"),
        name_label((grid.names_px, middle + 4), pair.name, grid.names_px - 8, anchor="end"),
        label((grid.detail_px, middle + 4), _pair_text(pair, digits), grid.detail_room, size=11, colour="quiet"),
    ]
    if pair.first.value is not None and pair.second.value is not None:
        start = (grid.x.at(pair.first.value), middle - _APART)
        end = (grid.x.at(pair.second.value), middle + _APART)
        parts.append(Line(start=start, end=end, colour="quiet", dash=(2, 2)))
    for number, estimate in enumerate((pair.first, pair.second)):
        y = middle + (-_APART, _APART)[number]
        parts += pointed(estimate, grid, (y, number, f"{pair.name}, {conditions[number]}"), digits=digits)
    return parts


def _pair_text(pair: PairedBar, digits: int) -> str:
    change = "" if pair.difference is None else "diff. " + estimate_text(pair.difference, digits)
    return "; ".join(text for text in (change, counts((pair.first, pair.second))) if text)
