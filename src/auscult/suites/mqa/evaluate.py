"""Candidates and answers to cells: every number of the tables, with its interval and its counts.

Intervals are percentile bootstrap over clips or photographs. All cells and averages of a block are drawn with the same
weights, so that an average is drawn as the average of its columns.

========  ===============================================================  ==============================
form      columns                                                          average
========  ===============================================================  ==============================
Table 2   Perfect, Cutout H and M, Dilate H and M, Erode H and M,           plain mean of the nine
          Merge, Full_neg
Table 3   the same; of Merge and Full_neg the masks of rank 1 only          plain mean of the nine
Table 4   the six types over seen and unseen; H and M are averaged first    plain mean of the twelve
========  ===============================================================  ==============================

A column without a mask is Undefined: it is left out of the mean, and the mean says so.

Source: MQA-RefAVS, Tables 2 to 6, 9 and 10.

The numbers themselves are those of ``score.judges``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import ClassVar, TypeAlias

import numpy as np

from auscult.outcome import Scored, Signature, Undefined
from auscult.rng import generator
from auscult.score.judges import (
    ClusterDraws,
    JudgeColumns,
    Measured,
    TruthColumns,
    measures,
    reals,
    texts,
    with_interval,
)
from auscult.score.stats.labels import Unparsed
from auscult.suites.core.numbers import SuiteNumber
from auscult.suites.mqa.options import PROTOCOLS, MqaProtocol
from auscult.suites.mqa.rows import RANKS, Answers, Candidate, JudgeAnswer
from auscult.types import DEFECTS, Doubles

GRADED = ("cutout", "dilate", "erode")
NO_ITEMS = "no masks of this column"

_SHORT = {"cutout": "Cut", "dilate": "Dil", "erode": "Ero"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column: the masks of one true type, and of one difficulty or rank where it asks for one."""

    key: str  # in files
    title: str
    defect: str
    difficulty: str | None = None  # None for any
    rank: int | None = None  # the only rank that counts; None for any

    def holds(self, candidate: Candidate) -> bool:
        """Whether a candidate belongs into the column."""
        if candidate.defect != self.defect:
            return False
        if self.difficulty is not None:
            told = candidate.difficulty
            return told == self.difficulty if told is not None else candidate.rank == RANKS[self.difficulty]
        return self.rank is None or candidate.rank in {None, self.rank}


def _columns(rank: int | None) -> tuple[Column, ...]:
    graded = (
        Column(key=f"{name}_{grade}", title=f"{_SHORT[name]} {grade[0].upper()}", defect=name, difficulty=grade)
        for name in GRADED
        for grade in ("hard", "medium")
    )
    whole = (Column(key=name, title=name.capitalize(), defect=name, rank=rank) for name in ("merge", "full_neg"))
    return (Column(key="perfect", title="Perfect", defect="perfect"), *graded, *whole)


TABLE_2 = _columns(None)
TABLE_3 = _columns(1)
GROUPS: tuple[tuple[str, tuple[str, ...]], ...] = tuple(
    (defect, tuple(column.key for column in TABLE_2 if column.defect == defect)) for defect in DEFECTS
)
"""The six columns of the ablation form: a type, and the columns that are averaged into it."""


def columns_of(protocol: MqaProtocol) -> tuple[Column, ...]:
    """The nine columns of a protocol: Table 2 for images, Table 3 for video."""
    return TABLE_2 if protocol == "image" else TABLE_3


def plain_mean(values: Sequence[Scored[float] | Undefined]) -> Scored[float] | Undefined:
    """Mean of the columns that are defined; its signature says over how many of how many."""
    defined = [value.value for value in values if isinstance(value, Scored)]
    if not defined:
        return Undefined("no column has a mask")
    over = f"{len(defined)} of {len(values)} columns"
    return Scored(math.fsum(defined) / len(defined), Signature.of(average="plain mean", over=over))


def mean_by_group(values: Sequence[Scored[float] | Undefined]) -> tuple[Scored[float] | Undefined, ...]:
    """The nine columns as six: the difficulties of a type are averaged first."""
    by_key = {column.key: value for column, value in zip(TABLE_2, values, strict=True)}
    means = (plain_mean([by_key[key] for key in keys]) for _, keys in GROUPS)
    return tuple(mean if isinstance(mean, Scored) else Undefined(NO_ITEMS) for mean in means)


def ablation_mean(
    seen: Sequence[Scored[float] | Undefined], unseen: Sequence[Scored[float] | Undefined] = ()
) -> Scored[float] | Undefined:
    """The average of the ablation tables: six columns of seen and six of unseen, plain mean of the twelve."""
    return plain_mean([*mean_by_group(seen), *(mean_by_group(unseen) if unseen else ())])


