"""A judge's numbers on masks of real models, beside what knowing little gives: the rows and sets of its card.

Intervals draw whole photographs and sequences, the same draws for every row of a set, so that differences are paired.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from auscult.act.policy import Policy, action_of
from auscult.arrays.error_map import values_of
from auscult.judge.cards import Result
from auscult.judge.masks.compact.view import coverage
from auscult.outcome import Scored
from auscult.rng import generator
from auscult.score.stats import auc, f2_confusion, f2_tables, percentile_interval, spearman
from auscult.train.prompted.outputs import CandidateColumns
from auscult.types import DEFECTS, Doubles, ErrorMap, Mask, Verdict

REPLICATES: Final = 400
GOOD: Final = 0.8
FLAGGED: Final = 0.5
SMALL: Final = 0.02
_NAN: Final = float("nan")

Places = NDArray[np.intp]


@dataclass(frozen=True, kw_only=True, eq=False)
class JudgeColumns:
    """What one judge says of n masks.

    Attributes:
        iou: Estimates, (n,).
        rank: What it ranks by: the probability of IoU >= .8 where it has one, else the estimate.
        low: Lower ends of the 90 % intervals; None where it gives none.
        high: Upper ends.
        accepted: Which it accepts; None where it never does.
        defect: Types; None where it names none.
        flagged: Which it says are unlike what it knows; None where it never says so.
        map_f1: F1 over the cells of its error map against the true errors; NaN where nothing is wrong.
        good: Probabilities that the IoU is at least .8; None where it gives none.
        fair: The same for .5.
    """

    iou: Doubles
    rank: Doubles
    low: Doubles | None = None
    high: Doubles | None = None
    accepted: NDArray[np.bool_] | None = None
    defect: NDArray[np.str_] | None = None
    flagged: NDArray[np.bool_] | None = None
    map_f1: Doubles | None = None
    good: Doubles | None = None
    fair: Doubles | None = None

    def where(self, keep: NDArray[np.bool_]) -> JudgeColumns:
        """The masks that are kept."""
        columns: dict[str, Any] = {one.name: getattr(self, one.name) for one in fields(self)}
        kept: dict[str, Any] = {name: None if one is None else one[keep] for name, one in columns.items()}
        return JudgeColumns(**kept)


def row_of(verdicts: Sequence[Verdict], policy: Policy, *, map_f1: Doubles | None = None) -> JudgeColumns:
    """A judge's verdicts as columns; a verdict without an estimate counts as .5."""
    iou = np.array([0.5 if one.iou is None else one.iou for one in verdicts])
    good = np.array([_NAN if one.prob_iou_80 is None else one.prob_iou_80 for one in verdicts])
    fair = np.array([_NAN if one.prob_iou_50 is None else one.prob_iou_50 for one in verdicts])
    return JudgeColumns(
        iou=iou,
        rank=np.where(np.isnan(good), iou, good + 1e-3 * iou),
        low=np.array([0.0 if one.iou_low is None else one.iou_low for one in verdicts]),
        high=np.array([1.0 if one.iou_high is None else one.iou_high for one in verdicts]),
        accepted=np.array([_accepts(one, policy) for one in verdicts]),
        defect=np.array([one.defect for one in verdicts]),
        flagged=np.array([one.novelty >= FLAGGED for one in verdicts]),
        map_f1=map_f1,
        good=None if np.isnan(good).any() else good,
        fair=None if np.isnan(fair).any() else fair,
    )


def _accepts(verdict: Verdict, policy: Policy) -> bool:
    action, _ = action_of(policy, defect=verdict.defect, iou=verdict.iou, prob_iou_80=verdict.prob_iou_80)
    return action == "accept"


def constant(outputs: CandidateColumns, known: CandidateColumns) -> JudgeColumns:
    """Says of every mask the mean IoU of real calibration masks, and the interval that holds 90 % of theirs."""
    values = known.iou[~np.isin(known.family, ["flawless", "made"])]
    n = len(outputs)
    low, high = np.quantile(values, [0.05, 0.95])
    mean = np.full(n, float(values.mean()))
    return JudgeColumns(iou=mean, rank=mean, low=np.full(n, float(low)), high=np.full(n, float(high)))


