"""Each cue moves in the direction its meaning says, on pictures where the truth is known."""

from __future__ import annotations

from collections.abc import Callable

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from auscult.judge.masks.cues.features import measure
from auscult.judge.masks.cues.model import CUES
from auscult.rng import generator
from auscult.types import Frame, Mask

SHAPE = (240, 320)


def disc(radius: float, *, x: float = 160, y: float = 120) -> Mask:
    rows, columns = np.ogrid[: SHAPE[0], : SHAPE[1]]
    return np.asarray((rows - y) ** 2 + (columns - x) ** 2 <= radius**2)


def picture(*objects: Mask, seed: int = 0) -> Frame:
    """Blue-grey ground, orange objects, a little noise, edges as soft as a lens makes them."""
    frame = np.empty((*SHAPE, 3), np.float32)
    frame[:] = (90, 110, 140)
    for mask in objects:
        frame[mask] = (210, 130, 50)
    frame = cv2.GaussianBlur(frame, (0, 0), 1.0)
    frame += generator(seed, "picture").normal(0, 4, frame.shape)
    return np.clip(frame, 0, 255).astype(np.uint8)


TRUE = disc(60)
FRAME = picture(TRUE)


def cues(mask: Mask, *, frame: Frame = FRAME, others: tuple[Mask, ...] = ()) -> dict[str, float]:
    findings = measure(frame, mask, others=others)
    assert findings is not None
    return findings.cues


@pytest.mark.parametrize("radius", [50, 53, 56])
def test_the_edge_is_outside_a_mask_that_is_too_small(radius: int) -> None:
    cue_of = cues(disc(radius))
    thickness = radius / 2
    assert cue_of["peak_offset"] == pytest.approx((60 - radius) / thickness, abs=0.06)
    assert cue_of["peak_outside_share"] > 0.8
    assert cue_of["peak_inside_share"] < 0.2
    assert cue_of["edge_on"] < cues(TRUE)["edge_on"]


@pytest.mark.parametrize("radius", [64, 67, 70])
def test_the_edge_is_inside_a_mask_that_is_too_large(radius: int) -> None:
    cue_of = cues(disc(radius))
    assert cue_of["peak_offset"] == pytest.approx((60 - radius) / (radius / 2), abs=0.06)
    assert cue_of["peak_inside_share"] > 0.8
    assert cue_of["peak_outside_share"] < 0.2


def test_an_outline_far_from_any_edge_is_unsupported() -> None:
    assert cues(TRUE)["unsupported_share"] == 0
    assert cues(disc(40))["unsupported_share"] > 0.3


def test_the_edge_is_on_a_perfect_outline() -> None:
    cue_of = cues(TRUE)
    assert abs(cue_of["peak_offset"]) < 0.05
    assert cue_of["peak_on_share"] > 0.95
    assert cue_of["edge_on"] > max(cue_of["edge_outside"], cue_of["edge_inside"]) + 0.5
    assert cue_of["run_outside"] == cue_of["run_inside"] == 0


def test_colour_says_on_which_side_the_mask_is_wrong() -> None:
    small, right, large = cues(disc(52)), cues(TRUE), cues(disc(69))
    assert small["colour_just_outside"] > 1 > right["colour_just_outside"]
    assert large["colour_just_inside"] < 0 < right["colour_just_inside"]
    assert small["missing_largest"] > 5 * max(right["missing_largest"], 0.02)
    assert large["foreign_largest"] > 5 * max(right["foreign_largest"], 0.02)


def test_holes_are_counted_and_measured() -> None:
    mask = TRUE.copy()
    mask[100:120, 130:150] = False
    mask[130:140, 165:175] = False
    cue_of = cues(mask)
    assert cue_of["hole_count"] == pytest.approx(np.log(3), abs=1e-6)
    assert cue_of["hole_share"] ** 2 == pytest.approx(500 / mask.sum(), rel=0.1)
    assert cue_of["hole_largest"] ** 2 == pytest.approx(400 / mask.sum(), rel=0.1)
    assert cue_of["hole_regularity"] > 0.8
    assert cue_of["hole_edge_support"] < -1
    assert cues(TRUE)["hole_count"] == 0


def test_an_edge_supports_a_true_hole() -> None:
    ring = TRUE & ~disc(20)
    assert cues(ring, frame=picture(ring))["hole_edge_support"] > cues(ring)["hole_edge_support"] + 1


def test_a_second_part_is_seen() -> None:
    other = disc(25, x=270)
    cue_of = cues(TRUE | other)
    assert cue_of["part_count"] == pytest.approx(np.log(2), abs=1e-6)
    assert cue_of["part_second"] ** 2 == pytest.approx(other.sum() / (TRUE | other).sum(), rel=0.05)
    assert cue_of["solidity"] < cues(TRUE)["solidity"]
    assert cues(TRUE)["part_second"] == 0


def test_two_bodies_with_a_neck_are_seen() -> None:
    body = disc(50, x=105) | disc(50, x=200)
    assert cues(body, frame=picture(body))["neck_thick"] > 0.5
    assert cues(TRUE)["neck_thick"] == 0