AnsweredCandidate: TypeAlias = tuple[Candidate, JudgeAnswer]
Measure: TypeAlias = Callable[[Sequence[AnsweredCandidate], MqaProtocol, Unparsed], Measured]


def judge_columns(pairs: Sequence[AnsweredCandidate]) -> tuple[JudgeColumns, TruthColumns]:
    """Answers and candidates as columns."""
    said = JudgeColumns(
        iou=reals(answer.iou for _, answer in pairs),
        low=reals(answer.low for _, answer in pairs),
        high=reals(answer.high for _, answer in pairs),
        defect=texts([answer.defect for _, answer in pairs]),
        action=texts([answer.action for _, answer in pairs]),
    )
    true = TruthColumns(
        iou=reals(one.iou for one, _ in pairs),
        cluster=texts([one.clip for one, _ in pairs]),
        defect=texts([one.defect for one, _ in pairs]),
        action=texts([one.action for one, _ in pairs]),
        track=texts([one.track for one, _ in pairs]),
    )
    return said, true


def measure_rmse(pairs: Sequence[AnsweredCandidate], protocol: MqaProtocol, unparsed: Unparsed) -> Measured:
    """RMSE of the estimated IoU, in video over tracks; lower is better."""
    over: measures.Over = "tracks" if protocol == "video" else "items"
    return measures.rmse(*judge_columns(pairs), over=over, unparsed=unparsed)


def measure_f2_m(pairs: Sequence[AnsweredCandidate], protocol: MqaProtocol, unparsed: Unparsed) -> Measured:
    """F2-tables of the type; higher is better. The pairs are those of one true type."""
    f2 = measures.f2_tracks if protocol == "video" else measures.f2_tables
    return f2(*judge_columns(pairs), unparsed=unparsed)


def measure_f2_a(pairs: Sequence[AnsweredCandidate], protocol: MqaProtocol, unparsed: Unparsed) -> Measured:
    """F2-tables of the action: macro over the actions that are right somewhere among the pairs; higher is better."""
    columns = judge_columns(pairs)
    if protocol == "video":
        return measures.f2_tracks(*columns, label="action", unparsed=unparsed)
    return measures.f2_tables(*columns, label="action", columns=["all"] * len(pairs), unparsed=unparsed)


def measure_confusion_m(pairs: Sequence[AnsweredCandidate], _protocol: MqaProtocol, unparsed: Unparsed) -> Measured:
    """F2-confusion of the type over all pairs: false alarms count; higher is better. Frames count one by one."""
    return measures.f2_confusion(*judge_columns(pairs), unparsed=unparsed)


def measure_confusion_a(pairs: Sequence[AnsweredCandidate], _protocol: MqaProtocol, unparsed: Unparsed) -> Measured:
    """F2-confusion of the action over all pairs; higher is better. Frames count one by one."""
    return measures.f2_confusion(*judge_columns(pairs), label="action", unparsed=unparsed)


def measure_coverage(pairs: Sequence[AnsweredCandidate], _protocol: MqaProtocol, _unparsed: Unparsed) -> Measured:
    """Share of true IoUs inside the judge's own 90 % interval, ends included; best is .90."""
    found = measures.coverage(*judge_columns(pairs))
    silent = pairs and not found.n
    return replace(found, outcome=Undefined("the judge gives no interval")) if silent else found


