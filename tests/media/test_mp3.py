"""MP3 and back: nothing moves, more bits are nearer, what MP3 has not is refused."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from auscult.errors import UsageError
from auscult.media.mp3 import RATES_HZ, bitrates, nearest_bitrate, through_mp3
from auscult.rng import generator
from auscult.types import Samples


def music(samples: int, *, channels: int = 1) -> Samples:
    """Noise with ever less of the high tones."""
    noise = generator(1, "mp3").standard_normal((channels, samples + 40))
    smooth = np.stack([np.convolve(row, np.hanning(12), "same") for row in noise])
    return (0.05 * smooth[:, :samples]).astype(np.float32)


def lag(first: Samples, second: Samples) -> int:
    """How much later the second is, in samples."""
    size = 2 * first.size
    correlation = np.fft.irfft(np.fft.rfft(second, size) * np.conj(np.fft.rfft(first, size)), size)
    peak = int(np.argmax(correlation))
    return peak if peak < size // 2 else peak - size


def snr_db(sound: Samples, output: Samples) -> float:
    return float(10.0 * np.log10(np.sum(np.square(sound)) / np.sum(np.square(output - sound))))


@pytest.mark.parametrize(
    ("kbps", "rate_hz", "nearest"),
    [(1, 44_100, 32), (36.1, 44_100, 40), (36, 44_100, 32), (500, 44_100, 320), (90, 8_000, 64), (150, 22_050, 144)],
)
def test_the_nearest_bitrate_that_mp3_has(kbps: float, rate_hz: int, nearest: int) -> None:
    assert nearest_bitrate(kbps, rate_hz) == nearest
    assert nearest in bitrates(rate_hz)


def test_without_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "av", None)
    with pytest.raises(UsageError, match=r"auscult\[video\]"):
        through_mp3(music(100), rate_hz=8_000, kbps=8)


@pytest.mark.parametrize(("channels", "rate_hz", "kbps"), [(3, 44_100, 128), (1, 44_000, 128), (1, 44_100, 8)])
def test_what_mp3_has_not(channels: int, rate_hz: int, kbps: int) -> None:
    with pytest.raises(ValueError, match="not MP3's"):
        through_mp3(music(100, channels=channels), rate_hz=rate_hz, kbps=kbps)


@pytest.mark.extra_video
class TestCoding:
    """With PyAV."""

    @pytest.fixture(autouse=True)
    def _av(self) -> None:
        pytest.importorskip("av", reason="the extra `video` is not installed")

    @pytest.mark.parametrize("channels", [1, 2])
    @pytest.mark.parametrize("rate_hz", RATES_HZ)
    def test_nothing_moves(self, rate_hz: int, channels: int) -> None:
        sound = music(9_001, channels=channels)
        output = through_mp3(sound, rate_hz=rate_hz, kbps=bitrates(rate_hz)[-1])
        assert output.shape == sound.shape
        assert output.dtype == np.float32
        assert [lag(channel, coded_channel) for channel, coded_channel in zip(sound, output, strict=True)] == [
            0
        ] * channels
        assert snr_db(sound, output) > 8.0

    @pytest.mark.parametrize("place", [0, 700, 1151, 1152, 4_999])
    def test_a_click_stays_where_it_is(self, place: int) -> None:
        sound = np.zeros((1, 5_000), dtype=np.float32)
        sound[0, place] = 0.9
        output = through_mp3(sound, rate_hz=48_000, kbps=320)
        assert int(np.argmax(np.abs(output))) == place

    def test_pieces_are_one_sound(self) -> None:
        sound = music(2 * 1152 * 128 + 77)
        output = through_mp3(sound, rate_hz=44_100, kbps=192)
        seam = slice(1152 * 128 - 50, 1152 * 128 + 50)
        assert snr_db(sound[:, seam], output[:, seam]) > 20.0
        assert snr_db(sound[:, -60:], output[:, -60:]) > 10.0

    @pytest.mark.parametrize("samples", [1, 2, 575, 1152])
    def test_short_sounds(self, samples: int) -> None:
        sound = music(samples)
        output = through_mp3(sound, rate_hz=44_100, kbps=256)
        assert output.shape == sound.shape
        assert snr_db(sound, output) > 6.0

    def test_more_bits_are_nearer(self) -> None:
        sound = music(30_000)
        ratios_db = [snr_db(sound, through_mp3(sound, rate_hz=44_100, kbps=kbps)) for kbps in (32, 64, 128, 256)]
        assert ratios_db == sorted(ratios_db)
        assert ratios_db[-1] > ratios_db[0] + 6.0

    def test_the_same_bytes_again(self) -> None:
        sound = music(20_000, channels=2)
        first, second = (through_mp3(sound, rate_hz=32_000, kbps=96) for _ in range(2))
        assert first.tobytes() == second.tobytes()

    def test_silence_stays_silent(self) -> None:
        assert np.abs(through_mp3(np.zeros((2, 3_000), np.float32), rate_hz=16_000, kbps=32)).max() < 1e-4
