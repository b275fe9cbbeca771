"""Loudness of a whole sound after ITU-R BS.1770-4, gated: silence does not count."""

from __future__ import annotations

import numpy as np

from auscult.scenes.sound.mix import fast_length, k_weights
from auscult.types import Samples

_BLOCK_S, _HOP_S = 0.4, 0.1
_ABSOLUTE_LUFS = -70.0
_RELATIVE_LU = -10.0


def integrated_lufs(samples: Samples, *, rate_hz: int) -> float:
    """Integrated loudness of float (samples,) or (channels, samples), left and right of equal weight, in LUFS.

    Blocks of 400 ms that overlap by three quarters count where they are over -70 LUFS and at most 10 LU below the mean
    of those; a sound that is shorter is one block. -inf where no block counts. Source: ITU-R BS.1770-4, Annex 1.
    """
    sound = np.atleast_2d(samples)
    count = sound.shape[1]
    if count == 0:
        return float("-inf")
    size = fast_length(count + round(0.05 * rate_hz))  # the filters ring on for less
    weights = np.sqrt(k_weights(size, rate_hz=rate_hz))
    heard = np.fft.irfft(np.fft.rfft(sound, size) * weights, size)[:, :count]
    hop = max(1, round(_HOP_S * rate_hz))
    width = min(count, round(_BLOCK_S / _HOP_S) * hop)
    summed = np.concatenate([[0.0], np.cumsum(np.sum(heard**2, axis=0))])
    starts = np.arange(0, count - width + 1, hop)
    power = (summed[starts + width] - summed[starts]) / width
    loud = power[power > _power(_ABSOLUTE_LUFS)]
    if loud.size:
        loud = loud[loud > loud.mean() * 10.0 ** (_RELATIVE_LU / 10.0)]
    return float(-0.691 + 10.0 * np.log10(loud.mean())) if loud.size else float("-inf")


def _power(lufs: float) -> float:
    return float(10.0 ** ((lufs + 0.691) / 10.0))
