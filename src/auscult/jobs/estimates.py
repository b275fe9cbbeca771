"""Estimates without truth: how many masks are bad, and whether the model's own score agrees with the judge.

A detector gives each of its masks a score. Where INPUT holds it, ``verdicts.jsonl`` has it as ``model_score``; all
numbers here are computed from these lines and ``truth.jsonl``. Scores of one INPUT are taken to be of one model.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from auscult.errors import RecordError
from auscult.jobs.against_truth import JudgedPair, Metrics, cell, keep
from auscult.outcome import Scored, Signature, Undefined
from auscult.record.schema import DECIMALS, cluster_of
from auscult.report.audit import DISAGREEMENTS, MODEL_SCORE
from auscult.report.facts import AGREEMENT, BELOW_50, BELOW_80, LOOKS, number
from auscult.report.tables import Table
from auscult.rng import generator
from auscult.score.judges.measures import GOOD
from auscult.score.stats import (
    auc_interval,
    cross_fitted,
    logistic,
    logistic_fit,
    looks_for,
    mean_ranks,
    share_below,
    spearman_interval,
)
from auscult.score.stats.probabilities import SHIFT, adapted_by_prior
from auscult.types import Verdict

LARGEST_SHIFT: Final = 100
_SHARES: Final = {BELOW_80: "prob_iou_80", BELOW_50: "prob_iou_50"}


def expected(rows: Sequence[tuple[Verdict, Mapping[str, Any]]], *, films: Collection[str] = ()) -> Metrics:
    """Share of masks under IoU .8 and .5, and looks that find 90 % of those under .8, as metrics of ``summary.json``.

    Where the judge says what it was calibrated on, its probabilities are adapted to how good these masks are as a set.
    Intervals draw whole clusters, see ``clusters_in``. Empty masks are left out, as everywhere: a rule judged them. So
    are masks whose judge gave no probability.
    """
    metrics: Metrics = {}
    ordered = sorted((pair for pair in rows if pair[0].defect != "empty"), key=lambda pair: pair[0].id)
    priors = [_prior(verdict, row) for verdict, row in ordered]
    given = [np.array([_share(verdict, key) for verdict, _ in ordered]) for key in _SHARES.values()]
    adapted = adapted_by_prior(given[0], given[1], priors)
    for column, (name, key) in enumerate(_SHARES.items()):
        at = np.flatnonzero(~np.isnan(given[column]))
        measured, good = [ordered[index] for index in at], adapted[column][at]
        clusters = clusters_in([row for _, row in measured], films=films)
        source = {"from": key, "judge": ",".join(sorted({verdict.judge for verdict, _ in measured}))}
        source |= {"adapted": "label shift"} if any(priors) else {}
        rng = generator(0, "expected", key)
        share = share_below(good, clusters=clusters, rng=rng, shift=_shift([row for _, row in measured], column))
        keep(metrics, name, _signed(share, source), n=len(good))
        if name == BELOW_80:
            keep(metrics, LOOKS, _signed(looks_for(good, order=given[column][at]), source), n=len(good))
    return metrics


def _prior(verdict: Verdict, row: Mapping[str, Any]) -> tuple[float, float] | None:
    """The ``prob_prior`` of a row by which its two probabilities are adapted; None where it has not all of them."""
    value = row.get("prob_prior")
    if None in (value, verdict.prob_iou_80, verdict.prob_iou_50):
        return None
    match value:
        case [float(good), float(fair)] if 0 < round(good, DECIMALS) < round(fair, DECIMALS) < 1:
            return good, fair
    raise _altered(
        f"prob_prior of {verdict.id[:80]!r} is {str(value)[:40]!r}",
        expected="two shares, of IoU .8 and of .5 or more, such as [0.4, 0.8]",
    )


def _altered(message: str, *, expected: str) -> RecordError:
    """The error of a line that no audit writes."""
    return RecordError(message, expected=expected, path=Path("verdicts.jsonl"), hint="judge again into another --out")


def clusters_in(rows: Sequence[Mapping[str, Any]], *, films: Collection[str]) -> list[Hashable]:
    """The ``cluster_of`` each row; of masks that are all of one film, frames are the clusters."""
    clusters = [cluster_of(row, films) for row in rows]
    return [*clusters] if len(set(clusters)) > 1 else [cluster_of(row, ()) for row in rows]


def _shift(rows: Sequence[Mapping[str, Any]], column: int) -> float:
    """The common error that the probabilities may have, in logits: the largest ``prob_shift``, else the default."""
    return max((shifts[column] for row in rows if (shifts := shifts_of(row)) is not None), default=SHIFT)


def shifts_of(row: Mapping[str, Any]) -> tuple[float, float] | None:
    """The ``prob_shift`` of a row for each share, that of .8 first; None where it has none."""
    given = row.get("prob_shift")
    if given is None:
        return None
    of_80, of_50 = given if isinstance(given, list) and len(given) == len(_SHARES) else (given, given)
    for value in (of_80, of_50):
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= LARGEST_SHIFT:
            raise _altered(
                f"prob_shift is {str(value)[:40]!r}",
                expected=f"a number from 0 to {LARGEST_SHIFT}, or two, of IoU .8 and of .5",
            )
    return float(of_80), float(of_50)


def _signed(outcome: Scored[float] | Undefined, source: Mapping[str, str]) -> Scored[float] | Undefined:
    """A number with its source added to the signature."""
    if not isinstance(outcome, Scored):
        return outcome
    return replace(outcome, signature=Signature((*source.items(), *outcome.signature.fields)))


def _share(verdict: Verdict, key: str) -> float:
    """A probability of a verdict, NaN where it has none."""
    value = getattr(verdict, key)
    if value is not None and not 0 <= value <= 1:
        raise _altered(f"{key} of {verdict.id[:80]!r} is {value:g}", expected="a probability from 0 to 1")
    return math.nan if value is None else float(value)


ORDER_FILE: Final = "combined.jsonl"
LEAST: Final = 60
"""Masks with a true IoU from which on both orders are combined."""

STRONGEST: Final = 12
_RIVALS: Final = {
    "auc_judge": "AUC for an IoU of .8 or more: the estimated IoU alone",
    "auc_model_score": "the same: the model's score alone",
    "auc_combined": "the same: both, each mask by a fit without its clip or photograph",
}

_Ranks: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class BesideScore:
    """The comparison with the model's score; empty where fewer than two masks have one."""

    metrics: Mapping[str, Mapping[str, Any]]
    tables: Mapping[str, Table]  # by name; those whose name begins with ``MODEL_SCORE`` are a section of the report
    strongest: tuple[str, ...] = ()  # ids of the strongest disagreements
    # rows of ``ORDER_FILE``, worst first; empty where it cannot be fitted
    order: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Both:
    """The masks that have an estimate and a score, in the order of their ids."""

    verdicts: tuple[Verdict, ...]
    scores: tuple[float, ...]  # the model's, (n,)
    ranks: _Ranks  # of estimates and scores, 0..1, low is bad, (n, 2)
    ious: tuple[float, ...]  # the estimates, (n,)
    clusters: tuple[Hashable, ...]  # clips or frames, (n,)


