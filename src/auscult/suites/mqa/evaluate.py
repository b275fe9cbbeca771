"""Computes the numbers of the tables from candidates and answers, with interval and counts.

Intervals are percentile bootstrap over clips or photographs. All cells and averages of a block use the same draws, so
that a draw of an average is the average of its columns.

========  ===============================================================  ==============================
form      columns                                                          average
========  ===============================================================  ==============================
Table 2   Perfect, Cutout H and M, Dilate H and M, Erode H and M,           plain mean of the nine
          Merge, Full_neg
Table 3   the same; of Merge and Full_neg the masks of rank 1 only          plain mean of the nine
Table 4   the six types over seen and unseen; H and M are averaged first    plain mean of the twelve
========  ===============================================================  ==============================

A column without masks is Undefined and left out of the mean, whose signature says so.

Source: MQA-RefAVS, Tables 2 to 6, 9 and 10.

The scores are those of ``score.judges``. Further, on the reliability of a judge: RMSE by the object's share of the
frame (``SIZES``), Spearman's correlation of estimated and true IoU, coverage of the judge's own 90 % intervals, and
reliability: mean estimated beside mean true IoU in ten even bins of the *estimate*. Their absolute differences,
weighted by the masks in the bins, are the ``calibration_error``, 0..1, lower is better.

A track is one kind of mask over the frames of a clip. With s_t the estimated and g_t the true IoU of frame t, over the
steps between neighbouring frames that both have an answer: ``excess_change`` is the mean of |s_t - s_(t-1)| minus that
of |g_t - g_(t-1)|, 0 is best; ``step_error`` the mean of |(s_t - s_(t-1)) - (g_t - g_(t-1))|, lower is better;
``agreement`` the share of frames whose type is the track's most frequent one, which is consistency and not correctness;
``flicker`` the share of steps at which the type changes. Each is averaged over the tracks; intervals draw whole clips.
A track with fewer than two answered neighbours has no steps and enters ``agreement`` only.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from statistics import fmean
from typing import ClassVar, Final, TypeAlias

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
from auscult.score.stats.errors import Unparsed
from auscult.score.stats.few_clusters import EXACT, SHARE
from auscult.score.stats.intervals import Interval
from auscult.suites.core.numbers import SuiteNumber
from auscult.suites.mqa.options import PROTOCOLS, MqaProtocol
from auscult.suites.mqa.rows import RANKS, AnswersById, Candidate, JudgeAnswer, bin_of
from auscult.types import DEFECTS, Doubles

GRADED = ("cutout", "dilate", "erode")
NO_ITEMS = "no masks of this column"


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column: the masks of one true type, perhaps of one difficulty or rank."""

    key: str  # in files
    title: str
    defect: str
    difficulty: str | None = None  # None for any
    rank: int | None = None  # the only rank that counts; None for any

    def holds(self, candidate: Candidate) -> bool:
        """Whether a candidate belongs to the column."""
        if candidate.defect != self.defect:
            return False
        if self.difficulty is not None:
            difficulty = candidate.difficulty
            return difficulty == self.difficulty if difficulty is not None else candidate.rank == RANKS[self.difficulty]
        return self.rank is None or candidate.rank in {None, self.rank}

    def of(self, block: Block) -> list[Candidate]:
        """The candidates of a block that belong to the column."""
        return [candidate for candidate in block.candidates if self.holds(candidate)]


def _columns(rank: int | None) -> tuple[Column, ...]:
    graded = (
        Column(
            key=f"{name}_{grade}", title=f"{name[:3].capitalize()} {grade[0].upper()}", defect=name, difficulty=grade
        )
        for name in GRADED
        for grade in ("hard", "medium")
    )
    ungraded = (Column(key=name, title=name.capitalize(), defect=name, rank=rank) for name in ("merge", "full_neg"))
    return (Column(key="perfect", title="Perfect", defect="perfect"), *graded, *ungraded)


TABLE_2 = _columns(None)
TABLE_3 = _columns(1)
GROUPS: tuple[tuple[str, tuple[str, ...]], ...] = tuple(
    (defect, tuple(column.key for column in TABLE_2 if column.defect == defect)) for defect in DEFECTS
)
"""The six columns of the ablation form: a type, and the columns averaged in it."""

