"""`masks.cues.v1`: judges a mask by cues a person can check by eye.

It looks at the mask's shape and at the picture along its outline. It does not see the expression, so identity is
never checked, and its IoU is that of a mask on the right object. Where the picture shows nothing along the outline, the
mask is not judged. Measured in ``docs/cards/masks.cues.v1.md``.
"""

from __future__ import annotations

from auscult.judge.masks.shared import BLIND, NOTHING_SEEN, check, is_thin, nothing_segmented, unjudged
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
        """Judge a mask, bool (H, W), on a frame, uint8 RGB (H, W, 3), without an action; an empty one by rule."""
        from auscult.judge.masks.cues.features import measure
        from auscult.judge.masks.cues.model import estimate, load_coefficients, sight_of
        from auscult.judge.masks.cues.words import rationale_of

        check(case, prediction)
        findings = measure(case.frame, prediction.mask, others=case.others)
        if findings is None:
            return nothing_segmented(case.id, self.name)
        vector = findings.vector()
        sight = sight_of(vector)
        if sight not in BLIND and is_thin(prediction.mask):
            sight = "tiny"
        if sight in BLIND:
            return unjudged(case.id, self.name, NOTHING_SEEN[sight])
        result = estimate(vector, load_coefficients())
        sentence, region = rationale_of(findings, result)
        return Verdict(
            id=case.id,
            iou=result.iou,
            iou_low=result.iou_low,
            iou_high=result.iou_high,
            defect=result.defect,
            defect_probs=result.defect_probs,
            evidence=Evidence(shape=True, boundary=True),
            rationale=sentence,
            judge=self.name,
            novelty=result.novelty,
            region=region,
        )


JUDGE = CuesJudge()
