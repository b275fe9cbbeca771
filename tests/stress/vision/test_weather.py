"""Snow, fog, frost and spatter: ImageNet-C's formulas, more damage at each level, and weather that does not boil."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any

import cv2
import numpy as np
import plain_weather as plain
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from auscult.rng import generator
from auscult.stress import vision
from auscult.stress.perturbation import loaded
from auscult.stress.recipe_parts import SCHEDULES
from auscult.stress.vision import snow, weather
from auscult.stress.vision.base import ClipInfo
from auscult.stress.vision.snow import Snow, SnowParams, SnowR2Bench, whitened
from auscult.stress.vision.weather import (
    COUNT,
    Fog,
    FogParams,
    FogR2Bench,
    Frost,
    FrostParams,
    FrostR2Bench,
    texture,
    veiled,
)

load = partial(loaded, "vision")
KINDS = ("snow", "fog", "frost", "spatter")
R2BENCH = ("snow_r2bench", "fog_r2bench", "frost_r2bench")
LEVELS = (1, 2, 3, 4, 5)

# By their constants, and the more so on small pictures. Frost's level 4 keeps less of the picture than level 3 under as
# much frost: the sum is darker, and nearer the picture. Snow's levels 2 and 3 do as much damage as one another. Level
# 4 of fog is as dense as level 3, of a rougher fractal; resized to a picture, that may be as near it or nearer.
EXCEPTIONS = {("fog_r2bench", 4), ("frost", 4), ("frost_r2bench", 4), ("snow", 3), ("snow_r2bench", 3)}


def textured(height: int, width: int) -> Any:
    """A picture of noise at several scales, with blacks and whites."""
    rng = generator(0, "weather", "picture")
    values = np.zeros((height, width, 3), dtype=np.float32)
    for scale in (1, 4, 16, 64):
        cells = rng.standard_normal((height // scale + 2, width // scale + 2, 3), dtype=np.float32)
        values += cv2.resize(cells, (width, height), interpolation=cv2.INTER_LINEAR)
    return np.clip(100 + 45 * values, 0, 255).astype(np.uint8)


PICTURE = textured(160, 240)


def psnr(first: Any, second: Any) -> float:
    return float(10 * np.log10(255**2 / max(1e-9, np.mean((first.astype(float) - second) ** 2))))


def params_of(kind: str, seed: int, strength: float, shape: tuple[int, int] = (160, 240)) -> Any:
    return load(kind).choose(generator(seed, "test"), ClipInfo(height=shape[0], width=shape[1]), strength=strength)


def layer(kind: str, seed: int, index: int) -> Any:
    """What the weather alone adds: the perturbed black picture, and for fog the veil itself."""
    params = params_of(kind, seed, 3.0)
    if isinstance(params, FogParams):
        return 255.0 * load(kind).fractal((160, 240), params, decay=1.7, index=index)
    return load(kind).render(np.full((160, 240, 3), 40, np.uint8), params, index=index).astype(float)


# --- the formulas ---


@pytest.mark.parametrize("density", [0.3, 1.5, 3.0])
@pytest.mark.parametrize("brightest", [90, 255])
def test_fog_is_the_formula(density: float, brightest: int) -> None:
    picture = np.minimum(PICTURE, np.uint8(brightest))
    fractal = generator(1, "fractal").random((160, 240), dtype=np.float32)
    expected = plain.veiled(picture, fractal, density=density)
    assert np.abs(veiled(picture, fractal, density=density).astype(int) - expected).max() <= 1


def test_a_black_picture_stays_black_in_fog() -> None:
    black = np.zeros((30, 40, 3), np.uint8)
    assert not vision.apply("fog", black, severity=3).any()


@pytest.mark.parametrize("kept_share", [0.55, 0.7, 0.8, 0.97, 1.0])
def test_snow_whitens_as_the_formula(kept_share: float) -> None:
    flakes = cv2.GaussianBlur(textured(160, 240)[..., 0], (0, 0), 3) // 3
    expected = plain.whitened(PICTURE, flakes / 255.0, kept_share=kept_share)
    both_layers = np.asarray(cv2.add(flakes, np.ascontiguousarray(flakes[::-1, ::-1])), dtype=np.uint8)
    assert np.abs(whitened(PICTURE, both_layers, kept=kept_share).astype(int) - expected).max() <= 2


@pytest.mark.parametrize("angle_deg", [-135.0, -110.0, -90.0, -61.3, -45.0])
@pytest.mark.parametrize(("radius", "spread"), [(10, 4.0), (12, 12.0)])
def test_flakes_are_drawn_out_as_the_formula(angle_deg: float, radius: int, spread: float) -> None:
    def layer_of(radius: float) -> Any:
        flakes = snow.Flakes(
            mean=0.2, deviation=0.3, zoom=(3.0, 3.0), threshold=0.5, radius=radius, spread=spread, angle_deg=angle_deg
        )
        return snow.layer(flakes, 5, (160, 240), fallen=0.0).astype(float)

    expected = plain.drawn_out(layer_of(0), radius=radius, spread=spread, angle_deg=angle_deg)
    inside = np.s_[26:, 26:-26]  # what comes in over the edge differs on purpose
    assert np.abs(layer_of(radius) - expected)[inside].max() <= 1.0


@pytest.mark.parametrize("level", LEVELS)
def test_frost_is_the_formula(level: int) -> None:
    params = FrostParams(strength=float(level), texture=2, down=0.0, right=1.0)
    kept_share, ice_share = plain.FROST[level - 1]
    expected = np.clip(kept_share * PICTURE.astype(float) + ice_share * texture(2)[:160, -240:], 0, 255).astype(
        np.uint8
    )
    assert np.abs(Frost().render(PICTURE, params).astype(int) - expected).max() <= 1


@pytest.mark.parametrize(
    ("kind", "level"),
    [*((kind, level) for kind in ("snow", "spatter") for level in LEVELS), ("fog", 1), ("fog", 3), ("fog", 5)],
)
def test_damage_is_that_of_the_formula(kind: str, level: int) -> None:
    """Mean squared error and brightness over draws, beside an independent plain implementation with its own draws."""
    picture = np.ascontiguousarray(PICTURE[:60, :64]) if kind == "fog" else PICTURE
    our_images, their_images = (
        [make(seed) for seed in range(count)]
        for make, count in (
            (lambda seed: vision.apply(kind, picture, severity=level, seed=seed), 40),
            (
                lambda seed: getattr(plain, kind)(generator(seed, "plain"), picture, level),
                10 if kind == "spatter" else 6,
            ),
        )
    )
    our_damage, other = (
        10 * np.log10(np.mean([(m.astype(float) - picture) ** 2 for m in images]))
        for images in (our_images, their_images)
    )
    assert abs(our_damage - other) <= (
        0.5 if kind == "snow" else 1.3
    )  # a cloud, or the few drops of level 1, differ more
    assert (
        abs(np.mean([image.mean() for image in our_images]) - np.mean([image.mean() for image in their_images])) < 8.0
    )


@pytest.mark.parametrize("decay", [1.4, 2.0])
def test_fractal_is_as_rough_as_the_formula(decay: float) -> None:
    """Steps between neighbours 1, 4 and 16 points apart, in the mean over draws."""
    our_maps = [weather.plasma(seed, 64, decay=decay).heights for seed in range(60)]
    their_maps = [plain.plasma(generator(seed, "plain"), 64, decay=decay) for seed in range(8)]
    for lag in (1, 4, 16):
        our_roughness, other = (
            np.mean([np.abs(np.roll(m, lag, 1) - m).mean() for m in maps]) for maps in (our_maps, their_maps)
        )
        assert our_roughness == pytest.approx(other, rel=0.2)


@pytest.mark.parametrize("decay", [1.4, 1.5])
def test_what_is_finer_than_a_map_is_as_rough_as_the_formula(decay: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """The power of bends between neighbours, in the two roughest fogs, where the last two halvings are made apart."""

    def roughness(finest: int) -> float:
        monkeypatch.setattr(weather, "FINEST", finest)
        maps = (weather.plasma(seed, 64, decay=decay) for seed in range(20))
        pieces = (weather.piece(map_, at=(0, 0), shape=(64, 64)) for map_ in maps)
        return float(np.mean([np.square(np.diff(np.diff(piece), axis=0)).mean() for piece in pieces]))

    assert 10 * math.log10(roughness(16) / roughness(64)) == pytest.approx(0.0, abs=1.5)


# --- damage grows ---


@pytest.mark.parametrize("kind", KINDS + R2BENCH)
def test_damage_grows_with_the_level(kind: str) -> None:
    medians = _medians(kind, [PICTURE] * 9)
    _falls(kind, medians)


def _medians(kind: str, pictures: list[Any]) -> list[float]:
    return [
        float(
            np.median([psnr(p, vision.apply(kind, p, severity=level, seed=index)) for index, p in enumerate(pictures)])
        )
        for level in (0.5, *LEVELS)
    ]


def _falls(kind: str, medians: list[float]) -> None:
    for level, (before, after) in enumerate(pairwise(medians), start=1):
        if (kind, level) in EXCEPTIONS:
            assert after < before + 0.6
        else:
            assert after < before, f"{kind}, level {level}: {before:.2f} then {after:.2f} dB"


# --- weather in a clip ---


@pytest.mark.parametrize(("kind", "most"), [("fog", 0.1), ("fog_r2bench", 0.1), ("snow", 0.5), ("snow_r2bench", 0.5)])
def test_weather_does_not_boil(kind: str, most: float) -> None:
    """Neighbouring frames' layers differ by a fraction of what independent draws differ by, late in a clip too."""
    for seed in (1, 2, 3):
        anew = np.abs(layer(kind, seed, 0) - layer(kind, seed + 10, 0)).mean()
        for index in (0, 1, 200):
            step = np.abs(layer(kind, seed, index + 1) - layer(kind, seed, index)).mean()
            assert step < most * anew
        assert not np.array_equal(layer(kind, seed, 20), layer(kind, seed, 0))


