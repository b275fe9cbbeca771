"""How far a judge's estimates can be trusted: by size of the object, by order, and bin by bin of what it says.

- Size: RMSE over the objects whose share of the frame lies in a bin (``SIZES``).
- Order: Spearman's rank correlation of estimated and true IoU over all masks of a block.
- Reliability: masks are put into ten even bins of the *estimated* IoU; in each the mean estimate stands beside the mean
  true IoU. A judge is calibrated where the two agree. ``calibration_error`` is the mean of their absolute differences,
  weighted by the masks in the bins: 0..1, lower is better.
- Coverage of the judge's own 90 % intervals is measured with the cells.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from statistics import fmean

from auscult.outcome import Scored, Signature, Undefined
from auscult.rng import generator
from auscult.score.judges import ClusterDraws, measures
from auscult.suites.mqa.evaluate import (
    AnsweredCandidate,
    Block,
    TableNumber,
    cell_for,
    defined_pairs,
    judge_columns,
    measure_rmse,
    with_lost,
)
from auscult.suites.mqa.rows import Answers, Candidate

SIZES: tuple[tuple[float, float], ...] = ((0.0, 0.01), (0.01, 0.05), (0.05, 0.15), (0.15, 0.30), (0.30, 1.0))
"""Bins of the object's share of the frame: low end included, high end not (but for the last)."""

BINS = 10
DRAWS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Bin:
    """One bin of the reliability curve."""

    low: float  # of the estimated IoU, included
    high: float  # not included but for the last bin
    n: int  # masks in it
    told: float | None  # mean estimated IoU
    true: float | None  # mean true IoU


def size_name(bounds: tuple[float, float]) -> str:
    """A size bin in words: percent of the frame."""
    low, high = bounds
    if high >= 1:
        return f"{100 * low:g} % and more"
    return f"under {100 * high:g} %" if low == 0 else f"{100 * low:g} to {100 * high:g} %"


def size_cells(block: Block, judge: str, answers: Answers) -> list[TableNumber]:
    """RMSE by size of the object, one cell per bin; Undefined where a bin holds no mask or no size is known."""
    cells = []
    for bounds in SIZES:
        members = of_size(block, bounds)
        measured = measure_rmse(defined_pairs(members, answers, "rmse"), block.protocol, "wrong")
        cell = cell_for(block, judge, measured, metric="rmse_by_size", column=size_name(bounds))
        cells.append(with_lost(cell, members, answers, metric="rmse"))
    return cells


def of_size(block: Block, bounds: tuple[float, float]) -> list[Candidate]:
    """The candidates whose object has such a share of the frame; in video frame by frame."""
    low, high = bounds
    return [
        one
        for one in block.candidates
        if one.area is not None and (low <= one.area < high or (high >= 1 and one.area >= low))
    ]


def rank_cell(block: Block, judge: str, answers: Answers) -> TableNumber:
    """Spearman's correlation over all masks of a block, with an interval over clips."""
    measured = measures.spearman(*judge_columns(defined_pairs(block.candidates, answers, "rmse")))
    draws = ClusterDraws.of(
        measured.clusters, rng=partial(generator, 0, "mqa", "bootstrap", "spearman"), replicates=DRAWS
    )
    cell = cell_for(block, judge, measured, metric="spearman", column="all", draws=draws)
    return with_lost(cell, block.candidates, answers, metric="rmse")


def pairs_of(block: Block, answers: Answers) -> list[AnsweredCandidate]:
    """The candidates that have both an estimate and a true IoU."""
    return [pair for pair in defined_pairs(block.candidates, answers, "rmse") if pair[1].iou is not None]


def reliability(pairs: Sequence[AnsweredCandidate]) -> list[Bin]:
    """The reliability curve of an estimate.

    Returns:
        ``BINS`` even bins of the estimated IoU over 0..1, from low to high.
    """
    members: list[list[tuple[float, float]]] = [[] for _ in range(BINS)]
    for one, answer in pairs:
        told, true = answer.iou or 0.0, one.iou or 0.0
        members[min(BINS - 1, max(0, int(told * BINS + 1e-9)))].append((told, true))
    return [
        Bin(
            low=index / BINS,
            high=(index + 1) / BINS,
            n=len(found),
            told=fmean(told for told, _ in found) if found else None,
            true=fmean(true for _, true in found) if found else None,
        )
        for index, found in enumerate(members)
    ]


def calibration_error(bins: Sequence[Bin]) -> Scored[float] | Undefined:
    """Mean absolute difference of estimated and true IoU over the bins, weighted by their masks; lower is better."""
    total = sum(one.n for one in bins)
    if not total:
        return Undefined("no masks")
    value = sum(one.n * abs(one.told - one.true) for one in bins if one.told is not None and one.true is not None)
    return Scored(value / total, Signature.of(metric="calibration error", bins=len(bins), of="estimated IoU"))
