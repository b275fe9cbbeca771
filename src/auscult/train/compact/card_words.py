"""What the card of `masks.compact.v1` says in words, around its numbers."""

from __future__ import annotations

from typing import Final

from auscult.train.split import PARTS, Part, committed

SUMMARY: Final = (
    "Judges a mask by what a small network sees of the picture round its outline, and by the cues of `masks.cues.v1` "
    "with further measures along the outline: an IoU with a 90 % interval, the defect, and where it is. Every number "
    "below was measured through the judge as it ships, a mask at a time, the judge seeing no other mask of the frame. "
    "The other rows: `masks.cues.v1`, the explainable judge; `always-perfect` says IoU 1 and perfect; "
    "`constant-IoU` says the mean IoU of the training part's masks of the same source without full_neg (of "
    "photographs, for scenes) and names no defect; `random` draws IoU and defect evenly."
)
DATA: Final = (
    (
        "Photographs: 70 of COCO 2017 with their instances, crowds left out. Annotations CC BY 4.0; the photographs "
        "carry the licences their authors chose on Flickr, some of them non-commercial. Weights come from the "
        "training part; no pixel is shipped."
    ),
    (
        "Video: 10 DAVIS 2016 sequences, BSD licence, with the masks that OSVOS and RVOS predicted for them "
        "(BSD-3-Clause); those of the training part's sequences were trained on. And dogs-jump of DAVIS 2017, BSD "
        "licence, for training alone."
    ),
    (
        "Scenes: cut-outs of Tux Paint's stamps, GPL 2, over photographs of the training part, and things that "
        "auscult draws itself. Test scenes are of other instances (`test_s`) or other categories (`test_u`), over "
        "photographs of the test part or painted grounds. No stamp is shipped."
    ),
    (
        "Masks for training: the defects of `auscult.stress.masks`, masks on no object, and the kinds of errors that "
        "segmenters make (`auscult.train.candidates`)."
    ),
    (
        "Masks for measuring: for each object of at least 32 x 32 pixels one perfect mask, a hard (IoU .85 to .90) "
        "and a medium one (.75 to .80) of cutout, dilate and erode, and a full_neg and a merge for each of up to "
        "three other objects; of DAVIS every second frame. Once by `auscult.stress.masks`, which training used too, "
        "and once, in the sets called freehand, by a second maker of other shapes that no training saw."
    ),
    (
        "Real masks: of RVOS's proposals the one nearest the truth, of OSVOS's objects the union, of every frame. A "
        "frame where that is empty is left out."
    ),
    (
        "Masks on no object (`auscult.train.arbitrary`): a box, an ellipse and a blob anywhere, the true mask moved "
        "and mirrored away, the complement; every second is taken. They count as full_neg."
    ),
)
NOT_FOR: Final = (
    (
        "Deciding whether the right object was segmented. It reads no sentence and hears no sound, so by itself it "
        "never checks identity: another whole object, well segmented, looks perfect to it, and its IoU is that of a "
        "mask on the right object (`rmse_all_six` counts wrong objects in). Give an identity check beside it, and "
        "read `identity not checked` as it stands."
    ),
    "Accepting masks without a look where a wrong one does harm: medicine, driving, evidence against persons.",
    (
        "Accepting masks by a threshold of one's own without measuring it: `auscult act gate` finds one that holds, "
        "from masks of the same kind with truth."
    ),
    "Comparing two models whose masks differ by less than the RMSE on real masks below.",
    (
        "Pictures unlike photographs: drawings, renderings, scans, thermal or medical images. Novelty says how unlike "
        "they are to what calibration saw, and widens the interval, but no such picture was measured."
    ),
    (
        "Masks under 32 x 32 pixels: only what it says of true ones was measured (`coco_test_small`). None of them is "
        "accepted."
    ),
    "Crowds, and masks of stuff such as sky or road: none was measured.",
    (
        "Video as a whole: it looks at a frame at a time. Three test sequences say little about all video; of the "
        "intervals over sequences the width is the message."
    ),
)
METRICS: Final = {
    "rmse": (
        "error of the estimated IoU, lower is better; over the masks of the five types that a picture can show (four "
        "on DAVIS, which has no merge), pooled. `rmse_types` is the mean of the types' own, `rmse_without_merge` "
        "leaves merges out, `rmse_all_six` adds wrong objects, whose IoU is 0. With a type, difficulty, model or "
        "size: over those masks; on the sets of masks on no object, over these"
    ),
    "f2_tables": (
        "F2 as the MQ-RAVSBench paper's tables have it, one true type at a time, 5 R / (4 + R) with R the share "
        "right, hard and medium together; without a type the mean over the five types; `f2_tables_all_six` counts "
        "full_neg in"
    ),
    "f2_confusion": (
        "F2 from the confusion matrix of the five types' masks; without a type the mean over the types that occur. "
        "`f2_confusion_strict` also counts as 0 a type that is only said; `f2_confusion_all_six` is that over all "
        "masks"
    ),
    "spearman": "rank agreement of estimated and true IoU over the five types' masks, -1..1, higher is better",
    "coverage_90": (
        "share of true IoUs inside the 90 % interval over the five types' masks, best is 0.90; "
        "`coverage_90.said.erode`: among those of them that are called erode"
    ),
    "width_90": "mean width of that interval over the same masks, lower is better",
    "width_ratio": (
        "that width over the width of a constant interval that covers as many of the same masks, lower is better. The "
        "constant interval: of all that hold a share L of the calibration part's IoUs of the same source the "
        "shortest, L raised from .5 until it covers as much"
    ),
    "accepted": (
        "share of the five types' masks that the policy `default` accepts as they are; `accepted.perfect`: of the "
        "perfect ones; on the sets of masks on no object lower is better"
    ),
    "accepted_wrongly": "of the masks it accepts, the share with a true IoU under .9; lower is better",
    "accepted_of_bad": "of the masks with a true IoU under .75, the share it accepts; lower is better",
    "called_perfect": "share called perfect; better low on masks on no object, high with the suffix `.perfect`",
    "called_full_neg": "share called full_neg; higher is better on masks on no object",
    "reliability": "mean estimated (`said`) and mean true IoU of the masks whose estimate lies in a tenth",
}


