"""Errors of segmenters made of the picture's own segments: what each kind takes away, adds, and promises."""

from __future__ import annotations

from collections.abc import Callable

import cv2
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from auscult.rng import generator
from auscult.train.candidates import CandidateScene
from auscult.train.candidates.base import Draft, Maker, Work
from auscult.train.candidates.mixture import working
from auscult.train.candidates.segments import (
    boxed,
    clicked,
    colour_part,
    inner_part,
    stray,
    superpixel_union,
    superpixels,
    together,
)
from auscult.types import Mask

SHAPE = (120, 160)
NOISE = generator(0, "noise").integers(0, 256, (*SHAPE, 3), dtype=np.uint8)
KINDS: dict[str, Maker] = {
    maker.__name__: maker for maker in (inner_part, colour_part, clicked, superpixel_union, boxed, stray)
}


def work() -> Work:
    """A thing of two flat colours, upper and lower half, beside another of one colour, on a flat ground."""
    frame = np.full((*SHAPE, 3), (90, 110, 80), np.uint8)
    frame[20:100, 20:80] = (200, 60, 40)
    frame[60:100, 20:80] = (40, 60, 200)
    frame[30:90, 110:150] = (230, 220, 60)
    mask, other = np.zeros(SHAPE, np.bool_), np.zeros(SHAPE, np.bool_)
    mask[20:100, 20:80] = True
    other[30:90, 110:150] = True
    return working(CandidateScene(frame=frame, mask=mask, others=(other,)))


def drafts_of(kind: Maker, count: int = 12) -> tuple[Work, list[tuple[Draft, Mask]]]:
    """Drafts of a kind that came about, each beside its mask over the whole picture."""
    work_ = work()
    drafts = [draft for seed in range(count) if (draft := kind(work_, generator(seed, "segments"))) is not None]
    assert len(drafts) >= count / 3, "the object hardly ever allows this kind"
    return work_, [(draft, work_.whole(draft.mask)) for draft in drafts]


def share(part: Mask, reference: Mask) -> float:
    return float(np.count_nonzero(part) / np.count_nonzero(reference))


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_follows_from_its_generator_alone(kind: str) -> None:
    masks = [[mask for _, mask in drafts_of(KINDS[kind], 6)[1]] for _ in range(2)]
    assert all(np.array_equal(mask, same_mask) for mask, same_mask in zip(*masks, strict=True))
    assert any(not np.array_equal(masks[0][0], mask) for mask in masks[0][1:])


@pytest.mark.parametrize("kind", [inner_part, colour_part])
def test_parts_only_take_away_and_are_cutouts(kind: Maker) -> None:
    work_, drafts = drafts_of(kind)
    for draft, mask in drafts:
        assert draft.defect == "cutout"
        assert not (mask & ~work_.truth).any()
        assert 0.12 <= share(mask, work_.truth) <= 0.93


@pytest.mark.parametrize("kind", [inner_part, colour_part])
def test_parts_end_along_the_inner_edge(kind: Maker) -> None:
    work_, drafts = drafts_of(kind, 20)
    upper = work_.truth.copy()
    upper[60:] = False
    one_colour = [
        mask
        for _, mask in drafts
        if min(share(mask ^ part, work_.truth) for part in (upper, work_.truth & ~upper)) < 0.1
    ]
    assert one_colour, "no part is one of the two colours"


def test_a_box_is_roughly_the_objects_box() -> None:
    _, drafts = drafts_of(boxed)
    for draft, mask in drafts:
        x, y, width, height = cv2.boundingRect(mask.view(np.uint8))
        assert draft.defect is None
        assert np.allclose((x, y, x + width, y + height), (20, 20, 80, 100), atol=0.2 * 80)
        assert share(mask, np.ones((height, width), np.bool_)) > 0.7  # an ellipse fills pi / 4 of its box
    assert {share(mask, mask | work().truth) > 0.9 for _, mask in drafts} == {True, False}


