"""rIoU, mRR and further metrics from areas, by kind of negation, with intervals over pictures; and their tables.

The scores are those of ``score.masks.referring``; metrics by reference count a reference with an unanswered sentence
as failed. *With an oracle of existence* every mask of a negative sentence is emptied, which shows the gain of a perfect
answer to "is it there?".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any, Final

from auscult.cases.ids import counted
from auscult.outcome import Outcome, Scored, Undefined
from auscult.report.tables import Table
from auscult.score.masks import (
    ReferringScore,
    SentenceAreas,
    ciou,
    giou,
    mask_ratio,
    mask_ratios,
    mrr,
    n_acc,
    precision_at,
    r2vos_r,
    referring_miou,
    referring_oiou,
    riou,
    t_acc,
)
from auscult.score.masks.referring import ORIGIN, PRECISIONS
from auscult.score.stats.change import Counts, Ratio, Value, mean_of_ratios, mean_ratio
from auscult.score.stats.few_clusters import CORRELATION, SHARE
from auscult.suites.core.conditions import CLEAN
from auscult.suites.core.grid import Task
from auscult.suites.core.numbers import NO_ANSWER, GridView, Number, minus, number_text, significant
from auscult.suites.core.page import SPLITS, PagePart, SuiteResults
from auscult.suites.core.tables import clips_note, counts_text, difference_text, starred_note
from auscult.suites.rris.scoring import IOU, METRICS, PAINTED

BASELINES: Final = ("baseline.empty.v1", "baseline.full_frame.v1", "baseline.centre_box.v1")
ALWAYS_RUN: Final = (*BASELINES, "classical.lexicon.v1")
"""Baselines of every run, and a segmenter without weights."""
ORACLE: Final = " with an oracle of existence"
TRAINING: Final = "train"
"""The split of data that models may have learned from."""
PAPER: Final = ("mIoU", "mRR", "rIoU")
"""The columns of Table 2; rIoU is the main one."""
BY_KIND: Final = ("mRR", "rIoU", "mask ratio")
_NO_UNIT: Final = Undefined("the reference has no sentence that it is of")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Metric:
    """A score, and its units."""

    score: Callable[[Sequence[SentenceAreas]], ReferringScore | Undefined]
    by_reference: bool = False
    of: tuple[bool, ...] = (True, False)  # positive sentences, negative ones

    def units(self, sentences: Iterable[_Sentence]) -> dict[Hashable, None]:
        """The references or sentences of the metric, as keys of a score's ratio."""
        selected = (sentence for sentence in sentences if sentence.exists in self.of)
        return dict.fromkeys(
            sentence.reference if self.by_reference else (sentence.reference, sentence.id) for sentence in selected
        )


_POSITIVE: Final = (True,)
_NEGATIVE: Final = (False,)
_SCORES: Final[Mapping[str, _Metric]] = {
    "mIoU": _Metric(score=referring_miou, by_reference=True),
    "mRR": _Metric(score=mrr, by_reference=True),
    "rIoU": _Metric(score=riou, by_reference=True),
    "oIoU": _Metric(score=referring_oiou, of=_POSITIVE),
    **{f"P@{at:g}": _Metric(score=partial(precision_at, threshold=at), of=_POSITIVE) for at in PRECISIONS},
    "gIoU": _Metric(score=giou),
    "cIoU": _Metric(score=ciou),
    "N-acc": _Metric(score=n_acc, of=_NEGATIVE),
    "T-acc": _Metric(score=t_acc, of=_POSITIVE),
    "mask ratio": _Metric(score=mask_ratio, of=_NEGATIVE),
    "R": _Metric(score=r2vos_r),
}
_ORIGIN: Final = _Metric(score=lambda areas: mask_ratios(areas)[ORIGIN], of=_POSITIVE)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sentence:
    """A requested sentence; ``areas`` is None without an answer."""

    reference: str
    id: str
    kind: str
    areas: SentenceAreas | None

    @property
    def exists(self) -> bool:
        return not self.kind


