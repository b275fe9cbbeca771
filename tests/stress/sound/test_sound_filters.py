"""Filters of sound: the gain of the textbook's filter, no delay, any rate, any length, any number of channels."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from auscult.rng import generator
from auscult.stress import sound
from auscult.stress.sound import filters
from auscult.stress.sound.filters import HIGH_PASS, LOW_PASS, CutoffParams, PeakingParams, Response
from auscult.stress.sound.filters import PEAKING_FILTER as PEAKING
from auscult.types import Samples

RATES = (8_000, 16_000, 44_100, 192_000)


def hiss(samples: int, *, channels: int = 1, seed: int = 0) -> Samples:
    noise = generator(seed, "hiss").standard_normal((channels, samples))
    return (0.1 * noise).astype(np.float32)


def butterworth(kind: str, cutoff_hz: float, rate_hz: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Coefficients by the bilinear transform, as in any textbook of digital filters."""
    k = math.tan(math.pi * cutoff_hz / rate_hz)
    norm = 1.0 / (1.0 + math.sqrt(2.0) * k + k * k)
    top = np.array([k * k, 2 * k * k, k * k]) if kind == "low" else np.array([1.0, -2.0, 1.0])
    return top * norm, np.array([1.0, 2.0 * (k * k - 1.0) * norm, (1.0 - math.sqrt(2.0) * k + k * k) * norm])


def cookbook(centre_hz: float, *, gain_db: float, q: float, rate_hz: int) -> tuple[NDArray[np.float64], ...]:
    """Coefficients of peakingEQ in the Audio EQ Cookbook."""
    w = 2.0 * math.pi * centre_hz / rate_hz
    a = 10.0 ** (gain_db / 40.0)
    alpha = math.sin(w) / (2.0 * q)
    top = np.array([1 + alpha * a, -2 * math.cos(w), 1 - alpha * a])
    below = np.array([1 + alpha / a, -2 * math.cos(w), 1 - alpha / a])
    return top / below[0], below / below[0]


def recursive(samples: NDArray[np.floating], b: NDArray[np.float64], a: NDArray[np.float64]) -> NDArray[np.float64]:
    """The filter run sample by sample, from rest."""
    output = np.zeros(len(samples))
    first = second = 0.0
    for index, value in enumerate(samples.tolist()):
        out = b[0] * value + first
        first = b[1] * value - a[1] * out + second
        second = b[2] * value - a[2] * out
        output[index] = out
    return output


def answer(response: Response, *, around: int) -> Samples:
    """What becomes of one click amid silence."""
    click = np.zeros((1, 2 * around + 1), np.float32)
    click[0, around] = 1.0
    return filters.filtered(click, response)[0]


@pytest.mark.parametrize("rate_hz", RATES)
@pytest.mark.parametrize("kind", ["low", "high"])
def test_the_gain_is_the_butterworths(kind: str, rate_hz: int) -> None:
    cutoff_hz = 0.1 * rate_hz
    response = (filters.low_pass if kind == "low" else filters.high_pass)(cutoff_hz, rate_hz=rate_hz)
    b, a = butterworth(kind, cutoff_hz, rate_hz)
    around = 4096
    click = np.zeros(2 * around + 1)
    click[0] = 1.0
    expected = np.abs(np.fft.rfft(recursive(click, b, a)))
    np.testing.assert_allclose(np.abs(np.fft.rfft(answer(response, around=around))), expected, atol=2e-5)
    at_cutoff = response.gain(np.array([2.0 * math.pi * 0.1]))
    assert 20.0 * math.log10(at_cutoff[0]) == pytest.approx(-3.0103, abs=1e-3)


@pytest.mark.parametrize("gain_db", [-36.0, -12.0, 9.0, 36.0])
@pytest.mark.parametrize("rate_hz", [16_000, 44_100])
def test_the_gain_is_the_cookbooks(gain_db: float, rate_hz: int) -> None:
    response = filters.peaking(2000.0, gain_db=gain_db, quality=3.0, rate_hz=rate_hz)
    b, a = cookbook(2000.0, gain_db=gain_db, q=3.0, rate_hz=rate_hz)
    around = 8192
    click = np.zeros(2 * around + 1)
    click[0] = 1.0
    expected = np.abs(np.fft.rfft(recursive(click, b, a)))
    gains = np.abs(np.fft.rfft(answer(response, around=around)))
    np.testing.assert_allclose(gains, expected, atol=1e-4 * expected.max())
    assert 20.0 * math.log10(response.gain(np.array([2.0 * math.pi * 2000.0 / rate_hz]))[0]) == pytest.approx(gain_db)


