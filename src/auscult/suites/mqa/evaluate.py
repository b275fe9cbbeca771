"""Candidates and answers to cells: every number of the tables, with its interval and its counts.

Intervals are percentile bootstrap over clips or photographs. All cells and averages of a block are drawn with the same
weights, so that an average is drawn as the average of its columns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from auscult.outcome import Scored, Signature, Undefined
from auscult.rng import generator
from auscult.score.stats import Interval, cluster_draws, percentile_interval, sums_by_cluster
from auscult.score.stats.resample import Floats
from auscult.suites.mqa.columns import GROUPS, NO_ITEMS, ablation_mean, columns_of, group_means, plain_mean
from auscult.suites.mqa.measures import (
    Measure,
    Measured,
    Pair,
    Unparsed,
    measure_confusion_a,
    measure_confusion_m,
    measure_coverage,
    measure_f2_a,
    measure_f2_m,
    measure_rmse,
)
from auscult.suites.mqa.rows import PROTOCOLS, Answers, Candidate, Protocol

REPLICATES = 1000
LEVEL = 0.95
TEST_SPLITS: Mapping[str, str] = {"test_s": "seen", "test_u": "unseen"}
ALL = "all"
TRAIN = "train"

METRICS: Mapping[str, Measure] = {"rmse": measure_rmse, "f2_m": measure_f2_m, "f2_a": measure_f2_a}
"""The three metrics of the paper's tables, per column."""

