"""Composing: exact masks, no seams, the same bytes every time."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from auscult.errors import InputError
from auscult.record import codec
from auscult.rng import generator
from auscult.scenes.appearance.colours import COLOURS, Light, choose_light, draw_tone, words_of
from auscult.scenes.appearance.compose import ComposedPicture, derived, lay, put_together
from auscult.scenes.appearance.drawing import Placed, Sprite
from auscult.scenes.appearance.generated import GENERATED
from auscult.scenes.appearance.stage import Backdrop
from auscult.types import Frame

FLAT = Light(from_deg=0.0, shade=0.0, shadow=0.0, warmth=0.0, gain=1.0, grain=0.0, grain_seed=1)


def compose(background: Frame, placed_sprites: Sequence[Placed], *, light: Light) -> ComposedPicture:
    stage = Backdrop.of(background, light=light)
    return put_together(stage, [lay(placed_sprite, stage) for placed_sprite in placed_sprites])


def _background(size: tuple[int, int] = (120, 200)) -> NDArray[np.uint8]:
    return GENERATED.background("room-005", size=size)


def _placed_sprites(count: int) -> list[Placed]:
    placed_sprites = []
    for index in range(count):
        category = list(GENERATED.instances())[3 * index]
        look = GENERATED.look(generator(1, index), category, instance=f"{category}-00{index}")
        sprite = GENERATED.sprite(look, height_px=40 + 6 * index)
        placed_sprites.append(Placed(sprite=sprite, x_px=40.0 + 24 * index, y_px=60.0, speed_px=(3.0 * index, 1.0)))
    return placed_sprites


def _disc(radius: int, tone: int) -> Sprite:
    side = np.arange(-radius - 6, radius + 6) + 0.5
    alpha = np.clip(radius - np.hypot(side[:, None], side[None, :]) + 0.5, 0, 1)
    return Sprite(np.full((*alpha.shape, 3), tone, np.uint8), np.rint(alpha * 255).astype(np.uint8))


def test_masks_are_disjoint_and_parts_of_the_whole() -> None:
    picture = compose(_background(), _placed_sprites(4), light=choose_light(generator(2)))
    assert len(picture.visible) == len(picture.whole) == 4
    assert np.sum(picture.visible, axis=0).max() == 1
    for visible, whole in zip(picture.visible, picture.whole, strict=True):
        assert visible.shape == whole.shape == picture.frame.shape[:2]
        assert not np.any(visible & ~whole)
    assert np.array_equal(np.any(picture.visible, axis=0), np.any(picture.whole, axis=0))
    assert np.array_equal(picture.visible[-1], picture.whole[-1]), "nothing is in front of the nearest"


@settings(max_examples=30)
@given(
    x=st.floats(-80, 280),
    y=st.floats(-80, 200),
    dx=st.floats(-12, 12),
    dy=st.floats(-12, 12),
    radius=st.integers(1, 30),
)
def test_anywhere_at_any_speed(x: float, y: float, dx: float, dy: float, radius: int) -> None:
    background = _BACKGROUND
    placed_sprite = Placed(sprite=_disc(radius, 200), x_px=x, y_px=y, speed_px=(dx, dy))
    picture = compose(background, [placed_sprite], light=FLAT)
    assert picture.frame.shape == background.shape
    rows, columns = np.nonzero(picture.whole[0])
    if rows.size and dx == dy == 0:
        assert np.hypot(rows + 0.5 - y, columns + 0.5 - x).max() <= radius + 2
    outside = np.hypot(np.arange(120)[:, None] - y, np.arange(200)[None, :] - x) > radius + 45
    assert np.array_equal(picture.frame[outside], background[outside]), "only the thing's own place changes"


_BACKGROUND = _background()


@pytest.mark.parametrize("threads", [2, 4])
def test_pure_and_byte_repeatable(threads: int) -> None:
    background, placed_sprites, light = _background((240, 426)), _placed_sprites(4), choose_light(generator(3))
    copies = [background.copy(), *[placed_sprite.sprite.rgb.copy() for placed_sprite in placed_sprites]]
    before = cv2.getNumThreads()
    try:
        cv2.setNumThreads(1)
        first = compose(background, placed_sprites, light=light)
        cv2.setNumThreads(threads)
        other = compose(background, placed_sprites, light=light)
    finally:
        cv2.setNumThreads(before)
    assert first.frame.tobytes() == other.frame.tobytes()
    assert all(np.array_equal(a, b) for a, b in zip(first.visible, other.visible, strict=True))
    for original, now in zip(
        copies, [background, *[placed_sprite.sprite.rgb for placed_sprite in placed_sprites]], strict=True
    ):
        assert np.array_equal(original, now)


@pytest.mark.parametrize(("tone", "behind"), [(40, 210), (210, 40), (128, 128)])
def test_no_halo(tone: int, behind: int) -> None:
    background = np.full((100, 100, 3), behind, np.uint8)
    picture = compose(background, [Placed(sprite=_disc(25, tone), x_px=50, y_px=50)], light=FLAT)
    inside = int(picture.frame[50, 50, 1])
    low, high = sorted((inside, behind))
    assert picture.frame.min() >= low - 6
    assert picture.frame.max() <= high + 6
    profile = picture.frame[50, 50:, 1].astype(int)
    steps = np.diff(profile) * np.sign(behind - inside)
    assert steps.min() >= -6, "from inside to outside the tone goes one way"


def test_mask_edge_lies_half_way() -> None:
    background = np.full((100, 100, 3), 210, np.uint8)
    picture = compose(background, [Placed(sprite=_disc(25, 40), x_px=50, y_px=50)], light=FLAT)
    inside = int(picture.frame[50, 50, 1])
    half_tone = (inside + 210) / 2
    is_seen = picture.frame[..., 1] < half_tone
    assert np.count_nonzero(is_seen ^ picture.whole[0]) <= 0.04 * is_seen.sum()
    assert picture.whole[0].sum() == pytest.approx(np.pi * 25**2, rel=0.03)


def test_light_side_is_brighter() -> None:
    background = np.full((120, 120, 3), 128, np.uint8)
    placed_sprites = [Placed(sprite=_disc(40, 128), x_px=60, y_px=60)]
    right = compose(background, placed_sprites, light=replace(FLAT, shade=0.6, from_deg=80.0)).frame.astype(int)
    assert right[40:80, 70:92].mean() > right[40:80, 28:50].mean() + 8


def test_shadow_falls_behind_only() -> None:
    background = np.full((120, 120, 3), 200, np.uint8)
    placed_sprites = [Placed(sprite=_disc(30, 120), x_px=60, y_px=60)]
    bare, cast = (
        compose(background, placed_sprites, light=replace(FLAT, shadow=s)).frame.astype(int) for s in (0.0, 0.6)
    )
    assert cast[93:96, 55:65].mean() < bare[93:96, 55:65].mean() - 4, "below, where the light comes from above"
    assert np.abs(cast[55:65, 55:65] - bare[55:65, 55:65]).max() <= 1


def test_motion_smears_along_the_way() -> None:
    background = np.full((100, 160, 3), 30, np.uint8)
    still, moving = (
        compose(background, [Placed(sprite=_disc(20, 220), x_px=80, y_px=50, speed_px=v)], light=FLAT).frame
        for v in ((0.0, 0.0), (16.0, 0.0))
    )
    edge = [np.abs(np.diff(frame[50, 80:, 1].astype(int))).max() for frame in (still, moving)]
    assert edge[1] < 0.5 * edge[0]
    assert np.abs(np.diff(moving[50:, 80, 1].astype(int))).max() > 0.5 * edge[0], "across it stays sharp"


def test_soft_photographs_soften_things() -> None:
    sharp = _background((240, 320))
    soft = cv2.GaussianBlur(sharp, (0, 0), 2.0)
    steps = []
    for background in (sharp, soft):
        frame = compose(background, [Placed(sprite=_disc(40, 30), x_px=160, y_px=80)], light=FLAT).frame.astype(int)
        steps.append(np.abs(np.diff(frame[80, 100:220, 1])).max())
    assert steps[1] < 0.8 * steps[0]


def test_nothing_placed_is_the_background() -> None:
    picture = compose(_background(), [], light=FLAT)
    assert np.array_equal(picture.frame, _background())
    assert picture.visible == picture.whole == ()


def test_tiny_background() -> None:
    picture = compose(np.full((1, 1, 3), 90, np.uint8), [Placed(sprite=_disc(5, 200), x_px=0, y_px=0)], light=FLAT)
    assert picture.whole[0].shape == (1, 1)
    assert picture.whole[0].all()


def test_light_survives_json() -> None:
    light = choose_light(generator(9))
    assert codec.from_json(Light, json.loads(json.dumps(codec.to_json(light)))) == light


@pytest.mark.parametrize(
    "change",
    [{"shade": 2.0}, {"from_deg": float("nan")}, {"gain": "1"}, {"grain_seed": -1}, {"grain_seed": 1.5}, {"extra": 1}],
)
def test_hostile_light_is_refused(change: dict[str, object]) -> None:
    with pytest.raises(InputError):
        codec.from_json(Light, {**codec.to_json(FLAT), **change}, error=InputError, exact=True)
    with pytest.raises(InputError):
        codec.from_json(Light, [], error=InputError, exact=True)


def test_a_stage_gives_the_same_pictures() -> None:
    background, light = _background(), choose_light(generator(4))
    stage = Backdrop.of(background, light=light)
    for count in (1, 3):
        composed, other = (
            compose(background, _placed_sprites(count), light=light),
            put_together(stage, [lay(placed_sprite, stage) for placed_sprite in _placed_sprites(count)]),
        )
        assert composed.frame.tobytes() == other.frame.tobytes()


@pytest.mark.parametrize("word", [word for word in COLOURS if word not in {"white", "grey"}])
@pytest.mark.parametrize("behind", [30, 120, 230])
def test_matching_leaves_the_colour_its_word(word: str, behind: int) -> None:
    rng = generator(6, word, behind)
    sprite = _disc(25, 0)
    painted_sprite = Sprite(
        np.broadcast_to(np.array(draw_tone(rng, word), np.uint8), sprite.rgb.shape).copy(), sprite.alpha
    )
    background = np.full((100, 100, 3), behind, np.uint8)
    picture = compose(background, [Placed(sprite=painted_sprite, x_px=50, y_px=50)], light=replace(FLAT, shade=0.3))
    words = words_of(picture.frame[picture.visible[0]])
    others = [COLOURS[index] for index in np.unique(words[words >= 0]) if np.mean(words == index) > 0.5]
    assert not set(others) - {word}


def test_white_stays_brighter_than_grey() -> None:
    for behind in (20, 120, 230):
        darkest_by_word = {}
        for word in ("white", "grey"):
            tone = draw_tone(generator(7, word), word)
            sprite = _disc(25, 0)
            painted_sprite = Sprite(np.broadcast_to(np.array(tone, np.uint8), sprite.rgb.shape).copy(), sprite.alpha)
            background = np.full((100, 100, 3), behind, np.uint8)
            frame = compose(background, [Placed(sprite=painted_sprite, x_px=50, y_px=50)], light=FLAT).frame
            darkest_by_word[word] = int(frame[50, 50].min())
        assert darkest_by_word["white"] >= 200
        assert darkest_by_word["white"] > darkest_by_word["grey"] + 30


@pytest.mark.parametrize(
    "change",
    [{}, {"x_px": 90.0}, {"x_px": 150.0, "y_px": 20.0}, {"speed_px": (5.0, 0.0)}, {"sprite": _disc(22, 90)}],
)
def test_a_layer_does_not_depend_on_the_one_before(change: dict[str, object]) -> None:
    stage = Backdrop.of(_background(), light=choose_light(generator(8)))
    first = _placed_sprites(2)[1]
    then = replace(first, **change)  # type: ignore[arg-type]
    fresh, reused = lay(then, stage), lay(then, stage, after=lay(first, stage))
    assert fresh is not None
    assert reused is not None
    assert fresh.there == reused.there
    for name in ("keep", "seen", "mask"):
        assert getattr(fresh, name).tobytes() == getattr(reused, name).tobytes(), name


def test_a_thing_outside_has_no_layer() -> None:
    stage = Backdrop.of(_background(), light=FLAT)
    assert lay(replace(_placed_sprites(1)[0], x_px=-900.0), stage) is None


@settings(max_examples=25)
@given(scale=st.floats(0.02, 1.0), turn=st.floats(-180, 180))
def test_derived_sprites_keep_size_and_middle(scale: float, turn: float) -> None:
    master = _disc(60, 200)
    sprite = derived(master, scale=scale, turn_deg=turn)
    inside = sprite.alpha >= 128
    rows, columns = np.nonzero(inside)
    radius = 60 * scale
    assert inside.sum() == pytest.approx(np.pi * radius**2, abs=2 * np.pi * radius * 0.75 + 4), (
        "off by less than a pixel"
    )
    assert rows.mean() + 0.5 == pytest.approx(inside.shape[0] / 2, abs=0.7)
    assert columns.mean() + 0.5 == pytest.approx(inside.shape[1] / 2, abs=0.7)
    assert np.abs(sprite.rgb[inside].astype(int) - 200).max() <= 1


def test_derived_sprites_turn_clockwise() -> None:
    alpha = np.zeros((60, 40), np.uint8)
    alpha[10:20, 15:25] = 255  # above the middle
    turned_alpha = derived(Sprite(np.full((60, 40, 3), 90, np.uint8), alpha), scale=1.0, turn_deg=90.0).alpha
    rows, columns = np.nonzero(turned_alpha >= 128)
    assert columns.mean() - turned_alpha.shape[1] / 2 == pytest.approx(15, abs=1)
    assert rows.mean() - turned_alpha.shape[0] / 2 == pytest.approx(0, abs=1)


def test_white_with_dark_parts_stays_white_in_the_dark() -> None:
    sprite = _disc(25, 235)
    rgb = sprite.rgb.copy()
    rgb[:, :18] = 30
    background = np.full((100, 100, 3), 20, np.uint8)
    placed_sprites = [Placed(sprite=Sprite(rgb, sprite.alpha), x_px=50, y_px=50)]
    assert int(compose(background, placed_sprites, light=FLAT).frame[50, 60].min()) >= 200
