"""Timing: what every perturbation of it keeps to, and what goes in and out."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

from auscult import registry
from auscult.errors import InputError, UnknownName, UsageError
from auscult.stress import timing
from auscult.stress.perturbation import STRONGEST, loaded, monotone
from auscult.stress.timing import base
from auscult.stress.timing.base import TimingInfo
from auscult.types import Metadata

NAMES = [entry.name for entry in registry.entries("stressor") if entry.name.startswith("timing.")]
RATE_HZ = 8_000
FPS = 25.0


@pytest.fixture(autouse=True, scope="module")
def one_look() -> Iterator[None]:
    """Look into the registry once: it reads the metadata of every package each time."""
    entries_of = {"stressor": registry.entries("stressor")}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(registry, "entries", entries_of.__getitem__)
        yield


def clip_of(frames: int) -> Any:
    """Frames that say their number in every pixel."""
    clip = np.empty((frames, 3, 4, 3), dtype=np.uint8)
    clip[:] = np.arange(frames, dtype=np.uint8)[:, None, None, None]
    clip.setflags(write=False)
    return clip


def noise_of(samples: int, channels: int = 1) -> Any:
    sound = np.random.Generator(np.random.PCG64(3)).standard_normal((channels, samples)).astype(np.float32) * 0.1
    sound.setflags(write=False)
    return sound


CLIP, SOUND = clip_of(50), noise_of(2 * RATE_HZ, 2)


def perturbed(name: str, **options: Any) -> Any:
    return timing.perturb(name, CLIP, SOUND, rate_fps=FPS, rate_hz=RATE_HZ, **options)


def same_footage(first: timing.Footage, second: timing.Footage) -> bool:
    assert first.sound is not None
    assert second.sound is not None
    return first.clip.tobytes() == second.clip.tobytes() and first.sound.tobytes() == second.sound.tobytes()


def test_all_four_are_registered() -> None:
    kinds = ("drift", "dropped_frames", "offset", "repeated_frames")
    assert [f"timing.{kind}.v1" for kind in kinds] == NAMES


@pytest.mark.parametrize("name", NAMES)
class TestLaws:
    def test_describes_itself(self, name: str) -> None:
        stressor = registry.load("stressor", name)
        assert isinstance(stressor, timing.TimingStressor)
        assert stressor.name == name
        assert isinstance(stressor.meta, Metadata)
        assert stressor.meta.modality == "video"
        assert stressor.meta.origin in {"source", "environment", "sensor", "transmission"}
        for text in (stressor.meta.summary, stressor.meta.goal, stressor.meta.source, stressor.meta.truth):
            assert text
            assert "\n" not in text
        assert len(stressor.levels) == STRONGEST + 1
        assert all(monotone(stressor.levels, column) for column in range(len(stressor.levels[0])))

    def test_changes_nothing_at_strength_0(self, name: str) -> None:
        made = perturbed(name, severity=0)
        assert same_footage(made.output, timing.Footage(clip=CLIP, sound=SOUND))
        assert not np.shares_memory(made.output.clip, CLIP)
        assert not np.shares_memory(made.output.sound, SOUND)
        assert made.truth.frames == tuple(range(50))
        assert made.truth.offset_s == (0.0,) * 50
        assert made.truth.silent_s == ()

    def test_leaves_its_input_alone_and_keeps_lengths(self, name: str) -> None:
        clip, sound = CLIP.tobytes(), SOUND.tobytes()
        footage = perturbed(name, severity=5).output
        assert (CLIP.tobytes(), SOUND.tobytes()) == (clip, sound)
        assert (footage.clip.shape, footage.clip.dtype) == (CLIP.shape, CLIP.dtype)
        assert (footage.sound.shape, footage.sound.dtype) == (SOUND.shape, np.float32)
        assert footage.clip.flags.writeable
        assert footage.sound.flags.writeable

    def test_is_decided_by_seed_and_key(self, name: str) -> None:
        first = perturbed(name, seed=5, key="a")
        perturbed(name, seed=9, key="b")
        assert same_footage(first.output, perturbed(name, seed=5, key="a").output)
        others = [perturbed(name, seed=seed, key="a").output for seed in range(8)]
        assert any(not same_footage(first.output, other) for other in others)

    @pytest.mark.parametrize("severity", [0, 0.4, 1, 2.5, 5])
    def test_replays_from_json(self, name: str, severity: float) -> None:
        made = perturbed(name, severity=severity, seed=2)
        params = json.loads(json.dumps(made.params, allow_nan=False))
        replayed = timing.render(name, CLIP, SOUND, params_json=params, rate_fps=FPS, rate_hz=RATE_HZ)
        assert same_footage(made.output, replayed)

    def test_draws_do_not_depend_on_strength(self, name: str) -> None:
        params_drawn = [{**perturbed(name, severity=severity).params, "strength": 0} for severity in (1, 3, 5)]
        assert params_drawn[0] == params_drawn[1] == params_drawn[2]

    def test_every_frame_is_what_is_told(self, name: str) -> None:
        made = perturbed(name, severity=4)
        assert made.output.clip[:, 0, 0, 0].tolist() == list(made.truth.frames)
        assert made.truth.frames[0] == 0
        assert (np.diff(made.truth.frames) >= 0).all()

    def test_masks_follow_the_frames(self, name: str) -> None:
        mask = np.zeros((50, 3, 4), dtype=np.bool_)
        mask[np.arange(50), np.arange(50) % 3, np.arange(50) % 4] = True
        made = perturbed(name, severity=5, masks=[mask])
        assert np.array_equal(made.truth.masks[0], mask[list(made.truth.frames)])

    def test_damage_grows_with_the_level(self, name: str) -> None:
        for seed in range(5):
            lags = [perturbed(name, severity=level, seed=seed).truth for level in range(6)]
            damage = [np.abs(lag.offset_s).mean() for lag in lags]
            assert (np.diff(damage) > 0).all()

    def test_silence_is_where_it_is_told(self, name: str) -> None:
        made = perturbed(name, severity=5)
        times = np.arange(SOUND.shape[1]) / RATE_HZ
        is_silent = np.zeros(times.size, dtype=np.bool_)
        for start, end in made.truth.silent_s:
            is_silent |= (times >= start) & (times < end)
        silent = (made.output.sound == 0).all(axis=0)
        assert (is_silent == silent).mean() > 1 - 2 / times.size

    @pytest.mark.parametrize("channels", [1, 8])
    def test_any_sound(self, name: str, channels: int) -> None:
        for sound in (
            noise_of(1, channels),
            noise_of(777, channels)[0],
            (noise_of(500, channels) * 9e3).astype("int16"),
        ):
            footage = timing.apply(name, clip_of(2), sound, rate_fps=FPS, rate_hz=192_000, severity=5)
            assert footage.sound is not None
            assert footage.sound.shape == sound.shape
            assert np.isfinite(footage.sound).all()

    def test_one_frame_and_no_sound(self, name: str) -> None:
        footage = timing.apply(name, clip_of(1), rate_fps=FPS, severity=5)
        assert footage.clip.tolist() == clip_of(1).tolist()
        assert footage.sound is None


@given(
    name=some.sampled_from(NAMES),
    frames=some.integers(1, 200),
    rate_fps=some.floats(0.5, 240),
    strength=some.floats(0.001, 5),
    seed=some.integers(0, 2**63 - 1),
)
def test_frames_and_times_never_fall(name: str, frames: int, rate_fps: float, strength: float, seed: int) -> None:
    stressor, reel = loaded("timing", name), TimingInfo(frames=frames, rate_fps=rate_fps)
    params = stressor.choose(np.random.Generator(np.random.PCG64(seed)), reel, strength=strength)
    numbers = base.numbers_of(stressor, params, reel)
    assert numbers[0] == 0
    assert (numbers <= np.arange(frames)).all()
    times_heard = base.heard_by(stressor, params, np.linspace(0, reel.duration_s, 50))
    assert (np.diff(times_heard) >= 0).all()


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "a picture": ({"clip": CLIP[0]}, "the clip is uint8"),
    "no frame": ({"clip": CLIP[:0]}, "the clip is uint8"),
    "floats": ({"clip": CLIP / 255}, "the clip is float64"),
    "text": ({"clip": "clip"}, "the clip is str"),
    "no rate of the sound": ({"rate_hz": None}, "the rate of the sound is None"),
    "a rate of 0": ({"rate_hz": 0}, "the rate of the sound is 0"),
    "no frames per second": ({"rate_fps": 0.0}, "0.0 frames per second"),
    "not a number": ({"rate_fps": float("nan")}, "nan frames per second"),
    "a rate in words": ({"rate_fps": "25"}, "the rate is '25' frames per second"),
    "no rate": ({"rate_fps": None}, "the rate is None frames per second"),
    "a rate beyond numbers": ({"rate_fps": 10**400}, "frames per second"),
    "a rate of the sound in words": ({"rate_hz": "8000"}, "the rate of the sound is '8000' Hz"),
    "a rate of the sound beyond numbers": ({"rate_hz": 10**400}, "the rate of the sound is 1000"),
    "a mask that is none": ({"masks": [1]}, "a mask is int"),
    "masks that are none": ({"masks": 5}, "masks are 5"),
    "masks in words": ({"masks": "all"}, "masks are 'all'"),
    "an empty sound": ({"sound": np.zeros((1, 0), np.float32)}, "the sound is float32"),
    "a broken sound": ({"sound": np.full(9, np.nan, np.float32)}, "NaN"),
    "too strong": ({"severity": 6}, "severity"),
    "a mask of another size": ({"masks": [np.zeros((50, 9, 9), np.bool_)]}, "a mask is bool"),
}


@pytest.mark.parametrize("case", BAD)
@pytest.mark.parametrize("name", NAMES)
def test_bad_input_is_told(name: str, case: str) -> None:
    changes, message = BAD[case]
    options = {"clip": CLIP, "sound": SOUND, "rate_fps": FPS, "rate_hz": RATE_HZ, **changes}
    with pytest.raises(UsageError, match=message):
        timing.perturb(name, options.pop("clip"), options.pop("sound"), **options)


@pytest.mark.parametrize("params", [{}, None, {"strength": 3.0, "late": 1}, {"strength": 9.0, "late": True}])
def test_parameters_of_another_kind_are_refused(params: Any) -> None:
    with pytest.raises(InputError):
        timing.render("offset", CLIP, SOUND, params_json=params, rate_fps=FPS, rate_hz=RATE_HZ)


def test_an_unknown_name() -> None:
    with pytest.raises(UnknownName):
        timing.apply("ofset", CLIP, rate_fps=FPS)


class Broken:
    """Offset, but for what it is told to answer."""

    name = "timing.broken.v1"

    def __init__(self, frames: Any, heard_times: Any) -> None:
        self._frames, self._heard = frames, heard_times

    def frames(self, *_arguments: Any) -> Any:
        return self._frames

    def heard(self, *_arguments: Any) -> Any:
        return self._heard


WRONG = (
    None,
    [0, 1, 2],
    np.zeros(2, np.int64),
    np.zeros(3),
    np.array([0, 2, 1]),
    np.array([0, 1, 3]),
    np.array([-1, 0, 0]),
)


@pytest.mark.parametrize("frames", WRONG)
def test_a_plug_in_with_wrong_frames_is_at_fault(frames: Any) -> None:
    params = loaded("timing", "offset").params(strength=3.0, late=True)
    with pytest.raises(UsageError, match="plug-in is at fault"):
        base.numbers_of(Broken(frames, None), params, TimingInfo(frames=3, rate_fps=25.0))  # type: ignore[arg-type]


@pytest.mark.parametrize("heard_times", [None, np.zeros(2), np.array([0.0, 1.0, np.nan]), np.array([0.0, 2.0, 1.0])])
def test_a_plug_in_with_wrong_times_is_at_fault(heard_times: Any) -> None:
    params = loaded("timing", "offset").params(strength=3.0, late=True)
    with pytest.raises(UsageError, match="plug-in is at fault"):
        base.heard_by(Broken(None, heard_times), params, np.arange(3.0))  # type: ignore[arg-type]
