"""Charts of the R2 suite over strength and over pairs of conditions: lines, and a matrix."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from auscult.report.charts.marks import (
    BAR_PX,
    MAX_MODELS,
    MAX_TYPES,
    NONE,
    ChartEstimate,
    Scale,
    Style,
    Ticks,
    Words,
    check_size,
    counts,
    cross,
    estimate_text,
    heading,
    label,
    lying_arrow,
    lying_whisker,
    mark,
    name_label,
    printed,
    scale_bar,
    style_of,
    ticks,
    upright_whisker,
    with_count,
)
from auscult.report.drawing import (
    Drawing,
    DrawnShape,
    Line,
    Polygon,
    Polyline,
    Rect,
    Text,
    fitted,
    on_scale,
    scale,
    text_width,
)

_WIDTH, _NAME, _RIGHT = 560.0, 56.0, 14.0
_HIGH, _DYNAMIC, _ROW = 250.0, 84.0, 19.0
_STRENGTHS = {0.0: "clean", 1.0: "low", 3.0: "medium", 5.0: "high"}
_OPEN = 22.0
_MOST_BANDS = 3
_MOST_STRENGTHS = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class StrengthLine:
    """One model's scores."""

    name: str  # the model's
    # (strength, score), strengths rising; 0 is clean and 1, 3, 5 are low, medium, high
    at: tuple[tuple[float, ChartEstimate], ...]
    # its score where the perturbation changes within a clip; None where that was not measured
    dynamic: ChartEstimate | None = None
    # the strength at which half of the clean score is lost. A value of None says that it is not lost up to `beyond`, or
    # without that to the last strength; None where it was not looked for
    breaks_at: ChartEstimate | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plot:
    """Where things are: scales, the left edge, the dynamic column's centre, and the shift between models."""

    x: Scale
    y: Scale
    ticks: Ticks
    left: float
    dynamic_px: float
    count: int
    digits: int

    def shift(self, number: int) -> float:
        """How far a model's marks are moved aside, so that whiskers of equal strengths do not hide one another."""
        spacing = min(4.0, 24.0 / max(1, self.count))
        return (number - (self.count - 1) / 2) * spacing


def robustness_lines(lines: Sequence[StrengthLine], words: Words) -> Drawing:
    """Draw scores over strengths, the lines in the order of the legend.

    With up to three models intervals are bands, with more they are whiskers. A score that is Undefined leaves a gap
    and ``n/a`` at the foot of the chart.
    """
    check_size("models", lines, MAX_MODELS)
    strengths = sorted({strength for line in lines for strength, _ in line.at} or {0.0})
    check_size("strengths", strengths, _MOST_STRENGTHS)
    top = 42.0 if words.heading else 12.0
    plot = _plot(lines, words, top)
    foot = top + _HIGH
    parts = [*heading(words.heading, _WIDTH - 16), *_frame(plot, words, strengths)]
    if len(lines) <= _MOST_BANDS:
        parts += [band for number, line in enumerate(lines) for band in _bands(line, plot, style_of(number))]
    for number, line in enumerate(lines):
        parts += _model_shapes(line, number, plot)
    parts += _legend(lines, foot + 58, words.digits)
    size = int(_WIDTH), round(foot + 54 + _ROW * max(1, len(lines)) + 8)
    return Drawing(
        size=size, parts=tuple(parts), title=words.heading or f"{words.axis} over strength", words=_lines_text(lines)
    )


