"""What the network sees: right places, right sizes, the same for every mask however odd, and nothing changed."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from auscult.errors import InputError
from auscult.judge.masks.compact.view import (
    CONTEXT_PX,
    CROP_PX,
    CUE_COUNT,
    DEPTH,
    GREY,
    LENGTH,
    MARGIN,
    MEASURES,
    box_round,
    inputs,
    look,
    scaled,
)
from auscult.judge.masks.cues.model import CUES
from auscult.judge.masks.cues.view import resized
from auscult.rng import generator


def disc(size: tuple[int, int], centre: tuple[int, int], radius: int) -> np.ndarray:
    mask = np.zeros(size, np.uint8)
    cv2.circle(mask, centre, radius, 1, -1)
    return mask > 0


def picture(mask: np.ndarray) -> np.ndarray:
    frame = np.full((*mask.shape, 3), 40, np.uint8)
    frame[mask] = (200, 120, 60)
    return frame


def test_the_crop_is_centred_on_the_mask_and_keeps_its_margin() -> None:
    mask = disc((300, 400), (200, 150), 40)
    view = look(picture(mask), mask)
    x0, y0, x1, y1 = view.box
    assert x1 - x0 == y1 - y0 == round(81 * MARGIN)
    assert ((x0 + x1) / 2, (y0 + y1) / 2) == pytest.approx((200.5, 150.5), abs=1)
    share = (view.crop[3] >= GREY).mean()
    assert share == pytest.approx(np.count_nonzero(mask) / (x1 - x0) ** 2, rel=0.03)
    assert tuple(view.crop[:3, 64, 64]) == (200, 120, 60)
    assert view.crop[4, 64, 64] > GREY > view.crop[4, 2, 2]


def test_outside_the_frame_is_grey_and_no_mask() -> None:
    mask = disc((120, 160), (5, 5), 30)
    view = look(picture(mask), mask)
    assert view.box[0] < 0
    assert view.box[1] < 0
    assert tuple(view.crop[:3, 0, 0]) == (GREY, GREY, GREY)
    assert view.crop[3, 0, 0] == 0
    assert tuple(view.context[:3, 0, 0]) == (GREY, GREY, GREY)


def test_the_strip_changes_colour_in_the_middle_of_a_right_outline() -> None:
    mask = disc((300, 400), (200, 150), 60)
    strip = look(picture(mask), mask).strip
    inner, outer = strip[0, : DEPTH // 2 - 2], strip[0, DEPTH // 2 + 2 :]
    assert np.median(inner) == 200
    assert np.median(outer) == 40
    assert (strip[4] == 255).all()


def test_the_strip_shows_how_far_the_outline_lies_off() -> None:
    truth = disc((300, 400), (200, 150), 60)
    small = disc((300, 400), (200, 150), 54)
    strip = look(picture(truth), small).strip
    coloured = (strip[0] >= 120).sum(0)  # steps across the outline, one pixel of the frame each at this size
    assert np.median(coloured) - DEPTH / 2 == pytest.approx(6, abs=1.5)


def test_outlines_of_holes_are_marked() -> None:
    mask = disc((300, 400), (200, 150), 60) & ~disc((300, 400), (200, 150), 25)
    strip = look(picture(mask), mask).strip
    holes = (strip[4, 0] == 0).mean()
    assert holes == pytest.approx(25 / 85, abs=0.05)
    at_holes = strip[3][:, strip[4, 0] == 0]
    assert np.median(at_holes[:6]) == 255
    assert np.median(at_holes[-6:]) == 0


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 90), st.integers(1, 90), st.lists(st.tuples(*[st.integers(0, 89)] * 4), min_size=1, max_size=4))
def test_every_mask_has_a_view(height: int, width: int, boxes: list[tuple[int, int, int, int]]) -> None:
    mask = np.zeros((height, width), bool)
    for x, y, w, h in boxes:
        mask[y % height : y % height + h + 1, x % width : x % width + w + 1] = True
    frame = np.arange(height * width * 3, dtype=np.uint32).reshape(height, width, 3).astype(np.uint8)
    originals = frame.copy(), mask.copy()
    first_view, second_view = look(frame, mask), look(frame, mask)
    assert first_view.crop.shape == (6, CROP_PX, CROP_PX)
    assert first_view.context.shape == (5, CONTEXT_PX, CONTEXT_PX)
    assert first_view.strip.shape == (6, DEPTH, LENGTH)
    assert first_view.cues.shape == (CUE_COUNT,) == (len(CUES) + MEASURES,)
    assert np.isfinite(first_view.cues).all()
    assert (first_view.crop == second_view.crop).all()
    assert (first_view.strip == second_view.strip).all()
    assert (frame == originals[0]).all()
    assert (mask == originals[1]).all()
    x0, y0, x1, y1 = first_view.box
    rows, columns = np.nonzero(mask)
    assert x0 <= columns.min()
    assert columns.max() < x1
    assert y0 <= rows.min()
    assert rows.max() < y1
    assert all(np.isfinite(value).all() for value in inputs([first_view]).values())


@pytest.mark.parametrize("size", [(4000, 6000), (2000, 30)])
def test_large_and_long_frames_are_shrunk_not_kept(size: tuple[int, int]) -> None:
    mask = np.ones(size, bool)
    view = look(np.zeros((*size, 3), np.uint8), mask)
    assert view.crop[3].max() == 255


def test_the_same_object_at_twice_the_size_looks_alike() -> None:
    mask = disc((600, 800), (400, 300), 120)
    half_size = cv2.resize(mask.astype(np.uint8), (400, 300), interpolation=cv2.INTER_NEAREST) > 0
    full_view, half_view = look(picture(mask), mask), look(picture(half_size), half_size)
    assert np.abs(full_view.crop.astype(int) - half_view.crop).mean() < 6


def test_bytes_become_small_numbers_around_zero() -> None:
    assert scaled(np.array([0, 128, 255], np.uint8)).tolist() == [-2.0, 0.0, 127 / 64]


def test_the_box_of_a_speck_is_not_a_speck() -> None:
    mask = np.zeros((50, 50), np.bool_)
    mask[20, 30] = True
    x0, _, x1, _ = box_round(mask)
    assert x1 - x0 == 16


def test_an_empty_mask_has_no_view() -> None:
    with pytest.raises(InputError, match="empty"):
        look(np.zeros((40, 40, 3), np.uint8), np.zeros((40, 40), bool))


@settings(max_examples=300, deadline=None)
@given(
    st.integers(1, 120), st.integers(1, 120), st.integers(1, 125), st.integers(1, 125), st.integers(0, 10_000),
    st.sampled_from([3, None]),
)  # fmt: skip
def test_shrinking_gives_the_bytes_of_area_averages(
    height: int, width: int, rows: int, columns: int, seed: int, channels: int | None
) -> None:
    shape = (height, width) if channels is None else (height, width, channels)
    picture = generator(seed, "picture").integers(0, 256, shape, dtype=np.uint8)
    expected = cv2.resize(picture, (columns, rows), interpolation=cv2.INTER_AREA)
    assert np.array_equal(resized(picture, (columns, rows), shrinks=True), expected)
