"""Short-time spectra of long sounds, some frames at a time, and sounds again from changed spectra."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from auscult.types import Samples

Spectra: TypeAlias = NDArray[np.complex64]
Change: TypeAlias = Callable[[Spectra, int], Spectra]

_WINDOW_S: Final = 0.064
_TOGETHER: Final = 512
_OVERLAP: Final = 4


def window_of(rate_hz: int) -> int:
    """Samples of a window: a power of two of about 64 ms."""
    return max(16, int(2 ** np.round(np.log2(_WINDOW_S * rate_hz))))


def changed(sound: Samples, change: Change, *, rate_hz: int) -> Samples:
    """A sound (channels, samples) from its changed spectra.

    ``change`` gets spectra (frames, bins) of a channel and the number of the first, which is the same for every
    channel; where it returns them as they were the sound comes back.
    """
    size = window_of(rate_hz)
    hop = size // _OVERLAP
    window = np.sqrt(np.hanning(size + 1)[:-1]).astype(np.float32)
    frames = -(-sound.shape[1] // hop) + _OVERLAP - 1
    output = np.zeros((sound.shape[0], (frames + _OVERLAP - 1) * hop), dtype=np.float32)
    for channel, made in zip(sound, output, strict=True):
        padded = np.zeros(made.size, dtype=np.float32)
        padded[size - hop : size - hop + channel.size] = channel
        rows = np.lib.stride_tricks.sliding_window_view(padded, size)[::hop]
        for first in range(0, frames, _TOGETHER):
            spectra = np.fft.rfft(rows[first : first + _TOGETHER] * window, axis=1).astype(np.complex64)
            back = np.fft.irfft(change(spectra, first), size, axis=1).astype(np.float32) * window
            for at, frame in enumerate(back, start=first):
                made[at * hop : at * hop + size] += frame
    found = output[:, size - hop : size - hop + sound.shape[1]] * np.float32(2.0 / _OVERLAP)
    return np.ascontiguousarray(found)


def mean_power(sound: Samples, *, size: int = 4096) -> NDArray[np.float64]:
    """The mean power spectrum of all channels, (size / 2 + 1,); what is shorter than a window is filled up."""
    window, total = np.hanning(size + 1)[:-1], np.zeros(size // 2 + 1)
    for channel in sound:
        padded = np.pad(channel, (size // 2, size))
        rows = np.lib.stride_tricks.sliding_window_view(padded, size)[:: size // 2]
        for first in range(0, len(rows), _TOGETHER):
            total += np.sum(np.abs(np.fft.rfft(rows[first : first + _TOGETHER] * window, axis=1)) ** 2, axis=0)
    return total
