"""Short-time spectra of sounds, sounds added up of frames, and log-mel spectrograms of EfficientAT's networks.

Reference: Schmid et al., ICASSP 2023 (EfficientAT).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from auscult.types import Doubles, Floats, Samples, Span


def short_time(samples: NDArray[Any], window: NDArray[Any], *, hop: int, size: int | None = None) -> NDArray[Any]:
    """Spectra (..., frames, bins) of samples (..., samples): of frames that lie whole in them, one every ``hop``.

    Frames are as long as the window; a transform of a larger ``size`` has zeros behind them.
    """
    frames = np.lib.stride_tricks.sliding_window_view(samples, window.size, axis=-1)[..., ::hop, :]
    return np.fft.rfft(frames * window, size)


def add_frames(onto: NDArray[Any], frames: NDArray[Any], *, hop: int) -> None:
    """Add frames (n, size), one every ``hop``, which divides their size, to samples (...,), earlier frames first."""
    parts = frames.shape[1] // hop
    blocks = onto[: (len(frames) + parts - 1) * hop].reshape(-1, hop)
    for part in reversed(range(parts)):
        blocks[part : part + len(frames)] += frames[:, part * hop : (part + 1) * hop]


def wanted_frames(spans: Sequence[Span], frames: int, *, hop_s: float) -> NDArray[np.bool_]:
    """In which of so many frames, one every ``hop_s`` seconds, the target should be heard; without spans in all."""
    mask = np.full(frames, not any(span.sign == "+" for span in spans))
    for span in sorted(spans, key=lambda span: span.sign == "-"):  # what is not the target has the last word
        first, last = (max(0, round(time / hop_s)) for time in (span.start_s, span.end_s))
        mask[first:last] = span.sign == "+"
    return mask


RATE_HZ: Final = 32_000
HOP: Final = 320
"""Samples from one frame to the next, 10 ms."""
BANDS: Final = 128
SILENCE: Final = float((np.log(1e-5) + 4.5) / 5)
"""The value of every band in silence."""

_WINDOW, _SIZE, _HIGH_HZ = 800, 1024, 15_000.0


def log_mel(sound: Samples) -> Floats:
    """The log-mel spectrogram of a sound (samples,) at ``RATE_HZ``: float32 (``BANDS``, frames), one every 10 ms."""
    padded = np.pad(sound, (0, max(0, _SIZE + 1 - sound.size)))
    emphasised = np.pad(padded[1:] - np.float32(0.97) * padded[:-1], _SIZE // 2, mode="reflect")
    window = np.pad(np.hanning(_WINDOW), (_SIZE - _WINDOW) // 2).astype(np.float32)
    power = np.abs(short_time(emphasised, window, hop=HOP)) ** 2
    return np.asarray((np.log(_banks() @ power.T + 1e-5) + 4.5) / 5, np.float32)


@cache
def _banks() -> Doubles:
    """Triangles of equal width on 1127 ln(1 + f / 700); the last bin is not used."""
    step = 1127 * np.log1p(_HIGH_HZ / 700) / (BANDS + 1)
    mel = 1127 * np.log1p(RATE_HZ / _SIZE * np.arange(_SIZE // 2) / 700)
    place = mel / step - np.arange(BANDS)[:, None]
    return np.pad(np.maximum(0, np.minimum(place, 2 - place)), ((0, 0), (0, 1)))