def split_words(part: Part, *, weights: str) -> tuple[str, ...]:
    """How the data was divided, which part was measured, and with which weights (SHA-256; may be empty)."""
    lines = ["By photograph and by sequence, in the order of a hash of the name, fixed before training (`split.json`)."]
    for one in PARTS:
        sequences = ", ".join(committed()["davis"][one])
        lines.append(f"{one}: {len(committed()['coco'][one])} photographs; sequences {sequences}.")
    lines.append(
        "Weights come from the training part, temperatures, intervals and the scale of novelty from the calibration "
        f"part, what is below from the {part} part. What was chosen while the network was made was chosen on the "
        "calibration part, or on photographs and sequences of training and calibration part left out in turn. Sizes "
        "are the square root of the true mask's area in pixels."
    )
    lines.append(
        "An earlier network and `masks.cues.v1` had been measured on the test part before. The cues did better there "
        "on video: one reason why this network reads them. Nothing else was taken from it."
    )
    lines.append(
        "The two members learned apart, on the same batches: 192,000 samples shown, 64,000 of them different. The one "
        "that looks at pictures began under an earlier state of the training code, with other first weights than the "
        "command gives now."
    )
    if weights:
        lines.append(f"Measured with the weights of SHA-256 {weights}.")
    return tuple(lines)


def set_words(part: Part) -> dict[str, str]:
    """What is in each set of a part."""
    made = {
        f"coco_{part}": "Defects made by the standard maker on photographs.",
        f"coco_{part}_freehand": "The same objects, defects made by the second maker, whose shapes no training saw.",
        f"davis_{part}": "Defects made by the standard maker on video frames; one object a frame, so no merge.",
        f"davis_{part}_freehand": "The same frames, defects made by the second maker.",
        f"davis_{part}_real": "OSVOS's and RVOS's masks. Nobody made these errors or named them.",
        f"coco_{part}_arbitrary": "Masks on no object in photographs. Every one is wrong, with IoU 0.",
        f"davis_{part}_arbitrary": "Masks on no object in video frames. Every one is wrong, with IoU 0.",
        f"coco_{part}_small": "True masks of the photographs' objects under 32 x 32 pixels.",
    }
    if part == "test":
        made |= {
            "stamps_test_s": "Standard defects on scenes of cut-outs: seen categories, instances that no training saw.",
            "stamps_test_u": "Standard defects on scenes of cut-outs: categories that no training saw.",
            "generated_test_s": "Standard defects on drawn scenes: seen categories. No evidence about photographs.",
            "generated_test_u": "Standard defects on drawn scenes: categories no training saw. No evidence likewise.",
        }
    return made
