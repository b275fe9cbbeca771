"""The numbers of the compact judge's card: which metrics each set has, and their intervals over photographs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from auscult.judge.cards import Result
from auscult.outcome import Scored
from auscult.rng import generator
from auscult.score.stats import cluster_draws, percentile_interval, spearman, sums_by_cluster
from auscult.train.compact import card_metrics as metrics
from auscult.train.compact.card_judging import ARBITRARY, FULL_NEG, Baselines, Floats, Measured
from auscult.train.compact.card_metrics import Metric, Row
from auscult.types import DEFECTS

REPLICATES: Final = 400
GRADES: Final = ("hard", "medium", "easy")
SIDES: Final = (("side_under_64", 0.0, 64.0), ("side_64_128", 64.0, 128.0), ("side_over_128", 128.0, np.inf))
TENTHS: Final = 10
NOT_TO_ACCEPT: Final = 0.9
BAD: Final = 0.75

_SPEARMAN_REPLICATES: Final = 200


def results_of(measured: Measured, *, known: Baselines, judge: str, seed: int) -> Iterator[Result]:
    """Every metric of every row on one set.

    Args:
        measured: The set.
        known: The calibration IoUs for constant intervals.
        judge: The judge whose card it is; it alone has the metrics of sizes and reliability.
        seed: Seed of the intervals; every row and metric of the set has the same draws.
    """
    draw = _Draw(measured, seed=seed)
    for name, said in measured.rows.items():
        row = Row(measured=measured, said=said, keep=np.ones(len(measured), dtype=np.bool_))
        for metric in _metrics(row, known=known, whole=name == judge):
            yield draw.result(name, metric)
        if len(np.unique(measured.iou)) > 1:
            yield from draw.ranks(name, row.where(~np.isin(measured.defect, [FULL_NEG, ARBITRARY])))


class _Draw:
    """The draws of photographs of one set.

    Args:
        measured: The set.
        seed: Seed of the draws.
    """

    def __init__(self, measured: Measured, *, seed: int) -> None:
        self._set = measured
        self._names, self._members = np.unique(measured.cluster, return_inverse=True)
        rng = generator(seed, "compact", "card", measured.name)
        self._weights = cluster_draws(len(self._names), rng=rng, replicates=REPLICATES)

    def result(self, row: str, metric: Metric) -> Result:
        """One number with its interval over clusters."""
        sums = sums_by_cluster(metric.adds * metric.keep[:, None], self._members, len(self._names))
        with np.errstate(invalid="ignore"):
            value = float(metric.value(sums.sum(axis=0, keepdims=True))[0])
            drawn = metric.value(self._weights @ sums)
        return self._kept(row, metric, value=value, drawn=drawn)

    def ranks(self, name: str, row: Row) -> Iterator[Result]:
        """Spearman's coefficient; it does not follow from sums."""
        parts = {"spearman": row}
        parts |= {f"spearman.{model}": row.where(row.true == model) for model in models_of(self._set)}
        for called, part in parts.items():
            places = [np.flatnonzero(part.keep & (self._members == at)) for at in range(len(self._names))]
            drawn = [
                spearman_of(part, np.concatenate([np.tile(places[at], int(n)) for at, n in enumerate(weights)]))
                for weights in self._weights[:_SPEARMAN_REPLICATES]
            ]
            metric = Metric(
                name=called,
                keep=part.keep,
                adds=np.zeros((0, 0)),
                value=metrics.ratio,
                reason="estimates are all equal",
            )
            yield self._kept(name, metric, value=spearman_of(part, np.flatnonzero(part.keep)), drawn=np.array(drawn))

    def _kept(self, row: str, metric: Metric, *, value: float, drawn: Floats) -> Result:
        clusters = len(np.unique(self._set.cluster[metric.keep]))
        exists = not np.isnan(value)
        interval = percentile_interval(drawn) if exists and clusters > 1 else None
        low, high = (None, None) if interval is None else (_short(interval[0]), _short(interval[1]))
        return Result(
            set=self._set.name,
            row=row,
            metric=metric.name,
            value=_short(value) if exists else None,
            low=low,
            high=high,
            n=int(metric.keep.sum()),
            clusters=clusters,
            reason="" if exists else metric.reason,
        )


def models_of(measured: Measured) -> list[str]:
    """The models whose masks a set of real masks holds."""
    return sorted(set(measured.defect.tolist())) if measured.source == "real" else []


def spearman_of(row: Row, at: NDArray[np.intp]) -> float:
    """Rank agreement of some masks' estimated and true IoU; NaN where there is no order.

    Args:
        row: The masks and what is said of them.
        at: Which, by place; a mask may occur again.
    """
    found = spearman(row.said.iou[at], row.measured.iou[at])
    return found.value if isinstance(found, Scored) else float("nan")


def _short(number: float) -> float:
    return round(number, 4)


