"""Loudness of a whole sound after ITU-R BS.1770-4, gated: silence does not count."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from auscult.scenes.sound.mix import fast_length, k_weights
from auscult.types import Samples

_BLOCK_S, _HOPS = 0.4, 4  # of a block
_ABSOLUTE_LUFS = -70.0
_RELATIVE_LU = -10.0
_RINGING_S = 0.05


def integrated_lufs(samples: Samples, *, rate_hz: int) -> float:
    """Integrated loudness of float32 (samples,) or (channels, samples), left and right of equal weight, in LUFS.

    Blocks of 400 ms that overlap by three quarters count where they are over -70 LUFS and at most 10 LU below the mean
    of those; a sound that is shorter is one block. -inf where no block counts. Source: ITU-R BS.1770-4, Annex 1.
    """
    return gated_lufs(k_weighted(samples, rate_hz=rate_hz), rate_hz=rate_hz)


def k_weighted(samples: Samples, *, rate_hz: int) -> Samples:
    """A sound (..., samples) after the K-weighting filters, without their delay; linear."""
    count = samples.shape[-1]
    size = fast_length(count + round(_RINGING_S * rate_hz))
    return np.fft.irfft(np.fft.rfft(samples, size) * _factors(size, rate_hz), size)[..., :count].astype(np.float32)


@lru_cache(maxsize=8)
def _factors(size: int, rate_hz: int) -> NDArray[np.float32]:
    return np.sqrt(k_weights(size, rate_hz=rate_hz))


def gated_lufs(weighted: Samples, *, rate_hz: int) -> float:
    """Loudness of a sound that is K-weighted already, as ``integrated_lufs``."""
    sound = np.atleast_2d(weighted)
    count = sound.shape[1]
    hop = max(1, round(_BLOCK_S / _HOPS * rate_hz))
    if count < _HOPS * hop:
        power = np.asarray([np.sum(sound**2, dtype=np.float64) / max(count, 1)])
    else:
        squares = np.sum(
            sound[:, : count // hop * hop].reshape(len(sound), -1, hop) ** 2, axis=(0, 2), dtype=np.float64
        )
        power = np.convolve(squares, np.ones(_HOPS), mode="valid") / (_HOPS * hop)
    loud = power[power > 10.0 ** ((_ABSOLUTE_LUFS + 0.691) / 10.0)]
    if loud.size == 0:
        return float("-inf")
    return float(-0.691 + 10.0 * np.log10(np.mean(loud[loud > loud.mean() * 10.0 ** (_RELATIVE_LU / 10.0)])))
