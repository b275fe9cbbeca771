"""WAV files without the extra: what is written, what is read, what is refused."""

from __future__ import annotations

import io
import struct
import wave
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from auscult.errors import InputError, TooLarge, UsageError
from auscult.media import sound as sound_module
from auscult.media.limits import Limits
from auscult.media.sound import read_sound
from auscult.media.wav import decode_wav, encode_wav, wav_layout

HERE = Path("a.wav")


def stereo(count: int = 500) -> np.ndarray:
    turn = np.arange(count, dtype=np.float32) / 20
    return np.stack([0.8 * np.sin(turn), -0.5 * np.cos(turn)]).astype(np.float32)


def riff(
    code: int, bits: int, body: bytes, *, channels: int = 1, rate_hz: int = 8000, size: int | None = None
) -> bytes:
    block = channels * bits // 8
    form = struct.pack("<HHIIHH", code, channels, rate_hz, rate_hz * block, block, bits)
    declared = len(body) if size is None else size
    chunks = (
        b"LIST\x03\x00\x00\x00abc\x00" + b"fmt " + struct.pack("<I", 16) + form + b"data" + struct.pack("<I", declared)
    )
    return b"RIFF" + struct.pack("<I", 4 + len(chunks) + len(body)) + b"WAVE" + chunks + body


@given(arrays.arrays(np.float32, st.tuples(st.integers(1, 3), st.integers(1, 50)), elements=st.floats(-1, 1, width=32)))
def test_round_trip(samples: np.ndarray) -> None:
    sound = decode_wav(encode_wav(samples, 16_000), path=HERE)
    assert sound is not None
    assert sound.rate_hz == 16_000
    assert sound.samples.shape == samples.shape
    assert np.abs(sound.samples - samples).max() <= 1.6 / 32768


def test_what_the_standard_library_reads() -> None:
    with wave.open(io.BytesIO(encode_wav(stereo(), 44_100))) as file:
        assert (file.getnchannels(), file.getsampwidth(), file.getframerate(), file.getnframes()) == (2, 2, 44_100, 500)
        samples = np.frombuffer(file.readframes(500), "<i2").reshape(500, 2)
    assert np.array_equal(samples.T, np.rint(stereo() * 32767).astype(int))


@pytest.mark.extra_video
@pytest.mark.parametrize("subtype", ["PCM_U8", "PCM_16", "PCM_24", "PCM_32", "FLOAT", "DOUBLE"])
@pytest.mark.parametrize("wav_format", ["WAV", "WAVEX"])
def test_as_libsndfile_reads(tmp_path: Path, subtype: str, wav_format: str) -> None:
    soundfile = pytest.importorskip("soundfile", reason="the extra `video` is not installed")
    path = tmp_path / "a.wav"
    soundfile.write(path, stereo().T, 22_050, subtype=subtype, format=wav_format)
    sf_samples, _ = soundfile.read(path, dtype="float32")
    sound = decode_wav(path.read_bytes(), path=path)
    assert sound is not None
    assert sound.samples.shape == (2, 500)
    assert np.abs(sound.samples - sf_samples.T).max() < 1e-7


def test_unusual_headers() -> None:
    body = np.array([0, 16384, -32768], "<i2").tobytes()
    for size in (None, 0, 0xFFFFFFFF, 0x7FFFF000, 0x80000000):  # all but the first: written to a pipe
        sound = decode_wav(riff(1, 16, body, size=size), path=HERE)
        assert sound is not None
        assert sound.samples.tolist() == [[0.0, 0.5, -1.0]]
    assert decode_wav(riff(7, 8, b"abc"), path=HERE) is None  # mu-law is left to libsndfile


def test_a_size_as_of_a_pipe_that_is_true_ends_the_samples(tmp_path: Path) -> None:
    path = tmp_path / "long.wav"
    head = riff(1, 16, b"", size=0x7FFFF000)
    with path.open("wb") as file:
        file.write(head)
        file.seek(len(head) + 0x7FFFF000)  # a hole
        file.write(b"LIST\x04\x00\x00\x00INFO")
    limits = Limits(max_samples=2**31, max_seconds=1e6)
    with path.open("rb") as file:
        layout = wav_layout(file, path=path, limits=limits)
    assert layout is not None
    assert layout.count == 0x7FFFF000 // 2


def chunk(name: bytes, body: bytes) -> bytes:
    return name + struct.pack("<I", len(body)) + body + bytes(len(body) % 2)


