"""Measuring a photograph: noise, sharpness, tones."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from auscult.scenes.appearance import stage
from auscult.scenes.appearance.compose import shutter
from auscult.scenes.appearance.stage import (
    Sharpness,
    blur_between,
    camera_of,
    fine_detail,
    fineness_of,
    luma_of,
    noise_of,
    tones_of,
)


@pytest.mark.parametrize("sigma", [1.0, 4.0, 9.0])
def test_white_noise_is_measured(sigma: float) -> None:
    luma = (128 + np.random.default_rng(0).normal(0, sigma, (160, 160))).astype(np.float32)
    assert fine_detail(luma).mean() == pytest.approx(sigma, rel=0.05)
    inside = np.zeros((160, 160), np.bool_)
    assert noise_of(luma, inside) == 0.0
    inside[20:90, 20:90] = True
    assert noise_of(luma, inside) == pytest.approx(sigma, rel=0.3)


def _detail() -> np.ndarray:
    rng = np.random.default_rng(2)
    small = rng.uniform(0, 255, (60, 60)).astype(np.float32)
    return cv2.GaussianBlur(cv2.resize(small, (240, 240), interpolation=cv2.INTER_NEAREST), (0, 0), 0.3)


def test_blur_lowers_fineness_as_foretold() -> None:
    luma = _detail()
    fineness = fineness_of(luma)
    expected = 0.3 * fineness
    sigma = blur_between(fineness, expected)
    assert fineness_of(cv2.GaussianBlur(luma, (0, 0), sigma)) == pytest.approx(expected, rel=0.6)
    assert blur_between(fineness, fineness) == blur_between(fineness, 2 * fineness) == 0.0


def test_flat_and_tiny_pictures_have_a_camera() -> None:
    for size in ((1, 1, 3), (5, 300, 3), (200, 200, 3)):
        camera = camera_of(np.full(size, 77, np.uint8))
        assert camera.noise == pytest.approx(0.0, abs=1.0)
        assert 0 < camera.fineness <= 1
        assert camera.mean == pytest.approx([77, 77, 77])
    assert tones_of(np.zeros((0, 3), np.uint8)).light == 128.0


def test_grain_has_the_size_it_says_and_no_seam() -> None:
    tile = stage.tile(5, blur_px=0.5)
    wide = stage.window(np.tile(tile, (1, 3, 1)), x=37, y=11, size=(256, 300))
    assert wide.shape == (256, 300, 3)
    assert fine_detail(luma_of(wide)).mean() == pytest.approx(1.0, rel=0.05)
    assert np.array_equal(wide[:128], wide[128:])
    assert np.array_equal(wide[:, :128], wide[:, 128:256])
    assert tile.tobytes() == stage.tile(5, blur_px=0.5).tobytes() != stage.tile(6, blur_px=0.5).tobytes()


@pytest.mark.parametrize("speed", [(0.7, 0.0), (6.0, -3.0), (0.0, 11.5)])
def test_shutter_keeps_light_and_place(speed: tuple[float, float]) -> None:
    kernel = shutter(speed)
    assert kernel is not None
    assert kernel.sum() == pytest.approx(1.0, abs=1e-5)
    places = np.arange(len(kernel)) - len(kernel) // 2
    assert (kernel.sum(axis=0) * places).sum() == pytest.approx(0.0, abs=1e-4)
    reach = np.ptp(places[kernel.sum(axis=0) > 1e-4]), np.ptp(places[kernel.sum(axis=1) > 1e-4])
    assert reach == pytest.approx(np.abs(speed), abs=2.1)
    assert shutter((0.2, 0.2)) is None


def test_sharpness_from_place_to_place() -> None:
    luma = _detail()
    half_blurred = np.where(np.arange(240)[None, :] < 120, luma, cv2.GaussianBlur(luma, (0, 0), 2.0))
    sharp = Sharpness.of(np.clip(cv2.merge([half_blurred] * 3), 0, 255).astype(np.uint8))
    left_fineness, right = (sharp.around((slice(40, 200), columns)) for columns in (slice(16, 104), slice(136, 224)))
    assert left_fineness is not None
    assert right is not None
    assert left_fineness == pytest.approx(fineness_of(luma[40:200, 16:104]), rel=0.2)
    assert right < 0.3 * left_fineness
    assert Sharpness.of(np.zeros((15, 400, 3), np.uint8)).around((slice(0, 15), slice(0, 40))) is None
