"""Short-time Fourier transform and its inverse, with numpy alone."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from auscult.types import Samples

Spectrogram: TypeAlias = NDArray[np.complex64]


def stft(samples: Samples, *, window: int, hop: int) -> Spectrogram:
    """The spectrogram of float32 (samples,), complex64 (window // 2 + 1, frames); ``hop`` is at most half the window.

    The window is the square root of a periodic Hann window; a whole window of silence stands before and behind, so that
    ``istft`` gives back every sample.
    """
    behind = window + -(samples.size + window) % hop
    padded = np.pad(samples, (window, behind))
    frames = np.lib.stride_tricks.sliding_window_view(padded, window)[::hop]
    return np.asarray(np.fft.rfft(frames * _window(window), axis=1).T, dtype=np.complex64)


def istft(spectrogram: Spectrogram, *, window: int, hop: int, count: int) -> Samples:
    """The sound of a spectrogram that ``stft`` made with the same window and hop: float32 (count,)."""
    shape = _window(window)
    frames = np.fft.irfft(spectrogram.T, window, axis=1) * shape
    length = (len(frames) - 1) * hop + window
    summed, weight = np.zeros(length), np.zeros(length)
    for number, frame in enumerate(frames):
        summed[number * hop : number * hop + window] += frame
        weight[number * hop : number * hop + window] += shape**2
    return np.asarray((summed / np.maximum(weight, 1e-8))[window : window + count], dtype=np.float32)


def _window(size: int) -> NDArray[np.float64]:
    """The square root of a periodic Hann window."""
    return np.asarray(np.sin(np.pi * np.arange(size) / size))