COLUMNS: Final[Mapping[MqaProtocol, tuple[Column, ...]]] = {"image": TABLE_2, "video": TABLE_3}
"""The nine columns of a protocol."""


def plain_mean(values: Sequence[Scored[float] | Undefined]) -> Scored[float] | Undefined:
    """Mean of the defined columns; its signature has their count."""
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


AnsweredCandidate: TypeAlias = tuple[Candidate, JudgeAnswer]


def judge_columns(pairs: Sequence[AnsweredCandidate]) -> tuple[JudgeColumns, TruthColumns]:
    """Answers and candidates as columns."""
    predicted = JudgeColumns(
        iou=reals(answer.iou for _, answer in pairs),
        low=reals(answer.low for _, answer in pairs),
        high=reals(answer.high for _, answer in pairs),
        defect=texts([answer.defect for _, answer in pairs]),
        action=texts([answer.action for _, answer in pairs]),
    )
    true = TruthColumns(
        iou=reals(candidate.iou for candidate, _ in pairs),
        cluster=texts([candidate.clip for candidate, _ in pairs]),
        defect=texts([candidate.defect for candidate, _ in pairs]),
        action=texts([candidate.action for candidate, _ in pairs]),
        track=texts([candidate.track for candidate, _ in pairs]),
    )
    return predicted, true


METRICS: Final = ("rmse", "f2_m", "f2_a")
"""The three metrics of the paper's tables, per column."""

OWN_ACTION: Final = "f2_own_a"
"""F2-A of the judge's own action, if it names any; ``f2_a`` is that of the policy's."""

OVERALL: Final = ("rmse", "f2_confusion_m", "f2_confusion_a", "coverage")
"""The metrics over all masks of a block."""


def _f2_of_actions(predicted: JudgeColumns, true: TruthColumns, *, unparsed: Unparsed) -> Measured:
    """Macro mean over the actions that occur in the truth."""
    return measures.f2_tables(predicted, true, label="action", columns=["all"] * len(true), unparsed=unparsed)


def _coverage(predicted: JudgeColumns, true: TruthColumns, **_: Unparsed) -> Measured:
    measured = measures.coverage(predicted, true)
    silent = len(true) and not measured.n
    return replace(measured, outcome=Undefined("the judge gives no interval")) if silent else measured


_OF_IMAGES: Final[Mapping[str, Callable[..., Measured]]] = {
    "rmse": measures.rmse,
    "f2_m": measures.f2_tables,
    "f2_a": _f2_of_actions,
    "f2_confusion_m": measures.f2_confusion,
    "f2_confusion_a": partial(measures.f2_confusion, label="action"),
    "coverage": _coverage,
}
MEASURES: Final[Mapping[MqaProtocol, Mapping[str, Callable[..., Measured]]]] = {
    "image": _OF_IMAGES,
    "video": {
        **_OF_IMAGES,
        "rmse": partial(measures.rmse, over="tracks"),
        "f2_m": measures.f2_tracks,
        "f2_a": partial(measures.f2_tracks, label="action"),
    },
}
"""Metric to its function. F2-confusion and coverage count the frames of a video one by one."""


def measured_by(
    metric: str, pairs: Sequence[AnsweredCandidate], *, protocol: MqaProtocol, unparsed: Unparsed = "wrong"
) -> Measured:
    """A metric over pairs; ``f2_m`` is for pairs of one true type."""
    return MEASURES[protocol][metric](*judge_columns(pairs), unparsed=unparsed)


_COMPARED: Final[Mapping[str, str]] = {
    **dict.fromkeys(("rmse", "coverage", "rmse_by_size", "spearman", "excess_change", "step_error"), "iou"),
    **dict.fromkeys(("f2_a", OWN_ACTION, "f2_confusion_a"), "action"),
}


def compared_part(metric: str) -> str:
    """The part of an answer, and of the truth, that a metric compares: ``iou``, ``defect`` or ``action``."""
    return _COMPARED.get(metric, "defect")


def is_defined(candidate: Candidate, metric: str) -> bool:
    """Whether a candidate has the true quantity of a metric."""
    return candidate.defect != "empty" and getattr(candidate, compared_part(metric)) is not None


