"""Judge against truth: what the verdicts were worth, computed from rows of a record alone."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from statistics import fmean
from typing import Any, TypeAlias

from auscult.outcome import Failed, Scored, Signature, Undefined
from auscult.report.tables import Table
from auscult.rng import generator
from auscult.score.stats import bootstrap_interval, coverage, f2_confusion, f2_tables, rmse, spearman
from auscult.types import ACTIONS, DEFECTS, Verdict

REPLICATES = 1000
Statistic: TypeAlias = Callable[[Sequence["Pair"]], Scored[float] | Undefined]


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
    def estimated(self) -> float:
        """The estimated IoU; 0 for an empty mask."""
        return self.verdict.iou or 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class AgainstTruth:
    """Tables for people and metrics for programs."""

    tables: Mapping[str, Table]
    metrics: Mapping[str, Mapping[str, Any]]


def pairs_of(verdicts: Sequence[Verdict], truths: Sequence[Mapping[str, Any]]) -> list[Pair]:
    """Match verdicts with rows of ``truth.jsonl``; what was not segmented at all is left out, as in F2 and RMSE."""
    by_id = {row["id"]: row for row in truths}
    return [
        Pair(
            verdict=verdict,
            iou=by_id[verdict.id].get("iou"),
            defect=by_id[verdict.id].get("defect"),
            action=by_id[verdict.id].get("action"),
            cluster=by_id[verdict.id].get("cluster", verdict.id),
        )
        for verdict in verdicts
        if verdict.id in by_id and verdict.defect != "empty" and by_id[verdict.id].get("defect") != "empty"
    ]


def against_truth(pairs: Sequence[Pair], *, unreadable: int = 0) -> AgainstTruth:
    """Compare verdicts with the truth.

    Args:
        pairs: One per item that has a verdict and some truth.
        unreadable: Truths that could not be read; they are in no number, and the first table says how many.

    Returns:
        Tables by name and metrics by name; those whose truth is missing are left out.

    Source: MQA-RefAVS, Eqs. 8 to 11; intervals by bootstrap over clips or photographs.
    """
    measured = [pair for pair in pairs if pair.iou is not None]
    typed = [pair for pair in pairs if pair.defect is not None]
    acted = [pair for pair in pairs if pair.action is not None]
    tables: dict[str, Table] = {}
    metrics: dict[str, Mapping[str, Any]] = {}
    if measured:
        tables["truth_1_iou"] = _iou_table(measured, metrics, unreadable=unreadable)
    if typed:
        tables["truth_2_defects"] = _label_table(typed, "defect", metrics=metrics)
        tables["truth_4_confusion"] = _confusion_table(typed)
    if acted:
        tables["truth_3_actions"] = _label_table(acted, "action", metrics=metrics)
    return AgainstTruth(tables=dict(sorted(tables.items())), metrics=metrics)


def _iou_table(pairs: Sequence[Pair], metrics: dict[str, Mapping[str, Any]], *, unreadable: int) -> Table:
    groups = {"": list(pairs)}
    same_object = [pair for pair in pairs if pair.defect != "full_neg"]
    if 0 < len(same_object) < len(pairs):
        groups[", full_neg apart"] = same_object
    rows = [row for words, group in groups.items() for row in _iou_rows(group, words)]
    for words, group in groups.items():
        name = words.replace(", full_neg apart", "_without_full_neg")
        _keep(metrics, f"rmse{name}", _bootstrapped(_rmse, group), n=len(group))
        _keep(metrics, f"spearman{name}", _bootstrapped(_spearman, group), n=len(group))
        _keep(metrics, f"coverage{name}", _coverage(group), n=len(group))
    return Table(
        title="estimated against true IoU",
        header=("judge", "n", "RMSE (lower is better)", "Spearman", "coverage of the 90 % interval", "mean width"),
        rows=tuple(rows),
        note=f"95 % intervals by bootstrap over {len({pair.cluster for pair in pairs})} clips or photographs; the "
        "constant rows know the mean of this very truth, so they are the harder ones to beat; a full_neg is a good "
        "mask of the wrong object, which only a judge that checks identity can see"
        + (f"; {unreadable} truths could not be read, see errors.jsonl" if unreadable else ""),
    )


def _iou_rows(pairs: Sequence[Pair], words: str) -> list[tuple[str, ...]]:
    mean = fmean(pair.iou or 0.0 for pair in pairs)
    judge = pairs[0].verdict.judge
    rivals = {
        judge: list(pairs),
        "always perfect": [_rival(pair, 1.0) for pair in pairs],
        "constant (mean of this truth)": [_rival(pair, mean) for pair in pairs],
    }
    rows: list[tuple[str, ...]] = []
    for name, group in rivals.items():
        row = (f"{name}{words}", str(len(group)), _cell(_bootstrapped(_rmse, group)))
        own = ("", "", "")
        if name == judge:
            own = (_cell(_bootstrapped(_spearman, group)), _cell(_coverage(group)), _width(group))
        rows.append((*row, *own))
    return rows


def _rival(pair: Pair, iou: float) -> Pair:
    return replace(pair, verdict=replace(pair.verdict, iou=iou, iou_low=iou, iou_high=iou))


def _label_table(pairs: Sequence[Pair], what: str, *, metrics: dict[str, Mapping[str, Any]]) -> Table:
    classes = DEFECTS if what == "defect" else ACTIONS
    predicted = [str(getattr(pair.verdict, what)) for pair in pairs]
    true = [str(getattr(pair, what)) for pair in pairs]
    by_type, whole = f2_tables(predicted, true, classes), f2_confusion(predicted, true, classes)
    rows: list[tuple[str, ...]] = []
    for name in classes:
        one = by_type.columns[name] if isinstance(by_type, Scored) else Undefined("no items")
        part = whole.parts[name] if isinstance(whole, Scored) else Undefined("no items")
        rows.append((name, str(true.count(name)), _percent(one), _percent(part)))
    rows.append(("mean", str(len(true)), _percent(by_type), _percent(whole)))
    best = ["perfect" if what == "defect" else "accept"] * len(true)
    rows.append(
        (
            "always " + best[0],
            str(len(true)),
            _percent(f2_tables(best, true, classes)),
            _percent(f2_confusion(best, true, classes)),
        )
    )
    for key, statistic in ((f"f2_tables_{what}", f2_tables), (f"f2_confusion_{what}", f2_confusion)):
        _keep(metrics, key, _bootstrapped(_labels(statistic, what, classes=classes), pairs), n=len(true))
    return Table(
        title=f"{what}s against truth",
        header=(what, "n", "F2-tables", "F2-confusion"),
        rows=tuple(rows),
        note="percent, higher is better. F2-tables looks at one true type at a time, as the MQA paper's tables do; "
        "F2-confusion also counts false alarms",
    )


def _confusion_table(pairs: Sequence[Pair]) -> Table:
    rows = tuple(
        (true, *(str(sum(pair.defect == true and pair.verdict.defect == told for pair in pairs)) for told in DEFECTS))
        for true in DEFECTS
    )
    return Table(
        title="confusion of defects", header=("true \\ told", *DEFECTS), rows=rows, note="counts; rows are true"
    )


def _rmse(pairs: Sequence[Pair]) -> Scored[float] | Undefined:
    return rmse([pair.estimated for pair in pairs], [pair.iou or 0.0 for pair in pairs])


def _spearman(pairs: Sequence[Pair]) -> Scored[float] | Undefined:
    return spearman([pair.estimated for pair in pairs], [pair.iou or 0.0 for pair in pairs])


def _coverage(pairs: Sequence[Pair]) -> Scored[float] | Undefined:
    told = [pair for pair in pairs if pair.verdict.iou_low is not None]
    return coverage(
        [pair.verdict.iou_low or 0.0 for pair in told],
        [pair.verdict.iou_high or 0.0 for pair in told],
        [pair.iou or 0.0 for pair in told],
    )


def _labels(statistic: Callable[..., Any], what: str, *, classes: Sequence[str]) -> Statistic:
    told_of, true_of = attrgetter(f"verdict.{what}"), attrgetter(what)

    def of(pairs: Sequence[Pair]) -> Scored[float] | Undefined:
        outcome: Scored[float] | Undefined = statistic(list(map(told_of, pairs)), list(map(true_of, pairs)), classes)
        return outcome

    return of


def _width(pairs: Sequence[Pair]) -> str:
    widths = [
        pair.verdict.iou_high - pair.verdict.iou_low
        for pair in pairs
        if pair.verdict.iou_high is not None and pair.verdict.iou_low is not None
    ]
    return f"{fmean(widths):.3f}" if widths else ""


def _bootstrapped(statistic: Statistic, pairs: Sequence[Pair]) -> Scored[float] | Undefined:
    clusters: dict[Hashable, list[Pair]] = {}
    for pair in pairs:
        clusters.setdefault(pair.cluster, []).append(pair)
    if len(clusters) < 2:
        return statistic(pairs)
    plain = statistic(pairs)
    drawn = bootstrap_interval(
        statistic, list(clusters.values()), rng=generator(0, "against truth"), replicates=REPLICATES
    )
    if not isinstance(plain, Scored) or not isinstance(drawn, Scored):
        return drawn
    own = [field for field in plain.signature.fields if field[0] != "version"]
    return replace(drawn, signature=Signature((*own, *drawn.signature.fields)))


def _cell(outcome: Scored[float] | Undefined | Failed) -> str:
    if not isinstance(outcome, Scored):
        return ""
    low, high = getattr(outcome, "low", None), getattr(outcome, "high", None)
    return f"{outcome.value:.3f}" + ("" if low is None else f" [{low:.3f}, {high:.3f}]")


def _percent(outcome: Scored[float] | Undefined | Failed) -> str:
    return f"{100 * outcome.value:.1f}" if isinstance(outcome, Scored) else ""


def _keep(metrics: dict[str, Mapping[str, Any]], name: str, outcome: Scored[float] | Undefined, *, n: int) -> None:
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
