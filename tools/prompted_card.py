"""The card of `masks.prompted.v1`: which masks it is measured on, its numbers, and its page.

The judge's numbers on masks of real models stand beside what knowing little gives: mask area and a constant.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from auscult.act.policy import Policy, action_of, load_policy
from auscult.arrays.error_map import values_of
from auscult.errors import InputError
from auscult.jobs.runner import Progress
from auscult.judge.cards import Card, Result, cell, load_card, markdown, page, result_of
from auscult.judge.masks.compact.view import coverage
from auscult.judge.masks.prompted.calibration import BAD, GOOD
from auscult.outcome import Scored, Signature, Undefined
from auscult.record.schema import verdict_from_json, verdict_to_json
from auscult.rng import generator
from auscult.score.judges import (
    ClusterDraws,
    JudgeColumns,
    Measured,
    Quantity,
    TruthColumns,
    measures,
    reals,
    texts,
    with_interval,
)
from auscult.score.stats import adapted_to_set, looks_for, share_below
from auscult.score.stats.few_clusters import CORRELATION, GAP, Range
from auscult.score.stats.intervals import Interval
from auscult.train import material as made_material
from auscult.train.material import committed
from auscult.train.prompted.material import MAY_TRAIN, Material
from auscult.train.prompted.outputs import FLAWLESS as FLAWLESS_FAMILY
from auscult.train.prompted.outputs import CandidateColumns, Judgeable, columns_of, listed, real_and_flawless
from auscult.types import Case, Doubles, ErrorMap, Mask, MaskJudge, Prediction, Verdict

JUDGE: Final = "masks.prompted.v1"
BESIDE: Final = ("masks.compact.v1", "masks.cues.v1")
TRAINED_ON: Final = frozenset({*MAY_TRAIN, "grabcut-box"})
"""Families that entered training or calibration, with other pictures."""
SMALL_SHARE: Final = 0.02
_VIDEO_EVERY: Final = 3
_LEAST_FAMILY: Final = 30
_MOST_LISTING: Final = 200 << 20
_FLAGGED: Final = 0.5
REPLICATES: Final = 400

Things = Callable[[], Iterator[Judgeable]]


def real_things(material: Material, data: Path, listing: Path | None, *, parts: Sequence[Any]) -> Things:
    """Real models' and classical families' masks of some parts, and the true masks as ``flawless``."""
    pictures = material.of(*parts)
    rows = _listing(listing)

    def things() -> Iterator[Judgeable]:
        yield from real_and_flawless(pictures, every=_VIDEO_EVERY)
        yield from listed(rows, pictures, data)

    return things


def made_things(data: Path, *, freehand: bool, seed: int) -> Things:
    """Made defects on the test photographs and sequences, by the first or the second maker."""
    maker = "freehand_" if freehand else ""
    kinds = ("perfect", *(f"{maker}{name}" for name in ("cutout", "dilate", "erode")), "merge")

    def things() -> Iterator[Judgeable]:
        coco, davis = committed()["coco"]["test"], committed()["davis"]["test"]
        samples = [
            made_material.coco(data, coco, seed=seed, alone=True, kinds=kinds),
            made_material.davis(data, davis, seed=seed, every=4, kinds=kinds),
        ]
        for sample in (sample for some in samples for sample in some):
            yield Judgeable(
                frame=sample.frame,
                mask=sample.mask,
                truth=sample.truth if sample.truth is not None else sample.mask,
                family="freehand" if freehand else "stress",
                cluster=sample.cluster,
                source=sample.source,
                name=sample.name,
                defect=sample.defect.removeprefix("freehand_"),
                difficulty=sample.difficulty or "",
            )

    return things


def verdicts_of(
    judge: MaskJudge, things: Things, path: Path, *, progress: Progress
) -> tuple[list[Verdict], list[float]]:
    """A judge's verdicts and the F1 of its error maps, kept in a file: a later call reads them."""
    if path.exists():
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        return [verdict_from_json(row) for row in rows], [float(row["map_f1"]) for row in rows]
    verdicts: list[Verdict] = []
    f1: list[float] = []
    for thing in things():
        verdict = judge(Case(id=str(len(verdicts)), frame=thing.frame), Prediction(thing.mask))
        verdicts.append(verdict)
        f1.append(map_f1(verdict.error_map, thing.mask, thing.truth))
        progress.step()
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps(verdict_to_json(one, map_f1=value)) for one, value in zip(verdicts, f1, strict=True)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return verdicts, f1


