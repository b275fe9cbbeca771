"""The regions that the lexicon model chooses from: which are found, and what is told of them."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from auscult.arrays import overlap
from auscult.models.classical.lexicon_things import (
    GREATEST_SHARE,
    LEAST_SHARE,
    FoundRegions,
    Things,
    found_in,
    small,
    things_in,
)
from auscult.types import Frame, Mask

HEIGHT, WIDTH = 96, 128


def drawn_scene() -> tuple[Frame, dict[str, Mask]]:
    """A red disc and a blue ring in which the ground shows, on noise."""
    picture = np.array([150.0, 140.0, 128.0]) + np.random.default_rng(1).normal(0, 3, (HEIGHT, WIDTH, 3))
    disc, ring = np.zeros((HEIGHT, WIDTH), np.uint8), np.zeros((HEIGHT, WIDTH), np.uint8)
    cv2.circle(disc, (34, 40), 17, 1, -1)
    cv2.circle(ring, (92, 56), 20, 1, 9)
    picture[disc > 0], picture[ring > 0] = (200, 40, 35), (40, 70, 200)
    whole_disc = np.zeros((HEIGHT, WIDTH), np.uint8)
    cv2.circle(whole_disc, (92, 56), 24, 1, -1)
    return np.clip(picture, 0, 255).astype(np.uint8), {"disc": disc > 0, "ring": ring > 0, "whole": whole_disc > 0}


@pytest.fixture(scope="module")
def scene_regions() -> FoundRegions:
    regions = found_in(drawn_scene()[0])
    assert regions is not None
    return regions


@pytest.fixture(scope="module")
def things() -> Things:
    these = things_in(drawn_scene()[0])
    assert these is not None
    return these


def best(masks: NDArray[np.bool_], truth: Mask) -> tuple[int, float]:
    values = [overlap.iou(mask, truth) or 0.0 for mask in masks]
    return int(np.argmax(values)), max(values)


def test_things_with_an_edge_all_round_are_found(things: Things) -> None:
    truths = drawn_scene()[1]
    assert best(things.masks, truths["disc"])[1] > 0.85
    assert best(things.masks, truths["whole"])[1] > 0.85


def test_regions_are_of_whole_pieces_and_of_a_fit_size(scene_regions: FoundRegions) -> None:
    assert np.array_equal(np.bincount(scene_regions.labels.ravel()), scene_regions.areas)
    assert set(np.unique(scene_regions.members)) <= {0.0, 1.0}
    shares = scene_regions.members @ scene_regions.areas / scene_regions.labels.size
    assert shares.min() >= LEAST_SHARE
    assert shares.max() <= GREATEST_SHARE


def test_no_two_regions_are_nearly_the_same(things: Things) -> None:
    others = things.iou - np.eye(len(things))
    assert np.allclose(np.diag(things.iou), 1)
    assert others.max() <= 0.8


def test_what_stands_out_is_apart_from_the_edge_of_the_frame(scene_regions: FoundRegions) -> None:
    of_disc = scene_regions.apart[scene_regions.labels[40, 34]]
    corners = [scene_regions.apart[scene_regions.labels[corner]] for corner in ((0, 0), (0, -1), (-1, 0), (-1, -1))]
    assert max(corners) == 0
    assert of_disc > 20


def test_colours_and_place_are_those_of_the_pixels(things: Things) -> None:
    index, _ = best(things.masks, drawn_scene()[1]["disc"])
    rows, columns = np.nonzero(things.masks[index])
    assert things.x[index] == pytest.approx((columns.mean() + 0.5) / WIDTH, abs=0.01)
    assert things.y[index] == pytest.approx((rows.mean() + 0.5) / HEIGHT, abs=0.01)
    assert things.colours[index].argmax() == 0  # red
    assert things.rare[index] > things.rare.min()


@pytest.mark.parametrize("shape", [(15, 90), (16, 16), (1, 1)])
def test_a_frame_of_one_tone_or_too_small_has_none(shape: tuple[int, int]) -> None:
    assert found_in(np.full((*shape, 3), 90, np.uint8)) is None


def test_frames_are_made_small_and_never_larger() -> None:
    assert small(np.zeros((480, 640, 3), np.uint8)).shape == (180, 240, 3)
    assert small(np.zeros((40, 50, 3), np.uint8)).shape == (40, 50, 3)
