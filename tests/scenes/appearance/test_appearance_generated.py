"""The generated asset set: what is drawn fits what is said of it."""

from __future__ import annotations

import json

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from auscult.errors import InputError
from auscult.rng import generator
from auscult.scenes.appearance.colours import COLOURS, draw_tone, word_of
from auscult.scenes.appearance.drawing import Look
from auscult.scenes.appearance.generated import GENERATED
from auscult.scenes.appearance.scenery import TEXTURES

INSTANCES = GENERATED.instances()


def _look(category: str, number: int, *, key: int = 0) -> Look:
    return GENERATED.look(generator(key, category), category, instance=f"{category}-{number:03d}")


def test_size_of_the_set() -> None:
    assert len(INSTANCES) >= 24
    assert all(len(names) >= 40 and len(set(names)) == len(names) for names in INSTANCES.values())
    assert len(GENERATED.backgrounds()) >= 100
    assert len(set(GENERATED.backgrounds())) == len(GENERATED.backgrounds())


@pytest.mark.parametrize("category", INSTANCES)
def test_every_category_fills_its_box(category: str) -> None:
    look = _look(category, 7)
    sprite = GENERATED.sprite(look, height_px=64)
    rows, columns = np.nonzero(sprite.alpha >= 128)
    assert np.ptp(rows) + 1 == pytest.approx(64, abs=2)
    assert np.ptp(columns) + 1 == pytest.approx(64 * look.aspect, abs=2)
    middle = (rows.min() + rows.max() + 1) / 2, (columns.min() + columns.max() + 1) / 2
    assert middle == pytest.approx([side / 2 for side in sprite.alpha.shape], abs=1)
    assert np.count_nonzero((sprite.alpha > 0) & (sprite.alpha < 255)) > 1, "the edge is anti-aliased"


@pytest.mark.parametrize("category", ["bell", "fish", "house"])
def test_instances_differ_in_shape_and_repeat(category: str) -> None:
    sprites = [GENERATED.sprite(_look(category, number), height_px=48) for number in range(6)]
    assert len({(sprite.alpha.shape, sprite.alpha.tobytes()) for sprite in sprites}) == 6
    second = GENERATED.sprite(_look(category, 3), height_px=48)
    assert second.rgb.tobytes() == sprites[3].rgb.tobytes()


@pytest.mark.parametrize("word", COLOURS)
def test_tones_fit_their_word(word: str) -> None:
    tones = np.array([draw_tone(generator(number, word), word) for number in range(200)], np.uint8)
    assert word_of(tones, least=1.0) == word


def test_colour_is_seen_on_plain_things() -> None:
    fitting = total = 0
    for category in INSTANCES:
        for key in range(6):
            look = _look(category, key, key=key)
            if look.texture != "plain":
                continue
            sprite = GENERATED.sprite(look, height_px=32)
            total += 1
            word_seen = word_of(sprite.rgb[sprite.alpha == 255], least=0.3)
            fitting += word_seen == look.colour
    assert total > 60
    assert fitting / total > 0.85


def test_looks_survive_json() -> None:
    look = _look("teapot", 2, key=5)
    reread = Look(
        **{**{name: getattr(look, name) for name in Look.__slots__}, "params": json.loads(json.dumps(look.params))}
    )
    assert GENERATED.sprite(reread, height_px=40).rgb.tobytes() == GENERATED.sprite(look, height_px=40).rgb.tobytes()


def test_textures_change_the_surface_only() -> None:
    look = _look("ball", 1)
    sprites = {}
    for texture in TEXTURES:
        textured_look = Look(
            category="ball", instance="ball-001", aspect=look.aspect, texture=texture, params=look.params
        )
        sprites[texture] = GENERATED.sprite(textured_look, height_px=60)
    assert len({sprite.rgb.tobytes() for sprite in sprites.values()}) == len(TEXTURES)
    assert len({sprite.alpha.tobytes() for sprite in sprites.values()}) == 1


@settings(max_examples=40)
@given(height_px=st.integers(1, 90), turn_deg=st.floats(-720, 720), category=st.sampled_from(sorted(INSTANCES)))
def test_any_size_and_turn_has_a_pixel(height_px: int, turn_deg: float, category: str) -> None:
    sprite = GENERATED.sprite(_look(category, 0), height_px=height_px, turn_deg=turn_deg)
    assert sprite.alpha.max() >= 128
    assert sprite.rgb.shape == (*sprite.alpha.shape, 3)


def test_turning_by_a_half_turn_mirrors_twice() -> None:
    look = _look("cup", 4)
    upright, turned_sprite = (GENERATED.sprite(look, height_px=50, turn_deg=degrees) for degrees in (0.0, 180.0))
    difference = np.abs(upright.alpha[::-1, ::-1].astype(int) - turned_sprite.alpha)
    assert difference.mean() < 3


def test_threads_change_nothing() -> None:
    look = _look("robot", 9)
    before = cv2.getNumThreads()
    try:
        drawn_bytes = []
        for threads in (1, 4):
            cv2.setNumThreads(threads)
            sprite = GENERATED.sprite(look, height_px=130, turn_deg=13.0)
            drawn_bytes.append(sprite.rgb.tobytes() + sprite.alpha.tobytes())
            drawn_bytes.append(GENERATED.background("street-006", size=(240, 426)).tobytes())
    finally:
        cv2.setNumThreads(before)
    assert drawn_bytes[:2] == drawn_bytes[2:]


def test_backgrounds_are_textured_and_differ() -> None:
    frames_seen = set()
    for name in GENERATED.backgrounds()[:14]:
        frame = GENERATED.background(name, size=(120, 214))
        assert frame.shape == (120, 214, 3)
        assert frame.dtype == np.uint8
        assert cv2.Laplacian(frame, cv2.CV_32F).std() > 2
        frames_seen.add(frame.tobytes())
    assert len(frames_seen) == 14


@pytest.mark.parametrize(
    "change",
    [
        {"category": "unicorn"},
        {"instance": "ball-999"},
        {"instance": "bell-001"},
        {"instance": "ball-1"},
        {"texture": "furry"},
        {"texture": None},
        {"params": {}},
        {"params": []},
        {"params": {"tone": [300, 0, 0]}},
    ],
)
def test_hostile_looks_are_refused(change: dict[str, object]) -> None:
    look = _look("ball", 1)
    values = {name: getattr(look, name) for name in Look.__slots__}
    if change.get("params"):
        change = {"params": {**look.params, **change["params"]}}  # type: ignore[dict-item]
    with pytest.raises(InputError):
        GENERATED.sprite(Look(**{**values, **change}), height_px=30)


@pytest.mark.parametrize("height_px", [0, -3, 5000])
def test_heights_are_bounded(height_px: int) -> None:
    with pytest.raises(InputError, match="height"):
        GENERATED.sprite(_look("ball", 1), height_px=height_px)


def test_unknown_backgrounds_are_refused() -> None:
    with pytest.raises(InputError, match="no generated background"):
        GENERATED.background("moon-000", size=(10, 10))
