import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from auscult.arrays.boundary import boundary_of, match, tolerance_px
from auscult.arrays.boxes import box_of, grown, union_box, window

SHAPES = st.tuples(st.integers(1, 14), st.integers(1, 19))
MASKS = SHAPES.flatmap(lambda shape: hnp.arrays(np.bool_, shape))
PAIRS = SHAPES.flatmap(lambda shape: st.tuples(hnp.arrays(np.bool_, shape), hnp.arrays(np.bool_, shape)))


def slow_boundary(mask):
    """The definition, pixel by pixel: differs from right, below, below right; beyond the frame nothing changes."""
    height, width = mask.shape
    out = np.zeros_like(mask)
    for y in range(height):
        for x in range(width):
            below, right = min(y + 1, height - 1), min(x + 1, width - 1)
            neighbours = (mask[y, right], mask[below, x], mask[below, right])
            out[y, x] = any(bool(value) != bool(mask[y, x]) for value in neighbours)
    return out


def slow_dilation(mask, radius):
    out = np.zeros_like(mask)
    for y in range(mask.shape[0]):
        for x in range(mask.shape[1]):
            ys, xs = np.nonzero(mask)
            out[y, x] = bool(((ys - y) ** 2 + (xs - x) ** 2 <= radius**2).any())
    return out


@given(MASKS)
@settings(deadline=None, max_examples=60)
def test_boundary_is_the_definition_pixel_by_pixel(mask):
    assert np.array_equal(boundary_of(mask), slow_boundary(mask))


@given(PAIRS, st.integers(0, 25))
@settings(deadline=None, max_examples=60)
def test_match_counts_what_brute_force_counts(pair, radius):
    first_boundary, second_boundary = (slow_boundary(mask) for mask in pair)
    match_counts = match(*pair, radius)
    assert (match_counts.first, match_counts.second) == (first_boundary.sum(), second_boundary.sum())
    assert match_counts.first_matched == (first_boundary & slow_dilation(second_boundary, radius)).sum()
    assert match_counts.second_matched == (second_boundary & slow_dilation(first_boundary, radius)).sum()


@given(PAIRS, st.integers(0, 6))
@settings(deadline=None, max_examples=60)
def test_a_crop_with_one_pixel_round_both_masks_gives_the_same_match(pair, radius):
    first, second = (np.pad(mask, ((3, 0), (0, 4))) for mask in pair)
    box = union_box(box_of(first), box_of(second))
    if box is None:
        return
    crop = window(grown(box, 1, first.shape))
    assert match(first[crop], second[crop], radius) == match(first, second, radius)


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        ((480, 854), 8),
        ((1080, 1920), 18),
        ((2160, 3840), 36),
        ((240, 432), 4),
        ((1, 1), 1),
        ((75, 100), 1),
        ((600, 800), 8),
    ],
)
def test_tolerance_is_the_diagonals_share_rounded_up(shape, expected):
    assert tolerance_px(shape) == expected


def test_a_frame_filling_mask_has_no_boundary_and_matches_an_empty_one():
    full, empty = np.ones((6, 7), bool), np.zeros((6, 7), bool)
    assert not boundary_of(full).any()
    assert match(full, empty, 1).f == 1.0


@pytest.mark.parametrize("corner", [(0, 0), (0, 8), (5, 0), (5, 8), (3, 4)])
def test_one_pixel_anywhere_matches_itself_and_not_nothing(corner):
    mask = np.zeros((6, 9), bool)
    mask[corner] = True
    itself, no_match = match(mask, mask, 1), match(mask, np.zeros_like(mask), 1)
    assert itself.f == 1.0
    assert (no_match.precision, no_match.recall, no_match.f) == (0.0, 1.0, 0.0)


def test_boundaries_apart_by_the_radius_match_and_by_more_do_not():
    left, right = np.zeros((20, 60), bool), np.zeros((20, 60), bool)
    left[:, :10] = True
    right[:, :15] = True
    assert match(left, right, 5).f == 1.0
    assert match(left, right, 4).f == 0.0


def test_shapes_that_differ_are_refused():
    with pytest.raises(ValueError, match=r"\(3, 4\) and \(4, 3\)"):
        match(np.zeros((3, 4), bool), np.zeros((4, 3), bool), 1)
