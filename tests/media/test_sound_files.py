"""Sound files through libsndfile: FLAC, Ogg, MP3 and what only looks like them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from auscult.errors import InputError, TooLarge
from auscult.media.limits import Limits
from auscult.media.sound import SOUND_SUFFIXES, read_sound

soundfile = pytest.importorskip("soundfile", reason="the extra `video` is not installed")

pytestmark = pytest.mark.extra_video


def tone(count: int = 16_000) -> np.ndarray:
    return (0.4 * np.sin(np.arange(count) * 0.2)).astype(np.float32)


@pytest.mark.parametrize(
    ("name", "tolerance"),
    [("a.flac", 1e-4), ("a.aiff", 1e-4), ("a.w64", 1e-4), ("a.au", 1e-4), ("a.ogg", 0.05), ("a.mp3", 0.05)],
)
def test_every_format(tmp_path: Path, name: str, tolerance: float) -> None:
    path = tmp_path / name
    soundfile.write(path, np.stack([tone(), 0.5 * tone()], axis=1), 16_000)
    sound = read_sound(path)
    assert sound.rate_hz == 16_000
    assert sound.samples.shape[0] == 2
    assert sound.samples.dtype == np.float32
    assert sound.samples.flags.c_contiguous
    assert abs(sound.samples.shape[1] - 16_000) <= (2_400 if name.endswith("mp3") else 0)
    middle = slice(4_000, 12_000)
    assert np.abs(sound.samples[0, middle]).max() == pytest.approx(0.4, abs=0.03)
    if not name.endswith("mp3"):  # which shifts by its coder's delay
        assert np.abs(sound.samples[0, middle] - tone()[middle]).max() < tolerance
    assert path.suffix in SOUND_SUFFIXES


def test_the_content_counts_not_the_name(tmp_path: Path) -> None:
    for name, file_format in (("a.raw", "FLAC"), ("b.wav", "OGG"), ("c.txt", "WAV")):
        path = tmp_path / name
        soundfile.write(path, tone(), 16_000, format=file_format)
        assert read_sound(path).samples.shape == (1, 16_000)


def length(path: Path) -> int | None:
    """How many samples a file gives; None where it is refused."""
    try:
        samples = read_sound(path, limits=Limits(max_samples=1_000_000)).samples
    except InputError:
        return None
    assert np.abs(samples).max() <= 1.0
    return int(samples.shape[1])


@pytest.mark.parametrize("name", ["a.flac", "a.ogg", "a.mp3"])
def test_cut_off_or_damaged(tmp_path: Path, name: str) -> None:
    """What is lost is told, or the rest is given; nothing else happens."""
    path = tmp_path / name
    soundfile.write(path, tone(), 16_000)
    data = path.read_bytes()
    rng = np.random.default_rng(1)
    for share in (0.02, 0.3, 0.6, 0.9):
        path.write_bytes(data[: round(len(data) * share)])
        count = length(path)
        assert count is None or 0 < count <= 18_500
    for _ in range(20):
        bad = np.frombuffer(data, np.uint8).copy()
        bad[rng.integers(len(bad), size=20)] = rng.integers(256, size=20)
        path.write_bytes(bad.tobytes())
        assert length(path) != 0


def test_a_cut_off_flac_says_how_much_is_there(tmp_path: Path) -> None:
    path = tmp_path / "a.flac"
    soundfile.write(path, np.random.default_rng(0).uniform(-0.5, 0.5, 64_000), 16_000)
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])
    with pytest.raises(InputError, match=r"of 4\.000 s|decoded"):
        read_sound(path)


@pytest.mark.parametrize("content", [b"abc" * 500, bytes(4000), b"OggS" + bytes(300), b"ID3\x04" + bytes(50)])
def test_no_sound(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.ogg"
    path.write_bytes(content)
    with pytest.raises(InputError):
        read_sound(path)


def test_bounds(tmp_path: Path) -> None:
    path = tmp_path / "a.flac"
    soundfile.write(path, np.stack([tone(), tone()], axis=1), 16_000)
    tight = (Limits(max_seconds=0.5), Limits(max_channels=1), Limits(max_rate_hz=8_000), Limits(max_samples=20_000))
    for limits in tight:
        with pytest.raises(TooLarge):
            read_sound(path, limits=limits)


@pytest.mark.slow
def test_every_recording_at_hand(data: Path) -> None:
    files = [path for folder in ("audio", "images/stamps_gpl2") for path in sorted((data / folder).rglob("*"))]
    paths = [path for path in files if path.suffix in SOUND_SUFFIXES]
    assert len(paths) > 500
    for path in paths:
        info = soundfile.info(path)
        sound = read_sound(path)
        assert sound.rate_hz == info.samplerate
        assert sound.samples.shape == (info.channels, info.frames)