class RrisTask(Task):
    """Robust referring image segmentation."""

    def results(self, view: GridView) -> SuiteResults:
        """Numbers and tables from areas, not from means over sentences."""
        splits = [split for split in SPLITS if split in view.grid.splits.values()]
        numbers = [*_numbers(view)]
        tables = {"general": _general(view, numbers)}
        for split in splits if len(splits) > 1 else ():
            part_view = replace(view, split=split)
            split_numbers = [*_numbers(part_view)]
            tables[f"general__{split}"] = _general(part_view, split_numbers)
            numbers += split_numbers
        tables["general_kinds"] = _kinds(view, numbers)
        tables["more"] = _more(view, numbers)
        tables["differences"] = _differences(view, numbers)
        level = {
            (number.model, number.metric): number for number in numbers if (number.group, number.split) == (CLEAN, "")
        }
        return SuiteResults(
            view=view,
            numbers=tuple(numbers),
            tables={name: table for name, table in tables.items() if table.rows},
            unscored=tuple(model for model in view.models if level[model, "mIoU"].value is None),
            lead=_lead(view, level),
            parts=_PARTS,
        )


TASK: Final = RrisTask(
    suite="rris",
    name="rris",
    title="referring segmentation of what is there and what is not",
    metrics=METRICS,
    baselines=BASELINES,
    about={"reference": str, "kind": str, "picture_px": int},
)


_PARTS: Final[tuple[PagePart, ...]] = (
    ("general", "What is painted for what is not there", "", ("general", "more"), ()),
    ("models", "Which model", "", ("differences",), ()),
    ("answers", "What was asked", "", ("",), ()),
)


# --- numbers


def _sentences(view: GridView, model: str) -> list[_Sentence]:
    """The sentences with requests made to a model."""
    grid, sentences = view.grid, []
    pixels = grid.pixels.get((model, CLEAN), {})
    shares = grid.cell(model, CLEAN, PAINTED).values
    waiting = grid.waiting.get((model, CLEAN), frozenset())
    for case in view.cases:
        if case in waiting:
            continue
        about = grid.about[case]
        reference, kind, picture_px = str(about["reference"]), str(about["kind"]), int(about["picture_px"])
        areas = None
        if case in shares and case in pixels:
            both, either = pixels[case]
            predicted = round(shares[case] * picture_px)
            areas = SentenceAreas(
                reference=reference, id=case, picture=grid.cases[case], kind=kind, both_px=both,
                predicted_px=predicted, truth_px=either - predicted + both, picture_px=picture_px,
            )  # fmt: skip
        sentences.append(_Sentence(reference=reference, id=case, kind=kind, areas=areas))
    return sentences


def _emptied(sentence: _Sentence) -> _Sentence:
    """The sentence with an oracle of existence: without a mask if it is negative."""
    if sentence.exists or sentence.areas is None:
        return sentence
    return replace(sentence, areas=replace(sentence.areas, predicted_px=0))


def _pictures(view: GridView) -> dict[Hashable, Hashable]:
    """The picture of every reference and sentence: intervals draw whole pictures."""
    pictures: dict[Hashable, Hashable] = {}
    for case in view.cases:
        reference = str(view.grid.about[case]["reference"])
        pictures[reference] = pictures[reference, case] = view.grid.cases[case]
    return pictures


def _numbers(view: GridView) -> Iterable[Number]:
    pictures, kinds, by_key = _pictures(view), _kinds_of(view), dict[tuple[str, str, str], _Columns]()
    for model in view.models:
        sentences = _sentences(view, model)
        by_kind = {"": sentences} | {kind: _of_kind(sentences, kind) for kind in kinds}
        for kind, members in by_kind.items():
            for metric in BY_KIND if kind else _SCORES:
                columns = by_key[model, metric, kind] = _columns(_SCORES[metric], members)
                yield _level(view, model, metric, columns=columns, pictures=pictures, kind=kind)
        columns = _columns(_ORIGIN, sentences)
        yield _level(view, model, "mask ratio", columns=columns, pictures=pictures, kind=ORIGIN)
        if not view.grid.task.is_baseline(model):
            right = list(map(_emptied, sentences))
            for metric in PAPER:
                columns = _columns(_SCORES[metric], right)
                yield _level(view, model + ORACLE, metric, columns=columns, pictures=pictures)
    for pair in view.pairs():
        for kind in ("", *kinds):
            for metric in ("mRR", "rIoU") if kind else PAPER:
                first, second = (by_key[model, metric, kind] for model in pair)
                shared = [unit for unit in first.values if unit in second.values]
                gap = {unit: minus(first.values[unit], second.values[unit]) for unit in shared}
                yield view.number(
                    "difference",
                    (kind or CLEAN, "all"),
                    model=" - ".join(pair),
                    metric=metric,
                    level="" if kind else CLEAN,
                    outcome=mean_ratio(gap, **view.interval_options(CORRELATION, clusters=pictures)),
                    signature=_signature(view, pair[0], first.score),
                )


