"""How good a judge is: every quantity of a judge against truth, and its interval over clips or photographs.

A quantity takes a judge's columns and the truth and gives ``Measured``: the number, and the rows that a bootstrap draw
needs. Nearly all add up over clusters (squared errors, hits, counts), so that a thousand draws cost one product of
matrices; what depends on order is computed again from the rows of each draw.

The number itself comes from ``score.stats``. Shares and means are 0..1, an RMSE has the unit of the IoU.

Source: MQA-RefAVS, App. C: Eq. 10 (``rmse`` over items), Eq. 12 (``rmse`` over tracks: per track the mean over its
frames), Eqs. 9 and 11 (F2), Eq. 13 (F2 over tracks: per track, then the mean).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal, Self, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from auscult.arrays.averages import group_means
from auscult.outcome import Scored, Signature, Undefined
from auscult.score import stats
from auscult.score.stats.errors import Unparsed
from auscult.score.stats.few_clusters import CORRELATION, ROOT, SHARE, Range, widened
from auscult.score.stats.intervals import CELLS, FromSums, draws_in_parts, sums_by_cluster, weighted_sums
from auscult.score.stats.intervals import with_interval as of_draws
from auscult.types import ACTIONS, DEFECTS, Doubles


@dataclass(frozen=True, kw_only=True, eq=False)
class MaskColumns:
    """Columns of n masks; a column without values is None."""

    def where(self, keep: NDArray[Any]) -> Self:
        """Some of the masks, given by a bool mask or by indices."""
        columns: dict[str, Any] = {field.name: getattr(self, field.name) for field in fields(self)}
        return type(self)(**{name: None if column is None else column[keep] for name, column in columns.items()})


C = TypeVar("C", bound=MaskColumns)


@dataclass(frozen=True, kw_only=True, eq=False)
class JudgeColumns(MaskColumns):
    """One judge's outputs for n masks. A column that it never fills is None."""

    iou: Doubles  # estimates, (n,); NaN where a reply held none
    # ranking score, (n,): the probability of IoU >= .8 where it has one, else the estimate
    rank: Doubles | None = None
    low: Doubles | None = None  # lower ends of the 90 % intervals; NaN where a reply held none
    high: Doubles | None = None  # upper ends
    accepted: NDArray[np.bool_] | None = None  # which it accepts, bool
    defect: NDArray[Any] | None = None  # types, texts; None where a reply held none
    action: NDArray[Any] | None = None  # actions, texts; None where a reply held none
    flagged: NDArray[np.bool_] | None = None  # masks flagged as out of distribution, bool
    # F1 over the cells of its error map against the true errors; NaN where nothing is wrong
    map_f1: Doubles | None = None
    good: Doubles | None = None  # probabilities that the IoU is at least .8
    fair: Doubles | None = None  # the same for .5


def joined_columns(parts: Sequence[C]) -> C:
    """The columns of several sets of masks, concatenated; all parts fill the same columns."""
    filled = [field.name for field in fields(parts[0]) if getattr(parts[0], field.name) is not None]
    return type(parts[0])(**{name: np.concatenate([getattr(part, name) for part in parts]) for name in filled})


@dataclass(frozen=True, kw_only=True, eq=False)
class TruthColumns(MaskColumns):
    """Ground truth of n masks."""

    iou: Doubles  # true IoU, (n,); NaN where unknown
    cluster: NDArray[Any]  # the clip or photograph, (n,): masks of one cluster are not independent
    defect: NDArray[Any] | None = None  # true types, texts; None where not known
    action: NDArray[Any] | None = None  # right actions, texts; None where not known
    # the mask over the frames of a clip that each belongs to; None where there are no clips
    track: NDArray[Any] | None = None
    share: Doubles | None = None  # share of the frame that each mask covers, 0..1; None where not known

    def __len__(self) -> int:
        return len(self.iou)


def texts(values: Sequence[object]) -> NDArray[Any]:
    """A column of texts, (n,); None for a missing one."""
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column


def reals(values: Iterable[float | None]) -> Doubles:
    """A column of numbers in which None becomes NaN, (n,)."""
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)


LEVEL = 0.95
GOOD = 0.8
"""A mask of at least this IoU is a good one."""

Label: TypeAlias = Literal["defect", "action"]
Over: TypeAlias = Literal["items", "tracks"]
FromWeights: TypeAlias = Callable[[Doubles], float]

