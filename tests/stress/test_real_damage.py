"""Each level does more damage to real photographs, sounds and sentences in the median, but for exceptions named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
import stress_damage

from auscult.rng import generator

CASES = [(room, name) for room in stress_damage.READERS for name in stress_damage.names(room)]


@pytest.fixture(scope="module")
def material(data: Path) -> dict[str, list[Any]]:
    pytest.importorskip("soundfile", reason="the extra `video` is not installed")
    return {room: stress_damage.material(room, data) for room in stress_damage.READERS}


@pytest.mark.slow
@pytest.mark.extra_video
@pytest.mark.parametrize(("room", "name"), CASES)
def test_each_level_does_more_damage(room: str, name: str, material: dict[str, list[Any]]) -> None:
    """An exception that is none is an error as well."""
    assert len(material[room]) >= 40
    for metric, values in stress_damage.medians(name, material[room]).items():
        is_expected = (name, metric) not in stress_damage.EXCEPTIONS
        assert stress_damage.grows_worse(metric, values) is is_expected, f"{metric}: {values}"


def test_every_exception_is_of_something_registered() -> None:
    assert {name for name, _ in stress_damage.EXCEPTIONS} <= {name for _, name in CASES}


def test_all_that_is_registered_and_can_be_measured_is() -> None:
    rooms = {room for room, _ in CASES}
    assert rooms == {"vision", "sound", "sentences", "timing"}
    page = stress_damage.PAGE.read_text(encoding="utf-8")
    assert [name for _, name in CASES if f"| {name} |" not in page] == []


@pytest.mark.parametrize(
    ("metric", "values", "expected"),
    [
        ("PSNR", [30, 25, 20, 15, 10], True),
        ("PSNR", [30, 25, 26, 15, 10], False),
        ("PSNR", [30, 30, 30, 30, 30], False),
        ("edit distance", [1, 1, 2, 3, 4], True),
        ("edit distance", [4, 3, 2, 1, 0], False),
    ],
)
def test_worse_is_told_by_the_metric(metric: str, values: list[float], expected: bool) -> None:
    assert stress_damage.grows_worse(metric, values) is expected


def photograph_and_another() -> tuple[Any, Any]:
    rng = generator(0, "ssim")
    clean = cv2.GaussianBlur(rng.integers(0, 256, (90, 120, 3), np.uint8), (0, 0), 3)
    noise = rng.integers(-30, 31, clean.shape, np.int16)
    return clean, np.clip(clean.astype(np.int16) + noise, 0, 255).astype(np.uint8)


@pytest.mark.extra_demo
def test_structural_similarity_is_scikit_images() -> None:
    metrics = pytest.importorskip("skimage.metrics", reason="the extra `demo` is not installed")
    clean, other = photograph_and_another()
    peer_value = metrics.structural_similarity(
        clean, other, channel_axis=2, gaussian_weights=True, sigma=1.5, use_sample_covariance=False, data_range=255
    )
    assert stress_damage.ssim(clean, other) == pytest.approx(peer_value, abs=1e-9)


def test_metrics_of_known_damage() -> None:
    clean, _ = photograph_and_another()
    assert stress_damage.ssim(clean, clean) == pytest.approx(1.0)
    assert stress_damage.psnr_db(clean, clean) == pytest.approx(100.0)
    flat = np.full_like(clean, 100)
    assert stress_damage.psnr_db(flat, flat + 5) == pytest.approx(20 * np.log10(255 / 5))
    tone = np.sin(np.arange(8_000) / 7.0).astype(np.float32)
    assert stress_damage.snr_db(tone, tone * np.float32(0.9)) == pytest.approx(20.0, abs=1e-3)
    assert stress_damage.spectral_distance_db(tone, tone) == 0.0
    hiss = generator(0, "hiss").standard_normal(8_000).astype(np.float32)
    assert stress_damage.spectral_distance_db(hiss, hiss * np.float32(0.5)) == pytest.approx(6.02, abs=0.01)
