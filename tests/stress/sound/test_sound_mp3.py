"""MP3 compression at any rate and number of channels: aligned, weaker with every level, and the same again."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from auscult.errors import UsageError
from auscult.media.mp3 import RATES_HZ
from auscult.rng import generator
from auscult.stress import sound as stress
from auscult.stress.sound.mp3_compression import STRESSOR, Mp3Params, coding_rate
from auscult.types import Samples


def music(samples: int, *, channels: int = 1, width: int = 12) -> Samples:
    noise = generator(2, "mp3").standard_normal((channels, samples + 3 * width))
    smooth = np.stack([np.convolve(row, np.hanning(width), "same") for row in noise])
    return (0.05 * smooth[:, :samples]).astype(np.float32)


def lag(first: Samples, second: Samples) -> int:
    size = 2 * first.size
    correlation = np.fft.irfft(np.fft.rfft(second, size) * np.conj(np.fft.rfft(first, size)), size)
    lag_samples = int(np.argmax(correlation))
    return lag_samples if lag_samples < size // 2 else lag_samples - size


def snr_db(original: Samples, output: Samples) -> float:
    return float(10.0 * np.log10(np.sum(np.square(original)) / max(1e-20, float(np.sum(np.square(output - original))))))


@pytest.mark.parametrize(
    ("rate_hz", "kbps", "channels", "coded_hz"),
    [
        (44_100, 320, 2, 44_100),
        (44_100, 128, 1, 44_100),
        (44_100, 16, 1, 16_000),
        (44_100, 8, 2, 8_000),
        (48_000, 40, 1, 24_000),
        (16_000, 64, 1, 16_000),
        (192_000, 192, 2, 48_000),
        (20_000, 320, 1, 22_050),
        (4_000, 64, 1, 8_000),
    ],
)
def test_the_rate_that_is_coded(rate_hz: int, kbps: float, channels: int, coded_hz: int) -> None:
    assert coding_rate(rate_hz, kbps=kbps, channels=channels) == coded_hz


def test_fewer_bits_never_raise_the_rate() -> None:
    for channels in (1, 2):
        rates = [coding_rate(48_000, kbps=kbps, channels=channels) for kbps in range(8, 321)]
        assert rates == sorted(rates)
        assert set(rates) <= set(RATES_HZ)


def test_without_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "av", None)
    with pytest.raises(UsageError, match=r"auscult\[video\]"):
        stress.apply("mp3_compression", music(100), rate_hz=44_100)


@pytest.mark.extra_video
class TestCoding:
    """With PyAV."""

    @pytest.fixture(autouse=True)
    def _av(self) -> None:
        pytest.importorskip("av", reason="the extra `video` is not installed")

    @pytest.mark.parametrize("severity", [1, 5])
    @pytest.mark.parametrize(
        ("rate_hz", "channels"),
        [(4_000, 1), (8_000, 1), (12_345, 2), (16_000, 2), (44_100, 1), (44_100, 3), (96_000, 1), (192_000, 8)],
    )
    def test_nothing_moves(self, rate_hz: int, channels: int, severity: int) -> None:
        original = music(12_001, channels=channels, width=12 * max(1, rate_hz // 8_000))
        output = stress.apply("mp3_compression", original, rate_hz=rate_hz, severity=severity, seed=1)
        assert output.shape == original.shape
        assert (
            max(abs(lag(channel_in, channel_out)) for channel_in, channel_out in zip(original, output, strict=True))
            <= 1
        )

    def test_each_level_does_more_damage(self) -> None:
        original = music(40_000, width=6)
        medians = [
            np.median(
                [
                    snr_db(
                        original, STRESSOR.render(original, Mp3Params(strength=level, bitrate=bitrate), rate_hz=44_100)
                    )
                    for bitrate in (0.1, 0.5, 0.9)
                ]
            )
            for level in (1.0, 2.0, 3.0, 4.0, 5.0)
        ]
        assert medians == sorted(medians, reverse=True)
        assert medians[0] > medians[-1] + 6.0

    def test_beyond_full_scale_nothing_is_cut_off(self) -> None:
        original = music(8_000)
        original *= np.float32(1.0) / np.abs(original).max()
        params = Mp3Params(strength=2.0, bitrate=0.5)
        loud = STRESSOR.render(original * np.float32(8.0), params, rate_hz=44_100)
        np.testing.assert_allclose(loud / 8.0, STRESSOR.render(original, params, rate_hz=44_100), atol=1e-5)

    def test_pairs_are_coded_alone(self) -> None:
        original = music(5_000, channels=3)
        params = Mp3Params(strength=3.0, bitrate=0.5)
        all_pairs = STRESSOR.render(original, params, rate_hz=44_100)
        assert np.array_equal(all_pairs[:2], STRESSOR.render(original[:2], params, rate_hz=44_100))
        assert np.array_equal(all_pairs[2:], STRESSOR.render(original[2:], params, rate_hz=44_100))
