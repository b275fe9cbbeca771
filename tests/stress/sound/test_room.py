"""Air, rooms and impulse responses: filters that move nothing, with the physics that they name."""

from __future__ import annotations

import math
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from auscult.arrays.resampling import resampled
from auscult.media.sound import read_sound
from auscult.rng import generator
from auscult.stress import sound as stress
from auscult.stress.sound.base import AudioInfo
from auscult.stress.sound.convolution import convolve
from auscult.stress.sound.filters import AIR_ABSORPTION as AIR
from auscult.stress.sound.filters import AirParams, absorption
from auscult.stress.sound.reverberation import (
    LEAD,
    ImpulseResponse,
    ResponseParams,
    Room,
    RoomParams,
    RoomReverberation,
    absorption_for,
    response,
)
from auscult.types import Samples

FILTERS = ("air_absorption", "room_reverberation", "impulse_response")
ROOMS, RESPONSES = RoomReverberation(), ImpulseResponse()
TAKE = AudioInfo(samples=1000, channels=1, rate_hz=44_100)
LEVELS = (1.0, 2.0, 3.0, 4.0, 5.0)


def hiss(samples: int, *, channels: int = 1, seed: int = 0) -> Samples:
    return (0.1 * generator(seed, "hiss").standard_normal((channels, samples))).astype(np.float32)


def room_at(strength: float, seed: int) -> tuple[Room, RoomParams]:
    params = ROOMS.choose(generator(seed, "room"), TAKE, strength=strength)
    return ROOMS.room(params), params


def lag(first: Samples, second: Samples) -> int:
    size = 2 * first.size
    correlation = np.fft.irfft(np.fft.rfft(second, size) * np.conj(np.fft.rfft(first, size)), size)
    lag_samples = int(np.argmax(correlation))
    return lag_samples if lag_samples < size // 2 else lag_samples - size


def snr_db(clean: Samples, output: Samples) -> float:
    return float(10.0 * np.log10(np.sum(np.square(clean)) / max(1e-20, float(np.sum(np.square(output - clean))))))


def spectral_distance_db(clean: Samples, output: Samples) -> float:
    """Mean over time of the root mean square of log spectra's difference, in dB."""
    spectra = []
    for samples in (clean[0], output[0]):
        frames = np.lib.stride_tricks.sliding_window_view(samples, 512)[::256] * np.hanning(512)
        spectra.append(np.square(np.abs(np.fft.rfft(frames))))
    floor = 1e-6 * spectra[0].mean() + 1e-12
    difference = 10.0 * np.log10((spectra[0] + floor) / (spectra[1] + floor))
    return float(np.sqrt(np.square(difference).mean(axis=1)).mean())


@settings(max_examples=60, deadline=None)
@given(
    samples=st.integers(1, 40_000),
    taps=st.integers(1, 40_000),
    channels=st.integers(1, 3),
    before=st.floats(0.0, 1.0),
)
def test_convolution_is_the_sum_it_says(samples: int, taps: int, channels: int, before: float) -> None:
    lead = int(before * (taps - 1))
    clean, kernel = hiss(samples, channels=channels), hiss(taps, seed=1)[0]
    output = convolve(clean, kernel, lead=lead)
    size = samples + taps
    exact = np.fft.irfft(np.fft.rfft(clean.astype(np.float64), size) * np.fft.rfft(kernel, size), size)
    exact = np.pad(exact, ((0, 0), (0, samples)))[:, lead : lead + samples]
    np.testing.assert_allclose(output, exact, atol=3e-6 * max(1.0, float(np.abs(exact).max())))