@pytest.mark.parametrize(
    "after", [chunk(b"LIST", b"INFOISFT\x0e\x00\x00\x00Lavf60.16.100\x00"), chunk(b"id3 ", b"abc"), chunk(b"PAD ", b"")]
)
def test_no_samples_and_a_chunk_after_them_are_no_samples(tmp_path: Path, after: bytes) -> None:
    data = riff(1, 16, after, size=0)
    sound = decode_wav(data, path=HERE)
    assert sound is not None
    assert sound.samples.shape == (1, 0)
    (tmp_path / "a.wav").write_bytes(data)
    with pytest.raises(InputError, match="no samples"):
        read_sound(tmp_path / "a.wav")


def test_samples_of_unknown_size_may_begin_like_a_name() -> None:
    body = b"LIST" + np.array([-1, 30_000, 5], "<i2").tobytes()
    sound = decode_wav(riff(1, 16, body, size=0), path=HERE)
    assert sound is not None
    assert sound.samples.shape == (1, 5), "no chunk of that size fits"


def test_over_full_scale_is_cut_off() -> None:
    sound = decode_wav(riff(3, 32, np.array([0.5, 3.0, -7.0], "<f4").tobytes()), path=HERE)
    assert sound is not None
    assert sound.samples.tolist() == [[0.5, 1.0, -1.0]]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (riff(1, 16, b"abcd", size=4000), "truncated: 0.000 of 0.250 s"),
        (riff(3, 32, np.array([np.nan], "<f4").tobytes()), "not finite"),
        (riff(3, 64, np.array([-np.inf], "<f8").tobytes()), "not finite"),
        (riff(1, 16, b"abcd", channels=0), "damaged"),
        (riff(1, 16, b"abcd", rate_hz=0), "damaged"),
        (riff(1, 16, b"")[:20], "no data chunk"),
        (b"RIFF\x10\x00\x00\x00WAVEdata\x04\x00\x00\x00abcd", "format chunk"),
    ],
)
def test_damaged(tmp_path: Path, data: bytes, message: str) -> None:
    path = tmp_path / "a.wav"
    path.write_bytes(data)
    with pytest.raises(InputError, match=message) as error:
        read_sound(path)
    assert error.value.path == str(path)


@given(st.lists(st.tuples(st.integers(0, 120), st.integers(0, 255)), max_size=12), st.integers(12, 200))
def test_no_header_crashes(changes: list[tuple[int, int]], length: int) -> None:
    data = bytearray(riff(1, 16, bytes(120)))
    for place, value in changes:
        data[place % len(data)] = value
    try:
        sound = decode_wav(bytes(data[:length]), path=HERE)
    except InputError:
        return
    assert sound is None or (sound.samples.dtype == np.float32 and sound.samples.ndim == 2)


def test_bounds(tmp_path: Path) -> None:
    path = tmp_path / "a.wav"
    path.write_bytes(encode_wav(stereo(), 8_000))
    assert read_sound(path).samples.shape == (2, 500)
    tight = (Limits(max_seconds=0.01), Limits(max_channels=1), Limits(max_rate_hz=4000), Limits(max_samples=999))
    for limits in (*tight, Limits(max_bytes=100)):
        with pytest.raises(TooLarge):
            read_sound(path, limits=limits)


def test_no_samples_missing_and_empty(tmp_path: Path) -> None:
    path = tmp_path / "a.wav"
    path.write_bytes(encode_wav(np.zeros((1, 0), np.float32), 8_000))
    with pytest.raises(InputError, match="no samples"):
        read_sound(path)
    path.write_bytes(b"")
    with pytest.raises(InputError, match="empty"):
        read_sound(path)
    with pytest.raises(InputError, match="does not exist"):
        read_sound(tmp_path / "b.wav")


def test_without_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "soundfile", None)
    path = tmp_path / "a.flac"
    path.write_bytes(b"fLaC" + bytes(100))
    with pytest.raises(UsageError, match="extra `sound`") as error:
        sound_module.read_sound(path)
    assert "pip install 'auscult[sound]'" in error.value.hint
    path.write_bytes(encode_wav(stereo(), 8_000))
    assert sound_module.read_sound(path).rate_hz == 8_000


@pytest.mark.parametrize(
    "samples",
    [
        np.zeros(5, np.int16),
        np.full(5, 1.5, np.float32),
        np.array([np.nan], np.float32),
        np.zeros((2, 2, 2), np.float32),
    ],
)
def test_what_cannot_be_written(samples: np.ndarray) -> None:
    with pytest.raises(ValueError, match="sound"):
        encode_wav(samples, 16_000)
    with pytest.raises(ValueError, match="hold"):
        encode_wav(np.zeros(5, np.float32), 0)