REPLICATES = 1000
TEST_SPLITS: Mapping[str, str] = {"test_s": "seen", "test_u": "unseen"}
ALL = "all"
TRAIN = "train"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Block:
    """The candidates of one protocol and one part of the benchmark: one table."""

    protocol: MqaProtocol
    part: str  # ``seen``, ``unseen``, or ``all`` if the source has no such splits
    candidates: tuple[Candidate, ...]
    draws: ClusterDraws  # of its clips, the same for all its cells

    @property
    def name(self) -> str:
        """The prefix of its files."""
        return f"{self.protocol}_{self.part}"

    @property
    def clips_text(self) -> str:
        """The count of clips or photographs behind its intervals, in words."""
        return f"{len(self.draws.index_of)} clips or photographs"

    @property
    def title(self) -> str:
        """Its name on pages and in tables."""
        return f"{self.protocol.capitalize()} protocol" + ("" if self.part == ALL else f", {self.part}")


_NO_ENDS: Final = (0.0, 0.0)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TableNumber(SuiteNumber):
    """One number of a table."""

    NAMED: ClassVar = ("protocol", "part", "judge", "metric", "column")
    COUNTED: ClassVar = ("n", "failed", "undefined", "unparsed")

    protocol: MqaProtocol
    part: str
    judge: str
    metric: str  # of ``METRICS`` or ``OVERALL``, or a measure of reliability
    column: str  # key of the column, ``avg`` for their mean, ``all`` for all masks at once
    outcome: Scored[float] | Undefined  # with interval for two clusters or more
    n: int  # count of items or tracks; for an average, of columns
    failed: int = 0  # candidates of the column without verdict
    undefined: int = 0  # candidates of the column without the true quantity
    unparsed: int = 0  # replies without this answer
    draws: Doubles = field(default_factory=lambda: np.empty(0))  # NaN where undefined; empty for one cluster
    drawn_from: int = 0  # clusters behind it; for a mean of columns the fewest behind one
    exact: tuple[float, float] = _NO_ENDS  # distances to the ends of an exact interval; mean over columns


def blocks_of(candidates: Sequence[Candidate]) -> list[Block]:
    """Blocks by protocol and by seen and unseen; without these splits, all except the training part."""
    blocks = []
    for protocol in PROTOCOLS:
        pool = [candidate for candidate in candidates if candidate.protocol == protocol]
        tested = {
            name: [candidate for candidate in pool if candidate.split == split] for split, name in TEST_SPLITS.items()
        }
        if not any(tested.values()):
            tested = {ALL: [candidate for candidate in pool if candidate.split != TRAIN] or pool}
        blocks += [_block(protocol, part, members) for part, members in tested.items() if members]
    return blocks


def _block(protocol: MqaProtocol, part: str, candidates: Sequence[Candidate]) -> Block:
    draws = ClusterDraws.of(
        (candidate.clip for candidate in candidates),
        rng=partial(generator, 0, "mqa", "bootstrap", protocol, part),
        replicates=REPLICATES,
    )
    return Block(protocol=protocol, part=part, candidates=tuple(candidates), draws=draws)


