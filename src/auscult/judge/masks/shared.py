"""What all judges of masks have in common: what they insist on, the verdict on nothing, and words for places."""

from __future__ import annotations

from typing import Final

import numpy as np

from auscult.errors import InputError
from auscult.types import Case, Evidence, Prediction, Verdict

MIDDLE: Final = "in the middle"
_NEAR: Final = 0.38


def check(case: Case, prediction: Prediction) -> None:
    """Insist that frame and masks are arrays of the right type and of one size.

    Raises:
        InputError: One is not.
    """
    frame = case.frame
    if frame.ndim != 3 or frame.shape[2] != 3 or frame.dtype != np.uint8 or frame.size == 0:
        raise InputError(
            f"the frame has shape {frame.shape} and dtype {frame.dtype}", expected="uint8 RGB (height, width, 3)"
        )
    for what, mask in (("mask", prediction.mask), *(("other mask", other) for other in case.others)):
        if mask.dtype != np.bool_ or mask.shape != frame.shape[:2]:
            raise InputError(
                f"the {what} has shape {mask.shape} and dtype {mask.dtype}",
                expected=f"bool of the frame's size {frame.shape[:2]}",
                hint="a mask is never resized here; make it at the size of its frame",
            )


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


def ninth(across: float, down: float) -> str:
    """The ninth of a box that a point lies in, in words.

    Args:
        across: From the left, 0..1 of the box's width; beyond the box counts with its edge.
        down: From the top, likewise.
    """
    level = "upper" if down < _NEAR else "lower" if down > 1 - _NEAR else ""
    hand = "left" if across < _NEAR else "right" if across > 1 - _NEAR else ""
    if level and hand:
        return f"at the {level} {hand}"
    if hand:
        return f"on the {hand}"
    return {"upper": "at the top", "lower": "at the bottom", "": MIDDLE}[level]
