"""Boundary F of one mask: does its outline run where the true one runs?

Conventions: masks are bool (H, W); scores are 0..1, higher is better. The tolerance is a share of the frame's
diagonal, rounded up to whole pixels (8 pixels at 480x854).

Metrics: precision is the share of the predicted boundary that is near the true one, recall the share of the
true boundary that is near the predicted one, F their harmonic mean. Two empty masks give 1, an empty and a
not empty one 0. The frame's border is no boundary: a mask that fills the frame has none and agrees with an
empty one. IoU tells the two apart; F alone does not.

References: DAVIS 2016 (Perazzi et al., CVPR 2016, Sec. 4); the boundary and the disk as in the DAVIS 2017
evaluation.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from auscult.arrays.boundary import TOLERANCE, BoundaryMatch, match, tolerance_px
from auscult.arrays.boxes import box_of, grown, union_box, window
from auscult.arrays.overlap import counts
from auscult.errors import InputError
from auscult.outcome import Scored, Signature
from auscult.score.masks.overlap import check_bool, check_pair
from auscult.types import Mask, Metadata, ScoreSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundaryF(Scored[float]):
    """Boundary F (``value``) with its two parts.

    Attributes:
        precision: Share of the predicted boundary near the true one, 0..1.
        recall: Share of the true boundary near the predicted one, 0..1.
        radius_px: What "near" means, in pixels.
    """

    precision: float
    recall: float
    radius_px: int


def boundary_f(prediction: Mask, truth: Mask, *, tolerance: float = TOLERANCE) -> BoundaryF:
    """F of the predicted boundary against the true one.

    Args:
        prediction: bool (H, W).
        truth: bool, the same shape.
        tolerance: Share of the frame's diagonal within which boundaries count as equal; 0 asks for the same pixels.

    Returns:
        0..1, higher is better; 1 when neither mask has a boundary.

    Raises:
        InputError: The shapes differ, a mask is not bool, or ``tolerance`` is negative or not a number.

    Example:
        >>> import numpy as np
        >>> mask = np.zeros((9, 9), bool); mask[3:6, 3:6] = True
        >>> boundary_f(mask, mask).value
        1.0
    """
    check_pair(prediction, truth, ndim=(2,))
    check_bool(prediction, truth)
    check_tolerance(tolerance)
    radius_px = tolerance_px(truth.shape, tolerance)
    _, found = compare(prediction, truth, radius_px)
    return BoundaryF(
        value=found.f,
        signature=Signature.of(metric="boundary_f", tolerance=f"{tolerance:g} of the diagonal", empty=1),
        precision=found.precision,
        recall=found.recall,
        radius_px=radius_px,
    )


def compare(prediction: Mask, truth: Mask, radius_px: int) -> tuple[tuple[int, int], BoundaryMatch]:
    """(intersection, union) in pixels and the boundary match of two masks, in one look at the part that holds them."""
    box = union_box(box_of(prediction), box_of(truth))
    if box is None:
        return (0, 0), BoundaryMatch(0, 0, 0, 0)
    # One pixel more: the boundary lies half a pixel towards the top left, so outside the masks on those sides.
    crop = window(grown(box, 1, (truth.shape[0], truth.shape[1])))
    return counts(prediction[crop], truth[crop]), match(prediction[crop], truth[crop], radius_px)


def check_tolerance(tolerance: float) -> None:
    """Refuse a tolerance that is no share of a diagonal."""
    if not (math.isfinite(tolerance) and 0 <= tolerance <= 1):
        raise InputError(
            f"tolerance is {tolerance!r}",
            expected="a share of the frame's diagonal, 0..1",
            hint="DAVIS uses 0.008; for a radius in pixels divide it by the diagonal",
        )


BOUNDARY_F = ScoreSpec(
    meta=Metadata(
        summary="F of the mask's boundary against the true one",
        goal="ragged, shrunken and swollen outlines that IoU hardly notices",
        modality="mask",
        source="DAVIS 2016, Sec. 4",
        truth="the true mask",
        higher_is_better=True,
    ),
    function=boundary_f,
    options={"tolerance": TOLERANCE},
)
