"""Impulse noise: clicks of switches, loose plugs and scratched records.

Source: R2-Bench, Table 1, sensor noise of sound, whose release has an impulse response in its place. The constants are
ours: from 2 clicks a second at a tenth of full scale to 32 at most of it. A click is a damped cosine: the same in all
channels, as from one cable, at once there and gone within 4 ms. What a level adds, the next one keeps.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from auscult.stress.perturbation import Constant, Seeded, SeedParams
from auscult.stress.sound.base import SoundStressor
from auscult.types import Metadata, Samples

_DECAY_S: Final = (0.0001, 0.0005)
"""Time in which a click falls to 1/e."""
_PITCH_HZ: Final = (500.0, 8000.0)
_LENGTH: Final = 8.0
"""How long a click is made, in times of its decay."""


class ImpulseNoise(Seeded):
    """Adds clicks at random places."""

    name = "sound.impulse_noise.v1"
    per_second = Constant("clicks per second", (0.0, 2.0, 4.0, 8.0, 16.0, 32.0))
    peak = Constant("greatest peak", (0.0, 0.1, 0.2, 0.35, 0.55, 0.8), unit="1 = full scale")
    meta = Metadata(
        summary="adds short clicks at random places",
        goal="a model that takes any sudden sound for an event",
        modality="sound",
        source="R2-Bench, Sec. 3.1, Table 1; constants are ours",
        truth="which source sounds when is unchanged; the clicks have no source",
        origin="sensor",
    )

    def render(self, sound: Samples, params: SeedParams, *, rate_hz: int) -> Samples:
        """The sound with the clicks; a short sound has one at least."""
        per_second, peak = self.per_second.at(params.strength), self.peak.at(params.strength)
        samples = sound.shape[1]
        many = max(1.0, per_second * samples / rate_hz)
        most = max(1, math.ceil(self.per_second.values[-1] * samples / rate_hz))
        draws = params.stream("clicks").uniform(size=(most, 5))  # of every click that the strongest level has
        track = np.zeros(samples, dtype=np.float32)
        for at in range(math.ceil(many)):
            position, size, sign, decay, pitch = draws[at]
            start = min(int(position * samples), samples - 1)
            click = _click(decay, pitch, rate_hz=rate_hz)[: samples - start]
            height = peak * (0.5 + 0.5 * size) * min(1.0, many - at) * (1.0 if sign < 0.5 else -1.0)
            track[start : start + len(click)] += np.float32(height) * click
        return sound + track


def _click(decay: float, pitch: float, *, rate_hz: int) -> Samples:
    """A click of peak 1 at its first sample, (samples,)."""
    decay_s = _DECAY_S[0] + decay * (_DECAY_S[1] - _DECAY_S[0])
    pitch_hz = min(_PITCH_HZ[0] * (_PITCH_HZ[1] / _PITCH_HZ[0]) ** pitch, 0.45 * rate_hz)
    times_s = np.arange(math.ceil(_LENGTH * decay_s * rate_hz)) / rate_hz
    click: Samples = (np.exp(-times_s / decay_s) * np.cos(2.0 * math.pi * pitch_hz * times_s)).astype(np.float32)
    return click


STRESSOR: SoundStressor[SeedParams] = ImpulseNoise()