def rows_of(
    judges: Sequence[MaskJudge], things: Things, folder: Path, *, known: CandidateColumns, progress: Progress
) -> tuple[CandidateColumns, dict[str, JudgeColumns]]:
    """All rows of one collection of masks: the judges, mask area and a constant."""
    columns = columns_of(things())
    policy = load_policy("default")
    rows: dict[str, JudgeColumns] = {}
    for judge in judges:
        progress.stage(f"judging: {judge.name}, {folder.name}", len(columns))
        verdicts, f1 = verdicts_of(judge, things, folder / f"{judge.name}.jsonl", progress=progress)
        rows[judge.name] = row_of(verdicts, policy, map_f1=np.array(f1))
    rows["mask-area"] = area(columns, known)
    rows["constant"] = constant(columns, known)
    return columns, rows


def row_of(verdicts: Sequence[Verdict], policy: Policy, *, map_f1: Doubles | None = None) -> JudgeColumns:
    """A judge's verdicts as columns."""
    iou = reals(one.iou for one in verdicts)
    good = reals(one.prob_iou_80 for one in verdicts)
    fair = reals(one.prob_iou_50 for one in verdicts)
    return JudgeColumns(
        iou=iou,
        rank=np.where(np.isnan(good), iou, good + 1e-3 * iou),
        low=reals(one.iou_low for one in verdicts),
        high=reals(one.iou_high for one in verdicts),
        accepted=np.array([_accepts(one, policy) for one in verdicts]),
        defect=texts([one.defect for one in verdicts]),
        flagged=np.array([one.novelty >= _FLAGGED for one in verdicts]),
        map_f1=map_f1,
        good=None if np.isnan(good).all() else good,
        fair=None if np.isnan(fair).all() else fair,
    )


def _accepts(verdict: Verdict, policy: Policy) -> bool:
    action, _ = action_of(policy, defect=verdict.defect, iou=verdict.iou, prob_iou_80=verdict.prob_iou_80)
    return action == "accept"


def constant(outputs: CandidateColumns, known: CandidateColumns) -> JudgeColumns:
    """Says of every mask the mean IoU of real calibration masks, with 90 % of theirs, accepts it and finds no fault."""
    values = known.iou[~np.isin(known.family, ["flawless", "made"])]
    n = len(outputs)
    low, high = np.quantile(values, [0.05, 0.95])
    mean = np.full(n, float(values.mean()))
    return JudgeColumns(
        iou=mean,
        rank=mean,
        low=np.full(n, float(low)),
        high=np.full(n, float(high)),
        accepted=np.ones(n, np.bool_),
        defect=texts(["perfect"] * n),
    )


def area(outputs: CandidateColumns, known: CandidateColumns) -> JudgeColumns:
    """Mask area alone: a line from the log share of the frame to the IoU of real calibration masks.

    Its interval holds 90 % of their errors; it accepts the largest masks, of theirs as many as are good.
    """
    real = ~np.isin(known.family, ["flawless", "made"])
    share, true = known.share[real], known.iou[real]
    line = np.polyfit(np.log(share), true, 1)
    low, high = np.quantile(true - np.polyval(line, np.log(share)), [0.05, 0.95])
    said = np.polyval(line, np.log(outputs.share))
    estimate = np.clip(said, 0.0, 1.0)
    return JudgeColumns(
        iou=estimate,
        rank=np.asarray(estimate + 1e-6 * np.log(outputs.share)),
        low=np.clip(said + low, 0.0, 1.0),
        high=np.clip(said + high, 0.0, 1.0),
        accepted=outputs.share >= np.quantile(share, 1 - np.mean(true >= GOOD)),
    )


