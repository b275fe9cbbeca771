"""One number of the benchmark from the candidates and answers it is over, with what its bootstrap needs.

The number itself comes from ``score.stats``. Beside it stand rows that add up over clusters, and the function that
gives the number from their sums, so that a thousand draws cost one product of matrices.

Source: MQA-RefAVS, App. C: Eq. 10 (``rmse`` of images), Eq. 12 (``rmse`` of video: per track the mean over its frames),
Eqs. 9 and 11 (``F2``), Eq. 13 (``F2`` of video: per track, then the mean).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from auscult.arrays.averages import group_means
from auscult.outcome import Scored, Undefined
from auscult.score.stats import F2Macro, coverage, f2_confusion, f2_tables, f2_video, rmse, rmse_video
from auscult.score.stats.resample import Floats, FromSums
from auscult.suites.mqa.rows import Answer, Candidate, Protocol
from auscult.types import ACTIONS, DEFECTS

Unparsed: TypeAlias = Literal["wrong", "skip"]
Pair: TypeAlias = tuple[Candidate, Answer]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Measured:
    """A number and how to draw it again.

    Attributes:
        outcome: The number, or why there is none.
        rows: What adds up over clusters, (m, k): one row per item, or per track.
        clusters: The cluster of each row, (m,).
        from_sums: From sums (draws, k) to the number of each draw (draws,), NaN where undefined.
        n: Items or tracks that the number is over.
        unparsed: Replies without this answer among the items given.
    """

    outcome: Scored[float] | Undefined
    rows: Floats
    clusters: tuple[str, ...]
    from_sums: FromSums
    n: int
    unparsed: int


Measure: TypeAlias = Callable[[Sequence[Pair], Protocol, Unparsed], Measured]


def measure_rmse(pairs: Sequence[Pair], protocol: Protocol, unparsed: Unparsed) -> Measured:
    """RMSE of the estimated IoU; lower is better.

    A reply without IoU counts as 0 (``wrong``) or is left out (``skip``). In video it leaves the mean of its track, as
    in the release; a track without any is 0 or left out.
    """
    known = [(one, answer) for one, answer in pairs if one.iou is not None]
    missing = sum(answer.iou is None for _, answer in known)
    if protocol == "video":
        triples = _track_means(known, unparsed)
        told, true = [triple[1] for triple in triples], [triple[2] for triple in triples]
        clusters = tuple(triple[0] for triple in triples)
        outcome = rmse_video(told, true, videos=range(len(triples)))
    else:
        kept = [(one, answer) for one, answer in known if unparsed == "wrong" or answer.iou is not None]
        told, true = [answer.iou or 0.0 for _, answer in kept], [one.iou or 0.0 for one, _ in kept]
        clusters = tuple(one.clip for one, _ in kept)
        outcome = rmse(told, true)
    errors = np.asarray(told, np.float64) - np.asarray(true, np.float64)
    rows = np.stack([errors**2, np.ones_like(errors)], axis=1)
    return Measured(outcome=outcome, rows=rows, clusters=clusters, from_sums=_root_mean, n=len(told), unparsed=missing)


def measure_f2_m(pairs: Sequence[Pair], protocol: Protocol, unparsed: Unparsed) -> Measured:
    """F2-tables of the type; higher is better. The pairs are those of one true type."""
    told, true = [answer.defect for _, answer in pairs], [one.defect for one, _ in pairs]
    if protocol == "video":
        return _by_track(pairs, told, true, classes=DEFECTS, unparsed=unparsed)
    outcome = f2_tables(told, true, DEFECTS, unparsed=unparsed)
    return _counted(pairs, told, true, classes=DEFECTS, unparsed=unparsed, outcome=outcome, only_true=True)


def measure_f2_a(pairs: Sequence[Pair], protocol: Protocol, unparsed: Unparsed) -> Measured:
    """F2-tables of the action: macro over the actions that are right somewhere among the pairs; higher is better."""
    known = [(one, answer) for one, answer in pairs if one.action is not None]
    told, true = [answer.action for _, answer in known], [str(one.action) for one, _ in known]
    if protocol == "video":
        return _by_track(known, told, true, classes=ACTIONS, unparsed=unparsed)
    outcome = f2_tables(told, true, ACTIONS, columns=["all"] * len(true), unparsed=unparsed)
    return _counted(known, told, true, classes=ACTIONS, unparsed=unparsed, outcome=outcome, only_true=True)


def measure_confusion_m(pairs: Sequence[Pair], _protocol: Protocol, unparsed: Unparsed) -> Measured:
    """F2-confusion of the type over all pairs: false alarms count; higher is better. Frames count one by one."""
    told, true = [answer.defect for _, answer in pairs], [one.defect for one, _ in pairs]
    outcome = f2_confusion(told, true, DEFECTS, unparsed=unparsed)
    return _counted(pairs, told, true, classes=DEFECTS, unparsed=unparsed, outcome=outcome, only_true=False)


def measure_confusion_a(pairs: Sequence[Pair], _protocol: Protocol, unparsed: Unparsed) -> Measured:
    """F2-confusion of the action over all pairs; higher is better. Frames count one by one."""
    known = [(one, answer) for one, answer in pairs if one.action is not None]
    told, true = [answer.action for _, answer in known], [str(one.action) for one, _ in known]
    outcome = f2_confusion(told, true, ACTIONS, unparsed=unparsed)
    return _counted(known, told, true, classes=ACTIONS, unparsed=unparsed, outcome=outcome, only_true=False)


def measure_coverage(pairs: Sequence[Pair], _protocol: Protocol, _unparsed: Unparsed) -> Measured:
    """Share of true IoUs inside the judge's own 90 % interval, ends included; best is .90."""
    held = [
        (one.clip, answer.low, answer.high, one.iou)
        for one, answer in pairs
        if one.iou is not None and answer.low is not None and answer.high is not None and answer.low <= answer.high
    ]
    outcome = coverage([low for _, low, _, _ in held], [high for _, _, high, _ in held], [true for *_, true in held])
    inside = np.array([low <= true <= high for _, low, high, true in held], np.float64)
    return Measured(
        outcome=Undefined("the judge gives no interval") if not held and pairs else outcome,
        rows=np.stack([inside, np.ones_like(inside)], axis=1),
        clusters=tuple(clip for clip, *_ in held),
        from_sums=mean_of_sums,
        n=len(held),
        unparsed=len(pairs) - len(held),
    )


