"""Timing: what each perturbation of it does to frames and sound."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

from auscult import registry
from auscult.media.frames import read_frame
from auscult.stress import timing
from auscult.stress.perturbation import SeedParams
from auscult.stress.timing.base import TimingInfo, joined, retimed, spans_heard, unheard
from auscult.stress.timing.kinds import DRIFT, OFFSET, DriftParams, OffsetParams, held_back
from auscult.stress.timing.kinds import DROPPED_FRAMES as DROPPED
from auscult.stress.timing.kinds import REPEATED_FRAMES as REPEATED

RATE_HZ = 48_000


@pytest.fixture(autouse=True, scope="module")
def one_look() -> Iterator[None]:
    """Look into the registry once: it reads the metadata of every package each time."""
    entries_of = {"stressor": registry.entries("stressor")}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(registry, "entries", entries_of.__getitem__)
        yield


def tone(hertz: float, seconds: float = 1.0) -> Any:
    return np.sin(2 * np.pi * hertz * np.arange(round(seconds * RATE_HZ)) / RATE_HZ).astype(np.float32)[None]


@pytest.mark.parametrize(("level", "offset_s"), [(1, 0.04), (2, 0.08), (3, 0.16), (4, 0.32), (5, 0.64)])
def test_an_offset_moves_every_sample_by_its_time(level: int, offset_s: float) -> None:
    sound, shift = np.random.Generator(np.random.PCG64(1)).standard_normal((2, RATE_HZ)).astype(np.float32), 0
    shift = round(offset_s * RATE_HZ)
    delayed = retimed(
        sound, lambda times: OFFSET.heard(OffsetParams(strength=level, late=True), times), rate_hz=RATE_HZ
    )
    early = retimed(sound, lambda times: OFFSET.heard(OffsetParams(strength=level, late=False), times), rate_hz=RATE_HZ)
    assert np.array_equal(delayed[:, shift:], sound[:, :-shift])
    assert not delayed[:, :shift].any()
    assert np.array_equal(early[:, :-shift], sound[:, shift:])
    assert not early[:, -shift:].any()


def test_an_offset_is_early_or_late_alike() -> None:
    clip = np.zeros((2, 2, 2, 3), np.uint8)
    perturbed = [timing.perturb("offset", clip, rate_fps=25.0, seed=seed) for seed in range(200)]
    n_late = sum(footage.params["late"] for footage in perturbed)
    assert 70 < n_late < 130
    assert {footage.truth.offset_s[0] for footage in perturbed} == {0.16, -0.16}


@pytest.mark.parametrize("behind", [True, False])
def test_a_drift_runs_away_by_its_share(behind: bool) -> None:
    params = DriftParams(strength=5.0, behind=behind)
    times = np.array([0.0, 10.0])
    assert np.allclose(DRIFT.heard(params, times), [0.0, 9.8 if behind else 10.2])
    output = retimed(tone(1000.0), lambda moments: DRIFT.heard(params, moments), rate_hz=RATE_HZ)[0]
    spectrum = np.abs(np.fft.rfft(output[:40_000] * np.hanning(40_000)))
    assert spectrum.argmax() * RATE_HZ / 40_000 == pytest.approx(980.0 if behind else 1020.0, abs=1.3)
    assert unheard(lambda moments: DRIFT.heard(params, moments), duration_s=10.0) == (
        () if behind else ((pytest.approx(10 / 1.02), 10.0),)
    )


@pytest.mark.parametrize("hertz", [100.0, 1000.0, 8000.0, 16_000.0, 20_000.0])
def test_between_samples_the_sound_is_what_it_was(hertz: float) -> None:
    output = retimed(tone(hertz), lambda times: 0.99 * times + 0.01, rate_hz=RATE_HZ)[0]
    expected = np.sin(2 * np.pi * hertz * (0.99 * np.arange(RATE_HZ) / RATE_HZ + 0.01))
    error = (output - expected)[200:-700]
    assert 10 * np.log10(np.mean(error**2) / 0.5) < -70.0


def test_a_sound_in_its_own_time_is_the_same_sample_for_sample() -> None:
    sound = np.random.Generator(np.random.PCG64(2)).standard_normal((3, 100_003)).astype(np.float32)
    assert np.array_equal(retimed(sound, lambda times: times, rate_hz=44_100), sound)


def test_frames_are_the_last_that_arrived() -> None:
    reel, params = TimingInfo(frames=40, rate_fps=25.0), SeedParams(strength=4.0, seed=3)
    is_lost = held_back(3, reel, share=0.35)
    frames_shown, last = [], 0
    for number in range(40):
        last = last if is_lost[number] else number
        frames_shown.append(last)
    assert DROPPED.frames(params, reel).tolist() == frames_shown
    assert frames_shown[-1] >= 40 - 1 - is_lost[-20:].sum()


def test_repeated_frames_push_back_all_that_follow() -> None:
    reel, params = TimingInfo(frames=40, rate_fps=25.0), SeedParams(strength=5.0, seed=3)
    is_repeat = held_back(3, reel, share=0.3)
    frames_shown, frame_index = [0], 0
    for number in range(1, 40):
        frame_index += not is_repeat[number]
        frames_shown.append(frame_index)
    assert REPEATED.frames(params, reel).tolist() == frames_shown
    assert frames_shown[-1] == 39 - math.ceil(0.3 * 39)


def test_a_lost_frame_keeps_step_and_a_repeated_one_falls_behind() -> None:
    clip = np.zeros((200, 1, 1, 3), np.uint8)
    dropped_offsets = timing.perturb("dropped_frames", clip, rate_fps=25.0, severity=5).truth.offset_s
    repeated = timing.perturb("repeated_frames", clip, rate_fps=25.0, severity=5).truth.offset_s
    assert max(dropped_offsets) == 0.0
    assert min(dropped_offsets) > -2.5
    assert (np.diff(repeated) <= 1e-12).all()
    assert repeated[-1] == pytest.approx(-60 / 25)


@given(
    seed=some.integers(0, 2**63 - 1),
    frames=some.integers(1, 300),
    shares=some.tuples(some.floats(0, 1), some.floats(0, 1)),
)
def test_as_many_frames_as_the_share_says_and_more_of_the_same(
    seed: int, frames: int, shares: tuple[float, float]
) -> None:
    reel = TimingInfo(frames=frames, rate_fps=25.0)
    few, more_held = (held_back(seed, reel, share=share) for share in sorted(shares))
    assert few.sum() == math.ceil(min(shares) * (frames - 1))
    assert more_held.sum() == math.ceil(max(shares) * (frames - 1))
    assert not few[0]
    assert not (few & ~more_held).any()


def test_some_frames_go_alone_and_some_in_bursts() -> None:
    runs: list[int] = []
    for seed in range(40):
        is_held = held_back(seed, TimingInfo(frames=250, rate_fps=25.0), share=0.05).astype(int)
        edges = np.flatnonzero(np.diff(np.concatenate([[0], is_held, [0]])))
        runs += (edges[1::2] - edges[::2]).tolist()
    assert 0.4 < np.mean(np.array(runs) == 1) < 0.85
    assert np.mean(np.array(runs) >= 4) > 0.05
    assert max(runs) <= 25


@pytest.mark.parametrize("name", ["dropped_frames", "repeated_frames"])
def test_a_moving_picture_is_further_from_itself_at_every_level(name: str) -> None:
    coarse = np.random.Generator(np.random.PCG64(4)).integers(0, 256, size=(3, 8), dtype=np.uint8)
    wide = cv2.resize(coarse, (480, 32), interpolation=cv2.INTER_CUBIC)  # a camera that pans over soft spots
    clip = np.stack([np.repeat(wide[:, shift : shift + 48, None], 3, axis=2) for shift in range(75)])
    medians = []
    for level in range(1, 6):
        clips_made = [timing.apply(name, clip, rate_fps=25.0, severity=level, seed=seed).clip for seed in range(9)]
        errors = [np.mean((clip_made.astype(float) - clip) ** 2) for clip_made in clips_made]
        medians.append(10 * np.log10(255**2 / np.median(errors)))
    assert (np.diff(medians) < 0).all()


def test_spans_go_where_their_sound_goes() -> None:
    assert spans_heard([(1.0, 2.0), (3.5, 9.0)], lambda times: times - 0.5, duration_s=4.0) == (
        (pytest.approx(1.5), pytest.approx(2.5)),
    )
    assert unheard(lambda times: times + 0.25, duration_s=2.0) == ((pytest.approx(1.75), 2.0),)
    assert unheard(lambda times: times, duration_s=2.0) == ()
    assert joined([(3.0, 4.0), (0.0, 1.0), (0.5, 2.0)]) == ((0.0, 2.0), (3.0, 4.0))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["dropped_frames", "repeated_frames"])
def test_real_clips_are_further_from_themselves_at_every_level(data: Path, name: str) -> None:
    """The median over 40 perturbed clips: ten sequences, four draws each."""
    folders = sorted(folder for folder in (data / "video" / "davis2016").iterdir() if (folder / "frames").is_dir())
    clips = [
        np.stack(
            [
                cv2.resize(read_frame(path), (214, 120), interpolation=cv2.INTER_AREA)
                for path in sorted((folder / "frames").iterdir())[:50]
            ]
        )
        for folder in folders
    ]
    medians = []
    for level in range(1, 6):
        psnrs = []
        for clip in clips:
            for seed in range(4):
                clip_made = timing.apply(name, clip, rate_fps=25.0, severity=level, seed=seed).clip
                psnrs.append(10 * np.log10(255**2 / np.mean((clip_made.astype(np.float32) - clip) ** 2)))
        medians.append(np.median(psnrs))
    assert len(clips) * 4 >= 40
    assert (np.diff(medians) < 0).all(), medians