def area(outputs: CandidateColumns, known: CandidateColumns) -> JudgeColumns:
    """Mask area alone: a line from the log share of the frame to the IoU of real calibration masks."""
    real = ~np.isin(known.family, ["flawless", "made"])
    slope, offset = np.polyfit(np.log(known.share[real]), known.iou[real], 1)
    estimate = np.clip(slope * np.log(outputs.share) + offset, 0.0, 1.0)
    return JudgeColumns(iou=estimate, rank=np.asarray(estimate + 1e-6 * np.log(outputs.share)))


def map_f1(error_map: ErrorMap | None, mask: Mask, truth: Mask) -> float:
    """F1 of the cells that an error map says are wrong; NaN where nothing is wrong, 0 without a map."""
    if not (mask ^ truth).any():
        return _NAN
    if error_map is None:
        return 0.0
    true, held = (coverage(one, error_map.box, error_map.side) >= 128 for one in (truth, mask))
    wrong, said = true ^ held, values_of(error_map) != 0
    if not wrong.any():
        return _NAN
    return float(2 * np.count_nonzero(wrong & said) / (np.count_nonzero(wrong) + np.count_nonzero(said)))


ColumnStatistic = Callable[[JudgeColumns, CandidateColumns, Places], float]


def _auc(row: JudgeColumns, outputs: CandidateColumns, at: Places) -> float:
    found = auc(row.rank[at], outputs.iou[at] >= GOOD)
    return found.value if isinstance(found, Scored) else _NAN


def _spearman(row: JudgeColumns, outputs: CandidateColumns, at: Places) -> float:
    found = spearman(row.iou[at], outputs.iou[at])
    return found.value if isinstance(found, Scored) else _NAN


def _rmse(row: JudgeColumns, outputs: CandidateColumns, at: Places) -> float:
    return float(np.sqrt(np.mean((row.iou[at] - outputs.iou[at]) ** 2)))


def _bias(row: JudgeColumns, outputs: CandidateColumns, at: Places) -> float:
    return float(np.mean(row.iou[at] - outputs.iou[at]))


def _bias_small(row: JudgeColumns, outputs: CandidateColumns, at: Places) -> float:
    small = at[outputs.share[at] < SMALL]
    return _bias(row, outputs, small) if small.size else _NAN


def _coverage(row: JudgeColumns, outputs: CandidateColumns, at: Places) -> float:
    if row.low is None or row.high is None:
        return _NAN
    return float(np.mean((row.low[at] <= outputs.iou[at]) & (outputs.iou[at] <= row.high[at])))


def _width(row: JudgeColumns, outputs: CandidateColumns, at: Places) -> float:
    del outputs
    return _NAN if row.low is None or row.high is None else float(np.mean(row.high[at] - row.low[at]))


def _accepted(row: JudgeColumns, outputs: CandidateColumns, at: Places) -> float:
    del outputs
    return _NAN if row.accepted is None else float(np.mean(row.accepted[at]))


def _precision(row: JudgeColumns, outputs: CandidateColumns, at: Places) -> float:
    if row.accepted is None or not row.accepted[at].any():
        return _NAN
    return float(np.mean(outputs.iou[at][row.accepted[at]] >= GOOD))


def _recall(row: JudgeColumns, outputs: CandidateColumns, at: Places) -> float:
    good = outputs.iou[at] >= GOOD
    return _NAN if row.accepted is None or not good.any() else float(np.mean(row.accepted[at][good]))


def _defective(row: JudgeColumns, outputs: CandidateColumns, at: Places) -> float:
    del outputs
    return _NAN if row.defect is None else float(np.mean(row.defect[at] != "perfect"))


def _flagged(row: JudgeColumns, outputs: CandidateColumns, at: Places) -> float:
    del outputs
    return _NAN if row.flagged is None else float(np.mean(row.flagged[at]))


def _flagged_worse(row: JudgeColumns, outputs: CandidateColumns, at: Places) -> float:
    """How much larger the mean error is on flagged masks than on the others."""
    if row.flagged is None or row.flagged[at].all() or not row.flagged[at].any():
        return _NAN
    off = np.abs(row.iou[at] - outputs.iou[at])
    return float(off[row.flagged[at]].mean() - off[~row.flagged[at]].mean())


