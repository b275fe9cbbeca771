"""The charts of the benchmark's report: IoU of the masks, reliability, RMSE by size."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from auscult.arrays.boxes import box_of, grown, union_box, window
from auscult.errors import AuscultError
from auscult.media.frames import encode_jpeg, read_frame
from auscult.media.masks import read_mask
from auscult.media.paths import safe_name
from auscult.outcome import Scored
from auscult.report.charts.basic import Axes, Series, bars_drawing, lines_drawing
from auscult.report.facts import ACTION_WORDS, number
from auscult.report.overlay import draw, overlay, parts
from auscult.report.page import Example, Figure
from auscult.report.strip import MOST_FRAMES, StripCell, StripRow, strip
from auscult.suites.mqa.evaluate import Bin, Block, TableNumber
from auscult.suites.mqa.rows import BASELINES, RANDOM, AnswersById, Candidate, JudgeAnswer, bin_of
from auscult.suites.mqa.tables import DASH, BlockResults
from auscult.types import DEFECTS, Box, ErrorMap, Frame, Item, Mask

SeriesPoints: TypeAlias = tuple[tuple[float, float, str], ...]
"""Points of a line, x and y with labels."""

_BINS = 20


def figures_of(results: BlockResults) -> tuple[Figure, ...]:
    """The charts of one block, named after it."""
    start = results.block.name
    return (
        _true_ious(results.block, f"{start}_iou"),
        _reliability(results, f"{start}_reliability"),
        _sizes(results, f"{start}_size"),
    )


def _true_ious(block: Block, name: str) -> Figure:
    ious = [candidate.iou for candidate in block.candidates if candidate.iou is not None]
    counts = Counter(bin_of(iou, _BINS) for iou in ious)
    bars = [(f"IoU {index / _BINS:.2f} to {(index + 1) / _BINS:.2f}", counts[index]) for index in range(_BINS)]
    drawing = bars_drawing(
        bars,
        ticks={edge: f"{edge / _BINS:.1f}" for edge in range(0, _BINS + 1, 4)},
        title=f"True IoU of {len(ious)} masks",
        unit="masks",
    )
    return Figure(name=name, caption=f"True IoU of the {len(ious):,} masks that are judged.", drawing=drawing)


def _reliability(results: BlockResults, name: str) -> Figure:
    """Reliability curves; a constant answer has one point and no line."""
    curves = {
        judge: _points(curve) for judge, curve in results.curves.items() if judge not in BASELINES or judge == RANDOM
    }
    axes = Axes(
        x=(0.0, 1.0),
        y=(0.0, 1.0),
        ticks=tuple((step / 5, f"{step / 5:.1f}") for step in range(6)),
        across="estimated IoU",
        up="mean true IoU",
        diagonal=True,
    )
    return Figure(
        name=name,
        caption="Reliability: masks in ten bins of the estimated IoU. On the diagonal an estimate is right on average; "
        "below it the judge is too kind.",
        drawing=lines_drawing(_lines(results, curves), axes, title="Mean true IoU by estimated IoU"),
    )


def _points(curve: Sequence[Bin]) -> SeriesPoints:
    return tuple(
        (point.estimated, point.true, f"estimated {point.estimated:.2f}, true {point.true:.2f}, {point.n} masks")
        for point in curve
        if point.estimated is not None and point.true is not None
    )


def _lines(results: BlockResults, points: Mapping[str, SeriesPoints]) -> list[Series]:
    """A line for each row with points, in the same mark and shade on all charts of the page."""
    return [
        Series(name=judge, points=points[judge], style=number, quiet=judge in BASELINES)
        for number, judge in enumerate(results.cells)
        if judge in points
    ]


def _sizes(results: BlockResults, name: str) -> Figure:
    lines = _lines(results, {judge: _size_points(cells) for judge, cells in results.sizes.items()})
    highest = max((y for line in lines for _, y, _ in line.points), default=1.0)
    columns = [cell.column for cell in next(iter(results.sizes.values()), [])]
    axes = Axes(
        x=(-0.3, len(columns) - 0.7),
        y=(0.0, max(0.1, round(highest + 0.05, 1))),
        ticks=tuple((float(index), words) for index, words in enumerate(columns)),
        across="the object's share of the frame",
        up="RMSE",
    )
    return Figure(
        name=name,
        caption="RMSE of the estimated IoU by size of the object; lower is better.",
        drawing=lines_drawing(lines, axes, title="RMSE by size of the object"),
    )


def _size_points(cells: Sequence[TableNumber]) -> SeriesPoints:
    return tuple(
        (float(index), cell.outcome.value, f"{cell.column}: {cell.outcome.value:.3f}, n {cell.n}")
        for index, cell in enumerate(cells)
        if isinstance(cell.outcome, Scored)
    )


_CELL_PX = 300
_MOST_TARGET = 60
_MOST_WORDS = 400
_LEAST_MARGIN_PX = 24

Pick: TypeAlias = tuple[str, Candidate]


def picks(candidates: Sequence[Candidate], answers: AnswersById) -> list[Pick]:
    """The best and the worst case of each type by the error of the IoU, then a wrong type, then the id."""
    errors: dict[str, list[tuple[float, bool, str, Candidate]]] = {}
    for candidate in candidates:
        answer = answers.get(candidate.id)
        if answer is not None and answer.iou is not None and candidate.iou is not None:
            row = abs(answer.iou - candidate.iou), answer.defect != candidate.defect, candidate.id, candidate
            errors.setdefault(candidate.defect, []).append(row)
    chosen: list[Pick] = []
    for defect in DEFECTS:
        ranked = sorted(errors.get(defect, ()), key=lambda row: row[:3])
        chosen += [(f"{defect}: best case", row[-1]) for row in ranked[:1]]
        chosen += [(f"{defect}: worst case", row[-1]) for row in ranked[1:][-1:]]
    return chosen


def failures(judges: Mapping[str, AnswersById], candidates: Sequence[Candidate], shown: Collection[str]) -> list[Pick]:
    """The worst failure of each judge and kind, as in Fig. 13, without masks already ``shown``.

    Kinds: a wrong mask called perfect, and a named target without any word of the true category.
    """
    chosen: dict[str, Candidate] = {}
    for judge, answers in judges.items():
        used = {*shown, *(candidate.id for candidate in chosen.values())}
        answered = [
            (candidate, answers[candidate.id])
            for candidate in candidates
            if candidate.id in answers and candidate.id not in used
        ]
        mistaken = [
            candidate
            for candidate, answer in answered
            if answer.defect == "perfect" != candidate.defect and candidate.iou is not None
        ]
        if mistaken:
            worst = min(mistaken, key=lambda one: (one.iou, one.id))
            chosen[f"{judge}: {worst.defect} taken for perfect"] = worst
        other = [(candidate, answer) for candidate, answer in answered if _names_another(candidate, answer)]
        if other:
            candidate, answer = min(other, key=lambda pair: pair[0].id)
            chosen[f"{judge}: speaks of {answer.target[:_MOST_TARGET]}, not of {candidate.category}"] = candidate
    return list(chosen.items())


def _names_another(candidate: Candidate, answer: JudgeAnswer) -> bool:
    said, meant = (set(text.lower().replace("_", " ").split()) for text in (answer.target, candidate.category))
    return bool(said and meant) and not said & meant


def draw_examples(
    chosen: Sequence[Pick],
    *,
    items: Mapping[str, Item],
    judges: Mapping[str, AnswersById],
    error_maps: Mapping[str, Mapping[str, ErrorMap]],
) -> list[Example]:
    """Draw the examples, all judges side by side; unreadable ones are left out."""
    examples = []
    for title, candidate in chosen:
        item, name = items[candidate.id], f"pictures/{safe_name(candidate.id)}.jpg"
        try:
            answer_texts = {judge: _answer_text(answers.get(candidate.id)) for judge, answers in judges.items()}
            maps = {judge: error_maps.get(judge, {}).get(candidate.id) for judge in judges}
            jpeg = _drawn(item, candidate.iou, answer_texts=answer_texts, maps=maps)
        except AuscultError:
            continue
        facts = tuple(_facts(candidate, judges))
        text = item.query.text or ""
        examples.append(
            Example(title=title, jpeg=jpeg, text=text, id=candidate.id, facts=facts, file=name, broad=len(judges) > 1)
        )
    return examples


def _drawn(
    item: Item, true_iou: float | None, *, answer_texts: Mapping[str, str], maps: Mapping[str, ErrorMap | None]
) -> bytes:
    """A candidate with the true outline, and beside it the error map of each judge, as JPEG."""
    frame = read_frame(item.frame)
    size = (frame.shape[0], frame.shape[1])
    truth = None if item.truth is None or item.truth.mask is None else read_mask(item.truth.mask, size=size).mask
    mask = read_mask(item.mask, size=size).mask
    view = _view(mask, truth)
    region = window(view)
    cells = [StripCell(frame=frame[region], prediction=mask[region], truth=None if truth is None else truth[region])]
    cells = [replace(cells[0], score=true_iou, over="candidate and truth")]
    for judge, words in answer_texts.items():
        marked = _marked(np.ascontiguousarray(frame[region]), mask[region], maps[judge], view=view)
        cells.append(StripCell(frame=marked, prediction=None, why=words, over=judge))
    cells = cells[:MOST_FRAMES]
    return encode_jpeg(strip([StripRow(name="", cells=tuple(cells))], width_px=_CELL_PX * len(cells)), quality=80)


def _marked(frame: Frame, mask: Mask, errors: ErrorMap | None, *, view: Box) -> Frame:
    """A part of a frame with the candidate tinted and a judge's error map drawn."""
    picture = overlay(frame, mask)
    if errors is not None:
        missing, extra = parts(errors, mask, view)
        draw(picture, missing, extra, period_px=max(4, round(max(mask.shape) / 40)))
    return picture