def _kinds_of(view: GridView) -> tuple[str, ...]:
    return tuple(dict.fromkeys(kind for case in view.cases if (kind := str(view.grid.about[case]["kind"]))))


def _of_kind(sentences: Sequence[_Sentence], kind: str) -> list[_Sentence]:
    """References with negative sentences of a kind: these and their positive ones."""
    references = {sentence.reference for sentence in sentences if sentence.kind == kind}
    return [
        sentence
        for sentence in sentences
        if sentence.reference in references and (sentence.exists or sentence.kind == kind)
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Columns:
    """A score, and the numerators and denominators of its units."""

    score: ReferringScore | Undefined
    values: Mapping[Hashable, Value]
    over: Mapping[Hashable, float]


def _columns(metric: _Metric, sentences: Sequence[_Sentence]) -> _Columns:
    unanswered = [sentence for sentence in sentences if sentence.areas is None]
    failed = metric.units(unanswered)
    areas = [
        sentence.areas
        for sentence in sentences
        if sentence.areas is not None and not (metric.by_reference and sentence.reference in failed)
    ]
    score = metric.score(areas)
    values: dict[Hashable, Value] = dict.fromkeys(metric.units(sentences), _NO_UNIT)
    over: dict[Hashable, float] = {}
    if isinstance(score, ReferringScore):
        values |= score.ratio[0]
        over |= score.ratio[1]
    return _Columns(score=score, values=values | dict.fromkeys(failed, NO_ANSWER), over=over)


def _level(
    view: GridView,
    model: str,
    metric: str,
    *,
    columns: _Columns,
    pictures: Mapping[Hashable, Hashable],
    kind: str = "",
) -> Number:
    score = columns.score
    outcome: Outcome[float] = score
    if isinstance(score, Undefined):
        failed = sum(value is NO_ANSWER for value in columns.values.values())
        left = Counts(n=0, failed=failed, undefined=len(columns.values) - failed, missing=0)
        outcome = Undefined(score.reason, asdict(left))
    else:
        within = None if metric == "R" else SHARE
        ratio = mean_of_ratios([(columns.values, columns.over)], **view.interval_options(within, clusters=pictures))
        outcome = _taken_from_1(ratio) if metric == "R" and isinstance(ratio, Ratio) else ratio
    return view.number(
        "level",
        (kind or CLEAN, "all"),
        model=model,
        metric=metric,
        level="" if kind else CLEAN,
        outcome=outcome,
        signature=_signature(view, model.removesuffix(ORACLE), score),
    )


def _taken_from_1(ratio: Ratio) -> Ratio:
    """R of what is painted for negatives over what is painted for positives; it has no lower bound."""
    low, high = (None if end is None else 1 - end for end in (ratio.high, ratio.low))
    return replace(ratio, value=1 - ratio.value, low=low, high=high)


def _signature(view: GridView, model: str, score: ReferringScore | Undefined) -> dict[str, Any]:
    """The signature of the masks' comparison, then of the score."""
    parameters = score.signature.as_dict() if isinstance(score, Scored) else {}
    pixels = {key: value for key, value in view.grid.signature(model, IOU).items() if key not in ("metric", "negative")}
    return {**pixels, **parameters}


# --- tables


def _by(numbers: Iterable[Number], view: GridView, measure: str) -> dict[tuple[str, str, str], Number]:
    selected = (number for number in numbers if (number.measure, number.split) == (measure, view.split))
    return {(number.model, number.metric, number.group): number for number in selected}


def _general(view: GridView, numbers: Sequence[Number]) -> Table:
    """The form of Table 2."""
    level = _by(numbers, view, "level")
    rows = []
    for model in dict.fromkeys(model for model, _, group in level if group == CLEAN):
        cells = [level[model, metric, CLEAN] for metric in PAPER]
        rows.append((model, *(number_text(cell, interval=True) for cell in cells), counts_text(cells[-1])))
    return Table(
        title="Right masks, invented masks, and both together" + (f"; {view.split} objects" if view.split else ""),
        header=("model", *PAPER, "references of rIoU"),
        rows=tuple(rows),
        note="Percent. mRR: negative sentences with no pixel at all; rIoU: what is painted for them counts as union. "
        f"{ORACLE.strip().capitalize()}: every mask for a negative sentence emptied. {_without(view)} "
        f"{_with_training(view)}{clips_note(level.values())}",
    )


def _with_training(view: GridView) -> str:
    """A note where sentences of the split that models train on are counted beside those of others."""
    counts = Counter(split for case in view.cases if (split := view.grid.splits.get(case)))
    others = [split for split in counts if split != TRAINING]
    if TRAINING not in counts or not others:
        return ""
    texts = " and ".join(f"{counts[split]:,} of the split {split}" for split in (*others, TRAINING))
    return f"Sentences of several splits are counted, {texts}; --split {others[0]} asks without training data. "


def _without(view: GridView) -> str:
    """A note on references without positive or negative sentences."""
    sides: dict[str, set[bool]] = {}
    for case in view.cases:
        about = view.grid.about[case]
        sides.setdefault(str(about["reference"]), set()).add(not about["kind"])
    negative, positive = (sum(side not in present for present in sides.values()) for side in (False, True))
    return (
        f"Of {counted(len(sides), 'reference')} {negative} have no negative sentence, so no mRR, and {positive} no "
        "positive one, so no mIoU and no rIoU."
    )


def _kinds(view: GridView, numbers: Sequence[Number]) -> Table:
    """Numbers by kind of negation; mask ratios in the form of Table 7."""
    level, rows = _by(numbers, view, "level"), []
    for model in view.models:
        for kind in _kinds_of(view):
            cells = [level[model, metric, kind] for metric in BY_KIND]
            rows.append((model, kind, *(number_text(cell, interval=True) for cell in cells), counts_text(cells[-1])))
        origin = level[model, "mask ratio", ORIGIN]
        rows.append((model, "origin (positive)", "–", "–", number_text(origin, interval=True), counts_text(origin)))
    return Table(
        title="By kind of negation",
        header=("model", "kind", *BY_KIND, "sentences"),
        rows=tuple(rows),
        note="Percent. Mask ratio: the share of the picture that is painted; of what is not there lower is better. "
        f"{_without(view)} {clips_note(level.values())}",
    )


def _more(view: GridView, numbers: Sequence[Number]) -> Table:
    level = _by(numbers, view, "level")
    metrics = [metric for metric in _SCORES if metric not in PAPER]
    return Table(
        title="Other scores",
        header=("model", *metrics),
        rows=tuple((model, *(number_text(level[model, metric, CLEAN]) for metric in metrics)) for model in view.models),
        note="Percent; intervals are in cells.csv. oIoU and P@X are of positive sentences; gIoU, cIoU, N-acc and T-acc "
        "those of generalized referring segmentation; R, of R2VOS, rises with any pixel on a positive sentence. "
        f"{_without(view)}",
    )


def _differences(view: GridView, numbers: Sequence[Number]) -> Table:
    by_key = _by(numbers, view, "difference")
    is_baseline = view.grid.task.is_baseline
    pairs = dict.fromkeys((pair, group) for pair, _, group in by_key if not all(map(is_baseline, pair.split(" - "))))
    cells = {key: [by_key.get((key[0], metric, key[1])) for metric in PAPER] for key in pairs}
    all_cells = [cell for row in cells.values() for cell in row]
    stars = significant(all_cells)
    rows = [
        (pair, "all" if group == CLEAN else group, *(difference_text(cell, stars) for cell in row))
        for (pair, group), row in cells.items()
    ]
    return Table(
        title="Differences of models on the same references",
        header=("first - second", "kind", *PAPER),
        rows=tuple(rows),
        note=f"Percentage points; above 0 the first is better. {starred_note(all_cells)} {_without(view)} "
        f"{clips_note(all_cells)}",
    )


def _lead(view: GridView, level: Mapping[tuple[str, str], Number]) -> str:
    """The results in one paragraph."""
    grid = view.grid
    negative = sum(bool(grid.about[case]["kind"]) for case in view.cases)
    pictures = len({grid.cases[case] for case in view.cases})
    opening = f"{counted(len(view.cases), 'sentence')} about {counted(pictures, 'picture')} were asked"
    sentences = [f"{opening}; {negative:,} of them name nothing that is there."]
    for model in view.models:
        if not grid.task.is_baseline(model):
            texts = [f"{name} {number_text(level[model, name], interval=True)}" for name in ("rIoU", "mRR", "mIoU")]
            oracle = level.get((model + ORACLE, "rIoU"))
            sentences.append(f"{model}: {', '.join(texts)}; with an oracle of existence rIoU {number_text(oracle)}.")
    sentences.append("An empty mask for everything has mRR 100.0 and rIoU 0.0.")
    return " ".join(sentences)
