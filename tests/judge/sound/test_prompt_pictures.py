"""What picture prompts show: the shipped network on real pictures, on drawings, and on what shows nothing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from auscult.judge.sound.vocabulary import (
    SIDE,
    as_seen,
    class_names,
    imagenet_labels,
    picture_classes,
    probabilities,
    read_prompt,
    table,
    things,
)
from auscult.media.frames import read_frame
from auscult.rng import generator
from auscult.types import Frame


def noise(height: int, width: int) -> Frame:
    return generator(0, "pictures").integers(0, 256, (height, width, 3), dtype=np.uint8)


def test_things_are_named_in_words_that_prompts_know() -> None:
    assert len(set(things())) == len(things()) > 80
    for thing_name in things():
        prompt = read_prompt(thing_name)
        assert not prompt.unknown, thing_name
        assert prompt.classes.any(), thing_name
    labels = [label for row in table() for label in imagenet_labels(row)]
    assert len(set(labels)) == len(labels)
    assert {"acoustic guitar", "dog", "car", "person"} <= set(things())


@pytest.mark.parametrize("value", [0, 127, 255])
def test_an_even_picture_shows_nothing(value: int) -> None:
    assert picture_classes(np.full((2, 90, 160, 3), value, np.uint8)) is None


def test_noise_shows_nothing_and_probabilities_add_to_one() -> None:
    frames = np.stack([noise(60, 90)] * 9)
    assert picture_classes(frames) is None
    shares = probabilities(frames)
    assert shares.shape == (4, 1 + len(things()))  # at most four frames are looked at
    assert shares.sum(axis=1) == pytest.approx(1, abs=1e-4)
    assert np.array_equal(shares, probabilities(frames))


@pytest.mark.parametrize("size", [(1, 1), (1, 300), (300, 1), (700, 500), (SIDE, SIDE)])
def test_a_frame_of_any_size_becomes_a_square_of_its_proportions(size: tuple[int, int]) -> None:
    frame = np.full((*size, 3), 200, np.uint8)
    square = as_seen(frame)
    assert square.shape == (SIDE, SIDE, 3)
    is_shown = (square == 200).all(axis=2)
    assert is_shown.any(axis=1).sum() == max(1, round(size[0] * SIDE / max(size)))
    assert is_shown.any(axis=0).sum() == max(1, round(size[1] * SIDE / max(size)))


def test_what_is_blanked_is_cut_away() -> None:
    frame = np.zeros((300, 400, 3), np.uint8)
    frame[20:60, 300:380] = noise(40, 80)
    frame[100:, :] = 3  # what JPEG leaves of black
    assert np.array_equal(as_seen(frame), as_seen(np.ascontiguousarray(frame[20:60, 300:380])))


@pytest.mark.parametrize(
    ("name", "class_name"),
    [
        ("images/stamps_gpl2/animals/mammals/bovines/cow.png", "Cattle, bovinae"),
        ("images/stamps_gpl2/animals/birds/duck.png", "Duck"),
        ("images/stamps_gpl2/animals/mammals/pig.png", "Pig"),
        ("av/image_sound_pairs/gcompris_farm_animals/chicken.webp", "Chicken, rooster"),
        ("av/image_sound_pairs/gcompris_farm_animals/sheep.webp", "Sheep"),
    ],
)
def test_pictures_that_training_never_saw_show_what_they_show(data: Path, name: str, class_name: str) -> None:
    classes = picture_classes(read_frame(data / name)[None])
    assert classes is not None
    assert classes[class_names().index(class_name)] > 0


def test_an_apple_makes_no_sound(data: Path) -> None:
    assert picture_classes(read_frame(data / "images/stamps_gpl2/food/fruit/apple_green.png")[None]) is None
