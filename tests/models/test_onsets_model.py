"""The sound model on drawn clips: what pulses, what stands where the sound comes from, silence, odd sizes and rates."""

from __future__ import annotations

import hashlib
import subprocess
import sys

import numpy as np
import pytest
from numpy.typing import NDArray

from auscult.models.base import ReferringModel
from auscult.models.classical.onsets import MODEL, POSITIONS, agreement, listen, peaks
from auscult.types import Query

RATE_HZ = 16_000
FRAMES = 6
ON = (1, 4)
LEFT, RIGHT = (slice(30, 62), slice(20, 52)), (slice(30, 62), slice(108, 140))

Clip = NDArray[np.uint8]
Samples = NDArray[np.float32]


def ground(frames: int = FRAMES, size: tuple[int, int] = (96, 160)) -> Clip:
    rng = np.random.default_rng(3)
    picture = rng.integers(70, 90, (*size, 3)).astype(np.uint8)
    return np.repeat(picture[None], frames, axis=0)


def with_blob(clip: Clip, area: tuple[slice, slice], frames: tuple[int, ...], colour: tuple[int, int, int]) -> Clip:
    frames_drawn = clip.copy()
    for frame in frames:
        frames_drawn[frame][area] = colour
    return frames_drawn


def tone(
    frames: tuple[int, ...], *, x: float | None, total: int = FRAMES, rate_hz: int = RATE_HZ, hz: float = 440.0
) -> Samples:
    """A tone around the seconds of some frames, panned to a place at constant power; (samples,) for no place."""
    times = np.arange(total * rate_hz) / rate_hz
    on = np.any([np.abs(times - frame) < 0.45 for frame in frames], axis=0) if frames else np.zeros(times.shape)
    samples = (0.2 * np.sin(2 * np.pi * hz * times) * on).astype(np.float32)
    if x is None:
        return samples
    return np.stack([samples * np.cos(x * np.pi / 2), samples * np.sin(x * np.pi / 2)]).astype(np.float32)


def iou(mask: NDArray[np.bool_], area: tuple[slice, slice]) -> float:
    true = np.zeros(mask.shape, bool)
    true[area] = True
    return float((mask & true).sum() / (mask | true).sum())


def two_standing() -> Clip:
    all_frames = tuple(range(FRAMES))
    return with_blob(with_blob(ground(), LEFT, all_frames, (200, 60, 60)), RIGHT, all_frames, (200, 60, 60))


def test_is_a_model_for_sound_alone() -> None:
    assert isinstance(MODEL, ReferringModel)
    assert MODEL.name == "classical.onsets.v1"
    assert MODEL.tasks == ("avs", "refavs")


@pytest.mark.parametrize("stereo", [False, True], ids=["mono", "same-on-both-sides"])
def test_what_pulses_with_the_sound_is_taken(stereo: bool) -> None:
    clip = with_blob(with_blob(ground(), LEFT, ON, (220, 60, 60)), RIGHT, (0, 4), (60, 220, 60))
    sound = tone(ON, x=None)
    masks = MODEL.predict(clip, Query(), sound=np.stack([sound, sound]) if stereo else sound, rate_hz=RATE_HZ)
    assert [bool(mask.any()) for mask in masks] == [frame in ON for frame in range(FRAMES)]
    assert all(iou(masks[frame], LEFT) > 0.8 for frame in ON)


@pytest.mark.parametrize(("x", "area"), [(36 / 160, LEFT), (124 / 160, RIGHT)], ids=["left", "right"])
def test_pan_decides_between_two_that_look_alike(x: float, area: tuple[slice, slice]) -> None:
    masks = MODEL.predict(two_standing(), Query(), sound=tone(ON, x=x), rate_hz=RATE_HZ)
    assert [bool(mask.any()) for mask in masks] == [frame in ON for frame in range(FRAMES)]
    assert all(iou(masks[frame], area) > 0.8 for frame in ON)


def test_two_that_sound_at_once_are_both_taken() -> None:
    sound = tone(ON, x=36 / 160) + tone(ON, x=124 / 160, hz=1500.0)
    masks = MODEL.predict(two_standing(), Query(), sound=sound, rate_hz=RATE_HZ)
    true = np.zeros(masks.shape[1:], bool)
    true[LEFT], true[RIGHT] = True, True
    assert all((masks[frame] & true).sum() / (masks[frame] | true).sum() > 0.8 for frame in ON)


def test_what_moves_is_followed_by_where_it_is_heard() -> None:
    clip, times = ground(), np.arange(FRAMES * RATE_HZ) / RATE_HZ
    for frame in range(FRAMES):
        clip[frame][30:62, 10 + 20 * frame : 34 + 20 * frame] = (60, 60, 220)
    x = (22 + 20 * times) / 160
    samples = 0.2 * np.sin(2 * np.pi * 700 * times)
    sound = np.stack([samples * np.cos(x * np.pi / 2), samples * np.sin(x * np.pi / 2)]).astype(np.float32)
    masks = MODEL.predict(clip, Query(), sound=sound, rate_hz=RATE_HZ)
    ious_found = [
        iou(masks[frame], (slice(30, 62), slice(10 + 20 * frame, 34 + 20 * frame))) for frame in range(1, FRAMES)
    ]
    assert min(ious_found) > 0.7


