"""Judge against truth: what the verdicts were worth, computed from rows of a record alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from auscult.jobs.label_tables import action_table, confusion_table, defect_table
from auscult.jobs.pairs import Metrics, Pair, bootstrapped, bootstrapped_rmse, cell, keep
from auscult.outcome import Scored, Undefined
from auscult.report.tables import Table
from auscult.score.stats import coverage, spearman


@dataclass(frozen=True, slots=True, kw_only=True)
class AgainstTruth:
    """Tables for people and metrics for programs."""

    tables: Mapping[str, Table]
    metrics: Mapping[str, Mapping[str, Any]]


def against_truth(pairs: Sequence[Pair], *, unreadable: int = 0) -> AgainstTruth:
    """Compare verdicts with the truth.

    Args:
        pairs: One per item that has a verdict and some truth.
        unreadable: Truths that could not be read; they are in no number, and the first table says how many.

    Returns:
        Tables by name and metrics by name; those whose truth is missing are left out.

    Source: MQA-RefAVS, Eqs. 8 to 11; intervals by bootstrap over clips or photographs.
    """
    measured = [pair for pair in pairs if pair.values is not None]
    typed = [pair for pair in pairs if pair.defect is not None]
    acted = [pair for pair in pairs if pair.action is not None]
    tables: dict[str, Table] = {}
    metrics: Metrics = {}
    if measured:
        tables["truth_1_iou"] = _iou_table(measured, metrics, unreadable=unreadable)
    if typed:
        tables["truth_2_defects"] = defect_table(typed, metrics)
        tables["truth_4_confusion"] = confusion_table(typed)
    if acted:
        tables["truth_3_actions"] = action_table(acted, metrics)
    return AgainstTruth(tables=dict(sorted(tables.items())), metrics=metrics)


def _iou_table(pairs: Sequence[Pair], metrics: Metrics, *, unreadable: int) -> Table:
    groups = {"": list(pairs)}
    same_object = [pair for pair in pairs if pair.defect != "full_neg"]
    if 0 < len(same_object) < len(pairs):
        groups[", full_neg apart"] = same_object
    rows: list[tuple[str, ...]] = []
    for words, group in groups.items():
        name = words.replace(", full_neg apart", "_without_full_neg")
        order = bootstrapped(_spearman, group)
        rows += _iou_rows(group, words, order)
        keep(metrics, f"rmse{name}", bootstrapped_rmse(group), n=len(group))
        keep(metrics, f"spearman{name}", order, n=len(group))
        held = sum(pair.verdict.iou_low is not None for pair in group)
        keep(metrics, f"coverage{name}", _coverage(group), n=held)
    return Table(
        title="estimated against true IoU",
        header=("judge", "n", "RMSE", "Spearman", "coverage", "width"),
        rows=tuple(rows),
        note="RMSE: lower is better; coverage and mean width are those of the judge's own 90 % interval. "
        f"In brackets: 95 % intervals by bootstrap over {len({pair.cluster for pair in pairs})} clips or photographs. "
        "The constant rows know the mean of this very truth, so they are the harder ones to beat; a full_neg is a good "
        "mask of the wrong object, which only a judge that checks identity can see"
        + (f"; {unreadable} truths could not be read, see errors.jsonl" if unreadable else ""),
    )


def _iou_rows(pairs: Sequence[Pair], words: str, order: Scored[float] | Undefined) -> list[tuple[str, ...]]:
    mean = fmean(pair.iou or 0.0 for pair in pairs)
    judge = pairs[0].verdict.judge
    rivals = {judge: None, "always perfect": 1.0, "constant (mean of this truth)": mean}
    rows: list[tuple[str, ...]] = []
    for name, told in rivals.items():
        row = (f"{name}{words}", str(len(pairs)), cell(bootstrapped_rmse(pairs, told=told)))
        own = ("", "", "")
        if told is None:
            own = (cell(order), cell(_coverage(pairs)), _width(pairs))
        rows.append((*row, *own))
    return rows


def _spearman(pairs: Sequence[Pair]) -> Scored[float] | Undefined:
    return spearman(*_columns(pairs))


def _columns(pairs: Sequence[Pair]) -> tuple[list[float], list[float]]:
    both = [(pair.verdict.iou, pair.iou) for pair in pairs]
    values = [(told, true) for told, true in both if told is not None and true is not None]
    return [told for told, _ in values], [true for _, true in values]


def _coverage(pairs: Sequence[Pair]) -> Scored[float] | Undefined:
    told = [pair for pair in pairs if pair.verdict.iou_low is not None]
    return coverage(
        [pair.verdict.iou_low or 0.0 for pair in told],
        [pair.verdict.iou_high or 0.0 for pair in told],
        [pair.iou or 0.0 for pair in told],
    )


def _width(pairs: Sequence[Pair]) -> str:
    widths = [
        pair.verdict.iou_high - pair.verdict.iou_low
        for pair in pairs
        if pair.verdict.iou_high is not None and pair.verdict.iou_low is not None
    ]
    return f"{fmean(widths):.3f}" if widths else ""