@pytest.mark.parametrize(("rate_hz", "wanted_hz"), [(44_100, 16_000), (192_000, 48_000), (12_345, 16_000)])
def test_resampling_moves_nothing(rate_hz: int, wanted_hz: int) -> None:
    times, low_hz = np.arange(5_000) / rate_hz, 900.0
    bell = np.exp(-0.5 * np.square((times - times.mean()) / (times.mean() / 4)))
    output = resampled(
        (bell * np.sin(2 * np.pi * low_hz * times)).astype(np.float32)[None], rate_hz=rate_hz, wanted_hz=wanted_hz
    )
    assert output.shape == (1, -(-5_000 * wanted_hz // rate_hz))
    times_out = np.arange(output.shape[1]) / wanted_hz
    bell = np.exp(-0.5 * np.square((times_out - times.mean()) / (times.mean() / 4)))
    np.testing.assert_allclose(output[0], bell * np.sin(2 * np.pi * low_hz * times_out), atol=2e-4)


@pytest.mark.parametrize("name", FILTERS)
@pytest.mark.parametrize(("rate_hz", "channels"), [(8_000, 1), (16_000, 2), (44_100, 1), (192_000, 8)])
def test_nothing_moves(name: str, rate_hz: int, channels: int) -> None:
    clean = hiss(20_000, channels=channels)
    for level in (1, 3, 5):
        output = stress.apply(name, clean, rate_hz=rate_hz, severity=level, seed=level)
        assert output.shape == clean.shape
        assert (
            max(
                abs(lag(clean_channel, output_channel))
                for clean_channel, output_channel in zip(clean, output, strict=True)
            )
            <= 1
        )


@pytest.mark.parametrize("name", FILTERS)
def test_channels_are_filtered_alike_and_alone(name: str) -> None:
    clean = hiss(5_000, channels=2)
    filtered_both = stress.apply(name, clean, rate_hz=16_000, severity=4)
    filtered_each = [stress.apply(name, row, rate_hz=16_000, severity=4) for row in clean]
    np.testing.assert_allclose(filtered_both, np.stack(filtered_each), atol=1e-6)


@pytest.mark.parametrize("name", FILTERS)
def test_silence_stays_silent_and_a_trace_of_strength_does_next_to_nothing(name: str) -> None:
    assert not stress.apply(name, np.zeros((1, 3_000), np.float32), rate_hz=16_000, severity=5).any()
    clean = hiss(3_000)
    assert snr_db(clean, stress.apply(name, clean, rate_hz=16_000, severity=0.01)) > 30.0


@pytest.mark.parametrize("name", FILTERS)
def test_each_level_does_more_damage(name: str) -> None:
    clean = hiss(16_000) * np.square(np.sin(np.arange(16_000) / 900.0)).astype(np.float32)
    distances = [
        np.median(
            [
                spectral_distance_db(clean, stress.apply(name, clean, rate_hz=16_000, severity=level, seed=seed))
                for seed in range(6)
            ]
        )
        for level in LEVELS
    ]
    assert distances == sorted(distances)


@pytest.mark.parametrize(
    ("celsius", "humidity", "hertz", "expected"),
    [(10, 40, 2_000, 2.7), (10, 80, 8_000, 15.8), (20, 60, 4_000, 4.1), (15, 40, 8_000, 24.65), (10, 50, 1_000, 0.95)],
)
def test_coefficients_are_those_of_the_table(celsius: float, humidity: float, hertz: float, expected: float) -> None:
    (coefficient,) = absorption(np.asarray([hertz]), celsius=celsius, humidity=humidity)
    assert 1e3 * coefficient == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(("hertz", "per_metre"), [(500.0, 0.5e-3), (4_000.0, 9.4e-3), (8_000.0, 29.0e-3)])
def test_a_tone_loses_what_the_way_takes(hertz: float, per_metre: float) -> None:
    tone = np.sin(2 * np.pi * hertz * np.arange(44_100) / 44_100).astype(np.float32)[None]
    params = AirParams(strength=1.0, humidity=0.5, distance=0.5, temperature=0.0)  # 40 %, 20 m, 10 degrees
    output = AIR.render(tone, params, rate_hz=44_100)
    middle = slice(5_000, 39_000)
    gain = np.dot(output[0, middle], tone[0, middle]) / np.dot(tone[0, middle], tone[0, middle])
    assert gain == pytest.approx(np.exp(-20.0 * per_metre), rel=0.02)


def test_the_filter_of_air_has_no_phase() -> None:
    click = np.zeros((1, 4_001), dtype=np.float32)
    click[0, 2_000] = 1.0
    output = stress.apply("air_absorption", click, rate_hz=44_100, severity=5)[0]
    np.testing.assert_allclose(output, output[::-1], atol=1e-6)


def naive_images(room: Room, reach_m: float) -> NDArray[np.float64]:
    """(distance, amplitude) of images by reflecting the source again and again at the walls of each axis."""
    axes = []
    for long, source, microphone in zip(room.size_m, room.source_m, room.microphone_m, strict=True):
        images = [(source, 0)]
        for wall_first in (0.0, long):
            place, wall = source, wall_first
            for bounces in range(1, 30):
                place = 2 * wall - place
                images.append((place, bounces))
                wall = long - wall
        axes.append([(place - microphone, count) for place, count in images if abs(place - microphone) <= reach_m])
    rows = []
    for triple in product(*axes):
        distance = math.sqrt(sum(gap**2 for gap, _ in triple))
        if distance <= reach_m:
            bounces = sum(count for _, count in triple)
            rows.append((distance, (1 - room.absorption) ** (bounces / 2) * room.direct_m / distance))
    return np.asarray(sorted(rows))


def test_echoes_are_those_of_mirrored_sources() -> None:
    room, params = room_at(4.0, 3)
    rate_hz, seconds = 16_000, 0.03
    impulse_response = response(room, samples=rate_hz, rate_hz=rate_hz, rng=params.stream("room"))
    images = naive_images(room, room.direct_m + 343.0 * seconds)
    times = np.arange(-LEAD, int(seconds * rate_hz) - 20)
    exact = np.zeros(times.size)
    for distance, height in images:
        exact += height * np.sinc(times - (distance - room.direct_m) / 343.0 * rate_hz)
    # Compared where both are exact: between the high-pass and the roll-off of short pulses.
    band = np.fft.rfftfreq(1024, 1 / rate_hz)
    band = (band > 300) & (band < 5_500)
    found_spectrum, expected_spectrum = (
        np.fft.rfft(samples, 1024)[band] for samples in (impulse_response[: times.size], exact)
    )
    assert np.sum(np.abs(found_spectrum - expected_spectrum) ** 2) < 0.01 * np.sum(np.abs(expected_spectrum - 1.0) ** 2)


@pytest.mark.parametrize("level", [2.0, 3.0, 4.0, 5.0])
@pytest.mark.parametrize("rate_hz", [8_000, 44_100])
def test_a_room_decays_in_its_time(level: float, rate_hz: int) -> None:
    """By Schroeder's backward integration, from 5 to 35 dB below what is heard 20 ms after the direct sound."""
    room, params = room_at(level, 1)
    tail = response(room, samples=10**6, rate_hz=rate_hz, rng=params.stream("room"))[LEAD + rate_hz // 50 :]
    energy_left = np.cumsum(np.square(tail[::-1].astype(np.float64)))[::-1]
    decay_db = 10.0 * np.log10(energy_left / energy_left[0] + 1e-12)
    span = np.argmax(decay_db < -35.0) - np.argmax(decay_db < -5.0)
    assert 2.0 * span / rate_hz == pytest.approx(room.rt60_s, rel=0.15)


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 10**6), strength=st.floats(0.01, 5.0))
def test_source_and_microphone_stand_in_the_room(seed: int, strength: float) -> None:
    room, _ = room_at(strength, seed)
    for size, *places in zip(room.size_m, room.source_m, room.microphone_m, strict=True):
        assert all(0.1 - 1e-9 <= place <= size - 0.1 + 1e-9 for place in places)
    assert 0.15 - 1e-9 <= room.direct_m <= 0.35 + 1e-9
    assert 0.0 < room.absorption <= 1.0


@pytest.mark.parametrize("liveness", [0.0, 0.5, 1.0])
def test_the_strongest_level_follows_from_its_reverberation_time(liveness: float) -> None:
    params = RoomParams.from_json({**room_at(5.0, 0)[1].as_json(), "liveness": liveness})
    assert ROOMS.room(params).rt60_s == pytest.approx(0.6 + 0.2 * liveness, rel=1e-6)


def test_eyring_there_and_back() -> None:
    size = (5.0, 4.0, 2.5)
    room = Room(size_m=size, source_m=(1, 1, 1), microphone_m=(1, 1, 1.2), absorption=absorption_for(0.4, size))
    assert room.rt60_s == pytest.approx(0.4)
    # 0.161 V / (-S ln(1 - a)), as in any textbook
    assert room.rt60_s == pytest.approx(0.161 * 50.0 / (-85.0 * np.log(1.0 - room.absorption)), rel=5e-3)


@pytest.mark.parametrize("name", ["room_reverberation", "impulse_response"])
def test_a_shorter_sound_is_heard_in_the_same_room(name: str) -> None:
    clean = hiss(12_000)
    full = stress.perturb(name, clean, rate_hz=16_000, severity=4)
    part = stress.render(name, clean[:, :5_000], full.params, rate_hz=16_000)
    np.testing.assert_allclose(part[:, :-LEAD], full.output[:, : 5_000 - LEAD], atol=2e-4)


@pytest.mark.parametrize("rate_hz", [8_000, 44_100])
@pytest.mark.parametrize(
    ("level", "length_s", "wet_db"), [(1, 0.6, -8), (2, 1.27, -5), (3, 2.61, -2), (4, 3.01, 1), (5, 2.6, 4)]
)
def test_responses_have_their_length_and_energy(level: int, length_s: float, wet_db: float, rate_hz: int) -> None:
    params = ResponseParams(strength=float(level), seed=9, damping=0.5, gap=0.5)
    impulse_response = RESPONSES.response(params, rate_hz=rate_hz).astype(np.float64)
    assert impulse_response.size == int(np.ceil(length_s * rate_hz))
    assert np.sum(impulse_response**2) == pytest.approx(1.0, rel=1e-4)
    assert 10 * np.log10(np.sum(impulse_response[1:] ** 2) / impulse_response[0] ** 2) == pytest.approx(
        wet_db, abs=0.01
    )
    assert not impulse_response[1 : int(0.011 * rate_hz)].any(), "the direct sound comes first"
    assert np.abs(impulse_response).argmax() == 0


def test_high_tones_die_first() -> None:
    params = ResponseParams(strength=3.0, seed=2, damping=0.5, gap=0.0)
    impulse_response = RESPONSES.response(params, rate_hz=16_000)
    shares = []
    for start in (0.1, 0.9):
        power = np.square(np.abs(np.fft.rfft(impulse_response[int(start * 16_000) :][:4_800])))
        shares.append(power[1_200:].sum() / power[:300].sum())  # above 4 kHz beside below 1 kHz
    assert shares[1] < 0.1 * shares[0]


def delay(clean: Samples, output: Samples) -> int:
    """How much later the second is heard, by the phases of the tones that the first has."""
    size = 2 * clean.size
    before, after = np.fft.rfft(clean, size), np.fft.rfft(output, size)
    cross = after * np.conj(before)
    cross /= np.abs(cross) + 1e-3 * np.abs(before).max() ** 2
    lag_samples = int(np.argmax(np.fft.irfft(cross, size)))
    return lag_samples if lag_samples < size // 2 else lag_samples - size


@pytest.mark.extra_video
@pytest.mark.parametrize("name", [*FILTERS, "background_noise", "mp3_compression"])
@pytest.mark.parametrize(("rate_hz", "channels"), [(8_000, 1), (16_000, 2), (44_100, 1), (192_000, 8)])
def test_real_sounds_stay_where_they_are(name: str, rate_hz: int, channels: int, data: Path) -> None:
    paths = [
        *sorted(data.glob("audio/esc10/dog_bark/*.ogg"))[:1],
        *sorted(data.glob("audio/speech_fsdd/*.wav"))[::200][:2],
    ]
    for number, path in enumerate(paths):
        clip = read_sound(path)
        loudest = int(np.abs(clip.samples[0]).argmax())
        piece = clip.samples[:1, max(0, loudest - clip.rate_hz // 4) :][:, : clip.rate_hz // 2]
        clean = resampled(piece, rate_hz=clip.rate_hz, wanted_hz=rate_hz)
        clean = np.concatenate([np.roll(clean, 37 * channel, axis=1) for channel in range(channels)])
        output = stress.apply(name, clean, rate_hz=rate_hz, severity=(1, 3, 5)[number], seed=number)
        assert output.shape == clean.shape
        assert (
            max(
                abs(delay(clean_channel, output_channel))
                for clean_channel, output_channel in zip(clean, output, strict=True)
            )
            <= 1
        ), (path, number)
