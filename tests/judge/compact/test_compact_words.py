"""What `masks.compact.v1` makes of a network that knows the answer: sentence, place, error map, numbers."""

from __future__ import annotations

import re

import numpy as np
import pytest
from compact_fakes import EVEN, FRAME, SHAPE, TRUE, disc, verdict_of

from auscult.arrays.error_map import painted, values_of
from auscult.rng import generator
from auscult.types import DEFECTS, Mask, Verdict

END = "; identity not checked."


def bitten(*, x: int, y: int, side: int = 40) -> Mask:
    mask = TRUE.copy()
    mask[y : y + side, x : x + side] = False
    return mask


def centre(verdict: Verdict) -> tuple[float, float]:
    assert verdict.region is not None
    x0, y0, x1, y1 = verdict.region
    assert 0 <= x0 < x1 <= SHAPE[1]
    assert 0 <= y0 < y1 <= SHAPE[0]
    return (x0 + x1) / 2, (y0 + y1) / 2


def amount(verdict: Verdict, before: str) -> int:
    match_ = re.search(rf"(\d+) {before}", verdict.rationale)
    assert match_ is not None, verdict.rationale
    return int(match_[1])


@pytest.mark.parametrize(
    ("x", "y", "place"),
    [(150, 105, "upper left"), (210, 105, "upper right"), (150, 160, "lower left"), (210, 160, "lower right")],
)
def test_a_missing_piece_is_named_with_place_and_amount(x: int, y: int, place: str) -> None:
    mask = bitten(x=x, y=y)
    verdict = verdict_of("cutout", mask)
    assert verdict.defect == "cutout"
    share = 100 * (1 - np.count_nonzero(mask) / np.count_nonzero(TRUE))
    assert amount(verdict, "% is missing inside") == pytest.approx(share, abs=2)
    assert verdict.rationale.endswith(f"at the {place}{END}")
    assert centre(verdict) == pytest.approx((x + 20, y + 20), abs=4)


def test_two_missing_pieces_are_counted() -> None:
    verdict = verdict_of("cutout", bitten(x=150, y=105, side=45) & bitten(x=220, y=170, side=30))
    assert "is missing inside in 2 pieces, the largest at the upper left" in verdict.rationale


@pytest.mark.parametrize("radius", [67, 71, 80, 85])
def test_a_moved_outline_is_named_with_pixels_and_amount(radius: int) -> None:
    kind, direction = ("erode", "in") if radius < 75 else ("dilate", "out")
    verdict = verdict_of(kind, disc(radius))
    assert verdict.rationale.startswith("The outline lies about ")
    assert amount(verdict, f"px too far {direction}, all round") == pytest.approx(abs(75 - radius), abs=1)
    larger, smaller = max(75, radius), min(75, radius)
    assert amount(verdict, "% of the") == pytest.approx(100 * (1 - (smaller / larger) ** 2), abs=3)


def test_an_outline_that_is_off_on_one_side_is_placed_there() -> None:
    verdict = verdict_of("erode", TRUE & disc(75, x=215))
    assert "too far in, mostly on the left" in verdict.rationale
    assert centre(verdict)[0] < 200


def test_errors_of_both_kinds_are_both_named() -> None:
    verdict = verdict_of("dilate", disc(75, x=210))
    assert "too far out, mostly on the right" in verdict.rationale
    assert "of the object is missing, mostly on the left" in verdict.rationale
    assert verdict_of("erode", disc(67)).rationale.count("about") == 2


def test_a_second_thing_is_named_with_its_share() -> None:
    other = disc(40, x=340)
    verdict = verdict_of("merge", TRUE | other)
    assert verdict.rationale.startswith("It holds a second thing on the right, about ")
    share = 100 * np.count_nonzero(other) / np.count_nonzero(TRUE | other)
    assert amount(verdict, "% of it") == pytest.approx(share, abs=2)
    assert centre(verdict) == pytest.approx((340, 150), abs=4)


def test_a_good_mask_is_said_to_be_good_and_has_no_place() -> None:
    verdict = verdict_of("perfect", TRUE)
    assert verdict.rationale == f"The outline follows the object; nothing of note is missing or too much{END}"
    assert verdict.region is None


def test_a_mask_on_no_object_is_a_full_neg() -> None:
    verdict = verdict_of("arbitrary", disc(40, x=330, y=60))
    assert verdict.defect == "full_neg"
    assert verdict.defect_probs["full_neg"] > 0.9
    assert verdict.iou is not None
    assert verdict.iou < 0.05
    assert verdict.rationale.startswith("The mask lies on no object that stands out")


@pytest.mark.parametrize("kind", ["cutout", "erode", "dilate", "merge"])
def test_where_no_place_stands_out_none_is_claimed(kind: str) -> None:
    verdict = verdict_of(kind, TRUE)
    assert "stands out" in verdict.rationale
    assert verdict.region is None
    assert "%" not in verdict.rationale


def test_a_second_kind_that_is_nearly_as_likely_is_named() -> None:
    assert "it may also be a good mask" in verdict_of("erode", disc(71), odds={**EVEN, "perfect": 4.8}).rationale
    assert "may also" not in verdict_of("erode", disc(71), odds={**EVEN, "perfect": 1.0}).rationale


def test_an_unlikely_error_is_not_said_as_if_it_were_sure() -> None:
    assert "perhaps 4 % of the object is left out" in verdict_of("erode", disc(73.5)).rationale


