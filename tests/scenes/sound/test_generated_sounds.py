"""Generated sounds: kinds that can be told apart, equally loud, whole from first sample to last, repeatable."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from auscult.errors import InputError
from auscult.rng import generator
from auscult.scenes.sound.generated import GENERATED
from auscult.scenes.sound.mix import REFERENCE_DB, SoundSource, finished, loudness_db

RATE = 16_000
LABELS = tuple(GENERATED.instances())
ALL = [(label, instance) for label, instances in GENERATED.instances().items() for instance in instances]


def source(label: str, index: int, *, seed: int = 0) -> SoundSource:
    instance = GENERATED.instances()[label][index]
    return GENERATED.source(generator(seed, instance), label, instance=instance)


def sound_of(label: str, index: int, *, seconds: float = 1.0, rate_hz: int = RATE, seed: int = 0) -> np.ndarray:
    return GENERATED.samples(source(label, index, seed=seed), seconds=seconds, rate_hz=rate_hz)


def levels(samples: np.ndarray, *, rate_hz: int = RATE) -> np.ndarray:
    """Level of every 10 ms in dB."""
    size = rate_hz // 100
    frames = samples[: len(samples) // size * size].reshape(-1, size)
    return 10.0 * np.log10(np.mean(frames**2, axis=1) + 1e-12)


def test_enough_kinds_and_instances_with_words_of_their_own() -> None:
    assert len(LABELS) >= 10
    assert all(len(names) >= 40 for names in GENERATED.instances().values())
    assert len(set(ALL)) == len(ALL)
    words = [(source(label, 0).noun, source(label, 0).verb) for label in LABELS]
    assert len({noun for noun, _ in words}) == len({verb for _, verb in words}) == len(LABELS)


@pytest.mark.parametrize("label", LABELS)
@pytest.mark.parametrize("seconds", [0.4, 1.3, 5.0])
def test_loud_from_the_first_sample_to_the_last(label: str, seconds: float) -> None:
    """One span is heard as one sound: no pause in it is as long as the 0.4 s that part two events."""
    for index in (0, 17, 59):
        samples = sound_of(label, index, seconds=seconds)
        assert samples.dtype == np.float32
        assert samples.shape == (round(seconds * RATE),)
        assert np.abs(samples).max() < 1.0
        assert loudness_db(samples, rate_hz=RATE) == pytest.approx(REFERENCE_DB, abs=0.1)
        loud = np.flatnonzero(levels(samples) > levels(samples).max() - 30.0)
        assert loud[0] == 0
        assert len(samples) / RATE - (loud[-1] + 1) / 100 <= 0.15
        assert np.diff(loud).max() <= 15


@pytest.mark.parametrize("label", LABELS)
def test_ends_are_faded(label: str) -> None:
    for index in range(0, 60, 12):
        samples = sound_of(label, index)
        quiet = 0.05 * np.abs(samples).max()
        assert np.abs(samples[:4]).max() < quiet
        assert np.abs(samples[-16:]).max() < quiet


def features(samples: np.ndarray) -> np.ndarray:
    """Mean and spread over time of the level in 24 bands, and how much the loudness goes up and down."""
    frames = np.lib.stride_tricks.sliding_window_view(samples, 512)[::160] * np.hanning(512)
    power = np.abs(np.fft.rfft(frames, axis=1)) ** 2
    edges = np.unique(np.geomspace(1, 256, 25).astype(int))
    bands = np.log10(np.add.reduceat(power[:, :256], edges[:-1], axis=1) + 1e-4)
    return np.concatenate([bands.mean(axis=0), bands.std(axis=0), [levels(samples).std() / 10.0]])


def test_kinds_are_told_apart_by_a_nearest_centroid() -> None:
    train = {label: np.mean([features(sound_of(label, i)) for i in range(5)], axis=0) for label in LABELS}
    centres = np.stack([train[label] for label in LABELS])
    right = 0
    for place, label in enumerate(LABELS):
        for index in range(30, 34):
            distances = np.linalg.norm(centres - features(sound_of(label, index, seed=3)), axis=1)
            right += int(np.argmin(distances)) == place
    assert right / (4 * len(LABELS)) >= 0.9, "chance is 1 in 18"


def test_instances_of_a_kind_differ() -> None:
    for label in LABELS:
        sounds = [sound_of(label, index, seconds=0.5) for index in range(6)]
        assert all(
            np.abs(samples - other).max() > 0.02
            for place, samples in enumerate(sounds)
            for other in sounds[place + 1 :]
        )


def test_the_same_source_gives_the_same_bytes_in_any_order() -> None:
    forward = [sound_of(label, 5).tobytes() for label in LABELS]
    backward = [sound_of(label, 5).tobytes() for label in reversed(LABELS)]
    assert forward == backward[::-1]


def test_an_instance_keeps_its_numbers_and_the_draw_its_grain() -> None:
    first, other = source("rattle", 3, seed=1), source("rattle", 3, seed=2)
    assert {**first.params, "seed": 0} == {**other.params, "seed": 0}
    assert first.params["seed"] != other.params["seed"]
    assert not np.array_equal(sound_of("rattle", 3, seed=1), sound_of("rattle", 3, seed=2))


def test_a_source_lives_through_json() -> None:
    for label in LABELS:
        given_source = source(label, 9)
        reread = SoundSource(**json.loads(json.dumps(asdict(given_source))))
        assert reread == given_source
        first = GENERATED.samples(given_source, seconds=0.3, rate_hz=RATE)
        assert np.array_equal(GENERATED.samples(reread, seconds=0.3, rate_hz=RATE), first)


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from(LABELS),
    st.integers(0, 59),
    st.one_of(st.sampled_from([0.0, 1e-4, 2e-4, 0.001, 0.01]), st.floats(0.0, 1.0)),
    st.sampled_from([8_000, 11_025, 16_000, 44_100, 48_000]),
)
def test_any_length_and_rate(label: str, index: int, seconds: float, rate_hz: int) -> None:
    samples = sound_of(label, index, seconds=seconds, rate_hz=rate_hz)
    assert samples.shape == (round(seconds * rate_hz),)
    assert samples.dtype == np.float32
    assert np.isfinite(samples).all()
    assert np.abs(samples).max(initial=0.0) < 1.0


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"seed": "x"},
        {"pitch_hz": 1e9},
        {"pitch_hz": None},
        {"pitch_hz": True},
        {"pitch_hz": float("nan")},
        {"seed": -1},
    ],
)
def test_hostile_numbers_are_refused(params: dict[str, Any]) -> None:
    good = source("siren", 0)
    bad = replace(good, params={**good.params, **params} if params else {})
    with pytest.raises(InputError, match="siren"):
        GENERATED.samples(bad, seconds=0.5, rate_hz=RATE)
    with pytest.raises(InputError, match="no generated sound"):
        GENERATED.samples(replace(good, label="anthem"), seconds=0.5, rate_hz=RATE)


def test_what_there_is_not() -> None:
    with pytest.raises(ValueError, match="no generated sound"):
        GENERATED.source(generator(0), "siren", instance="siren-60")


def test_loudness_is_that_of_bs_1770() -> None:
    """A sine of 997 Hz at full scale in one channel is -3.01 LUFS (BS.1770-4, end of Annex 1)."""
    turn = np.sin(2 * np.pi * 997 * np.arange(48_000) / 48_000).astype(np.float32)
    assert loudness_db(turn, rate_hz=48_000) == pytest.approx(-3.01, abs=0.02)
    assert loudness_db(turn / 10, rate_hz=48_000) == pytest.approx(-23.01, abs=0.02)
    deep = np.sin(2 * np.pi * 25 * np.arange(48_000) / 48_000).astype(np.float32)
    assert loudness_db(deep, rate_hz=48_000) < -10.0
    assert loudness_db(np.zeros(100, np.float32), rate_hz=48_000) == float("-inf")


def test_finishing_keeps_spikes_below_full_scale() -> None:
    spikes = np.zeros(RATE, np.float32)
    spikes[100::2000] = 1.0
    finished_sound = finished(spikes, rate_hz=RATE)
    assert np.abs(finished_sound).max() < 1.0
    assert not finished(np.zeros(50, np.float32), rate_hz=RATE).any()
