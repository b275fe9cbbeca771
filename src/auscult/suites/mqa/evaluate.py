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

The number itself comes from ``score.stats``. Beside it stand rows that add up over clusters, and the function that
gives the number from their sums, so that a thousand draws cost one product of matrices.

Source: MQA-RefAVS, App. C: Eq. 10 (``rmse`` of images), Eq. 12 (``rmse`` of video: per track the mean over its frames),
Eqs. 9 and 11 (``F2``), Eq. 13 (``F2`` of video: per track, then the mean).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

import numpy as np

from auscult.arrays.averages import group_means
from auscult.outcome import Scored, Signature, Undefined
from auscult.rng import generator
from auscult.score.stats import (
    F2Macro,
    Interval,
    cluster_draws,
    coverage,
    f2_confusion,
    f2_tables,
    f2_video,
    percentile_interval,
    rmse,
    rmse_video,
    sums_by_cluster,
)
from auscult.score.stats.resample import FromSums
from auscult.suites.mqa.rows import PROTOCOLS, RANKS, Answers, Candidate, JudgeAnswer, MqaProtocol
from auscult.types import ACTIONS, DEFECTS, Doubles

GRADED = ("cutout", "dilate", "erode")
NO_ITEMS = "no masks of this column"

_SHORT = {"cutout": "Cut", "dilate": "Dil", "erode": "Ero"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column: the masks of one true type, and of one difficulty or rank where it asks for one.

    Attributes:
        key: Its name in files.
        title: Its heading.
        defect: The true type.
        difficulty: ``hard`` or ``medium``; None for any.
        rank: The only rank that counts; None for any.
    """

    key: str
    title: str
    defect: str
    difficulty: str | None = None
    rank: int | None = None

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


Unparsed: TypeAlias = Literal["wrong", "skip"]
AnsweredCandidate: TypeAlias = tuple[Candidate, JudgeAnswer]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Measured:
    """A number and how to draw it again.

    Attributes:
        outcome: The number, or why there is none.
        rows: What adds up over clusters, (m, k): one row per item, or per track.
        clusters: The cluster of each row, (m,).
        from_sums: From sums (draws, k) to the number of each draw (draws,), NaN where undefined.
        n: Items or tracks that the number is over.
        unparsed: Replies without this answer among the items given.
    """

    outcome: Scored[float] | Undefined
    rows: Doubles
    clusters: tuple[str, ...]
    from_sums: FromSums
    n: int
    unparsed: int


Measure: TypeAlias = Callable[[Sequence[AnsweredCandidate], MqaProtocol, Unparsed], Measured]


def measure_rmse(pairs: Sequence[AnsweredCandidate], protocol: MqaProtocol, unparsed: Unparsed) -> Measured:
    """RMSE of the estimated IoU; lower is better.

    A reply without IoU counts as 0 (``wrong``) or is left out (``skip``). In video it leaves the mean of its track, as
    in the release; a track without any is 0 or left out.
    """
    known = [(one, answer) for one, answer in pairs if one.iou is not None]
    missing = sum(answer.iou is None for _, answer in known)
    if protocol == "video":
        triples = _track_means(known, unparsed)
        told, true = [triple[1] for triple in triples], [triple[2] for triple in triples]
        clusters = tuple(triple[0] for triple in triples)
        outcome = rmse_video(told, true, videos=range(len(triples)))
    else:
        kept = [(one, answer) for one, answer in known if unparsed == "wrong" or answer.iou is not None]
        told, true = [answer.iou or 0.0 for _, answer in kept], [one.iou or 0.0 for one, _ in kept]
        clusters = tuple(one.clip for one, _ in kept)
        outcome = rmse(told, true)
    errors = np.asarray(told, np.float64) - np.asarray(true, np.float64)
    rows = np.stack([errors**2, np.ones_like(errors)], axis=1)
    return Measured(outcome=outcome, rows=rows, clusters=clusters, from_sums=_root_mean, n=len(told), unparsed=missing)


def measure_f2_m(pairs: Sequence[AnsweredCandidate], protocol: MqaProtocol, unparsed: Unparsed) -> Measured:
    """F2-tables of the type; higher is better. The pairs are those of one true type."""
    told, true = [answer.defect for _, answer in pairs], [one.defect for one, _ in pairs]
    if protocol == "video":
        return _by_track(pairs, told, true, classes=DEFECTS, unparsed=unparsed)
    outcome = f2_tables(told, true, DEFECTS, unparsed=unparsed)
    return _counted(pairs, told, true, classes=DEFECTS, unparsed=unparsed, outcome=outcome, only_true=True)


def measure_f2_a(pairs: Sequence[AnsweredCandidate], protocol: MqaProtocol, unparsed: Unparsed) -> Measured:
    """F2-tables of the action: macro over the actions that are right somewhere among the pairs; higher is better."""
    known = [(one, answer) for one, answer in pairs if one.action is not None]
    told, true = [answer.action for _, answer in known], [str(one.action) for one, _ in known]
    if protocol == "video":
        return _by_track(known, told, true, classes=ACTIONS, unparsed=unparsed)
    outcome = f2_tables(told, true, ACTIONS, columns=["all"] * len(true), unparsed=unparsed)
    return _counted(known, told, true, classes=ACTIONS, unparsed=unparsed, outcome=outcome, only_true=True)


def measure_confusion_m(pairs: Sequence[AnsweredCandidate], _protocol: MqaProtocol, unparsed: Unparsed) -> Measured:
    """F2-confusion of the type over all pairs: false alarms count; higher is better. Frames count one by one."""
    told, true = [answer.defect for _, answer in pairs], [one.defect for one, _ in pairs]
    outcome = f2_confusion(told, true, DEFECTS, unparsed=unparsed)
    return _counted(pairs, told, true, classes=DEFECTS, unparsed=unparsed, outcome=outcome, only_true=False)


def measure_confusion_a(pairs: Sequence[AnsweredCandidate], _protocol: MqaProtocol, unparsed: Unparsed) -> Measured:
    """F2-confusion of the action over all pairs; higher is better. Frames count one by one."""
    known = [(one, answer) for one, answer in pairs if one.action is not None]
    told, true = [answer.action for _, answer in known], [str(one.action) for one, _ in known]
    outcome = f2_confusion(told, true, ACTIONS, unparsed=unparsed)
    return _counted(known, told, true, classes=ACTIONS, unparsed=unparsed, outcome=outcome, only_true=False)


def measure_coverage(pairs: Sequence[AnsweredCandidate], _protocol: MqaProtocol, _unparsed: Unparsed) -> Measured:
    """Share of true IoUs inside the judge's own 90 % interval, ends included; best is .90."""
    held = [
        (one.clip, answer.low, answer.high, one.iou)
        for one, answer in pairs
        if one.iou is not None and answer.low is not None and answer.high is not None and answer.low <= answer.high
    ]
    outcome = coverage([low for _, low, _, _ in held], [high for _, _, high, _ in held], [true for *_, true in held])
    inside = np.array([low <= true <= high for _, low, high, true in held], np.float64)
    return Measured(
        outcome=Undefined("the judge gives no interval") if not held and pairs else outcome,
        rows=np.stack([inside, np.ones_like(inside)], axis=1),
        clusters=tuple(clip for clip, *_ in held),
        from_sums=mean_of_sums,
        n=len(held),
        unparsed=len(pairs) - len(held),
    )


def _track_means(pairs: Sequence[AnsweredCandidate], unparsed: Unparsed) -> list[tuple[str, float, float]]:
    """Clip, mean estimate and mean truth of each track, over the frames that have both."""
    tracks: dict[str, list[AnsweredCandidate]] = {}
    for one, answer in pairs:
        tracks.setdefault(one.track, []).append((one, answer))
    frames: list[tuple[tuple[str, str], float, float]] = []
    for track, group in tracks.items():
        told = [(answer.iou, one.iou or 0.0) for one, answer in group if answer.iou is not None]
        if not told and unparsed == "wrong":
            told = [(0.0, one.iou or 0.0) for one, _ in group]
        frames += [((track, group[0][0].clip), *pair) for pair in told]
    of_track = [frame[0] for frame in frames]
    names, estimates = group_means([frame[1] for frame in frames], of_track)
    _, truths = group_means([frame[2] for frame in frames], of_track)
    return [(name[1], float(told), float(true)) for name, told, true in zip(names, estimates, truths, strict=True)]


def _by_track(
    pairs: Sequence[AnsweredCandidate],
    told: Sequence[str | None],
    true: Sequence[str],
    *,
    classes: Sequence[str],
    unparsed: Unparsed,
) -> Measured:
    outcome = f2_video(told, true, classes, videos=[one.track for one, _ in pairs], unparsed=unparsed)
    clips = {one.track: one.clip for one, _ in pairs}
    parts = outcome.parts if isinstance(outcome, F2Macro) else {}
    values = [(clips[str(track)], part.value) for track, part in parts.items() if isinstance(part, Scored)]
    rows = np.array([[value, 1.0] for _, value in values]).reshape(-1, 2)
    return Measured(
        outcome=outcome,
        rows=rows,
        clusters=tuple(clip for clip, _ in values),
        from_sums=mean_of_sums,
        n=len(values),
        unparsed=sum(label is None for label in told),
    )


def _counted(
    pairs: Sequence[AnsweredCandidate],
    told: Sequence[str | None],
    true: Sequence[str],
    *,
    classes: Sequence[str],
    unparsed: Unparsed,
    outcome: Scored[float] | Undefined,
    only_true: bool,
) -> Measured:
    """A macro F2 of counts: each row marks one cell of the confusion matrix, whose last column is no answer."""
    wide = len(classes) + 1
    kept = [at for at, label in enumerate(told) if label is not None or unparsed == "wrong"]
    place: dict[str | None, int] = {None: wide - 1, **{label: number for number, label in enumerate(classes)}}
    rows = np.zeros((len(kept), len(classes) * wide))
    for row, at in zip(rows, kept, strict=True):
        row[place[true[at]] * wide + place[told[at]]] = 1
    return Measured(
        outcome=outcome,
        rows=rows,
        clusters=tuple(pairs[at][0].clip for at in kept),
        from_sums=_MacroF2(len(classes), only_true),
        n=len(kept),
        unparsed=sum(label is None for label in told),
    )


@dataclass(frozen=True, slots=True)
class _MacroF2:
    """Macro F2 of confusion matrices, over the classes that are true there (or also those that are only told)."""

    classes: int
    only_true: bool

    def __call__(self, sums: Doubles) -> Doubles:
        matrix = sums.reshape(-1, self.classes, self.classes + 1)
        occurs, called = matrix.sum(axis=2), matrix[:, :, :-1].sum(axis=1)
        hits = np.einsum("rcc->rc", matrix[:, :, :-1])
        counts = occurs > 0 if self.only_true else occurs + called > 0
        below = np.where(counts, 4 * occurs + called, 1)
        total = (5 * np.where(counts, hits, 0) / below).sum(axis=1)
        return _divided(total, counts.sum(axis=1).astype(np.float64))


def _root_mean(sums: Doubles) -> Doubles:
    roots: Doubles = np.sqrt(_divided(sums[:, 0], sums[:, 1]))
    return roots


def mean_of_sums(sums: Doubles) -> Doubles:
    """A mean from sums of values and of ones, (draws, 2) to (draws,)."""
    return _divided(sums[:, 0], sums[:, 1])


def _divided(above: Doubles, below: Doubles) -> Doubles:
    """The quotient, NaN where nothing was drawn."""
    return np.where(below > 0, above / np.where(below > 0, below, 1), np.nan)


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

    protocol: MqaProtocol
    part: str
    candidates: tuple[Candidate, ...]
    clips: Mapping[str, int]
    weights: Doubles


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TableNumber:
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
    clips = {clip: number for number, clip in enumerate(dict.fromkeys(one.clip for one in candidates))}
    weights = np.empty((0, len(clips)))
    if len(clips) > 1:
        rng = generator(0, "mqa", "bootstrap", protocol, part)
        weights = cluster_draws(len(clips), rng=rng, replicates=REPLICATES)
    return Block(protocol=protocol, part=part, candidates=tuple(candidates), clips=clips, weights=weights)


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
    return [*cells, replace(mean, outcome=with_interval(value, draws, clusters=0))]


def cell_for(block: Block, judge: str, measured: Measured, *, metric: str, column: str) -> TableNumber:
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


def _drawn(where: _Where, measured: Measured) -> TableNumber:
    weights, clips = where.block.weights, where.block.clips
    draws = np.empty(0)
    if weights.size and len(measured.rows):
        members = np.array([clips[name] for name in measured.clusters])
        draws = measured.from_sums(weights @ sums_by_cluster(measured.rows, members, len(clips)))
    clusters = len(set(measured.clusters))
    return TableNumber(
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


def with_interval(outcome: Scored[float] | Undefined, draws: Doubles, *, clusters: int) -> Scored[float] | Undefined:
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


def _average(row: Sequence[TableNumber]) -> TableNumber:
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