def training_of(candidates: Sequence[Candidate]) -> list[Candidate]:
    """The training part of the image protocol."""
    return [candidate for candidate in candidates if candidate.split == TRAIN and candidate.protocol == "image"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class JudgedBlock:
    """One judge's answers in one block, and the cells computed from them."""

    block: Block
    judge: str
    answers: AnswersById

    def pairs(self, metric: str, members: Sequence[Candidate] | None = None) -> list[AnsweredCandidate]:
        """The answered candidates, of all or some, that have the true quantity of a metric.

        Unjudged ones are in no number of the IoU, and count as misses in those of types and actions.
        """
        candidates = [
            candidate
            for candidate in (self.block.candidates if members is None else members)
            if is_defined(candidate, metric)
        ]
        pairs = [(candidate, self.answers[candidate.id]) for candidate in candidates if candidate.id in self.answers]
        if compared_part(metric) != "iou":
            return pairs
        return [(candidate, answer) for candidate, answer in pairs if answer.action != "unjudged"]

    def unanswered(self) -> tuple[int, int, int]:
        """Counts of replies about non-empty masks without IoU, without type and without action."""
        candidates = [candidate for candidate in self.block.candidates if candidate.defect != "empty"]
        answers = [self.answers[candidate.id] for candidate in candidates if candidate.id in self.answers]
        parts = ("iou", "defect", "action")
        iou, defect, action = (sum(getattr(answer, part) is None for answer in answers) for part in parts)
        return iou, defect, action

    def cell(
        self,
        metric: str,
        measured: Measured,
        *,
        column: str = ALL,
        members: Sequence[Candidate] | None = None,
        draws: ClusterDraws | None = None,
    ) -> TableNumber:
        """A cell of all or some candidates; its interval is by the draws of the block or by others."""
        candidates = self.block.candidates if members is None else members
        values = (draws or self.block.draws).values(measured)
        outcome = with_interval(
            measured.outcome, values, clusters=measured.drawn_from, drawn="clips", within=measured.within
        )
        exact = _NO_ENDS
        if isinstance(outcome, Interval) and outcome.exact:
            exact = outcome.low - outcome.value, outcome.high - outcome.value
        answered = [candidate for candidate in candidates if candidate.id in self.answers]
        return TableNumber(
            protocol=self.block.protocol,
            part=self.block.part,
            judge=self.judge,
            metric=metric,
            column=column,
            outcome=outcome,
            n=measured.n,
            failed=len(candidates) - len(answered),
            undefined=sum(not is_defined(candidate, metric) for candidate in answered),
            unparsed=measured.unparsed,
            draws=values,
            drawn_from=measured.drawn_from,
            exact=exact,
        )


def block_cells(judged: JudgedBlock, *, unparsed: Unparsed = "wrong") -> list[TableNumber]:
    """All cells of one judge in one block: nine columns and their mean per metric, and those over all masks."""
    measure = partial(measured_by, protocol=judged.block.protocol, unparsed=unparsed)
    cells = [cell for metric in METRICS for cell in column_cells(judged, metric, unparsed=unparsed)]
    if any(answer.own_action for answer in judged.answers.values()):
        cells += own_action_cells(judged, unparsed=unparsed)
    return cells + [judged.cell(metric, measure(metric, judged.pairs(metric))) for metric in OVERALL]


def column_cells(judged: JudgedBlock, metric: str, *, unparsed: Unparsed = "wrong") -> list[TableNumber]:
    """One metric of one judge: nine columns and their mean."""
    row = []
    for column in COLUMNS[judged.block.protocol]:
        members = column.of(judged.block)
        pairs = judged.pairs(metric, members)
        measured = measured_by(metric, pairs, protocol=judged.block.protocol, unparsed=unparsed)
        if not members:
            measured = replace(measured, outcome=Undefined(NO_ITEMS))
        row.append(judged.cell(metric, measured, column=column.key, members=members))
    return [*row, _average(row)]


def own_action_cells(judged: JudgedBlock, *, unparsed: Unparsed = "wrong") -> list[TableNumber]:
    """F2-A of the actions that a judge names itself, independent of the policy."""
    answers = {
        name: replace(answer, action="unjudged" if answer.action == "unjudged" else answer.own_action)
        for name, answer in judged.answers.items()
    }
    cells = column_cells(replace(judged, answers=answers), "f2_a", unparsed=unparsed)
    return [replace(cell, metric=OWN_ACTION) for cell in cells]


def ablation_cells(*parts: Sequence[TableNumber]) -> list[TableNumber]:
    """The ablation form of one judge and metric: six columns of each part, seen and unseen, and the mean of all."""
    cells = []
    for row in parts:
        by_key = {cell.column: cell for cell in row}
        means = mean_by_group([cell.outcome for cell in row])
        for (defect, keys), outcome in zip(GROUPS, means, strict=True):
            cells.append(_joined([by_key[key] for key in keys], column=defect, outcome=outcome))
    mean = replace(_average(cells), part="both" if len(parts) > 1 else cells[0].part)
    return [replace(cell, metric=f"{cell.metric}_ablation") for cell in (*cells, mean)]


def _average(cells: Sequence[TableNumber]) -> TableNumber:
    """The mean of columns; exact intervals do not vary over draws, so their ends are added."""
    joined = _joined(cells, column="avg", outcome=plain_mean([cell.outcome for cell in cells]))
    average = with_interval(joined.outcome, joined.draws, clusters=joined.drawn_from, drawn="clips")
    if any(joined.exact) and isinstance(average, Scored):
        low, high = (getattr(average, end, average.value) for end in ("low", "high"))
        average = Interval(
            value=average.value,
            signature=Signature((*average.signature.fields, ("columns", EXACT))),
            low=low + joined.exact[0],
            high=high + joined.exact[1],
            clusters=joined.drawn_from,
            replicates=joined.draws.size,
            undefined=int(np.count_nonzero(np.isnan(joined.draws))),
        )
    if isinstance(average, Interval):  # its columns are shares or errors of shares, and ends are added and widened
        average = replace(average, low=max(0.0, average.low), high=min(1.0, average.high))
    return replace(joined, outcome=average, n=sum(isinstance(cell.outcome, Scored) for cell in cells))


def _joined(cells: Sequence[TableNumber], *, column: str, outcome: Scored[float] | Undefined) -> TableNumber:
    """Several cells as one: counts summed, and of the defined cells the mean draw by draw, NaN where one of them is."""
    counts = {name: sum(getattr(cell, name) for cell in cells) for name in TableNumber.COUNTED}
    parts = [cell.draws for cell in cells if isinstance(cell.outcome, Scored)]
    complete = parts and all(draws.size for draws in parts)  # a part with one clip has no draws
    draws = np.stack(parts).mean(axis=0) if complete else np.empty(0)
    scored = [cell for cell in cells if isinstance(cell.outcome, Scored)]
    low, high = (fmean(cell.exact[end] for cell in scored) if scored else 0.0 for end in (0, 1))
    fewest = min((cell.drawn_from for cell in scored if cell.drawn_from > 1), default=0)
    return replace(
        cells[0], column=column, outcome=outcome, draws=draws, drawn_from=fewest, exact=(low, high), **counts
    )


SIZES: tuple[tuple[float, float], ...] = ((0.0, 0.01), (0.01, 0.05), (0.05, 0.15), (0.15, 0.30), (0.30, 1.0))
"""Bins of the object's share of the frame: low end included, high end only in the last."""

BINS = 10
RANK_DRAWS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Bin:
    """One bin of the reliability curve."""

    low: float  # of the estimated IoU, included
    high: float  # included only in the last bin
    n: int  # masks in it
    estimated: float | None  # mean estimated IoU
    true: float | None  # mean true IoU


def size_name(bounds: tuple[float, float]) -> str:
    """A size bin in words: percent of the frame."""
    low, high = bounds
    if high >= 1:
        return f"{100 * low:g} % and more"
    return f"under {100 * high:g} %" if low == 0 else f"{100 * low:g} to {100 * high:g} %"


def size_cells(judged: JudgedBlock) -> list[TableNumber]:
    """RMSE by size of the object, one cell per bin; Undefined for a bin without masks or unknown sizes."""
    cells = []
    for bounds in SIZES:
        members = of_size(judged.block, bounds)
        measured = measured_by("rmse", judged.pairs("rmse", members), protocol=judged.block.protocol)
        cells.append(judged.cell("rmse_by_size", measured, column=size_name(bounds), members=members))
    return cells


def of_size(block: Block, bounds: tuple[float, float]) -> list[Candidate]:
    """The candidates whose object has this share of the frame; in video frame by frame."""
    low, high = bounds
    return [
        candidate
        for candidate in block.candidates
        if candidate.area is not None and (low <= candidate.area < high or (high >= 1 and candidate.area >= low))
    ]


def rank_cell(judged: JudgedBlock) -> TableNumber:
    """Spearman's correlation over all masks of a block, with an interval over clips."""
    measured = measures.spearman(*judge_columns(judged.pairs("spearman")))
    draws = ClusterDraws.of(
        measured.clusters, rng=partial(generator, 0, "mqa", "bootstrap", "spearman"), replicates=RANK_DRAWS
    )
    return judged.cell("spearman", measured, draws=draws)


def reliability(pairs: Sequence[AnsweredCandidate]) -> list[Bin]:
    """``BINS`` even bins of the estimated IoU over 0..1, low to high, of masks with estimated and true IoU."""
    members: list[list[tuple[float, float]]] = [[] for _ in range(BINS)]
    for candidate, answer in pairs:
        if answer.iou is not None and candidate.iou is not None:
            members[bin_of(answer.iou, BINS)].append((answer.iou, candidate.iou))
    return [
        Bin(
            low=index / BINS,
            high=(index + 1) / BINS,
            n=len(values),
            estimated=fmean(estimated for estimated, _ in values) if values else None,
            true=fmean(true for _, true in values) if values else None,
        )
        for index, values in enumerate(members)
    ]


def calibration_error(bins: Sequence[Bin]) -> Scored[float] | Undefined:
    """Mean absolute difference of estimated and true IoU over the bins, weighted by their masks; lower is better."""
    total = sum(bin_.n for bin_ in bins)
    if not total:
        return Undefined("no masks")
    value = sum(b.n * abs(b.estimated - b.true) for b in bins if b.estimated is not None and b.true is not None)
    return Scored(value / total, Signature.of(metric="calibration error", bins=len(bins), of="estimated IoU"))


def track_consistency(frames: Sequence[tuple[Candidate, JudgeAnswer | None]]) -> dict[str, float | None]:
    """The four quantities of a track, its frames in any order; None without steps or answers."""
    in_order = sorted(frames, key=lambda pair: pair[0].frame)
    ordered = [(candidate, answer) for candidate, answer in in_order if answer is not None]
    steps = [
        ((candidate, answer), (other, next_answer))
        for (candidate, answer), (other, next_answer) in pairwise(in_order)
        if answer is not None and next_answer is not None
    ]
    moves = [move for before, after in steps if (move := _move(before, after)) is not None]
    defects = Counter(answer.defect for _, answer in ordered)
    return {
        "excess_change": fmean(abs(estimated) for estimated, _ in moves) - fmean(abs(true) for _, true in moves)
        if moves
        else None,
        "step_error": fmean(abs(estimated - true) for estimated, true in moves) if moves else None,
        "agreement": max(defects.values()) / len(ordered) if ordered else None,
        "flicker": fmean(after[1].defect != before[1].defect for before, after in steps) if steps else None,
    }


def _move(before: AnsweredCandidate, after: AnsweredCandidate) -> tuple[float, float] | None:
    """Change of the estimated and of the true IoU; None if one of the four is missing."""
    estimated, true = (before[1].iou, after[1].iou), (before[0].iou, after[0].iou)
    if estimated[0] is None or estimated[1] is None or true[0] is None or true[1] is None:
        return None
    return estimated[1] - estimated[0], true[1] - true[0]


def consistency_cells(judged: JudgedBlock) -> list[TableNumber]:
    """The four quantities over the tracks of a video block; ``n`` counts tracks, the other counts are frames."""
    tracks: dict[str, list[tuple[Candidate, JudgeAnswer | None]]] = {}
    for candidate in judged.block.candidates:
        if candidate.defect != "empty":
            tracks.setdefault(candidate.track, []).append((candidate, judged.answers.get(candidate.id)))
    values = [(frames[0][0].clip, track_consistency(frames)) for frames in tracks.values()]
    return [_consistency_cell(judged, values, metric) for metric in track_consistency([])]


def _consistency_cell(
    judged: JudgedBlock, tracks: Sequence[tuple[str, Mapping[str, float | None]]], metric: str
) -> TableNumber:
    defined = [(clip, value) for clip, track in tracks if (value := track[metric]) is not None]
    measured = measures.mean_of(
        np.array([value for _, value in defined]),
        [clip for clip, _ in defined],
        without="no track has two neighbouring frames with an answer",
        missing=sum(getattr(answer, compared_part(metric)) is None for _, answer in judged.pairs(metric)),
        metric=metric,
        over="tracks",
        protocol="video",
    )
    return judged.cell(metric, replace(measured, within=SHARE if metric in {"agreement", "flicker"} else None))