def map_f1(error_map: ErrorMap | None, mask: Mask, truth: Mask) -> float:
    """F1 of the cells that an error map says are wrong; NaN where nothing is wrong, 0 without a map."""
    if not (mask ^ truth).any():
        return np.nan
    if error_map is None:
        return 0.0
    true, held = (coverage(one, error_map.box, error_map.side) >= 128 for one in (truth, mask))
    wrong, said = true ^ held, values_of(error_map) != 0
    if not wrong.any():
        return np.nan
    return float(2 * np.count_nonzero(wrong & said) / (np.count_nonzero(wrong) + np.count_nonzero(said)))


def truth_of(columns: CandidateColumns) -> TruthColumns:
    """What is true of candidates, as the evaluation of judges takes it."""
    return TruthColumns(
        iou=columns.iou,
        cluster=columns.cluster,
        defect=texts(columns.defect.tolist()),
        track=np.char.add(np.char.add(columns.family, " "), columns.cluster),
        share=columns.share,
    )


def _bias_small(said: JudgeColumns, true: TruthColumns) -> Measured:
    """Bias over the masks under 2 % of the picture."""
    if true.share is None:
        raise TypeError("the share of the frame is not known")
    small = true.share < SMALL_SHARE
    return measures.bias(said.where(small), true.where(small))


def _f2_cutout(said: JudgeColumns, true: TruthColumns) -> Measured:
    """The column ``cutout`` of the F2-tables."""
    cutouts = np.asarray(true.defect) == "cutout"
    return measures.f2_tables(said.where(cutouts), true.where(cutouts))


def _spearman_within(said: JudgeColumns, true: TruthColumns) -> float:
    return _value(measures.spearman(said, true))


def _worst_five(said: JudgeColumns, true: TruthColumns) -> float:
    """How many of the five worst frames are among the five of lowest estimate; NaN where all have one estimate."""
    lowest, worst = (set(np.argsort(iou)[:5].tolist()) for iou in (said.iou, true.iou))
    return float(len(lowest & worst)) if np.ptp(said.iou) else np.nan


def _by_track(said: JudgeColumns, true: TruthColumns) -> Iterator[tuple[str, JudgeColumns, TruthColumns]]:
    """What one model drew in one sequence, after the other."""
    tracks = np.asarray(true.track)
    for track in sorted(set(tracks.tolist())):
        yield track, said.where(tracks == track), true.where(tracks == track)


def _within(
    said: JudgeColumns, true: TruthColumns, *, one: Callable[[JudgeColumns, TruthColumns], float], middle: Any
) -> Measured:
    """The median or mean of a number within each sequence and model, from draws of whole sequences."""
    values, clusters = zip(*((one(a, b), b.cluster[0]) for _, a, b in _by_track(said, true)), strict=True)
    outcome = Scored(float(middle(values)), Signature.of(metric="within a sequence"))
    return Measured(
        outcome=outcome if np.isfinite(values).all() else Undefined("no order"),
        rows=np.ones((len(values), 1)),
        clusters=clusters,
        from_sums=measures.mean_of_sums,
        from_weights=lambda often: float(middle(np.repeat(values, often.astype(int)))) if often.any() else np.nan,
        n=len(values),
        within=CORRELATION if one is _spearman_within else Range(low=0.0, high=5.0),
    )


def _value(measured: Measured) -> float:
    return measured.outcome.value if isinstance(measured.outcome, Scored) else np.nan


