"""What `masks.prompted.v1` sees: the crop round a candidate, also at the frame's border, and numbers of its shape."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from auscult.errors import InputError
from auscult.judge.masks.compact.view import scaled
from auscult.judge.masks.prompted.view import (
    SHAPE,
    Lens,
    box_round,
    inputs,
    look,
    looks,
    picture,
    shape_of,
)
from auscult.rng import generator
from auscult.types import Mask

CLOSE, WIDE = Lens(side=256, margin=1.5), Lens(side=192, margin=2.0)
SIZE = (90, 120)
FRAME = generator(1, "frame").integers(0, 256, (*SIZE, 3), dtype=np.uint8)
GREY = 128


def held_mask(rows: slice, columns: slice) -> Mask:
    mask = np.zeros(SIZE, np.bool_)
    mask[rows, columns] = True
    return mask


MASKS = {
    "in the middle": held_mask(slice(30, 60), slice(40, 90)),
    "one pixel": held_mask(slice(7, 8), slice(100, 101)),
    "one pixel in the corner": held_mask(slice(0, 1), slice(0, 1)),
    "at the border": held_mask(slice(50, 90), slice(0, 30)),
    "whole frame": held_mask(slice(None), slice(None)),
    "a row": held_mask(slice(40, 41), slice(None)),
}


@pytest.mark.parametrize("lens", [CLOSE, WIDE])
@pytest.mark.parametrize("name", MASKS)
def test_every_mask_gives_a_view_of_one_form(name: str, lens: Lens) -> None:
    view = look(FRAME, MASKS[name], lens)
    assert (view.crop.shape, view.candidate.shape) == ((3, lens.side, lens.side), (lens.side // 2, lens.side // 2))
    assert (view.strip.shape, view.shape.shape) == ((6, 24, 256), (SHAPE,))
    assert {view.crop.dtype, view.candidate.dtype, view.strip.dtype} == {np.dtype(np.uint8)}
    assert view.shape.dtype == np.float32
    assert view.candidate.any()
    x0, y0, x1, y1 = view.box
    assert x1 - x0 == y1 - y0
    rows, columns = np.nonzero(MASKS[name])
    assert x0 <= columns.min() < columns.max() + 1 <= x1
    assert y0 <= rows.min() < rows.max() + 1 <= y1
    longest = max(np.ptp(rows), np.ptp(columns)) + 1
    assert x1 - x0 == pytest.approx(max(longest * lens.margin, 16), abs=1)


@pytest.mark.parametrize("lens", [CLOSE, WIDE, Lens(side=32, margin=4.0)])
@pytest.mark.parametrize("name", ["one pixel in the corner", "at the border", "whole frame", "a row"])
def test_beyond_the_frame_lies_grey_and_no_mask(name: str, lens: Lens) -> None:
    view = look(FRAME, MASKS[name], lens)
    x0, y0, x1, _ = view.box
    for pixels, outside in ((view.crop, GREY), (view.candidate[None], 0)):
        cell = (x1 - x0) / pixels.shape[1]
        middles = (np.arange(pixels.shape[1]) + 0.5) * cell
        margin_px = max(cell, 1.0)  # the frame's edge is blurred by a cell or a pixel
        across = (x0 + middles < -margin_px) | (x0 + middles > SIZE[1] + margin_px)
        down_outside = (y0 + middles < -margin_px) | (y0 + middles > SIZE[0] + margin_px)
        assert (down_outside | across).any()
        assert (pixels[:, down_outside] == outside).all()
        assert (pixels[:, :, across] == outside).all()
        assert (pixels[:, ~down_outside][:, :, ~across] != outside).any()


def test_the_crop_is_the_frame_and_the_candidate_the_mask_at_their_places() -> None:
    mask = held_mask(slice(20, 68), slice(30, 78))
    view = look(FRAME, mask, Lens(side=96, margin=2.0))
    x0, y0, x1, y1 = view.box
    assert (x0, y0, x1, y1) == (6, -4, 102, 92)
    assert np.array_equal(view.crop[:, 4:94], FRAME[:, 6:102].transpose(2, 0, 1))
    assert np.array_equal(view.candidate[2:47] == 255, mask[:, 6:102][::2, ::2])


def test_several_lenses_see_what_each_sees_alone() -> None:
    mask = MASKS["at the border"]
    views_together = looks(FRAME, mask, (CLOSE, WIDE))
    for lens, view in zip((CLOSE, WIDE), views_together, strict=True):
        alone = look(FRAME, mask, lens)
        for name in ("crop", "candidate", "strip", "shape"):
            assert np.array_equal(getattr(view, name), getattr(alone, name))
        assert view.box == alone.box
    assert views_together[0].box != views_together[1].box
    assert np.array_equal(views_together[0].strip, views_together[1].strip)


def test_inputs_are_floats_in_the_order_given() -> None:
    views = [look(FRAME, MASKS[name], WIDE) for name in ("in the middle", "at the border")]
    input_arrays = inputs(views)
    assert {name: (value.shape, value.dtype) for name, value in input_arrays.items()} == {
        "crop": ((2, 3, 192, 192), np.float32), "candidate": ((2, 1, 96, 96), np.float32),
        "strip": ((2, 6, 24, 256), np.float32), "shape": ((2, SHAPE), np.float32),
    }  # fmt: skip
    for index, view in enumerate(views):
        assert np.allclose(input_arrays["crop"][index], view.crop / 127.5 - 1, atol=1e-6)
        assert np.allclose(input_arrays["candidate"][index, 0], view.candidate / 255)
        assert np.allclose(input_arrays["strip"][index], (view.strip.astype(float) - 128) / 64)
        assert np.array_equal(input_arrays["shape"][index], view.shape)


def test_bytes_become_what_the_layers_take() -> None:
    assert picture(np.array([0, 255], np.uint8)).tolist() == [-1.0, 1.0]
    assert scaled(np.array([0, 128, 192], np.uint8)).tolist() == [-2.0, 0.0, 1.0]


def test_an_empty_mask_is_refused() -> None:
    with pytest.raises(InputError, match="empty"):
        look(FRAME, np.zeros(SIZE, np.bool_), CLOSE)


@settings(deadline=None)
@given(arrays(np.bool_, st.tuples(st.integers(1, 12), st.integers(1, 12))).filter(np.any))
def test_every_shape_has_finite_numbers(mask: Mask) -> None:
    shape_values = shape_of(mask)
    assert shape_values.shape == (SHAPE,)
    assert np.isfinite(shape_values).all()
    assert np.abs(shape_values).max() <= 4
    assert np.array_equal(shape_values, shape_of(np.asfortranarray(mask)))
    x0, y0, x1, y1 = box_round(mask, 1.5)
    assert x1 - x0 == y1 - y0 >= 16


def test_the_numbers_say_what_they_are_of() -> None:
    size, _, aspect, boxed, hull, roundness, parts, largest, touched, rim = range(SHAPE)
    square, wide = shape_of(held_mask(slice(20, 60), slice(20, 60))), shape_of(held_mask(slice(20, 30), slice(20, 100)))
    assert square[aspect] == 0 < wide[aspect]
    assert square[boxed] == 1
    assert square[size] > wide[size]
    assert square[size] == pytest.approx(np.log(1600 / (90 * 120)) / 2 + 1.5)
    two_parts = held_mask(slice(20, 60), slice(20, 40)) | held_mask(slice(20, 60), slice(70, 100))
    assert shape_of(two_parts)[parts] == pytest.approx(np.log(2))
    assert 0.5 < shape_of(two_parts)[largest] < square[largest] == 1
    assert shape_of(two_parts)[hull] < square[hull]
    corner = shape_of(held_mask(slice(0, 40), slice(0, 40)))
    assert (square[touched], corner[touched]) == (0, 1)
    assert corner[rim] == square[rim]  # of its own box
    disc = np.zeros((90, 120), np.uint8)
    cv2.circle(disc, (60, 45), 30, (1,), -1)
    assert shape_of(disc.view(np.bool_))[roundness] > square[roundness] > wide[roundness]
