"""`masks.cues.v1`: judges a mask by cues a person can check by eye.

It looks at the mask's shape and at the picture along its outline. It does not know what was asked for, so identity is
never checked, and its IoU is that of a mask on the right object. Where the picture shows nothing along the outline, it
says so and claims nothing about the boundary. Measured in ``docs/cards/masks.cues.v1.md``.
"""

from __future__ import annotations

import numpy as np

from auscult.errors import InputError
from auscult.types import Case, Evidence, Metadata, Prediction, Verdict


class CuesJudge:
    """Judges masks from holes, parts, outline, edges and colours; numpy and OpenCV only, no network."""

    name = "masks.cues.v1"
    meta = Metadata(
        summary="IoU and defect from holes, parts, outline, edges and colours; the explainable baseline",
        goal="masks that miss a piece, are too large or too small, or hold a second object",
        modality="mask",
        source="own cues; the task of MQ-RAVSBench, Sec. 2, Eq. 1, without the sentence and the sound",
        truth="none is read",
    )

    def __call__(self, case: Case, prediction: Prediction) -> Verdict:
        """Judge one candidate mask.

        Args:
            case: The frame, uint8 RGB (H, W, 3), and other masks of it.
            prediction: The candidate, bool (H, W).

        Returns:
            The verdict, without an action. An empty mask is ``empty`` by rule, with no IoU.

        Raises:
            InputError: Frame and mask are not arrays of one size and of the right type.
            UsageError: The coefficient file is broken.
        """
        from auscult.judge.masks.cues.measure import measure
        from auscult.judge.masks.cues.model import estimate, load_coefficients
        from auscult.judge.masks.cues.sight import BLIND
        from auscult.judge.masks.cues.words import say

        _check(case, prediction)
        findings = measure(case.frame, prediction.mask, others=case.others)
        if findings is None:
            return _empty(case.id, self.name)
        found = estimate(findings.vector(), load_coefficients())
        sentence, region = say(findings, found)
        return Verdict(
            id=case.id,
            iou=found.iou,
            iou_low=found.iou_low,
            iou_high=found.iou_high,
            defect=found.defect,
            defect_probs=found.defect_probs,
            evidence=Evidence(shape=True, boundary=found.sight not in BLIND),
            rationale=sentence,
            judge=self.name,
            novelty=found.novelty,
            region=region,
        )


def _check(case: Case, prediction: Prediction) -> None:
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


def _empty(item: str, judge: str) -> Verdict:
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


JUDGE = CuesJudge()
