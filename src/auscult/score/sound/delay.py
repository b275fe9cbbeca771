"""How much later than its stem an output is: a delay ruins every score of samples, and few listeners hear it.

The delay is the lag of the largest magnitude of the cross-correlation, in whole samples; channels count together.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from auscult.outcome import Undefined
from auscult.score.sound.inputs import Signal, block, check_finite, check_signals, silence_of

MOST_S: Final = 0.1
LEAST_GAIN: Final = 1.1
LEAST_CORRELATION: Final = 0.3
"""A delay is named where the correlation there is at least this, and that factor above the correlation without it: the
rest is what filtering does to a sound, or another sound."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Delay:
    """How an output lies against its stem.

    Attributes:
        delay_s: Above 0 where the output is late.
        delay_samples: The same in samples.
        correlation: At that delay, -1..1; below 0 the polarity is turned as well.
        undelayed: Correlation without moving anything.
        named: Whether the delay raises the correlation enough to be told.
    """

    delay_s: float
    delay_samples: int
    correlation: float
    undelayed: float
    named: bool


def find_delay(estimate: Signal, stem: Signal, *, rate_hz: int, most_s: float = MOST_S) -> Delay | Undefined:
    """Find how much later an output is than its stem, up to ``most_s`` seconds either way.

    Args:
        estimate: What was separated, float (samples,) or (channels, samples).
        stem: The true source, the same shape.
        rate_hz: Samples per second.
        most_s: The longest delay that is looked for, in seconds.

    Returns:
        The delay; Undefined where a signal is silent.

    Raises:
        InputError: The shapes differ, or a sample is not finite.
    """
    _, length = check_signals(estimate=estimate, stem=stem)
    most = min(round(most_s * rate_hz), length - 1)
    size = 1 << (8 * (2 * most + 1) - 1).bit_length()
    step = size - 2 * most
    cross = np.zeros(size // 2 + 1, np.complex128)
    own = true = 0.0
    for start in range(0, length, step):
        mine = block(estimate, start, start + step)
        other = block(stem, max(0, start - most), start + step + most)
        own += float(np.vdot(mine, mine))
        inside = other[:, min(start, most) :][:, : mine.shape[1]]
        true += float(np.vdot(inside, inside))
        if start < most:
            other = np.pad(other, ((0, 0), (most - start, 0)))
        cross += (np.conj(np.fft.rfft(other, size)) * np.fft.rfft(mine, size)).sum(axis=0)
    check_finite(own, true)
    if reason := silence_of(own, true):
        return Undefined(reason)
    # the stem's block begins ``most`` samples early: a delay of d is the lag d - most
    found = np.roll(np.fft.irfft(cross, size), 2 * most)[: 2 * most + 1] / np.sqrt(own * true)
    best = int(np.abs(found).argmax())
    there, here = abs(float(found[best])), abs(float(found[most]))
    return Delay(
        delay_s=(best - most) / rate_hz,
        delay_samples=best - most,
        correlation=float(found[best]),
        undelayed=float(found[most]),
        named=there > max(LEAST_CORRELATION, LEAST_GAIN * here),
    )