REAL: Final[Mapping[str, Quantity]] = {
    "auc_80": measures.auc_of_good,
    "spearman": measures.spearman,
    "rmse": partial(measures.rmse, unparsed="skip"),
    "bias": measures.bias,
    "bias_small": _bias_small,
    "coverage_90": measures.coverage,
    "width_90": measures.width,
    "accepted": measures.accepted,
    "accept_precision": measures.accept_precision,
    "accept_recall": measures.accept_recall,
    "flagged": measures.flagged,
    "flagged_worse": measures.flagged_worse,
    "error_map_f1": measures.error_map_f1,
    "judged": measures.judged,
}
FLAWLESS: Final[Mapping[str, Quantity]] = {
    "accepted": measures.accepted,
    "called_defective": measures.called_defective,
    "bias": measures.bias,
    "judged": measures.judged,
}
MADE: Final[Mapping[str, Quantity]] = {
    "f2_tables": measures.f2_tables,
    "f2_tables.cutout": _f2_cutout,
    "f2_confusion": measures.f2_confusion,
    "spearman": measures.spearman,
    "rmse": measures.rmse,
    "coverage_90": measures.coverage,
}
WITHIN: Final[Mapping[str, Quantity]] = {
    "spearman_median": partial(_within, one=_spearman_within, middle=np.median),
    "worst_five": partial(_within, one=_worst_five, middle=np.mean),
}
_HIGHER: Final = ("auc_80", "spearman", "accept_precision", "accept_recall", "f2_tables", "f2_tables.cutout")
PAIRED: Final[Mapping[str, Callable[[Any], Any]]] = {
    **dict.fromkeys(_HIGHER, np.positive),
    **dict.fromkeys(("rmse", "called_defective"), np.negative),
    "bias_small": lambda bias: -np.abs(bias),
    "coverage_90": lambda share: -np.abs(share - 0.9),
}
"""Metrics whose difference to the other rows is measured too, paired, and how good a value is; more is better."""
_OF_FLAWLESS: Final[Mapping[str, Callable[[Any], Any]]] = {**PAIRED, "accepted": np.positive}


def results_of(
    name: str,
    outputs: CandidateColumns,
    rows: Mapping[str, JudgeColumns],
    *,
    metrics: Mapping[str, Quantity],
    seed: int,
) -> Iterator[Result]:
    """Every metric of every row on one set, and how much better the first row, the card's judge, is than the others.

    Intervals draw whole photographs and sequences, the same draws for every row, so that differences are paired.
    """
    true = truth_of(outputs)
    rng = partial(generator, seed, "prompted", "card", name)
    draws = ClusterDraws.of(np.unique(outputs.cluster), rng=rng, replicates=REPLICATES)
    first, *others = rows
    merits = _OF_FLAWLESS if metrics is FLAWLESS else PAIRED
    for metric, quantity in metrics.items():
        measured = {row: quantity(said, true) for row, said in rows.items()}
        values = {row: _value(one) for row, one in measured.items()}
        known = {row: draws.values(one) for row, one in measured.items()}
        put = partial(_result, n=len(true), clusters=len(draws.index_of))
        for row in rows:
            yield put((name, row, metric), values[row], known[row], within=measured[row].within)
        for row in others if metric in merits else ():
            merit = merits[metric]
            yield put(
                (name, row, f"{metric}.better"),
                merit(values[first]) - merit(values[row]),
                merit(known[first]) - merit(known[row]),
                within=GAP if metric == "spearman" else CORRELATION,
            )


def _result(
    key: tuple[str, str, str], value: float, drawn: Doubles, *, n: int, clusters: int, within: Range | None = None
) -> Result:
    outcome: Scored[float] | Undefined = Undefined("not said by this row, or nothing to measure it on")
    if np.isfinite(value):
        outcome = with_interval(Scored(value, Signature.of(metric=key[2])), drawn, clusters=clusters, within=within)
    return result_of(key, outcome, n=n, clusters=clusters)


def real_sets(columns: CandidateColumns) -> dict[str, tuple[str, np.ndarray[Any, np.dtype[np.bool_]]]]:
    """The sets of real masks: name to what it is and which masks belong to it."""
    flawless = columns.family == FLAWLESS_FAMILY
    new = ~flawless & ~np.isin(columns.family, list(TRAINED_ON))
    old = np.isin(columns.family, list(TRAINED_ON))
    video, unseen = columns.source == "davis", np.isin(columns.source, ["pets"]) | np.char.startswith(
        columns.cluster, "davis_"
    )  # fmt: skip
    sets = {
        "new_families": ("families that no training and no calibration saw, on test pictures", new & ~unseen),
        "new_families_photographs": ("the same, photographs alone", new & ~unseen & ~video),
        "new_families_video": ("the same, sequences alone", new & ~unseen & video),
        "known_families": ("families that were trained on with other pictures", old & ~unseen),
        "unseen_source": ("all families on pets and two sequences: a source nobody saw", (new | old) & unseen),
    }
    for name in sorted({str(one) for one in columns.family[new | old]}):
        inside = (columns.family == name) & ~unseen
        if np.count_nonzero(inside) >= _LEAST_FAMILY:
            sets[f"family.{name}"] = (f"masks of {name} on test pictures", inside)
    return sets


