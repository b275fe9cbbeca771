"""What the room of sound accepts, what it refuses, and what it gives back: table-driven."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from auscult.errors import InputError, UnknownName, UsageError
from auscult.rng import generator
from auscult.stress import sound
from auscult.stress.perturbation import chosen, loaded
from auscult.stress.sound.base import AudioInfo
from auscult.types import Samples

OURS = ("gaussian_noise", "impulse_noise", "peaking_filter", "time_mask", "tanh_distortion", "low_pass", "high_pass")


def tone(samples: int, *, rate_hz: int = 16_000) -> Samples:
    times = np.arange(samples) / rate_hz
    noise = generator(0, "tone").standard_normal(samples)
    return (0.4 * np.sin(2 * np.pi * 440 * times) + 0.05 * noise).astype(np.float32)


GOOD: dict[str, tuple[Any, int]] = {
    "one sample": (tone(1), 16_000),
    "two samples": (tone(2), 8_000),
    "eight channels": (np.stack([tone(3000) * (1 - channel / 10) for channel in range(8)]), 48_000),
    "192 kHz": (tone(40_000, rate_hz=192_000), 192_000),
    "8 kHz": (tone(4000, rate_hz=8_000), 8_000),
    "silent": (np.zeros(5000, np.float32), 16_000),
    "clipped": (np.clip(tone(5000) * 20, -1, 1), 16_000),
    "over full scale": (tone(5000) * np.float32(30), 16_000),
    "a constant": (np.full(5000, 0.5, np.float32), 16_000),
    "float64": (tone(5000).astype(np.float64), 16_000),
    "not contiguous": (np.stack([tone(3000)] * 2, axis=-1).T, 16_000),
    "read only": (np.frombuffer(tone(3000).tobytes(), np.float32), 16_000),
}

BAD: dict[str, tuple[Any, str]] = {
    "empty": (np.zeros(0, np.float32), "(0,)"),
    "no samples in two channels": (np.zeros((2, 0), np.float32), "(2, 0)"),
    "no channels": (np.zeros((0, 100), np.float32), "(0, 100)"),
    "no axis": (np.ones(()), "()"),
    "three axes": (np.zeros((2, 2, 100), np.float32), "(2, 2, 100)"),
    "a list": ([0.0, 0.1], "list"),
    "text": ("sound.wav", "str"),
    "none": (None, "NoneType"),
    "8 bits": (np.zeros(100, np.uint8), "uint8"),
    "int64": (np.zeros(100, np.int64), "int64"),
    "complex": (np.zeros(100, np.complex64), "complex64"),
    "objects": (np.array([None, 1.0]), "object"),
    "NaN": (np.array([0.0, np.nan, 0.1], np.float32), "NaN"),
    "infinite": (np.array([0.0, -np.inf]), "infinity"),
}


@pytest.mark.parametrize("name", OURS)
@pytest.mark.parametrize("case", GOOD)
def test_a_sound_that_will_do(name: str, case: str) -> None:
    sound_in, rate_hz = GOOD[case]
    before = sound_in.tobytes()
    output = sound.apply(name, sound_in, rate_hz=rate_hz, severity=4.5, seed=3)
    assert output.shape == sound_in.shape
    assert output.dtype == np.float32
    assert np.isfinite(output).all()
    assert output.flags.writeable
    assert sound_in.tobytes() == before


@pytest.mark.parametrize("case", GOOD)
@pytest.mark.parametrize("name", ["gain", "time_mask", "background_noise"])
def test_what_is_applied_is_what_is_told_and_replays(name: str, case: str) -> None:
    sound_in, rate_hz = GOOD[case]
    perturbed = sound.perturb(name, sound_in, rate_hz=rate_hz, severity=4.5, seed=3, key="k")
    output = sound.apply(name, sound_in, rate_hz=rate_hz, severity=4.5, seed=3, key="k")
    assert output.tobytes() == perturbed.output.tobytes()
    assert output.shape == perturbed.output.shape == sound_in.shape
    assert sound.render(name, sound_in, perturbed.params, rate_hz=rate_hz).tobytes() == output.tobytes()


@pytest.mark.parametrize("name", ["gain", *OURS])
@pytest.mark.parametrize("kind", [np.int16, np.int32])
def test_integers_are_scaled_by_their_range(name: str, kind: Any) -> None:
    largest = np.iinfo(kind).max
    integers = np.round(tone(4000) * 0.9 * largest).astype(kind)
    scaled = (integers / (largest + 1.0)).astype(np.float32)
    output = sound.apply(name, integers, rate_hz=16_000, seed=5)
    assert output.dtype == np.float32
    assert np.array_equal(output, sound.apply(name, scaled, rate_hz=16_000, seed=5))


def test_the_greatest_integers_stay_within_full_scale() -> None:
    ends = np.array([-32_768, 32_767], np.int16)
    assert sound.apply("gain", ends, rate_hz=16_000, severity=0) == pytest.approx([-1.0, 32_767 / 32_768])


@pytest.mark.parametrize("case", BAD)
@pytest.mark.parametrize("severity", [0, 3])
def test_a_sound_that_will_not_do_is_refused_in_words(case: str, severity: int) -> None:
    sound_in, phrase = BAD[case]
    with pytest.raises(UsageError) as error:
        sound.apply("gaussian_noise", sound_in, rate_hz=16_000, severity=severity)
    assert phrase in error.value.message
    assert "float32" in error.value.expected


@pytest.mark.parametrize(
    "rate_hz",
    [0, -16_000, 44_100.5, float("nan"), float("inf"), True, 768_001, "16000", None, pytest.param(10**400, id="huge")],
)
def test_a_rate_that_is_none(rate_hz: Any) -> None:
    for call in (
        lambda: sound.apply("gain", tone(100), rate_hz=rate_hz),
        lambda: sound.render("gain", tone(100), {"strength": 3.0, "share": 0.5}, rate_hz=rate_hz),
    ):
        with pytest.raises(UsageError, match="rate"):
            call()


@pytest.mark.parametrize("severity", [-0.1, 5.01, float("nan"), "extreme", "", True, None])
def test_a_severity_out_of_range(severity: Any) -> None:
    with pytest.raises(UsageError, match="severity"):
        sound.apply("gain", tone(100), rate_hz=16_000, severity=severity)


def test_severities_have_names() -> None:
    for word, number in (("low", 1), ("medium", 3), ("high", 5)):
        by_word = sound.perturb("high_pass", tone(1000), rate_hz=16_000, severity=word)
        assert by_word.params == sound.perturb("high_pass", tone(1000), rate_hz=16_000, severity=number).params


@pytest.mark.parametrize("name", OURS)
@pytest.mark.parametrize("severity", [0, 3])
def test_noise_for_what_mixes_nothing_in(name: str, severity: int) -> None:
    with pytest.raises(UsageError, match="mixes nothing in"):
        sound.apply(name, tone(100), rate_hz=16_000, severity=severity, noise=tone(100))


def test_an_unknown_name() -> None:
    with pytest.raises(UnknownName):
        sound.apply("gaussian_nose", tone(100), rate_hz=16_000)
    with pytest.raises(UnknownName):
        sound.render("vision.gaussian_nose.v1", tone(100), {}, rate_hz=16_000)


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"strength": 3.0},
        {"strength": 3.0, "share": 2.0},
        {"strength": 6.0, "share": 0.5},
        {"strength": 3.0, "share": "0.5"},
        {"strength": 3.0, "share": float("nan")},
        {"strength": 3.0, "share": 0.5, "more": 1},
    ],
)
def test_parameters_that_nobody_drew(params: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        sound.render("gain", tone(100), params, rate_hz=16_000)


@pytest.mark.parametrize("name", OURS)
def test_seed_and_key_decide(name: str) -> None:
    sound_in = tone(4000)
    first = sound.perturb(name, sound_in, rate_hz=16_000, seed=1, key="a")
    replayed = sound.render(name, sound_in, json.loads(json.dumps(first.params)), rate_hz=16_000)
    assert replayed.tobytes() == first.output.tobytes()
    assert sound.perturb(name, sound_in, rate_hz=16_000, seed=1, key="a").params == first.params
    assert sound.perturb(name, sound_in, rate_hz=16_000, seed=1, key="b").params != first.params
    assert sound.perturb(name, sound_in, rate_hz=16_000, seed=2, key="a").params != first.params


PLUG_IN = """
import numpy as np
from auscult.stress.perturbation import Params
from auscult.types import Metadata


