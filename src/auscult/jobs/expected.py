"""What the probabilities of an audit promise: how many masks are bad, and how many looks find them."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from auscult.errors import RecordError
from auscult.jobs.against_truth import Metrics, keep
from auscult.outcome import Scored, Signature, Undefined
from auscult.report.facts import BELOW_50, BELOW_80, LOOKS
from auscult.rng import generator
from auscult.score.stats import looks_for, share_below
from auscult.score.stats.expected import SHIFT
from auscult.types import Verdict

_LARGEST_SHIFT: Final = 100
_SHARES: Final = {BELOW_80: "prob_iou_80", BELOW_50: "prob_iou_50"}


def expected(rows: Sequence[tuple[Verdict, Mapping[str, Any]]]) -> Metrics:
    """Share of masks under IoU .8 and .5, and looks that find 90 % of those under .8, as metrics of ``summary.json``.

    Empty masks are left out, as everywhere: a rule judged them. So are masks whose judge gave no probability.

    Returns:
        ``share_below_80``, ``share_below_50`` and ``looks_for_90``; nothing where no verdict has a probability.
    """
    metrics: Metrics = {}
    ordered = sorted(rows, key=lambda pair: pair[0].id)
    for name, key in _SHARES.items():
        told = [pair for pair in ordered if getattr(pair[0], key) is not None and pair[0].defect != "empty"]
        good = [_share(verdict, key) for verdict, _ in told]
        clusters = clusters_in([row for _, row in told])
        made = {"from": key, "judge": ",".join(sorted({verdict.judge for verdict, _ in told}))}
        rng = generator(0, "expected", key)
        share = share_below(good, clusters=clusters, rng=rng, shift=_shift([row for _, row in told]))
        keep(metrics, name, _signed(share, made), n=len(good))
        if name == BELOW_80:
            keep(metrics, LOOKS, _signed(looks_for(good), made), n=len(good))
    return metrics


def clusters_in(rows: Sequence[Mapping[str, Any]]) -> list[Hashable]:
    """What each row of ``verdicts.jsonl`` is clustered by: its clip where all name one of several, else its frame.

    Masks without a frame's name are clusters of their own.
    """
    clips = [row.get("clip") for row in rows]
    if len({str(clip) for clip in clips}) > 1 and None not in clips:
        return [str(clip) for clip in clips]
    return [str(row.get("frame") or f"id {row.get('id')}") for row in rows]


def _shift(rows: Sequence[Mapping[str, Any]]) -> float:
    """How far off the probabilities may be together, in logits: what the judge wrote beside them, else the usual."""
    told = [row["prob_shift"] for row in rows if row.get("prob_shift") is not None]
    for value in told:
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= _LARGEST_SHIFT:
            raise RecordError(f"prob_shift is {str(value)[:40]!r}", expected=f"a number from 0 to {_LARGEST_SHIFT}")
    return max(told, default=SHIFT)


def _signed(outcome: Scored[float] | Undefined, made: Mapping[str, str]) -> Scored[float] | Undefined:
    """A number with what it is made of in its signature as well."""
    if not isinstance(outcome, Scored):
        return outcome
    return replace(outcome, signature=Signature((*made.items(), *outcome.signature.fields)))


def _share(verdict: Verdict, key: str) -> float:
    value = float(getattr(verdict, key))
    if not 0 <= value <= 1:
        raise RecordError(f"{key} of {verdict.id[:80]!r} is {value:g}", expected="a probability from 0 to 1")
    return value
