"""Judge against truth: pairs of verdict and truth, and what the verdicts were worth by IoU, defect and action."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from pathlib import Path
from statistics import fmean
from typing import Any, TypeAlias

from auscult.arrays.overlap import iou
from auscult.cases.listing import Listing
from auscult.errors import AuscultError
from auscult.jobs.clip_tracks import filmed
from auscult.jobs.runner import ErrorLog, FrameGroup, Progress, Workers, failed_row, frame_groups
from auscult.media.masks import read_mask
from auscult.media.readings import LoadedMask
from auscult.outcome import Failed, Scored, Signature, Undefined
from auscult.record.folder import RunFolder
from auscult.record.reader import Verdicts
from auscult.record.schema import score_to_json
from auscult.report.tables import Table
from auscult.rng import generator
from auscult.score.stats import F2Macro, F2Tables, bootstrap_interval, coverage, f2_confusion, f2_tables, rmse, spearman
from auscult.types import ACTIONS, DEFECTS, Item, MaskRef, Verdict

FILE = "truth.jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownTruth:
    """What is known to be right about one item and the score that follows, or why that cannot be read."""

    row: Mapping[str, Any] | None = None
    score: Mapping[str, Any] | None = None
    error: Mapping[str, Any] | None = None


def collect_truth(
    run: RunFolder, listing: Listing, *, verdicts: Verdicts, workers: int, errors: ErrorLog, progress: Progress
) -> None:
    """Write a row of truth for each judged item that has some, and its score; earlier ones are replaced.

    Truth may be corrected between two runs without judging again, so that it is compared anew each time.
    """
    run.remove(FILE)
    run.remove("scores.jsonl")
    judged = {verdict.id for verdict, _ in verdicts}
    known = [item for item in listing.items if item.truth is not None and item.id in judged]
    if not known:
        return
    progress.stage("comparing with truth", len(known))
    clusters = clusters_of(listing.items, films=filmed(listing))

    def keep(found: Sequence[KnownTruth]) -> None:
        rows = [{**entry.row, "cluster": clusters[entry.row["id"]]} for entry in found if entry.row is not None]
        if rows:
            run.append_many(FILE, rows)
            run.append_many("scores.jsonl", [dict(entry.score) for entry in found if entry.score is not None])
        errors.keep(entry.error for entry in found if entry.error is not None)

    comparers = Workers(make=_Comparer, count=workers, stage="truth", timeout_s=120.0)
    for group, outcome in comparers.results(frame_groups(known)):
        if isinstance(outcome, Failed):
            errors.keep(group.failed(outcome.error))
        else:
            keep(outcome)
        progress.step(group.size)


def clusters_of(items: Sequence[Item], *, films: Collection[str] | None = None) -> dict[str, Hashable]:
    """What each item is clustered by: its film, or its photograph, named from the deepest folder that holds them all.

    Args:
        items: The items.
        films: Ids of those that are of a film; None for all where every item names a clip and there are several.
    """
    clips = {item.clip for item in items}
    if films is None:
        films = {item.id for item in items} if len(clips) > 1 and None not in clips else ()
    root = Path(os.path.commonpath([item.frame.parent for item in items])) if items else Path()
    return {
        item.id: f"clip {item.clip}" if item.id in films else f"frame {item.frame.relative_to(root).as_posix()}"
        for item in items
    }


def _opened(ref: MaskRef, truths: dict[MaskRef, LoadedMask]) -> LoadedMask:
    """Read a truth, one that several items of a frame share only once; what is written inline is not kept."""
    if ref.segmentation is not None:
        return read_mask(ref)
    if ref not in truths:
        truths[ref] = read_mask(ref)
    return truths[ref]


class _Comparer:
    def __call__(self, group: FrameGroup) -> list[KnownTruth]:
        truths: dict[MaskRef, LoadedMask] = {}
        return [self._one(item, truths) for item in group.items if item.id in group.wanted]

    def _one(self, item: Item, truths: dict[MaskRef, LoadedMask]) -> KnownTruth:
        truth = item.truth
        if truth is None:
            return KnownTruth()
        value, signature = truth.iou, Signature.of(metric="iou", source="given by the input")
        if truth.mask is not None:
            try:
                true = _opened(truth.mask, truths)
                told = read_mask(item.mask, size=(true.mask.shape[0], true.mask.shape[1]))
            except AuscultError as error:
                return KnownTruth(error=failed_row(item, error, "truth"))
            value = iou(told.mask, true.mask)
            signature = Signature.of(metric="iou", empty="1", prediction=told.reading, truth=true.reading)
        row = {"defect": truth.defect, "difficulty": truth.difficulty, "action": truth.action}
        score = None if value is None else score_to_json(item.id, "masks.iou.v1", Scored(value, signature))
        return KnownTruth(row={"id": item.id, "iou": value, **row}, score=score)


REPLICATES = 1000
PairStatistic: TypeAlias = Callable[[Sequence["JudgedPair"]], Scored[float] | Undefined]
Metrics: TypeAlias = dict[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedPair:
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


def pairs_of(verdicts: Sequence[Verdict], truths: Sequence[Mapping[str, Any]]) -> list[JudgedPair]:
    """Match verdicts with rows of ``truth.jsonl``, in the order of their ids, whichever worker was done first.

    What was not segmented at all is left out, as in F2 and RMSE.
    """
    by_id = {row["id"]: row for row in truths}
    return [
        JudgedPair(
            verdict=verdict,
            iou=by_id[verdict.id].get("iou"),
            defect=by_id[verdict.id].get("defect"),
            action=by_id[verdict.id].get("action"),
            cluster=by_id[verdict.id].get("cluster", verdict.id),
        )
        for verdict in sorted(verdicts, key=lambda verdict: verdict.id)
        if verdict.id in by_id and verdict.defect != "empty" and by_id[verdict.id].get("defect") != "empty"
    ]


def bootstrapped(statistic: PairStatistic, pairs: Sequence[JudgedPair]) -> Scored[float] | Undefined:
    """A statistic with its interval over clusters; without interval where there is one cluster only."""
    clusters: dict[Hashable, list[JudgedPair]] = {}
    for pair in pairs:
        clusters.setdefault(pair.cluster, []).append(pair)
    if len(clusters) < 2:
        return statistic(pairs)
    plain = statistic(pairs)
    drawn = bootstrap_interval(
        statistic, list(clusters.values()), rng=generator(0, "against truth"), replicates=REPLICATES
    )
    return _signed(drawn, plain)


def bootstrapped_rmse(pairs: Sequence[JudgedPair], *, told: float | None = None) -> Scored[float] | Undefined:
    """RMSE with its interval, as ``bootstrapped`` gives it, from one sum a cluster: quick for many thousand pairs."""
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


_TOLD_DEFECT, _TRUE_DEFECT = attrgetter("verdict.defect"), attrgetter("defect")
_TOLD_ACTION, _TRUE_ACTION = attrgetter("verdict.action"), attrgetter("action")


def defect_table(pairs: Sequence[JudgedPair], metrics: Metrics) -> Table:
    """Defects, one row per true defect.

    Source: MQA-RefAVS, Table 2 for the two F2-tables columns (its F2-M and F2-A), Eq. 11 for F2-confusion.
    """
    true = list(map(_TRUE_DEFECT, pairs))
    named, acted, whole = f2_m(pairs), f2_a(pairs), _f2_defects(pairs)
    rows: list[tuple[str, ...]] = []
    for name in DEFECTS:
        columns = [outcome.columns.get(name) if isinstance(outcome, Scored) else None for outcome in (named, acted)]
        part = whole.parts[name] if isinstance(whole, Scored) else None
        cells = (percent(one or Undefined("no items")) for one in (*columns, part))
        rows.append((name, str(true.count(name)), *cells))
    rows.append(("mean", str(len(true)), percent(named), percent(acted), percent(whole)))
    best = ["perfect"] * len(true)
    always = (f2_tables(best, true, DEFECTS), Undefined("names no action"), f2_confusion(best, true, DEFECTS))
    rows.append(("always perfect", str(len(true)), *map(percent, always)))
    for key, statistic in (
        ("f2_tables_defect", f2_m),
        ("f2_tables_action", f2_a),
        ("f2_confusion_defect", _f2_defects),
    ):
        keep(metrics, key, bootstrapped(statistic, pairs), n=len(pairs))
    return Table(
        title="defects against truth",
        header=("true defect", "n", "F2-tables", "F2-tables of actions", "F2-confusion"),
        rows=tuple(rows),
        note="percent, higher is better. F2-tables looks at one true defect at a time, as the MQA paper's tables do, "
        "and sees no false alarm; F2-confusion does",
    )


def action_table(pairs: Sequence[JudgedPair], metrics: Metrics) -> Table:
    """Actions, one row per right action."""
    true = list(map(_TRUE_ACTION, pairs))
    whole = _f2_actions(pairs)
    rows: list[tuple[str, ...]] = []
    for name in ACTIONS:
        part = whole.parts[name] if isinstance(whole, Scored) else Undefined("no items")
        rows.append((name, str(true.count(name)), percent(part)))
    always = f2_confusion(["accept"] * len(true), true, ACTIONS)
    rows += [("mean", str(len(true)), percent(whole)), ("always accept", str(len(true)), percent(always))]
    keep(metrics, "f2_confusion_action", bootstrapped(_f2_actions, pairs), n=len(pairs))
    return Table(
        title="actions against truth",
        header=("right action", "n", "F2-confusion"),
        rows=tuple(rows),
        note="percent, higher is better",
    )


def confusion_table(pairs: Sequence[JudgedPair]) -> Table:
    """How often each true defect was told as what."""
    rows = tuple(
        (true, *(str(sum(pair.defect == true and pair.verdict.defect == told for pair in pairs)) for told in DEFECTS))
        for true in DEFECTS
    )
    return Table(
        title="confusion of defects", header=("true \\ told", *DEFECTS), rows=rows, note="counts; rows are true"
    )


def f2_m(pairs: Sequence[JudgedPair]) -> F2Tables | Undefined:
    """The paper's F2-M: defects, one true defect at a time."""
    return f2_tables(list(map(_TOLD_DEFECT, pairs)), list(map(_TRUE_DEFECT, pairs)), DEFECTS)


