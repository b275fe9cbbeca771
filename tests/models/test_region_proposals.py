"""Region proposals: what they give on pictures whose things are known, their limits, and that they are repeatable."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from auscult.arrays import overlap, regions
from auscult.errors import InputError
from auscult.media.frames import read_frame
from auscult.models.classical.regions import GREATEST_SHARE, LEAST_SHARE, MODEL, Regions
from auscult.models.named_objects import MaskProposer, ObjectCounter
from auscult.types import Frame, Mask

GROUND = (70, 110, 80)
THINGS = {(200, 60, 50): (40, 30, 70), (240, 220, 90): (60, 180, 60), (40, 50, 160): (150, 90, 80)}


def scene(count: int = 3, *, noise: float = 4.0, height: int = 240, width: int = 320) -> tuple[Frame, list[Mask]]:
    """Coloured squares on a ground, with noise."""
    picture = np.tile(np.array(GROUND, np.float64), (height, width, 1))
    masks = []
    for colour, (top, left_px, side) in list(THINGS.items())[:count]:
        mask = np.zeros((height, width), bool)
        mask[top : top + side, left_px : left_px + side] = True
        picture[mask] = colour
        masks.append(mask)
    picture += np.random.default_rng(1).normal(0, noise, picture.shape)
    return np.clip(picture, 0, 255).astype(np.uint8), masks


def best(proposals: tuple[Mask, ...], mask: Mask) -> float:
    return max((overlap.iou(proposal, mask) for proposal in proposals), default=0.0)


def test_plain_things_are_found_and_come_first() -> None:
    frame, masks = scene()
    proposals = MODEL(frame)
    assert min(best(proposals, mask) for mask in masks) > 0.85
    assert min(best(proposals[:4], mask) for mask in masks) > 0.85


def check(proposals: tuple[Mask, ...], frame: Frame, most: int) -> None:
    assert len(proposals) <= most
    for proposal in proposals:
        assert proposal.dtype == np.bool_
        assert proposal.shape == frame.shape[:2]
        assert LEAST_SHARE <= proposal.mean() <= GREATEST_SHARE
        assert len(regions.components(proposal)[1]) == 1


@settings(max_examples=15, deadline=None)
@given(
    height=st.integers(1, 150),
    width=st.integers(1, 150),
    seed=st.integers(0, 99),
    grain=st.integers(1, 30),
    most=st.integers(1, 30),
)
def test_any_picture_gives_disjoint_parts_of_a_bounded_size(
    height: int, width: int, seed: int, grain: int, most: int
) -> None:
    rng = np.random.default_rng(seed)
    small = rng.integers(0, 256, (-(-height // grain), -(-width // grain), 3), dtype=np.uint8)
    frame = small.repeat(grain, axis=0).repeat(grain, axis=1)[:height, :width]
    target = rng.random((height, width)) < 0.05
    target[: height // 2, : width // 3] = True
    proposals = Regions(most=most)(frame, target=target)
    check(proposals, frame, most)
    assert not any((proposal & target).any() for proposal in proposals)
    assert int(sum(proposal.astype(np.int64) for proposal in proposals).max() if proposals else 0) <= 1


def test_the_target_is_left_out_and_its_neighbour_is_not() -> None:
    frame, (first_mask, other, _) = scene()
    proposals = MODEL(frame, target=first_mask)
    assert best(proposals, first_mask) == 0.0
    assert best(proposals, other) > 0.85


def test_nested_proposals_may_share_pixels() -> None:
    frame, _ = scene(noise=25.0)
    nested = Regions(nested=True, least_score=-np.inf)(frame)
    check(nested, frame, 20)
    assert int(sum(proposal.astype(np.int64) for proposal in nested).max()) > 1


def test_a_plain_picture_has_nothing_and_things_are_counted() -> None:
    plain = np.full((120, 160, 3), 128, np.uint8)
    assert MODEL(plain) == ()
    count: Callable[[Frame], int] = ObjectCounter(MODEL)
    counts = [count(scene(n_things, noise=0.0)[0]) for n_things in range(4)]
    assert counts == sorted(counts)
    assert counts[0] < counts[3]


def test_the_same_for_any_number_of_threads_and_after_pickling() -> None:
    frame, (target, *_) = scene(noise=12.0, height=480, width=854)
    before = cv2.getNumThreads()
    runs = []
    try:
        for threads, proposer in ((1, MODEL), (4, pickle.loads(pickle.dumps(MODEL)))):  # noqa: S301
            cv2.setNumThreads(threads)
            runs.append(proposer(frame, target=target))
    finally:
        cv2.setNumThreads(before)
    assert len(runs[0]) == len(runs[1]) > 0
    assert all(np.array_equal(first, other) for first, other in zip(*runs, strict=True))


def test_the_frame_is_not_written_to() -> None:
    frame, (target, *_) = scene()
    before, target_before = frame.copy(), target.copy()
    MODEL(frame, target=target)
    assert np.array_equal(frame, before)
    assert np.array_equal(target, target_before)


@pytest.mark.parametrize(
    ("frame", "target"),
    [
        (np.zeros((9, 9), np.uint8), None),
        (np.zeros((9, 9, 4), np.uint8), None),
        (np.zeros((9, 9, 3), np.float32), None),
        (np.zeros((0, 9, 3), np.uint8), None),
        (np.zeros((40, 40, 3), np.uint8), np.zeros((40, 41), bool)),
        (np.zeros((40, 40, 3), np.uint8), np.zeros((40, 40), np.uint8)),
    ],
)
def test_wrong_arrays_are_refused(frame: NDArray[Any], target: NDArray[Any] | None) -> None:
    with pytest.raises(InputError, match="shape"):
        MODEL(frame, target=target)


def test_it_is_a_proposer_and_says_what_it_is() -> None:
    assert isinstance(MODEL, MaskProposer)
    assert MODEL.name == "classical.regions.v1"
    assert replace(MODEL, most=3).most == 3


@pytest.mark.slow
def test_it_finds_more_real_objects_than_boxes_that_look_at_nothing(data: Path) -> None:
    """On DAVIS, which its weights were fitted to; `studies/proposals.py` measures it on COCO."""
    n_found, boxes, total = 0, 0, 0
    for folder in sorted((data / "video" / "davis2016").glob("*/frames")):
        name = sorted(folder.glob("*.jpg"))[0]
        frame = read_frame(name)
        mask = cv2.imread(str(folder.parent / "masks" / f"{name.stem}.png"), cv2.IMREAD_UNCHANGED) > 0
        proposals = MODEL(frame)
        check(proposals, frame, 20)
        n_found += best(proposals, mask) >= 0.5
        boxes += max(overlap.iou(box, mask) for box in _centred(mask.shape)) >= 0.5
        total += 1
    assert total == 10
    assert n_found > boxes + 2


def _centred(shape: tuple[int, ...]) -> list[Mask]:
    masks = []
    for share in np.geomspace(LEAST_SHARE, GREATEST_SHARE, 20):
        mask = np.zeros(shape, bool)
        high, wide = (round(side * np.sqrt(share)) for side in shape)
        top, left_px = (shape[0] - high) // 2, (shape[1] - wide) // 2
        mask[top : top + high, left_px : left_px + wide] = True
        masks.append(mask)
    return masks