def test_the_error_map_shows_what_is_missing_and_what_is_too_much() -> None:
    mask = (TRUE | disc(40, x=340)) & bitten(x=150, y=105) | disc(40, x=340)
    map_found = verdict_of("merge", mask).error_map
    assert map_found is not None
    map_ = painted(map_found, SHAPE)
    assert map_[125, 170] > 0.8
    assert map_[150, 340] < -0.8
    assert map_[150, 230] == map_[20, 20] == 0.0
    right = np.asarray((map_ > 0.5) == (TRUE & ~mask)) & ((map_ < -0.5) == (mask & ~TRUE))
    assert right.mean() > 0.98


def test_nothing_outside_the_frame_is_missing() -> None:
    mask = disc(60, x=10)
    verdict = verdict_of("erode", mask, truth=disc(75, x=10))
    map_found = verdict.error_map
    assert map_found is not None
    assert map_found.box[0] < 0
    columns = (
        map_found.box[0] + (np.arange(map_found.side) + 0.5) * (map_found.box[2] - map_found.box[0]) / map_found.side
    )
    assert not values_of(map_found)[:, columns < 0].any()
    assert centre(verdict)[0] > 0


SEEN = {
    "tiny": ("too small or too thin", disc(3), FRAME),
    "hairline": ("too small or too thin", np.asarray(disc(75) & ~disc(74.4)), FRAME),
    "full": ("fills the frame", np.ones(SHAPE, bool), FRAME),
    "black": ("shows nothing along the outline", TRUE, np.zeros((*SHAPE, 3), np.uint8)),
    "black at the border": ("shows nothing along the outline", disc(75, x=5), np.zeros((*SHAPE, 3), np.uint8)),
}


@pytest.mark.parametrize("name", SEEN)
def test_what_cannot_be_seen_is_not_judged(name: str) -> None:
    phrase, mask, frame = SEEN[name]
    verdict = verdict_of("perfect", mask, truth=mask, frame=frame)
    assert phrase in verdict.rationale
    assert (verdict.iou, verdict.iou_low, verdict.iou_high, verdict.defect) == (None, None, None, None)
    assert (dict(verdict.defect_probs), verdict.error_map, verdict.region, verdict.novelty) == ({}, None, None, 1.0)
    assert not (verdict.evidence.shape)
    assert not (verdict.evidence.boundary)
    assert not (verdict.evidence.identity)


def test_a_mask_below_the_measured_size_is_novel_wide_and_never_accepted() -> None:
    mask = disc(14)
    verdict = verdict_of("perfect", mask, truth=mask)
    assert "smaller than anything this judge was measured on" in verdict.rationale
    assert verdict.evidence.boundary
    assert verdict.novelty == 1.0
    assert verdict.iou is not None
    assert verdict.iou_low is not None
    assert verdict.iou <= 0.9
    assert verdict.iou_low <= 0.4


def test_novelty_widens_the_interval_and_is_said() -> None:
    plain, novel = verdict_of("erode", disc(67)), verdict_of("erode", disc(67), features=1.5)
    assert (plain.novelty, novel.novelty) == (0.0, 0.5)
    assert novel.iou == plain.iou
    assert novel.iou_high - novel.iou_low > 1.2 * (plain.iou_high - plain.iou_low)  # type: ignore[operator]
    far_verdict = verdict_of("erode", disc(67), features=3.0)
    assert far_verdict.novelty == 1.0
    assert "it is out of distribution for this judge" in far_verdict.rationale
    assert "unlike" not in plain.rationale


def test_an_interval_that_says_nothing_is_called_a_guess() -> None:
    assert "hardly better than a guess" in verdict_of("erode", disc(60), reach={"all": 30.0}).rationale


@pytest.mark.parametrize("kind", ["perfect", "cutout", "dilate", "erode", "merge", "arbitrary"])
@pytest.mark.parametrize("radius", [45, 75, 100])
def test_every_verdict_is_whole(kind: str, radius: int) -> None:
    verdict = verdict_of(kind, disc(radius, x=230))
    assert set(verdict.defect_probs) == set(DEFECTS)
    assert sum(verdict.defect_probs.values()) == pytest.approx(1.0)
    assert 0 <= verdict.iou_low <= verdict.iou <= verdict.iou_high <= 1  # type: ignore[operator]
    assert verdict.action is None
    assert verdict.rationale.endswith(END)
    assert verdict.rationale[0].isupper()
    assert "  " not in verdict.rationale
    assert verdict.judge == "masks.compact.v1"


def checked(height: int, width: int) -> Mask:
    rows, columns = np.ogrid[:height, :width]
    return np.asarray((rows + columns) % 2 == 0)


def lines(height: int, width: int) -> Mask:
    mask = np.zeros((height, width), bool)
    mask[:, ::7] = True
    return mask


@pytest.mark.parametrize(
    "mask", [np.ones((1, 1), bool), np.ones((1, 300), bool), checked(40, 60), lines(90, 130), checked(3, 3)]
)
def test_odd_masks_are_not_judged(mask: Mask) -> None:
    frame = generator(4, "odd").integers(0, 255, (*mask.shape, 3), dtype=np.uint8)
    verdict = verdict_of("cutout", mask, truth=mask, frame=frame)
    assert (verdict.iou, verdict.iou_low, verdict.iou_high, verdict.defect) == (None, None, None, None)
    assert (dict(verdict.defect_probs), verdict.error_map, verdict.region, verdict.novelty) == ({}, None, None, 1.0)
    assert not (verdict.evidence.shape)
    assert not (verdict.evidence.boundary)
    assert not (verdict.evidence.identity)
