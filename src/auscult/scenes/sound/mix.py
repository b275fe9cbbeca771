"""Tracks put together into one stereo sound.

Levels are true to one another and, as a rule, absolute: a track arrives at ``REFERENCE_DB`` plus its gain, whatever
else sounds. Only where the sum would pass ``CEILING`` is the whole mix turned down by one gain, which is returned.

Loudness is that of ITU-R BS.1770-4 (Annex 1) without gating: the mean square after the K-weighting
filters, in decibels.
A sound in a scene is only as long as its span, so there is no silence for a gate to leave out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Protocol, TypeAlias

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from auscult.record.codec import Word
from auscult.types import Samples

Seconds: TypeAlias = Annotated[float, Meta(ge=0.0)]
TimeSpan: TypeAlias = tuple[Seconds, Seconds]
_Level: TypeAlias = Annotated[float, Meta(ge=-120.0, le=0.0)]
_Pan: TypeAlias = Annotated[float, Meta(ge=-1.0, le=1.0)]


@dataclass(frozen=True, slots=True, kw_only=True)
class SoundSource:
    """One source of sound: which sound of a set, and everything that was drawn for it."""

    label: Word  # what it is: a kind of generated sound (`siren`), or a clip's label (`dog`)
    instance: Word  # name of this one sound within its set; scenes of different splits share none
    noun: Word  # what is heard, as a noun: `siren`, `bark`
    verb: Word  # what its maker does, third person: `wails`, `barks`
    # one span of it is heard as one sound. False where strokes within a span can be counted, as of a bell, and where
    # nobody knows, as of a recording
    countable: bool = False
    params: Mapping[str, Any] = field(default_factory=dict)  # what else is needed to make it again; JSON values


@dataclass(frozen=True, slots=True, kw_only=True)
class SoundTrack:
    """A source in a scene."""

    source: SoundSource  # what sounds
    spans: tuple[TimeSpan, ...]  # when, in seconds; ordered and apart
    gain_db: tuple[_Level, ...]  # level at each of `times_s`, relative to a fixed reference loudness; 0 or less
    pan: tuple[_Pan, ...]  # place at each of `times_s`, -1 left to 1 right
    times_s: tuple[Seconds, ...]  # times of `gain_db` and `pan`, rising; values between are interpolated


class SoundSet(Protocol):
    """Where sounds come from."""

    @property
    def name(self) -> str:
        """The set's name, for the record."""
        ...

    def instances(self) -> Mapping[str, tuple[str, ...]]:
        """Label to the names of its instances, both in a fixed order."""
        ...

    def source(self, rng: np.random.Generator, label: str, *, instance: str) -> SoundSource:
        """Draw everything that is free about an instance."""
        ...

    def samples(self, source: SoundSource, *, seconds: float, rate_hz: int) -> Samples:
        """The source alone, (samples,) float32 at reference loudness, ``round(seconds * rate_hz)`` long; pure."""
        ...


CEILING = 0.98
"""No sample is larger in size."""

_CONTROL_S = 0.01


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Mix:
    """A mixed sound."""

    samples: Samples  # (2, samples) float32, left and right, at most `CEILING` in size
    gain_db: float  # what every track was turned down by to stay under the ceiling; 0 as a rule, else below


def mix_down(tracks: Sequence[SoundTrack], sounds: SoundSet, *, seconds: float, rate_hz: int) -> Mix:
    """Render every track in its spans, at its level and place, and sum; no track gives silence. Pure.

    A span from ``a`` to ``b`` takes the samples ``round(a * rate_hz)`` up to ``round(b * rate_hz)``; each span is a
    sound of its own, from its beginning. Level is interpolated in decibels, pan by angle at constant power.
    """
    count = round(seconds * rate_hz)
    total = np.zeros((2, count), dtype=np.float32)
    for track in tracks:
        _add(track, sounds, total=total, rate_hz=rate_hz)
    peak = float(np.max(np.abs(total))) if total.size else 0.0
    if peak <= CEILING:
        return Mix(samples=total, gain_db=0.0)
    gain = CEILING / peak
    return Mix(samples=np.clip(total * np.float32(gain), -CEILING, CEILING), gain_db=20.0 * float(np.log10(gain)))


def _add(track: SoundTrack, sounds: SoundSet, *, total: NDArray[np.float32], rate_hz: int) -> None:
    rendered: dict[int, Samples] = {}
    for start_s, end_s in track.spans:
        start = round(start_s * rate_hz)
        length = min(round(end_s * rate_hz), total.shape[1]) - start
        if length <= 0:
            continue
        if length not in rendered:
            rendered[length] = sounds.samples(track.source, seconds=length / rate_hz, rate_hz=rate_hz)
        left, right = _gains(track, (start, length), rate_hz=rate_hz)
        sound = rendered[length][:length]
        total[0, start : start + length] += sound * left
        total[1, start : start + length] += sound * right


def _gains(
    track: SoundTrack, span: tuple[int, int], *, rate_hz: int
) -> tuple[NDArray[np.float32] | np.float32, NDArray[np.float32] | np.float32]:
    """Left and right factor of every sample of a span; a single factor where neither level nor place changes."""
    start, length = span
    step = max(1, round(_CONTROL_S * rate_hz))
    knots = np.arange(0, length + step, step)
    times = (start + knots) / rate_hz
    level = 10.0 ** (np.interp(times, track.times_s, track.gain_db) / 20.0)
    angle = (np.interp(times, track.times_s, track.pan) + 1.0) * (np.pi / 4.0)
    sides = level * np.cos(angle), level * np.sin(angle)
    if np.ptp(level) == 0.0 and np.ptp(angle) == 0.0:
        return np.float32(sides[0][0]), np.float32(sides[1][0])
    samples = np.arange(length)
    left, right = (np.interp(samples, knots, side).astype(np.float32) for side in sides)
    return left, right


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
    """Loudness of one channel, float32 (samples,), ungated, in LUFS; -inf for silence or no samples."""
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
    """Bring a sound, (samples,) of any level, to the reference loudness and fade its ends; float32, below 1 in size.

    Peaks over 0.7 are rounded off smoothly, and the gain is set again until the loudness is right; the fades last 4 ms
    in and 20 ms out, or a quarter of a short sound. Silence stays silence.
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


SOFTEST_DB = -18.0


def gain_by_distance(distance: float) -> float:
    """Level of a thing in dB, 0 at distance 1 and nearer: twice as far, its sound pressure is half, 6 dB less."""
    return float(np.clip(20.0 * np.log10(1 / distance), SOFTEST_DB, 0.0))


def pan_by_x(x: float) -> float:
    """Pan of a place: x 0 (left edge) to 1 (right edge) gives -1 to 1; beyond an edge it stays there."""
    return float(np.clip(2.0 * x - 1.0, -1.0, 1.0))


def arrival_db(track: SoundTrack) -> float:
    """How loud a track arrives, relative to full scale: its mean power over its spans, as LUFS over both channels.

    Panning keeps the power, so the place does not matter. A common gain of the mix (``Mix.gain_db``) comes on top.
    """
    power, total = 0.0, 0.0
    for start, end in track.spans:
        times = np.linspace(start, end, 65)
        gains = np.interp(times, track.times_s, track.gain_db)
        power += float(np.mean(10.0 ** (gains / 10.0))) * (end - start)
        total += end - start
    return REFERENCE_DB + 10.0 * float(np.log10(power / total))