def _metrics(row: Row, *, known: Baselines, whole: bool) -> Iterator[Metric]:
    defects = row.measured.defect
    if (defects == ARBITRARY).all():
        yield from _of_nonsense(row)
        return
    judged = row.where(~np.isin(defects, [FULL_NEG, ARBITRARY]))
    made = row.measured.source != "real" and not (defects == "perfect").all()
    yield metrics.rmse("rmse", judged)
    yield from _errors(row, judged) if made else _errors_of_models(row)
    if row.said.named:
        yield from _accepting(judged)
        yield from _types(row, judged) if made else ()
    if row.said.bounded:
        yield from _intervals(judged, held=known.ious(row.measured.source))
    if whole:
        yield from _by_side(judged, made=made)
        yield from _reliability(judged)


def _of_nonsense(row: Row) -> Iterator[Metric]:
    yield metrics.rmse("rmse", row)
    if row.said.named:
        yield metrics.share("accepted", row, row.said.accepted)
        yield metrics.share("called_perfect", row, row.said.defect == "perfect")
        yield metrics.share("called_full_neg", row, row.said.defect == FULL_NEG)


def _errors(row: Row, judged: Row) -> Iterator[Metric]:
    yield metrics.rmse_types("rmse_types", judged)
    yield metrics.rmse("rmse_without_merge", judged.where(row.true != "merge"))
    yield metrics.rmse("rmse_all_six", row)
    for name, cell in _cells(row):
        yield metrics.rmse(f"rmse.{name}", cell)


def _errors_of_models(row: Row) -> Iterator[Metric]:
    for model in models_of(row.measured):
        yield metrics.rmse(f"rmse.{model}", row.where(row.true == model))


def _cells(row: Row) -> Iterator[tuple[str, Row]]:
    """The masks by type, and by type and difficulty; what does not occur is left out."""
    for defect in row.types():
        cell = row.where(row.true == defect)
        yield defect, cell
        for grade in GRADES:
            graded = cell.where(row.measured.difficulty == grade)
            if graded.keep.any():
                yield f"{defect}.{grade}", graded


def _types(row: Row, judged: Row) -> Iterator[Metric]:
    yield metrics.f2_tables("f2_tables", judged)
    yield metrics.f2_tables("f2_tables_all_six", row)
    yield metrics.f2_confusion("f2_confusion", judged)
    yield metrics.f2_confusion("f2_confusion_strict", judged, of=DEFECTS)
    yield metrics.f2_confusion("f2_confusion_all_six", row, of=DEFECTS)
    for name, cell in _cells(row):
        yield metrics.f2_tables(f"f2_tables.{name}", cell)
    for defect in judged.types():
        yield metrics.f2_confusion(f"f2_confusion.{defect}", judged, of=(defect,))


def _accepting(judged: Row) -> Iterator[Metric]:
    accepted, iou = judged.said.accepted, judged.measured.iou
    yield metrics.share("accepted", judged, accepted)
    yield metrics.share("accepted_wrongly", judged.where(accepted), iou < NOT_TO_ACCEPT)
    yield metrics.share("accepted_of_bad", judged.where(iou < BAD), accepted)
    perfect = judged.where(judged.true == "perfect")
    if perfect.keep.any():
        yield metrics.share("called_perfect.perfect", perfect, judged.said.defect == "perfect")
        yield metrics.share("accepted.perfect", perfect, accepted)


def _intervals(judged: Row, *, held: Floats) -> Iterator[Metric]:
    yield metrics.share("coverage_90", judged, judged.covered)
    for defect in DEFECTS:
        predicted = judged.where(judged.said.defect == defect)
        if predicted.keep.any():
            yield metrics.share(f"coverage_90.said.{defect}", predicted, judged.covered)
    yield metrics.share("width_90", judged, judged.said.high - judged.said.low)
    yield metrics.width_ratio("width_ratio", judged, held=held)


def _by_side(judged: Row, *, made: bool) -> Iterator[Metric]:
    for side, least, most in SIDES:
        part = judged.where((judged.measured.side_px >= least) & (judged.measured.side_px < most))
        if not part.keep.any():
            continue
        yield metrics.rmse(f"rmse.{side}", part)
        if made:
            yield metrics.f2_tables(f"f2_tables.{side}", part)
            yield metrics.f2_confusion(f"f2_confusion.{side}", part)
        yield metrics.share(f"coverage_90.{side}", part, part.covered)
        yield metrics.share(f"width_90.{side}", part, part.said.high - part.said.low)


def _reliability(judged: Row) -> Iterator[Metric]:
    """Mean estimated and true IoU in tenths of the estimate."""
    place = np.minimum((judged.said.iou * TENTHS).astype(np.intp), TENTHS - 1)
    for at in range(TENTHS):
        part = judged.where(place == at)
        if part.keep.any():
            yield metrics.share(f"reliability.said.{at / TENTHS:.1f}", part, judged.said.iou)
            yield metrics.share(f"reliability.true.{at / TENTHS:.1f}", part, judged.measured.iou)