def flawless_sets(columns: CandidateColumns) -> dict[str, tuple[str, np.ndarray[Any, np.dtype[np.bool_]]]]:
    """The sets of true masks: every one is right."""
    flawless = columns.family == FLAWLESS_FAMILY
    coco, video = np.isin(columns.source, ["coco", "more"]), columns.source == "davis"
    return {
        "flawless_coco": ("people's masks of COCO objects on test photographs", flawless & coco),
        "flawless_davis": ("people's masks of the test sequences", flawless & video),
        "flawless_small": (
            "of the COCO ones those under 2 % of the picture",
            flawless & coco & (columns.share < SMALL_SHARE),
        ),
        "flawless_pets": ("people's masks of pets, a source nobody saw", flawless & (columns.source == "pets")),
    }


def results(
    real: tuple[CandidateColumns, Mapping[str, JudgeColumns]],
    made: Mapping[str, tuple[CandidateColumns, Mapping[str, JudgeColumns]]],
    *,
    seed: int,
) -> tuple[dict[str, str], list[Result]]:
    """Every number of the card, and what its sets are."""
    meanings: dict[str, str] = {}
    found: list[Result] = []
    columns, rows = real
    within = {"within_sequence": ("OSVOS and RVOS, each sequence by itself, where the IoU varies", varied(columns))}
    for sets, metrics in ((real_sets(columns), REAL), (within, WITHIN), (flawless_sets(columns), FLAWLESS)):
        for name, (meaning, keep) in sets.items():
            if keep.any():
                meanings[name] = meaning
                kept = {row: said.where(keep) for row, said in rows.items()}
                found += results_of(name, columns.where(keep), kept, metrics=metrics, seed=seed)
    for name, (known, said) in made.items():
        for source in ("coco", "davis"):
            keep = (known.source == source) & np.isin(known.defect, ["perfect", "cutout", "dilate", "erode", "merge"])
            called = f"{name}_{source}"
            meanings[called] = f"defects made by the {'second' if name == 'freehand' else 'first'} maker, {source}"
            kept = {row: one.where(keep) for row, one in said.items()}
            found += results_of(called, known.where(keep), kept, metrics=MADE, seed=seed)
    return meanings, found


def varied(columns: CandidateColumns) -> NDArray[np.bool_]:
    """Masks of OSVOS and RVOS in sequences where the model's IoU varies by more than .1."""
    known = np.isin(columns.family, ["osvos", "rvos"])
    tracks = np.asarray(truth_of(columns).track)
    ious = {track: columns.iou[tracks == track] for track in set(tracks[known].tolist())}
    return np.isin(tracks, [track for track, one in ious.items() if one.size >= 6 and np.ptp(one) > 0.1])


def sequences_table(columns: CandidateColumns, row: JudgeColumns) -> str:
    """One line a sequence and model of ``varied``."""
    keep, lines = varied(columns), []
    for track, said, true in _by_track(row.where(keep), truth_of(columns.where(keep))):
        numbers = (str(len(true)), f"{_spearman_within(said, true):.2f}", f"{_worst_five(said, true):.0f}")
        lines.append([*track.split(" "), *numbers])
    return markdown(["model", "sequence", "frames", "Spearman", "of the five worst, among its five lowest"], lines)


class Shares(NamedTuple):
    """What an audit of one set of masks would print of their shares, beside what is true."""

    set: str
    n: int  # its masks
    true: tuple[float, float]  # shares under IoU .8 and .5
    said: tuple[Interval, ...]  # the same, estimated
    looks: int  # looks that are said to find 90 % of the masks under .8
    found: float  # share of these that so many looks do find, in the judge's order