def _plot(lines: Sequence[StrengthLine], words: Words, top: float) -> _Plot:
    marks = ticks(number for line in lines for estimate in _estimates(line) for number in estimate.numbers)
    strengths = [strength for line in lines for strength, _ in line.at] or [0.0, 1.0]
    dynamic = any(line.dynamic is not None for line in lines)
    right = _WIDTH - _RIGHT - (_DYNAMIC if dynamic else 0)
    left = 34 + max(text_width(text, 12) for text in marks.words)
    last = max(strengths) if max(strengths) > min(strengths) else min(strengths) + 1
    return _Plot(
        x=Scale(low=min(strengths), high=last, first_px=left + 30, last_px=right - 30),
        y=Scale(low=marks.ends[0], high=marks.ends[1], first_px=top + _HIGH, last_px=top),
        ticks=marks,
        left=left,
        dynamic_px=right + _DYNAMIC / 2 if dynamic else 0.0,
        count=len(lines),
        digits=words.digits,
    )


def _estimates(line: StrengthLine) -> list[ChartEstimate]:
    return [estimate for _, estimate in line.at] + ([line.dynamic] if line.dynamic is not None else [])


def _frame(plot: _Plot, words: Words, strengths: Sequence[float]) -> list[DrawnShape]:
    """Grid, axes and their words."""
    foot, right = plot.y.first_px, _WIDTH - _RIGHT
    parts: list[DrawnShape] = []
    for number, text in zip(plot.ticks.at, plot.ticks.words, strict=True):
        y = plot.y.at(number)
        parts.append(Line(start=(plot.left, y), end=(right, y), colour="quiet" if number == 0 else "line"))
        parts.append(label((plot.left - 7, y + 4), text, plot.left, anchor="end", colour="quiet"))
    for strength in strengths:
        x = plot.x.at(strength)
        parts.append(Line(start=(x, foot), end=(x, foot + 4), colour="quiet"))
        text = _STRENGTHS.get(strength, f"{strength:g}")
        parts.append(Text(at=(x, foot + 18), words=text, anchor="middle", colour="quiet"))
    middle = (plot.x.first_px + plot.x.last_px) / 2
    parts.append(Text(at=(middle, foot + 38), words="strength of the perturbation", anchor="middle", colour="quiet"))
    up = label((14, foot - _HIGH / 2), words.axis, _HIGH, anchor="middle", colour="quiet")
    parts.append(Text(at=up.at, words=up.words, colour="quiet", anchor="middle", rotation=-90, title=up.title))
    if plot.dynamic_px:
        edge = plot.dynamic_px - _DYNAMIC / 2
        parts.append(Line(start=(edge, foot - _HIGH), end=(edge, foot), colour="quiet", dash=(2, 3)))
        parts.append(Text(at=(plot.dynamic_px, foot + 18), words="dynamic", anchor="middle", colour="quiet"))
    return parts


def _bands(line: StrengthLine, plot: _Plot, style: Style) -> list[DrawnShape]:
    """Intervals as areas, one for each run of scores that have one."""
    bands: list[DrawnShape] = []
    for run in _runs(line):
        bounded = [(x, score.low, score.high) for x, score in run if score.low is not None and score.high is not None]
        if len(bounded) > 1:
            above = [(plot.x.at(strength), plot.y.at(high)) for strength, _, high in bounded]
            below = [(plot.x.at(strength), plot.y.at(low)) for strength, low, _ in reversed(bounded)]
            bands.append(Polygon(points=(*above, *below), fill=style.colour, opacity=0.16))
    return bands


def _runs(line: StrengthLine) -> list[list[tuple[float, ChartEstimate]]]:
    """The scores between gaps."""
    runs: list[list[tuple[float, ChartEstimate]]] = [[]]
    for strength, estimate in line.at:
        if estimate.value is None:
            runs.append([])
        else:
            runs[-1].append((strength, estimate))
    return [run for run in runs if run]


