"""Changing a sound's sample rate."""

from __future__ import annotations

from math import ceil, gcd

import numpy as np

from auscult.cases.scenes.sound.loudness import fast_length
from auscult.types import Samples

_EDGE = 0.92
_PAD_S = 0.02


def resampled(samples: Samples, *, from_hz: int, to_hz: int) -> Samples:
    """Change the sample rate by way of the spectrum: zero phase, nothing above the lower half rate is left.

    The pass band ends at 0.92 of the lower half rate and goes to nothing by a raised cosine, which is a sinc filter
    with a smooth window. The sound is padded, so that its end does not run into its beginning.

    Args:
        samples: (samples,) float.
        from_hz: Its rate.
        to_hz: The rate wanted.

    Returns:
        (ceil(samples * to_hz / from_hz),) float32; sample k lies at second k / to_hz of the input.
    """
    if from_hz == to_hz or len(samples) == 0:
        return np.asarray(samples, dtype=np.float32)
    common = gcd(from_hz, to_hz)
    # Both lengths are whole multiples, so that the ratio of the rates is exact.
    blocks = fast_length(ceil((len(samples) / from_hz + _PAD_S) * common))
    before, after = blocks * (from_hz // common), blocks * (to_hz // common)
    spectrum = np.fft.rfft(samples, before)
    bins = min(before, after) // 2 + 1
    share = np.arange(bins) / max(bins - 1, 1)
    slope = np.clip((1.0 - share) / (1.0 - _EDGE), 0.0, 1.0)
    kept = np.zeros(after // 2 + 1, dtype=np.complex128)
    kept[:bins] = spectrum[:bins] * (0.5 - 0.5 * np.cos(np.pi * slope))
    wave = np.fft.irfft(kept, after) * (after / before)
    return wave[: ceil(len(samples) * to_hz / from_hz)].astype(np.float32)
