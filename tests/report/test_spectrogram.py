"""A separated sound on a page: spectrograms with marks, sounds of bounded size, and players."""

from __future__ import annotations

import io
from dataclasses import replace

import numpy as np
import pytest

from auscult.media.frames import encode_jpeg
from auscult.media.wav import encode_wav
from auscult.report.overlay import EXTRA_COLOUR, MISSING_COLOUR
from auscult.report.page import Example, ExampleSound, Page, Section, render
from auscult.report.spectrogram import HeardSounds, bytes_a_sound, loudest_part, page_sound, spectrograms

RATE_HZ = 16_000
TIME = np.arange(2 * RATE_HZ) / RATE_HZ
DOG = (0.3 * np.sin(2 * np.pi * 1000 * TIME)).astype(np.float32)
RAIN = (0.05 * np.random.default_rng(0).normal(size=TIME.size)).astype(np.float32)


def mark_counts(output: np.ndarray, target: np.ndarray) -> tuple[int, int]:
    """Pixels near the colours of what is missing and of what is left over."""
    sounds = HeardSounds(output=output, mixture=DOG + RAIN, target=target, rate_hz=RATE_HZ)
    picture = spectrograms(sounds).astype(int)
    blue, yellow = (
        int(np.count_nonzero(np.abs(picture - np.array(colour)).sum(axis=2) < 150))
        for colour in (MISSING_COLOUR, EXTRA_COLOUR)
    )
    return blue, yellow


def test_what_is_missing_is_blue_and_what_is_left_over_yellow() -> None:
    perfect = mark_counts(DOG, DOG)
    missing, extra = mark_counts(DOG * (TIME < 1), DOG), mark_counts(DOG + RAIN, DOG)
    assert missing[0] > perfect[0] + 100
    assert extra[1] > perfect[1] + 1000
    assert missing[1] < extra[1] / 5  # the edge of a cut spreads over all frequencies


def test_curves_and_a_sound_without_target_are_drawn() -> None:
    sounds = HeardSounds(output=DOG, mixture=DOG + RAIN, target=None, rate_hz=RATE_HZ)
    with_curves = replace(sounds, target=DOG, curves={"target": np.ones(10), "left over": np.zeros(10)})
    small, large = spectrograms(sounds), spectrograms(with_curves)
    assert (small.shape[1], large.shape[1]) == (720, 720)
    assert large.shape[0] > small.shape[0]


def test_faults_are_drawn_over_mixture_and_output_where_they_are() -> None:
    late_fault = np.repeat([0.0, 0.9], 50)
    sounds = HeardSounds(output=DOG, mixture=DOG + RAIN, target=None, rate_hz=RATE_HZ)
    plain = spectrograms(sounds).astype(int)
    for name in ("missing", "left over"):
        marked_picture = spectrograms(replace(sounds, faults={name: late_fault})).astype(int)
        assert marked_picture.shape == plain.shape
        for top in (0, 90):  # the two spectrograms
            changes = np.argwhere(np.abs(marked_picture - plain)[top : top + 84, 92:].sum(axis=2) > 60)
            left_changes, right = (changes[(changes[:, 1] < 300) == first][:, 0] for first in (True, False))
            assert left_changes.size > 50
            assert right.size > 50
            assert np.median(left_changes) > 70
            assert np.median(right) < 20


def test_the_loudest_part_is_found() -> None:
    sound = np.zeros(100, np.float32)
    sound[70:80] = 1
    part = loudest_part(sound, rate_hz=10, seconds=2.0)
    assert part.stop - part.start == 20
    assert part.start <= 70
    assert part.stop >= 80
    assert loudest_part(sound, rate_hz=10, seconds=20.0) == slice(0, 100)


@pytest.mark.parametrize("most_bytes", [120_000, 20_000])
def test_a_sound_for_a_page_keeps_to_its_size(most_bytes: int) -> None:
    assert len(page_sound(np.tile(DOG + RAIN, 3), rate_hz=RATE_HZ, most_bytes=most_bytes)) <= most_bytes


@pytest.mark.extra_sound
def test_a_flac_differs_by_38_db_at_least() -> None:
    soundfile = pytest.importorskip("soundfile", reason="the extra sound is missing")
    samples, rate_hz = soundfile.read(io.BytesIO(page_sound(DOG + RAIN, rate_hz=RATE_HZ, most_bytes=1 << 20)))
    noise = samples - (DOG + RAIN)
    assert rate_hz == RATE_HZ
    assert 10 * np.log10(np.mean((DOG + RAIN) ** 2) / np.mean(noise**2)) > 36


def test_a_page_of_a_hundred_players_has_less_than_12_mb() -> None:
    rng = np.random.default_rng(1)
    noise = rng.uniform(-0.5, 0.5, size=6 * RATE_HZ).astype(np.float32)
    sounds = HeardSounds(output=noise, mixture=noise, target=noise[::-1].copy(), rate_hz=RATE_HZ)
    sound = page_sound(noise, rate_hz=RATE_HZ, most_bytes=bytes_a_sound(300))
    example = Example(
        title="t", jpeg=encode_jpeg(spectrograms(sounds), quality=60), text="noise", id="x", facts=(), broad=True,
        file="x.jpg", sounds=tuple(ExampleSound(data=sound, file=f"{name}.flac", label=name) for name in "abc"),
    )  # fmt: skip
    page = Page(
        title="t", command="run separation", sections=(Section(name="w", title="w", examples=(example,) * 100),)
    )
    html = render(page)
    assert html.count("<audio controls") == 300
    assert len(html.encode()) < 12e6


def test_wav_and_flac_are_named_by_their_content() -> None:
    sounds = (ExampleSound(data=encode_wav(DOG, RATE_HZ), file="a.wav"), ExampleSound(data=b"fLaC...", file="b.flac"))
    example = Example(title="t", jpeg=b"", text="", id="x", facts=(), sounds=sounds)
    html = render(Page(title="t", command="run avi", sections=(Section(name="w", title="w", examples=(example,)),)))
    assert 'src="data:audio/wav;base64,' in html
    assert 'src="data:audio/flac;base64,' in html
    assert "media-src data:" in html
