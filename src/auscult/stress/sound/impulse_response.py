"""Impulse response: the sound is heard through a place and a device that answer for long.

The responses are made: direct sound, a dozen early echoes, then noise whose high tones die first. The five recordings
of the release carry no licence; ours have their lengths (its fifth is shorter than its fourth), and reverberation grows
from level to level. A response has energy 1, so that white noise keeps its loudness; audiomentations scales its output
to a peak instead, which makes the filter depend on the sound.

Source: R2-Bench, Table 1, sensor noise of sound; Moorer, "About this reverberation business", Computer Music Journal 3
(1979): decaying noise in place of a recorded tail.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, log
from typing import Final

import numpy as np

from auscult.arrays.resampling import power_of_two
from auscult.stress.perturbation import Constant, Perturbs, SeedParams, Share
from auscult.stress.sound.base import SoundStressor
from auscult.stress.sound.convolution import convolve
from auscult.stress.sound.noise_makers import moving
from auscult.types import Metadata, Samples

_FRAME_S: Final = 0.008
_ECHOES: Final = 12
_ECHO_SHARE: Final = 0.3  # of the reverberation's energy
_FADE: Final = 0.1  # of the length, at the end


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponseParams(SeedParams):
    """Parameters of the impulse response."""

    damping: Share  # how fast high tones die, 0 (at 6 kHz twice as fast as low ones) to 1 (at 1.5 kHz)
    gap: Share  # how long after the direct sound the first echo comes, 0 (2 ms) to 1 (20 ms)


class ImpulseResponse(Perturbs[ResponseParams]):
    """Filters the sound by a synthetic impulse response."""

    name = "sound.impulse_response.v1"
    params = ResponseParams
    length = Constant(
        "length",
        (0.6, 0.6, 1.27, 2.61, 3.01, 2.6),
        unit="s",
        exception="lengths of the release's recordings: its fifth is short",
    )
    rt60 = Constant("time to decay by 60 dB", (0.4, 0.4, 0.8, 1.4, 1.9, 2.3), unit="s")
    wet = Constant("energy after the direct sound", (-90.0, -8.0, -5.0, -2.0, 1.0, 4.0), unit="dB of it")
    meta = Metadata(
        summary="filters the sound by a synthetic impulse response of a place and a device",
        goal="a model that knows a source by its onsets or by a dry recording",
        modality="sound",
        source="R2-Bench, Sec. 3.1, Table 1",
        truth="which source sounds when is unchanged; the response outlasts the sound by up to three seconds",
        origin="sensor",
    )

    def render(self, sound: Samples, params: ResponseParams, *, rate_hz: int) -> Samples:
        """The sound through the response, cut where the sound ends; the same for all channels."""
        return convolve(sound, self.response(params, rate_hz=rate_hz))

    def response(self, params: ResponseParams, *, rate_hz: int) -> Samples:
        """The response, float32 (taps,): energy 1, the direct sound first."""
        length_s, rt60_s = self.length.at(params.strength), self.rt60.at(params.strength)
        taps = max(2, ceil(length_s * rate_hz))
        gap = max(1, round((0.002 + 0.018 * params.gap) * rate_hz))
        response = np.zeros(taps, dtype=np.float32)
        response[gap:] = _tail(taps - gap, rt60_s, params=params, rate_hz=rate_hz)
        _scale(response, 1.0 - _ECHO_SHARE)
        response += _echoes(taps, gap, params=params, rate_hz=rate_hz)
        _scale(response, 10.0 ** (self.wet.at(params.strength) / 10.0))
        response[0] = 1.0
        _scale(response, 1.0)
        return response


def _tail(taps: int, rt60_s: float, *, params: ResponseParams, rate_hz: int) -> Samples:
    """Noise that decays, in each band at its own pace, and fades out at its end."""
    hop = power_of_two(max(2, round(_FRAME_S * rate_hz)))
    frequencies = np.arange(hop + 1) * (rate_hz / (2 * hop))
    turning_hz = 6000.0 * 0.25**params.damping
    paces = 3.0 * log(10.0) / rt60_s * (1.0 + frequencies / turning_hz)
    frames = -(-taps // hop) + 1
    times = np.arange(frames, dtype=np.float32) * np.float32(hop / rate_hz)
    magnitudes = np.exp(-times[:, None] * paces.astype(np.float32))
    magnitudes[-1] = 0.0  # what fades into the beginning
    magnitudes[:, 0] = 0.0
    tail = moving(magnitudes, params.stream("response"))[:taps]
    fade = max(1, int(_FADE * taps))
    tail[-fade:] *= np.linspace(1.0, 0.0, fade, dtype=np.float32)
    return tail


def _echoes(taps: int, gap: int, *, params: ResponseParams, rate_hz: int) -> Samples:
    """Early echoes in the 60 ms from the gap on, quieter as they come later; of energy ``_ECHO_SHARE``."""
    rng = params.stream("echoes")
    delays_s, signs = rng.uniform(0.0, 0.06, _ECHOES), rng.integers(2, size=_ECHOES) * 2 - 1
    echoes = np.zeros(taps, dtype=np.float32)
    positions = gap + np.rint(delays_s * rate_hz).astype(np.int64)
    heights = (signs * np.exp(-delays_s / 0.03)).astype(np.float32)
    np.add.at(echoes, positions[positions < taps], heights[positions < taps])
    _scale(echoes, _ECHO_SHARE)
    return echoes


def _scale(response: Samples, energy: float) -> None:
    """Give a response an energy, in place."""
    has = float(np.dot(response, response))
    if has > 0.0:
        response *= np.float32(np.sqrt(energy / has))


STRESSOR: SoundStressor[ResponseParams] = ImpulseResponse()
