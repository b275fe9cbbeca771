"""How far a judge can be trusted: by size of the object, by order, bin by bin of its estimates, and over time.

- Size: RMSE over the objects whose share of the frame lies in a bin (``SIZES``).
- Order: Spearman's rank correlation of estimated and true IoU over all masks of a block.
- Reliability: masks are put into ten even bins of the *estimated* IoU; in each the mean estimate stands beside the mean
  true IoU. A judge is calibrated where the two agree. ``calibration_error`` is the mean of their absolute differences,
  weighted by the masks in the bins: 0..1, lower is better.
- Coverage of the judge's own 90 % intervals is measured with the cells.

A track is one kind of mask over the frames of a clip: its true type is the same throughout and its true IoU changes
slowly. With s_t the estimated and g_t the true IoU of frame t, over the steps between neighbouring frames that
both have an answer:

- ``excess_change``: mean of |s_t - s_(t-1)| minus mean of |g_t - g_(t-1)|. 0 is best: the judge moves as much as the
  mask does. Above 0 it is restless, below 0 it does not follow.
- ``step_error``: mean of |(s_t - s_(t-1)) - (g_t - g_(t-1))|, 0 or more, lower is better: a judge that moves as much
  but at other times is found here.
- ``agreement``: share of the frames whose told type is the track's most frequent one (of equally frequent ones any).
  0..1, higher is better. It asks for one mind, not for the right one.
- ``flicker``: share of the steps at which the told type changes, 0..1, lower is better.

Each is computed per track and averaged over the tracks; intervals draw whole clips. A track with fewer than two
answered neighbours has no steps and enters ``agreement`` only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import partial
from itertools import pairwise
from statistics import fmean

import numpy as np

from auscult.outcome import Scored, Signature, Undefined
from auscult.rng import generator
from auscult.score.judges import ClusterDraws, measures
from auscult.suites.mqa.evaluate import (
    AnsweredCandidate,
    Block,
    JudgedBlock,
    TableNumber,
    compared_part,
    judge_columns,
    measured_by,
)
from auscult.suites.mqa.rows import Candidate, JudgeAnswer, bin_of

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


def size_cells(judged: JudgedBlock) -> list[TableNumber]:
    """RMSE by size of the object, one cell per bin; Undefined where a bin holds no mask or no size is known."""
    cells = []
    for bounds in SIZES:
        members = of_size(judged.block, bounds)
        measured = measured_by("rmse", judged.pairs("rmse", members), protocol=judged.block.protocol)
        cells.append(judged.cell("rmse_by_size", measured, column=size_name(bounds), members=members))
    return cells


def of_size(block: Block, bounds: tuple[float, float]) -> list[Candidate]:
    """The candidates whose object has such a share of the frame; in video frame by frame."""
    low, high = bounds
    return [
        one
        for one in block.candidates
        if one.area is not None and (low <= one.area < high or (high >= 1 and one.area >= low))
    ]


def rank_cell(judged: JudgedBlock) -> TableNumber:
    """Spearman's correlation over all masks of a block, with an interval over clips."""
    measured = measures.spearman(*judge_columns(judged.pairs("spearman")))
    draws = ClusterDraws.of(
        measured.clusters, rng=partial(generator, 0, "mqa", "bootstrap", "spearman"), replicates=DRAWS
    )
    return judged.cell("spearman", measured, draws=draws)


def reliability(pairs: Sequence[AnsweredCandidate]) -> list[Bin]:
    """``BINS`` even bins of the estimated IoU over 0..1, from low to high, without masks that lack one of the two."""
    members: list[list[tuple[float, float]]] = [[] for _ in range(BINS)]
    for one, answer in pairs:
        if answer.iou is not None and one.iou is not None:
            members[bin_of(answer.iou, BINS)].append((answer.iou, one.iou))
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


@dataclass(frozen=True, slots=True, kw_only=True)
class TrackConsistency:
    """The four quantities of one track; None where it has no steps, or no answers."""

    excess_change: float | None
    step_error: float | None
    agreement: float | None
    flicker: float | None


def track_consistency(frames: Sequence[tuple[Candidate, JudgeAnswer | None]]) -> TrackConsistency:
    """Consistency of a judge on the frames of one track, in any order; None for what it said where it failed."""
    in_order = sorted(frames, key=lambda pair: pair[0].frame)
    ordered = [(one, answer) for one, answer in in_order if answer is not None]
    steps = [
        ((one, said), (other, then))
        for (one, said), (other, then) in pairwise(in_order)
        if said is not None and then is not None
    ]
    moves = [move for before, after in steps if (move := _move(before, after)) is not None]
    told = Counter(answer.defect for _, answer in ordered)
    return TrackConsistency(
        excess_change=fmean(abs(own) for own, _ in moves) - fmean(abs(true) for _, true in moves) if moves else None,
        step_error=fmean(abs(own - true) for own, true in moves) if moves else None,
        agreement=max(told.values()) / len(ordered) if ordered else None,
        flicker=fmean(after[1].defect != before[1].defect for before, after in steps) if steps else None,
    )


def _move(before: AnsweredCandidate, after: AnsweredCandidate) -> tuple[float, float] | None:
    """Change of the estimated and of the true IoU; None where one of the four is missing."""
    told, true = (before[1].iou, after[1].iou), (before[0].iou, after[0].iou)
    if told[0] is None or told[1] is None or true[0] is None or true[1] is None:
        return None
    return told[1] - told[0], true[1] - true[0]


def consistency_cells(judged: JudgedBlock) -> list[TableNumber]:
    """The four quantities over the tracks of a video block; ``n`` counts tracks, what is left out counts frames."""
    tracks: dict[str, list[tuple[Candidate, JudgeAnswer | None]]] = {}
    for one in judged.block.candidates:
        if one.defect != "empty":
            tracks.setdefault(one.track, []).append((one, judged.answers.get(one.id)))
    found = [(frames[0][0].clip, track_consistency(frames)) for frames in tracks.values()]
    return [_consistency_cell(judged, found, metric.name) for metric in fields(TrackConsistency)]


def _consistency_cell(judged: JudgedBlock, tracks: Sequence[tuple[str, TrackConsistency]], metric: str) -> TableNumber:
    kept = [(clip, value) for clip, track in tracks if (value := getattr(track, metric)) is not None]
    measured = measures.mean_of(
        np.array([value for _, value in kept]),
        [clip for clip, _ in kept],
        without="no track has two neighbouring frames with an answer",
        missing=sum(getattr(answer, compared_part(metric)) is None for _, answer in judged.pairs(metric)),
        metric=metric,
        over="tracks",
        protocol="video",
    )
    return judged.cell(metric, measured)
