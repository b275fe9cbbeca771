"""AVL and AVLG: where in a picture a thing sounds, and where in each frame a described thing is.

True boxes are xyxy in pixels, half-open; ``from_xywh`` makes them of the release's. A model gives boxes in the
convention of its profile, a ``BoxConvention``; none is guessed from the numbers it gave.

Rules of the release that the paper does not have, for ``variant``: ``divisor``, a mean IoU is a sum over
``|G| + 1e-5``; ``free_unparsed``, a reply without an answer has no instance error; ``guessed_scale``, the largest
number of a reply says what its unit is; ``null_list``, a frame answered with "none" never counts (AVLG).

Source: AVI-Bench G.1.3 (Eqs. 21-28) and G.1.6 (Eqs. 44-51).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, Literal

import numpy as np

from auscult.arrays.boxes import FourNumbers, FrameBoxes, NamedBox, SoundingBoxes
from auscult.errors import InputError
from auscult.outcome import Failed, Signature, Undefined
from auscult.score.answers import AnswerScore, Columns, Unparsed, chosen, counting_score, plain_mean, rules_of, score_of
from auscult.types import ScoreSpec

_ALPHA: Final = 0.7  # the weight of mean IoU
_K: Final = 1.0
_TINY: Final = 1e-5
_LEAST_THOUSAND, _MOST_THOUSAND = 1.5, 1001.0


@dataclass(frozen=True, slots=True)
class BoxConvention:
    """How a model gives boxes; its profile says it."""

    order: Literal["xyxy", "yxyx", "xywh"] = "xyxy"  # ``xyxy``, ``yxyx`` (as Gemini is documented) or ``xywh``
    # ``share`` of width and height, ``thousandths`` of them, or ``pixels`` of the picture
    unit: Literal["share", "thousandths", "pixels"] = "share"

    def __str__(self) -> str:
        return f"{self.order} {self.unit}"

    def pixels(self, box: FourNumbers, width: float, height: float) -> FourNumbers:
        """The box as xyxy in pixels of a picture so large (Eq. 22); neither clipped nor put in order."""
        if self.order == "yxyx":
            box = box[1], box[0], box[3], box[2]
        elif self.order == "xywh":
            box = from_xywh(box)
        if self.unit == "pixels":
            return box
        scale = 1.0 if self.unit == "share" else 1000.0
        return box[0] / scale * width, box[1] / scale * height, box[2] / scale * width, box[3] / scale * height


PROMPTED: Final = BoxConvention()
"""What the benchmark's prompts ask for."""


def from_xywh(box: FourNumbers) -> FourNumbers:
    """Corner, width and height as two corners (Eqs. 21, 45)."""
    return box[0], box[1], box[0] + box[2], box[1] + box[3]


def iou_of_boxes(first: FourNumbers, second: FourNumbers) -> float:
    """Intersection over union of two xyxy boxes (Eqs. 24, 48), 0..1; a box without area overlaps nothing."""
    width = min(first[2], second[2]) - max(first[0], second[0])
    height = min(first[3], second[3]) - max(first[1], second[1])
    if min(width, height) <= 0 or not (both := width * height) > 0:
        return 0.0
    areas = ((box[2] - box[0]) * (box[3] - box[1]) for box in (first, second))
    return min(both / (sum(areas) - both), 1.0)


def avl(
    predictions: Sequence[Sequence[NamedBox] | Undefined | Failed],
    truths: Sequence[SoundingBoxes],
    *,
    unparsed: Unparsed = "wrong",
    variant: str = "paper",
    convention: BoxConvention = PROMPTED,
) -> AnswerScore | Undefined:
    """0.7 of the mean IoU of true boxes, 0.3 of ``1 - tanh(RMSE)`` of the number that was missed (Eqs. 21-28).

    A true box takes, in the order of the truth, the box of its class with the largest IoU that none has taken; an IoU
    of 0 is no match.

    Args:
        predictions: Class and box of each instance a sample, or why there are none.
        truths: What sounds, one instance at least.
        unparsed: Whether a reply without an answer holds no box (``wrong``) or is left out (``skip``).
        variant: ``paper``, ``AVI-Bench``, or some of ``divisor``, ``free_unparsed``, ``guessed_scale`` joined by ``+``.
        convention: How the model gives boxes.

    Returns:
        0..1, higher is better, with parts ``miou``, ``instances`` and ``rmse``; Undefined when no sample enters.

    Raises:
        InputError: Unequal numbers, a truth without a box, an unknown variant.
    """
    rules = rules_of(variant, "boxes")
    return score_of(
        chosen(predictions, truths, unparsed=unparsed),
        row=partial(_avl_row, convention=convention, rules=rules),
        combine=_combined,
        signature=Signature.of(
            metric="avl", variant=variant, alpha=_ALPHA, k=_K, boxes=convention, unparsed=unparsed
        ),
    )  # fmt: skip