def test_ragged_outlines_are_rough() -> None:
    noise = cv2.GaussianBlur(generator(1, "rough").normal(0, 1, SHAPE).astype(np.float32), (0, 0), 2.0)
    rows, columns = np.ogrid[: SHAPE[0], : SHAPE[1]]
    ragged = np.sqrt((rows - 120) ** 2 + (columns - 160) ** 2) + 30 * noise <= 60
    calm, rough = cues(TRUE), cues(np.asarray(ragged))
    for name in ("roughness", "compactness", "wiggle", "spikes_mid", "dents_mid"):
        assert rough[name] > calm[name]


def test_growing_and_shrinking_round_different_corners() -> None:
    cross = np.zeros(SHAPE, bool)
    cross[40:200, 130:190] = True
    cross[90:150, 80:240] = True
    kernel = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (25, 25))
    grown = cues(cv2.dilate(cross.astype(np.uint8), kernel) > 0)
    shrunk = cues(cv2.erode(cross.astype(np.uint8), kernel) > 0)
    assert grown["spikes_coarse"] < shrunk["spikes_coarse"]
    assert grown["dents_coarse"] > shrunk["dents_coarse"]
    assert grown["turning_skew"] < shrunk["turning_skew"]


def test_straight_cuts_are_seen_but_not_the_frames_border() -> None:
    cut_mask = TRUE.copy()
    cut_mask[:, 180:] = False
    assert cues(cut_mask)["straight_share"] > cues(TRUE)["straight_share"] + 0.1
    half_mask = disc(60, x=0)
    cue_of = cues(half_mask, frame=picture(half_mask))
    assert cue_of["frame_contact"] > 0.2
    assert cue_of["straight_share"] < 0.1


def test_a_notch_is_seen() -> None:
    mask = TRUE.copy()
    mask[112:128, 175:] = False
    assert cues(mask)["notch_largest"] > 0.2 > cues(TRUE)["notch_largest"]


def test_size_and_contrast() -> None:
    assert cues(disc(30))["log_area"] < cues(TRUE)["log_area"]
    assert cues(disc(30))["frame_share"] < cues(TRUE)["frame_share"]
    flat = np.full((*SHAPE, 3), 120, np.uint8)
    assert cues(TRUE, frame=flat)["contrast"] < 0.1 < cues(TRUE)["contrast"]
    assert cues(TRUE, frame=flat)["contrast_weak_share"] == 1


def test_another_object_inside_the_mask_is_a_merge_hint() -> None:
    other = disc(30, x=240)
    both_objects = TRUE | other
    cue_of = cues(both_objects, others=(other,))
    assert cue_of["swallowed"] ** 2 == pytest.approx((other & both_objects).sum() / both_objects.sum(), rel=0.01)
    assert cues(both_objects)["swallowed"] == 0
    assert cues(TRUE, others=(disc(30, x=250),))["touching"] > 0


def test_other_candidates_for_the_same_object_are_no_others() -> None:
    same_object = (disc(55), disc(66), TRUE.copy())
    cue_of = cues(TRUE, others=same_object)
    assert cue_of["swallowed"] == cue_of["overlap"] == cue_of["touching"] == 0


def test_the_order_of_the_others_does_not_matter() -> None:
    others = (disc(20, x=240), disc(25, x=100), disc(10, x=160))
    assert cues(TRUE, others=others) == cues(TRUE, others=others[::-1])


def test_an_empty_mask_has_no_cues() -> None:
    assert measure(FRAME, np.zeros(SHAPE, bool)) is None


def test_catalogue_names_and_ranges_are_sound() -> None:
    names = [cue.name for cue in CUES]
    assert len(set(names)) == len(names)
    assert all(cue.low < cue.high and cue.meaning for cue in CUES)


@settings(deadline=None, max_examples=40)
@given(
    height=st.integers(1, 24),
    width=st.integers(1, 24),
    seed=st.integers(0, 10_000),
    share=st.sampled_from([0.02, 0.3, 0.9, 1.0]),
    grey=st.booleans(),
)
def test_every_mask_that_is_not_empty_has_finite_cues_in_range(
    height: int, width: int, *, seed: int, share: float, grey: bool
) -> None:
    rng = generator(seed, "any")
    mask = rng.random((height, width)) < share
    mask[rng.integers(height), rng.integers(width)] = True
    frame = rng.integers(0, 256, (height, width, 3), dtype=np.uint8)
    if grey:
        frame[:] = frame[..., :1]
    others = (rng.random((height, width)) < 0.5, np.zeros((height, width), bool))
    cue_of = cues(mask, frame=frame, others=others)
    assert list(cue_of) == [cue.name for cue in CUES]
    assert all(np.isfinite(value) for value in cue_of.values())
    assert all(cue.low <= cue_of[cue.name] <= cue.high for cue in CUES)


@pytest.mark.parametrize("turn", [np.fliplr, np.flipud])
def test_mirrored_pictures_give_nearly_the_same_cues(turn: Callable[[np.ndarray], np.ndarray]) -> None:
    mask = TRUE | disc(25, x=255)
    straight_cues, mirrored_cues = (
        cues(mask),
        cues(np.ascontiguousarray(turn(mask)), frame=np.ascontiguousarray(turn(FRAME))),
    )
    for cue in CUES:
        assert straight_cues[cue.name] == pytest.approx(mirrored_cues[cue.name], abs=0.1 * (cue.high - cue.low)), (
            cue.name
        )