OVERALL: Mapping[str, Measure] = {
    "rmse": measure_rmse,
    "f2_confusion_m": measure_confusion_m,
    "f2_confusion_a": measure_confusion_a,
    "coverage": measure_coverage,
}
"""What is measured over all masks of a block at once."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Block:
    """The candidates of one protocol and one part of the benchmark: what one table is about.

    Attributes:
        protocol: ``image`` or ``video``.
        part: ``seen``, ``unseen``, or ``all`` where the source has no such splits.
        candidates: What is judged.
        clips: Number of each clip.
        weights: How often each clip occurs in each draw, (draws, clips); no draws for a single clip.
    """

    protocol: Protocol
    part: str
    candidates: tuple[Candidate, ...]
    clips: Mapping[str, int]
    weights: Floats


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Cell:
    """One number of a table.

    Attributes:
        protocol: Of the block.
        part: Of the block.
        judge: The row.
        metric: A key of ``METRICS`` or ``OVERALL``.
        column: Key of the column, ``avg`` for their mean, ``all`` for all masks at once.
        outcome: The number; with interval where there are two clusters or more.
        n: Items, or tracks, that it is over; of an average the columns.
        failed: Candidates of the column that the judge failed on.
        undefined: Candidates of the column that have no such quantity.
        unparsed: Replies without this answer.
        draws: The number in each bootstrap draw, NaN where undefined; empty for one cluster.
    """

    protocol: Protocol
    part: str
    judge: str
    metric: str
    column: str
    outcome: Scored[float] | Undefined
    n: int
    failed: int = 0
    undefined: int = 0
    unparsed: int = 0
    draws: Floats = field(default_factory=lambda: np.empty(0))


def blocks_of(candidates: Sequence[Candidate]) -> list[Block]:
    """Part the candidates into tables: by protocol, and seen from unseen where the source says.

    The training part is never evaluated beside another; null expressions and validation are left out where there are
    test splits.
    """
    found = []
    for protocol in PROTOCOLS:
        own = [one for one in candidates if one.protocol == protocol]
        tested = {name: [one for one in own if one.split == split] for split, name in TEST_SPLITS.items()}
        if not any(tested.values()):
            tested = {ALL: [one for one in own if one.split != TRAIN] or own}
        found += [_block(protocol, part, ones) for part, ones in tested.items() if ones]
    return found


def _block(protocol: Protocol, part: str, candidates: Sequence[Candidate]) -> Block:
    clips = {clip: number for number, clip in enumerate(dict.fromkeys(one.clip for one in candidates))}
    weights = np.empty((0, len(clips)))
    if len(clips) > 1:
        rng = generator(0, "mqa", "bootstrap", protocol, part)
        weights = cluster_draws(len(clips), rng=rng, replicates=REPLICATES)
    return Block(protocol=protocol, part=part, candidates=tuple(candidates), clips=clips, weights=weights)


def training_of(candidates: Sequence[Candidate]) -> list[Candidate]:
    """The training part, where it is not what is evaluated."""
    return [one for one in candidates if one.split == TRAIN and one.protocol == "image"]


def block_cells(block: Block, judge: str, answers: Answers, *, unparsed: Unparsed = "wrong") -> list[Cell]:
    """All cells of one judge in one block: nine columns and their mean per metric, and what is over all masks.

    Args:
        block: The candidates.
        judge: Name of the row.
        answers: What the judge said; a candidate without an answer has failed.
        unparsed: What a reply without an answer counts as.
    """
    cells: list[Cell] = []
    for metric, measure in METRICS.items():
        row = [
            _cell(
                _Where(block, judge, metric, column.key),
                [one for one in block.candidates if column.holds(one)],
                answers,
                measure=measure,
                unparsed=unparsed,
            )
            for column in columns_of(block.protocol)
        ]
        cells += [*row, _average(row)]
    for metric, measure in OVERALL.items():
        where = _Where(block, judge, metric, ALL)
        cells.append(_cell(where, block.candidates, answers, measure=measure, unparsed=unparsed))
    return cells


def ablation_cells(seen: Sequence[Cell], unseen: Sequence[Cell] = ()) -> list[Cell]:
    """The ablation form of one judge and metric: six columns of each part, and the mean of all.

    Args:
        seen: The nine cells of one part, in the order of Table 2.
        unseen: Those of the other; nothing where there is one part.
    """
    cells = [
        replace(_summed(members), column=defect, outcome=outcome, draws=_mean_draws(members))
        for part in (seen, unseen)
        if part
        for (defect, members), outcome in zip(_grouped(part), group_means([cell.outcome for cell in part]), strict=True)
    ]
    value = ablation_mean([cell.outcome for cell in seen], [cell.outcome for cell in unseen])
    draws = _mean_draws(cells)
    over = sum(isinstance(cell.outcome, Scored) for cell in cells)
    mean = replace(_summed(cells), part="both" if unseen else cells[0].part, column="avg", n=over, draws=draws)
    return [*cells, replace(mean, outcome=with_interval(value, draws, clusters=0))]


def cell_for(block: Block, judge: str, measured: Measured, *, metric: str, column: str) -> Cell:
    """A cell of a quantity that was measured elsewhere, with the interval of its block."""
    return _drawn(_Where(block, judge, metric, column), measured)


@dataclass(frozen=True, slots=True)
class _Where:
    block: Block
    judge: str
    metric: str
    column: str


def _cell(
    where: _Where,
    candidates: Sequence[Candidate],
    answers: Answers,
    *,
    measure: Measure,
    unparsed: Unparsed,
) -> Cell:
    measured = measure(defined_pairs(candidates, answers, where.metric), where.block.protocol, unparsed)
    if not candidates:
        measured = replace(measured, outcome=Undefined(NO_ITEMS))
    return with_lost(_drawn(where, measured), candidates, answers, metric=where.metric)


def defined_pairs(candidates: Sequence[Candidate], answers: Answers, metric: str) -> list[Pair]:
    """The candidates that were answered and have the quantity that a metric compares with."""
    return [(one, answers[one.id]) for one in candidates if one.id in answers and _defined(one, metric)]


def with_lost(cell: Cell, candidates: Sequence[Candidate], answers: Answers, *, metric: str) -> Cell:
    """A cell with how many candidates the judge failed on, and how many of the others have no such quantity."""
    return replace(
        cell,
        failed=sum(one.id not in answers for one in candidates),
        undefined=sum(one.id in answers and not _defined(one, metric) for one in candidates),
    )


def _defined(candidate: Candidate, metric: str) -> bool:
    """Whether the quantity that the metric compares with exists for a candidate."""
    if candidate.defect == "empty":
        return False
    if metric in {"rmse", "coverage"}:
        return candidate.iou is not None
    return candidate.action is not None if metric.endswith("_a") else True


def _drawn(where: _Where, measured: Measured) -> Cell:
    weights, clips = where.block.weights, where.block.clips
    draws = np.empty(0)
    if weights.size and len(measured.rows):
        members = np.array([clips[name] for name in measured.clusters])
        draws = measured.from_sums(weights @ sums_by_cluster(measured.rows, members, len(clips)))
    clusters = len(set(measured.clusters))
    return Cell(
        protocol=where.block.protocol,
        part=where.block.part,
        judge=where.judge,
        metric=where.metric,
        column=where.column,
        outcome=with_interval(measured.outcome, draws, clusters=clusters),
        n=measured.n,
        unparsed=measured.unparsed,
        draws=draws,
    )


def with_interval(outcome: Scored[float] | Undefined, draws: Floats, *, clusters: int) -> Scored[float] | Undefined:
    """The number with its interval; without one where there is a single cluster, or too few draws have it.

    Args:
        outcome: The number.
        draws: The number in each bootstrap draw, NaN where undefined; may be empty.
        clusters: Clips that were drawn from; 0 where they differ from column to column.
    """
    ends = None if clusters == 1 or not draws.size else percentile_interval(draws, level=LEVEL)
    if not isinstance(outcome, Scored) or ends is None:
        return outcome
    own = [pair for pair in outcome.signature.fields if pair[0] != "version"]
    how = Signature.of(interval="percentile bootstrap", drawn="clips", level=f"{LEVEL:g}", replicates=draws.size)
    defined = int(np.count_nonzero(~np.isnan(draws)))
    return Interval(
        value=outcome.value,
        signature=Signature((*own, *how.fields)),
        low=ends[0],
        high=ends[1],
        clusters=clusters,
        replicates=defined,
        undefined=draws.size - defined,
    )


def _average(row: Sequence[Cell]) -> Cell:
    draws = _mean_draws(row)
    return replace(
        row[0],
        column="avg",
        outcome=with_interval(plain_mean([cell.outcome for cell in row]), draws, clusters=0),
        n=sum(isinstance(cell.outcome, Scored) for cell in row),
        failed=sum(cell.failed for cell in row),
        undefined=sum(cell.undefined for cell in row),
        unparsed=sum(cell.unparsed for cell in row),
        draws=draws,
    )


def _mean_draws(cells: Sequence[Cell]) -> Floats:
    """Draw by draw the mean of the columns; undefined where one of them is, since that is another average."""
    drawn = [cell.draws for cell in cells if isinstance(cell.outcome, Scored)]
    if not drawn or not all(draws.size for draws in drawn):  # a part of one clip is not drawn: nor is a mean over it
        return np.empty(0)
    mean: Floats = np.stack(drawn).mean(axis=0)
    return mean


def _summed(cells: Sequence[Cell]) -> Cell:
    """The first cell with the counts of all."""
    counts = {name: sum(getattr(cell, name) for cell in cells) for name in ("n", "failed", "undefined", "unparsed")}
    return replace(cells[0], **counts)


def _grouped(row: Sequence[Cell]) -> list[tuple[str, list[Cell]]]:
    by_key = {cell.column: cell for cell in row}
    return [(defect, [by_key[key] for key in keys]) for defect, keys in GROUPS]