REPLICATES = 1000
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
        draws: Draws of its clips, the same for all its cells.
    """

    protocol: MqaProtocol
    part: str
    candidates: tuple[Candidate, ...]
    draws: ClusterDraws


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TableNumber(SuiteNumber):
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

    NAMED: ClassVar = ("protocol", "part", "judge", "metric", "column")
    COUNTED: ClassVar = ("n", "failed", "undefined", "unparsed")

    protocol: MqaProtocol
    part: str
    judge: str
    metric: str
    column: str
    outcome: Scored[float] | Undefined
    n: int
    failed: int = 0
    undefined: int = 0
    unparsed: int = 0
    draws: Doubles = field(default_factory=lambda: np.empty(0))


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


def _block(protocol: MqaProtocol, part: str, candidates: Sequence[Candidate]) -> Block:
    draws = ClusterDraws.of(
        (one.clip for one in candidates),
        rng=partial(generator, 0, "mqa", "bootstrap", protocol, part),
        replicates=REPLICATES,
    )
    return Block(protocol=protocol, part=part, candidates=tuple(candidates), draws=draws)


def training_of(candidates: Sequence[Candidate]) -> list[Candidate]:
    """The training part, where it is not what is evaluated."""
    return [one for one in candidates if one.split == TRAIN and one.protocol == "image"]


def block_cells(block: Block, judge: str, answers: Answers, *, unparsed: Unparsed = "wrong") -> list[TableNumber]:
    """All cells of one judge in one block: nine columns and their mean per metric, and what is over all masks."""
    cells: list[TableNumber] = []
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


def ablation_cells(seen: Sequence[TableNumber], unseen: Sequence[TableNumber] = ()) -> list[TableNumber]:
    """The ablation form of one judge and metric: six columns of each part, and the mean of all."""
    cells = [
        replace(_summed(members), column=defect, outcome=outcome, draws=_mean_draws(members))
        for part in (seen, unseen)
        if part
        for (defect, members), outcome in zip(
            _grouped(part), mean_by_group([cell.outcome for cell in part]), strict=True
        )
    ]
    value = ablation_mean([cell.outcome for cell in seen], [cell.outcome for cell in unseen])
    draws = _mean_draws(cells)
    over = sum(isinstance(cell.outcome, Scored) for cell in cells)
    mean = replace(_summed(cells), part="both" if unseen else cells[0].part, column="avg", n=over, draws=draws)
    return [*cells, replace(mean, outcome=with_interval(value, draws, clusters=0, drawn="clips"))]


def cell_for(
    block: Block, judge: str, measured: Measured, *, metric: str, column: str, draws: ClusterDraws | None = None
) -> TableNumber:
    """A cell of a quantity that was measured elsewhere, with the interval of its block or of other draws."""
    return _drawn(_Where(block, judge, metric, column), measured, draws=draws)


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
) -> TableNumber:
    measured = measure(defined_pairs(candidates, answers, where.metric), where.block.protocol, unparsed)
    if not candidates:
        measured = replace(measured, outcome=Undefined(NO_ITEMS))
    return with_lost(_drawn(where, measured), candidates, answers, metric=where.metric)


def defined_pairs(candidates: Sequence[Candidate], answers: Answers, metric: str) -> list[AnsweredCandidate]:
    """The candidates that were answered and have the quantity that a metric compares with."""
    return [(one, answers[one.id]) for one in candidates if one.id in answers and _defined(one, metric)]


def with_lost(cell: TableNumber, candidates: Sequence[Candidate], answers: Answers, *, metric: str) -> TableNumber:
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


def _drawn(where: _Where, measured: Measured, *, draws: ClusterDraws | None = None) -> TableNumber:
    drawn = (draws or where.block.draws).values(measured)
    return TableNumber(
        protocol=where.block.protocol,
        part=where.block.part,
        judge=where.judge,
        metric=where.metric,
        column=where.column,
        outcome=with_interval(measured.outcome, drawn, clusters=len(set(measured.clusters)), drawn="clips"),
        n=measured.n,
        unparsed=measured.unparsed,
        draws=drawn,
    )


def _average(row: Sequence[TableNumber]) -> TableNumber:
    draws = _mean_draws(row)
    return replace(
        row[0],
        column="avg",
        outcome=with_interval(plain_mean([cell.outcome for cell in row]), draws, clusters=0, drawn="clips"),
        n=sum(isinstance(cell.outcome, Scored) for cell in row),
        failed=sum(cell.failed for cell in row),
        undefined=sum(cell.undefined for cell in row),
        unparsed=sum(cell.unparsed for cell in row),
        draws=draws,
    )


def _mean_draws(cells: Sequence[TableNumber]) -> Doubles:
    """Draw by draw the mean of the columns; undefined where one of them is, since that is another average."""
    drawn = [cell.draws for cell in cells if isinstance(cell.outcome, Scored)]
    if not drawn or not all(draws.size for draws in drawn):  # a part of one clip is not drawn: nor is a mean over it
        return np.empty(0)
    mean: Doubles = np.stack(drawn).mean(axis=0)
    return mean


def _summed(cells: Sequence[TableNumber]) -> TableNumber:
    """The first cell with the counts of all."""
    counts = {name: sum(getattr(cell, name) for cell in cells) for name in ("n", "failed", "undefined", "unparsed")}
    return replace(cells[0], **counts)


def _grouped(row: Sequence[TableNumber]) -> list[tuple[str, list[TableNumber]]]:
    by_key = {cell.column: cell for cell in row}
    return [(defect, [by_key[key] for key in keys]) for defect, keys in GROUPS]
