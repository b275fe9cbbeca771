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
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from auscult.outcome import Scored, Signature, Undefined
from auscult.rng import generator
from auscult.score.stats import Interval, percentile_interval, spearman
from auscult.score.stats.resample import Floats
from auscult.suites.mqa.evaluate import Block, Cell, cell_for
from auscult.suites.mqa.measures import Pair, measure_rmse
from auscult.suites.mqa.rows import Answers

SIZES: tuple[tuple[float, float], ...] = ((0.0, 0.01), (0.01, 0.05), (0.05, 0.15), (0.15, 0.30), (0.30, 1.0))
"""Bins of the object's share of the frame: low end included, high end not (but for the last)."""

BINS = 10
DRAWS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Bin:
    """One bin of the reliability curve.

    Attributes:
        low: Low end of the estimated IoU, included.
        high: High end, not included but for the last.
        n: Masks in it.
        told: Mean estimated IoU; None where it holds no mask.
        true: Mean true IoU.
    """

    low: float
    high: float
    n: int
    told: float | None
    true: float | None


def size_name(bounds: tuple[float, float]) -> str:
    """A size bin in words: percent of the frame."""
    low, high = bounds
    if high >= 1:
        return f"{100 * low:g} % and more"
    return f"under {100 * high:g} %" if low == 0 else f"{100 * low:g} to {100 * high:g} %"


def size_cells(block: Block, judge: str, answers: Answers) -> list[Cell]:
    """RMSE by size of the object, one cell per bin; Undefined where a bin holds no mask or no size is known."""
    cells = []
    for low, high in SIZES:
        pairs = [
            (one, answers[one.id])
            for one in block.candidates
            if one.id in answers
            and one.defect != "empty"
            and one.area is not None
            and (low <= one.area < high or (high >= 1 and one.area >= low))
        ]
        measured = measure_rmse(pairs, block.protocol, "wrong")
        cells.append(cell_for(block, judge, measured, metric="rmse_by_size", column=size_name((low, high))))
    return cells


def rank_cell(block: Block, judge: str, answers: Answers) -> Cell:
    """Spearman's correlation over all masks of a block, with an interval over clips."""
    kept = [
        (one.clip, answers[one.id].iou, one.iou)
        for one in block.candidates
        if one.id in answers and one.defect != "empty" and one.iou is not None and answers[one.id].iou is not None
    ]
    told, true = np.array([row[1] for row in kept], np.float64), np.array([row[2] for row in kept], np.float64)
    outcome = spearman(told, true)
    places: dict[str, list[int]] = {}
    for place, (clip, _, _) in enumerate(kept):
        places.setdefault(clip, []).append(place)
    if isinstance(outcome, Scored) and len(places) > 1:
        outcome = _drawn_rank(outcome, told, true, clusters=[np.array(found) for found in places.values()])
    return Cell(
        protocol=block.protocol,
        part=block.part,
        judge=judge,
        metric="spearman",
        column="all",
        outcome=outcome,
        n=len(kept),
        failed=sum(one.id not in answers for one in block.candidates),
        undefined=sum(one.iou is None or one.defect == "empty" for one in block.candidates if one.id in answers),
        unparsed=sum(answers[one.id].iou is None for one in block.candidates if one.id in answers),
    )


def _drawn_rank(
    outcome: Scored[float], told: Floats, true: Floats, *, clusters: Sequence[NDArray[np.int64]]
) -> Scored[float]:
    rng = generator(0, "mqa", "bootstrap", "spearman")
    values = []
    for _ in range(DRAWS):
        chosen = np.concatenate([clusters[at] for at in rng.integers(len(clusters), size=len(clusters))])
        drawn = spearman(told[chosen], true[chosen])
        values.append(drawn.value if isinstance(drawn, Scored) else np.nan)
    ends = percentile_interval(np.array(values))
    if ends is None:
        return outcome
    how = Signature.of(interval="percentile bootstrap", drawn="clips", level="0.95", replicates=DRAWS)
    own = [pair for pair in outcome.signature.fields if pair[0] != "version"]
    return Interval(
        value=outcome.value,
        signature=Signature((*own, *how.fields)),
        low=ends[0],
        high=ends[1],
        clusters=len(clusters),
        replicates=int(np.count_nonzero(~np.isnan(values))),
        undefined=int(np.count_nonzero(np.isnan(values))),
    )


def pairs_of(block: Block, answers: Answers) -> list[Pair]:
    """The candidates that have both an estimate and a true IoU."""
    return [
        (one, answers[one.id])
        for one in block.candidates
        if one.id in answers and one.defect != "empty" and one.iou is not None and answers[one.id].iou is not None
    ]


def reliability(pairs: Sequence[Pair]) -> list[Bin]:
    """The reliability curve of an estimate.

    Args:
        pairs: Candidates with estimate and truth, as ``pairs_of`` gives.

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
