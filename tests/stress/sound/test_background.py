"""Background noise: the ratio holds, the noise is the caller's or of its kind, silence stays silent."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from auscult.errors import InputError
from auscult.rng import generator
from auscult.stress import sound as stress
from auscult.stress.sound.added_noise import BACKGROUND_NOISE, KINDS, LONGEST_S, BackgroundNoise, BackgroundParams, make
from auscult.types import Samples

RATE_HZ = 16_000
MIXER = BackgroundNoise()


def hiss(samples: int, *, channels: int = 1, seed: int = 0) -> Samples:
    return (0.1 * generator(seed, "hiss").standard_normal((channels, samples))).astype(np.float32)


def params(strength: float = 3.0, *, ratio: float = 0.5, place: float = 0.3, kind: str = "pink") -> BackgroundParams:
    return BackgroundParams(strength=strength, seed=5, ratio=ratio, place=place, kind=kind)


def rms(sound: Samples) -> float:
    return float(np.sqrt(np.mean(np.square(sound, dtype=np.float64))))


def centroid_hz(noise: Samples, rate_hz: int) -> float:
    power = np.square(np.abs(np.fft.rfft(noise.astype(np.float64))))
    return float(np.dot(power, np.fft.rfftfreq(noise.size, 1.0 / rate_hz)) / power.sum())


@settings(max_examples=40, deadline=None)
@given(
    samples=st.integers(2, 3_000),
    channels=st.integers(1, 8),
    length=st.integers(2, 5_000),
    noisy=st.integers(1, 3),
    level=st.integers(1, 5),
    ratio=st.floats(0.0, 1.0),
    place=st.floats(0.0, 1.0),
)
def test_the_ratio_holds(
    samples: int, channels: int, length: int, noisy: int, level: int, ratio: float, place: float
) -> None:
    clean = hiss(samples, channels=channels)
    params_ = params(float(level), ratio=ratio, place=place)
    mixed = MIXER.mix(clean, hiss(length, channels=noisy, seed=1), params_, rate_hz=RATE_HZ)
    added_noise = mixed - clean
    low_db, high_db = ((25, 30), (20, 25), (15, 20), (10, 15), (5, 10))[level - 1]
    assert 20 * np.log10(rms(clean) / rms(added_noise)) == pytest.approx(low_db + ratio * (high_db - low_db), abs=0.05)
    assert np.abs(added_noise - added_noise[0]).max() < 1e-6, "every channel is given the same noise"


def test_a_noise_of_the_same_length_is_turned_upside_down() -> None:
    clean, noise = hiss(4_000), hiss(4_000, seed=1)
    added_noise = MIXER.mix(clean, noise, params(), rate_hz=RATE_HZ) - clean
    assert np.corrcoef(added_noise[0], noise[0])[0, 1] < -0.999


def test_a_long_noise_is_cut_and_a_short_one_goes_round() -> None:
    clean, ramp = hiss(1_000), np.arange(1.0, 5_001.0, dtype=np.float32)[None]
    noise_heard = (clean - MIXER.mix(clean, ramp, params(place=0.5), rate_hz=RATE_HZ))[0]
    assert noise_heard[-1] / noise_heard[0] == pytest.approx(3_000 / 2_001, rel=1e-2)
    short = (clean - MIXER.mix(clean, ramp[:, :300], params(place=0.5), rate_hz=RATE_HZ))[0]
    np.testing.assert_allclose(short[300:], short[:-300], atol=1e-5)
    assert short[0] / short[149] == pytest.approx(151 / 300, rel=2e-2)


def test_silence_stays_silent() -> None:
    silent = np.zeros((2, 500), dtype=np.float32)
    for level in (1, 5):
        assert not stress.apply("background_noise", silent, rate_hz=RATE_HZ, severity=level).any()
    clean = hiss(500)
    assert np.array_equal(MIXER.mix(clean, silent, params(), rate_hz=RATE_HZ), clean)


def test_the_caller_brings_the_noise() -> None:
    clean, noise = hiss(2_000)[0], hiss(2_000, channels=2, seed=9)
    perturbed = stress.perturb("background_noise", clean, rate_hz=RATE_HZ, severity=5, seed=3, noise=noise)
    replayed = stress.render("background_noise", clean, perturbed.params, rate_hz=RATE_HZ, noise=noise)
    assert replayed.tobytes() == perturbed.output.tobytes()
    added_noise = perturbed.output - clean
    assert np.corrcoef(added_noise, noise.mean(axis=0))[0, 1] < -0.999


def test_a_kind_that_is_not_known() -> None:
    params_json = {**params().as_json(), "kind": "trumpet"}
    with pytest.raises(InputError, match="trumpet"):
        stress.render("background_noise", hiss(100), params_json, rate_hz=RATE_HZ)


def test_every_kind_is_drawn() -> None:
    take = stress.AudioInfo(samples=10, channels=1, rate_hz=RATE_HZ)
    kinds_drawn = {BACKGROUND_NOISE.choose(generator(0, "kind", key), take, strength=1.0).kind for key in range(80)}
    assert kinds_drawn == set(KINDS)


@pytest.mark.parametrize("rate_hz", [4_000, 8_000, 44_100, 192_000])
@pytest.mark.parametrize("kind", KINDS)
def test_a_made_noise_is_loud_enough_and_goes_round_without_a_seam(kind: str, rate_hz: int) -> None:
    noise = make(kind, rate_hz // 3, rate_hz=rate_hz, rng=generator(4, kind))
    assert rate_hz // 3 <= noise.size <= 4 * rate_hz
    assert noise.dtype == np.float32
    assert rms(noise) == pytest.approx(1.0, abs=1e-3)
    steps = np.abs(np.diff(noise))
    assert abs(noise[0] - noise[-1]) <= 1.5 * steps.max()
    second = make(kind, rate_hz // 3, rate_hz=rate_hz, rng=generator(4, kind))
    other = make(kind, rate_hz // 3, rate_hz=rate_hz, rng=generator(5, kind))
    assert second.tobytes() == noise.tobytes() != other.tobytes()


def test_a_long_sound_hears_a_period_again() -> None:
    assert make("pink", 8_000 * 120, rate_hz=8_000, rng=generator(0)).size < 2.1 * LONGEST_S * 8_000
    clean = hiss(8_000 * 70)
    output = stress.apply("background_noise", clean, rate_hz=8_000, severity=5)
    assert rms(output[:, -8_000:] - clean[:, -8_000:]) > 0.01


def test_the_kinds_sound_like_themselves() -> None:
    noises = {kind: make(kind, 44_100 * 3, rate_hz=44_100, rng=generator(7, kind)) for kind in KINDS}
    centroids = {kind: centroid_hz(noise, 44_100) for kind, noise in noises.items()}
    assert centroids["brown"] < 150.0 < centroids["babble"] < 1_200.0 < centroids["pink"] < centroids["rain"]
    assert centroids["engine"] < 1_200.0
    pace = {kind: np.sqrt(np.mean(np.square(noises[kind][:88_200].reshape(-1, 2_205)), axis=1)) for kind in KINDS}
    assert pace["babble"].std() > 3.0 * pace["rain"].std(), "a crowd swells, rain does not"


@pytest.mark.parametrize("seed", [0, 1, 2, 3])
def test_hum_is_the_mains_and_its_harmonics(seed: int) -> None:
    noise = make("hum", 16_384, rate_hz=8_192, rng=generator(seed, "hum"))
    power = np.square(np.abs(np.fft.rfft(noise.astype(np.float64))))
    lines = max(power[np.arange(1, 25) * base * 2].sum() for base in (50, 60))
    assert lines > 0.9 * power.sum()


@pytest.mark.parametrize(("kind", "slope_db"), [("pink", 0.0), ("brown", -3.01)])
def test_octaves_hold_what_the_name_says(kind: str, slope_db: float) -> None:
    noise = make(kind, 2**17, rate_hz=44_100, rng=generator(1, kind)).astype(np.float64)
    power = np.square(np.abs(np.fft.rfft(noise)))
    octaves = [power[round(f * 2**17 / 44_100) : round(2 * f * 2**17 / 44_100)].sum() for f in (500, 1_000, 2_000)]
    assert 10 * np.log10(octaves[2] / octaves[0]) / 2 == pytest.approx(slope_db, abs=0.4)