def beside_score(
    rows: Sequence[tuple[Verdict, Mapping[str, Any]]], pairs: Sequence[JudgedPair], *, films: Collection[str] = ()
) -> BesideScore:
    """Compare the judge with the model's own score; ``films`` as in ``clusters_in``."""
    scored = [(verdict, score, row) for verdict, row in rows if (score := _score(verdict, row)) is not None]
    if len(scored) < 2:
        return BesideScore(metrics={}, tables={})
    both = _both(scored, films)
    metrics: Metrics = {}
    n = len(both.verdicts)
    agreement = spearman_interval(
        both.scores, both.ious, clusters=both.clusters, rng=generator(0, "model score", "agreement")
    )
    keep(metrics, AGREEMENT, agreement, n=n)
    lines = [
        ("Spearman of the model's score with the estimated IoU", str(n), cell(agreement) or "all values are equal")
    ]
    rivals, order, note = _with_truth(both, pairs)
    for name, (outcome, count) in rivals.items():
        keep(metrics, name, outcome, n=count)
        lines.append((_RIVALS[name], str(count), cell(outcome)))
    gaps = np.abs(both.ranks[:, 0] - both.ranks[:, 1])  # equal ranks are no disagreement
    strongest = [int(index) for index in np.argsort(-gaps, kind="stable")[:STRONGEST] if gaps[index] > 0]
    note = f"In brackets: 95 % intervals by bootstrap over {len(set(both.clusters))} clips or photographs. {note}"
    first = Table(
        title="the judge beside the model's own score", header=("", "n", "value"), rows=tuple(lines), note=note
    )
    return BesideScore(
        metrics=metrics,
        tables={f"{MODEL_SCORE}_1_agreement": first, DISAGREEMENTS: _far_table(both, strongest)},
        strongest=tuple(both.verdicts[index].id for index in strongest),
        order=order,
    )


