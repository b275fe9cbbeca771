"""Overlap of masks: IoU of one, mean IoU and overall IoU of many.

Conventions: masks are bool, (H, W) or (T, H, W); scores are 0..1, higher is better. A clip (T, H, W) given to
``iou`` is one volume, not a mean over frames; for that see ``auscult.score.masks.j_and_f``.

Metrics:

- ``iou``: intersection over union of two masks.
- ``miou``: the mean of the IoU of each pair; small and large objects count alike.
- ``oiou``: all intersections over all unions, so that large objects count more. Also called cumulative IoU.

When both masks are empty the quotient is 0 / 0. The rule is the argument ``empty``: 1 (the default: they
agree), 0, or None for Undefined. It is part of the signature.

References: MQA-RefAVS Sec. 2 (IoU of a candidate); refer-segmentation's usage for mIoU and oIoU.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sized
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

import numpy as np
from numpy.typing import NDArray

from auscult.arrays.overlap import counts
from auscult.errors import InputError
from auscult.outcome import Scored, Signature, Undefined
from auscult.types import Mask, Metadata, ScoreSpec


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
    wanted = " or ".join({2: "(H, W)", 3: "(T, H, W)"}[axes] for axes in ndim)
    if not isinstance(array, np.ndarray):
        raise InputError(f"{name} is {type(array).__name__}", expected=f"a numpy array {wanted}", hint="use np.asarray")
    if array.ndim not in ndim:
        raise InputError(
            f"{name} has shape {array.shape}", expected=wanted, hint="a mask has no colour axis; take one channel"
        )
    if 0 in array.shape[-2:]:
        raise InputError(f"{name} has shape {array.shape}, so no pixels", expected=wanted)


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