@pytest.mark.parametrize("kind", ["frost", "frost_r2bench", "spatter"])
def test_what_lies_on_the_lens_stands_still(kind: str) -> None:
    params = params_of(kind, 4, 3.0)
    first, second_frame = (load(kind).render(PICTURE, params, index=index) for index in (0, 77))
    assert first.tobytes() == second_frame.tobytes()


@pytest.mark.parametrize("angle_deg", [-120.0, -90.0, -50.0])
def test_snow_falls_where_it_is_drawn_out_to(angle_deg: float) -> None:
    """Two frames later every flake, turned ones too, lies further down its direction."""
    params = SnowParams(strength=3.0, seed=9, angle_deg=angle_deg, speed=1.0)
    first, second_flakes = (Snow().flakes((160, 240), params, index=index).astype(float) for index in (0, 2))
    down, right = (round(2 * 4.0 * part) for part in snow.heading(angle_deg))
    assert down > 0
    followed = np.abs(second_flakes[40:-20, 40:-40] - first[40 - down : -20 - down, 40 - right : -40 - right]).mean()
    assert followed < 0.25 * np.abs(second_flakes - first).mean()


@pytest.mark.parametrize("kind", ["snow", "snow_r2bench"])
def test_snow_stays_the_same_snow_while_its_strength_changes(kind: str) -> None:
    """Under a schedule that moves, the flakes of neighbouring frames stand in the same places."""
    params = SnowParams(strength=5.0, seed=3, angle_deg=-80.0, speed=0.0)
    strengths = np.clip(SCHEDULES["walk"].strengths(5.0, seed=4, frames=25), 1.0, 5.0)
    assert np.ptp(strengths) > 1.0
    flakes_found = [
        load(kind).flakes((160, 240), replace(params, strength=strength), index=1).astype(float)
        for strength in strengths
    ]
    for (before, after), change in zip(pairwise(flakes_found), np.abs(np.diff(strengths)), strict=True):
        correlation = np.corrcoef(before.ravel(), after.ravel())[0, 1]
        assert correlation > 1.0 - 1.2 * change, (
            f"a change of strength by {change:.2f} leaves a correlation of {correlation:.2f}"
        )


