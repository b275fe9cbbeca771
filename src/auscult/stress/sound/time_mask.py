"""Time mask: the microphone drops out for a while.

Source: R2-Bench, Table 1, sensor noise of sound; constants of its toolbox (audiomentations with its fade).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from auscult.stress.perturbation import Params, Perturbs, Range, Share
from auscult.stress.sound.base import AudioInfo, SoundStressor
from auscult.types import Metadata, Samples

_FADE_S: Final = 0.01
_FADE_SHARE: Final = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeMaskParams(Params):
    """Parameters of the mask."""

    length_share: Share  # where in the level's range its length lies, 0 (shortest) to 1
    place: Share  # where it lies, 0 (at the beginning) to 1 (at the end)


class TimeMask(Perturbs[TimeMaskParams]):
    """Silences one span of the sound."""

    name = "sound.time_mask.v1"
    params = TimeMaskParams
    length = Range("silenced share of the sound", (0.0, 0.05, 0.1, 0.2, 0.3, 0.4), (0.0, 0.1, 0.2, 0.3, 0.4, 0.5))
    keeps_silence = True
    meta = Metadata(
        summary="silences one span of the sound, with a short fade at both ends",
        goal="a model that needs to hear without a pause",
        modality="sound",
        source="R2-Bench, Sec. 3.1, Table 1",
        truth="no source is heard in the silent span, which is reported",
        origin="sensor",
    )

    def render(self, sound: Samples, params: TimeMaskParams, *, rate_hz: int) -> Samples:
        """The sound with its pause."""
        start, end, fade = self._span(params, samples=sound.shape[1], rate_hz=rate_hz)
        output = np.empty_like(sound)
        output[:, :start] = sound[:, :start]
        output[:, start:end] = 0.0
        output[:, end:] = sound[:, end:]
        if fade:
            falling, rising = slice(start, start + fade), slice(end - fade, end)
            slope = np.linspace(1.0, 0.0, fade, dtype=np.float32)
            np.multiply(sound[:, falling], slope, out=output[:, falling])
            np.multiply(sound[:, rising], slope[::-1], out=output[:, rising])
        return output

    def silent(self, params: TimeMaskParams, take: AudioInfo) -> tuple[tuple[float, float], ...]:
        """The span in which every sample is 0, without its fades; none where the sound is too short for one."""
        start, end, fade = self._span(params, samples=take.samples, rate_hz=take.rate_hz)
        if start == end:
            return ()
        return (((start + fade) / take.rate_hz, (end - fade) / take.rate_hz),)

    def _span(self, params: TimeMaskParams, *, samples: int, rate_hz: int) -> tuple[int, int, int]:
        """Its first sample, the one after its last, and the samples of each fade within it."""
        length = round(samples * self.length.within(params.strength, params.length_share))
        start = round(params.place * (samples - length))
        return start, start + length, min(int(rate_hz * _FADE_S), int(length * _FADE_SHARE))


STRESSOR: SoundStressor[TimeMaskParams] = TimeMask()
