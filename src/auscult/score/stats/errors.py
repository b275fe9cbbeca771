"""How far what a judge says is from the truth: F2 of its labels, and errors of its numbers.

F2 of labels asks whether the defect and the action are named right.

Conventions: one label per item, out of ``classes``; scores are 0..1, higher is better. A prediction of None
is a reply that holds no answer; ``unparsed`` says whether it counts as ``wrong`` (a miss) or is left out
(``skip``), and how many there were is in the result. Items that the paper has no class for (``empty``) and
items that failed are left out by the caller.

Metrics:

- ``f_beta``: from counts (Eq. 9). Beta 2 weighs recall four times.
- ``f2_tables``: as the paper's tables were computed. Each column holds the items of one true type, and only
  labels that are true somewhere in that column count; F2 is macro-averaged over them. For the type itself
  that leaves one label, no false positive is possible, and F2 = 5 R / (4 + R) with R the share right: recall
  on another scale. The average is over the columns.
- ``f2_confusion``: from the confusion matrix of the whole set, macro over the classes (Eq. 11). Here a judge
  that calls everything ``perfect`` pays for it.
- ``f2_video``: counts within each video, macro over the labels that are true in it, then the mean of the
  videos (Eq. 13).

Always print both ``f2_tables`` and ``f2_confusion``: the first compares with the paper, the second says how
good the labels are.

References: MQA-RefAVS Sec. 5.1 and App. C, Eqs. 9, 11, 13; its evaluation release for the columns.

Errors of estimated numbers: how far estimated IoUs are from the true ones.

Conventions: one number per item; RMSE has the unit of its input, 0 or more, **lower is better**. Items that
failed or are undefined are left out by the caller and counted there.

Metrics:

- ``rmse``: over all items (Eqs. 8 and 10).
- ``rmse_video``: the frames of a video are averaged first, in prediction and truth, then RMSE over the videos
  (Eq. 12). Errors within a video cancel, so it is never above the item-wise one when all videos have as many
  frames.

References: MQA-RefAVS App. C, Eqs. 8, 10, 12.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from auscult.arrays.averages import group_means
from auscult.errors import InputError
from auscult.outcome import Scored, Signature, Undefined
from auscult.score.stats.inputs import numbers, same_length, whole
from auscult.types import ScoreSpec


def rmse(predictions: ArrayLike, truths: ArrayLike) -> Scored[float] | Undefined:
    """Root mean square error of estimates.

    Args:
        predictions: Estimates, (n,), such as predicted IoUs in 0..1.
        truths: True values, (n,).

    Returns:
        0 or more, lower is better. Undefined when there is no item.

    Raises:
        InputError: Unequal lengths, or a number that is not finite.

    Example:
        >>> round(rmse([0.9, 0.5], [0.9, 0.9]).value, 6)
        0.282843

    Source: MQA-RefAVS Eqs. 8 and 10.
    """
    predicted, true = numbers(predictions=predictions, truths=truths)
    if predicted.size == 0:
        return Undefined("no items")
    return Scored(_rmse(predicted, true), Signature.of(metric="rmse", over="items"))


def rmse_video(predictions: ArrayLike, truths: ArrayLike, *, videos: Sequence[Hashable]) -> Scored[float] | Undefined:
    """Root mean square error of the videos' mean estimates; as ``rmse``, from frames, (n,), and the video of each.

    Source: MQA-RefAVS Eq. 12.
    """
    predicted, true = numbers(predictions=predictions, truths=truths)
    same_length(predictions=predicted, videos=videos)
    if predicted.size == 0:
        return Undefined("no items")
    means = [group_means(values, videos)[1] for values in (predicted, true)]
    return Scored(_rmse(means[0], means[1]), Signature.of(metric="rmse", over="videos"))


def _rmse(predicted: NDArray[np.float64], true: NDArray[np.float64]) -> float:
    return math.sqrt(math.fsum((predicted - true) ** 2) / predicted.size)


RMSE = ScoreSpec.of(
    rmse,
    takes="numbers",
    higher_is_better=False,
    summary="root mean square error of estimates",
    goal="estimates of IoU that are far off",
    source="MQA-RefAVS Eqs. 8 and 10",
    modality="number",
    truth="the true values",
)
RMSE_VIDEO = ScoreSpec.of(
    rmse_video,
    takes="numbers",
    higher_is_better=False,
    summary="root mean square error of mean estimates of videos",
    goal="estimates of IoU that are far off for a whole video",
    source="MQA-RefAVS Eq. 12",
    modality="number",
    truth="the true values",
)


Unparsed: TypeAlias = Literal["wrong", "skip"]
_Pair: TypeAlias = tuple[str | None, str]
_Tally: TypeAlias = "Counter[_Pair]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Confusion:
    """How often each true label was called what.

    Attributes:
        classes: The labels, in the order of rows and columns.
        counts: ``counts[i][j]`` items of true class i were called class j.
        unparsed: Items of each true class whose reply held no answer.
    """

    classes: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]
    unparsed: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class F2Macro(Scored[float]):
    """A macro-averaged F2 (``value``).

    Attributes:
        parts: F2 of each class, or of each video.
        n: Items that entered.
        unparsed: Replies without an answer among the items given.
    """

    parts: Mapping[Hashable, Scored[float] | Undefined]
    n: int
    unparsed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class F2Tables(Scored[float]):
    """The paper's table row: each column's F2 and their plain mean (``value``).

    Attributes:
        columns: F2 of each column; Undefined where it holds no item, and then not in the mean.
        n: Items of each column.
        unparsed: Replies without an answer among the items given.
    """

    columns: Mapping[str, Scored[float] | Undefined]
    n: Mapping[str, int]
    unparsed: int


def f_beta(
    true_positive: int, false_positive: int, false_negative: int, *, beta: float = 2.0
) -> Scored[float] | Undefined:
    """F score of one class from counts.

    Args:
        true_positive: Items of the class that were called so.
        false_positive: Other items that were called so.
        false_negative: Items of the class that were called something else.
        beta: Weight of recall over precision, above 0.

    Returns:
        0..1, higher is better; 0 when nothing is right. Undefined when the class neither occurs nor is predicted.

    Raises:
        InputError: A negative count, or ``beta`` not above 0.

    Example:
        >>> round(100 * f_beta(241, 0, 437 - 241).value, 2)
        60.58

    Source: MQA-RefAVS Eq. 9.
    """
    true_positive, false_positive, false_negative = whole(
        true_positive=true_positive, false_positive=false_positive, false_negative=false_negative
    )
    if min(true_positive, false_positive, false_negative) < 0:
        raise InputError(
            f"counts are {true_positive}, {false_positive} and {false_negative}", expected="0 or more, each"
        )
    if not (math.isfinite(beta) and beta > 0):
        raise InputError(f"beta is {beta!r}", expected="a number above 0; MQA-RefAVS uses 2")
    if true_positive + false_positive + false_negative == 0:
        return Undefined("the class neither occurs nor is predicted")
    weight = beta * beta
    hit = (1 + weight) * true_positive
    return Scored(
        hit / (hit + weight * false_negative + false_positive), Signature.of(metric="f_beta", beta=f"{beta:g}")
    )


def confusion(
    predicted: Sequence[str | None], true: Sequence[str], classes: Sequence[str]
) -> Scored[Confusion] | Undefined:
    """Count how often each true label was called what: rows are true, columns predicted labels, as ordered in classes.

    Labels and errors as in ``f2_tables``. Undefined when there is no item.
    """
    pairs = _pairs(predicted, true, classes)
    if not pairs:
        return Undefined("no items")
    index = {label: number for number, label in enumerate(classes)}
    counts = [[0] * len(classes) for _ in classes]
    unparsed = [0] * len(classes)
    for guess, label in pairs:
        if guess is None:
            unparsed[index[label]] += 1
        else:
            counts[index[label]][index[guess]] += 1
    value = Confusion(classes=tuple(classes), counts=tuple(map(tuple, counts)), unparsed=tuple(unparsed))
    return Scored(value, Signature.of(metric="confusion", rows="true", columns="predicted"))


def f2_tables(
    predicted: Sequence[str | None],
    true: Sequence[str],
    classes: Sequence[str],
    *,
    columns: Sequence[str] | None = None,
    unparsed: Unparsed = "wrong",
) -> F2Tables | Undefined:
    """F2 as in the MQA paper's tables: one true type at a time.

    Args:
        predicted: Predicted labels (defects for F2-M, actions for F2-A), (n,); None where the reply held no answer.
        true: True labels, (n,).
        classes: All labels.
        columns: The column each item belongs to, (n,): its true defect when the labels are actions. Default: the true
            label itself, so that each column is 5 R / (4 + R).
        unparsed: ``wrong``: an item without an answer is a miss; ``skip``: it is left out.

    Returns:
        F2 per column and their mean, 0..1, higher is better. Undefined when no item enters.

    Raises:
        InputError: Unequal lengths, or a label that is not one of ``classes``.

    Example:
        >>> row = f2_tables(["erode", "perfect"], ["erode", "erode"], ["perfect", "erode"])
        >>> round(row.columns["erode"].value, 4), row.columns["perfect"]
        (0.5556, Undefined(reason='no items', detail={}))

    Source: MQA-RefAVS Tables 2 and 3 and the evaluation release behind them.
    """
    pairs = _pairs(predicted, true, classes)
    names = list(true) if columns is None else list(columns)
    same_length(predictions=pairs, columns=names)
    order = list(classes) if columns is None else sorted(set(names))
    members: dict[str, _Tally] = {name: Counter() for name in order}
    for (pair, name), amount in Counter(zip(pairs, names, strict=True)).items():
        if _enters(pair, unparsed):
            members[name][pair] += amount
    by_column = {name: _macro_of_occurring(group, classes) for name, group in members.items()}
    defined = [outcome.value for outcome in by_column.values() if isinstance(outcome, Scored)]
    if not defined:
        return Undefined("no items")
    return F2Tables(
        value=math.fsum(defined) / len(defined),
        signature=_signature("f2_tables", "labels true in the column", unparsed),
        columns=by_column,
        n={name: group.total() for name, group in members.items()},
        unparsed=_count_unparsed(Counter(pairs)),
    )


def f2_confusion(
    predicted: Sequence[str | None],
    true: Sequence[str],
    classes: Sequence[str],
    *,
    unparsed: Unparsed = "wrong",
) -> F2Macro | Undefined:
    """F2 from the confusion matrix of the whole set, macro over the classes; arguments and errors as in ``f2_tables``.

    A class that neither occurs nor is predicted is left out of the mean. 0..1, higher is better. Undefined when no item
    enters.

    Source: MQA-RefAVS Eq. 11.
    """
    pairs = _pairs(predicted, true, classes)
    tally = Counter(pairs)
    counted = Counter({pair: amount for pair, amount in tally.items() if _enters(pair, unparsed)})
    parts: dict[Hashable, Scored[float] | Undefined] = {label: _of_class(counted, label) for label in classes}
    value = _mean_defined(parts.values())
    if value is None:
        return Undefined("no items")
    return F2Macro(
        value=value,
        signature=_signature("f2_confusion", "classes that occur or are predicted", unparsed),
        parts=parts,
        n=counted.total(),
        unparsed=_count_unparsed(tally),
    )


def f2_video(
    predicted: Sequence[str | None],
    true: Sequence[str],
    classes: Sequence[str],
    *,
    videos: Sequence[Hashable],
    unparsed: Unparsed = "wrong",
) -> F2Macro | Undefined:
    """F2 within each video, macro over the labels true in it, then the mean of the videos; as ``f2_tables``.

    ``videos`` are those that the items belong to, (n,). 0..1, higher is better. Undefined when no item enters.

    Source: MQA-RefAVS Eq. 13; labels that are true in the video, as in its release.
    """
    pairs = _pairs(predicted, true, classes)
    same_length(predictions=pairs, videos=videos)
    members: dict[Hashable, _Tally] = {}
    for pair, video in zip(pairs, videos, strict=True):
        group = members.setdefault(video, Counter())
        if _enters(pair, unparsed):
            group[pair] += 1
    parts = {video: _macro_of_occurring(group, classes) for video, group in members.items()}
    value = _mean_defined(parts.values())
    if value is None:
        return Undefined("no items")
    return F2Macro(
        value=value,
        signature=_signature("f2_video", "labels true in the video", unparsed),
        parts=parts,
        n=sum(group.total() for group in members.values()),
        unparsed=_count_unparsed(Counter(pairs)),
    )


def _pairs(predicted: Sequence[str | None], true: Sequence[str], classes: Sequence[str]) -> list[_Pair]:
    same_length(predictions=predicted, truths=true)
    known: set[str | None] = set(classes)
    _check_labels("predicted", predicted, known | {None})
    _check_labels("true", true, known)
    return list(zip(predicted, true, strict=True))


def _check_labels(name: str, labels: Sequence[str | None], known: set[str | None]) -> None:
    if set(labels) <= known:
        return
    number, label = next((number, label) for number, label in enumerate(labels) if label not in known)
    raise InputError(
        f"{name} label {number} is {label!r}",
        expected=f"one of: {', '.join(sorted(str(choice) for choice in known if choice is not None))}",
        hint="leave out items that have no class, such as empty masks, and count them",
    )


def _enters(pair: _Pair, unparsed: Unparsed) -> bool:
    return pair[0] is not None or unparsed == "wrong"


def _count_unparsed(tally: _Tally) -> int:
    return sum(amount for (guess, _), amount in tally.items() if guess is None)


def _of_class(tally: _Tally, label: str) -> Scored[float] | Undefined:
    called = sum(amount for (guess, _), amount in tally.items() if guess == label)
    occurs = sum(amount for (_, truth), amount in tally.items() if truth == label)
    hits = tally[label, label]
    return f_beta(hits, called - hits, occurs - hits)


def _macro_of_occurring(tally: _Tally, classes: Sequence[str]) -> Scored[float] | Undefined:
    occurring = {truth for _, truth in tally}
    value = _mean_defined(_of_class(tally, label) for label in classes if label in occurring)
    if value is None:
        return Undefined("no items")
    return Scored(value, Signature.of(metric="f_beta", beta=2, over="labels true here"))


def _mean_defined(outcomes: Iterable[Scored[float] | Undefined]) -> float | None:
    defined = [outcome.value for outcome in outcomes if isinstance(outcome, Scored)]
    return math.fsum(defined) / len(defined) if defined else None


def _signature(metric: str, over: str, unparsed: Unparsed) -> Signature:
    return Signature.of(metric=metric, beta=2, average="macro", over=over, unparsed=unparsed)


F2_TABLES = ScoreSpec.of(
    f2_tables,
    takes="labels",
    summary="F2 one true type at a time, 5 R / (4 + R)",
    goal="defects and actions that are missed",
    source="MQA-RefAVS Tables 2 and 3",
    modality="label",
    truth="the true labels",
)
F2_CONFUSION = ScoreSpec.of(
    f2_confusion,
    takes="labels",
    summary="F2 from the confusion matrix, macro over classes",
    goal="defects and actions that are missed or named wrongly",
    source="MQA-RefAVS Eq. 11",
    modality="label",
    truth="the true labels",
)
F2_VIDEO = ScoreSpec.of(
    f2_video,
    takes="labels",
    summary="F2 within each video, then the mean",
    goal="defects and actions that are missed in a video",
    source="MQA-RefAVS Eq. 13",
    modality="label",
    truth="the true labels",
)
