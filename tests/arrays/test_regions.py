"""Parts, holes and distances against definitions written out pixel by pixel."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from auscult.arrays import regions
from auscult.types import Mask

small_masks = hnp.arrays(np.bool_, hnp.array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=11))


def nearest(mask: Mask, other: Mask) -> np.ndarray:
    """Distance of every pixel of ``mask`` to the nearest of ``other``, the slow way; 0 off ``mask``."""
    result = np.zeros(mask.shape)
    spots = np.argwhere(other)
    for row, column in np.argwhere(mask):
        result[row, column] = np.sqrt(((spots - (row, column)) ** 2).sum(axis=1).min()) if len(spots) else np.inf
    return result


@settings(deadline=None, max_examples=60)
@given(small_masks)
def test_distances_are_exact(mask: Mask) -> None:
    np.testing.assert_allclose(regions.depth(mask), nearest(mask, ~mask), rtol=1e-6)
    np.testing.assert_allclose(regions.reach(mask), nearest(~mask, mask), rtol=1e-6)


@settings(deadline=None, max_examples=40)
@given(small_masks)
def test_frame_as_outline_is_padding(mask: Mask) -> None:
    padded = np.pad(mask, 1)
    np.testing.assert_allclose(
        regions.depth(mask, frame_is_outline=True), nearest(padded, ~padded)[1:-1, 1:-1], rtol=1e-6
    )


@settings(deadline=None, max_examples=40)
@given(small_masks, st.floats(0.5, 6.0))
def test_bands_lie_on_their_side(mask: Mask, width_px: float) -> None:
    inner, outer = mask & (regions.depth(mask) <= width_px), ~mask & (regions.reach(mask) <= width_px)
    assert not (inner & ~mask).any()
    assert not (outer & mask).any()
    if mask.any() and not mask.all() and width_px >= 1:
        assert inner.any()
        assert outer.any()


@settings(deadline=None, max_examples=40)
@given(small_masks)
def test_parts_cover_the_mask(mask: Mask) -> None:
    labels, areas = regions.components(mask)
    assert np.array_equal(labels > 0, mask)
    assert areas.tolist() == [int((labels == label).sum()) for label in range(1, len(areas) + 1)]
    assert regions.largest(mask).sum() == (areas.max() if len(areas) else 0)


def test_diagonal_neighbours_touch_only_with_eight() -> None:
    mask = np.eye(3, dtype=bool)
    assert regions.components(mask)[1].tolist() == [3]
    assert regions.components(mask, connectivity=4)[1].tolist() == [1, 1, 1]


@settings(deadline=None, max_examples=60)
@given(small_masks)
def test_holes_are_the_background_parts_away_from_the_frame(mask: Mask) -> None:
    labels, areas = regions.components(~mask, connectivity=4)
    rim = np.ones(mask.shape, bool)
    rim[1:-1, 1:-1] = False
    open_labels = set(labels[rim].tolist())
    closed_labels = [label for label in range(1, len(areas) + 1) if label not in open_labels]
    assert np.array_equal(regions.holes(mask), np.isin(labels, closed_labels))


@pytest.mark.parametrize("shape", [(0, 0), (0, 5), (5, 0)])
def test_no_pixels(shape: tuple[int, int]) -> None:
    mask = np.zeros(shape, bool)
    labels, areas = regions.components(mask)
    assert labels.shape == shape
    assert areas.size == 0
    assert regions.largest(mask).shape == regions.holes(mask).shape == regions.depth(mask).shape == shape


def test_a_view_is_read_as_it_is() -> None:
    mask = np.zeros((20, 20), bool)
    mask[4:16, 4:16] = True
    mask[8, 8] = False
    view = mask[::2, ::-1]
    assert np.array_equal(regions.depth(view), regions.depth(view.copy()))
    assert np.array_equal(regions.holes(view), regions.holes(view.copy()))


def test_the_last_bit_does_not_depend_on_the_number_of_threads() -> None:
    mask = cv2.GaussianBlur(np.random.default_rng(0).random((301, 457)).astype(np.float32), (0, 0), 9) > 0.5
    before = cv2.getNumThreads()
    try:
        cv2.setNumThreads(1)
        one_thread_depth = regions.depth(mask)
        cv2.setNumThreads(4)
        four = regions.depth(mask)
    finally:
        cv2.setNumThreads(before)
    assert np.array_equal(one_thread_depth, four)
