"""SNR, SI-SDR and the delay of an output, as a caller sees them."""

import numpy as np
import pytest

from auscult.errors import InputError
from auscult.outcome import Undefined
from auscult.score.sound import find_delay, moved, si_sdr, snr


@pytest.fixture
def stem():
    return np.random.default_rng(3).standard_normal(70_000)


def noise(shape, seed=4):
    return np.random.default_rng(seed).standard_normal(shape)


def test_si_sdr_is_that_of_the_formula_and_forgives_the_scale_that_snr_does_not(stem):
    estimate = stem + 0.1 * noise(stem.shape)
    scaled = stem * (estimate @ stem) / (stem @ stem)
    expected = 10 * np.log10((scaled**2).sum() / ((estimate - scaled) ** 2).sum())
    assert si_sdr(estimate, stem).value == pytest.approx(expected, abs=1e-9)
    assert si_sdr(0.01 * estimate, stem).value == pytest.approx(expected, abs=1e-9)
    assert snr(0.01 * estimate, stem).value == pytest.approx(20 * np.log10(1 / 0.99), abs=0.01)
    assert snr(estimate, stem).value == pytest.approx(20, abs=0.05)


@pytest.mark.parametrize("wanted_db", [60, 120, 200])
def test_a_tiny_error_is_not_lost_in_rounding(stem, wanted_db):
    other = noise(stem.shape)
    other -= stem * (other @ stem) / (stem @ stem)
    other *= np.sqrt((stem @ stem) / (other @ other)) * 10 ** (-wanted_db / 20)
    assert si_sdr(0.3 * (stem + other), stem).value == pytest.approx(wanted_db, abs=1e-3)


@pytest.mark.parametrize(
    ("estimate", "true", "reason"),
    [
        ("zero", "stem", "the estimate is silent"),
        ("stem", "zero", "the stem is silent"),
        ("zero", "zero", "the stem is silent"),
        ("stem", "stem", "equals the stem"),
    ],
)
@pytest.mark.parametrize("score", [snr, si_sdr])
def test_without_a_ratio_it_is_undefined_with_the_reason(stem, score, estimate, true, reason):
    sound_of = {"zero": np.zeros_like(stem), "stem": stem}
    outcome = score(sound_of[estimate], sound_of[true])
    assert isinstance(outcome, Undefined)
    assert reason in outcome.reason


def test_shapes_that_differ_and_samples_that_are_not_finite_are_errors(stem):
    with pytest.raises(
        InputError, match="stem has 70000 samples in 2 channels, estimate has 70000 samples in 1 channel"
    ):
        si_sdr(stem, np.stack([stem, stem]))
    with pytest.raises(InputError, match="stem has 69999 samples in 1 channel, estimate has 70000"):
        snr(stem, stem[1:])
    with pytest.raises(InputError, match="not finite"):
        si_sdr(np.where(np.arange(stem.size) == 40_000, np.nan, stem), stem)


@pytest.mark.parametrize("delay", [0, 1, -1, 736, -736, 1600, -1600])
@pytest.mark.parametrize("channels", [1, 2])
def test_a_delay_of_up_to_a_tenth_of_a_second_is_found(delay, channels):
    stem = noise((channels, 40_000), seed=5)
    estimate = -0.3 * moved(stem, -delay) + 0.1 * noise(stem.shape, seed=6)
    result = find_delay(estimate, stem, rate_hz=16_000)
    assert (result.delay_samples, result.named) == (delay, delay != 0)
    assert result.delay_s == delay / 16_000
    assert result.correlation < -0.8
    second = find_delay(moved(estimate, result.delay_samples), stem, rate_hz=16_000)
    assert second.delay_samples == 0


def test_filtering_and_a_wrong_sound_are_no_delay():
    stem = noise(40_000)
    filtered = np.convolve(stem, [0.5, 0.4, 0.1])[:40_000]
    assert not find_delay(filtered, stem, rate_hz=16_000).named
    assert isinstance(find_delay(stem, 0 * stem, rate_hz=16_000), Undefined)
    assert not find_delay(noise(40_000, seed=9), stem, rate_hz=16_000).named
    short = find_delay(stem[:50], stem[:50], rate_hz=16_000)
    assert short.delay_samples == 0