def audit_shares(columns: CandidateColumns, row: JudgeColumns, *, shift: float, prior: Sequence[float]) -> list[Shares]:
    """What ``auscult audit`` would have printed of each set of real masks, as ``jobs/estimates`` makes it."""
    made = []
    for name, (_, inside) in real_sets(columns).items():
        at = np.flatnonzero(inside & ~np.isnan(row.iou))
        if row.good is None or row.fair is None or not at.size:
            continue
        adapted, of = adapted_to_set(row.good[at], row.fair[at], prior=prior), columns.cluster[at]
        shares = [
            share_below(some, clusters=of.tolist(), rng=generator(0, "expected", key), shift=shift)
            for some, key in zip(adapted, ("prob_iou_80", "prob_iou_50"), strict=True)
        ]
        looks, ends = looks_for(adapted[0], order=row.good[at]), [one for one in shares if isinstance(one, Interval)]
        if not isinstance(looks, Scored) or len(ends) < len(shares):
            continue
        bad = columns.iou[at] < GOOD
        seen = np.argsort(row.good[at], kind="stable")[: looks.value]
        made.append(
            Shares(
                set=name,
                n=int(at.size),
                true=(float(bad.mean()), float(np.mean(columns.iou[at] < BAD))),
                said=tuple(ends),
                looks=looks.value,
                found=float(bad[seen].sum() / max(bad.sum(), 1)),
            )
        )
    return made


def shares_table(some: Sequence[Shares]) -> str:
    """One line a set: true and estimated shares, and what the looks find."""
    lines = []
    for one in some:
        cells = [one.set, str(one.n)]
        for true, said in zip(one.true, one.said, strict=True):
            cells += [f"{true:.2f}", f"{said.value:.2f} [{said.low:.2f}, {said.high:.2f}]"]
        lines.append([*cells, str(one.looks), f"{one.found:.2f}"])
    names = ["set", "n", "under .8", "estimated", "under .5", "estimated", "looks for 90 %", "found by them"]
    return markdown(names, lines)


def card_of(meanings: Mapping[str, str], found: Sequence[Result], *, seed: int) -> Card:
    """The card with new numbers; its words are those of the shipped card, which is their only home."""
    return replace(load_card(JUDGE), sets=dict(meanings), seed=seed, results=tuple(found))


def card_page(card: Card, *, before: Sequence[str] = ()) -> str:
    """The card as a page that begins with real models' masks, family by family."""
    return page(
        card,
        made_by="python tools/prompted_results.py",
        before=["## Masks of real models, family by family", family_table(card), *before],
    )


def family_table(card: Card) -> str:
    """One line a set of real masks: the judge's main numbers."""
    names = ("auc_80", "spearman", "rmse", "coverage_90", "width_90", "accepted", "accept_precision", "accept_recall")
    found = {(one.set, one.metric): one for one in card.results if one.row == card.judge}
    lines = []
    for name in card.sets:
        if (name, "auc_80") in found:
            first = found[name, "auc_80"]
            lines.append(
                [name, str(first.n), str(first.clusters), *(cell(found.get((name, metric))) for metric in names)]
            )
    return markdown(["set", "n", "clusters", *names], lines)


def known_columns(material: Material) -> CandidateColumns:
    """Real masks of the calibration part, for what baselines know."""
    pictures = material.of("calibration")
    return columns_of(one for one in real_and_flawless(pictures, every=_VIDEO_EVERY) if one.family != FLAWLESS_FAMILY)


def _listing(path: Path | None) -> list[Mapping[str, Any]]:
    if path is None:
        return []
    try:
        with gzip.open(path) as file:
            found = json.loads(file.read(_MOST_LISTING))
    except (OSError, EOFError, ValueError) as error:
        raise InputError(
            f"the listing cannot be read: {error}", expected="what tools/classical_families.py writes", path=path
        ) from error
    return list(found)