def _both(scored: Sequence[tuple[Verdict, float, Mapping[str, Any]]], films: Collection[str]) -> _Both:
    ordered = sorted(scored, key=lambda triple: triple[0].id)
    scores = tuple(score for _, score, _ in ordered)
    ious = tuple(verdict.iou or 0.0 for verdict, _, _ in ordered)
    return _Both(
        verdicts=tuple(verdict for verdict, _, _ in ordered),
        scores=scores,
        ious=ious,
        ranks=np.column_stack([mean_ranks(ious), mean_ranks(scores)]),
        clusters=tuple(clusters_in([row for _, _, row in ordered], films=films)),
    )


def _score(verdict: Verdict, row: Mapping[str, Any]) -> float | None:
    """The model's score of a mask that has an estimate; None where there is none."""
    value = row.get("model_score")
    plain = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return float(value) if plain and verdict.iou is not None and verdict.defect != "empty" else None  # type: ignore[arg-type]


def _far_table(both: _Both, indices: Sequence[int]) -> Table:
    n = len(both.verdicts)
    worst = np.round(both.ranks * n + 0.5).astype(int)  # ties get the mean rank
    return Table(
        title="the strongest disagreements",
        header=("id", "estimated IoU", "rank", "model's score", "rank"),
        rows=tuple(
            (
                both.verdicts[index].id,
                number(both.verdicts[index].iou),
                str(worst[index, 0]),
                f"{both.scores[index]:.4g}",
                str(worst[index, 1]),
            )
            for index in indices
        ),
        note=f"Ranks of {n}, 1 is the worst mask.",
    )


def _with_truth(
    both: _Both, pairs: Sequence[JudgedPair]
) -> tuple[dict[str, tuple[Scored[float] | Undefined, int]], tuple[Mapping[str, Any], ...], str]:
    """The areas under the curve against truth, the combined order, and a note."""
    truths = {pair.verdict.id: pair for pair in pairs if pair.iou is not None}
    indexes = [index for index, verdict in enumerate(both.verdicts) if verdict.id in truths]
    if not indexes:
        return {}, (), ""
    good = [(truths[both.verdicts[index].id].iou or 0.0) >= GOOD for index in indexes]
    clusters = [truths[both.verdicts[index].id].cluster for index in indexes]
    if len(indexes) < LEAST:
        return (
            {},
            (),
            f"Where the true IoU of {LEAST} of these masks is known, both are combined; it is of {len(indexes)}.",
        )
    centred = both.ranks - 0.5
    combined = cross_fitted(centred[indexes], good, clusters=clusters, rng=generator(0, "model score", "parts"))
    if combined is None or len(set(good)) < 2:
        return {}, (), "The known true IoUs, all of one photograph or on one side of .8, do not allow to combine both."
    columns = (both.ranks[indexes, 0], both.ranks[indexes, 1], combined)
    rivals = {
        name: (auc_interval(column, good, clusters=clusters, rng=generator(0, "model score", "auc")), len(indexes))
        for name, column in zip(_RIVALS, columns, strict=True)
    }
    coefficients = logistic_fit(centred[indexes], good)
    return (
        rivals,
        _order(both, logistic(centred, coefficients)),
        f"{ORDER_FILE} has the order that both give together.",
    )


def _order(both: _Both, chances: _Ranks) -> tuple[Mapping[str, Any], ...]:
    """All masks, the least likely to be good first."""
    return tuple(
        {"id": both.verdicts[index].id, "combined": round(float(chances[index]), 6)}
        for index in np.argsort(chances, kind="stable")
    )