@pytest.mark.parametrize("kind", ["snow", "snow_r2bench"])
def test_snow_between_levels_is_some_of_each(kind: str) -> None:
    stressor, draws = load(kind), SnowParams(strength=5.0, seed=3, angle_deg=-80.0, speed=0.4)
    flakes_at = {
        level: stressor.flakes((60, 90), replace(draws, strength=float(level)), index=4).astype(float)
        for level in LEVELS
    }
    for level in LEVELS:
        mean, deviation, zoom, threshold, radius, spread, _ = stressor.levels[level]
        flakes = snow.Flakes(
            mean=mean,
            deviation=deviation,
            zoom=stressor.zoom(zoom, (60, 90)),
            threshold=threshold,
            radius=radius,
            spread=spread,
            angle_deg=-80.0,
        )
        first, turned_layer = (snow.layer(flakes, 3, (60, 90), fallen=fallen) for fallen in (1.6, -1.6))
        assert np.array_equal(flakes_at[level], cv2.add(first, np.ascontiguousarray(turned_layer[::-1, ::-1])))
        for share in (1e-9, 0.3, 1 - 1e-9):
            flakes_made = stressor.flakes((60, 90), replace(draws, strength=level - 1 + share), index=4)
            expected = share * flakes_at[level] + (1 - share) * flakes_at.get(level - 1, np.zeros((60, 90)))
            assert np.abs(flakes_made - expected).max() <= 0.5001


def test_fog_drifts_by_its_speed_and_comes_round() -> None:
    params = FogParams(strength=3.0, seed=2, heading_deg=90.0, speed=10 / 240)
    first, second_frame, round_again = (
        Fog().fractal((160, 240), params, decay=1.7, index=index) for index in (0, 1, 128)
    )  # 1280 px is five times the map's 256
    assert np.array_equal(second_frame[10:], first[:-10])
    assert np.array_equal(round_again, first)


