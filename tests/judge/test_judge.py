"""`masks.cues.v1` as a caller sees it: verdicts, sentences, regions, refusals."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import cv2
import numpy as np
import pytest

from auscult import registry
from auscult.errors import InputError
from auscult.judge.masks.cues import JUDGE
from auscult.media.frames import read_frame
from auscult.media.masks import read_mask
from auscult.rng import generator
from auscult.types import Case, Frame, Mask, MaskJudge, MaskRef, Prediction, Query, Verdict

SHAPE = (300, 400)
UNCHECKED = "whether it is the right object was not checked"


def disc(radius: float, *, x: float = 200, y: float = 150) -> Mask:
    rows, columns = np.ogrid[: SHAPE[0], : SHAPE[1]]
    return np.asarray((rows - y) ** 2 + (columns - x) ** 2 <= radius**2)


def picture(*objects: Mask) -> Frame:
    rng = generator(3, "picture")
    ground = cv2.GaussianBlur(rng.normal(0, 60, (*SHAPE, 3)).astype(np.float32), (0, 0), 6.0)
    frame = np.array([80, 120, 90], np.float32) + 3 * ground
    for number, mask in enumerate(objects):
        frame[mask] = np.array([200, 120, 60 + 40 * number]) + ground[mask]
    frame = cv2.GaussianBlur(frame, (0, 0), 0.8) + rng.normal(0, 3, frame.shape)
    return np.clip(frame, 0, 255).astype(np.uint8)


TRUE = disc(75)
FRAME = picture(TRUE)


def judge(mask: Mask, *, frame: Frame = FRAME, others: tuple[Mask, ...] = ()) -> Verdict:
    return JUDGE(Case(id="a", frame=frame, query=Query("the orange disc"), others=others), Prediction(mask))


def centre(verdict: Verdict) -> tuple[float, float]:
    assert verdict.region is not None
    x0, y0, x1, y1 = verdict.region
    assert 0 <= x0 < x1 <= SHAPE[1]
    assert 0 <= y0 < y1 <= SHAPE[0]
    return (x0 + x1) / 2, (y0 + y1) / 2


def test_it_is_what_the_registry_gives() -> None:
    assert registry.load("judge", "masks.cues") is JUDGE
    assert isinstance(JUDGE, MaskJudge)


def test_importing_it_imports_no_opencv() -> None:
    code = "import sys, auscult.judge.masks.cues; sys.exit('cv2' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_missing_piece_is_named_with_place_and_amount() -> None:
    mask = TRUE.copy()
    mask[110:150, 155:190] = False
    verdict = judge(mask)
    assert verdict.defect == "cutout"
    assert verdict.rationale == f"About 8 % of the area inside is missing, at the upper left; {UNCHECKED}."
    assert centre(verdict) == pytest.approx((172, 130), abs=4)


@pytest.mark.parametrize(("radius", "defect", "side"), [(67, "erode", "outside"), (85, "dilate", "inside")])
def test_a_moved_outline_is_named_with_pixels(radius: int, defect: str, side: str) -> None:
    verdict = judge(disc(radius))
    assert verdict.defect == defect
    words = verdict.rationale.split()
    pixels = int(words[words.index("px") - 1])
    assert abs(pixels - abs(75 - radius)) <= 2
    assert f"px {side} the outline" in verdict.rationale


def test_an_outline_that_is_off_on_one_side_is_placed_there() -> None:
    mask = TRUE & disc(75, x=210)
    verdict = judge(mask)
    if verdict.defect == "erode":
        assert "mostly on the left" in verdict.rationale
        assert centre(verdict)[0] < 200
    assert verdict.defect in {"erode", "cutout"}


def test_two_parts_are_named_with_their_share() -> None:
    other = disc(40, x=340)
    verdict = judge(TRUE | other, frame=picture(TRUE, other))
    assert verdict.defect == "merge"
    assert verdict.rationale.startswith("2 separate parts, the second holds 22 %, on the right; ")
    assert centre(verdict) == pytest.approx((340, 150), abs=5)


def test_a_swallowed_object_is_named() -> None:
    other = disc(40, x=300)
    verdict = judge(TRUE | other, frame=picture(TRUE, other), others=(other,))
    assert verdict.defect == "merge"
    assert "another object of the frame is covered too" in verdict.rationale.lower()
    assert centre(verdict) == pytest.approx((300, 150), abs=4)


def test_a_good_mask_scores_above_its_damaged_ones() -> None:
    good = judge(TRUE)
    assert good.iou is not None
    for worse in (disc(64), disc(88), TRUE & ~disc(30), TRUE | disc(45, x=340)):
        verdict = judge(worse)
        assert verdict.iou is not None
        assert verdict.iou < good.iou


def test_an_empty_mask_is_empty_by_rule() -> None:
    verdict = judge(np.zeros(SHAPE, bool))
    assert (verdict.defect, verdict.iou, verdict.iou_low, verdict.iou_high) == ("empty", None, None, None)
    assert dict(verdict.defect_probs) == {}
    assert verdict.target_exists == "unchecked"
    assert not verdict.evidence.boundary
    assert "not checked" in verdict.rationale


FLAT = {
    "tiny": ("too small or too thin", disc(3), FRAME),
    "hairline": ("too small or too thin", np.asarray(disc(75) & ~disc(74.4)), FRAME),
    "full": ("fills the frame", np.ones(SHAPE, bool), FRAME),
    "nearly full": ("fills the frame", ~disc(20), FRAME),
    "black": ("shows nothing along the outline", TRUE, np.zeros((*SHAPE, 3), np.uint8)),
    "white": ("shows nothing along the outline", TRUE, np.full((*SHAPE, 3), 255, np.uint8)),
}


@pytest.mark.parametrize("case", FLAT)
def test_where_nothing_can_be_seen_it_says_so_and_judges_nothing(case: str) -> None:
    words, mask, frame = FLAT[case]
    verdict = judge(mask, frame=frame)
    assert words in verdict.rationale
    assert (verdict.iou, verdict.iou_low, verdict.iou_high, verdict.defect) == (None, None, None, None)
    assert (dict(verdict.defect_probs), verdict.error_map, verdict.region, verdict.novelty) == ({}, None, None, 1.0)
    assert not (verdict.evidence.shape)
    assert not (verdict.evidence.boundary)
    assert not (verdict.evidence.identity)


@pytest.mark.parametrize("radius", [6, 10, 15])
def test_small_masks_are_never_called_full_neg_nor_accepted(radius: int) -> None:
    small = disc(radius)
    for mask in (small, disc(radius, x=60, y=60)):
        verdict = judge(mask, frame=picture(small))
        assert verdict.defect != "full_neg"
        assert "smaller than anything this judge was measured on" in verdict.rationale
        assert verdict.iou is not None
        assert verdict.iou < 0.95
        assert verdict.novelty == 1


def test_squares_anywhere_are_not_accepted(data: Path) -> None:
    folder = data / "video/davis2016/dog"
    frame = read_frame(folder / "frames/00005.jpg")
    rng = generator(0, "squares")
    verdicts = []
    for side in (1, 41, 81):
        for _ in range(20):
            y, x = int(rng.integers(0, frame.shape[0] - side)), int(rng.integers(0, frame.shape[1] - side))
            mask = np.zeros(frame.shape[:2], bool)
            mask[y : y + side, x : x + side] = True
            verdicts.append(judge(mask, frame=frame))
    assert not [verdict for verdict in verdicts if verdict.defect == "perfect" and (verdict.iou or 0) >= 0.95]
    assert sum(verdict.defect == "perfect" for verdict in verdicts) <= 10


@pytest.mark.parametrize("radius", [20, 66, 75, 90])
def test_every_sentence_says_that_identity_was_not_checked(radius: int) -> None:
    verdict = judge(disc(radius))
    assert verdict.rationale.endswith(f"{UNCHECKED}.")
    assert verdict.rationale[0].isupper() or verdict.rationale[0].isdigit()
    assert verdict.action is None
    assert (verdict.evidence.identity, verdict.evidence.sound) == (False, False)


def test_noise_is_novel_and_photographs_are_not(data: Path) -> None:
    rng = generator(5, "noise")
    noise = rng.integers(0, 256, (*SHAPE, 3), dtype=np.uint8)
    assert judge(rng.random(SHAPE) < 0.5, frame=noise).novelty > 0.95
    folder = data / "video/davis2016/goat"
    mask = read_mask(MaskRef(path=folder / "masks/00000.png")).mask
    assert judge(mask, frame=read_frame(folder / "frames/00000.jpg")).novelty < 0.7


@pytest.mark.parametrize(
    ("frame", "mask", "words"),
    [
        (FRAME, np.zeros((300, 399), bool), "the mask has shape"),
        (FRAME, np.zeros(SHAPE, np.uint8), "the mask has shape"),
        (FRAME[..., 0], np.zeros(SHAPE, bool), "the frame has shape"),
        (FRAME.astype(np.float32), np.zeros(SHAPE, bool), "the frame has shape"),
    ],
)
def test_wrong_arrays_are_refused_with_both_sizes(frame: Frame, mask: Mask, words: str) -> None:
    with pytest.raises(InputError, match=words) as error:
        judge(mask, frame=frame)
    assert error.value.expected


def test_an_other_mask_of_another_size_is_refused() -> None:
    with pytest.raises(InputError, match="the other mask has shape"):
        judge(TRUE, others=(np.zeros((2, 2), bool),))


def test_a_mask_takes_milliseconds() -> None:
    """Far above what it needs, so that only a change of order fails."""
    judge(TRUE)
    start_s = time.perf_counter()
    for _ in range(5):
        judge(TRUE)
    assert (time.perf_counter() - start_s) / 5 < 0.2