def _view(mask: Mask, truth: Mask | None) -> Box:
    """The box around candidate and truth, with a margin of half their size."""
    box = union_box(box_of(mask), None if truth is None else box_of(truth))
    if box is None:
        return 0, 0, mask.shape[1], mask.shape[0]
    margin = max(_LEAST_MARGIN_PX, round(0.5 * max(box[2] - box[0], box[3] - box[1])))
    return grown(box, margin, mask.shape)


def _facts(candidate: Candidate, judges: Mapping[str, AnswersById]) -> list[tuple[str, str]]:
    grade = f", {candidate.difficulty}" if candidate.difficulty else ""
    action = ACTION_WORDS.get(candidate.action or "", DASH)
    facts = [("truth", f"IoU {number(candidate.iou)}, {candidate.defect}{grade}, {action}")]
    return facts + [(judge, _answer_with_reason(answers.get(candidate.id))) for judge, answers in judges.items()]


def _answer_with_reason(answer: JudgeAnswer | None) -> str:
    """A judge's answer with its reasons."""
    if answer is None or not answer.words:
        return _answer_text(answer)
    words = answer.words if len(answer.words) <= _MOST_WORDS else f"{answer.words[:_MOST_WORDS]} ..."
    own = f", itself: {ACTION_WORDS[answer.own_action]}" if answer.own_action in ACTION_WORDS else ""
    return f"{_answer_text(answer)}{own}. {words}"


def _answer_text(answer: JudgeAnswer | None) -> str:
    if answer is None:
        return "failed"
    return f"IoU {number(answer.iou)}, {answer.defect or DASH}, {ACTION_WORDS.get(answer.action or '', DASH)}"