def test_twelve_decibels_for_each_octave() -> None:
    octaves = 2.0 * math.pi * np.array([400.0, 800.0]) / 192_000
    low = filters.low_pass(50.0, rate_hz=192_000).gain(octaves)
    high = filters.high_pass(6400.0, rate_hz=192_000).gain(octaves)
    assert 20.0 * math.log10(low[0] / low[1]) == pytest.approx(12.04, abs=0.05)
    assert 20.0 * math.log10(high[1] / high[0]) == pytest.approx(12.04, abs=0.05)


def responses(rate_hz: int) -> list[Response]:
    return [
        filters.low_pass(500.0, rate_hz=rate_hz),
        filters.high_pass(100.0, rate_hz=rate_hz),
        filters.peaking(200.0, gain_db=12.0, quality=2.0, rate_hz=rate_hz),
        filters.peaking(3000.0, gain_db=-36.0, quality=4.0, rate_hz=rate_hz),
    ]


@pytest.mark.parametrize("response_index", range(4))
@pytest.mark.parametrize("rate_hz", RATES)
def test_a_click_stays_where_it_is_and_its_answer_ends_within_reach(response_index: int, rate_hz: int) -> None:
    response = responses(rate_hz)[response_index]
    answered = answer(response, around=response.reach + 50)
    centre = response.reach + 50
    assert np.abs(answered).argmax() == centre
    np.testing.assert_allclose(answered, answered[::-1], atol=1e-6)
    assert np.abs(answered[:50]).max() < 2e-6


@pytest.mark.parametrize("response_index", range(4))
def test_no_sound_is_delayed(response_index: int) -> None:
    """The lag at which output and input fit best, on a hiss, a chirp and a burst."""
    rate_hz = 16_000
    times = np.arange(16_000) / rate_hz
    chirp = np.sin(2.0 * math.pi * (150.0 + 1500.0 * times) * times)
    burst = np.exp(-(((times - 0.4) / 0.02) ** 2)) * np.sin(2.0 * math.pi * 600.0 * times)
    for given_sound in (hiss(16_000)[0], chirp.astype(np.float32), burst.astype(np.float32)):
        output = filters.filtered(given_sound[None], responses(rate_hz)[response_index])[0]
        spectrum = np.fft.rfft(output, 32_768) * np.conj(np.fft.rfft(given_sound, 32_768))
        assert np.fft.irfft(spectrum).argmax() == 0


@settings(deadline=None, max_examples=40)
@given(
    samples=st.integers(1, 20_000),
    channels=st.integers(1, 8),
    rate_hz=st.sampled_from(RATES),
    response_index=st.integers(0, 3),
)
def test_shape_type_constants_and_time_reversal(samples: int, channels: int, rate_hz: int, response_index: int) -> None:
    response = responses(rate_hz)[response_index]
    given_sound = hiss(samples, channels=channels)
    before = given_sound.copy()
    output = filters.filtered(given_sound, response)
    assert output.shape == given_sound.shape
    assert output.dtype == np.float32
    assert output.flags.c_contiguous
    assert np.array_equal(given_sound, before)
    backwards = filters.filtered(np.ascontiguousarray(given_sound[:, ::-1]), response)
    np.testing.assert_allclose(output, backwards[:, ::-1], atol=5e-6)
    level = np.full((channels, samples), 0.5, np.float32)
    expected = 0.5 * response.gain(np.zeros(1))[0]
    np.testing.assert_allclose(filters.filtered(level, response), expected, atol=5e-6)


