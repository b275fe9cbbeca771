"""The charts of the benchmark's report: IoU of the masks, reliability, RMSE by size."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from auscult.outcome import Scored
from auscult.report.curves import Axes, Line
from auscult.report.suite import Figure
from auscult.suites.mqa.baselines import BASELINES, RANDOM
from auscult.suites.mqa.calibration import Bin
from auscult.suites.mqa.drawn import bars_drawing, lines_drawing
from auscult.suites.mqa.evaluate import Block, Cell
from auscult.suites.mqa.results import BlockResults

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
        Line(name=judge, points=_points(curve), style=styles[judge], quiet=judge in BASELINES)
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
        Line(name=judge, points=_size_points(cells), style=styles[judge], quiet=judge in BASELINES)
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


def _size_points(cells: Sequence[Cell]) -> tuple[tuple[float, float, str], ...]:
    return tuple(
        (float(index), cell.outcome.value, f"{cell.column}: {cell.outcome.value:.3f}, n {cell.n}")
        for index, cell in enumerate(cells)
        if isinstance(cell.outcome, Scored)
    )
