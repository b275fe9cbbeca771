"""Where a mask is likely wrong: which pixels are meant, how many those are, and that a reader can tell them apart."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from auscult.arrays.error_map import error_map_of, painted
from auscult.report.overlay import (
    EXTRA_COLOUR,
    MISSING_COLOUR,
    Shares,
    crop,
    draw,
    parts,
    shares,
    shrunk,
    small_overlay,
)
from auscult.types import Box, ErrorMap

GREY = np.full((96, 128, 3), 128, np.uint8)


def thumbnail(
    frame: np.ndarray, mask: np.ndarray, *, width_px: int = 160, errors: ErrorMap | None = None
) -> np.ndarray:
    return small_overlay(shrunk(frame, width_px=width_px), mask, errors=errors)


def _mask() -> np.ndarray:
    mask = np.zeros((96, 128), bool)
    mask[32:64, 32:64] = True
    return mask


def _map() -> ErrorMap:
    """Cells of 4 px over x 16..80, y 16..80: 16 px right of the mask are missing, its lowest 8 rows are too much."""
    values = np.zeros((16, 16), np.float32)
    values[4:12, 12:16] = 1
    values[10:12, 4:12] = -1
    return error_map_of(values, (16, 16, 80, 80))


def _grey(colour: tuple[int, int, int]) -> float:
    return 0.299 * colour[0] + 0.587 * colour[1] + 0.114 * colour[2]


def test_missing_lies_outside_the_mask_and_too_much_inside() -> None:
    missing, extra = parts(_map(), _mask(), (0, 0, 128, 96))
    assert missing[40:56, 66:78].all()
    assert not missing[:30].any()
    assert not (missing & _mask()).any()
    assert extra[58:64, 34:62].all()
    assert not (extra & ~_mask()).any()
    assert not extra[:54].any()


def test_the_amounts_are_those_of_the_pixels() -> None:
    shares_found = shares(_map(), _mask())
    assert shares_found.extra == pytest.approx(8 / 32, abs=0.03)
    assert shares_found.missing == pytest.approx(512 / (1024 - 256 + 512), abs=0.06)
    no_shares = shares(error_map_of(np.zeros((16, 16), np.float32), (16, 16, 80, 80)), _mask())
    assert (no_shares.missing, no_shares.extra) == (0, 0)
    assert shares(_map(), np.zeros((96, 128), bool)).missing == 1


def test_a_map_of_many_cells_on_one_pixel_costs_no_more_than_its_cells() -> None:
    """A cell is 1/10,000 pixel of the picture: whatever is wrong anywhere in the map is wrong in that pixel."""
    values = np.zeros((512, 512), np.float32)
    values[500, 3] = 1
    error_map, mask = error_map_of(values, (9, 9, 10, 10)), np.zeros((64, 64), bool)
    tracemalloc.start()
    try:
        missing, extra = parts(error_map, mask, (0, 0, 1250, 1250))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert missing.sum() == missing[0, 0] == 1
    assert not extra.any()
    assert peak < 16 << 20


def test_at_the_size_of_the_frame_the_pixels_are_those_of_the_painted_map() -> None:
    rng = np.random.default_rng(2)
    error_map = error_map_of(rng.uniform(-1, 1, (12, 12)).astype(np.float32), (-10, 20, 86, 116))
    values, mask = painted(error_map, (96, 128)), rng.random((96, 128)) < 0.5
    missing, extra = parts(error_map, mask, (0, 0, 128, 96))
    clear = np.abs(np.abs(values) - 0.5) > 1e-3
    inside = np.zeros_like(mask)
    inside[20:, :86] = True
    assert ((missing == ((values >= 0.5) & ~mask)) | ~clear | ~inside).all()
    assert ((extra == ((values <= -0.5) & mask)) | ~clear | ~inside).all()
    assert not (missing | extra)[~inside].any()


@settings(deadline=None, max_examples=40)
@given(st.integers(1, 40), st.integers(1, 40), st.integers(-50, 50), st.integers(1, 90), st.integers(1, 24), st.data())
def test_any_map_on_any_mask_can_be_drawn(
    height: int, width: int, start: int, length: int, side: int, data: st.DataObject
) -> None:
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    frame = rng.integers(0, 256, (height, width, 3), np.uint8)
    mask = rng.random((height, width)) < 0.4
    values = rng.uniform(-1, 1, (side, side)).astype(np.float32)
    error_map = error_map_of(values, (start, start + 3, start + length, start + 3 + length))
    missing, extra = parts(error_map, mask, (0, 0, width, height))
    assert not (missing & mask).any()
    assert not (extra & ~mask).any()
    assert 0 <= shares(error_map, mask).missing <= 1
    assert 0 <= shares(error_map, mask).extra <= 1
    assert thumbnail(frame, mask, width_px=16, errors=error_map).shape == thumbnail(frame, mask, width_px=16).shape
    assert max(crop(frame, mask, None, size_px=48, errors=error_map).shape[:2]) == 48


def test_both_kinds_differ_in_hue_and_in_grey_and_in_pattern() -> None:
    assert _grey(EXTRA_COLOUR) - _grey(MISSING_COLOUR) > 80
    full_mask = np.ones((60, 60), bool)
    blue, yellow = GREY[:60, :60].copy(), GREY[:60, :60].copy()
    draw(blue, full_mask, ~full_mask, period_px=10)
    draw(yellow, ~full_mask, full_mask, period_px=10)
    assert blue[..., 2].mean() - blue[..., 0].mean() > 40
    assert yellow[..., 0].mean() - yellow[..., 2].mean() > 40
    lightest, darkest = blue.min(axis=2) > 250, yellow.max(axis=2) < 30
    assert 0.1 < lightest.mean() < 0.5
    assert 0.03 < darkest.mean() < 0.5
    assert not (lightest & darkest).all()


def test_a_thin_error_is_still_seen_in_a_thumbnail() -> None:
    frame = np.full((960, 1280, 3), 128, np.uint8)
    mask = np.zeros((960, 1280), bool)
    mask[300:600, 300:600] = True
    values = np.zeros((100, 100), np.float32)
    values[10:90, 80] = 1
    error_map = error_map_of(values, (250, 250, 690, 690))
    plain, with_errors = thumbnail(frame, mask).astype(int), thumbnail(frame, mask, errors=error_map).astype(int)
    column = with_errors[45:70, 74:78]
    assert (column[..., 2] - column[..., 0] > 60).any()
    assert not (plain[..., 2] - plain[..., 0] > 60).any()


def test_a_frame_made_small_once_gives_the_same_thumbnails() -> None:
    rng = np.random.default_rng(0)
    frame = rng.integers(0, 256, (96, 400, 3), np.uint8)
    mask = np.zeros((96, 400), bool)
    mask[20:70, 100:300] = True
    small = shrunk(frame)
    copy = small.copy()
    assert (small_overlay(small, mask) == thumbnail(frame, mask)).all()
    assert (small == copy).all()


@pytest.mark.parametrize("box", [(-9, -9, -2, -2), (4, -6, 9, -1), (40, 40, 52, 52)], ids=str)
def test_a_map_beside_the_frame_says_nothing_of_it(box: Box) -> None:
    error_map = ErrorMap(box=box, side=1, levels=bytes([250]))
    assert shares(error_map, np.ones((12, 16), dtype=np.bool_)) == Shares(missing=0.0, extra=0.0)
