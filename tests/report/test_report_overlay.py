"""Masks drawn on frames: what stays visible, and shapes that break naive drawing."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from auscult.report.overlay import crop, overlay, shrunk, small_overlay

GREY = np.full((120, 200, 3), 128, np.uint8)


def thumbnail(frame: np.ndarray, mask: np.ndarray, *, width_px: int = 160) -> np.ndarray:
    return small_overlay(shrunk(frame, width_px=width_px), mask)


def _disc(shape: tuple[int, int] = (120, 200), radius: int = 30) -> np.ndarray:
    y, x = np.mgrid[: shape[0], : shape[1]]
    return (y - shape[0] // 2) ** 2 + (x - shape[1] // 2) ** 2 <= radius**2


def test_pixels_away_from_the_mask_keep_their_value_and_inside_ones_take_the_colour() -> None:
    tinted = overlay(GREY, _disc())
    assert (tinted[:20] == 128).all()
    red, green, blue = tinted[60, 100].astype(int)
    assert red > blue > 128 > green


def test_the_tint_keeps_the_picture_readable() -> None:
    frame = GREY.copy()
    frame[:, ::2] = 60
    tinted = overlay(frame, np.ones((120, 200), bool), outline=False)
    assert int(tinted[60, 101, 1]) - int(tinted[60, 100, 1]) > 25


@pytest.mark.parametrize("background", [0, 128, 255])
def test_the_outline_stands_out_from_any_background(background: int) -> None:
    frame = np.full((120, 200, 3), background, np.uint8)
    tinted = overlay(frame, _disc()).astype(int)
    row = tinted[60].sum(axis=1) / 3
    assert row.max() - row.min() > 200


def test_without_outline_only_the_mask_changes() -> None:
    mask = _disc()
    tinted = overlay(GREY, mask, outline=False)
    assert ((tinted != 128).any(axis=2) == mask).all()


def test_the_input_frame_is_left_as_it_was() -> None:
    frame = GREY.copy()
    overlay(frame, _disc())
    thumbnail(frame, _disc())
    crop(frame, _disc(), (10, 10, 60, 60))
    assert (frame == 128).all()


@settings(deadline=None, max_examples=60)
@given(st.integers(1, 40), st.integers(1, 40), st.integers(0, 2**32 - 1), st.sampled_from(["none", "all", "some"]))
def test_any_size_and_any_mask_can_be_drawn(height: int, width: int, seed: int, fill: str) -> None:
    rng = np.random.default_rng(seed)
    frame = rng.integers(0, 256, (height, width, 3), np.uint8)
    mask = {"none": np.zeros, "all": np.ones}.get(fill, lambda shape, _: rng.random(shape) < 0.3)((height, width), bool)
    assert overlay(frame, mask).shape == frame.shape
    small = thumbnail(frame, mask, width_px=16)
    assert small.shape[1] <= 16
    assert small.shape[0] <= 32
    assert max(crop(frame, mask, None, size_px=64).shape[:2]) == 64
    assert max(crop(frame, mask, (-5, 3, 400, 500), size_px=64).shape[:2]) == 64
    if fill == "none":
        assert (overlay(frame, mask) == frame).all()


def test_a_thumbnail_keeps_the_shape_of_the_frame() -> None:
    assert thumbnail(np.zeros((480, 854, 3), np.uint8), np.zeros((480, 854), bool)).shape == (90, 160, 3)


def test_a_mask_of_one_pixel_is_visible_in_a_thumbnail() -> None:
    frame = np.full((2000, 3000, 3), 128, np.uint8)
    mask = np.zeros((2000, 3000), bool)
    mask[1234, 2345] = True
    assert (thumbnail(frame, mask) != 128).any()


def test_a_crop_is_centred_on_the_region_and_marks_it() -> None:
    frame = np.full((480, 640, 3), 90, np.uint8)
    frame[100:140, 100:140] = (10, 200, 10)
    marked_crop = crop(frame, np.zeros((480, 640), bool), (100, 100, 140, 140))
    assert marked_crop.shape == (360, 480, 3)
    assert marked_crop[180, 240].tolist() == [10, 200, 10]
    assert (marked_crop == 255).any()
    assert not (crop(frame, np.zeros((480, 640), bool), None) == 255).any()


def test_a_region_outside_the_frame_is_ignored() -> None:
    frame = np.full((48, 64, 3), 90, np.uint8)
    mask = np.zeros((48, 64), bool)
    assert (crop(frame, mask, (100, 100, 140, 140)) == crop(frame, mask, None)).all()


@pytest.mark.parametrize("draw", [overlay, lambda frame, mask: crop(frame, mask, None)])
def test_sizes_that_differ_are_refused_with_both(draw: object) -> None:
    with pytest.raises(ValueError, match=r"\(120, 200, 3\).*\(4, 5\)"):
        draw(GREY, np.zeros((4, 5), bool))  # type: ignore[operator]
