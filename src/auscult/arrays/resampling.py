"""A sound at another sample rate, by way of its spectrum: aligned, without delay; of one channel; moved in time."""

from __future__ import annotations

from math import ceil, gcd
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from auscult.types import Samples

_RINGING: Final = 256  # samples of silence behind a sound that is resampled


def power_of_two(least: int) -> int:
    """The smallest power of two that is no less."""
    return 1 << max(0, least - 1).bit_length()


def resampled(sound: Samples, *, rate_hz: int, wanted_hz: int) -> Samples:
    """A sound at another rate, aligned: what is at t seconds stays there.

    From float32 (channels, samples) to float32 (channels, ceil(samples * wanted_hz / rate_hz)). Frequencies up to 95 %
    of the lower rate's half are kept, the rest fades out.
    """
    common = gcd(rate_hz, wanted_hz)
    into, out_of = wanted_hz // common, rate_hz // common
    samples = sound.shape[1]
    # Silence behind the end keeps it from ringing into the beginning.
    turns = 2 * _smooth(ceil((samples / out_of + _RINGING / min(into, out_of)) / 2))
    bins = turns * min(into, out_of) // 2 + 1
    spectra = np.fft.rfft(sound, turns * out_of, axis=1)[:, :bins] * _fading(bins)
    output = np.fft.irfft(spectra, turns * into, axis=1) * np.float32(into / out_of)
    return np.ascontiguousarray(output[:, : ceil(samples * wanted_hz / rate_hz)], dtype=np.float32)


def mono(sound: Samples) -> Samples:
    """The mean of the channels, float32 (samples,), of a sound (samples,) or (channels, samples)."""
    return np.asarray(sound if sound.ndim == 1 else sound.mean(axis=0), dtype=np.float32)


def moved(sound: NDArray[Any], late: int) -> NDArray[Any]:
    """A sound (..., samples) so many samples earlier, of the same length, silence in what was not there."""
    output = np.zeros_like(sound)
    count = max(0, sound.shape[-1] - abs(late))
    output[..., max(0, -late) : max(0, -late) + count] = sound[..., max(0, late) : max(0, late) + count]
    return output


def mono_at(sound: Samples, *, rate_hz: int, wanted_hz: int) -> Samples:
    """``mono`` at another rate; a sound that has this rate already is not filtered."""
    channel = mono(sound)
    return channel if rate_hz == wanted_hz else resampled(channel[None], rate_hz=rate_hz, wanted_hz=wanted_hz)[0]


def _smooth(least: int) -> int:
    """The smallest number of the form 2^k, 3 * 2^k, 5 * 2^k or 9 * 2^k that is no less."""
    return min(factor * power_of_two(ceil(least / factor)) for factor in (1, 3, 5, 9))


def _fading(bins: int) -> NDArray[np.float32]:
    """1 up to 95 %, then half a cosine down to 0."""
    position = np.arange(bins, dtype=np.float32) / np.float32(max(1, bins - 1))
    fading: NDArray[np.float32] = 0.5 + 0.5 * np.cos(np.float32(np.pi) * np.clip(20.0 * position - 19.0, 0.0, 1.0))
    return fading
