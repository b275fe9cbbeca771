"""Verdicts against ground truth: pairs of both, and the accuracy of verdicts by IoU, defect and action."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from statistics import fmean
from typing import Any, TypeAlias

import numpy as np

from auscult.arrays.overlap import iou
from auscult.cases.listing import Listing
from auscult.errors import AuscultError
from auscult.jobs.clip_tracks import filmed
from auscult.jobs.labels import MaskLabel
from auscult.jobs.runner import FrameGroup, Result, ResultWriter, Workers, failed_row, frame_groups, frames_root
from auscult.media.masks import read_mask
from auscult.media.readings import LoadedMask
from auscult.outcome import Failed, Scored, Signature, Undefined
from auscult.record.reader import Verdicts
from auscult.record.schema import metric_row, score_to_json
from auscult.report.facts import ends_text
from auscult.report.tables import Table
from auscult.rng import generator
from auscult.score.judges import (
    ClusterDraws,
    JudgeColumns,
    Measured,
    TruthColumns,
    measures,
    reals,
    texts,
    with_interval,
)
from auscult.score.stats import F2Macro, F2Tables, bootstrap_interval, f2_confusion, f2_tables
from auscult.score.stats.few_clusters import SHARE, mostly_undefined
from auscult.types import ACTIONS, DEFECTS, JOINT_ANSWERS, JOINT_FAULTS, Item, MaskRef, Verdict

FILE, SCORES = "truth.jsonl", "scores.jsonl"


def collect_truth(writer: ResultWriter, listing: Listing, *, verdicts: Verdicts, workers: int) -> None:
    """Write a row of truth for each judged item that has ground truth, and its score; earlier rows are replaced.

    Truth may be corrected between two runs without judging again, so it is compared anew each time.
    """
    writer.run.remove(FILE)
    writer.run.remove(SCORES)
    judged_ids = {verdict.id for verdict, _ in verdicts}
    items = [item for item in listing.items if item.truth is not None and item.id in judged_ids]
    if not items:
        return
    writer.progress.stage("comparing with truth", len(items))
    make = partial(_Comparer, clusters_of(listing.items, films=filmed(listing)))
    writer.keep_all(Workers(make=make, count=workers, stage="truth", timeout_s=120.0), frame_groups(items))


def clusters_of(items: Sequence[Item], *, films: Collection[str] | None = None) -> dict[str, Hashable]:
    """What each item is clustered by: its film, or its photograph, named from the deepest folder that holds them all.

    ``films`` are the ids of those of a film; None for all, where every item names a clip and there are several.
    """
    clips = {item.clip for item in items}
    if films is None:
        films = {item.id for item in items} if len(clips) > 1 and None not in clips else ()
    root = frames_root(items)
    return {
        item.id: f"clip {item.clip}" if item.id in films else f"frame {item.frame.relative_to(root).as_posix()}"
        for item in items
    }


def _opened(ref: MaskRef, truths: dict[MaskRef, LoadedMask]) -> LoadedMask:
    """Read a true mask; files are cached, since items of one frame may share them, inline masks are not."""
    if ref.segmentation is not None:
        return read_mask(ref)
    if ref not in truths:
        truths[ref] = read_mask(ref)
    return truths[ref]


class _Comparer:
    def __init__(self, clusters: Mapping[str, Hashable]) -> None:
        self._clusters = clusters

    def __call__(self, group: FrameGroup) -> list[Result]:
        truths: dict[MaskRef, LoadedMask] = {}
        return [self._result(item, truths) for item in group.items if item.id in group.wanted]

    def _result(self, item: Item, truths: dict[MaskRef, LoadedMask]) -> Result:
        truth = item.truth
        if truth is None:
            return Result(id=item.id)
        value, signature = truth.iou, Signature.of(metric="iou", source="given by the input")
        if truth.mask is not None:
            try:
                true = _opened(truth.mask, truths)
                candidate = read_mask(item.mask, size=(true.mask.shape[0], true.mask.shape[1]))
            except AuscultError as error:
                return Result(id=item.id, errors=[failed_row(item, error, "truth")])
            value = iou(candidate.mask, true.mask)
            signature = Signature.of(metric="iou", empty="1", prediction=candidate.reading, truth=true.reading)
        row: dict[str, Any] = {"id": item.id, "iou": value, "defect": truth.defect, "difficulty": truth.difficulty}
        row |= {"action": truth.action, "cluster": self._clusters[item.id]}
        row |= {} if truth.joint is None else {"joint": truth.joint}
        scores = [] if value is None else [score_to_json(item.id, "masks.iou.v1", Scored(value, signature))]
        return Result(id=item.id, rows={FILE: [row], SCORES: scores})


REPLICATES = 1000
Metrics: TypeAlias = dict[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedPair:
    """A verdict and the ground truth of its item."""

    verdict: Verdict
    iou: float | None
    defect: str | None
    action: str | None
    cluster: Hashable  # the clip or photograph; items of one cluster are not independent
    joint: str | None = None  # which of mask and separated sound is wrong

    @property
    def values(self) -> tuple[float, float] | None:
        """Estimated and true IoU; None where one of them is missing; such pairs are in no mean."""
        if self.verdict.iou is None or self.iou is None:
            return None
        return self.verdict.iou, self.iou


def pairs_of(verdicts: Sequence[Verdict], truths: Sequence[Mapping[str, Any]]) -> list[JudgedPair]:
    """Match verdicts with rows of ``truth.jsonl``, sorted by id, whatever the order of the workers.

    Empty masks are left out, as in F2 and RMSE.
    """
    by_id = {row["id"]: row for row in truths}
    return [
        JudgedPair(
            verdict=verdict,
            iou=by_id[verdict.id].get("iou"),
            defect=by_id[verdict.id].get("defect"),
            action=by_id[verdict.id].get("action"),
            cluster=by_id[verdict.id].get("cluster", verdict.id),
            joint=by_id[verdict.id].get("joint"),
        )
        for verdict in sorted(verdicts, key=lambda verdict: verdict.id)
        if verdict.id in by_id and verdict.defect != "empty" and by_id[verdict.id].get("defect") != "empty"
    ]


def columns_of(pairs: Sequence[JudgedPair]) -> tuple[JudgeColumns, TruthColumns]:
    """Verdicts and truths as columns."""
    verdicts = [pair.verdict for pair in pairs]
    predicted = JudgeColumns(
        iou=reals(verdict.iou for verdict in verdicts),
        low=reals(verdict.iou_low for verdict in verdicts),
        high=reals(verdict.iou_high for verdict in verdicts),
        defect=texts([verdict.defect for verdict in verdicts]),
        action=texts([verdict.action for verdict in verdicts]),
    )
    true = TruthColumns(
        iou=reals(pair.iou for pair in pairs),
        cluster=texts([pair.cluster for pair in pairs]),
        defect=texts([pair.defect for pair in pairs]),
        action=texts([pair.action for pair in pairs]),
    )
    return predicted, true


def _draws(true: TruthColumns) -> ClusterDraws:
    return ClusterDraws.of(true.cluster, rng=partial(generator, 0, "against truth"), replicates=REPLICATES)


def bootstrapped(measured: Measured, draws: ClusterDraws) -> Scored[float] | Undefined:
    """A number with its interval over clusters; without where there is one cluster, or nothing differs."""
    values = draws.values(measured)
    if values.size and mostly_undefined(values):
        return Undefined("the statistic is undefined in most draws")
    return with_interval(measured.outcome, values, clusters=measured.drawn_from, within=measured.within)


def cell(outcome: Scored[float] | Undefined | Failed) -> str:
    """A number with its interval, for a table; empty where there is none."""
    if not isinstance(outcome, Scored):
        return ""
    low, high = getattr(outcome, "low", None), getattr(outcome, "high", None)
    return f"{outcome.value:.3f}" + ("" if low is None or high is None else f" [{ends_text(low, high, 3)}]")


def percent(outcome: Scored[float] | Undefined | Failed) -> str:
    """A number in percent, for a table; empty where there is none."""
    return f"{100 * outcome.value:.1f}" if isinstance(outcome, Scored) else ""


def keep(metrics: Metrics, name: str, outcome: Scored[float] | Undefined, *, n: int) -> None:
    """Note a number for ``summary.json``; an undefined one is left out."""
    if isinstance(outcome, Scored):
        metrics[name] = metric_row(outcome, n=n)


def defect_table(pairs: Sequence[JudgedPair], metrics: Metrics) -> Table:
    """Defects, one row per true defect.

    Source: MQA-RefAVS, Table 2 for the two F2-tables columns (its F2-M and F2-A), Eq. 11 for F2-confusion.
    """
    predicted, true = columns_of(pairs)
    types = [str(name) for name in true.defect] if true.defect is not None else []
    measured = {
        "f2_tables_defect": measures.f2_tables(predicted, true),
        "f2_tables_action": measures.f2_tables(predicted, true, label="action", columns=types),
        "f2_confusion_defect": measures.f2_confusion(predicted, true),
    }
    *tables, confusion = (measure.outcome for measure in measured.values())
    rows: list[tuple[str, ...]] = []
    for name in DEFECTS:
        columns = [outcome.columns.get(name) if isinstance(outcome, F2Tables) else None for outcome in tables]
        part = confusion.parts[name] if isinstance(confusion, F2Macro) else None
        cells = (percent(outcome or Undefined("no items")) for outcome in (*columns, part))
        rows.append((name, str(types.count(name)), *cells))
    rows.append(("mean", str(len(types)), *map(percent, (*tables, confusion))))
    best = ["perfect"] * len(types)
    always = (f2_tables(best, types, DEFECTS), Undefined("names no action"), f2_confusion(best, types, DEFECTS))
    rows.append(("always perfect", str(len(types)), *map(percent, always)))
    draws = _draws(true)
    for key, measure in measured.items():
        keep(metrics, key, bootstrapped(measure, draws), n=len(pairs))
    return Table(
        title="defects against truth",
        header=("true defect", "n", "F2-tables", "F2-tables of actions", "F2-confusion"),
        rows=tuple(rows),
        note="percent, higher is better. F2-tables looks at one true defect at a time, as the MQA paper's tables do, "
        "and sees no false alarm; F2-confusion does",
    )


def action_table(pairs: Sequence[JudgedPair], metrics: Metrics) -> Table:
    """Actions, one row per right action."""
    predicted, true = columns_of(pairs)
    right = [str(pair.action) for pair in pairs]
    measured = measures.f2_confusion(predicted, true, label="action")
    confusion = measured.outcome
    rows: list[tuple[str, ...]] = []
    for name in ACTIONS:
        part = confusion.parts[name] if isinstance(confusion, F2Macro) else Undefined("no items")
        rows.append((name, str(right.count(name)), percent(part)))
    always = f2_confusion(["accept"] * len(right), right, ACTIONS)
    rows += [("mean", str(len(right)), percent(confusion)), ("always accept", str(len(right)), percent(always))]
    keep(metrics, "f2_confusion_action", bootstrapped(measured, _draws(true)), n=len(pairs))
    return Table(
        title="actions against truth",
        header=("right action", "n", "F2-confusion"),
        rows=tuple(rows),
        note="percent, higher is better",
    )


def confusion_table(pairs: Sequence[JudgedPair]) -> Table:
    """Confusion matrix of the defects: counts of true against predicted."""
    counts = Counter((pair.defect, pair.verdict.defect) for pair in pairs)
    rows = tuple((true, *(str(counts[true, name]) for name in DEFECTS)) for true in DEFECTS)
    return Table(
        title="confusion of defects", header=("true \\ verdict", *DEFECTS), rows=rows, note="counts; rows are true"
    )


def _joint_table(pairs: Sequence[JudgedPair], metrics: Metrics) -> Table:
    """Which of mask and separated sound is wrong: counts of true against answered, and how many are right."""
    answers = [(pair, pair.verdict.joint.wrong) for pair in pairs if pair.verdict.joint is not None]
    counts = Counter((pair.joint, answer) for pair, answer in answers)
    clusters: dict[Hashable, list[float]] = {}
    for pair, answer in answers:
        if answer != "unchecked":
            clusters.setdefault(pair.cluster, []).append(float(answer == pair.joint))
    outcome: Scored[float] | Undefined = bootstrap_interval(
        fmean, list(clusters.values()), rng=generator(0, "joint"), within=SHARE
    )
    rights = [right for cluster in clusters.values() for right in cluster]
    if rights:  # of one clip without an interval
        signature = Signature.of(metric="accuracy", of="mask and sound", unchecked="left out")
        plain = Scored(fmean(rights), signature)
        outcome = replace(outcome, signature=signature) if isinstance(outcome, Scored) else plain
    keep(metrics, "joint_accuracy", outcome, n=len(rights))
    constant = max(Counter(pair.joint for pair in pairs).values()) / len(pairs)
    return Table(
        title="mask and sound, truth and answer",
        header=("true \\ answer", *JOINT_ANSWERS),
        rows=tuple((true, *(str(counts[true, name]) for name in JOINT_ANSWERS)) for true in JOINT_FAULTS),
        note=f"counts; right, of {len(rights)} answered: {cell(outcome)}; the most frequent truth: {constant:.3f}",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class AgainstTruth:
    """Tables for the report and metrics for ``summary.json``; empty without truth."""

    tables: Mapping[str, Table] = field(default_factory=dict)
    metrics: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


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
    if both := [pair for pair in pairs if pair.joint is not None and pair.verdict.joint is not None]:
        tables["truth_5_joint"] = _joint_table(both, metrics)
    return AgainstTruth(tables=dict(sorted(tables.items())), metrics=metrics)


def against_labels(
    verdicts: Sequence[Verdict], labels: Mapping[str, MaskLabel], *, clusters: Mapping[str, Hashable]
) -> AgainstTruth:
    """Compare verdicts with what a person says of masks: good, bad or unsure, or a true IoU, by item id.

    A mask with an IoU and no word is good from .8 up. An unsure one is counted, and in no number. Intervals by
    bootstrap over ``clusters``, the photograph or clip of each item.
    """
    by_id = sorted(verdicts, key=lambda verdict: verdict.id)
    judged = [verdict for verdict in by_id if verdict.id in labels and verdict.iou is not None]
    good = {verdict.id: is_good for verdict in judged if (is_good := labels[verdict.id].good) is not None}
    clear = [verdict for verdict in judged if verdict.id in good]
    predicted = JudgeColumns(
        iou=reals(verdict.iou for verdict in clear),
        rank=reals(verdict.iou if verdict.prob_iou_80 is None else verdict.prob_iou_80 for verdict in clear),
        accepted=np.array([verdict.action == "accept" for verdict in clear], dtype=np.bool_),
    )
    true = TruthColumns(
        iou=reals(float(good[verdict.id]) for verdict in clear),
        cluster=texts([clusters[verdict.id] for verdict in clear]),
    )
    metrics: Metrics = {}
    counts = Counter(good.values())
    rows = [("labels", f"{len(judged)}: {counts[True]} good, {counts[False]} bad, {len(judged) - len(clear)} unsure")]
    measured = (
        ("good ranked above bad (AUC, 0.5 is chance)", "label_auc", measures.auc_of_good),
        ("of accepted masks, good", "label_accept_precision", measures.accept_precision),
        ("of good masks, accepted", "label_accept_recall", measures.accept_recall),
    )
    for words, name, quantity in measured if clear else ():
        value = quantity(predicted, true)
        outcome = bootstrapped(value, _draws(true))
        rows.append((words, cell(outcome) or "–"))
        keep(metrics, name, outcome, n=value.n)
    left_out = len(labels) - len(judged)
    note = f"0..1, higher is better. In brackets: 95 % intervals over {len(set(true.cluster))} photographs or clips."
    note += f" Left out, without an estimate: {left_out}." if left_out else ""
    table = Table(title="verdicts against labels", header=("", "value"), rows=tuple(rows), note=note)
    truths = [{"id": verdict.id, "iou": labels[verdict.id].iou, "cluster": clusters[verdict.id]} for verdict in judged]
    of_iou = against_truth(pairs_of(judged, truths))
    return AgainstTruth(tables={"labels": table, **of_iou.tables}, metrics={**metrics, **of_iou.metrics})


def _iou_table(pairs: Sequence[JudgedPair], metrics: Metrics, *, unreadable: int) -> Table:
    groups = {"": list(pairs)}
    same_object = [pair for pair in pairs if pair.defect != "full_neg"]
    if 0 < len(same_object) < len(pairs):
        groups[", full_neg apart"] = same_object
    rows: list[tuple[str, ...]] = []
    for words, group in groups.items():
        name = words.replace(", full_neg apart", "_without_full_neg")
        predicted, true = columns_of(group)
        draws = _draws(true)
        order = bootstrapped(measures.spearman(predicted, true), draws)
        covered = measures.coverage(predicted, true)
        rows += _iou_rows(group, words, order, draws=draws)
        keep(metrics, f"rmse{name}", bootstrapped(measures.rmse(predicted, true), draws), n=len(group))
        keep(metrics, f"spearman{name}", order, n=len(group))
        keep(metrics, f"coverage{name}", covered.outcome, n=covered.n)
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


def _iou_rows(
    pairs: Sequence[JudgedPair], words: str, order: Scored[float] | Undefined, *, draws: ClusterDraws
) -> list[tuple[str, ...]]:
    predicted, true = columns_of(pairs)
    own = cell(order), cell(measures.coverage(predicted, true).outcome), cell(measures.width(predicted, true).outcome)
    constants = {"always perfect": 1.0, "constant (mean of this truth)": float(true.iou.mean())}
    rivals = {pairs[0].verdict.judge: (predicted, own)}
    rivals |= {name: (JudgeColumns(iou=np.full(len(true), iou)), ("", "", "")) for name, iou in constants.items()}
    return [
        (f"{name}{words}", str(len(pairs)), cell(bootstrapped(measures.rmse(row, true), draws)), *cells)
        for name, (row, cells) in rivals.items()
    ]
