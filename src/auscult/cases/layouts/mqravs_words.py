"""What the training file of MQ-RAVSBench says of a mask: tags as in the release, sentences of our own."""

from __future__ import annotations

from collections.abc import Mapping

from auscult.types import Action, Defect

ACTION_WORDS: Mapping[Action, str] = {
    "accept": "Accept",
    "minor_revision": "Minor Revision",
    "major_revision": "Major Revision",
    "reject": "Reject",
}
UNNAMED = "object"
ANOTHER = "another object"

_SENTENCES: Mapping[tuple[Defect, Action], str] = {
    ("perfect", "accept"): "The {target} is covered whole, and the edge of the mask runs along its outline.",
    ("cutout", "minor_revision"): "The {target} is found, but a small piece inside it was left open.",
    ("cutout", "major_revision"): "The {target} is found, but a large piece is torn out of it.",
    ("dilate", "minor_revision"): "The {target} is found, but a thin rim of its surroundings was taken with it.",
    ("dilate", "major_revision"): "The {target} is found, but the mask spreads widely over its surroundings.",
    ("erode", "minor_revision"): "The {target} is found, but a thin rim along its outline is lost.",
    ("erode", "major_revision"): "The {target} is found, but only its core is covered; its outer parts are lost.",
    ("merge", "minor_revision"): "The {target} is found, and a little of {other} was joined to it.",
    ("merge", "major_revision"): "The {target} is found, and much of {other} was joined to it.",
    ("merge", "reject"): "The {target} is in the mask, but most of the mask is {other}.",
    ("full_neg", "reject"): "The mask lies on {other}; no part of the {target} is in it.",
    ("empty", "reject"): "The mask is empty, although the {target} is asked for.",
}


def response(defect: Defect, action: Action, *, iou: float, target: str = "", other: str = "", kind: str = "") -> str:
    """What an auditor should answer about a mask.

    Args:
        defect: What is wrong with it.
        action: What to do about it.
        iou: Its IoU with the true mask, 0..1; written with four decimals.
        target: What is asked for, in words.
        other: What was segmented beside it or instead, in words.
        kind: The word between the type's tags; the defect by default.
    """
    sentence = _SENTENCES.get((defect, action), "The mask does not fit the {target}.")
    said = sentence.format(target=target or UNNAMED, other=other or ANOTHER)
    return (
        f"<audit> {said} Its overlap with the true mask is <iou> {iou:.4f} </iou>, its type "
        f"<mask_type> {kind or defect} </mask_type>, "
        f"and what to do is <action> {ACTION_WORDS[action]} </action> </audit>"
    )
