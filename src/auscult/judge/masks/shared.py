"""What all judges of masks have in common: input checks, what they can see, and words for positions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from auscult.arrays.boxes import area, box_of, grown, window
from auscult.errors import InputError
from auscult.types import Box, Case, Doubles, Evidence, Mask, Prediction, Verdict

Sight: TypeAlias = Literal["clear", "small", "tiny", "full", "flat"]
"""How much of a mask can be judged by its picture: ``clear``; ``small``, below the measured size; or, with no outline
to look at, ``full`` (the mask fills the frame), ``tiny`` (a speck or a hairline) or ``flat`` (no contrast along it)."""

BLIND: Final[tuple[Sight, ...]] = ("tiny", "full", "flat")
"""The outline cannot be checked by the picture."""
MEASURED_PX: Final = 32 * 32
"""The least area, in pixels of the frame, of the objects that the cards measure."""
LEAST_PX: Final = 64
"""A mask of a smaller area, in pixels of the frame, is a speck."""
FULL_SHARE: Final = 0.95
"""A mask of a larger share of the frame has no outline to look at."""

Remark: TypeAlias = tuple[str, Box | None]
"""A sentence, and the box of the region it is about."""
NOTHING_SEEN: Final[Mapping[Sight, str]] = {
    "tiny": "the mask is too small or too thin to judge by its picture",
    "full": "the mask fills the frame, so there is no outline to check",
    "flat": "the picture shows nothing along the outline to check it by",
}

THINNEST_SHARE: Final = 0.04
"""A mask no part of which is as wide as this share of its extent is noise, a scribble or the border of a box: none of
2,824 true masks and masks of models in the calibration part is so thin."""
_HAIRLINE_PX: Final = 3

MIDDLE: Final = "in the middle"
_NEAR: Final = 0.38


def check(case: Case, prediction: Prediction) -> None:
    """Check that frame and masks are arrays of the right type and of one size."""
    frame = case.frame
    if frame.ndim != 3 or frame.shape[2] != 3 or frame.dtype != np.uint8 or frame.size == 0:
        raise InputError(
            f"the frame has shape {frame.shape} and dtype {frame.dtype}", expected="uint8 RGB (height, width, 3)"
        )
    # a sequence that draws masks when they are asked for made them of the frame's size
    others = case.others if isinstance(case.others, tuple) else ()
    for name, mask in (("mask", prediction.mask), *(("other mask", other) for other in others)):
        if mask.dtype != np.bool_ or mask.shape != frame.shape[:2]:
            raise InputError(
                f"the {name} has shape {mask.shape} and dtype {mask.dtype}",
                expected=f"bool of the frame's size {frame.shape[:2]}",
                hint="a mask is never resized here; make it at the size of its frame",
            )


def is_thin(mask: Mask) -> bool:
    """Whether no part is 3 pixels and ``THINNEST_SHARE`` of the extent wide; the picture's border bounds nothing."""
    import cv2  # late: a judge is imported to be named, too

    box = box_of(mask)
    if box is None:
        return False
    width = max(_HAIRLINE_PX, math.ceil(THINNEST_SHARE * math.sqrt(area(box))))
    inner = np.ascontiguousarray(mask[window(grown(box, width, mask.shape))]).view(np.uint8)
    return not cv2.erode(inner, np.ones((width, width), np.uint8), borderValue=1).any()


def nothing_segmented(item: str, judge: str) -> Verdict:
    """The verdict on a mask without a pixel: ``empty`` by rule, with no IoU."""
    return Verdict(
        id=item,
        iou=None,
        iou_low=None,
        iou_high=None,
        defect="empty",
        defect_probs={},
        evidence=Evidence(shape=True),
        rationale="Nothing is segmented; whether the target is in the frame was not checked.",
        judge=judge,
    )


def unjudged(item: str, judge: str, why: str) -> Verdict:
    """The verdict on a mask that there is no basis to judge: no IoU, no defect, and why."""
    return Verdict(
        id=item,
        iou=None,
        iou_low=None,
        iou_high=None,
        defect=None,
        defect_probs={},
        evidence=Evidence(),
        rationale=f"Not judged: {why}.",
        judge=judge,
        novelty=1.0,
    )


def softmax(scores: ArrayLike) -> Doubles:
    """Shares from logits, over the last axis."""
    values = np.asarray(scores, dtype=np.float64)
    odds = np.exp(values - values.max(axis=-1, keepdims=True))
    return np.asarray(odds / odds.sum(axis=-1, keepdims=True), dtype=np.float64)


def symmetric(rows: Sequence[ArrayLike]) -> Doubles:
    """A symmetric matrix, (n, n), from the rows of its lower triangle, as files hold it."""
    lower = np.zeros((len(rows), len(rows)))
    for index, row in enumerate(rows):
        lower[index, : index + 1] = row
    return np.asarray(lower + np.tril(lower, -1).T)


def ninth(across: float, down: float) -> str:
    """The ninth of a box that a point lies in, in words.

    The point is given from the left and from the top, 0..1 of the box; beyond the box counts with its edge.
    """
    level = "upper" if down < _NEAR else "lower" if down > 1 - _NEAR else ""
    hand = "left" if across < _NEAR else "right" if across > 1 - _NEAR else ""
    if level and hand:
        return f"at the {level} {hand}"
    if hand:
        return f"on the {hand}"
    return {"upper": "at the top", "lower": "at the bottom", "": MIDDLE}[level]


def percent(share: float) -> str:
    """A share in words."""
    return "less than 1 %" if share < 0.01 else f"{100 * share:.0f} %"