def _model_shapes(line: StrengthLine, number: int, plot: _Plot) -> list[DrawnShape]:
    """One model: its line, its marks and whiskers, its gaps, its breaking point."""
    style = style_of(number)
    aside = plot.shift(number)
    parts: list[DrawnShape] = []
    for run in _runs(line):
        path = tuple(
            (plot.x.at(strength) + aside, plot.y.at(score.value)) for strength, score in run if score.value is not None
        )
        if len(path) > 1:
            parts.append(Polyline(points=path, colour=style.colour, width=2, dash=style.dash))
    for strength, score in line.at:
        words = f"{line.name}, {_STRENGTHS.get(strength, f'{strength:g}')}"
        parts += _point(score, (plot.x.at(strength), number, words), plot)
    if line.dynamic is not None:
        parts += _point(line.dynamic, (plot.dynamic_px, number, f"{line.name}, dynamic"), plot)
    return parts + _breaking_mark(line, plot, number)


def _point(estimate: ChartEstimate, at: tuple[float, int, str], plot: _Plot) -> list[DrawnShape]:
    x, number, words = at
    style, title = style_of(number), f"{words}: {with_count(estimate, plot.digits)}"
    if estimate.value is None:
        y = plot.y.first_px - 5 - 11 * (number % 20)
        return [
            mark((x - 12, y - 3), style, size=0.7, title=title),
            Text(at=(x - 5, y), words=NONE, size=10, colour=style.colour, title=title),
        ]
    x += plot.shift(number)
    whisker: list[DrawnShape] = []
    if estimate.low is not None and estimate.high is not None:
        whisker = upright_whisker(x, (plot.y.at(estimate.low), plot.y.at(estimate.high)), style.colour)
    return [*whisker, mark((x, plot.y.at(estimate.value)), style, title=title)]


def _breaking_mark(line: StrengthLine, plot: _Plot, number: int) -> list[DrawnShape]:
    """A cross on the line where half of the clean score is lost, its interval, and a thread down to the axis."""
    estimate = line.breaks_at
    if estimate is None:
        return []
    height = None if estimate.value is None else _height(line, estimate.value)
    if estimate.value is None or height is None:
        return _interval(line, plot, number) if estimate.value is None else []
    x, y, style = plot.x.at(estimate.value) + plot.shift(number), plot.y.at(height), style_of(number)
    title = f"{line.name}: half of the clean score is lost at strength {estimate_text(estimate, 1)}"
    thread = Line(start=(x, y), end=(x, plot.y.first_px), colour=style.colour, width=1, dash=(1.5, 2.5))
    return [thread, *_interval(line, plot, number), *cross((x, y), style.colour, title=title)]


def _interval(line: StrengthLine, plot: _Plot, number: int) -> list[DrawnShape]:
    """The breaking point's interval at the height of half the clean score; an arrow where its end is open."""
    estimate = line.breaks_at or ChartEstimate()
    half = _half(line) if estimate.value is None else _height(line, estimate.value)
    if half is None or (estimate.low is None and (estimate.beyond is None or estimate.value is None)):
        return []
    colour, aside = style_of(number).colour, plot.shift(number)
    lowest = plot.y.first_px - 6 - 5 * (number % 20)  # a curve that stays above half may have half below the chart
    y = max(plot.y.last_px + 6, min(plot.y.at(half), plot.y.first_px if estimate.value is not None else lowest))
    if estimate.beyond is None and estimate.low is not None and estimate.high is not None:
        return lying_whisker(y, (plot.x.at(estimate.low) + aside, plot.x.at(estimate.high) + aside), colour)
    if estimate.beyond is None:
        return []
    first = plot.x.at(estimate.beyond if estimate.low is None else estimate.low) + aside
    return lying_arrow(y, (first, plot.x.at(estimate.beyond) + _OPEN), colour, capped=estimate.low is not None)


def _half(line: StrengthLine) -> float | None:
    clean = next((estimate.value for strength, estimate in line.at if strength == 0), None)
    return None if clean is None else clean / 2


def _height(line: StrengthLine, at: float) -> float | None:
    """The line's score at a strength; None in a gap."""
    for run in _runs(line):
        for (first, before), (second, after) in pairwise(run):
            if first <= at <= second and before.value is not None and after.value is not None and first < second:
                return before.value + (after.value - before.value) * (at - first) / (second - first)
    return None