def _map_f1(row: JudgeColumns, outputs: CandidateColumns, at: Places) -> float:
    del outputs
    if row.map_f1 is None or not np.isfinite(row.map_f1[at]).any():
        return _NAN
    return float(np.nanmean(row.map_f1[at]))


def _f2_tables(row: JudgeColumns, outputs: CandidateColumns, at: Places) -> float:
    return _f2(f2_tables, row, outputs, at=at)


def _f2_confusion(row: JudgeColumns, outputs: CandidateColumns, at: Places) -> float:
    return _f2(f2_confusion, row, outputs, at=at)


def _f2(function: Callable[..., object], row: JudgeColumns, outputs: CandidateColumns, *, at: Places) -> float:
    if row.defect is None:
        return _NAN
    found = function(row.defect[at].tolist(), outputs.defect[at].tolist(), DEFECTS)
    return float(found.value) if isinstance(found, Scored) else _NAN


REAL: Final[Mapping[str, ColumnStatistic]] = {
    "auc_80": _auc,
    "spearman": _spearman,
    "rmse": _rmse,
    "bias": _bias,
    "bias_small": _bias_small,
    "coverage_90": _coverage,
    "width_90": _width,
    "accepted": _accepted,
    "accept_precision": _precision,
    "accept_recall": _recall,
    "flagged": _flagged,
    "flagged_worse": _flagged_worse,
    "error_map_f1": _map_f1,
}
FLAWLESS: Final[Mapping[str, ColumnStatistic]] = {"accepted": _accepted, "called_defective": _defective, "bias": _bias}
MADE: Final[Mapping[str, ColumnStatistic]] = {
    "f2_tables": _f2_tables,
    "f2_confusion": _f2_confusion,
    "spearman": _spearman,
    "rmse": _rmse,
    "coverage_90": _coverage,
}
HIGHER: Final = frozenset({"auc_80", "spearman", "accept_precision", "accept_recall", "f2_tables", "f2_confusion"})
PAIRED: Final = ("auc_80", "spearman", "rmse", "f2_tables")
"""Metrics whose difference to the other rows is measured too, paired; better is positive."""


def results_of(
    name: str,
    outputs: CandidateColumns,
    rows: Mapping[str, JudgeColumns],
    *,
    metrics: Mapping[str, ColumnStatistic],
    seed: int,
) -> Iterator[Result]:
    """Every metric of every row on one set, and how much better the first row is than the others.

    Args:
        name: The set's name.
        outputs: Its masks' truths.
        rows: Judges by name, the one that the card is of first.
        metrics: What is measured.
        seed: Seed of the draws.
    """
    clusters, members = np.unique(outputs.cluster, return_inverse=True)
    places = [np.flatnonzero(members == at) for at in range(len(clusters))]
    rng = generator(seed, "prompted", "card", name)
    drawn = [
        np.concatenate([places[at] for at in rng.integers(len(clusters), size=len(clusters))])
        for _ in range(REPLICATES)
    ]
    everything = np.arange(len(outputs))
    first = next(iter(rows))
    for metric, statistic in metrics.items():
        known: dict[str, Doubles] = {}
        values: dict[str, float] = {}
        for row, said in rows.items():
            values[row] = statistic(said, outputs, everything)
            known[row] = np.array([statistic(said, outputs, at) for at in drawn])
            yield _result((name, row, metric), values[row], known[row], n=len(outputs), clusters=len(clusters))
        if metric in PAIRED:
            sign = 1.0 if metric in HIGHER else -1.0
            for row in list(rows)[1:]:
                yield _result(
                    (name, row, f"{metric}.better"),
                    sign * (values[first] - values[row]),
                    sign * (known[first] - known[row]),
                    n=len(outputs),
                    clusters=len(clusters),
                )


def _result(key: tuple[str, str, str], value: float, drawn: Doubles, *, n: int, clusters: int) -> Result:
    exists = bool(np.isfinite(value))
    interval = percentile_interval(drawn) if exists and clusters > 1 else None
    return Result(
        set=key[0],
        row=key[1],
        metric=key[2],
        value=round(value, 4) if exists else None,
        low=None if interval is None else round(interval[0], 4),
        high=None if interval is None else round(interval[1], 4),
        n=n,
        clusters=clusters,
        reason="" if exists else "not said by this row, or nothing to measure it on",
    )
