"""The lexicon model: each family of words picks its object of several drawn ones, and what it does with odd input."""

from __future__ import annotations

import subprocess
import sys
from functools import cache

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from auscult.arrays import overlap
from auscult.errors import InputError
from auscult.models.base import ReferringModel
from auscult.models.classical.lexicon import MODEL
from auscult.types import Frames, Mask, Query

HEIGHT, WIDTH = 150, 210
TONES = {"red": (200, 40, 35), "blue": (40, 70, 200), "green": (40, 150, 60), "yellow": (235, 215, 50)}
SPOTS = {"red": (40, 40), "blue": (165, 110), "green": (105, 70), "yellow": (168, 36)}
SIZES = {"red": 15, "blue": 26, "green": 18, "yellow": 9}
STILL = dict.fromkeys(TONES, (0, 0))


def ground() -> NDArray[np.float64]:
    noise = np.random.default_rng(2).normal(0, 3, (HEIGHT, WIDTH, 3))
    return np.asarray(np.array([150, 140, 128]) + noise, dtype=np.float64)


def drawn_scene(places: dict[str, tuple[int, int]] = SPOTS) -> tuple[NDArray[np.uint8], dict[str, Mask]]:
    """Four discs of different colour, place and size."""
    picture, masks = ground(), {}
    for name, centre in places.items():
        mask = np.zeros((HEIGHT, WIDTH), np.uint8)
        cv2.circle(mask, centre, SIZES[name], 1, -1)
        picture[mask > 0] = np.array(TONES[name]) + np.random.default_rng(3).normal(0, 3, (int(mask.sum()), 3))
        masks[name] = mask > 0
    return np.clip(picture, 0, 255).astype(np.uint8), masks


@cache
def answer(text: str | None) -> Mask:
    mask: Mask = MODEL.predict(drawn_scene()[0][None], Query(text))[0]
    return mask


def picked(mask: Mask, masks: dict[str, Mask]) -> str:
    """The object that a mask lies on; empty for none."""
    name = max(masks, key=lambda mask_name: overlap.iou(mask, masks[mask_name]))
    return name if (overlap.iou(mask, masks[name])) > 0.6 else ""


def test_it_is_a_model_of_pictures_and_clips() -> None:
    assert isinstance(MODEL, ReferringModel)
    assert tuple(MODEL.tasks) == ("ris", "rvos", "refavs")


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("the red thing", "red"),
        ("The BLUE one!", "blue"),
        pytest.param("the object whose colour is green", "green", marks=pytest.mark.slow),
        pytest.param("the thing on the left", "red", marks=pytest.mark.slow),
        ("the thing in the middle of the picture", "green"),
        pytest.param("the thing at the top right", "yellow", marks=pytest.mark.slow),
        ("the one in the upper half of the picture that is yellow", "yellow"),
        ("the largest object", "blue"),
        pytest.param("the smallest of the things", "yellow", marks=pytest.mark.slow),
        ("the second from the left", "green"),
        pytest.param("the second largest", "green", marks=pytest.mark.slow),
        pytest.param("the leftmost thing", "red", marks=pytest.mark.slow),
        ("the lowest thing", "blue"),
        ("the one right of the green thing that is at the bottom", "blue"),
        ("the item on the right that is above the blue one", "yellow"),
        ("the thing that is not blue and not green and not yellow", "red"),
        ("neither red nor blue nor yellow", "green"),
        ("the biggest thing that is not blue", "green"),
    ],
)
def test_words_pick_their_object(text: str, name: str) -> None:
    assert picked(answer(text), drawn_scene()[1]) == name


