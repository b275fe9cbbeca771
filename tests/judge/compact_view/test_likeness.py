"""Likeness: the inside is like the inside, the rest is not, and a band on the wrong side of an outline shows."""

from __future__ import annotations

import cv2
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from auscult.judge.masks.compact.view import likeness_of, look
from auscult.rng import generator

EVEN = 128


def scene(radius: int) -> tuple[np.ndarray, np.ndarray]:
    """A noisy reddish disc of radius 50 on noisy green, and a mask of another radius on it."""
    rows, columns = np.ogrid[:300, :300]
    distance = np.hypot(rows - 150, columns - 150)
    frame = np.where((distance <= 50)[..., None], (190, 90, 70), (70, 130, 80)) + generator(0, "noise").normal(
        0, 12, (300, 300, 3)
    )
    return np.clip(frame, 0, 255).astype(np.uint8), distance <= radius


def test_inside_is_like_the_inside_and_the_rest_is_not() -> None:
    view = look(*scene(50))
    likeness, inside = view.crop[5], view.crop[3] > 250
    assert np.median(likeness[inside]) > EVEN + 60
    assert np.median(likeness[view.crop[3] < 5]) < EVEN - 60
    assert np.median(view.context[4][view.context[3] > 250]) > EVEN + 60


def test_a_band_outside_that_belongs_to_the_object_shows() -> None:
    strip = look(*scene(42)).strip[5]
    assert np.median(strip[13:18]) > EVEN  # outside the outline, and still like the inside
    assert np.median(look(*scene(50)).strip[5][14:]) < EVEN


def test_a_band_inside_that_does_not_belong_shows() -> None:
    strip = look(*scene(58)).strip[5]
    assert np.median(strip[6:11]) < EVEN
    assert np.median(look(*scene(50)).strip[5][:10]) > EVEN


def test_one_colour_everywhere_says_nothing() -> None:
    frame = np.full((80, 80, 3), 90, np.uint8)
    mask = np.zeros((80, 80), bool)
    mask[20:60, 20:60] = True
    inside = look(frame, mask).crop[5][40:88, 40:88]
    assert (np.abs(inside.astype(int) - EVEN) < 20).all()


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from(["none", "all", "few"]))
def test_any_crop_has_a_likeness(seed: int, held: str) -> None:
    rng = generator(seed, "crop")
    crop = rng.integers(0, 256, (5, 128, 128), dtype=np.uint8)
    crop[3] = {"none": 0, "all": 255, "few": 0}[held]
    if held == "few":
        crop[3, 60:62, 60:62] = 255
    signed_distance = cv2.distanceTransform((crop[3] >= 128).astype(np.uint8), cv2.DIST_L2, 3)
    crop[4] = np.clip(128 + signed_distance, 0, 255).astype(np.uint8)
    likeness = likeness_of(crop)
    assert likeness(crop[:3]).shape == (128, 128)
    assert likeness(rng.integers(0, 256, (3, 24, 256), dtype=np.uint8)).shape == (24, 256)
