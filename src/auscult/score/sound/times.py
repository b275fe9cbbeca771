"""Times: how much later than its stem an output is, and how well what sounds in it agrees with when it should.

A delay ruins every score of samples, and few listeners hear it. It is the lag of the largest magnitude of the
cross-correlation, in whole samples; channels count together.

Of spans an output is resampled to 24 kHz; its level is the root mean square of 250 ms every 100 ms, and it sounds where
that is above -40 dB of the loudest window. Shorter gaps than 250 ms are sound. Source: the span ranker of the release
of SAM Audio (rate, window, hop and threshold); its IoU of segments with spans.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from auscult.arrays.resampling import mono_at
from auscult.errors import InputError
from auscult.outcome import Scored, Signature, Undefined
from auscult.score.sound.inputs import NO_ESTIMATE, Signal, block, check_finite, check_signals, silence_of, sound_score
from auscult.types import Samples

MOST_S: Final = 0.1
LEAST_GAIN: Final = 1.1
LEAST_CORRELATION: Final = 0.3
"""A delay is named where the correlation there is at least this, and that factor above the correlation without it: the
rest is what filtering does to a sound, or another sound."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Delay:
    """The delay of an output against its stem.

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
    max_lag = min(round(most_s * rate_hz), length - 1)
    size = 1 << (8 * (2 * max_lag + 1) - 1).bit_length()
    step = size - 2 * max_lag
    cross = np.zeros(size // 2 + 1, np.complex128)
    output_energy = stem_energy = 0.0
    for start in range(0, length, step):
        part = block(estimate, start, start + step)
        stem_part = block(stem, max(0, start - max_lag), start + step + max_lag)
        output_energy += float(np.vdot(part, part))
        inside = stem_part[:, min(start, max_lag) :][:, : part.shape[1]]
        stem_energy += float(np.vdot(inside, inside))
        if start < max_lag:
            stem_part = np.pad(stem_part, ((0, 0), (max_lag - start, 0)))
        cross += (np.conj(np.fft.rfft(stem_part, size)) * np.fft.rfft(part, size)).sum(axis=0)
    check_finite(output_energy, stem_energy)
    if reason := silence_of(output_energy, stem_energy):
        return Undefined(reason)
    # the stem's block begins ``max_lag`` samples early: a delay of d is the lag d - max_lag
    correlations = np.roll(np.fft.irfft(cross, size), 2 * max_lag)[: 2 * max_lag + 1]
    correlations /= np.sqrt(output_energy * stem_energy)
    best = int(np.abs(correlations).argmax())
    highest, undelayed = abs(float(correlations[best])), abs(float(correlations[max_lag]))
    return Delay(
        delay_s=(best - max_lag) / rate_hz,
        delay_samples=best - max_lag,
        correlation=float(correlations[best]),
        undelayed=float(correlations[max_lag]),
        named=highest > max(LEAST_CORRELATION, LEAST_GAIN * undelayed),
    )


RATE_HZ: Final = 24_000
WINDOW_S: Final = 0.25
HOP_S: Final = 0.1
FLOOR_DB: Final = -40.0

Times = Sequence[tuple[float, float]]


def sounding(samples: Samples, *, rate_hz: int, floor_db: float = FLOOR_DB) -> list[tuple[float, float]]:
    """When a sound, (samples,) or (channels, samples), sounds: spans in seconds, in order; none of silence."""
    check_signals(sound=samples)
    mono = mono_at(np.asarray(samples, dtype=np.float32), rate_hz=rate_hz, wanted_hz=RATE_HZ).astype(np.float64)
    check_finite(float(mono.sum()))
    size, hop = round(WINDOW_S * RATE_HZ), round(HOP_S * RATE_HZ)
    power = np.concatenate([[0.0], np.cumsum(mono**2)])
    starts = np.arange(0, max(1, mono.size - size + hop), hop)
    ends = np.minimum(starts + size, mono.size)
    level = (power[ends] - power[starts]) / np.maximum(1, ends - starts)
    loud = level > level.max() * 10 ** (floor_db / 10)
    return _joined([(start / RATE_HZ, end / RATE_HZ) for start, end in zip(starts[loud], ends[loud], strict=True)])


def _joined(spans: Times, gap_s: float = WINDOW_S) -> list[tuple[float, float]]:
    joined: list[tuple[float, float]] = []
    for start, end in sorted(spans):
        if joined and start <= joined[-1][1] + gap_s:
            joined[-1] = (joined[-1][0], max(joined[-1][1], float(end)))
        else:
            joined.append((float(start), float(end)))
    return joined


def span_agreement(estimate: Samples, spans: Times, *, rate_hz: int) -> Scored[float] | Undefined:
    """Intersection over union, 0..1, of when an output sounds and when it should; higher is better.

    Args:
        estimate: What was separated, float (samples,) or (channels, samples).
        spans: Start and end in seconds of where the target sounds.
        rate_hz: Samples per second of the estimate.

    Returns:
        Undefined where the estimate is silent, or no span is given.

    Raises:
        InputError: A span is reversed or outside the sound.

    Source: the release of SAM Audio, its span ranker.
    """
    length_s = np.shape(estimate)[-1] / rate_hz
    for start, end in spans:
        if not 0 <= start < end <= length_s + HOP_S:
            raise InputError(
                f"a span runs from {start:g} to {end:g} s", expected=f"start < end within 0 to {length_s:g} s"
            )
    if not len(spans):
        return Undefined("no span says when the target sounds")
    estimated = sounding(estimate, rate_hz=rate_hz)
    if not estimated:
        return Undefined(NO_ESTIMATE)
    true = _joined(spans, gap_s=0.0)
    both = sum(max(0.0, min(a[1], b[1]) - max(a[0], b[0])) for a in estimated for b in true)
    either = sum(end - start for start, end in (*estimated, *true)) - both
    return Scored(
        both / either, Signature.of(metric="span_agreement", rate_hz=RATE_HZ, floor_db=FLOOR_DB, window_s=WINDOW_S)
    )


SPAN_AGREEMENT = sound_score(
    span_agreement, unit="", needs=("spans",), summary="overlap of when an output sounds with when it should",
    goal="a target that is lost, or something else that is left, in time", source="release of SAM Audio, span ranker",
)  # fmt: skip
