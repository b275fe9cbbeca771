"""Time mask and tanh distortion: what is silenced is reported, what is bent has the formula's shape."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from auscult.rng import generator
from auscult.stress import sound
from auscult.stress.sound.amplitude import TANH_DISTORTION as TANH
from auscult.stress.sound.amplitude import TIME_MASK as MASK
from auscult.stress.sound.amplitude import TanhParams, TimeMaskParams, quantile
from auscult.stress.sound.base import AudioInfo
from auscult.types import Samples

LSB = 1.0 / 32_768
SHARES = ((0.05, 0.1), (0.1, 0.2), (0.2, 0.3), (0.3, 0.4), (0.4, 0.5))
AMOUNTS = ((0.01, 0.1), (0.1, 0.2), (0.2, 0.4), (0.4, 0.6), (0.6, 0.7))


def speech_like(samples: int, *, channels: int = 1) -> Samples:
    """Hiss under a slow envelope: most samples small, few large."""
    noise = generator(0, "speech").standard_normal((channels, samples))
    envelope = 0.02 + np.abs(np.sin(np.arange(samples) * 7.0 / max(samples, 1))) ** 4
    return (0.15 * noise * envelope).astype(np.float32)


def bent(given_sound: Samples, amount: float) -> Samples:
    """The formula of audiomentations, in double precision."""
    exact = given_sound.astype(np.float64)
    threshold = np.percentile(np.abs(exact), 100.0 - 99.0 * amount)
    bent_sound = np.tanh(0.5 / (threshold + 1e-6) * exact)
    return np.asarray(bent_sound * np.sqrt(np.mean(exact**2)) / np.sqrt(np.mean(bent_sound**2)), dtype=np.float32)


@pytest.mark.parametrize("level", range(1, 6))
@pytest.mark.parametrize("share", [0.0, 0.4, 1.0])
def test_the_distortion_is_the_formulas(level: int, share: float) -> None:
    low, high = AMOUNTS[level - 1]
    for given_sound in (speech_like(50_000), speech_like(20_001, channels=2)):
        output = TANH.render(given_sound, TanhParams(strength=level, amount_share=share), rate_hz=44_100)
        assert np.abs(output - bent(given_sound, low + share * (high - low))).max() < LSB


def test_the_distortion_keeps_the_loudness_and_bends_what_is_loud() -> None:
    given_sound = speech_like(30_000)
    output = TANH.render(given_sound, TanhParams(strength=5, amount_share=0.5), rate_hz=16_000)
    assert float(np.sqrt(np.mean(output**2))) == pytest.approx(float(np.sqrt(np.mean(given_sound**2))), rel=1e-4)
    assert np.abs(output).max() < 0.7 * np.abs(given_sound).max()
    order = np.argsort(given_sound[0], kind="stable")
    assert (np.diff(output[0, order]) >= 0).all()


@pytest.mark.parametrize("level", [0.3, 1, 3, 5])
def test_silence_stays_silence_and_faint_sound_stays_faint(level: float) -> None:
    params = TanhParams(strength=level, amount_share=0.5)
    assert not TANH.render(np.zeros((2, 500), np.float32), params, rate_hz=16_000).any()
    for scale in (1e-12, 1e-30, 1e-44):
        faint = (speech_like(500) * np.float32(scale)).astype(np.float32)
        output = TANH.render(faint, params, rate_hz=16_000)
        assert np.isfinite(output).all()
        assert np.abs(output).max() <= 2.0 * np.abs(faint).max() + 1e-44


def test_below_level_1_the_distortion_comes_in_by_and_by() -> None:
    given_sound = speech_like(10_000)
    at_one, at_half, little = (
        np.abs(
            TANH.render(given_sound, TanhParams(strength=strength, amount_share=0.5), rate_hz=16_000) - given_sound
        ).max()
        for strength in (1.0, 0.5, 0.01)
    )
    assert at_half == pytest.approx(at_one / 2, rel=0.01)
    assert little == pytest.approx(at_one / 100, rel=0.05)


@settings(deadline=None, max_examples=120)
@given(
    values=hnp.arrays(
        np.float32,
        st.integers(1, 200),
        elements=st.one_of(
            st.floats(-4.0, 4.0, width=32), st.sampled_from([0.0, -0.0, 0.5, -0.5, 1e-45, 3.0e38, -1.0, 1.0])
        ),
    ),
    share=st.floats(0.0, 1.0),
)
def test_the_quantile_is_numpys(values: Samples, share: float) -> None:
    expected = float(np.quantile(np.abs(values.astype(np.float64)), share))
    assert quantile(values, share) == pytest.approx(expected, rel=1e-6, abs=1e-30)


def test_the_quantile_of_a_long_sound() -> None:
    given_sound = speech_like(200_003)
    for share in (0.0, 0.31, 0.5, 0.999, 1.0):
        assert quantile(given_sound, share) == pytest.approx(float(np.quantile(np.abs(given_sound), share)), rel=1e-6)


@settings(deadline=None, max_examples=80)
@given(
    samples=st.integers(1, 6000),
    level=st.integers(1, 5),
    length_share=st.floats(0.0, 1.0),
    place=st.floats(0.0, 1.0),
    rate_hz=st.sampled_from([8_000, 44_100, 192_000]),
)
def test_what_is_silent_is_what_is_reported(
    samples: int, level: int, length_share: float, place: float, rate_hz: int
) -> None:
    given_sound = np.full((2, samples), 0.5, np.float32)
    params = TimeMaskParams(strength=level, length_share=length_share, place=place)
    output = MASK.render(given_sound, params, rate_hz=rate_hz)
    spans = MASK.silent(params, AudioInfo(samples=samples, channels=2, rate_hz=rate_hz))  # type: ignore[attr-defined]
    silent = np.zeros(samples, bool)
    for start_s, end_s in spans:
        assert 0.0 <= start_s < end_s <= samples / rate_hz + 1e-9
        silent[round(start_s * rate_hz) : round(end_s * rate_hz)] = True
    # The fade ends on the value 0 itself, which may lie one sample to either side.
    assert (output[:, silent] == 0.0).all()
    assert np.count_nonzero((output[0] == 0.0) & ~silent) <= 2
    low, high = SHARES[level - 1]
    n_changed = np.count_nonzero(output[0] != 0.5)
    assert n_changed <= round(samples * (low + length_share * (high - low)))
    assert n_changed >= samples * (low + length_share * (high - low)) - 3


def test_the_ends_of_the_pause_fade() -> None:
    given_sound = np.full((1, 44_100), 0.5, np.float32)
    output = MASK.render(given_sound, TimeMaskParams(strength=3, length_share=0.5, place=0.5), rate_hz=44_100)[0]
    assert np.abs(np.diff(output)).max() < 0.5 / 400
    assert output[0] == output[-1] == 0.5
    first = int(np.flatnonzero(output != 0.5)[0])
    assert output[first - 1 : first + 441] == pytest.approx(np.r_[0.5, np.linspace(0.5, 0.0, 441)], abs=0.002)


def test_a_stronger_pause_holds_the_weaker() -> None:
    given_sound = np.full((1, 10_000), 0.5, np.float32)
    for place in (0.0, 0.37, 1.0):
        pauses = [
            MASK.render(given_sound, TimeMaskParams(strength=strength, length_share=0.5, place=place), rate_hz=8_000)[0]
            for strength in (0.5, 1.0, 2.5, 5.0)
        ]
        for weak, strong in pairwise(pauses):
            assert np.count_nonzero(strong[weak < 0.5] == 0.5) <= 2  # where the ends are rounded
            assert np.count_nonzero(strong == 0.0) > np.count_nonzero(weak == 0.0)


def test_perturb_reports_the_pause() -> None:
    given_sound = np.full(16_000, 0.25, np.float32)
    perturbed = sound.perturb("time_mask", given_sound, rate_hz=16_000, severity=4, seed=2)
    ((start_s, end_s),) = perturbed.truth.silent_s
    assert 0.25 < end_s - start_s < 0.4
    assert not perturbed.output[math.ceil(start_s * 16_000) : math.floor(end_s * 16_000)].any()
    assert sound.perturb("time_mask", given_sound, rate_hz=16_000, severity=0).truth.silent_s == ()
    assert sound.perturb("gaussian_noise", given_sound, rate_hz=16_000).truth.silent_s == ()