def _track_means(pairs: Sequence[Pair], unparsed: Unparsed) -> list[tuple[str, float, float]]:
    """Clip, mean estimate and mean truth of each track, over the frames that have both."""
    tracks: dict[str, list[Pair]] = {}
    for one, answer in pairs:
        tracks.setdefault(one.track, []).append((one, answer))
    frames: list[tuple[tuple[str, str], float, float]] = []
    for track, group in tracks.items():
        told = [(answer.iou, one.iou or 0.0) for one, answer in group if answer.iou is not None]
        if not told and unparsed == "wrong":
            told = [(0.0, one.iou or 0.0) for one, _ in group]
        frames += [((track, group[0][0].clip), *pair) for pair in told]
    of_track = [frame[0] for frame in frames]
    names, estimates = group_means([frame[1] for frame in frames], of_track)
    _, truths = group_means([frame[2] for frame in frames], of_track)
    return [(name[1], float(told), float(true)) for name, told, true in zip(names, estimates, truths, strict=True)]


def _by_track(
    pairs: Sequence[Pair],
    told: Sequence[str | None],
    true: Sequence[str],
    *,
    classes: Sequence[str],
    unparsed: Unparsed,
) -> Measured:
    outcome = f2_video(told, true, classes, videos=[one.track for one, _ in pairs], unparsed=unparsed)
    clips = {one.track: one.clip for one, _ in pairs}
    parts = outcome.parts if isinstance(outcome, F2Macro) else {}
    values = [(clips[str(track)], part.value) for track, part in parts.items() if isinstance(part, Scored)]
    rows = np.array([[value, 1.0] for _, value in values]).reshape(-1, 2)
    return Measured(
        outcome=outcome,
        rows=rows,
        clusters=tuple(clip for clip, _ in values),
        from_sums=mean_of_sums,
        n=len(values),
        unparsed=sum(label is None for label in told),
    )


def _counted(
    pairs: Sequence[Pair],
    told: Sequence[str | None],
    true: Sequence[str],
    *,
    classes: Sequence[str],
    unparsed: Unparsed,
    outcome: Scored[float] | Undefined,
    only_true: bool,
) -> Measured:
    """A macro F2 of counts: each row marks one cell of the confusion matrix, whose last column is no answer."""
    wide = len(classes) + 1
    kept = [at for at, label in enumerate(told) if label is not None or unparsed == "wrong"]
    place: dict[str | None, int] = {None: wide - 1, **{label: number for number, label in enumerate(classes)}}
    rows = np.zeros((len(kept), len(classes) * wide))
    for row, at in zip(rows, kept, strict=True):
        row[place[true[at]] * wide + place[told[at]]] = 1
    return Measured(
        outcome=outcome,
        rows=rows,
        clusters=tuple(pairs[at][0].clip for at in kept),
        from_sums=_MacroF2(len(classes), only_true),
        n=len(kept),
        unparsed=sum(label is None for label in told),
    )


@dataclass(frozen=True, slots=True)
class _MacroF2:
    """Macro F2 of confusion matrices, over the classes that are true there (or also those that are only told)."""

    classes: int
    only_true: bool

    def __call__(self, sums: Floats) -> Floats:
        matrix = sums.reshape(-1, self.classes, self.classes + 1)
        occurs, called = matrix.sum(axis=2), matrix[:, :, :-1].sum(axis=1)
        hits = np.einsum("rcc->rc", matrix[:, :, :-1])
        counts = occurs > 0 if self.only_true else occurs + called > 0
        below = np.where(counts, 4 * occurs + called, 1)
        total = (5 * np.where(counts, hits, 0) / below).sum(axis=1)
        return _divided(total, counts.sum(axis=1).astype(np.float64))


def _root_mean(sums: Floats) -> Floats:
    roots: Floats = np.sqrt(_divided(sums[:, 0], sums[:, 1]))
    return roots


def mean_of_sums(sums: Floats) -> Floats:
    """A mean from sums of values and of ones, (draws, 2) to (draws,)."""
    return _divided(sums[:, 0], sums[:, 1])


def _divided(above: Floats, below: Floats) -> Floats:
    """The quotient, NaN where nothing was drawn."""
    return np.where(below > 0, above / np.where(below > 0, below, 1), np.nan)
