"""Sound through MP3 and back, in memory: what the coding took away, and nothing moved.

LAME codes and FFmpeg decodes, both through PyAV. The coder delays by 576 samples and the decoder by 529 (LAME's
technical FAQ); both are taken back, so that what goes in at a sample comes out at it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from fractions import Fraction
from itertools import chain
from typing import Any, Final

import numpy as np

from auscult.errors import OutputError
from auscult.media.containers import audio_frame, load_av
from auscult.types import Samples

RATES_HZ: Final = (8_000, 11_025, 12_000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000)
"""The rates that MP3 has: MPEG-2.5, MPEG-2 and MPEG-1, three each."""

DELAY: Final = 576 + 529
"""Samples by which coder and decoder are late together."""

_MPEG_1_HZ: Final = 32_000
_MPEG_2_HZ: Final = 16_000
_KBPS_1: Final = (32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320)
_KBPS_2: Final = (8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160)
_KBPS_2_5: Final = (8, 16, 24, 32, 40, 48, 56, 64)
_BLOCK: Final = 1152 * 128
_MOST_CHANNELS: Final = 2
_LAYOUTS: Final = ("mono", "stereo")
# LAME's choice between care (0) and haste (9); 7 is what audiomentations codes with.
_HASTE: Final = "7"


def bitrates(rate_hz: int) -> tuple[int, ...]:
    """The bitrates in kbit/s that MP3 has at one of its rates, rising."""
    if rate_hz >= _MPEG_1_HZ:
        return _KBPS_1
    return _KBPS_2 if rate_hz >= _MPEG_2_HZ else _KBPS_2_5


def nearest_bitrate(kbps: float, rate_hz: int) -> int:
    """The bitrate that MP3 has at one of its rates and that is nearest; the lower of two."""
    rates = bitrates(rate_hz)
    index = bisect_left(rates, kbps)
    return min(rates[max(0, index - 1) : index + 1], key=lambda rate: (abs(rate - kbps), rate))


def through_mp3(sound: Samples, *, rate_hz: int, kbps: int) -> Samples:
    """Code a sound, float32 (1 or 2 channels, samples) in [-1, 1], and decode it to the same shape, sample by sample.

    ``kbps`` is for all channels together; a ``ValueError`` says that MP3 has no such rate, bitrate or channels.
    """
    channels, samples = sound.shape
    if not 1 <= channels <= _MOST_CHANNELS or rate_hz not in RATES_HZ or kbps not in bitrates(rate_hz):
        raise ValueError(f"{channels} channels, {rate_hz} Hz and {kbps} kbit/s are not MP3's")
    av = load_av("coding MP3")
    layout = _LAYOUTS[channels - 1]
    output = np.zeros((channels, DELAY + samples), dtype=np.float32)
    position = 0
    try:
        coder = _coder(av, layout, rate_hz=rate_hz, kbps=kbps)
        decoder = av.CodecContext.create("mp3float", "r")
        decoder.thread_count = 1
        for frame in _decoded(av, coder, decoder, frames=_frames(sound, layout, rate_hz=rate_hz)):
            piece = frame.to_ndarray()[:, : output.shape[1] - position]
            output[:, position : position + piece.shape[1]] = piece
            position += piece.shape[1]
    except (av.error.FFmpegError, MemoryError) as error:
        raise OutputError(f"the sound cannot be coded as MP3: {error}") from error
    return np.ascontiguousarray(output[:, DELAY:])


def _coder(av: Any, layout: str, *, rate_hz: int, kbps: int) -> Any:
    coder = av.CodecContext.create("libmp3lame", "w")
    coder.sample_rate = rate_hz
    coder.layout = layout
    coder.format = "fltp"
    coder.bit_rate = kbps * 1000
    coder.time_base = Fraction(1, rate_hz)
    coder.thread_count = 1
    coder.options = {"compression_level": _HASTE}
    return coder


def _frames(sound: Samples, layout: str, *, rate_hz: int) -> Iterator[Any]:
    """The sound in pieces, and silence until all of it has come out of the decoder."""
    silence = np.zeros((sound.shape[0], 2 * DELAY), dtype=np.float32)
    position = 0
    for piece in [*(sound[:, start : start + _BLOCK] for start in range(0, sound.shape[1], _BLOCK)), silence]:
        yield audio_frame(np.ascontiguousarray(piece), form="fltp", layout=layout, rate_hz=rate_hz, at=position)
        position += piece.shape[1]


def _decoded(av: Any, coder: Any, decoder: Any, *, frames: Iterator[Any]) -> Iterator[Any]:
    for frame in chain(frames, [None]):  # None asks for what the coder holds back
        for packet in coder.encode(frame):
            # The bytes alone: packets also say how much to skip, which versions of FFmpeg do not follow alike.
            yield from decoder.decode(av.Packet(bytes(packet)))
    yield from decoder.decode(None)
