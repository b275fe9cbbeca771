"""Short-time spectra of long sounds, some frames at a time, and sounds again from changed spectra."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from auscult.types import Doubles, Samples

Spectra: TypeAlias = NDArray[np.complex64]

_TOGETHER: Final = 512
_OVERLAP: Final = 4


def window_of(rate_hz: int) -> int:
    """Samples of a window: a power of two of about 64 ms."""
    return max(16, int(2 ** np.round(np.log2(0.064 * rate_hz))))


def changed(sound: Samples, change: Callable[[Spectra, int], Spectra], *, rate_hz: int) -> Samples:
    """A sound (channels, samples) from its changed spectra (frames, bins); of unchanged ones it comes back.

    ``change`` also gets the number of the first frame, which is the same for every channel.
    """
    size = window_of(rate_hz)
    hop, samples = size // _OVERLAP, sound.shape[1]
    window = np.sqrt(np.hanning(size + 1)[:-1]).astype(np.float32)
    frames = -(-samples // hop) + _OVERLAP - 1
    padded = np.pad(sound, ((0, 0), (size - hop, frames * hop - samples)))
    output = np.zeros_like(padded)
    for channel, made in zip(padded, output, strict=True):
        rows = np.lib.stride_tricks.sliding_window_view(channel, size)[::hop]
        for first in range(0, frames, _TOGETHER):
            spectra = np.fft.rfft(rows[first : first + _TOGETHER] * window, axis=1).astype(np.complex64)
            back = np.fft.irfft(change(spectra, first), size, axis=1).astype(np.float32) * window
            for at, frame in enumerate(back, start=first):
                made[at * hop : at * hop + size] += frame
    return np.ascontiguousarray(output[:, size - hop : size - hop + samples]) * np.float32(2.0 / _OVERLAP)


def summed_power(sound: Samples, *, rate_hz: int) -> Doubles:
    """The power spectrum, summed over frames and channels, (bins,)."""
    total = np.zeros(window_of(rate_hz) // 2 + 1)

    def add(spectra: Spectra, _: int) -> Spectra:
        total[:] += np.sum(np.abs(spectra) ** 2, axis=0)
        return spectra

    changed(sound, add, rate_hz=rate_hz)
    return total
