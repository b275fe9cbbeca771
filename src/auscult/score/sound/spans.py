"""How well what sounds in an output agrees with when the target should sound.

An output is resampled to 24 kHz; its level is the root mean square of 250 ms every 100 ms, and it sounds where that is
above -40 dB of the loudest window. Shorter gaps than 250 ms are sound.

Source: the span ranker of the release of SAM Audio (rate, window, hop and threshold); its IoU of segments with spans.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from auscult.arrays.resampling import mono_at
from auscult.errors import InputError
from auscult.outcome import Scored, Signature, Undefined
from auscult.score.sound.inputs import NO_ESTIMATE, check_finite, check_signals, sound_score
from auscult.types import Samples

RATE_HZ: Final = 24_000
WINDOW_S: Final = 0.25
HOP_S: Final = 0.1
FLOOR_DB: Final = -40.0

Times = Sequence[tuple[float, float]]


def sounding(samples: Samples, *, rate_hz: int, floor_db: float = FLOOR_DB) -> list[tuple[float, float]]:
    """When a sound, (samples,) or (channels, samples), sounds: spans in seconds, in order; none of silence."""
    check_signals(sound=samples)
    heard = mono_at(np.asarray(samples, dtype=np.float32), rate_hz=rate_hz, wanted_hz=RATE_HZ).astype(np.float64)
    check_finite(float(heard.sum()))
    size, hop = round(WINDOW_S * RATE_HZ), round(HOP_S * RATE_HZ)
    power = np.concatenate([[0.0], np.cumsum(heard**2)])
    starts = np.arange(0, max(1, heard.size - size + hop), hop)
    ends = np.minimum(starts + size, heard.size)
    level = (power[ends] - power[starts]) / np.maximum(1, ends - starts)
    loud = level > level.max() * 10 ** (floor_db / 10)
    return _joined([(start / RATE_HZ, end / RATE_HZ) for start, end in zip(starts[loud], ends[loud], strict=True)])


def _joined(spans: Times, gap_s: float = WINDOW_S) -> list[tuple[float, float]]:
    made: list[tuple[float, float]] = []
    for start, end in sorted(spans):
        if made and start <= made[-1][1] + gap_s:
            made[-1] = (made[-1][0], max(made[-1][1], float(end)))
        else:
            made.append((float(start), float(end)))
    return made


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
    heard = sounding(estimate, rate_hz=rate_hz)
    if not heard:
        return Undefined(NO_ESTIMATE)
    true = _joined(spans, gap_s=0.0)
    both = sum(max(0.0, min(a[1], b[1]) - max(a[0], b[0])) for a in heard for b in true)
    either = sum(end - start for start, end in (*heard, *true)) - both
    return Scored(
        both / either, Signature.of(metric="span_agreement", rate_hz=RATE_HZ, floor_db=FLOOR_DB, window_s=WINDOW_S)
    )


SPAN_AGREEMENT = sound_score(
    span_agreement, unit="", needs=("spans",), summary="overlap of when an output sounds with when it should",
    goal="a target that is lost, or something else that is left, in time", source="release of SAM Audio, span ranker",
)  # fmt: skip
