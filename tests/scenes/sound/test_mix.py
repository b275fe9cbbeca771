"""The mix: to the sample, at the level, in its place, below full scale."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from auscult.rng import generator
from auscult.scenes.sound.generated import GENERATED
from auscult.scenes.sound.mix import (
    CEILING,
    REFERENCE_DB,
    SOFTEST_DB,
    SoundSet,
    SoundSource,
    SoundTrack,
    TimeSpan,
    arrival_db,
    gain_by_distance,
    loudness_db,
    mix_down,
    pan_by_x,
)
from auscult.types import Samples

RATE = 16_000


class Constant:
    """A set of one sound: a constant."""

    name = "constant"

    def instances(self) -> Mapping[str, tuple[str, ...]]:
        return {"one": ("one",)}

    def source(self, rng: np.random.Generator, label: str, *, instance: str) -> SoundSource:
        del rng
        return SoundSource(label=label, instance=instance, noun="hum", verb="hums", params={"size": 0.5})

    def samples(self, source: SoundSource, *, seconds: float, rate_hz: int) -> Samples:
        return np.full(round(seconds * rate_hz), source.params["size"], dtype=np.float32)


SET = Constant()


def track(
    *spans: TimeSpan, gain_db: float | Sequence[float] = 0.0, pan: float | Sequence[float] = 0.0, size: float = 0.5
) -> SoundTrack:
    gains = tuple(gain_db) if isinstance(gain_db, Sequence) else (gain_db, gain_db)
    pans = tuple(pan) if isinstance(pan, Sequence) else (pan, pan)
    source = SoundSource(label="one", instance="one", noun="hum", verb="hums", params={"size": size})
    return SoundTrack(source=source, spans=spans, gain_db=gains, pan=pans, times_s=(0.0, 10.0))


def mix(tracks: Sequence[SoundTrack], sounds: SoundSet, *, seconds: float, rate_hz: int) -> Samples:
    return mix_down(tracks, sounds, seconds=seconds, rate_hz=rate_hz).samples


@given(st.lists(st.integers(0, 199), min_size=2, max_size=8, unique=True), st.sampled_from([8_000, 16_000, 44_100]))
def test_a_span_starts_and_ends_at_its_sample(steps: list[int], rate_hz: int) -> None:
    edges = sorted(steps)[: len(steps) // 2 * 2]
    spans = tuple((round(0.05 * a, 2), round(0.05 * b, 2)) for a, b in zip(edges[::2], edges[1::2], strict=True))
    sound = mix([track(*spans)], SET, seconds=10.0, rate_hz=rate_hz)
    assert sound.shape == (2, 10 * rate_hz)
    expected = np.zeros(10 * rate_hz, dtype=bool)
    for start, end in spans:
        expected[round(start * rate_hz) : round(end * rate_hz)] = True
    assert np.array_equal(sound[0] != 0.0, expected)
    assert np.array_equal(sound[1] != 0.0, expected)


@pytest.mark.parametrize("label", list(GENERATED.instances()))
def test_a_generated_sound_starts_at_its_sample(label: str) -> None:
    source = GENERATED.source(generator(1), label, instance=f"{label}-07")
    sounding = replace(track((2.35, 3.1)), source=source)
    samples = mix([sounding], GENERATED, seconds=5.0, rate_hz=RATE)[0]
    start, end = round(2.35 * RATE), round(3.1 * RATE)
    assert not samples[:start].any()
    assert not samples[end:].any()
    assert samples[start : start + 16].any(), "it is heard within a millisecond"


@given(st.floats(-60.0, 0.0), st.floats(-1.0, 1.0))
def test_level_and_power_of_a_place(gain_db: float, pan: float) -> None:
    left_channel, right = mix([track((0.0, 0.5), gain_db=gain_db, pan=pan)], SET, seconds=0.5, rate_hz=8_000)[:, 100]
    assert 20 * np.log10(np.hypot(left_channel, right) / 0.5) == pytest.approx(gain_db, abs=1e-3)
    assert np.arctan2(right, left_channel) == pytest.approx((pan + 1) * np.pi / 4, abs=1e-3)


def test_level_and_place_move_between_their_times() -> None:
    moving = track((0.0, 10.0), gain_db=(-20.0, 0.0), pan=(-1.0, 1.0))
    sound = mix([moving], SET, seconds=10.0, rate_hz=RATE)
    for second in (1.234, 5.0, 9.99):
        left_channel, right = sound[:, round(second * RATE)]
        assert 20 * np.log10(np.hypot(left_channel, right) / 0.5) == pytest.approx(-20 + 2 * second, abs=0.01)
        assert np.arctan2(right, left_channel) == pytest.approx(second / 10 * np.pi / 2, abs=1e-3)
    assert np.abs(np.diff(sound)).max() < 1e-4, "nothing jumps"


def test_sounds_add_up_and_silence_is_silence() -> None:
    first, second = track((0.0, 1.0), size=0.2), track((0.5, 2.0), size=0.1)
    alone = [mix([track_], SET, seconds=2.0, rate_hz=RATE) for track_ in (first, second)]
    assert np.allclose(mix([first, second], SET, seconds=2.0, rate_hz=RATE), alone[0] + alone[1])
    assert not mix([], SET, seconds=1.0, rate_hz=RATE).any()


def test_a_mix_over_the_ceiling_is_turned_down_as_a_whole() -> None:
    loud = mix_down(
        [track((0.0, 1.0), size=0.9, pan=-1.0), track((0.5, 1.0), size=0.6, pan=-1.0)], SET, seconds=1.0, rate_hz=RATE
    )
    assert np.abs(loud.samples).max() <= CEILING
    assert loud.gain_db == pytest.approx(20 * np.log10(CEILING / 1.5), abs=1e-4)
    assert loud.samples[0, 100] / loud.samples[0, -100] == pytest.approx(0.9 / 1.5, abs=1e-4)
    assert mix_down([track((0.0, 1.0))], SET, seconds=1.0, rate_hz=RATE).gain_db == 0.0


def scene(seed: int) -> list[SoundTrack]:
    rng = generator(seed, "scene")
    tracks = []
    for label in rng.choice(list(GENERATED.instances()), 6, replace=False):
        source = GENERATED.source(rng, str(label), instance=f"{label}-{rng.integers(60):02d}")
        tracks.append(replace(track((0.0, 4.0), pan=(-0.5, 0.5)), source=source))
    return tracks


def test_six_sounds_at_reference_loudness_stay_below_full_scale() -> None:
    gains = [mix_down(scene(seed), GENERATED, seconds=4.0, rate_hz=RATE).gain_db for seed in range(8)]
    assert sum(gain < 0.0 for gain in gains) <= 1, gains
    assert min(gains) > -3.0


def test_the_same_tracks_give_the_same_bytes() -> None:
    first = mix(scene(1), GENERATED, seconds=4.0, rate_hz=RATE).tobytes()
    mix(scene(2), GENERATED, seconds=4.0, rate_hz=RATE)
    assert mix(scene(1), GENERATED, seconds=4.0, rate_hz=RATE).tobytes() == first


def hashed(seed: int) -> str:
    return hashlib.sha256(mix(scene(seed), GENERATED, seconds=4.0, rate_hz=RATE).tobytes()).hexdigest()


@pytest.mark.slow
def test_other_processes_give_the_same_bytes() -> None:
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        assert list(pool.map(hashed, [3, 2, 1, 0])) == [hashed(seed) for seed in range(4)][::-1]


def test_distance_and_place() -> None:
    assert gain_by_distance(1.0) == gain_by_distance(0.5) == 0.0
    assert gain_by_distance(2.0) == pytest.approx(-6.02, abs=0.01)
    assert gain_by_distance(500.0) == gain_by_distance(1e9) == SOFTEST_DB
    assert [pan_by_x(x) for x in (-3.0, 0.0, 0.5, 1.0, 2.0)] == [-1.0, -1.0, 0.0, 1.0, 1.0]


@pytest.mark.parametrize("label", ["hiss", "hum", "honk", "siren"])
def test_what_arrives_is_what_is_said_to_arrive(label: str) -> None:
    source = GENERATED.source(generator(1), label, instance=f"{label}-03")
    for gains, pan in (((-6.0, -6.0), -0.8), ((-12.0, 0.0), 0.3)):
        sounding = replace(track((2.0, 8.0), gain_db=gains, pan=pan), source=source)
        sound = mix([sounding], GENERATED, seconds=10.0, rate_hz=RATE)[:, 2 * RATE : 8 * RATE]
        power = sum(10 ** (loudness_db(side, rate_hz=RATE) / 10) for side in sound)
        assert 10 * np.log10(power) == pytest.approx(arrival_db(sounding), abs=0.5)
    assert arrival_db(track((0.0, 1.0))) == pytest.approx(REFERENCE_DB)
