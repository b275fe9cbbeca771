"""How good a judge of separated sounds is: quantities of one axis of its scores, 1..5, against the truth.

The columns are those of masks, ``iou`` being the score of the axis and the true one. Order and coverage are the mask
judges' own (``measures.spearman``, ``measures.coverage``); here stands what scores of sounds have besides.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from auscult.outcome import Scored, Signature, Undefined
from auscult.score.judges import measures
from auscult.score.judges.measures import JudgeColumns, Measured, TruthColumns, mean_of, mean_of_sums
from auscult.score.stats.correlation import pearson_of_sums, pearson_rows
from auscult.score.stats.few_clusters import CORRELATION, SHARE, Range
from auscult.score.stats.inputs import members_of

APART: Final = 0.5
"""Two outputs whose true scores differ by this much are told apart by a judge that listens."""
SCALE: Final = Range(low=0.0, high=4.0, root=True)
"""Root mean squares of differences of scores of 1..5."""


def pearson(predicted: JudgeColumns, truth: TruthColumns) -> Measured:
    """Pearson's correlation of scores with the truth, -1..1, higher is better, over the outputs that have both."""
    both = ~(np.isnan(predicted.iou) | np.isnan(truth.iou))
    x, y = ((iou[both] - iou[both].mean()) if both.any() else iou[both] for iou in (predicted.iou, truth.iou))
    rows = pearson_rows(x, y)
    outcome: Scored[float] | Undefined = Undefined("fewer than two outputs, or all scores are equal")
    correlation = float(pearson_of_sums(rows.sum(axis=0)[None])[0]) if x.size > 1 else np.nan
    if np.isfinite(correlation):
        outcome = Scored(correlation, Signature.of(metric="pearson"))
    return Measured(
        outcome=outcome,
        rows=rows,
        clusters=tuple(truth.cluster[both]),
        from_sums=pearson_of_sums,
        n=x.size,
        within=CORRELATION,
    )


def pairs_in_order(
    predicted: JudgeColumns, truth: TruthColumns, *, mixtures: Sequence[Hashable], apart: float = APART
) -> Measured:
    """Share of pairs of outputs of one mixture, of true scores ``apart`` or more, of which the better has more points.

    Equal scores count half. 0..1, higher is better, .5 is chance; ``n`` counts pairs. Undefined where there is none.
    """
    members, rows, clusters = members_of(mixtures), list[tuple[float, float]](), list[Hashable]()
    order = np.argsort(members, kind="stable")
    for part in np.split(order, np.flatnonzero(np.diff(members[order])) + 1):
        true, scores, tally = truth.iou[part], predicted.iou[part], np.zeros(2)
        for index in range(part.size):  # row by row: a mixture may have thousands of outputs
            differences = (scores[index] - scores)[true[index] - true >= apart]
            differences = differences[~np.isnan(differences)]
            tally += ((np.sign(differences) + 1) / 2).sum(), differences.size
        if tally[1]:
            rows.append((float(tally[0]), float(tally[1])))
            clusters.append(truth.cluster[part[0]])
    sums = np.array(rows, dtype=np.float64).reshape(-1, 2)
    total = sums.sum(axis=0)
    outcome: Scored[float] | Undefined = Undefined(f"no mixture has two outputs whose truths are {apart:g} apart")
    if len(sums):
        signature = Signature.of(metric="pairs in order", of="one mixture", apart=f"{apart:g}", ties="half")
        outcome = Scored(float(total[0] / total[1]), signature)
    return Measured(
        outcome=outcome, rows=sums, clusters=tuple(clusters), from_sums=mean_of_sums, n=int(total[1]), within=SHARE
    )


def rmse(predicted: JudgeColumns, truth: TruthColumns) -> Measured:
    """RMSE of the score, 0..4, lower is better, over the outputs that have one."""
    return replace(measures.rmse(predicted, truth, unparsed="skip"), within=SCALE)


def width(predicted: JudgeColumns, truth: TruthColumns) -> Measured:
    """Mean width of the judge's own 90 % interval, 0..4; lower is better."""
    if predicted.low is None or predicted.high is None:
        return mean_of(np.empty(0), (), without=measures.NO_INTERVAL)
    valid = ~(np.isnan(predicted.low) | np.isnan(predicted.high))
    return mean_of((predicted.high - predicted.low)[valid], truth.cluster[valid], metric="width")