def test_blocks_leave_no_seam() -> None:
    """A sound of many blocks, beside one transform of the whole."""
    response = filters.high_pass(300.0, rate_hz=44_100)
    samples = 300_000
    given_sound = hiss(samples, channels=2)
    padded = np.pad(given_sound.astype(np.float64), ((0, 0), (20_000, 20_000)), mode="edge")
    gain = response.gain(np.linspace(0.0, math.pi, padded.shape[1] // 2 + 1))
    straight = np.fft.irfft(np.fft.rfft(padded) * gain, padded.shape[1])[:, 20_000:-20_000]
    np.testing.assert_allclose(filters.filtered(given_sound, response), straight, atol=3e-6)


def test_a_filter_taken_in_part() -> None:
    given_sound = hiss(5000)
    response = filters.low_pass(1000.0, rate_hz=16_000)
    full_filter = filters.filtered(given_sound, response)
    half_filter = filters.filtered(given_sound, filters.blended(response, 0.5))
    np.testing.assert_allclose(half_filter, 0.5 * (given_sound + full_filter), atol=1e-6)
    np.testing.assert_allclose(filters.filtered(given_sound, filters.blended(response, 0.0)), given_sound, atol=1e-6)


def test_draws_lie_evenly_on_the_mel_scale() -> None:
    ends = [filters.mel_between(500.0, 1000.0, share=share) for share in (0.0, 0.5, 1.0)]
    mel = [2595.0 * math.log10(1.0 + hz / 700.0) for hz in ends]
    assert ends[0] == pytest.approx(500.0)
    assert ends[2] == pytest.approx(1000.0)
    assert mel[1] - mel[0] == pytest.approx(mel[2] - mel[1])


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_the_levels_cut_where_the_release_cuts(share: float) -> None:
    """Half the power at the drawn cut-off, at every level."""
    for level in range(1, 6):
        for stressor, params, ends in (
            (LOW_PASS, CutoffParams(strength=level, cutoff_share=share), (16_000 / 2**level, 32_000 / 2**level)),
            (HIGH_PASS, CutoffParams(strength=level, cutoff_share=share), (50 * 2**level, 100 * 2**level)),
        ):
            cutoff_hz = filters.mel_between(*ends, share=share)
            times = np.arange(44_100) / 44_100
            tone = np.sin(2.0 * math.pi * cutoff_hz * times).astype(np.float32)[None]
            output = stressor.render(tone, params, rate_hz=44_100)  # type: ignore[arg-type]
            inner = slice(10_000, 34_000)
            assert np.mean(output[0, inner] ** 2) / np.mean(tone[0, inner] ** 2) == pytest.approx(0.5, abs=0.01)


@pytest.mark.parametrize("share", [-1.0, 0.25, 1.0])
def test_the_peak_is_as_high_as_was_drawn(share: float) -> None:
    for level, bound_db in zip(range(1, 6), (12.0, 18.0, 24.0, 30.0, 36.0), strict=True):
        params = PeakingParams(strength=level, centre_share=1.0, gain_share=share, quality_share=0.5)
        centre_hz = (1500.0, 2500.0, 3500.0, 5500.0, 7500.0)[level - 1]
        tone = (0.1 * np.sin(2.0 * math.pi * centre_hz * np.arange(44_100) / 44_100)).astype(np.float32)[None]
        output = PEAKING.render(tone, params, rate_hz=44_100)
        inner = slice(15_000, 29_000)
        found_db = 10.0 * math.log10(np.mean(output[0, inner] ** 2) / np.mean(tone[0, inner] ** 2))
        assert found_db == pytest.approx(share * bound_db, abs=0.3)


def test_a_low_pass_above_half_the_rate_changes_nothing() -> None:
    tone = (0.5 * np.sin(np.arange(8000) * 0.3)).astype(np.float32)
    output = sound.render("low_pass", tone, {"strength": 1.0, "cutoff_share": 1.0}, rate_hz=8000)
    np.testing.assert_allclose(output, tone, atol=1e-4)


@pytest.mark.parametrize("rate_hz", [100, 1_000, 8_000, 768_000])
@pytest.mark.parametrize("name", ["low_pass", "high_pass", "peaking_filter"])
def test_odd_rates(name: str, rate_hz: int) -> None:
    given_sound = hiss(3000, channels=2)
    for level in (1, 3, 5):
        output = sound.apply(name, given_sound, rate_hz=rate_hz, severity=level, seed=level)
        assert np.isfinite(output).all()
        assert np.abs(output).max() < 100.0
