"""Overlap of masks: IoU of one, mean IoU and overall IoU of many; class by class of class maps.

Conventions: masks are bool, (H, W) or (T, H, W); scores are 0..1, higher is better. A clip (T, H, W) given to
``iou`` is one volume, not a mean over frames; for that see ``auscult.score.masks.j_and_f``.

Metrics:

- ``iou``: intersection over union of two masks.
- ``miou``: the mean of the IoU of each pair; small and large objects count alike.
- ``oiou``: all intersections over all unions, so that large objects count more. Also called cumulative IoU.

When both masks are empty the quotient is 0 / 0. The rule is the argument ``empty``: 1 (the default: they
agree), 0, or None for Undefined. It is part of the signature.

References: MQA-RefAVS Sec. 2 (IoU of a candidate); refer-segmentation's usage for mIoU and oIoU.

Class-wise mIoU and F of class maps: audio-visual semantic segmentation, as AVSBench's release computes them.

Conventions: class maps are whole numbers (T, H, W), 0 the background and a class like any other; scores are 0..1,
higher is better.

In each frame a class that occurs in truth or prediction has an IoU and a region F with beta squared .3 (of a class
that either of them lacks both are 0). Of each class the mean over the frames in which it occurs is taken, then the mean
over classes. So a class that is rare counts as much as a common one, and one that is predicted where it never is costs
a whole 0.

Variants:

- ``plain``: the mean over the classes that occur, in truth or prediction.
- ``avss``: the mean over all classes, a class that never occurs counting 0, as the release's last line has it. On its
  whole test part all classes occur and both are one; on a part of it this one says how many classes there are.

The release also resizes both maps to 224 x 224 and scores frames that it adds to clips of five seconds, black pictures
without an object; here maps are compared as given, and frames that are not there are not scored. Its numbers without
background leave class 70 out in place of 0, and are not offered.

Source: Zhou et al. 2023 (Audio-Visual Segmentation with Semantics), release OpenNLPLab/AVSBench,
``avss/utils/compute_color_metrics.py`` and ``avss/test.py``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence, Sized
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from auscult.arrays.overlap import counts
from auscult.errors import InputError
from auscult.outcome import Scored, Signature, Undefined
from auscult.score.stats.inputs import same_length
from auscult.types import Mask, Metadata, ScoreSpec

BETA2 = 0.3


def check_pair(prediction: NDArray[Any], truth: NDArray[Any], *, ndim: tuple[int, ...]) -> None:
    """Refuse two arrays that cannot be compared."""
    for name, array in (("prediction", prediction), ("truth", truth)):
        _check_array(name, array, ndim)
    if prediction.shape != truth.shape:
        raise InputError(
            f"prediction has shape {prediction.shape} and truth has shape {truth.shape}",
            expected="two masks of one shape",
            hint="resize the prediction to the truth's size before scoring, and say how in your record"
            if prediction.ndim == truth.ndim
            else "pass both as one frame (H, W) or both as a clip (T, H, W)",
        )


def check_bool(prediction: NDArray[Any], truth: NDArray[Any]) -> None:
    """Refuse arrays that are not bool."""
    for name, array in (("prediction", prediction), ("truth", truth)):
        if array.dtype != np.bool_:
            raise InputError(
                f"{name} has dtype {array.dtype}",
                expected="bool",
                hint=f"pass `{name} > 0`" if array.dtype.kind in "iu" else f"threshold it first: `{name} > 0.5`",
            )


def _check_array(name: str, array: NDArray[Any], ndim: tuple[int, ...]) -> None:
    shapes = " or ".join({2: "(H, W)", 3: "(T, H, W)"}[axes] for axes in ndim)
    if not isinstance(array, np.ndarray):
        raise InputError(f"{name} is {type(array).__name__}", expected=f"a numpy array {shapes}", hint="use np.asarray")
    if array.ndim not in ndim:
        raise InputError(
            f"{name} has shape {array.shape}", expected=shapes, hint="a mask has no colour axis; take one channel"
        )
    if 0 in array.shape[-2:]:
        raise InputError(f"{name} has shape {array.shape}, so no pixels", expected=shapes)


@dataclass(frozen=True, slots=True, kw_only=True)
class MaskMean(Scored[float]):
    """A score of many masks.

    Attributes:
        n: Pairs that entered.
        undefined: Pairs that did not, because both masks are empty and ``empty`` is None.
    """

    n: int
    undefined: int


def iou(prediction: Mask, truth: Mask, *, empty: float | None = 1.0) -> Scored[float] | Undefined:
    """Intersection over union of a predicted mask with the true one.

    Args:
        prediction: bool (H, W) or (T, H, W).
        truth: bool, the same shape.
        empty: The value when both masks are empty; None makes that Undefined.

    Returns:
        0..1, higher is better. Undefined when both are empty and ``empty`` is None.

    Raises:
        InputError: The shapes differ, or a mask is not bool.

    Example:
        >>> import numpy as np
        >>> iou(np.array([[True, True]]), np.array([[True, False]])).value
        0.5
    """
    both, either = _counts(prediction, truth)
    value = _quotient(both, either, empty)
    if value is None:
        return Undefined("both masks are empty")
    return Scored(value, Signature.of(metric="iou", empty=_rule(empty)))


def miou(predictions: Iterable[Mask], truths: Iterable[Mask], *, empty: float | None = 1.0) -> MaskMean | Undefined:
    """Mean of the IoU of each pair of masks.

    Args:
        predictions: Masks, bool (H, W) or (T, H, W); pairs may differ in size from one another.
        truths: As many masks, each of its partner's shape.
        empty: The value of a pair of empty masks; None leaves the pair out and counts it as undefined.

    Returns:
        0..1, higher is better. Undefined when no pair enters.

    Raises:
        InputError: Unequal numbers of masks, or a pair that cannot be compared.
    """
    values = [_quotient(both, either, empty) for both, either in _all_counts(predictions, truths)]
    defined = [value for value in values if value is not None]
    if not defined:
        return Undefined("no items" if not values else "both masks of every pair are empty")
    return MaskMean(
        value=math.fsum(defined) / len(defined),
        signature=Signature.of(metric="miou", over="pairs", empty=_rule(empty)),
        n=len(defined),
        undefined=len(values) - len(defined),
    )


def oiou(predictions: Iterable[Mask], truths: Iterable[Mask], *, empty: float | None = 1.0) -> MaskMean | Undefined:
    """Overall IoU: the sum of all intersections over the sum of all unions; arguments and errors as in ``miou``.

    ``empty`` is the value when all masks are empty; None makes that Undefined. A single pair of empty masks adds
    nothing. 0..1, higher is better. Undefined when there is no pair.
    """
    pairs = list(_all_counts(predictions, truths))
    if not pairs:
        return Undefined("no items")
    value = _quotient(sum(both for both, _ in pairs), sum(either for _, either in pairs), empty)
    if value is None:
        return Undefined("both masks of every pair are empty")
    return MaskMean(
        value=value,
        signature=Signature.of(metric="oiou", over="pixels of all pairs", empty=_rule(empty)),
        n=len(pairs),
        undefined=0,
    )


def _counts(prediction: Mask, truth: Mask) -> tuple[int, int]:
    check_pair(prediction, truth, ndim=(2, 3))
    check_bool(prediction, truth)
    return counts(prediction, truth)


def _all_counts(predictions: Iterable[Mask], truths: Iterable[Mask]) -> Iterable[tuple[int, int]]:
    missing = object()
    for number, (prediction, truth) in enumerate(zip_longest(predictions, truths, fillvalue=missing)):
        if prediction is missing or truth is missing:
            raise InputError(
                f"there are {_amount(predictions)} predictions and {_amount(truths)} truths",
                expected="one truth for each prediction, in the same order",
                hint=f"the first without a partner is number {number}",
            )
        try:
            yield _counts(prediction, truth)  # type: ignore[arg-type]
        except InputError as error:
            raise InputError(f"pair {number}: {error.message}", expected=error.expected, hint=error.hint) from error


def _amount(masks: Iterable[Mask]) -> str:
    return str(len(masks)) if isinstance(masks, Sized) else "unequally many"


def _quotient(both: int, either: int, empty: float | None) -> float | None:
    return both / either if either else empty


def _rule(empty: float | None) -> str:
    return "undefined" if empty is None else f"{empty:g}"


IOU = ScoreSpec(
    meta=Metadata(
        summary="intersection over union of a mask with the true one",
        goal="how much of the target was segmented, and how much else",
        modality="mask",
        source="MQA-RefAVS Sec. 2",
        truth="the true mask",
        higher_is_better=True,
    ),
    function=iou,
    options={"empty": 1.0},
)

MIOU = ScoreSpec.of(
    miou,
    takes="mask lists",
    summary="mean IoU of pairs of masks",
    goal="segmentation of many objects, small and large alike",
    source="RefCOCO literature: mIoU",
)
OIOU = ScoreSpec.of(
    oiou,
    takes="mask lists",
    summary="all intersections over all unions of pairs of masks",
    goal="segmentation of many objects, by their size",
    source="RefCOCO literature: oIoU, cumulative IoU",
)


ClassSums: TypeAlias = Mapping[int, tuple[float, float, int]]
"""Class to the sums of its IoU and of its F over frames, and in how many frames it occurs."""
ClassMetric: TypeAlias = Literal["mIoU", "F"]
CLASS_METRICS: Final[tuple[ClassMetric, ...]] = ("mIoU", "F")
ClassVariant: TypeAlias = Literal["plain", "avss"]

CLASSES: Final = 71
_MOST: Final = 256


def class_sums(prediction: NDArray[Any], truth: NDArray[Any], *, classes: int = CLASSES) -> ClassSums:
    """What each class that occurs adds up to over the frames of a clip, (T, H, W).

    Raises:
        InputError: Shapes differ, or a map holds something else than whole numbers from 0 to ``classes`` - 1.
    """
    check_pair(prediction, truth, ndim=(3,))
    if not 1 < classes <= _MOST:
        raise InputError(f"{classes} classes", expected=f"2 to {_MOST}, the background among them")
    for name, array in (("prediction", prediction), ("truth", truth)):
        if array.dtype.kind not in "iu" or (array.size and not 0 <= int(array.min()) <= int(array.max()) < classes):
            raise InputError(
                f"{name} holds {array.dtype} from {array.min()} to {array.max()}",
                expected=f"whole numbers from 0, the background, to {classes - 1}",
            )
    total = np.zeros((3, classes))
    for labels, true in zip(prediction, truth, strict=True):
        pairs = np.bincount((true.astype(np.int64) * classes + labels).ravel(), minlength=classes**2)
        table = pairs.reshape(classes, classes)
        both, predicted, present = np.diag(table), table.sum(axis=0), table.sum(axis=1)
        either = predicted + present - both
        occurs = either > 0
        precision, recall = both / np.maximum(predicted, 1), both / np.maximum(present, 1)
        weighed = BETA2 * precision + recall
        f = np.where(weighed > 0, (1 + BETA2) * precision * recall / np.where(weighed > 0, weighed, 1), 0.0)
        total += np.stack([both / np.maximum(either, 1), f, occurs])
    numbers = np.flatnonzero(total[2]).tolist()
    return {number: (float(total[0, number]), float(total[1, number]), int(total[2, number])) for number in numbers}


def class_wise(
    clips: Iterable[ClassSums], *, classes: int = CLASSES, variant: ClassVariant = "plain"
) -> Mapping[ClassMetric, Scored[float] | Undefined]:
    """Class-wise ``mIoU`` and ``F`` of the ``class_sums`` of many clips; undefined where there is no frame.

    Example:
        >>> truth = np.zeros((1, 4, 4), np.uint8)
        >>> truth[0, :2] = 17
        >>> scores = class_wise([class_sums(truth, truth)])
        >>> scores["mIoU"].value, scores["F"].value
        (1.0, 1.0)
    """
    if variant not in ("plain", "avss"):
        raise InputError(f"there is no variant {variant!r}", expected="plain or avss")
    total: dict[int, list[float]] = {}
    for clip in clips:
        for number, sums in clip.items():
            total[number] = [old + new for old, new in zip(total.get(number, (0, 0, 0)), sums, strict=True)]
    if not total:
        return dict.fromkeys(CLASS_METRICS, Undefined("no frames"))
    return {
        metric: _mean([sums[column] / sums[2] for sums in total.values()], metric, classes=classes, variant=variant)
        for column, metric in enumerate(CLASS_METRICS)
    }


def class_scores(
    predictions: Sequence[NDArray[Any]],
    truths: Sequence[NDArray[Any]],
    *,
    classes: int = CLASSES,
    variant: ClassVariant = "plain",
) -> Mapping[ClassMetric, Scored[float] | Undefined]:
    """``class_wise`` of many clips at once; an InputError where there are not as many truths as predictions."""
    same_length(predictions=predictions, truths=truths)
    pairs = zip(predictions, truths, strict=True)
    sums = [class_sums(prediction, truth, classes=classes) for prediction, truth in pairs]
    return class_wise(sums, classes=classes, variant=variant)


def _mean(values: Sequence[float], metric: ClassMetric, *, classes: int, variant: ClassVariant) -> Scored[float]:
    over = len(values) if variant == "plain" else classes
    return Scored(
        math.fsum(values) / over,
        Signature.of(
            metric=f"class_wise_{metric.lower()}",
            variant=variant,
            classes=classes,
            over="classes that occur" if variant == "plain" else "all classes",
            background="a class",
            frames="all",
            **({"beta2": f"{BETA2:g}"} if metric == "F" else {}),
            resize="none",
        ),
    )


CLASS_WISE = ScoreSpec.of(
    class_scores,
    takes="class maps",
    summary="mIoU and region F class by class",
    goal="classes confused, and rare ones never found",
    source="AVSBench-semantic (Zhou et al. 2023) and its release",
    truth="the class of every pixel",
)