@pytest.mark.parametrize("kind", KINDS + R2BENCH)
def test_strength_changes_smoothly_with_the_same_draws(kind: str) -> None:
    """A thousandth of a level changes the picture by a small part of what a tenth changes."""
    params = params_of(kind, 6, 3.0)

    def frame_at(strength: float) -> Any:
        return load(kind).render(PICTURE, replace(params, strength=strength), index=3).astype(float)

    for strength in (0.5, 1.0, 1.25, 1.749, 2.5, 3.0, 3.5, 3.999, 4.9):
        near, far = (np.abs(frame_at(strength + step) - frame_at(strength)).mean() for step in (0.001, 0.1))
        assert near < 0.15 * far + 0.05


def test_spatter_between_water_and_mud_shows_both() -> None:
    grey = np.full((160, 240, 3), 120, np.uint8)
    output = vision.apply("spatter", grey, severity=3.5).astype(int)
    assert (output[..., 2] > 130).mean() > 0.005  # turquoise light
    assert (output[..., 2] < 100).mean() > 0.05  # brown cover


# --- the geometry of the release ---


def test_r2bench_fog_fits_one_map_to_the_frame() -> None:
    params = FogParams(strength=3.0, seed=2, heading_deg=0.0, speed=0.0)
    wide, high = (FogR2Bench().fractal(size, params, decay=2.0, index=0) for size in ((256, 1024), (1024, 256)))
    wide_map, other = (cv2.resize(map_, (64, 64), interpolation=cv2.INTER_AREA) for map_ in (wide, high))
    assert np.abs(wide_map - other).max() < 0.05
    assert wide.min() < 0.02
    assert wide.max() > 0.95


def test_r2bench_frost_shows_the_whole_texture() -> None:
    params = FrostParams(strength=3.0, texture=1, down=0.3, right=0.9)
    expected = cv2.resize(texture(1), (240, 160), interpolation=cv2.INTER_AREA).astype(float)
    ice_made = FrostR2Bench().ice((160, 240), params).astype(float)
    smooth = [cv2.blur(image, (9, 9)) for image in (ice_made, expected)]
    assert np.abs(smooth[0] - smooth[1]).mean() < 4.0


def test_r2bench_snow_stretches_its_cells_to_the_edges() -> None:
    height, width = SnowR2Bench().zoom(3.0, (151, 301))
    assert (151 / 3 - 1) * height == pytest.approx(150)
    assert (301 / 3 - 1) * width == pytest.approx(300)


# --- textures and odd inputs ---


@pytest.mark.parametrize("number", range(COUNT))
def test_frost_textures_are_as_bright_as_frost(number: int) -> None:
    ice = texture(number) / 255.0
    assert 0.5 < ice.mean() < 0.6
    assert 0.17 < ice.std() < 0.25
    red, green, blue = ice.reshape(-1, 3).mean(axis=0)
    assert red < green < blue
    assert not texture(number).flags.writeable


def test_frost_textures_differ() -> None:
    grey = [texture(number).mean(axis=2).ravel() for number in range(COUNT)]
    correlations = np.corrcoef(grey) - np.eye(COUNT)
    assert np.abs(correlations).max() < 0.7


@pytest.mark.parametrize("size", [(900, 500), (400, 1600), (1000, 1700)])
def test_frost_covers_pictures_larger_than_its_textures(size: tuple[int, int]) -> None:
    ice = Frost().ice(size, FrostParams(strength=3.0, texture=0, down=1.0, right=1.0))
    assert ice.shape == (*size, 3)


@settings(max_examples=40, deadline=None)
@given(
    kind=st.sampled_from(KINDS + R2BENCH),
    size=st.tuples(st.integers(1, 40), st.integers(1, 40)),
    strength=st.floats(0.001, 5.0),
    index=st.integers(0, 10_000),
    seed=st.integers(0, 2**40),
)
def test_any_size_and_strength(kind: str, size: tuple[int, int], strength: float, index: int, seed: int) -> None:
    frame = np.ascontiguousarray(PICTURE[: size[0], : size[1]])
    output = load(kind).render(frame, params_of(kind, seed, strength, size), index=index)
    assert output.shape == frame.shape
    assert output.dtype == np.uint8


def test_a_lens_without_drops_shows_the_picture() -> None:
    """On a picture too small for a drop, water leaves everything as it is."""
    grey = np.full((3, 3, 3), 90, np.uint8)
    images_made = [vision.apply("spatter", grey, severity=1, seed=seed) for seed in range(30)]
    assert any(np.array_equal(image, grey) for image in images_made)


def test_strips_do_not_show() -> None:
    """Edges of drops are found strip by strip; where strips meet, the light is that of the whole picture."""
    drops = (textured(500, 120)[..., 0] > 150).astype(np.uint8) * 200
    depth, strips = weather._depth(drops), weather._relief(drops)
    shaded = cv2.filter2D(cv2.equalizeHist(depth), cv2.CV_8U, weather._EMBOSS)
    assert (cv2.blur(shaded, (3, 3)) != strips).mean() < 0.005
