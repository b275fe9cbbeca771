"""What the card of `masks.cues.v1` says in words, around its numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from auscult.judge.cards import Card, Result
from auscult.train.split import PARTS, committed

_SUMMARY: Final = (
    "Judges a mask by its holes, parts, outline, edges and colours: the explainable baseline. The other rows show "
    "what knowing nothing gives: `always-perfect` says IoU 1 and perfect; `constant-IoU` says the mean IoU of the "
    "fitting part's masks of the same source, without full_neg, and `constant-IoU-six` with it; these two name no "
    "defect."
)
_DATA: Final = (
    (
        "70 COCO 2017 photographs with their instances of at least 32 x 32 pixels, crowds left out. Annotations CC "
        "BY 4.0; the photographs carry the licences their authors chose on Flickr, some of them non-commercial. No "
        "pixel is shipped."
    ),
    (
        "10 DAVIS 2016 sequences, BSD licence, with the masks that OSVOS and RVOS predicted for them (BSD-3-Clause). "
        "Defects on every second frame for fitting and on every frame for measuring; real masks of every frame."
    ),
    "120 drawn pictures of textured shapes, for the naming of defects only, and 40 others for measuring.",
    (
        "Of RVOS's proposals the one nearest the truth is taken, of OSVOS's objects the union. A frame where that is "
        "empty is left out."
    ),
    (
        "Defects are made by `auscult.stress.masks`: for each object one perfect mask, a hard (IoU .85 to .90) and a "
        "medium one (.75 to .80) of cutout, dilate and erode, and a full_neg and a merge for each of up to three "
        "other objects."
    ),
    (
        "Masks on no object are made by `auscult.train.arbitrary`, up to five for each object: a box, an ellipse and a "
        "blob anywhere, the true mask moved and mirrored away, and the complement; none shares a pixel with the "
        "object. They count as full_neg and are not among the made defects."
    ),
)
_NOT_FOR: Final = (
    (
        "Deciding whether the right object was segmented. It does not read the sentence, so identity is never "
        "checked. Of `full_neg` it can tell only masks that lie on no object; a whole wrong object is hardly ever "
        "found, and the estimated IoU is that of a mask on the right object. With wrong objects counted in "
        "(`rmse_all_six`) it is worse than a constant. An inverted mask can still be called perfect, with a low IoU."
    ),
    "Accepting masks without a look where a wrong object does harm: medicine, driving, evidence against persons.",
    "Comparing two models whose masks differ by less than the RMSE on real masks below.",
    (
        "Pictures unlike photographs: drawings, renderings, scans, thermal or medical images. Novelty says how "
        "unlike the cues are, but was not measured as a detector."
    ),
    (
        "Masks under 32 x 32 pixels: only what it says of true ones was measured (`coco_test_small`). It never calls "
        "them full_neg, never accepts them (`default`), and moves its IoU halfway to the calibration data's mean."
    ),
    "Crowds, and masks of stuff such as sky or road: none was measured.",
    (
        "Masks with nothing to look at: a speck, a mask over 95 % of the frame, an outline without contrast. It says "
        "so (`evidence.boundary` is false) and gives the calibration data's IoU as a whole."
    ),
)
_SETS: Final = {
    "coco_test": "Made defects on the test photographs; the judge sees the candidate alone.",
    "coco_test_with_others": "The same; the judge is also shown the frame's other annotated objects.",
    "davis_test": "Made defects on the test sequences. One object a frame, so no merge and no other object.",
    "davis_test_real": "OSVOS's and RVOS's masks on the test sequences. Nobody made these errors or named them.",
    "coco_test_arbitrary": "Masks on no object on the test photographs. Every one is wrong, with IoU 0.",
    "davis_test_arbitrary": "Masks on no object on the test sequences. Every one is wrong, with IoU 0.",
    "coco_test_small": "True masks of the test photographs' objects under 32 x 32 pixels, which no fit has seen.",
    "drawn_test": (
        "Made defects on 40 drawn pictures of textured shapes: how it does on clean outlines and strong contrasts. No "
        "evidence about photographs."
    ),
    "davis_real_leave_one_out": (
        "The same models' masks on all ten sequences, each judged by coefficients refitted without that sequence: "
        "extra evidence, not the shipped coefficients. constant-IoU is here the mean of the other sequences' real "
        "masks."
    ),
}
_METRICS: Final = {
    "rmse": (
        "error of the estimated IoU, lower is better; over the five defects that shape and boundary can show, or over "
        "all masks of the sets of masks on no object. `rmse_all_six` adds full_neg, whose IoU is 0"
    ),
    "f2_tables": (
        "F2 as the MQ-RAVSBench paper's tables have it, one true type at a time, 5 R / (4 + R); the row without a "
        "type is their mean, `f2_tables_five` leaves full_neg out. Hard, medium and easy by IoU"
    ),
    "f2_confusion": (
        "F2 from the confusion matrix of the whole set; the row without a type is the macro mean over types that "
        "occur or are said, `f2_confusion_five` leaves the masks of full_neg out"
    ),
    "called_perfect": (
        "share of the masks called perfect; lower is better on the sets of masks on no object, higher is better with "
        "the suffix `.perfect`, which takes the perfect masks alone"
    ),
    "accepted": "share that the policy `default` accepts as they are; better as for `called_perfect`",
    "called_full_neg": (
        "share called full_neg; higher is better on the sets of masks on no object; with the suffix `.perfect` it is "
        "the rate of false alarms, lower is better"
    ),
    "coverage_90": "share of true IoUs inside the 90 % interval; best is 0.90",
    "width_90": "mean width of that interval, lower is better",
    "spearman": "rank agreement of estimated and true IoU, higher is better",
}


def card(results: Sequence[Result], *, judge: str, seed: int, constants: Mapping[str, Mapping[str, float]]) -> Card:
    """Put the numbers into a card.

    Args:
        results: Everything that was measured.
        judge: The judge's full name.
        seed: Seed of the made masks and of the intervals.
        constants: What the constant rows say, by source and row.
    """
    return Card(
        judge=judge,
        summary=_SUMMARY,
        data=_DATA,
        split=tuple(_split()),
        sets=_SETS,
        metrics=_METRICS,
        constants=constants,
        seed=seed,
        not_for=_NOT_FOR,
        results=tuple(results),
    )


def _split() -> list[str]:
    lines = ["By photograph and by sequence, in the order of a hash of the name, fixed before fitting (`split.json`)."]
    for part in PARTS:
        sequences = ", ".join(committed()["davis"][part])
        lines.append(f"{part}: {len(committed()['coco'][part])} photographs; sequences {sequences}.")
    lines.append(
        "Penalties, the clip of the cues and the weights of full_neg, of masks on no object and of drawn pictures were "
        "chosen on the calibration part, which also sets the intervals. The test part was measured several times while "
        "the recipe was written; nothing was chosen by it."
    )
    return lines
