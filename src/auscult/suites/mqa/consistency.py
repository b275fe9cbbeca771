"""Is a judge of one mind about one mask track? Temporal consistency of the video protocol.

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
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import fmean

import numpy as np

from auscult.outcome import Scored, Signature, Undefined
from auscult.suites.mqa.evaluate import Block, Cell, cell_for, defined_pairs, with_lost
from auscult.suites.mqa.measures import Measured, Pair, mean_of_sums
from auscult.suites.mqa.rows import Answer, Answers, Candidate

_READS = {
    "excess_change": ("rmse", "iou"), "step_error": ("rmse", "iou"), "agreement": ("f2_m", "defect"),
    "flicker": ("f2_m", "defect"),
}  # fmt: skip
"""The quantities; to each the metric that is defined where it is, and the part of a reply that it reads."""

METRICS = tuple(_READS)


@dataclass(frozen=True, slots=True, kw_only=True)
class TrackConsistency:
    """The four quantities of one track; None where it has no steps, or no answers.

    Attributes:
        excess_change: See above.
        step_error: See above.
        agreement: See above.
        flicker: See above.
    """

    excess_change: float | None
    step_error: float | None
    agreement: float | None
    flicker: float | None


def track_consistency(frames: Sequence[tuple[Candidate, Answer | None]]) -> TrackConsistency:
    """Consistency of a judge on one track.

    Args:
        frames: All frames of the track with what the judge said, None where it failed; in any order.

    Returns:
        The four quantities; a step is two frames that follow one another in the track and both have an answer.
    """
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


def _move(before: Pair, after: Pair) -> tuple[float, float] | None:
    """Change of the estimated and of the true IoU; None where one of the four is missing."""
    told, true = (before[1].iou, after[1].iou), (before[0].iou, after[0].iou)
    if told[0] is None or told[1] is None or true[0] is None or true[1] is None:
        return None
    return told[1] - told[0], true[1] - true[0]


def consistency_cells(block: Block, judge: str, answers: Answers) -> list[Cell]:
    """The four quantities of a judge over the tracks of a video block, each with its interval.

    ``n`` counts tracks; ``failed``, ``undefined`` and ``unparsed`` count frames.
    """
    tracks: dict[str, list[tuple[Candidate, Answer | None]]] = {}
    for one in block.candidates:
        if one.defect != "empty":
            tracks.setdefault(one.track, []).append((one, answers.get(one.id)))
    found = [(pairs[0][0].clip, track_consistency(pairs)) for pairs in tracks.values()]
    cells = []
    for metric, (kind, part) in _READS.items():
        measured = _measured([(clip, getattr(track, metric)) for clip, track in found], metric)
        silent = sum(getattr(answer, part) is None for _, answer in defined_pairs(block.candidates, answers, kind))
        cell = cell_for(block, judge, replace(measured, unparsed=silent), metric=metric, column="all")
        cells.append(with_lost(cell, block.candidates, answers, metric=kind))
    return cells


def _measured(values: Sequence[tuple[str, float | None]], metric: str) -> Measured:
    kept = [(clip, value) for clip, value in values if value is not None]
    outcome: Scored[float] | Undefined = Undefined("no track has two neighbouring frames with an answer")
    if kept:
        signature = Signature.of(metric=metric, over="tracks", protocol="video")
        outcome = Scored(fmean(value for _, value in kept), signature)
    return Measured(
        outcome=outcome,
        rows=np.array([[value, 1.0] for _, value in kept]).reshape(-1, 2),
        clusters=tuple(clip for clip, _ in kept),
        from_sums=mean_of_sums,
        n=len(kept),
        unparsed=0,
    )