def _legend(lines: Sequence[StrengthLine], top: float, digits: int) -> list[DrawnShape]:
    parts: list[DrawnShape] = []
    for number, line in enumerate(lines):
        y, style = top + number * _ROW, style_of(number)
        parts.append(Line(start=(12, y), end=(46, y), colour=style.colour, width=2, dash=style.dash))
        parts.append(mark((29, y), style))
        text = "; ".join(text for text in (counts(_estimates(line)), _breaking(line, digits)) if text)
        parts.append(name_label((_NAME, y + 4), line.name, 196))
        parts.append(label((_NAME + 206, y + 4), text, _WIDTH - _NAME - 214, colour="quiet"))
    if not lines:
        parts.append(Text(at=(_NAME, top), words="no model", colour="quiet"))
    return parts


def _breaking(line: StrengthLine, digits: int) -> str:
    estimate = line.breaks_at
    if estimate is None:
        return ""
    if estimate.value is None and estimate.beyond is None:
        return f"half lost above {max((strength for strength, _ in line.at), default=0):g}"
    strength = estimate_text(estimate, min(digits, 1) or 1)
    return f"half lost {strength}" if estimate.value is None else f"half lost at {strength}"


def _lines_text(lines: Sequence[StrengthLine]) -> str:
    """The chart in words."""
    texts = []
    for line in lines:
        scores = [f"{_STRENGTHS.get(strength, f'{strength:g}')} {printed(score.value)}" for strength, score in line.at]
        scores += [f"dynamic {printed(line.dynamic.value)}"] if line.dynamic is not None else []
        broken = _breaking(line, 1)
        texts.append(f"{line.name}: {', '.join((*scores, broken) if broken else scores)}")
    return "; ".join(texts) or "no model"


_NAME_PX, _SLANT = 150.0, 0.7072
_LEAST, _LARGEST, _SIDE_PX = 18.0, 46.0, 640.0
_NUMBERS_FROM = 25.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Matrix:
    """A correlation matrix; rows and columns in the order drawn."""

    names: tuple[str, ...]  # of rows and columns alike
    values: tuple[tuple[float | None, ...], ...]  # row by row, -1..1; None where a correlation is Undefined
    n: int | None = None  # what each is over; None where that differs or is not known

    def __post_init__(self) -> None:
        """Check the shape and the range."""
        check_size("rows and columns", self.names, MAX_TYPES)
        side = len(self.names)
        if len(self.values) != side or any(len(row) != side for row in self.values):
            raise ValueError(f"a matrix of {side} names has {side} rows of {side} values")
        if not all(value is None or -1 - 1e-6 <= value <= 1 + 1e-6 for row in self.values for value in row):
            raise ValueError("a correlation is within -1..1; Undefined is None")


def matrix(table: Matrix, words: Words) -> Drawing:
    """Draw a matrix with its scale.

    Cells are wide enough for numbers up to two dozen names; every cell's title has its number. A cell that is
    Undefined is hatched.
    """
    side = len(table.names)
    cell = min(_LARGEST, max(_LEAST, _SIDE_PX / max(1, side)))
    size = 11.0 if cell >= _NUMBERS_FROM else 10.5
    names = [fitted(name, size, _NAME_PX, ends=True) for name in table.names]
    longest = max((text_width(name, size) for name in names), default=20.0)
    left = 8 + longest + 8
    top = (34.0 if words.heading else 8.0) + longest * _SLANT + size
    parts: list[DrawnShape] = []
    for number, name in enumerate(table.names):
        middle = (number + 0.5) * cell
        parts.append(name_label((left - 7, top + middle + 4), name, _NAME_PX, size=size, anchor="end"))
        parts.append(name_label((left + middle + 3, top - 6), name, _NAME_PX, size=size, rotation=-45))
    for row in range(side):
        for column in range(side):
            parts += _cell(table, (row, column), (left + column * cell, top + row * cell, cell))
    foot = top + side * cell
    reach = max(
        (left + (number + 0.5) * cell + text_width(name, size) * _SLANT for number, name in enumerate(names)), default=0
    )
    width = max(left + side * cell + 8, reach + 14, BAR_PX + 260)
    parts += [*_matrix_legend(table, words, (8, foot + 18, width - 16)), *heading(words.heading, width - 16)]
    return Drawing(
        size=(round(width), round(foot + 64)),
        parts=tuple(parts),
        title=words.heading or f"{words.axis} of {side} types",
        words=_matrix_text(table),
    )


