"""MP3 compression: the sound is coded with few bits a second on its way.

The bitrate is drawn in the level's range. Where it is too low for the sound's own rate, LAME codes at a lower one; the
same is done here by LAME's rule (its bandwidth for a bitrate, and the rate for a bandwidth), by resampling that moves
nothing. A rate that MP3 has not is resampled to the next one above it, or to 48 kHz; one below 8 kHz is coded as if it
were 8 kHz. The bitrate is then the nearest that MP3 has at that rate. Delays of coder and decoder are taken back. Of
more than two channels each pair is coded by itself, at the whole bitrate. A sound beyond full scale is coded quieter
and made loud again, as audiomentations does.

The coding is the same wherever the same LAME and FFmpeg run; what is drawn is recorded before either is called.

Source: R2-Bench, Table 1, transmission noise of sound; constants of its toolbox. LAME 3.100, lame.c:
optimum_bandwidth and optimum_samplefreq.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from typing import Final

import numpy as np

from auscult.arrays.resampling import resampled
from auscult.media.mp3 import RATES_HZ, nearest_bitrate, through_mp3
from auscult.stress.perturbation import Params, Perturbs, Range, Share
from auscult.stress.sound.base import SoundStressor
from auscult.types import Metadata, Samples

# What LAME keeps of two channels at a bitrate: kbit/s, Hz. One channel is given half as much again.
_BANDWIDTHS: Final = (
    *((8, 2000), (16, 3700), (24, 3900), (32, 5500), (40, 7000), (48, 7500), (56, 10_000), (64, 11_000)),
    *((80, 13_500), (96, 15_100), (112, 15_600), (128, 17_000), (160, 17_500), (192, 18_600), (320, 20_500)),
)
# The rate that LAME codes a bandwidth at: up to Hz, at Hz.
_CODED_AT: Final = (
    *((3970, 8_000), (4510, 11_025), (5420, 12_000), (7230, 16_000), (9970, 22_050), (11_220, 24_000)),
    *((15_250, 32_000), (15_960, 44_100)),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mp3Params(Params):
    """Parameters of the MP3 compression."""

    bitrate: Share  # place in the level's range, 0 to 1


class Mp3Compression(Perturbs[Mp3Params]):
    """Codes and decodes the sound."""

    name = "sound.mp3_compression.v1"
    params = Mp3Params
    bitrate = Range(
        "bitrate",
        (320.0, 128.0, 96.0, 64.0, 32.0, 8.0),
        (320.0, 192.0, 128.0, 96.0, 64.0, 32.0),
        unit="kbit/s",
    )
    meta = Metadata(
        summary="codes the sound as MP3 with few bits a second",
        goal="a model that knows a source by what listeners do not hear, and coding takes away",
        modality="sound",
        source="R2-Bench, Sec. 3.1, Table 1",
        truth="which source sounds when is unchanged, to the sample",
        origin="transmission",
    )

    def render(self, sound: Samples, params: Mp3Params, *, rate_hz: int) -> Samples:
        """The sound as it comes out of the decoder; a UsageError where the extra `video` is not installed."""
        kbps = self.bitrate.within(params.strength, params.bitrate)
        peak = max(1.0, float(sound.max()), -float(sound.min()))
        scaled = sound if peak == 1.0 else sound / np.float32(peak)
        coded = [_coded(scaled[first : first + 2], kbps, rate_hz=rate_hz) for first in range(0, sound.shape[0], 2)]
        joined = coded[0] if len(coded) == 1 else np.concatenate(coded)
        return joined if peak == 1.0 else joined * np.float32(peak)


def coding_rate(rate_hz: int, *, kbps: float, channels: int) -> int:
    """The rate, of those that MP3 has, that one or two channels are coded at."""
    rates, widths = zip(*_BANDWIDTHS, strict=True)
    width = float(np.interp(kbps, rates, widths)) * (1.5 if channels == 1 else 1.0)
    enough = bisect_left(_CODED_AT, (width, 0))
    least_hz = _CODED_AT[enough][1] if enough < len(_CODED_AT) else RATES_HZ[-1]
    return next((rate for rate in RATES_HZ if rate >= min(least_hz, rate_hz)), RATES_HZ[-1])


def _coded(pair: Samples, kbps: float, *, rate_hz: int) -> Samples:
    coded_hz = coding_rate(rate_hz, kbps=kbps, channels=pair.shape[0])
    bitrate = nearest_bitrate(kbps, coded_hz)
    if coded_hz == rate_hz or rate_hz < RATES_HZ[0]:
        return through_mp3(pair, rate_hz=coded_hz, kbps=bitrate)
    output = through_mp3(resampled(pair, rate_hz=rate_hz, wanted_hz=coded_hz), rate_hz=coded_hz, kbps=bitrate)
    return np.ascontiguousarray(resampled(output, rate_hz=coded_hz, wanted_hz=rate_hz)[:, : pair.shape[1]])


STRESSOR: SoundStressor[Mp3Params] = Mp3Compression()
