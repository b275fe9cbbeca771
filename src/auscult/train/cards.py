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
)
_NOT_FOR: Final = (
    (
        "Deciding whether the right object was segmented. It does not read the sentence, so identity is never "
        "checked; `full_neg` is hardly ever found, and the estimated IoU is that of a mask on the right object. With "
        "wrong objects counted in (`rmse_all_six`) it is worse than a constant."
    ),
    "Accepting masks without a look where a wrong object does harm: medicine, driving, evidence against persons.",
    "Comparing two models whose masks differ by less than the RMSE on real masks below.",
    (
        "Pictures unlike photographs: drawings, renderings, scans, thermal or medical images. Novelty says how "
        "unlike the cues are, but was not measured as a detector."
    ),
    "Objects under 32 x 32 pixels, crowds, and masks of stuff such as sky or road: none was measured.",
)
_SETS: Final = {
    "coco_test": "Made defects on the test photographs; the judge sees the candidate alone.",
    "coco_test_with_others": "The same; the judge is also shown the frame's other annotated objects.",
    "davis_test": "Made defects on the test sequences. One object a frame, so no merge and no full_neg.",
    "davis_test_real": "OSVOS's and RVOS's masks on the test sequences. Nobody made these errors or named them.",
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
        "error of the estimated IoU, lower is better; over the five defects that shape and boundary can show. "
        "`rmse_all_six` adds full_neg, whose IoU is 0"
    ),
    "f2_tables": (
        "F2 as the MQ-RAVSBench paper's tables have it, one true type at a time, 5 R / (4 + R); the row without a "
        "type is their mean, `f2_tables_five` leaves full_neg out. Hard, medium and easy by IoU"
    ),
    "f2_confusion": (
        "F2 from the confusion matrix of the whole set; the row without a type is the macro mean over types that "
        "occur or are said, `f2_confusion_five` leaves the masks of full_neg out"
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
        "Penalties, the clip of the cues and the weight of drawn pictures were chosen on the calibration part, which "
        "also sets the intervals. The test part was measured several times while the recipe was written; nothing was "
        "chosen by it."
    )
    return lines
