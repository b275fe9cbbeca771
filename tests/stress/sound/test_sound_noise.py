"""Noise in sound: hiss that is white and normal, clicks that are short, and more of both at each level."""

from __future__ import annotations

import math
from itertools import pairwise
from statistics import NormalDist

import numpy as np
import pytest

from auscult.rng import generator
from auscult.stress import sound
from auscult.stress.perturbation import SeedParams
from auscult.stress.sound.added_noise import GAUSSIAN_NOISE as HISS
from auscult.stress.sound.added_noise import IMPULSE_NOISE as CLICKS
from auscult.stress.sound.added_noise import GaussianNoiseParams, ImpulseNoise
from auscult.stress.sound.base import AudioInfo
from auscult.types import Samples

RATE_HZ = 44_100


def silence(seconds: float, *, channels: int = 1, rate_hz: int = RATE_HZ) -> Samples:
    return np.zeros((channels, round(seconds * rate_hz)), np.float32)


@pytest.mark.parametrize(
    ("level", "lowest", "highest"),
    [(1, 0.0001, 0.0025), (2, 0.0025, 0.005), (3, 0.005, 0.01), (4, 0.01, 0.015), (5, 0.015, 0.02)],
)
def test_the_hiss_is_as_strong_as_the_release_draws_it(level: int, lowest: float, highest: float) -> None:
    for share in (0.0, 0.3, 1.0):
        output = HISS.render(silence(4), GaussianNoiseParams(strength=level, share=share, seed=3), rate_hz=RATE_HZ)
        assert float(output.std()) == pytest.approx(lowest + share * (highest - lowest), rel=0.01)


def test_the_hiss_is_normal_and_white_and_another_in_each_channel() -> None:
    output = HISS.render(silence(8, channels=2), GaussianNoiseParams(strength=3, share=0.5, seed=9), rate_hz=RATE_HZ)
    unit = output.astype(np.float64) / 0.0075
    count = unit.shape[1]
    assert abs(unit.mean()) < 4.0 / math.sqrt(2 * count)
    for share in (0.001, 0.05, 0.25, 0.5, 0.9, 0.999):
        assert np.quantile(unit, share) == pytest.approx(NormalDist().inv_cdf(share), abs=0.03)
    for lag in (1, 2, 3, 100):
        assert abs(np.mean(unit[0, lag:] * unit[0, :-lag])) < 5.0 / math.sqrt(count)
    assert abs(np.mean(unit[0] * unit[1])) < 5.0 / math.sqrt(count)
    power = (np.abs(np.fft.rfft(unit[0])) ** 2)[1:-1].reshape(-1)
    bands = [float(band.mean()) for band in np.array_split(power, 20)]
    assert max(bands) / min(bands) < 1.15


def test_the_hiss_of_another_seed_is_another() -> None:
    first_noise, other = (
        HISS.render(silence(1), GaussianNoiseParams(strength=3, share=0.5, seed=seed), rate_hz=RATE_HZ)
        for seed in (1, 2)
    )
    assert abs(np.corrcoef(first_noise[0], other[0])[0, 1]) < 0.03


@pytest.mark.parametrize(
    ("level", "per_second", "peak"), [(1, 2, 0.1), (2, 4, 0.2), (3, 8, 0.35), (4, 16, 0.55), (5, 32, 0.8)]
)
def test_there_are_as_many_clicks_as_the_level_says(level: int, per_second: int, peak: float) -> None:
    n_clicks = []
    for seed in range(5):
        output = CLICKS.render(silence(10), SeedParams(strength=level, seed=seed), rate_hz=RATE_HZ)[0]
        loud = np.abs(output) >= 0.499 * peak
        starts = loud[1:] & ~np.convolve(loud, np.ones(200))[: len(loud)].astype(bool)[:-1]
        n_clicks.append(int(starts.sum()))
        assert np.abs(output).max() <= 3.0 * peak
        quiet = np.mean(output == 0.0)
        assert quiet >= 1.0 - per_second * 0.0042
    # Two that fall within 200 samples of one another count as one.
    assert 0.8 * 10 * per_second <= np.mean(n_clicks) <= 10 * per_second


def test_a_level_keeps_the_clicks_of_those_below() -> None:
    weak, strong = (
        CLICKS.render(silence(5), SeedParams(strength=level, seed=4), rate_hz=RATE_HZ)[0] for level in (2, 4)
    )
    assert (strong[np.abs(weak) > 0.01] != 0.0).all()
    assert np.count_nonzero(strong) > 2 * np.count_nonzero(weak)


def test_clicks_are_the_same_in_all_channels() -> None:
    output = CLICKS.render(silence(2, channels=8), SeedParams(strength=5, seed=4), rate_hz=RATE_HZ)
    assert np.array_equal(output, np.repeat(output[:1], 8, axis=0))
    assert output.any()


@pytest.mark.parametrize("samples", [1, 2, 50, 1000])
@pytest.mark.parametrize("rate_hz", [8_000, 192_000])
def test_a_short_sound_has_one_click(samples: int, rate_hz: int) -> None:
    for seed in range(20):
        output = CLICKS.render(np.zeros((1, samples), np.float32), SeedParams(strength=1, seed=seed), rate_hz=rate_hz)
        assert output.any()


def test_the_number_of_clicks_grows_without_jumps() -> None:
    """From one strength to the next hundredth, little changes."""
    take = silence(3, rate_hz=8_000)
    tracks = [CLICKS.render(take, SeedParams(strength=step / 100, seed=1), rate_hz=8_000) for step in range(100, 201)]
    steps = [float(np.abs(after - before).max()) for before, after in pairwise(tracks)]
    assert max(steps) < 0.02


def test_clicks_do_not_depend_on_the_length_before_them_being_drawn() -> None:
    """Every click of the strongest level is drawn from the seed alone, so that any strength replays."""
    take = AudioInfo(samples=RATE_HZ, channels=1, rate_hz=RATE_HZ)
    params = ImpulseNoise().choose(generator(0, "clicks"), take, strength=5.0)
    replayed = sound.render("sound.impulse_noise.v1", silence(1)[0], params.as_json(), rate_hz=RATE_HZ)
    assert np.array_equal(replayed, CLICKS.render(silence(1), params, rate_hz=RATE_HZ)[0])
