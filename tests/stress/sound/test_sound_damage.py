"""Each level does more damage than the one below, and no perturbation moves a sound."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from auscult.media.sound import read_sound
from auscult.rng import generator
from auscult.stress import sound
from auscult.stress.perturbation import loaded
from auscult.stress.sound.base import AudioInfo, opened
from auscult.types import Samples

BY_SNR = ("gaussian_noise", "impulse_noise", "time_mask", "tanh_distortion")
BY_SPECTRUM = ("low_pass", "high_pass", "peaking_filter")
RATE_HZ = 44_100


def music_like(samples: int) -> Samples:
    """Struck strings over the whole range of hearing, and a little hiss."""
    times = np.arange(samples) / RATE_HZ
    music = 0.003 * generator(0, "music").standard_normal(samples)
    for number, hz in enumerate((110.0, 330.0, 587.0, 1480.0, 4200.0, 9000.0)):
        beat = (times - 0.07 * number) % 0.5
        music += 0.25 / (1 + number) * np.exp(-6.0 * beat) * np.sin(2 * np.pi * hz * times)
    return music.astype(np.float32)


def snr_db(clean: Samples, output: Samples) -> float:
    error = output.astype(np.float64) - clean
    return float(10.0 * np.log10(np.sum(clean.astype(np.float64) ** 2) / max(np.sum(error**2), 1e-20)))


def spectral_distance_db(clean: Samples, output: Samples) -> float:
    """Root mean square of the difference of the two log spectra over time and frequency, in dB."""
    frames = [
        np.lib.stride_tricks.sliding_window_view(samples, 1024)[::512] * np.hanning(1024) for samples in (clean, output)
    ]
    logs = [10.0 * np.log10(np.abs(np.fft.rfft(frame)) ** 2 + 1e-7) for frame in frames]
    return float(np.sqrt(np.mean((logs[0] - logs[1]) ** 2)))


def damage(name: str, clean: Samples, output: Samples) -> float:
    return -snr_db(clean, output) if name in BY_SNR else spectral_distance_db(clean, output)


def medians(name: str, sounds: list[tuple[Samples, int]]) -> list[float]:
    """The median damage over sounds, with the same draws at levels 1 to 5."""
    median_damages = []
    stressor = loaded("sound", name)
    for level in range(1, 6):
        worse = []
        for number, (clean, rate_hz) in enumerate(sounds):
            take = AudioInfo(samples=len(clean), channels=1, rate_hz=rate_hz)
            params = stressor.choose(generator(number, name), take, strength=float(level))
            worse.append(damage(name, clean, stressor.render(opened(clean), params, rate_hz=rate_hz)[0]))
        median_damages.append(float(np.median(worse)))
    return median_damages


@pytest.mark.parametrize("name", [*BY_SNR, *BY_SPECTRUM])
def test_each_level_does_more_damage(name: str) -> None:
    damages = medians(name, [(music_like(22_050), RATE_HZ)] * 5)
    assert all(after > before for before, after in pairwise(damages)), damages


@pytest.mark.parametrize("name", [*BY_SNR, *BY_SPECTRUM])
def test_next_to_no_strength_does_next_to_no_damage(name: str) -> None:
    clean = music_like(22_050)
    faint, level_1 = (
        np.abs(sound.apply(name, clean, rate_hz=RATE_HZ, severity=severity, seed=2) - clean) for severity in (0.02, 1)
    )
    assert np.mean(faint) < 0.1 * np.mean(level_1)


def lag(clean: Samples, output: Samples) -> int:
    """By how many samples the second must move to fit the first best."""
    size = 1 << (2 * len(clean) - 1).bit_length()
    fit = np.fft.irfft(np.fft.rfft(output.astype(np.float64), size) * np.conj(np.fft.rfft(clean, size)), size)
    return (int(fit.argmax()) + size // 2) % size - size // 2


@pytest.fixture(scope="module")
def clips(data: Path) -> list[tuple[Samples, int]]:
    """48 real clips of animals, weather, machines, instruments and speech, at most 3 s of each."""
    folder = data / "audio"
    paths = [
        *sorted(folder.glob("esc10/*/*.ogg"))[::8][:24],
        *sorted(folder.glob("berklee/*/*.mp3"))[::8][:10],
        *sorted(folder.glob("sonic_pi_cc0/*.flac"))[::8][:6],
        *sorted(folder.glob("speech_fsdd/*.wav"))[::40],
        *sorted(folder.glob("speech_librispeech/*.ogg")),
    ]
    sounds_read = [read_sound(path) for path in paths]
    starts = [(np.ascontiguousarray(sound_.samples[0, : 3 * sound_.rate_hz]), sound_.rate_hz) for sound_ in sounds_read]
    return [(samples, rate_hz) for samples, rate_hz in starts if np.abs(samples).max() > 0.01 and len(samples) > 2048]


@pytest.mark.slow
@pytest.mark.extra_video
@pytest.mark.parametrize("name", [name for name in (*BY_SNR, *BY_SPECTRUM) if name != "time_mask"])
def test_real_sounds_stay_where_they_are(name: str, clips: list[tuple[Samples, int]]) -> None:
    """Without the time mask, which may silence the one event of a clip: beside its pause every sample is as it was."""
    for number, (clean, rate_hz) in enumerate(clips):
        output = sound.apply(name, clean, rate_hz=rate_hz, severity=1 + number % 5, seed=number)
        assert abs(lag(clean, output)) <= 1
