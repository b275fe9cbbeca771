"""Noises against the formulas of ImageNet-C, and what a user can see of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from auscult.rng import generator
from auscult.stress import noise
from auscult.stress.perturbation import Params, SeedParams, between
from auscult.stress.vision.base import VisionStressor
from auscult.stress.vision.sensor_noise import GAUSSIAN_NOISE as GAUSSIAN
from auscult.stress.vision.sensor_noise import IMPULSE_NOISE as IMPULSE
from auscult.stress.vision.sensor_noise import SHOT_NOISE as SHOT
from auscult.stress.vision.sensor_noise import SPECKLE_NOISE as SPECKLE
from auscult.stress.vision.sensor_noise import brightness_table
from auscult.types import Frame

STRESSORS = (GAUSSIAN, SHOT, IMPULSE, SPECKLE)
LEVELS = (1, 2, 3, 4, 5)
Plain = Callable[[NDArray[np.float64], float, np.random.Generator], NDArray[np.float64]]


def name_of(value: Any) -> str:
    return str(getattr(value, "name", getattr(value, "__name__", value)))


def photograph() -> Frame:
    """A synthetic one: large shapes, edges, texture, dark and bright parts."""
    rng = generator(0, "photograph")
    rows, columns = np.mgrid[:192, :256] / 192.0
    coarse = cv2.resize(rng.random((6, 8, 3)), (256, 192), interpolation=cv2.INTER_CUBIC)
    fine = cv2.GaussianBlur(rng.standard_normal((192, 256, 3)), (0, 0), 1.0)
    edges = (np.sin(40 * rows * columns) > 0)[..., None] * 0.25
    return np.asarray(np.clip(255 * (0.7 * coarse + 0.25 * fine + edges), 0, 255), dtype=np.uint8)


def seeded(strength: float, seed: int = 1) -> SeedParams:
    return SeedParams(strength=strength, seed=seed)


def psnr_db(before: Frame, after: Frame) -> float:
    return float(10 * math.log10(255.0**2 / np.mean((before.astype(float) - after) ** 2)))


def spectrum(noisy: Frame, picture: Frame) -> NDArray[np.float64]:
    """Power of what was added in eight rings of frequency."""
    added_noise = noisy.astype(float) - picture
    power = (np.abs(np.fft.fft2(added_noise, axes=(0, 1))) ** 2).mean(axis=2)
    radius = np.hypot(np.fft.fftfreq(power.shape[0])[:, None], np.fft.fftfreq(power.shape[1])[None])
    rings = np.minimum((radius * 16).astype(int), 7).ravel()
    return np.bincount(rings, power.ravel()) / np.bincount(rings)


# The formulas, on values of 0 to 1; what they give is clipped to that, scaled and cut down to whole grey levels.


def plain_gaussian(values: NDArray[np.float64], deviation: float, rng: np.random.Generator) -> NDArray[np.float64]:
    return values + rng.normal(size=values.shape, scale=deviation)


def plain_shot(values: NDArray[np.float64], grain: float, rng: np.random.Generator) -> NDArray[np.float64]:
    return rng.poisson(values / grain) * grain


def plain_impulse(values: NDArray[np.float64], share: float, rng: np.random.Generator) -> NDArray[np.float64]:
    hit, white = rng.random(values.shape) <= share, rng.random(values.shape) <= 0.5
    return np.where(hit, white.astype(float), values)


def plain_speckle(values: NDArray[np.float64], deviation: float, rng: np.random.Generator) -> NDArray[np.float64]:
    return values + values * rng.normal(size=values.shape, scale=deviation)


PLAIN: tuple[tuple[VisionStressor[SeedParams], Plain], ...] = (
    (GAUSSIAN, plain_gaussian),
    (SHOT, plain_shot),
    (IMPULSE, plain_impulse),
    (SPECKLE, plain_speckle),
)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(("stressor", "plain"), PLAIN, ids=name_of)
def test_agrees_with_the_formula_in_distribution(stressor: VisionStressor[Params], plain: Plain, level: int) -> None:
    picture = photograph()
    (constant,) = stressor.levels[level]
    noisy_values = plain(picture / 255.0, constant, generator(2, "plain", stressor.name))
    plain_image = (np.clip(noisy_values, 0.0, 1.0) * 255 + 1e-9).astype(np.uint8)
    output = stressor.render(picture, seeded(level))
    assert psnr_db(picture, output) == pytest.approx(psnr_db(picture, plain_image), abs=0.15)
    counts = [np.bincount(image.ravel(), minlength=256) for image in (output, plain_image)]
    assert np.abs(np.cumsum(counts[0] - counts[1])).max() < 0.01 * picture.size
    assert 10 * np.log10(spectrum(output, picture) / spectrum(plain_image, picture)) == pytest.approx(0, abs=1.0)


@pytest.mark.parametrize("grey", [0, 3, 40, 128, 250])
@pytest.mark.parametrize(("stressor", "plain"), PLAIN, ids=name_of)
def test_each_grey_level_has_the_formulas_mean_and_spread(
    stressor: VisionStressor[Params], plain: Plain, grey: int
) -> None:
    flat = np.full((128, 160, 3), grey, np.uint8)
    (constant,) = stressor.levels[3]
    noisy_values = np.clip(plain(np.full((512, 640), grey / 255.0), constant, generator(3, "plain")), 0.0, 1.0)
    plain_image = np.floor(noisy_values * 255 + 1e-9)
    output = stressor.render(flat, seeded(3)).astype(float)
    assert output.std() == pytest.approx(plain_image.std(), rel=0.03, abs=0.01)
    assert output.mean() == pytest.approx(plain_image.mean(), abs=0.02 * plain_image.std() + 0.01)


@pytest.mark.parametrize("stressor", STRESSORS, ids=name_of)
def test_more_strength_does_more_damage(stressor: VisionStressor[Params]) -> None:
    picture = photograph()
    falls = [
        psnr_db(picture, stressor.render(picture, seeded(strength))) for strength in (0.1, 0.5, 1, 1.5, 2, 2.5, 3, 4, 5)
    ]
    assert falls == sorted(falls, reverse=True)


@pytest.mark.parametrize("stressor", STRESSORS, ids=name_of)
def test_noise_is_new_in_each_frame_and_channel(stressor: VisionStressor[Params]) -> None:
    picture = np.full((120, 160, 3), 100, np.uint8)
    first, second = (stressor.render(picture, seeded(3), index=index).astype(float) for index in (0, 1))
    second_again = stressor.render(picture, seeded(3), index=1)
    assert np.array_equal(second, second_again)
    pairs = ((first, second), (first[..., 0], first[..., 1]), (first[:, 1:], first[:, :-1]), (first[1:], first[:-1]))
    for first_noise, other in pairs:
        assert abs(np.corrcoef(first_noise.ravel(), other.ravel())[0, 1]) < 0.03


@pytest.mark.parametrize("stressor", STRESSORS, ids=name_of)
def test_next_to_no_strength_costs_at_most_the_fraction_that_is_dropped(stressor: VisionStressor[Params]) -> None:
    picture = photograph()
    for strength in (5e-324, 1e-200, 1e-9):
        difference = picture.astype(int) - stressor.render(picture, seeded(strength))
        assert set(np.unique(difference)) <= {0, 1}


@given(share=st.floats(0.01, 5.0), grey=st.integers(1, 254))
@settings(max_examples=20, deadline=None)
def test_impulses_are_half_white_half_black_and_leave_the_rest(share: float, grey: int) -> None:
    output = IMPULSE.render(np.full((150, 200, 3), grey, np.uint8), seeded(share))
    expected = between([row[0] for row in IMPULSE.levels], share)
    counts = np.bincount(output.ravel(), minlength=256) / output.size
    assert counts[0] == pytest.approx(expected / 2, abs=0.005)
    assert counts[255] == pytest.approx(expected / 2, abs=0.005)
    assert counts[0] + counts[grey] + counts[255] == pytest.approx(1.0)


@pytest.mark.parametrize("stressor", [SHOT, SPECKLE], ids=name_of)
def test_black_stays_black_where_noise_comes_from_light(stressor: VisionStressor[Params]) -> None:
    assert not stressor.render(np.zeros((30, 40, 3), np.uint8), seeded(5)).any()


@pytest.mark.parametrize("photons", [3, 5, 8.7, 12, 25, 60, 400])
def test_photons_are_counted_as_poisson_says(photons: float) -> None:
    table = brightness_table(photons)
    assert table.shape == (256, 4096)
    for grey in (0, 1, 7, 100, 254, 255):
        expected, below = grey * photons / 255, 0.0
        for count in range(math.ceil(photons)):
            below += math.exp(-expected + count * math.log(expected or 1.0) - math.lgamma(count + 1)) * (
                expected > 0 or count == 0
            )
            if count + 1 < photons:  # brighter ones are all 255
                bright = int(count * 255 / photons + 1e-9)
                following = int((count + 1) * 255 / photons + 1e-9)
                if bright < following:
                    assert np.mean(table[grey] <= bright) == pytest.approx(below, abs=1.01 / 8192)


def test_many_photons_go_over_into_the_smooth_approximation() -> None:
    poisson_table, smooth = brightness_table(400.0).astype(float), brightness_table(400.001).astype(float)
    assert smooth.mean(axis=1) == pytest.approx(
        poisson_table.mean(axis=1), abs=0.35
    )  # counts leave gaps between levels
    assert smooth[30:230].std(axis=1) == pytest.approx(poisson_table[30:230].std(axis=1), rel=0.02)
    assert np.array_equal(brightness_table(math.inf), np.repeat(np.arange(256)[:, None], 4096, axis=1))


@given(shape=st.lists(st.integers(1, 9), min_size=1, max_size=3), seed=st.integers(0, 99))
@settings(max_examples=25, deadline=None)
def test_words_of_any_shape(shape: list[int], seed: int) -> None:
    words_drawn = noise.words(generator(seed), tuple(shape))
    assert words_drawn.shape == tuple(shape)
    assert words_drawn.dtype == np.uint16


def test_words_have_even_bits() -> None:
    words_drawn = noise.words(generator(4), (100_003,))
    shares = [np.mean(words_drawn >> bit & 1) for bit in range(16)]
    assert shares == pytest.approx([0.5] * 16, abs=0.01)


@given(height=st.integers(1, 300), width=st.integers(1, 2000))
@settings(max_examples=40, deadline=None)
def test_strips_cover_each_row_once(height: int, width: int) -> None:
    frame = np.broadcast_to(np.uint8(0), (height, width, 3))
    rows = [row for strip in noise.strips(frame) for row in range(height)[strip]]
    assert rows == list(range(height))
