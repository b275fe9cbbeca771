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
    one.__name__: one for one in (inner_part, colour_part, clicked, superpixel_union, boxed, stray)
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


def drawn(kind: Maker, count: int = 12) -> tuple[Work, list[tuple[Draft, Mask]]]:
    """Drafts of a kind that came about, each beside its mask over the whole picture."""
    thing = work()
    made = [one for seed in range(count) if (one := kind(thing, generator(seed, "segments"))) is not None]
    assert len(made) >= count / 3, "the object hardly ever allows this kind"
    return thing, [(one, thing.whole(one.mask)) for one in made]


def share(part: Mask, whole: Mask) -> float:
    return float(np.count_nonzero(part) / np.count_nonzero(whole))


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_follows_from_its_generator_alone(kind: str) -> None:
    masks = [[mask for _, mask in drawn(KINDS[kind], 6)[1]] for _ in range(2)]
    assert all(np.array_equal(one, again) for one, again in zip(*masks, strict=True))
    assert any(not np.array_equal(masks[0][0], one) for one in masks[0][1:])


@pytest.mark.parametrize("kind", [inner_part, colour_part])
def test_parts_only_take_away_and_are_cutouts(kind: Maker) -> None:
    thing, made = drawn(kind)
    for draft, mask in made:
        assert draft.defect == "cutout"
        assert not (mask & ~thing.truth).any()
        assert 0.12 <= share(mask, thing.truth) <= 0.93


@pytest.mark.parametrize("kind", [inner_part, colour_part])
def test_parts_end_along_the_inner_edge(kind: Maker) -> None:
    thing, made = drawn(kind, 20)
    upper = thing.truth.copy()
    upper[60:] = False
    one_colour = [
        mask for _, mask in made if min(share(mask ^ half, thing.truth) for half in (upper, thing.truth & ~upper)) < 0.1
    ]
    assert one_colour, "no part is one of the two colours"


def test_a_box_is_roughly_the_objects_box() -> None:
    _, made = drawn(boxed)
    for draft, mask in made:
        x, y, width, height = cv2.boundingRect(mask.view(np.uint8))
        assert draft.defect is None
        assert np.allclose((x, y, x + width, y + height), (20, 20, 80, 100), atol=0.2 * 80)
        assert share(mask, np.ones((height, width), np.bool_)) > 0.7  # an ellipse fills pi / 4 of its box
    assert {share(mask, mask | work().truth) > 0.9 for _, mask in made} == {True, False}


def test_a_union_of_superpixels_leaves_out_or_leaks_and_has_no_type() -> None:
    thing, made = drawn(superpixel_union)
    assert all(draft.defect is None and thing.iou(mask) >= 0.05 for draft, mask in made)
    assert any((mask & ~thing.truth).any() for _, mask in made)
    assert any((thing.truth & ~mask).any() for _, mask in made)


def test_stray_pieces_lie_outside_and_the_object_stays_mostly_whole() -> None:
    thing, made = drawn(stray)
    for draft, mask in made:
        added = mask & ~thing.truth
        assert draft.defect is None
        assert np.count_nonzero(added) > 0.01 * thing.area_px
        assert share(mask & thing.truth, thing.truth) > 0.6


def test_of_two_defects_each_takes_and_adds_its_own() -> None:
    thing = work()
    lost, gained = np.zeros((2, *SHAPE), np.bool_), np.zeros((2, *SHAPE), np.bool_)
    lost[0, 20:40], lost[1, :, 20:30] = True, True
    gained[0, 105:110], gained[1, 100:107] = True, True
    one, other = ((thing.truth & ~lost[at]) | gained[at] for at in range(2))
    over_box = other[thing.box[1] : thing.box[3], thing.box[0] : thing.box[2]]
    both = together(_always(one), _always(over_box))(thing, generator(0))
    assert both is not None
    wanted = (thing.truth & ~lost.any(axis=0)) | gained[0] | (thing.whole(over_box) & gained[1])
    assert np.array_equal(both.mask, wanted)
    assert both.defect is None
    assert together(_always(one), lambda _work, _rng: None)(thing, generator(0)) is None
    assert together(lambda _work, _rng: None, _always(one))(thing, generator(0)) is None


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
    thing = Work(NOISE, mask)
    labels = superpixels(thing, generator(seed), spacing=spacing)
    assert labels.shape == thing.own.shape
    assert labels.dtype == np.int32
    assert labels.min() >= 1
    assert np.array_equal(labels, superpixels(thing, generator(seed), spacing=spacing))


def test_segments_keep_to_strong_edges() -> None:
    thing = work()
    mixed = []
    for seed in range(8):
        labels = superpixels(thing, generator(seed), spacing=0.3)
        inside = np.bincount(labels[thing.own], minlength=labels.max() + 1)
        mixed.append(np.minimum(inside, np.bincount(labels.ravel()) - inside).sum() / labels.size)
    assert np.mean(mixed) < 0.03  # a share of the window lies in a segment of the other side


def test_a_click_grows_into_one_connected_piece_that_starts_inside() -> None:
    thing, made = drawn(clicked)
    for draft, mask in made:
        count, _ = cv2.connectedComponents(mask.view(np.uint8))
        assert count == 2
        assert share(mask & thing.truth, mask) > 0
        assert draft.defect in {None, "cutout"}
        if draft.defect == "cutout":
            assert not (mask & ~thing.truth).any()
    sizes = [share(mask, thing.truth) for _, mask in made]
    assert max(sizes) - min(sizes) > 0.2
