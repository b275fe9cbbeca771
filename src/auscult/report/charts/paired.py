"""Two conditions side by side: static against dynamic (R2-Bench, Fig. 10), seen against unseen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from auscult.media.drawing import Drawing, Line, Part, Text
from auscult.report.charts.marks import heading, label, legend, name_label
from auscult.report.charts.rows import WIDTH, Columns, columns, frame, pointed
from auscult.report.charts.values import MAX_TYPES, Estimate, Words, check_size, counts, told

_ROW, _APART = 30.0, 6.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """One model or type under two conditions.

    Attributes:
        name: Its name.
        first: Number under the first condition.
        second: Under the second.
        difference: Second minus first with its interval, printed at the right; None for none.
    """

    name: str
    first: Estimate
    second: Estimate
    difference: Estimate | None = None


def paired(pairs: Sequence[Pair], conditions: tuple[str, str], words: Words) -> Drawing:
    """Draw two marks with whiskers in each row and the way from one to the other.

    Args:
        pairs: Top to bottom.
        conditions: Names of the first and the second.
        words: Around the chart.

    Raises:
        TooLarge: Over ``MAX_TYPES`` rows.
    """
    check_size("rows", pairs, MAX_TYPES)
    numbers = [number for pair in pairs for one in (pair.first, pair.second) for number in one.numbers]
    said = [_said(pair, words.digits) for pair in pairs]
    layout = columns([pair.name for pair in pairs], said, numbers)
    top = 38.0 if words.heading else 6.0
    parts: list[Part] = []
    for number, pair in enumerate(pairs):
        parts += _row(pair, conditions, (layout, top + number * _ROW, words.digits))
    foot = top + max(1, len(pairs)) * _ROW
    if not pairs:
        parts.append(Text(at=(8, top + 18), words="no row", colour="quiet"))
    named, tall = legend(conditions, left=8, top=foot + 50, room_px=WIDTH - 16)
    return Drawing(
        size=(int(WIDTH), round(foot + 54 + tall)),
        parts=(*heading(words.heading, WIDTH - 16), *frame(layout, words, (top, foot)), *parts, *named),
        title=words.heading or f"{words.axis}: {conditions[0]} against {conditions[1]}",
        words="; ".join(
            f"{pair.name}: {conditions[0]} {told(pair.first)}, {conditions[1]} {told(pair.second)}" for pair in pairs
        )
        or "no row",
    )


def seen_unseen(pairs: Sequence[Pair], words: Words) -> Drawing:
    """``paired`` for categories that a model was trained on and others."""
    return paired(pairs, ("seen", "unseen"), words)


def _row(pair: Pair, conditions: tuple[str, str], layout: tuple[Columns, float, int]) -> list[Part]:
    place, top, digits = layout
    middle = top + _ROW / 2
    parts: list[Part] = [
        Line(start=(8, top), end=(WIDTH - 8, top), colour="faint"),
        name_label((place.names_px, middle + 4), pair.name, place.names_px - 8, anchor="end"),
        label((place.said_px, middle + 4), _said(pair, digits), place.said_room, size=11, colour="quiet"),
    ]
    if pair.first.value is not None and pair.second.value is not None:
        start = (place.x.at(pair.first.value), middle - _APART)
        end = (place.x.at(pair.second.value), middle + _APART)
        parts.append(Line(start=start, end=end, colour="quiet", dash=(2, 2)))
    for number, one in enumerate((pair.first, pair.second)):
        y = middle + (-_APART, _APART)[number]
        parts += pointed(one, place, (y, number, f"{pair.name}, {conditions[number]}"), digits=digits)
    return parts


def _said(pair: Pair, digits: int) -> str:
    change = "" if pair.difference is None else "diff. " + told(pair.difference, digits)
    return "; ".join(text for text in (change, counts((pair.first, pair.second))) if text)