CLASSES: Mapping[Label, tuple[str, ...]] = {"defect": tuple(DEFECTS), "action": tuple(ACTIONS)}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Measured:
    """A number, and what a bootstrap needs to compute it for each draw."""

    outcome: Scored[float] | Undefined  # the number, or why there is none
    rows: NDArray[Any]  # what it is made of, (m, k): one row per item, or per track
    clusters: Sequence[Hashable]  # the cluster of each row, (m,)
    from_sums: FromSums  # from sums of rows (draws, k) to the number of each draw (draws,), NaN where undefined
    # for what does not add up: from how often each row occurs in one draw, (m,), to its number, NaN where undefined;
    # `from_sums` is unused then
    from_weights: FromWeights | None = None
    n: int  # items or tracks that the number is over
    unparsed: int = 0  # replies without this answer among the items given
    within: Range | None = None  # what the number can be; None where that has no use

    @property
    def drawn_from(self) -> int:
        """How many clusters it is from."""
        return len(set(self.clusters))


Quantity: TypeAlias = Callable[[JudgeColumns, TruthColumns], Measured]


@dataclass(frozen=True, slots=True, eq=False)
class ClusterDraws:
    """Draws of whole clusters with replacement: the same ones for every quantity that is drawn with them."""

    index_of: Mapping[Hashable, int]  # index of each cluster
    rng: Callable[[], np.random.Generator]  # makes the generator of the draws
    replicates: int  # how many draws; none are made of a single cluster
    kept: list[NDArray[np.uint8]] = field(default_factory=list)  # the draws, once they were made

    @classmethod
    def of(
        cls, clusters: Iterable[Hashable], *, rng: Callable[[], np.random.Generator], replicates: int
    ) -> ClusterDraws:
        """Draws of some clusters, numbered in the order of their first occurrence."""
        index_of = {cluster: index for index, cluster in enumerate(dict.fromkeys(clusters))}
        return cls(index_of, rng, replicates)

    def values(self, measured: Measured) -> Doubles:
        """The number in each draw, (replicates,), widened as its clusters ask; NaN where undefined.

        Empty where the draws are of a single cluster.
        """
        if len(self.index_of) < 2:
            return np.empty(0)
        if not len(measured.rows):
            return np.full(self.replicates, np.nan)
        members = np.array([self.index_of[cluster] for cluster in measured.clusters])
        if measured.from_weights is not None:
            draws = np.array([measured.from_weights(row[members]) for part in self._weights() for row in part])
        else:
            sums = sums_by_cluster(measured.rows, members, len(self.index_of))
            draws = np.concatenate([measured.from_sums(weighted_sums(part, sums)) for part in self._weights()])
        if measured.drawn_from < 2 or not isinstance(measured.outcome, Scored):
            return draws
        root = measured.within is not None and measured.within.root
        return widened(draws, measured.outcome.value, sizes=np.bincount(members), level=LEVEL, root=root)

    def _weights(self) -> Iterator[Doubles]:
        """How often each cluster occurs in each draw, (draws, clusters), as many draws at once as fit."""
        if not self.kept:  # as bytes: no cluster comes 256 times
            step = max(1, CELLS // len(self.index_of))
            parts = draws_in_parts(len(self.index_of), rng=self.rng(), replicates=self.replicates, step=step)
            self.kept.extend(part.astype(np.uint8) for part in parts)
        return (part.astype(np.float64) for part in self.kept)


def with_interval(
    outcome: Scored[float] | Undefined,
    draws: Doubles,
    *,
    clusters: int,
    drawn: str = "clusters",
    within: Range | None = None,
) -> Scored[float] | Undefined:
    """The number with its interval; without one where there is a single cluster, or too few draws have it.

    ``draws`` are those of ``ClusterDraws.values``, NaN where undefined; may be empty. ``drawn`` says in the signature
    what the clusters are, and ``within`` what the number can be.
    """
    if clusters < 2 or not draws.size or not isinstance(outcome, Scored):
        return outcome
    return of_draws(outcome, draws, clusters=clusters, level=LEVEL, within=within, drawn=drawn) or outcome


def estimates(
    predicted: JudgeColumns, truth: TruthColumns, *, over: Over = "items", unparsed: Unparsed = "wrong"
) -> tuple[Doubles, Doubles, tuple[Hashable, ...]]:
    """Estimated (m,) and true IoU (m,) of what an RMSE is over, and its clusters, where the true IoU is known.

    A reply without IoU counts as 0 (``wrong``) or is left out (``skip``). Of a track it leaves the mean over the
    frames, as in the paper's release; a track without any is 0 or left out.
    """
    known = ~np.isnan(truth.iou)
    answered = known & ~np.isnan(predicted.iou)
    if over == "items":
        answered = known if unparsed == "wrong" else answered
        return np.nan_to_num(predicted.iou[answered], nan=0.0), truth.iou[answered], tuple(truth.cluster[answered])
    tracks = _tracks(truth)
    if unparsed == "wrong":
        answered_tracks = set(tracks[answered].tolist())  # np.isin compares objects one with each
        answered |= known & ~np.fromiter((track in answered_tracks for track in tracks.tolist()), bool, len(tracks))
    of_frame = tracks[answered].tolist()
    estimated = dict(zip(*group_means(np.nan_to_num(predicted.iou[answered], nan=0.0), of_frame), strict=True))
    true_iou = dict(zip(*group_means(truth.iou[answered], of_frame), strict=True))
    clusters: dict[Hashable, Hashable] = {}
    for track, cluster in zip(tracks[known], truth.cluster[known], strict=True):
        if track in estimated:
            clusters.setdefault(track, cluster)
    return (
        np.array([estimated[track] for track in clusters], np.float64),
        np.array([true_iou[track] for track in clusters], np.float64),
        tuple(clusters.values()),
    )


def _tracks(truth: TruthColumns) -> NDArray[Any]:
    if truth.track is None:
        raise TypeError("a quantity over tracks needs the column `track`")
    return truth.track


def rmse(
    predicted: JudgeColumns, truth: TruthColumns, *, over: Over = "items", unparsed: Unparsed = "wrong"
) -> Measured:
    """RMSE of the estimated IoU; lower is better. ``estimates`` says which items count."""
    iou, true_iou, clusters = estimates(predicted, truth, over=over, unparsed=unparsed)
    tracks = over == "tracks"
    outcome = stats.rmse_video(iou, true_iou, videos=range(len(iou))) if tracks else stats.rmse(iou, true_iou)
    rows = np.stack([(iou - true_iou) ** 2, np.ones_like(iou)], axis=1)
    missing = int(np.count_nonzero(np.isnan(predicted.iou) & ~np.isnan(truth.iou)))
    return Measured(
        outcome=outcome,
        rows=rows,
        clusters=clusters,
        from_sums=lambda sums: np.sqrt(mean_of_sums(sums)),
        n=len(iou),
        unparsed=missing,
        within=ROOT,
    )


def bias(predicted: JudgeColumns, truth: TruthColumns) -> Measured:
    """Mean of estimated minus true IoU; best is 0."""
    both = ~(np.isnan(predicted.iou) | np.isnan(truth.iou))
    measured = mean_of((predicted.iou - truth.iou)[both], truth.cluster[both], metric="bias")
    return replace(measured, within=CORRELATION)


def judged(predicted: JudgeColumns, truth: TruthColumns) -> Measured:
    """Share of masks that have an estimate; the others are not judged."""
    return mean_of(~np.isnan(predicted.iou), truth.cluster, metric="judged")


def spearman(predicted: JudgeColumns, truth: TruthColumns) -> Measured:
    """Rank agreement of estimated and true IoU, -1..1, higher is better, over the masks that have both."""
    both = ~(np.isnan(predicted.iou) | np.isnan(truth.iou))
    estimated, true = predicted.iou[both], truth.iou[both]
    from_weights = stats.spearman_of_draws(estimated, true)
    measured = _ranked(stats.spearman(estimated, true), from_weights, clusters=truth.cluster[both], within=CORRELATION)
    return replace(measured, unparsed=int(np.count_nonzero(np.isnan(predicted.iou) & ~np.isnan(truth.iou))))


def auc_of_good(predicted: JudgeColumns, truth: TruthColumns) -> Measured:
    """How well it ranks masks of IoU >= .8 above the others; .5 is chance, higher is better."""
    rank = predicted.iou if predicted.rank is None else predicted.rank
    present = ~np.isnan(rank)
    ranks, good = rank[present], truth.iou[present] >= GOOD
    from_weights = stats.auc_of_draws(ranks, good)
    return _ranked(stats.auc(ranks, good), from_weights, clusters=truth.cluster[present], within=SHARE)


def _ranked(
    outcome: Scored[float] | Undefined, from_weights: FromWeights, *, clusters: NDArray[Any], within: Range
) -> Measured:
    return Measured(
        outcome=outcome,
        rows=np.ones((len(clusters), 1)),
        clusters=tuple(clusters),
        from_sums=mean_of_sums,
        from_weights=from_weights,
        n=len(clusters),
        within=within,
    )


def coverage(predicted: JudgeColumns, truth: TruthColumns) -> Measured:
    """Share of true IoUs inside the judge's own 90 % interval, ends included; best is .90."""
    low, high, true_iou, clusters = _intervals(predicted, truth)
    share = mean_of((low <= true_iou) & (true_iou <= high), clusters, metric="coverage", missing=len(truth) - len(low))
    outcome = stats.coverage(low, high, true_iou) if len(low) or not len(truth) else Undefined(NO_INTERVAL)
    return replace(share, outcome=outcome)


def width(predicted: JudgeColumns, truth: TruthColumns) -> Measured:
    """Mean width of the judge's own 90 % interval; lower is better."""
    low, high, _, clusters = _intervals(predicted, truth)
    return replace(mean_of(high - low, clusters, metric="width", without=NO_INTERVAL), within=SHARE)


def _intervals(predicted: JudgeColumns, truth: TruthColumns) -> tuple[Doubles, Doubles, Doubles, NDArray[Any]]:
    if predicted.low is None or predicted.high is None:
        nothing = np.empty(0)
        return nothing, nothing, nothing, truth.cluster[:0]
    valid = (predicted.low <= predicted.high) & ~np.isnan(truth.iou)
    return predicted.low[valid], predicted.high[valid], truth.iou[valid], truth.cluster[valid]


NO_INTERVAL = "gives no interval"
NO_DEFECT = "names no defect"


def accepted(predicted: JudgeColumns, truth: TruthColumns) -> Measured:
    """Share of masks that are accepted as they are."""
    return _share(predicted.accepted, truth)


def accept_precision(predicted: JudgeColumns, truth: TruthColumns) -> Measured:
    """Share of accepted masks whose IoU is at least .8; higher is better."""
    if predicted.accepted is None:
        return _nothing(NO_DEFECT)
    return mean_of(truth.iou[predicted.accepted] >= GOOD, truth.cluster[predicted.accepted], metric="accept precision")


def accept_recall(predicted: JudgeColumns, truth: TruthColumns) -> Measured:
    """Share of masks whose IoU is at least .8 that are accepted; higher is better."""
    if predicted.accepted is None:
        return _nothing(NO_DEFECT)
    good = truth.iou >= GOOD
    return mean_of(predicted.accepted[good], truth.cluster[good], metric="accept recall")


def called(predicted: JudgeColumns, truth: TruthColumns, *, defect: str) -> Measured:
    """Share of masks that are given this defect."""
    return _share(None if predicted.defect is None else predicted.defect == defect, truth)


def called_defective(predicted: JudgeColumns, truth: TruthColumns) -> Measured:
    """Share of masks that are given any defect; for flawless masks lower is better. Masks not judged have none."""
    names = predicted.defect
    return _share(None if names is None else np.array([name not in {None, "perfect"} for name in names]), truth)


def flagged(predicted: JudgeColumns, truth: TruthColumns) -> Measured:
    """Share of masks that are flagged as out of distribution."""
    return _share(predicted.flagged, truth, without="flags nothing")


def flagged_worse(predicted: JudgeColumns, truth: TruthColumns) -> Measured:
    """How much larger the mean error is on flagged masks than on the others; higher is better."""
    if predicted.flagged is None or predicted.flagged.all() or not predicted.flagged.any():
        return _nothing("flags all or nothing")
    both = ~(np.isnan(predicted.iou) | np.isnan(truth.iou))
    off, flag = np.abs(predicted.iou - truth.iou)[both], predicted.flagged[both]
    rows = np.column_stack([off * flag, flag, off * ~flag, ~flag]).astype(np.float64)
    value = float(_difference_of_means(rows.sum(axis=0)[None])[0])
    return Measured(
        outcome=Scored(value, Signature.of(metric="flagged worse")),
        rows=rows,
        clusters=tuple(truth.cluster[both]),
        from_sums=_difference_of_means,
        n=len(rows),
    )


def error_map_f1(predicted: JudgeColumns, truth: TruthColumns) -> Measured:
    """F1 over the cells of the error map, mean over the masks in which something is wrong; higher is better."""
    if predicted.map_f1 is None:
        return _nothing("draws no error map")
    wrong = np.isfinite(predicted.map_f1)
    return mean_of(predicted.map_f1[wrong], truth.cluster[wrong], metric="error map F1")


def _share(values: NDArray[Any] | None, truth: TruthColumns, *, without: str = NO_DEFECT) -> Measured:
    return _nothing(without) if values is None else mean_of(values, truth.cluster, metric="share")


def _nothing(reason: str) -> Measured:
    return Measured(outcome=Undefined(reason), rows=np.empty((0, 2)), clusters=(), from_sums=mean_of_sums, n=0)


def mean_of(
    values: NDArray[Any], clusters: Iterable[Hashable], *, without: str = "no items", missing: int = 0, **signature: str
) -> Measured:
    """A mean of numbers or marks, (n,), or ``without``, why there is none; ``missing`` counts replies without one.

    A mean of marks is a share.
    """
    rows = np.column_stack([values, np.ones(len(values))]).astype(np.float64)
    outcome: Scored[float] | Undefined = Undefined(without)
    if len(rows):
        outcome = Scored(float(rows[:, 0].mean()), Signature.of(**signature))
    return Measured(
        outcome=outcome,
        rows=rows,
        clusters=tuple(clusters),
        from_sums=mean_of_sums,
        n=len(rows),
        unparsed=missing,
        within=SHARE if values.dtype == np.bool_ else None,
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Labels:
    """Predicted and true labels of the items whose true label is known, and their row numbers."""

    predicted: list[str | None]
    right: list[str]
    at: NDArray[np.intp]

    @classmethod
    def of(cls, judged: JudgeColumns, truth: TruthColumns, label: Label) -> _Labels | None:
        """The labels; None where the judge names none."""
        predicted, true_labels = getattr(judged, label), getattr(truth, label)
        if predicted is None or true_labels is None:
            return None
        rows = np.flatnonzero([name is not None for name in true_labels])
        names = [None if name == "unjudged" else name for name in predicted[rows].tolist()]  # no answer, so a miss
        return cls(names, true_labels[rows].tolist(), rows)


def f2_tables(
    predicted: JudgeColumns,
    truth: TruthColumns,
    *,
    label: Label = "defect",
    columns: Sequence[str] | None = None,
    unparsed: Unparsed = "wrong",
) -> Measured:
    """F2 as in the paper's tables, one column at a time; higher is better.

    ``columns``, (n,), are for actions the true defect; by default the right label. A reply without this label is a miss
    (``wrong``) or left out (``skip``).
    """
    labels = _Labels.of(predicted, truth, label)
    if labels is None:
        return _nothing(NO_DEFECT)
    row_columns = labels.right if columns is None else [columns[row] for row in labels.at]
    classes = CLASSES[label]
    outcome = stats.f2_tables(
        labels.predicted, labels.right, classes, columns=None if columns is None else row_columns, unparsed=unparsed
    )
    names = list(dict.fromkeys(row_columns))
    statistic = _MacroF2(columns=max(1, len(names)), classes=len(classes), only_true=True)
    return _f2_of_counts(labels, truth, [names.index(name) for name in row_columns], statistic=statistic, label=label,
                    unparsed=unparsed, outcome=outcome)  # fmt: skip


def f2_confusion(
    predicted: JudgeColumns, truth: TruthColumns, *, label: Label = "defect", unparsed: Unparsed = "wrong"
) -> Measured:
    """F2 from the confusion matrix of all items: false alarms count; higher is better."""
    labels = _Labels.of(predicted, truth, label)
    if labels is None:
        return _nothing(NO_DEFECT)
    classes = CLASSES[label]
    outcome = stats.f2_confusion(labels.predicted, labels.right, classes, unparsed=unparsed)
    statistic = _MacroF2(columns=1, classes=len(classes), only_true=False)
    return _f2_of_counts(labels, truth, [0] * len(labels.at), statistic=statistic, label=label, unparsed=unparsed,
                    outcome=outcome)  # fmt: skip


def f2_of_defect(predicted: JudgeColumns, truth: TruthColumns, *, defect: str) -> Measured:
    """F2 of one type from the confusion matrix of all items; higher is better."""
    measured = f2_confusion(predicted, truth)
    outcome = measured.outcome
    if isinstance(outcome, stats.F2Macro):
        outcome = outcome.parts[defect]
    classes = CLASSES["defect"]
    statistic = _MacroF2(columns=1, classes=len(classes), only_true=False, only=classes.index(defect))
    return replace(measured, outcome=outcome, from_sums=statistic)


def f2_tracks(
    predicted: JudgeColumns, truth: TruthColumns, *, label: Label = "defect", unparsed: Unparsed = "wrong"
) -> Measured:
    """F2 within each track over its true labels, then the mean of the tracks; higher is better."""
    labels = _Labels.of(predicted, truth, label)
    if labels is None:
        return _nothing(NO_DEFECT)
    tracks, clusters = _tracks(truth)[labels.at].tolist(), truth.cluster[labels.at].tolist()
    outcome = stats.f2_video(labels.predicted, labels.right, CLASSES[label], videos=tracks, unparsed=unparsed)
    parts = outcome.parts if isinstance(outcome, stats.F2Macro) else {}
    of_track = dict(zip(tracks, clusters, strict=True))
    scored = [(of_track[track], part.value) for track, part in parts.items() if isinstance(part, Scored)]
    return Measured(
        outcome=outcome,
        rows=np.array([[value, 1.0] for _, value in scored]).reshape(-1, 2),
        clusters=tuple(cluster for cluster, _ in scored),
        from_sums=mean_of_sums,
        n=len(scored),
        unparsed=labels.predicted.count(None),
        within=SHARE,
    )


def _f2_of_counts(
    labels: _Labels,
    truth: TruthColumns,
    columns: Sequence[int],
    *,
    statistic: _MacroF2,
    label: Label,
    unparsed: Unparsed,
    outcome: Scored[float] | Undefined,
) -> Measured:
    """An F2 of counts: each row marks one cell of its column's confusion matrix, last column: no answer."""
    column_of: dict[str | None, int] = {name: number for number, name in enumerate(CLASSES[label])}
    column_of[None] = len(column_of)
    indices = [index for index, name in enumerate(labels.predicted) if name is not None or unparsed == "wrong"]
    shape = (statistic.columns, statistic.classes, statistic.classes + 1)
    rows = np.zeros((len(indices), *shape), dtype=np.uint8)  # hundreds of cells a row, of which one is 1
    for row, index in zip(rows, indices, strict=True):
        row[columns[index], column_of[labels.right[index]], column_of[labels.predicted[index]]] = 1
    return Measured(
        outcome=outcome,
        rows=rows.reshape(len(indices), math.prod(shape)),
        clusters=tuple(truth.cluster[labels.at[indices]]),
        from_sums=statistic,
        n=len(indices),
        unparsed=labels.predicted.count(None),
        within=SHARE,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _MacroF2:
    """F2 of ``columns`` confusion matrices: macro over classes in each, then the mean of them."""

    columns: int  # how many matrices there are
    classes: int  # how many labels
    only_true: bool  # only labels that are right somewhere in the column count, else also those that are only predicted
    only: int | None = None  # the one class whose F2 is wanted; None for the macro average

    def __call__(self, sums: Doubles) -> Doubles:
        matrix = sums.reshape(len(sums), self.columns, self.classes, self.classes + 1)
        true_counts, predicted_counts = matrix.sum(axis=3), matrix[..., :-1].sum(axis=2)
        hits = np.einsum("rkcc->rkc", matrix[..., :-1])
        counts = true_counts > 0 if self.only_true else true_counts + predicted_counts > 0
        if self.only is not None:
            counts = counts & (np.arange(self.classes) == self.only)
        below = np.where(counts, 4 * true_counts + predicted_counts, 1)
        total = (5 * np.where(counts, hits, 0) / below).sum(axis=2)
        of_column = _divided(total, counts.sum(axis=2).astype(np.float64))
        defined = ~np.isnan(of_column)
        return _divided(np.where(defined, of_column, 0).sum(axis=1), defined.sum(axis=1).astype(np.float64))


def mean_of_sums(sums: Doubles) -> Doubles:
    """A mean from sums of values and of ones, (draws, 2) to (draws,)."""
    return _divided(sums[:, 0], sums[:, 1])


def _difference_of_means(sums: Doubles) -> Doubles:
    return _divided(sums[:, 0], sums[:, 1]) - _divided(sums[:, 2], sums[:, 3])


def _divided(above: Doubles, below: Doubles) -> Doubles:
    """The quotient, NaN where nothing was drawn."""
    return np.where(below > 0, above / np.where(below > 0, below, 1), np.nan)