@pytest.mark.parametrize(
    ("text", "expected"), [("the round thing", 0), ("the long thin one", 1), ("the striped one", 2)]
)
def test_words_of_shape_and_texture_pick_their_object(text: str, expected: int) -> None:
    picture, masks = ground(), []
    for number in range(3):
        mask = np.zeros((HEIGHT, WIDTH), np.uint8)
        if number == 0:
            cv2.circle(mask, (45, 80), 22, 1, -1)
        elif number == 1:
            cv2.rectangle(mask, (98, 30), (107, 120), 1, -1)
        else:
            cv2.rectangle(mask, (145, 60), (185, 100), 1, -1)
        picture[mask > 0] = (60, 70, 190)
        masks.append(mask > 0)
    stripes = masks[2] & (np.indices((HEIGHT, WIDTH))[1] // 5 % 2 == 0)
    picture[stripes] = (120, 130, 235)
    frame = np.clip(picture, 0, 255).astype(np.uint8)
    found_mask = MODEL.predict(frame[None], Query(text))[0]
    assert int(np.argmax([overlap.iou(found_mask, mask) for mask in masks])) == expected


def test_a_misspelt_word_is_lost() -> None:
    right, wrong = answer("the yellow thing"), answer("the yelow thing")
    assert picked(right, drawn_scene()[1]) == "yellow"
    assert picked(wrong, drawn_scene()[1]) != "yellow"
    assert np.array_equal(wrong, answer(None))


@pytest.mark.parametrize(
    "text", ["", "the windmill", "左の赤いもの", "\x00\udcff"], ids=["empty", "noun", "japanese", "broken"]
)
def test_a_sentence_without_known_words_gives_what_stands_out(text: str) -> None:
    assert answer(None).any()
    assert np.array_equal(answer(text), answer(None))


def test_ten_thousand_words_are_read() -> None:
    padded = "blah " * 10_000 + "the yellow thing"
    assert np.array_equal(answer(padded), answer("the yellow thing"))
    assert answer("left of the red thing " * 2_000).shape == (HEIGHT, WIDTH)


def test_the_answer_is_the_best_there_is_even_if_nothing_fits() -> None:
    assert picked(answer("the black thing on the left"), drawn_scene()[1])


@pytest.mark.parametrize("frames", [np.full((1, 40, 60, 3), 127, np.uint8), np.zeros((2, 16, 16, 3), np.uint8)])
def test_a_frame_of_one_tone_gives_an_empty_mask(frames: Frames) -> None:
    masks = MODEL.predict(frames, Query("the red thing"))
    assert masks.shape == frames.shape[:3]
    assert not masks.any()


@pytest.mark.parametrize("shape", [(1, 16, 16), (2, 16, 16), (1, 1, 1), (2, 5, 400), (3, 16, 90), (2, 48, 400)])
def test_small_and_narrow_frames_are_answered(shape: tuple[int, int, int]) -> None:
    frames = np.random.default_rng(4).integers(0, 256, (*shape, 3), dtype=np.uint8)
    masks = MODEL.predict(frames, Query("the red thing on the left that moves to the right"))
    assert masks.shape == shape
    assert masks.dtype == np.bool_


def test_grey_frames_keep_words_of_place() -> None:
    frame, masks = drawn_scene()
    grey = np.repeat(cv2.cvtColor(frame, cv2.COLOR_RGB2GRAY)[..., None], 3, axis=2)
    found_mask = MODEL.predict(grey[None], Query("the lowest thing"))[0]
    assert picked(found_mask, masks) == "blue"


def test_frames_are_left_as_they_were() -> None:
    frames = np.stack([drawn_scene()[0]] * 2)
    before = frames.copy()
    frames.setflags(write=False)
    MODEL.predict(frames, Query("the red thing"))
    assert np.array_equal(frames, before)


@pytest.mark.parametrize("frames", [np.zeros((2, 8, 8), np.uint8), np.zeros((1, 8, 8, 3)), np.zeros((0, 8, 8, 3))])
def test_what_is_no_clip_is_refused(frames: NDArray[np.generic]) -> None:
    with pytest.raises(InputError, match="frames of shape"):
        MODEL.predict(frames, Query("the red thing"))  # type: ignore[arg-type]


def clip(steps: dict[str, tuple[int, int]], count: int) -> tuple[Frames, list[dict[str, Mask]]]:
    shots = [drawn_scene({name: (x + n * steps[name][0], y + n * steps[name][1]) for name, (x, y) in SPOTS.items()})
             for n in range(count)]  # fmt: skip
    return np.stack([frame for frame, _ in shots]), [masks for _, masks in shots]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("the thing that moves to the left", "blue"),
        pytest.param("the thing going right", "green", marks=pytest.mark.slow),
        pytest.param("the red thing", "red", marks=pytest.mark.slow),
        pytest.param("the largest thing", "blue", marks=pytest.mark.slow),
    ],
)
def test_a_thing_is_followed_by_its_motion_and_its_looks(text: str, name: str) -> None:
    frames, truth = clip({**STILL, "blue": (-4, 0), "green": (4, 0)}, 3)
    masks = MODEL.predict(frames, Query(text))
    assert [picked(mask, masks_true) for mask, masks_true in zip(masks, truth, strict=True)] == [name] * 3


def test_two_frames_are_a_clip() -> None:
    frames, truth = clip({**STILL, "yellow": (0, 4)}, 2)
    masks = MODEL.predict(frames, Query("the yellow thing"))
    assert [picked(mask, masks_true) for mask, masks_true in zip(masks, truth, strict=True)] == ["yellow"] * 2


@pytest.mark.slow
def test_frames_between_key_frames_are_filled() -> None:
    frames, truth = clip({**STILL, "green": (1, 0)}, 20)
    masks = MODEL.predict(frames, Query("the green thing"))
    assert min(overlap.iou(mask, masks_true["green"]) for mask, masks_true in zip(masks, truth, strict=True)) > 0.6


def test_every_process_gives_the_same_answer() -> None:
    program = (
        "import hashlib, numpy as np\n"
        "from auscult.models.classical.lexicon import MODEL\n"
        "from auscult.types import Query\n"
        "frames = np.random.default_rng(5).integers(0, 256, (2, 12, 16, 3), dtype=np.uint8).repeat(6, 1).repeat(6, 2)\n"
        "masks = MODEL.predict(frames, Query('the second red thing from the left'))\n"
        "print(masks.sum(), hashlib.sha256(np.packbits(masks).tobytes()).hexdigest())\n"
    )
    outputs = {
        subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, text=True).stdout
        for _ in range(2)
    }
    assert len(outputs) == 1
    assert int(outputs.pop().split()[0]) > 0
