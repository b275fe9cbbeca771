"""How ``sound.compact.v1`` hears: log-mel spectrograms of mixture, output and rest, and prompts as numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from auscult.arrays.log_mel import HOP, RATE_HZ, SILENCE, log_mel
from auscult.arrays.resampling import mono, mono_at
from auscult.judge.sound.shared import aligned
from auscult.types import Floats, Samples, Span

STEP: Final = 32
"""Frames of 10 ms in one step of the network."""
STEP_S: Final = STEP * HOP / RATE_HZ
CLASSES: Final = 527
LEVEL: Final = 0.05
"""Root mean square that a mixture is brought to, -26 dB of full scale."""
_LOUDEST: Final = 4.0  # most power of an output, relative to its mixture's


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class HeardMixture:
    """A mixture, made ready for all its outputs."""

    sound: Samples  # (samples,) at its own rate, at ``LEVEL``
    rate_hz: int
    mel: Floats  # float32 (128, frames), whole steps of frames


def hear_mixture(mixture: Samples, rate_hz: int) -> HeardMixture:
    """Bring a mixture, (channels, samples) and not silent, to one level."""
    sound = mono(mixture)
    level = float(np.sqrt(np.mean(np.square(sound, dtype=np.float64))))
    sound = np.asarray(sound * np.float32(LEVEL / max(level, 1e-9)), dtype=np.float32)
    return HeardMixture(sound=sound, rate_hz=rate_hz, mel=whole_steps(log_mel(_at_rate(sound, rate_hz))))


def hear_output(heard: HeardMixture, separated: Samples) -> tuple[Floats, Floats]:
    """The spectrograms of an output, (channels, samples), and of what is left of its mixture.

    The output is moved and scaled so that what it shares with the mixture is the same in both.
    """
    output = mono(separated)
    if output.any() and heard.sound.any():
        output, _, _ = aligned(heard.sound, output, rate_hz=heard.rate_hz)
    power = float(np.mean(np.square(output, dtype=np.float64))) / LEVEL**2
    if power > _LOUDEST:
        output = output * np.float32(np.sqrt(_LOUDEST / power))
    made = [whole_steps(log_mel(_at_rate(one, heard.rate_hz))) for one in (output, heard.sound - output)]
    return made[0], made[1]


def _at_rate(sound: Samples, rate_hz: int) -> Samples:
    return mono_at(sound, rate_hz=rate_hz, wanted_hz=RATE_HZ)


def whole_steps(mel: Floats) -> Floats:
    """A spectrogram with silence behind it up to a whole step."""
    return np.pad(mel, ((0, 0), (0, -mel.shape[1] % STEP)), constant_values=np.float32(SILENCE))


def span_steps(spans: Sequence[Span], steps: int) -> Floats:
    """Spans as float32 (3, steps): the share of each step inside of ``+`` and of ``-``, and 1 where there are any."""
    made = np.zeros((3, steps), dtype=np.float32)
    edges = np.arange(steps + 1) * STEP_S
    for span in spans:
        inside = np.clip(np.minimum(edges[1:], span.end_s) - np.maximum(edges[:-1], span.start_s), 0.0, STEP_S)
        row = made[0 if span.sign == "+" else 1]
        np.minimum(row + inside / STEP_S, 1.0, out=row)
        made[2] = 1.0
    return made


def as_classes(*found: Floats | None) -> Floats:
    """What words and pictures ask for together, float32 (527,): the most that any gives, the greatest 1; 0 for none."""
    made = np.zeros(CLASSES, dtype=np.float32)
    for one in found:
        if one is not None:
            np.maximum(made, one, out=made)
    return made / max(float(made.max()), 1e-6)
