"""How loud a sound is, and bringing every sound to one reference loudness.

Loudness is that of ITU-R BS.1770-4 (Annex 1) without gating: the mean square after the K-weighting
filters, in decibels.
A sound in a scene is only as long as its span, so there is no silence for a gate to leave out.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from auscult.types import Samples

REFERENCE_DB = -24.0
"""Loudness of every source before distance, in LUFS; 24 dB of room for peaks and for other sounds."""

ATTACK_S = 0.004
RELEASE_S = 0.02

_KNEE = 0.7
_ROUNDS = 3
_SILENCE = 1e-12

# BS.1770-4, Tables 1 and 2: numerator and denominator of the shelf and of the high-pass, at 48 kHz.
_DESIGN_RATE_HZ = 48_000
_SECTIONS = (
    ((1.53512485958697, -2.69169618940638, 1.19839281085285), (1.0, -1.69065929318241, 0.73248077421585)),
    ((1.0, -2.0, 1.0), (1.0, -1.99004745483398, 0.99007225036621)),
)


def loudness_db(samples: Samples, *, rate_hz: int) -> float:
    """Loudness of one channel, ungated.

    Args:
        samples: (samples,) float32.
        rate_hz: Sample rate.

    Returns:
        LUFS; higher is louder; -inf for silence or no samples.
    """
    count = len(samples)
    if count == 0:
        return float("-inf")
    size = fast_length(count)
    spectrum = np.fft.rfft(samples, size)
    power = spectrum.real**2 + spectrum.imag**2
    energy = float(np.dot(power, k_weights(size, rate_hz=rate_hz))) * 2.0 / size / count
    return -0.691 + 10.0 * float(np.log10(energy)) if energy > _SILENCE else float("-inf")


def k_weights(size: int, *, rate_hz: int) -> NDArray[np.float32]:
    """Power response of the K-weighting at the frequencies of ``rfft(x, size)``; above 24 kHz as at 24 kHz."""
    turn = np.minimum(np.fft.rfftfreq(size, 1.0 / rate_hz), _DESIGN_RATE_HZ / 2) * (2.0 * np.pi / _DESIGN_RATE_HZ)
    once = np.cos(turn)
    twice = 2.0 * once**2 - 1.0
    weights = np.ones_like(once)
    for above, below in _SECTIONS:
        weights *= _power(above, once, twice) / _power(below, once, twice)
    return np.asarray(np.maximum(weights, 0.0), dtype=np.float32)


def _power(
    section: tuple[float, float, float], once: NDArray[np.float64], twice: NDArray[np.float64]
) -> NDArray[np.float64]:
    """|b0 + b1 z^-1 + b2 z^-2|^2 on the unit circle, from cos(w) and cos(2w)."""
    first, second, third = section
    still = first**2 + second**2 + third**2
    return np.asarray(still + 2.0 * second * (first + third) * once + 2.0 * first * third * twice)


def fast_length(count: int) -> int:
    """The smallest length of at least ``count`` that is a power of two times 1, 3 or 5: quick to transform."""
    smallest = 1 << max(count - 1, 1).bit_length()
    for odd in (3, 5):
        power = 1 << max((count - 1) // odd, 1).bit_length()
        if power * odd >= count:
            smallest = min(smallest, power * odd)
    return smallest


def finished(samples: Samples, *, rate_hz: int) -> Samples:
    """Bring a sound to the reference loudness and fade its ends, so that it neither clips nor clicks.

    Peaks over 0.7 are rounded off smoothly, and the gain is set again until the loudness is right; the fades last 4 ms
    in and 20 ms out, or a quarter of a short sound. Silence stays silence.

    Args:
        samples: (samples,) float, any level.
        rate_hz: Sample rate.

    Returns:
        (samples,) float32, below 1 in size, its first and last sample within a fade.
    """
    sound = edged(np.asarray(samples, dtype=np.float32), rate_hz=rate_hz)
    for _ in range(_ROUNDS):
        level = loudness_db(sound, rate_hz=rate_hz)
        if level == float("-inf"):
            return np.zeros_like(sound)
        sound *= np.float32(10.0 ** ((REFERENCE_DB - level) / 20.0))
        if float(np.max(np.abs(sound))) <= _KNEE:
            break
        sound = rounded(sound)
    return sound


def rounded(samples: Samples) -> Samples:
    """Leave samples up to 0.7 as they are and bend larger ones smoothly towards 1."""
    size = np.abs(samples)
    over = size > _KNEE
    if not over.any():
        return samples
    bent = samples.copy()
    room = 1.0 - _KNEE
    bent[over] = np.sign(samples[over]) * (_KNEE + room * 0.999 * np.tanh((size[over] - _KNEE) / room))
    return bent


def edged(samples: Samples, *, rate_hz: int) -> Samples:
    """Fade a sound in and out; a copy. The first and last samples are scaled, none is set to zero."""
    sound = samples.astype(np.float32, copy=True)
    for seconds, part in ((ATTACK_S, sound), (RELEASE_S, sound[::-1])):
        count = min(round(seconds * rate_hz), len(sound) // 4)
        ramp = (np.arange(count, dtype=np.float32) + 0.5) / max(count, 1)
        part[:count] *= 0.5 - 0.5 * np.cos(np.pi * ramp)
    return sound