def f2_a(pairs: Sequence[JudgedPair]) -> F2Tables | Undefined:
    """The paper's F2-A: actions, one true defect at a time, macro over the actions that are right there."""
    known = [pair for pair in pairs if pair.action is not None]
    told, true = list(map(_TOLD_ACTION, known)), list(map(_TRUE_ACTION, known))
    return f2_tables(told, true, ACTIONS, columns=list(map(_TRUE_DEFECT, known)))


def _f2_defects(pairs: Sequence[JudgedPair]) -> F2Macro | Undefined:
    return f2_confusion(list(map(_TOLD_DEFECT, pairs)), list(map(_TRUE_DEFECT, pairs)), DEFECTS)


def _f2_actions(pairs: Sequence[JudgedPair]) -> F2Macro | Undefined:
    return f2_confusion(list(map(_TOLD_ACTION, pairs)), list(map(_TRUE_ACTION, pairs)), ACTIONS)


@dataclass(frozen=True, slots=True, kw_only=True)
class AgainstTruth:
    """Tables for people and metrics for programs."""

    tables: Mapping[str, Table]
    metrics: Mapping[str, Mapping[str, Any]]


def against_truth(pairs: Sequence[JudgedPair], *, unreadable: int = 0) -> AgainstTruth:
    """Compare verdicts with the truth.

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


def _iou_table(pairs: Sequence[JudgedPair], metrics: Metrics, *, unreadable: int) -> Table:
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


def _iou_rows(pairs: Sequence[JudgedPair], words: str, order: Scored[float] | Undefined) -> list[tuple[str, ...]]:
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


def _spearman(pairs: Sequence[JudgedPair]) -> Scored[float] | Undefined:
    return spearman(*_columns(pairs))


def _columns(pairs: Sequence[JudgedPair]) -> tuple[list[float], list[float]]:
    both = [(pair.verdict.iou, pair.iou) for pair in pairs]
    values = [(told, true) for told, true in both if told is not None and true is not None]
    return [told for told, _ in values], [true for _, true in values]


def _coverage(pairs: Sequence[JudgedPair]) -> Scored[float] | Undefined:
    told = [pair for pair in pairs if pair.verdict.iou_low is not None]
    return coverage(
        [pair.verdict.iou_low or 0.0 for pair in told],
        [pair.verdict.iou_high or 0.0 for pair in told],
        [pair.iou or 0.0 for pair in told],
    )


def _width(pairs: Sequence[JudgedPair]) -> str:
    widths = [
        pair.verdict.iou_high - pair.verdict.iou_low
        for pair in pairs
        if pair.verdict.iou_high is not None and pair.verdict.iou_low is not None
    ]
    return f"{fmean(widths):.3f}" if widths else ""
