"""Verdicts beside what is known to be right about them, and how a statistic of such pairs is told."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from auscult.outcome import Failed, Scored, Signature, Undefined
from auscult.rng import generator
from auscult.score.stats import bootstrap_interval, rmse
from auscult.types import Verdict

REPLICATES = 1000
Statistic: TypeAlias = Callable[[Sequence["Pair"]], Scored[float] | Undefined]
Metrics: TypeAlias = dict[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A verdict and what is known to be right about its item.

    Attributes:
        verdict: What the judge said.
        iou: True IoU, or None.
        defect: True defect, or None.
        action: Right action, or None.
        cluster: The clip or photograph; items of one cluster are not independent.
    """

    verdict: Verdict
    iou: float | None
    defect: str | None
    action: str | None
    cluster: Hashable

    @property
    def values(self) -> tuple[float, float] | None:
        """Estimated and true IoU; None where one of them is missing, which is in no mean."""
        if self.verdict.iou is None or self.iou is None:
            return None
        return self.verdict.iou, self.iou


def pairs_of(verdicts: Sequence[Verdict], truths: Sequence[Mapping[str, Any]]) -> list[Pair]:
    """Match verdicts with rows of ``truth.jsonl``, in the order of their ids, whichever worker was done first.

    What was not segmented at all is left out, as in F2 and RMSE.
    """
    by_id = {row["id"]: row for row in truths}
    return [
        Pair(
            verdict=verdict,
            iou=by_id[verdict.id].get("iou"),
            defect=by_id[verdict.id].get("defect"),
            action=by_id[verdict.id].get("action"),
            cluster=by_id[verdict.id].get("cluster", verdict.id),
        )
        for verdict in sorted(verdicts, key=lambda verdict: verdict.id)
        if verdict.id in by_id and verdict.defect != "empty" and by_id[verdict.id].get("defect") != "empty"
    ]


def bootstrapped(statistic: Statistic, pairs: Sequence[Pair]) -> Scored[float] | Undefined:
    """A statistic with its interval over clusters; without interval where there is one cluster only."""
    clusters: dict[Hashable, list[Pair]] = {}
    for pair in pairs:
        clusters.setdefault(pair.cluster, []).append(pair)
    if len(clusters) < 2:
        return statistic(pairs)
    plain = statistic(pairs)
    drawn = bootstrap_interval(
        statistic, list(clusters.values()), rng=generator(0, "against truth"), replicates=REPLICATES
    )
    return _signed(drawn, plain)


def bootstrapped_rmse(pairs: Sequence[Pair], *, told: float | None = None) -> Scored[float] | Undefined:
    """RMSE with its interval, as ``bootstrapped`` gives it, from one sum a cluster: quick for many thousand pairs.

    Args:
        pairs: Items; those without both values are left out.
        told: What is told of every item, in place of the judge's estimate.
    """
    values = [(one.values[0] if told is None else told, one.values[1], one.cluster) for one in pairs if one.values]
    plain = rmse([guess for guess, _, _ in values], [true for _, true, _ in values])
    sums: dict[Hashable, tuple[float, int]] = {}
    for guess, true, cluster in values:
        total, count = sums.get(cluster, (0.0, 0))
        sums[cluster] = (total + (guess - true) ** 2, count + 1)
    if len(sums) < 2:
        return plain
    drawn = bootstrap_interval(
        _root_mean, [[each] for each in sums.values()], rng=generator(0, "against truth"), replicates=REPLICATES
    )
    return _signed(drawn, plain)


def _root_mean(sums: Sequence[tuple[float, int]]) -> float:
    return math.sqrt(math.fsum(total for total, _ in sums) / sum(count for _, count in sums))


def _signed(drawn: Scored[float] | Undefined, plain: Scored[float] | Undefined) -> Scored[float] | Undefined:
    """An interval with the signature of its statistic as well."""
    if not isinstance(plain, Scored) or not isinstance(drawn, Scored):
        return drawn
    own = [field for field in plain.signature.fields if field[0] != "version"]
    return replace(drawn, signature=Signature((*own, *drawn.signature.fields)))


def cell(outcome: Scored[float] | Undefined | Failed) -> str:
    """A number with its interval, for a table; empty where there is none."""
    if not isinstance(outcome, Scored):
        return ""
    low, high = getattr(outcome, "low", None), getattr(outcome, "high", None)
    return f"{outcome.value:.3f}" + ("" if low is None else f" [{low:.3f}, {high:.3f}]")


def percent(outcome: Scored[float] | Undefined | Failed) -> str:
    """A number in percent, for a table; empty where there is none."""
    return f"{100 * outcome.value:.1f}" if isinstance(outcome, Scored) else ""


def keep(metrics: Metrics, name: str, outcome: Scored[float] | Undefined, *, n: int) -> None:
    """Note a number for ``summary.json``; an undefined one is left out."""
    if isinstance(outcome, Scored):
        metrics[name] = {
            "value": round(outcome.value, 6),
            "low": _rounded(getattr(outcome, "low", None)),
            "high": _rounded(getattr(outcome, "high", None)),
            "n": n,
            "signature": str(outcome.signature),
        }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 6)