def test_a_union_of_superpixels_leaves_out_or_leaks_and_has_no_type() -> None:
    work_, drafts = drafts_of(superpixel_union)
    assert all(draft.defect is None and work_.iou(mask) >= 0.05 for draft, mask in drafts)
    assert any((mask & ~work_.truth).any() for _, mask in drafts)
    assert any((work_.truth & ~mask).any() for _, mask in drafts)


def test_stray_pieces_lie_outside_and_the_object_stays_mostly_whole() -> None:
    work_, drafts = drafts_of(stray)
    for draft, mask in drafts:
        extra = mask & ~work_.truth
        assert draft.defect is None
        assert np.count_nonzero(extra) > 0.01 * work_.area_px
        assert share(mask & work_.truth, work_.truth) > 0.6


def test_of_two_defects_each_takes_and_adds_its_own() -> None:
    work_ = work()
    missing, gained = np.zeros((2, *SHAPE), np.bool_), np.zeros((2, *SHAPE), np.bool_)
    missing[0, 20:40], missing[1, :, 20:30] = True, True
    gained[0, 105:110], gained[1, 100:107] = True, True
    first, other = ((work_.truth & ~missing[place]) | gained[place] for place in range(2))
    over_box = other[work_.box[1] : work_.box[3], work_.box[0] : work_.box[2]]
    combined = together(_always(first), _always(over_box))(work_, generator(0))
    assert combined is not None
    expected = (work_.truth & ~missing.any(axis=0)) | gained[0] | (work_.whole(over_box) & gained[1])
    assert np.array_equal(combined.mask, expected)
    assert combined.defect is None
    assert together(_always(first), lambda _work, _rng: None)(work_, generator(0)) is None
    assert together(lambda _work, _rng: None, _always(first))(work_, generator(0)) is None


def _always(mask: Mask) -> Callable[[Work, np.random.Generator], Draft]:
    return lambda _work, _rng: Draft(mask, "cutout")


@settings(deadline=None, max_examples=40)
@given(
    st.tuples(st.integers(0, 90), st.integers(0, 120), st.integers(12, 60), st.integers(12, 80)),
    st.floats(0.1, 0.6),
    st.integers(0, 2**32),
)
@example((4, 4, 40, 40), 0.15, 13)  # a corner that the line between two segments runs into
def test_every_pixel_has_a_segment(box: tuple[int, int, int, int], spacing: float, seed: int) -> None:
    row, column, high, wide = box
    mask = np.zeros(SHAPE, np.bool_)
    mask[row : row + high, column : column + wide] = True
    work_ = Work(NOISE, mask)
    labels = superpixels(work_, generator(seed), spacing=spacing)
    assert labels.shape == work_.own.shape
    assert labels.dtype == np.int32
    assert labels.min() >= 1
    assert np.array_equal(labels, superpixels(work_, generator(seed), spacing=spacing))


def test_segments_keep_to_strong_edges() -> None:
    work_ = work()
    mixed = []
    for seed in range(8):
        labels = superpixels(work_, generator(seed), spacing=0.3)
        inside = np.bincount(labels[work_.own], minlength=labels.max() + 1)
        mixed.append(np.minimum(inside, np.bincount(labels.ravel()) - inside).sum() / labels.size)
    assert np.mean(mixed) < 0.03  # a share of the window lies in a segment of the other side


def test_a_click_grows_into_one_connected_piece_that_starts_inside() -> None:
    work_, drafts = drafts_of(clicked)
    for draft, mask in drafts:
        count, _ = cv2.connectedComponents(mask.view(np.uint8))
        assert count == 2
        assert share(mask & work_.truth, mask) > 0
        assert draft.defect in {None, "cutout"}
        if draft.defect == "cutout":
            assert not (mask & ~work_.truth).any()
    sizes = [share(mask, work_.truth) for _, mask in drafts]
    assert max(sizes) - min(sizes) > 0.2
