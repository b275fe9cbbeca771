"""The charts of the benchmark's report: IoU of the masks, reliability, RMSE by size."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from auscult.outcome import Scored
from auscult.report.curves import Axes, Line, lines_chart
from auscult.report.suite import Figure
from auscult.report.svg import Stack, histogram
from auscult.suites.mqa.baselines import BASELINES, RANDOM
from auscult.suites.mqa.calibration import Bin
from auscult.suites.mqa.evaluate import Block, Cell
from auscult.suites.mqa.results import BlockResults

_BINS = 20


def figures_of(results: BlockResults) -> tuple[Figure, ...]:
    """The charts of one block."""
    return (_true_ious(results.block), _reliability(results), _sizes(results))


def _true_ious(block: Block) -> Figure:
    known = [one for one in block.candidates if one.iou is not None]
    counts = Counter(min(_BINS - 1, int((one.iou or 0.0) * _BINS + 1e-9)) for one in known)
    stacks = [
        Stack(f"IoU {index / _BINS:.2f} to {(index + 1) / _BINS:.2f}", (("a-truth", "masks", counts[index]),))
        for index in range(_BINS)
    ]
    spoken = ", ".join(f"{stack.label}: {stack.total}" for stack in stacks if stack.total)
    chart = histogram(
        stacks,
        label=f"True IoU of {len(known)} masks: {spoken}",
        ticks={edge: f"{edge / _BINS:.1f}" for edge in range(0, _BINS + 1, 4)},
    )
    return Figure(caption=f"True IoU of the {len(known):,} masks that are judged.", chart=chart)


def _reliability(results: BlockResults) -> Figure:
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
    spoken = "; ".join(
        f"{line.name}: {', '.join(f'{x:.2f} is truly {y:.2f}' for x, y, _ in line.points)}" for line in lines
    )
    return Figure(
        caption="Reliability: masks in ten bins of the estimated IoU. On the diagonal an estimate is right on average; "
        "below it the judge is too kind.",
        chart=lines_chart(lines, axes, label=f"Mean true IoU by estimated IoU. {spoken}"),
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


def _sizes(results: BlockResults) -> Figure:
    styles = _styles(results)
    lines = [
        Line(name=judge, points=_size_points(cells), style=styles[judge], quiet=judge in BASELINES)
        for judge, cells in results.sizes.items()
    ]
    most = max((y for line in lines for _, y, _ in line.points), default=1.0)
    names = [cell.column for cell in next(iter(results.sizes.values()), [])]
    axes = Axes(
        x=(-0.3, len(names) - 0.7),
        y=(0.0, max(0.1, round(most + 0.05, 1))),
        ticks=tuple((float(index), name) for index, name in enumerate(names)),
        across="the object's share of the frame",
        up="RMSE",
    )
    spoken = "; ".join(f"{line.name}: {', '.join(words for *_, words in line.points)}" for line in lines)
    return Figure(
        caption="RMSE of the estimated IoU by size of the object; lower is better.",
        chart=lines_chart(lines, axes, label=f"RMSE by size of the object. {spoken}"),
    )


def _size_points(cells: Sequence[Cell]) -> tuple[tuple[float, float, str], ...]:
    return tuple(
        (float(index), cell.outcome.value, f"{cell.column}: {cell.outcome.value:.3f}, n {cell.n}")
        for index, cell in enumerate(cells)
        if isinstance(cell.outcome, Scored)
    )