def _cell(table: Matrix, at: tuple[int, int], box: tuple[float, float, float]) -> list[DrawnShape]:
    row, column = at
    x, y, side = box
    value = table.values[row][column]
    title = f"{table.names[row]} and {table.names[column]}: {NONE if value is None else f'{value:.2f}'}"
    if value is None:
        return _hatched(box, title)
    inner = side - 1
    parts: list[DrawnShape] = [Rect(x=x, y=y, width_px=inner, height_px=inner, fill=scale(value), title=title)]
    if side >= _NUMBERS_FROM:
        size = min(11.5, side * 0.38)
        words = _short(value)
        at_middle = (x + inner / 2, y + inner / 2 + size * 0.35)
        parts.append(Text(at=at_middle, words=words, size=size, anchor="middle", colour=on_scale(value), title=title))
    return parts


def _hatched(box: tuple[float, float, float], title: str) -> list[DrawnShape]:
    """Slanted lines in a cell: no colour of the scale, visible without colour too."""
    x, y, side = box
    inner = side - 1
    parts: list[DrawnShape] = [
        Rect(x=x, y=y, width_px=inner, height_px=inner, fill="ground", stroke="line", title=title)
    ]
    for share in (-0.5, 0.0, 0.5):
        first, last = max(0.0, share), min(1.0, 1 + share)
        start = (x + first * inner, y + inner - (first - share) * inner)
        parts.append(Line(start=start, end=(x + last * inner, y + inner - (last - share) * inner), colour="quiet"))
    return parts


def _short(value: float) -> str:
    """Two decimals without the leading 0, to fit a cell: ``.83``, ``-.12``, ``1``."""
    text = f"{value:.2f}"
    if text in {"1.00", "-1.00"}:
        return text[:-3]
    text = text.replace("0.", ".", 1)
    return "0" if text in {".00", "-.00"} else text


def _matrix_legend(table: Matrix, words: Words, box: tuple[float, float, float]) -> list[DrawnShape]:
    x, y, room = box
    parts = scale_bar(x, y)
    for value, anchor in ((-1, "start"), (0, "middle"), (1, "end")):
        position = (x + (value + 1) / 2 * BAR_PX, y + 27)
        parts.append(label(position, str(value), 40, anchor="start" if anchor == "start" else "middle", colour="quiet"))
    after = x + BAR_PX + 22
    parts += _hatched((after, y - 1, 15), "")
    parts.append(Text(at=(after + 20, y + 10), words=NONE, colour="quiet"))
    count = "" if table.n is None else f"; n {table.n:,}"
    parts.append(label((after + 50, y + 10), words.axis + count, room - (after + 50 - x), colour="quiet"))
    return parts


def _matrix_text(table: Matrix) -> str:
    """The strongest pairs in words; the table has the rest."""
    pairs = sorted(
        (
            (value, table.names[row], table.names[column])
            for row in range(len(table.names))
            for column in range(row)
            if (value := table.values[row][column]) is not None
        ),
        key=lambda pair: -abs(pair[0]),
    )
    missing = sum(value is None for row in table.values for value in row)
    strongest = ", ".join(f"{first} and {second} {value:.2f}" for value, first, second in pairs[:8])
    return (strongest or "no pair") + (f"; {missing} cells {NONE}" if missing else "")
