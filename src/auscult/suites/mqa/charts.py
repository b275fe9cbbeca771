"""The charts of the benchmark's report: IoU of the masks, reliability, RMSE by size."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from auscult.arrays.boxes import box_of, grown, union_box, window
from auscult.errors import AuscultError
from auscult.media.frames import encode_jpeg, read_frame
from auscult.media.masks import read_mask
from auscult.media.paths import safe_name
from auscult.outcome import Scored
from auscult.record.folder import RunFolder
from auscult.report.charts.basic import Axes, Series, bars_drawing, lines_drawing
from auscult.report.facts import ACTION_WORDS, number
from auscult.report.overlay import compared
from auscult.report.page import Example, Figure
from auscult.suites.mqa.baselines import BASELINES, RANDOM
from auscult.suites.mqa.calibration import Bin
from auscult.suites.mqa.evaluate import Block, TableNumber
from auscult.suites.mqa.results import BlockResults
from auscult.suites.mqa.rows import Answers, Candidate, JudgeAnswer
from auscult.types import DEFECTS, Frame, Item, Mask

_BINS = 20


def figures_of(results: BlockResults) -> tuple[Figure, ...]:
    """The charts of one block, named after it."""
    start = f"{results.block.protocol}_{results.block.part}"
    return (
        _true_ious(results.block, f"{start}_iou"),
        _reliability(results, f"{start}_reliability"),
        _sizes(results, f"{start}_size"),
    )


def _true_ious(block: Block, name: str) -> Figure:
    known = [one for one in block.candidates if one.iou is not None]
    counts = Counter(min(_BINS - 1, int((one.iou or 0.0) * _BINS + 1e-9)) for one in known)
    bars = [(f"IoU {index / _BINS:.2f} to {(index + 1) / _BINS:.2f}", counts[index]) for index in range(_BINS)]
    drawing = bars_drawing(
        bars,
        ticks={edge: f"{edge / _BINS:.1f}" for edge in range(0, _BINS + 1, 4)},
        title=f"True IoU of {len(known)} masks",
        unit="masks",
    )
    return Figure(name=name, caption=f"True IoU of the {len(known):,} masks that are judged.", drawing=drawing)


def _reliability(results: BlockResults, name: str) -> Figure:
    """Rows that say the same of everything have one point and no line."""
    styles = _styles(results)
    lines = [
        Series(name=judge, points=_points(curve), style=styles[judge], quiet=judge in BASELINES)
        for judge, curve in results.curves.items()
        if judge not in BASELINES or judge == RANDOM
    ]
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
        drawing=lines_drawing(lines, axes, title="Mean true IoU by estimated IoU"),
    )


def _points(curve: Sequence[Bin]) -> tuple[tuple[float, float, str], ...]:
    return tuple(
        (one.told, one.true, f"estimated {one.told:.2f}, true {one.true:.2f}, {one.n} masks")
        for one in curve
        if one.told is not None and one.true is not None
    )


def _styles(results: BlockResults) -> dict[str, int]:
    """One mark and shade per row in every chart of the page, by the order of the rows."""
    return {judge: number for number, judge in enumerate(results.cells)}


def _sizes(results: BlockResults, name: str) -> Figure:
    styles = _styles(results)
    lines = [
        Series(name=judge, points=_size_points(cells), style=styles[judge], quiet=judge in BASELINES)
        for judge, cells in results.sizes.items()
    ]
    most = max((y for line in lines for _, y, _ in line.points), default=1.0)
    columns = [cell.column for cell in next(iter(results.sizes.values()), [])]
    axes = Axes(
        x=(-0.3, len(columns) - 0.7),
        y=(0.0, max(0.1, round(most + 0.05, 1))),
        ticks=tuple((float(index), words) for index, words in enumerate(columns)),
        across="the object's share of the frame",
        up="RMSE",
    )
    return Figure(
        name=name,
        caption="RMSE of the estimated IoU by size of the object; lower is better.",
        drawing=lines_drawing(lines, axes, title="RMSE by size of the object"),
    )


def _size_points(cells: Sequence[TableNumber]) -> tuple[tuple[float, float, str], ...]:
    return tuple(
        (float(index), cell.outcome.value, f"{cell.column}: {cell.outcome.value:.3f}, n {cell.n}")
        for index, cell in enumerate(cells)
        if isinstance(cell.outcome, Scored)
    )


LONGEST_PX = 420
_LEAST_MARGIN_PX = 24

DASH = "–"

Pick: TypeAlias = tuple[str, Candidate]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """Where the pictures come from."""

    items: Mapping[str, Item]
    judges: Mapping[str, Answers]  # row to answers; baselines left out


def picks(candidates: Sequence[Candidate], answers: Answers) -> list[Pick]:
    """The best and the worst case of each type, by a judge's error of the IoU; none of a type that nobody answered.

    Where several are equally good the wrong type counts as worse, then the id decides.
    """
    found: list[Pick] = []
    for defect in DEFECTS:
        scored = sorted(
            (
                (abs(answers[one.id].iou - one.iou), answers[one.id].defect != defect, one.id, one)  # type: ignore[operator]
                for one in candidates
                if one.defect == defect and _has_both(one, answers)
            ),
            key=lambda row: row[:3],
        )
        if scored:
            found.append((f"{defect}: best case", scored[0][-1]))
        if len(scored) > 1:
            found.append((f"{defect}: worst case", scored[-1][-1]))
    return found


def draw_examples(run: RunFolder, chosen: Sequence[Pick], shown: Shown) -> list[Example]:
    """Draw what was picked and keep it in the record; one whose files cannot be read is left out."""
    examples = []
    for title, one in chosen:
        item = shown.items[one.id]
        name = f"pictures/{safe_name(one.id)}.jpg"
        try:
            jpeg = _drawn(item)
        except AuscultError:
            continue
        run.write_bytes(name, jpeg)
        examples.append(
            Example(
                title=title,
                jpeg=jpeg,
                text=item.query.text or "",
                id=one.id,
                facts=tuple(_facts(one, shown.judges)),
                file=name,
            )
        )
    return examples


def outlined(frame: Frame, mask: Mask, truth: Mask | None) -> Frame:
    """A candidate's tint and the true outline on a frame, at most ``LONGEST_PX`` on the longer side.

    Args:
        frame: uint8 RGB (H, W, 3); not changed.
        mask: The candidate, bool (H, W).
        truth: The true mask, bool (H, W); None for none.
    """
    frame, mask, truth = _view(frame, mask, truth)
    scale = min(1.0, LONGEST_PX / max(mask.shape))
    size = max(1, round(mask.shape[1] * scale)), max(1, round(mask.shape[0] * scale))
    return compared(frame, mask, truth, size=size)


def _drawn(item: Item) -> bytes:
    frame = read_frame(item.frame)
    size = (frame.shape[0], frame.shape[1])
    truth = None if item.truth is None or item.truth.mask is None else read_mask(item.truth.mask, size=size).mask
    return encode_jpeg(outlined(frame, read_mask(item.mask, size=size).mask, truth), quality=80)


def _view(frame: Frame, mask: Mask, truth: Mask | None) -> tuple[Frame, Mask, Mask | None]:
    """The part of the frame around candidate and truth, with as much again around it."""
    shown = union_box(box_of(mask), None if truth is None else box_of(truth))
    if shown is None:
        return frame, mask, truth
    margin = max(_LEAST_MARGIN_PX, round(0.5 * max(shown[2] - shown[0], shown[3] - shown[1])))
    rows, columns = window(grown(shown, margin, mask.shape))
    return frame[rows, columns], mask[rows, columns], None if truth is None else truth[rows, columns]


def _has_both(one: Candidate, answers: Answers) -> bool:
    return one.iou is not None and one.id in answers and answers[one.id].iou is not None


def _facts(one: Candidate, judges: Mapping[str, Answers]) -> list[tuple[str, str]]:
    grade = f", {one.difficulty}" if one.difficulty else ""
    action = ACTION_WORDS.get(one.action or "", DASH)
    facts = [("truth", f"IoU {number(one.iou)}, {one.defect}{grade}, {action}")]
    return facts + [(judge, _answer_text(answers.get(one.id))) for judge, answers in judges.items()]


def _answer_text(answer: JudgeAnswer | None) -> str:
    if answer is None:
        return "failed"
    return f"IoU {number(answer.iou)}, {answer.defect or DASH}, {ACTION_WORDS.get(answer.action or '', DASH)}"
