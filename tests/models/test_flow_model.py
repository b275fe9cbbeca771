"""The flow model: things whose motion is known are followed; what it cannot follow ends in order."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

import cv2
import numpy as np
import pytest

from auscult.arrays import overlap
from auscult.errors import InputError
from auscult.media.frames import read_frame
from auscult.media.masks import read_mask
from auscult.models.base import Masks, ReferringModel
from auscult.models.classical.flow import MODEL
from auscult.types import Frames, Mask, MaskRef, Query

SIZE = (96, 144)
SIDE = 34


def texture(seed: int, size: tuple[int, int], low: int, high: int) -> np.ndarray:
    """Blobs of a few pixels, RGB, between two levels."""
    noise = np.random.default_rng(seed).normal(size=(*size, 3)).astype(np.float32)
    smooth = cv2.GaussianBlur(noise, (0, 0), 2.0)
    smooth = (smooth - smooth.min()) / (smooth.max() - smooth.min())
    return low + (high - low) * smooth


def moving(poses: list[tuple[float, float, float, float]], *, pan: float = 0.0) -> tuple[Frames, Masks]:
    """A textured square of reddish colours over a textured ground, one pose (x, y, degrees, scale) a frame."""
    ground = texture(1, (SIZE[0], 2 * SIZE[1]), 20, 170)
    thing = texture(2, (SIDE, SIDE), 40, 220)
    thing[..., 0] = 120 + 0.5 * thing[..., 0]
    frames, masks = [], []
    for index, (x, y, degrees, scale) in enumerate(poses):
        turn = cv2.getRotationMatrix2D(((SIDE - 1) / 2, (SIDE - 1) / 2), degrees, scale)
        turn[:, 2] += (x - (SIDE - 1) / 2, y - (SIDE - 1) / 2)
        alpha = cv2.warpAffine(np.ones((SIDE, SIDE), np.float32), turn, SIZE[::-1])
        thing_moved = cv2.warpAffine(thing.astype(np.float32), turn, SIZE[::-1])
        start = round(20 + pan * index)
        under = ground[:, start : start + SIZE[1]]
        frames.append(
            np.clip(under * (1 - alpha[..., None]) + thing_moved * (alpha[..., None] > 0), 0, 255).astype(np.uint8)
        )
        masks.append(alpha > 0.5)
    return np.stack(frames), np.stack(masks)


def ious(frames: Frames, truth: Masks) -> list[float]:
    masks = MODEL.predict(frames, Query(), first_mask=truth[0])
    assert masks.dtype == np.bool_
    assert masks.shape == frames.shape[:3]
    assert (masks[0] == truth[0]).all()
    return [overlap.iou(mask, other) for mask, other in zip(masks, truth, strict=True)]


POSES = {
    "still": [(60.0, 48.0, 0.0, 1.0)] * 8,
    "slow": [(40 + 2.0 * t, 40 + 1.0 * t, 0.0, 1.0) for t in range(9)],
    "fast": [(26 + 9.0 * t, 48.0, 0.0, 1.0) for t in range(8)],
    "larger": [(70.0, 48.0, 0.0, 1.0 + 0.05 * t) for t in range(8)],
    "smaller": [(70.0, 48.0, 0.0, 1.0 - 0.04 * t) for t in range(8)],
    "turning": [(70.0, 48.0, 4.0 * t, 1.0) for t in range(8)],
    "all": [(40 + 4.0 * t, 48 + 6 * np.sin(t / 2), 3.0 * t, 1.0 + 0.02 * t) for t in range(9)],
}


@pytest.mark.parametrize("name", POSES)
def test_a_textured_thing_is_followed(name: str) -> None:
    frames, truth = moving(POSES[name])
    assert min(ious(frames, truth)) > 0.9


def test_it_is_followed_while_the_ground_moves_the_other_way() -> None:
    frames, truth = moving([(40 + 3.0 * t, 48.0, 0.0, 1.0) for t in range(9)], pan=3.0)
    assert min(ious(frames, truth)) > 0.88


def test_what_is_hidden_and_comes_back_is_found_again() -> None:
    frames, truth = moving([(60.0, 48.0, 0.0, 1.0)] * 12)
    cover = (texture(3, SIZE, 0, 90) * (0.1, 1.0, 0.3)).astype(np.uint8)
    for index in range(4, 8):
        frames[index], truth[index] = cover, False
    ious_found = ious(frames, truth)
    assert min(ious_found[:4]) > 0.8
    assert min(ious_found[9:]) > 0.8


def test_a_thing_before_which_a_pole_passes_is_found_again() -> None:
    frames, truth = moving([(70.0, 48.0, 0.0, 1.0)] * 14)
    for index in range(14):
        left_px = 10 * index
        frames[index, :, left_px : left_px + 14] = (20, 200, 30)
        truth[index, :, left_px : left_px + 14] = False
    ious_found = ious(frames, truth)
    assert min(ious_found[:6]) > 0.9
    assert min(ious_found[-4:]) > 0.9


def test_what_leaves_the_frame_ends_all_but_empty() -> None:
    frames, truth = moving([(60 + 9.0 * t, 48.0, 0.0, 1.0) for t in range(16)])
    assert not truth[-3:].any()
    masks = MODEL.predict(frames, Query(), first_mask=truth[0])
    assert masks[-1].sum() < 0.1 * truth[0].sum()
    assert overlap.iou(masks[5], truth[5]) > 0.75


def check(frames: Frames, mask: Mask) -> Masks:
    masks = MODEL.predict(frames, Query(), first_mask=mask)
    assert masks.shape == frames.shape[:3]
    assert masks.dtype == np.bool_
    assert (masks[0] == mask).all()
    return masks


@pytest.mark.parametrize("length", [1, 2])
def test_short_clips(length: int) -> None:
    frames, truth = moving(POSES["slow"][:length])
    masks = check(frames, truth[0])
    assert overlap.iou(masks[-1], truth[-1]) > 0.9


@pytest.mark.parametrize("level", [0, 128, 255])
def test_a_mask_on_uniform_frames_stays_near_where_it_is(level: int) -> None:
    frames = np.full((6, *SIZE, 3), level, np.uint8)
    mask = np.zeros(SIZE, bool)
    mask[30:70, 40:90] = True
    assert overlap.iou(check(frames, mask)[-1], mask) > 0.8


def test_an_empty_first_mask_stays_empty() -> None:
    frames, _ = moving(POSES["slow"])
    assert not check(frames, np.zeros(SIZE, bool)).any()


def test_a_mask_of_everything_stays_one() -> None:
    frames, _ = moving(POSES["slow"])
    assert check(frames, np.ones(SIZE, bool)).mean() > 0.99


SIZES = [(1, 1), (1, 40), (8, 8), (15, 40), (16, 16), (17, 33), (5, 600)]


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_small_and_odd_frames(size: tuple[int, int]) -> None:
    frames = texture(4, (4 * size[0], size[1]), 0, 255).astype(np.uint8).reshape(4, *size, 3)
    mask = np.zeros(size, bool)
    mask[: max(1, size[0] // 2), : max(1, size[1] // 2)] = True
    check(frames, mask)


@pytest.mark.parametrize("place", [(0, 0), (48, 70), (95, 143)], ids=str)
def test_an_object_of_one_pixel(place: tuple[int, int]) -> None:
    frames, _ = moving(POSES["slow"])
    mask = np.zeros(SIZE, bool)
    mask[place] = True
    assert check(frames, mask)[-1].sum() < 400


def test_a_cut_to_another_picture_does_not_end_the_run() -> None:
    frames, truth = moving(POSES["slow"])
    frames[6:] = texture(9, SIZE, 0, 255).astype(np.uint8)
    check(frames, truth[0])


def test_it_changes_nothing_that_it_is_given() -> None:
    frames, truth = moving(POSES["slow"])
    mask = truth[0].copy()
    before = frames.copy(), mask.copy()
    frames.flags.writeable = mask.flags.writeable = False
    threads = cv2.getNumThreads()
    masks = check(frames, mask)
    masks[:] = True
    assert (frames == before[0]).all()
    assert (mask == before[1]).all()
    assert cv2.getNumThreads() == threads


def test_one_call_leaves_nothing_for_the_next() -> None:
    frames, truth = moving(POSES["all"])
    first = check(frames, truth[0])
    other, other_truth = moving(POSES["fast"])
    check(other, other_truth[0])
    assert (check(frames, truth[0]) == first).all()


PROGRAM = """
import hashlib
import cv2, numpy as np
from auscult.models.classical.flow import MODEL
from auscult.types import Query
cv2.setNumThreads({threads})
cv2.setRNGSeed({seed})
rows, columns = np.mgrid[:96, :144]
frames = np.stack([
    np.stack([rows * (5 + c) + (columns - 2 * t) * (3 + c) * (1 + (rows // 16 + (columns - 2 * t) // 16) % 2)
              for c in range(3)], axis=-1) % 256
    for t in range(5)
]).astype(np.uint8)
mask = np.zeros((96, 144), bool)
mask[30:70, 40:90] = True
print(hashlib.blake2b(MODEL.predict(frames, Query(), first_mask=mask).tobytes()).hexdigest())
"""


def test_it_answers_the_same_in_any_process_with_any_number_of_threads() -> None:
    answers = {
        subprocess.run(
            [sys.executable, "-c", PROGRAM.format(threads=threads, seed=threads)],
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for threads in (1, 3)
    }
    assert len(answers) == 1
    assert len(answers.pop()) == hashlib.blake2b().digest_size * 2


def test_it_is_a_model_of_one_task() -> None:
    assert isinstance(MODEL, ReferringModel)
    assert MODEL.tasks == ("vos",)
    assert MODEL.name == "classical.flow.v1"


@pytest.mark.parametrize(
    "mask",
    [None, np.zeros((96, 143), bool), np.zeros(SIZE, np.uint8), np.zeros((1, *SIZE), bool)],
    ids=["none", "another-size", "another-type", "a-clip"],
)
def test_what_is_no_first_mask_is_refused(mask: Mask | None) -> None:
    frames, _ = moving(POSES["slow"][:2])
    with pytest.raises(InputError, match="first mask"):
        MODEL.predict(frames, Query(), first_mask=mask)


@pytest.mark.slow
def test_real_dogs_are_followed(data: Path) -> None:
    """On the sequence that its constants were chosen on: a floor, no measurement."""
    folder = data / "video" / "dogs-jump"
    paths = sorted((folder / "frames").iterdir())[30:50]
    frames = np.stack([read_frame(path) for path in paths])
    mask_paths = [folder / "masks" / f"{path.stem}.png" for path in paths]
    truth = np.stack([read_mask(MaskRef(path=path, index=3, absent_ok=True)).mask for path in mask_paths])
    assert np.mean(ious(frames, truth)) > 0.8