def avlg(
    predictions: Sequence[Sequence[FourNumbers | None] | Undefined | Failed],
    truths: Sequence[FrameBoxes],
    *,
    unparsed: Unparsed = "wrong",
    variant: str = "paper",
    convention: BoxConvention = PROMPTED,
) -> AnswerScore | Undefined:
    """Mean over videos of the mean IoU over their frames (Eqs. 44-51); missing on missing is 1.

    A frame that the answer lacks has no box; frames beyond those of the truth are not looked at.

    Args:
        predictions: A box or None for each frame of a sample, or why there is no answer.
        truths: The true boxes, one frame at least.
        unparsed: Whether a reply without an answer has 0 in every frame (``wrong``) or is left out (``skip``).
        variant: ``paper``, or ``null_list`` (all that ``AVI-Bench`` has).
        convention: How the model gives boxes.

    Returns:
        0..1, higher is better; Undefined when no sample enters.

    Raises:
        InputError: Unequal numbers, a truth without a frame, an unknown variant.
    """
    rules = rules_of(variant, "video iou")
    return score_of(
        chosen(predictions, truths, unparsed=unparsed),
        row=partial(_avlg_row, convention=convention, none_counts="null_list" not in rules),
        combine=plain_mean,
        signature=Signature.of(metric="avlg", variant=variant, empty="1", boxes=convention, unparsed=unparsed),
    )


def _avl_row(
    prediction: Sequence[NamedBox] | None, true: SoundingBoxes, *, convention: BoxConvention, rules: frozenset[str]
) -> tuple[float, float]:
    """Mean IoU of a sample (Eq. 25) and the square of its instance error (Eqs. 26, 27)."""
    if not true.boxes:
        raise InputError("a truth has no box", expected="one sounding instance at least")
    convention = _guessed(prediction or (), convention) if "guessed_scale" in rules else convention
    free = [(name, convention.pixels(box, true.width, true.height)) for name, box in prediction or ()]
    overlaps = []
    for name, box in true.boxes:
        ious = [(iou_of_boxes(box, other), -index) for index, (key, other) in enumerate(free) if key == name]
        best, position = max(ious, default=(0.0, 0))
        if best > 0:
            overlaps.append(best)
            del free[-position]
    missed = 0 if prediction is None and "free_unparsed" in rules else len(true.boxes) - len(overlaps)
    return math.fsum(overlaps) / (len(true.boxes) + (_TINY if "divisor" in rules else 0.0)), float(missed**2)


def _guessed(prediction: Sequence[NamedBox], convention: BoxConvention) -> BoxConvention:
    """The unit that the release takes a reply's largest number for."""
    largest = max((abs(value) for _, box in prediction for value in box), default=0.0)
    if largest <= _LEAST_THOUSAND:
        return BoxConvention(convention.order, "share")
    return BoxConvention(convention.order, "thousandths" if largest <= _MOST_THOUSAND else "pixels")


def _avlg_row(
    prediction: Sequence[FourNumbers | None] | None, true: FrameBoxes, *, convention: BoxConvention, none_counts: bool
) -> tuple[float]:
    if not true.boxes:
        raise InputError("a truth has no frame", expected="one frame at least, with a box or None")
    if prediction is None:
        return (0.0,)
    boxes = [*prediction, *([None] * len(true.boxes))]
    overlaps = []
    for box, real in zip(boxes, true.boxes, strict=False):
        if box is None or real is None:
            overlaps.append(float(none_counts and box is real))
        else:
            overlaps.append(iou_of_boxes(convention.pixels(box, true.width, true.height), real))
    return (math.fsum(overlaps) / len(overlaps),)


def _combined(means: Columns) -> dict[str, Columns]:
    miou, rmse = means[..., 0], np.sqrt(means[..., 1])
    instances = counting_score(rmse, _K)
    return {"score": _ALPHA * miou + (1 - _ALPHA) * instances, "miou": miou, "instances": instances, "rmse": rmse}


AVL = ScoreSpec.of(
    avl,
    takes="sounding boxes",
    summary="mean IoU of the boxes of what sounds, and how many of them were found",
    goal="finding in a picture what is heard",
    modality="text",
    source="AVI-Bench Eqs. 21-28; k of its release",
    truth="class and box of each sounding instance",
)
AVLG = ScoreSpec.of(
    avlg,
    takes="frame boxes",
    summary="mean IoU of the boxes of a described thing over the frames of a video",
    goal="following what is described by sight and sound",
    modality="text",
    source="AVI-Bench Eqs. 44-51",
    truth="a box or none for each frame",
)
