"""Class-wise mIoU and F of class maps: audio-visual semantic segmentation, as AVSBench's release computes them.

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
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from auscult.errors import InputError
from auscult.outcome import Scored, Signature, Undefined
from auscult.score.masks.overlap import check_pair
from auscult.score.masks.ref_avs import BETA2
from auscult.score.stats.inputs import same_length
from auscult.types import ScoreSpec

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
    for given, true in zip(prediction, truth, strict=True):
        pairs = np.bincount((true.astype(np.int64) * classes + given).ravel(), minlength=classes**2)
        table = pairs.reshape(classes, classes)
        both, predicted, there = np.diag(table), table.sum(axis=0), table.sum(axis=1)
        either = predicted + there - both
        occurs = either > 0
        precision, recall = both / np.maximum(predicted, 1), both / np.maximum(there, 1)
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
        >>> found = class_wise([class_sums(truth, truth)])
        >>> found["mIoU"].value, found["F"].value
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
        metric: _mean([sums[at] / sums[2] for sums in total.values()], metric, classes=classes, variant=variant)
        for at, metric in enumerate(CLASS_METRICS)
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
