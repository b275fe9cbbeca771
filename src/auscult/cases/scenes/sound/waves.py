"""Building blocks of generated sounds: oscillators, bands of noise, plucked strings, repeated events."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Wave: TypeAlias = NDArray[np.float32]

_TABLE = 16_384
_HIGHEST = 0.45
_NOISE_S = 2.0


@dataclass(frozen=True, slots=True)
class Canvas:
    """What a sound is drawn on.

    Attributes:
        count: Samples wanted.
        rate_hz: Sample rate.
        rng: For everything about the grain of the sound; made from the source's seed.
    """

    count: int
    rate_hz: int
    rng: np.random.Generator

    @property
    def time_s(self) -> Wave:
        """Time of every sample, from 0."""
        return np.arange(self.count, dtype=np.float32) / np.float32(self.rate_hz)


def swing(canvas: Canvas, cycles_hz: float, *, phase: float = 0.0) -> Wave:
    """A slow sine, -1 to 1, for vibrato and the like; ``phase`` in turns."""
    return np.asarray(np.sin(canvas.time_s * np.float32(2.0 * np.pi * cycles_hz) + np.float32(2.0 * np.pi * phase)))


def tone(pitch_hz: Wave | float, canvas: Canvas, *, partials: Sequence[float] = (1.0,)) -> Wave:
    """A harmonic tone by wavetable.

    Args:
        pitch_hz: Pitch, one for all samples or one a sample.
        canvas: Its length and rate.
        partials: Amplitudes of the harmonics from the first; those over the range of the rate are left out.

    Returns:
        (samples,) float32, any level.
    """
    top = _HIGHEST * canvas.rate_hz
    pitch = np.minimum(np.broadcast_to(np.asarray(pitch_hz, dtype=np.float32), canvas.count), top)
    highest = float(pitch.max()) if canvas.count else 1.0
    within = max(1, min(len(partials), int(top / max(highest, 1.0))))
    spectrum = np.zeros(_TABLE // 2 + 1, dtype=np.complex64)
    spectrum[1 : within + 1] = np.asarray(partials[:within]) * (-0.5j * _TABLE)
    table = np.fft.irfft(spectrum, _TABLE).astype(np.float32)
    phase = np.cumsum(pitch, dtype=np.float64) * (_TABLE / canvas.rate_hz)
    return np.asarray(table[phase.astype(np.int64) & (_TABLE - 1)])


def noise(canvas: Canvas, *, centre_hz: float, octaves: float) -> Wave:
    """Noise around a frequency, a bell curve over the octaves; repeats without a seam every two seconds or so.

    Args:
        canvas: Its length, rate and random numbers.
        centre_hz: The middle of the band.
        octaves: Standard deviation of the band in octaves.
    """
    size = 1 << (round(min(_NOISE_S, canvas.count / canvas.rate_hz + 0.01) * canvas.rate_hz) - 1).bit_length()
    frequencies = np.fft.rfftfreq(size, 1.0 / canvas.rate_hz)
    frequencies[0] = 1e-3
    away = np.log2(frequencies / min(centre_hz, _HIGHEST * canvas.rate_hz)) / octaves
    weights = np.exp(-0.5 * away**2) / np.sqrt(frequencies)
    turns = canvas.rng.random(len(weights), dtype=np.float32)
    grain = np.fft.irfft(weights * np.exp(2j * np.pi * turns), size)
    grain /= max(float(np.sqrt(np.mean(grain**2))), 1e-12)
    return np.resize(grain.astype(np.float32), canvas.count)


def pluck(canvas: Canvas, *, pitch_hz: float, seconds: float) -> Wave:
    """One plucked string: Karplus and Strong 1983, Eq. 1, a whole period at a time.

    Args:
        canvas: Rate and random numbers; its length is not used.
        pitch_hz: Pitch.
        seconds: Length; it dies away within it.
    """
    period = max(2, round(canvas.rate_hz / pitch_hz - 0.5))
    count = max(1, round(seconds * canvas.rate_hz))
    string = canvas.rng.choice(np.asarray((-1.0, 1.0), dtype=np.float32), period)
    rows = np.empty((-(-count // period), period), dtype=np.float32)
    for row in rows:
        row[:] = string
        string = 0.5 * (string + np.roll(string, 1))
    return rows.ravel()[:count] * dying(count, canvas.rate_hz, half_s=seconds / 4.0)


def dying(count: int, rate_hz: int, *, half_s: float) -> Wave:
    """An envelope that starts at 1 and halves every ``half_s`` seconds."""
    steps = np.arange(count, dtype=np.float32)
    return np.asarray(np.exp2(-steps / np.float32(half_s * rate_hz)))


def repeated(events: Sequence[Wave], canvas: Canvas, *, each_s: float, jitter: float = 0.0) -> Wave:
    """One event after another, in turn, from the first sample to the end; tails run on under later events.

    Args:
        events: One or more short sounds.
        canvas: Length, rate and random numbers.
        each_s: From one start to the next.
        jitter: Random share of ``each_s`` by which a start is late, and of the level by which an event is softer.
    """
    step = max(1.0, each_s * canvas.rate_hz)
    most = int(np.ceil(canvas.count / step))
    late = canvas.rng.random(most, dtype=np.float32) * jitter
    soft = 1.0 - canvas.rng.random(most, dtype=np.float32) * jitter
    sound = np.zeros(canvas.count, dtype=np.float32)
    for index in range(most):
        start = int(step * (index + (late[index] if index else 0.0)))
        event = events[index % len(events)][: max(0, canvas.count - start)]
        sound[start : start + len(event)] += event * soft[index]
    return sound
