"""Baselines: what they answer, that they look at nothing they should not, and that they answer it in any process."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from auscult.arrays import regions
from auscult.models.base import MASK_TASKS, TASKS, ReferringModel, masks_of
from auscult.models.baselines import CENTRE_BOX, EMPTY, FULL_FRAME, RANDOM_REGION, middle, some_region
from auscult.types import Frames, Query

MODELS: tuple[ReferringModel, ...] = (
    FULL_FRAME,
    CENTRE_BOX,
    RANDOM_REGION,
    EMPTY,
)
EACH = pytest.mark.parametrize("model", MODELS, ids=[model.name for model in MODELS])
SIZES = [(1, 1), (1, 7), (2, 2), (3, 5), (16, 16), (61, 90), (480, 854), (5, 1200)]


def clip(length: int = 3, size: tuple[int, int] = (60, 90), seed: int = 0) -> Frames:
    generator = np.random.default_rng(seed)
    coarse = generator.integers(0, 256, (length, -(-size[0] // 6), -(-size[1] // 6), 3), dtype=np.uint8)
    return coarse.repeat(6, axis=1).repeat(6, axis=2)[:, : size[0], : size[1]]


@EACH
def test_it_is_a_model_for_every_task(model: ReferringModel) -> None:
    assert isinstance(model, ReferringModel)
    assert model.tasks == (TASKS if model is EMPTY else MASK_TASKS)  # a mask has no class; an empty one needs none
    assert model.name.startswith("baseline.")


@EACH
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_answers_of_any_size_are_answers(model: ReferringModel, size: tuple[int, int]) -> None:
    frames = clip(2, size)
    masks, threshold = masks_of(model.predict(frames, Query()), shape=(2, *size))
    assert threshold is None
    assert masks.any(axis=(1, 2)).all() == (model.name != "baseline.empty.v1")
    assert (masks[0] == masks[1]).all()


@EACH
def test_guidance_changes_nothing_and_frames_are_left_as_they_are(model: ReferringModel) -> None:
    frames = clip()
    before = frames.copy()
    frames.flags.writeable = False
    plain = model.predict(frames, Query())
    mask = np.zeros(frames.shape[1:3], bool)
    guidance: dict[str, Any] = {"sound": np.ones(100, np.float32), "rate_hz": 8000, "first_mask": mask}
    assert (model.predict(frames, Query("the dog"), **guidance) == plain).all()
    assert (frames == before).all()


def test_empty_is_nothing() -> None:
    assert not EMPTY.predict(clip(), Query()).any()


def test_full_frame_is_everything() -> None:
    assert FULL_FRAME.predict(clip(), Query()).all()


@pytest.mark.parametrize(
    ("size", "box"),
    [
        ((8, 16), (4, 2, 12, 6)),
        ((480, 854), (213, 120, 641, 360)),
        ((1, 1), (0, 0, 1, 1)),
        ((5, 6), (1, 1, 5, 4)),
    ],
    ids=str,
)
def test_the_middle_is_half_of_each_side(size: tuple[int, int], box: tuple[int, int, int, int]) -> None:
    assert middle(size) == box
    left_px, top, right, bottom = box
    assert (top, left_px) == (size[0] - bottom, size[1] - right)
    mask = CENTRE_BOX.predict(clip(1, size), Query())[0]
    assert mask.sum() == (right - left_px) * (bottom - top) == mask[top:bottom, left_px:right].sum()


def test_random_regions_are_connected_and_about_a_tenth_or_more() -> None:
    masks = [some_region(clip(1, (120, 160), seed)[0]) for seed in range(40)]
    assert all(len(regions.components(mask)[1]) == 1 for mask in masks)
    shares = [mask.mean() for mask in masks]
    assert 0.08 < np.mean(shares) < 0.3  # the one that holds a random pixel is larger than the mean
    coverage = np.mean(masks, axis=0)
    assert (coverage > 0).mean() > 0.9  # nowhere in the frame is left out


def test_random_regions_follow_edges() -> None:
    """On halves of two colours with a region's points on both sides, none reaches far across."""
    crossing = []
    for level in range(30):
        frame = np.full((120, 160, 3), level, np.uint8)
        frame[:, 80:] = 200
        mask = some_region(frame)
        crossing.append(min(mask[:, :80].sum(), mask[:, 80:].sum()) / mask.sum())
    assert np.median(crossing) < 0.02


def test_another_picture_has_another_region() -> None:
    first, second = (RANDOM_REGION.predict(clip(1, (60, 90), seed), Query())[0] for seed in (1, 2))
    assert (first != second).any()
    noisy = clip(1, (60, 90), 1)
    noisy[0, 0, 0, 0] ^= 1
    assert (RANDOM_REGION.predict(noisy, Query())[0] != first).any()


def test_only_the_first_frame_is_looked_at() -> None:
    frames, others = clip(4), clip(4)
    others[1:] = 0
    assert (RANDOM_REGION.predict(frames, Query()) == RANDOM_REGION.predict(others, Query())).all()


def test_the_region_is_the_same_in_another_process() -> None:
    program = (
        "import numpy as np\nfrom auscult.models.baselines import some_region\n"
        "frame = (np.arange(60 * 90 * 3) * 7 % 251).astype(np.uint8).reshape(60, 90, 3)\n"
        "print(np.flatnonzero(some_region(frame)).tolist())"
    )
    frame = (np.arange(60 * 90 * 3) * 7 % 251).astype(np.uint8).reshape(60, 90, 3)
    printed_pixels = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert printed_pixels.strip() == str(np.flatnonzero(some_region(frame)).tolist())
