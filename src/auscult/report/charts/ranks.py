"""The order of models and how sure it is: rank with its interval, and the probability of being first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from auscult.media.drawing import Drawing, Line, Part, Rect, Text, text_width
from auscult.report.charts.axes import Scale
from auscult.report.charts.marks import heading, label, lying_whisker, mark, name_label, style_of
from auscult.report.charts.rows import WIDTH
from auscult.report.charts.values import MAX_MODELS, NONE, Estimate, Words, check_size, counts, with_count

_ROW, _SHARE_PX, _NUMBER_PX = 26.0, 110.0, 46.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Rank:
    """One model's place.

    Attributes:
        name: The model's.
        rank: 1 is best, with its interval; value None where the model has no rank.
        first: Probability of being first, 0..1; None where that is not known.
    """

    name: str
    rank: Estimate
    first: float | None = None


def ranks(rows: Sequence[Rank], words: Words) -> Drawing:
    """Draw each model's rank with its interval, 1 at the left, and its probability of being first.

    Args:
        rows: Top to bottom.
        words: Around the chart; the axis says what is ranked by.

    Raises:
        TooLarge: Over ``MAX_MODELS`` models.
        ValueError: A probability outside 0..1.
    """
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
    parts = [*heading(words.heading, WIDTH - 16), *_frame(_about(rows, words), scale, (top, foot, last))]
    for number, row in enumerate(rows):
        parts += _row(row, number, (scale, top + number * _ROW, names_px, last))
    if not rows:
        parts.append(Text(at=(8, top + 18), words="no model", colour="quiet"))
    return Drawing(
        size=(int(WIDTH), round(foot + 62)),
        parts=tuple(parts),
        title=words.heading or f"Ranks by {words.axis}",
        words="; ".join(f"{row.name}: rank {with_count(row.rank)}, first {_percent(row.first)}" for row in rows)
        or "no model",
    )


def _frame(about: str, scale: Scale, box: tuple[float, float, float]) -> list[Part]:
    top, foot, share_px = box
    parts: list[Part] = []
    step = max(1, round((scale.high - 1) / 11))
    for rank in range(1, int(scale.high) + 1, step):
        x = scale.at(rank)
        parts.append(Line(start=(x, top), end=(x, foot), colour="line"))
        parts.append(Text(at=(x, foot + 16), words=str(rank), anchor="middle", colour="quiet"))
    middle = (scale.first_px + scale.last_px) / 2
    room = 2 * min(middle, WIDTH - middle) - 16
    parts.append(label((middle, foot + 36), about, room, anchor="middle", colour="quiet"))
    parts.append(Text(at=(share_px, top - 9), words="probability of being first", size=11, colour="quiet"))
    parts.append(Line(start=(share_px, top), end=(share_px, foot), colour="quiet"))
    return parts


def _about(rows: Sequence[Rank], words: Words) -> str:
    return "; ".join(text for text in (f"rank by {words.axis} (1 is best)", counts(row.rank for row in rows)) if text)


def _row(row: Rank, number: int, layout: tuple[Scale, float, float, float]) -> list[Part]:
    scale, top, names_px, share_px = layout
    y, style = top + _ROW / 2, style_of(number)
    title = f"{row.name}: rank {with_count(row.rank, 1)}, first {_percent(row.first)}"
    parts: list[Part] = [
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
        wide = row.first * (_SHARE_PX - 6)
        parts.append(
            Rect(x=share_px, y=y - 6, width_px=wide, height_px=12, fill=style.colour, opacity=0.6, title=title)
        )
    end = share_px + _SHARE_PX + _NUMBER_PX
    parts.append(Text(at=(end, y + 4), words=_percent(row.first), anchor="end", title=title))
    return parts


def _percent(share: float | None) -> str:
    if share is None:
        return NONE
    whole = round(100 * share)
    if share < 1 and whole == 100:
        return "> 99 %"
    return "< 1 %" if share > 0 and not whole else f"{whole} %"