class Plugged:
    name = "sound.plugged.v1"
    params = Params
    levels = ((0.0,), (1.0,), (2.0,), (3.0,), (4.0,), (5.0,))
    declared = {}
    meta = Metadata(
        summary="a test's", goal="none", modality="sound", source="none", truth="none", origin="sensor"
    )

    def choose(self, rng, take, *, strength):
        return Params(strength=strength)

    def render(self, sound, params, *, rate_hz):
        kind = int(params.strength)
        if kind == 1:
            return sound[:, 1:]
        if kind == 2:
            return sound.astype(np.float64)
        if kind == 3:
            return sound.tolist()
        if kind == 4:
            return None
        return sound + np.float32(1.0)


STRESSOR = Plugged()
"""


@pytest.fixture
def plugged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "plugged_sound.py").write_text(PLUG_IN)
    info = tmp_path / "plugged_sound-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: plugged-sound\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[auscult.stressors]\nsound.plugged.v1 = plugged_sound:STRESSOR\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    return "sound.plugged.v1"


@pytest.mark.parametrize(
    ("severity", "phrase"),
    [(1, "float32 (1, 99)"), (2, "float64 (1, 100)"), (3, "list"), (4, "NoneType")],
)
def test_a_plug_in_that_gives_back_something_else(plugged: str, severity: int, phrase: str) -> None:
    with pytest.raises(UsageError) as error:
        sound.apply(plugged, tone(100), rate_hz=16_000, severity=severity)
    assert phrase in error.value.message
    assert plugged in error.value.message
    assert error.value.expected == "float32 (1, 100)"


def test_a_plug_in_that_keeps_the_shape(plugged: str) -> None:
    assert np.array_equal(sound.apply("plugged", tone(100), rate_hz=16_000, severity=5), tone(100) + np.float32(1.0))
    assert np.array_equal(sound.apply(plugged, tone(100), rate_hz=16_000, severity=0), tone(100))


@pytest.mark.parametrize("name", ["gain", "time_mask", "gaussian_noise", "impulse_noise"])
@pytest.mark.parametrize(("channels", "samples", "at_once"), [(1, 10_007, 777), (2, 33_335, 4096), (3, 5, 1)])
def test_parts_of_a_sound_are_rendered_as_the_whole_is(name: str, channels: int, samples: int, at_once: int) -> None:
    sound_in = np.stack([tone(samples) * (1 - channel / 10) for channel in range(channels)])
    stressor, take = loaded("sound", name), AudioInfo(samples=samples, channels=channels, rate_hz=16_000)
    for seed in range(3):
        params = chosen(stressor, take, severity=4, seed=seed, key="k")
        parts = [
            stressor.block(sound_in[:, start : start + at_once], params, start=start, take=take)
            for start in range(0, samples, at_once)
        ]
        assert np.concatenate(parts, axis=1).tobytes() == stressor.render(sound_in, params, rate_hz=16_000).tobytes()