@pytest.mark.parametrize(
    "sound",
    [None, np.zeros((2, 96_000), np.float32), np.zeros(0, np.float32), np.zeros((2, 0), np.float32)],
    ids=["none", "silence", "no-samples", "no-stereo-samples"],
)
def test_where_nothing_is_heard_nothing_is_taken(sound: Samples | None) -> None:
    masks = MODEL.predict(two_standing(), Query(), sound=sound, rate_hz=None if sound is None else RATE_HZ)
    assert masks.shape == (FRAMES, 96, 160)
    assert masks.dtype == np.bool_
    assert not masks.any()


def test_a_sound_from_where_nothing_stands_takes_nothing() -> None:
    assert not MODEL.predict(two_standing(), Query(), sound=tone(ON, x=0.97), rate_hz=RATE_HZ).any()


@pytest.mark.parametrize("rate_hz", [8_000, 44_100, 192_000])
def test_any_rate_gives_the_same_place(rate_hz: int) -> None:
    sound_events = listen(tone((1,), x=0.3, total=3, rate_hz=rate_hz), rate_hz, frames=3)
    assert sound_events.positions is not None
    assert sound_events.sounds.tolist() == [False, True, False]
    assert peaks(sound_events.positions[1]) == pytest.approx([0.3], abs=1 / POSITIONS)


@pytest.mark.parametrize(
    ("frames", "size", "samples", "rate_hz"),
    [
        (1, (96, 160), 16_000, 16_000),
        (2, (96, 160), 16_000, 16_000),
        (3, (16, 16), 16_000, 16_000),
        (2, (5, 7), 8_000, 8_000),
        (2, (1, 1), 8_000, 8_000),
        (2, (40, 64), 1, 16_000),
        (2, (40, 64), 50, 1),
        (4, (300, 20), 192_000, 192_000),
    ],
    ids=["one-frame", "two-frames", "16x16", "5x7", "one-pixel", "one-sample", "1-hz", "tall"],
)
def test_takes_any_size(frames: int, size: tuple[int, int], samples: int, rate_hz: int) -> None:
    rng = np.random.default_rng(7)
    clip = rng.integers(0, 256, (frames, *size, 3)).astype(np.uint8)
    sound = (rng.random((2, samples)) - 0.5).astype(np.float32)
    masks = MODEL.predict(clip, Query(), sound=sound, rate_hz=rate_hz)
    assert masks.shape == (frames, *size)
    assert masks.dtype == np.bool_


def test_of_many_channels_the_first_two_are_left_and_right() -> None:
    sound = tone((1,), x=0.3, total=3)
    two_channels, five = (listen(sound_, RATE_HZ, frames=3) for sound_ in (sound, np.vstack([sound, sound, sound[:1]])))
    assert two_channels.positions is not None
    assert five.positions is not None
    assert np.array_equal(two_channels.positions, five.positions)


def test_one_photograph_is_searched_where_the_sound_comes_from() -> None:
    masks = MODEL.predict(two_standing()[:1], Query(), sound=tone((0, 1), x=124 / 160, total=1), rate_hz=RATE_HZ)
    assert iou(masks[0], RIGHT) > 0.8


def test_input_stays_as_it_is() -> None:
    clip, sound = two_standing(), tone(ON, x=0.2)
    before = clip.copy(), sound.copy()
    clip.setflags(write=False)
    sound.setflags(write=False)
    MODEL.predict(clip, Query(), sound=sound, rate_hz=RATE_HZ)
    assert np.array_equal(clip, before[0])
    assert np.array_equal(sound, before[1])


def digest() -> str:
    clip = with_blob(two_standing(), (slice(70, 90), slice(60, 90)), (1,), (240, 240, 40))[:3]
    sound = tone((1,), x=36 / 160, total=3) + tone((1,), x=75 / 160, hz=900.0, total=3)
    return hashlib.sha256(MODEL.predict(clip, Query(), sound=sound, rate_hz=RATE_HZ).tobytes()).hexdigest()


def test_another_process_says_the_same() -> None:
    program = "import sys; sys.path.insert(0, sys.argv[1]); import test_onsets_model as here; print(here.digest())"
    completed = subprocess.run(
        [sys.executable, "-c", program, str(__file__).rpartition("/")[0]], capture_output=True, text=True, check=True
    )
    assert completed.stdout.strip() == digest() == digest()


def test_agreement_is_of_level_and_of_onsets() -> None:
    level = np.array([0.0, 1.0, 0.0, 0.0, 1.0, 0.0])
    assert agreement(level, level * 3) == pytest.approx(1.0)
    assert agreement(level, -level) == pytest.approx(-1.0)
    assert agreement(level, np.ones(6)) == 0.0
    assert agreement(level[:1], level[:1]) == 0.0
