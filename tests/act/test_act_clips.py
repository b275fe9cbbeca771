"""A clip's action where the judge gives probabilities: the mean over the frames is asked, and known frames count."""

from __future__ import annotations

from typing import Any

from auscult.act.clips import clip_verdict
from auscult.act.policy import DEFAULT
from auscult.types import Evidence, Verdict


def frame(probability: float | None, **changes: Any) -> Verdict:
    fields: dict[str, Any] = {
        "id": "a", "iou": 0.7, "iou_low": 0.6, "iou_high": 0.8, "defect": "erode", "defect_probs": {"erode": 1.0},
        "evidence": Evidence(), "rationale": "", "judge": "masks.any.v1", "action": "minor_revision",
        "prob_iou_80": probability,
    }  # fmt: skip
    return Verdict(**{**fields, **changes})


def empty(exists: str) -> Verdict:
    none = dict.fromkeys(("iou", "iou_low", "iou_high"))
    return frame(None, **none, defect="empty", defect_probs={}, target_exists=exists, action="accept")


def test_the_mean_probability_accepts_a_clip_whose_iou_alone_would_not() -> None:
    assert clip_verdict([frame(0.9), frame(0.6)], DEFAULT).action == "accept"
    assert clip_verdict([frame(0.5), frame(0.6)], DEFAULT).action == "reject"
    assert clip_verdict([frame(0.9), frame(None)], DEFAULT).action == "reject", "one frame has none"


def test_an_empty_frame_counts_with_what_is_known_of_it() -> None:
    assert clip_verdict([frame(0.75), frame(0.75), empty("yes")], DEFAULT).action == "reject"
    assert clip_verdict([frame(0.6), frame(0.6), empty("no")], DEFAULT).action == "accept"
    assert clip_verdict([frame(0.75), frame(0.75), empty("unchecked")], DEFAULT).action == "accept"


def test_a_rejected_frame_keeps_its_clip_from_being_accepted_all_the_same() -> None:
    clip = clip_verdict([frame(0.95), frame(0.95), frame(0.5, action="reject")], DEFAULT)
    assert (clip.action, "1 are rejected" in clip.note) == ("minor_revision", True)
