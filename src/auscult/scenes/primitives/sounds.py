"""Sounds of ASQA: tones, noise and clicks, of 16,000 Hz. What cannot be told is silent."""

from __future__ import annotations

from typing import Final

import numpy as np

from auscult.scenes.primitives.base import RATE_HZ, Stimulus
from auscult.scenes.sound.generated import Canvas, dying, noise, tone
from auscult.scenes.sound.mix import edged
from auscult.types import Samples

SECONDS: Final = 4.0
_PAUSE_S: Final = 0.4
_LOUD: Final = 0.12
_BEAT_S: Final = 0.06


def silence(seconds: float = SECONDS) -> Samples:
    """Zeros."""
    return np.zeros(round(seconds * RATE_HZ), np.float32)


def silent(_: np.random.Generator) -> Stimulus:
    """Silence: a question about it has no answer."""
    return Stimulus(sound=silence(), empty=True)


def beep(rng: np.random.Generator, seconds: float, *, pitch_hz: float | None = None) -> Samples:
    """A tone with some overtones, of RMS 1, faded in and out."""
    canvas = _canvas(rng, seconds)
    partials = (1.0, *(float(rng.uniform(0.0, 0.5)) for _ in range(3)))
    sound = tone(float(rng.uniform(300, 1200)) if pitch_hz is None else pitch_hz, canvas, partials=partials)
    return _level(edged(sound, rate_hz=RATE_HZ))


def hiss(rng: np.random.Generator, seconds: float) -> Samples:
    """Broad noise of RMS 1, faded in and out."""
    sound = noise(_canvas(rng, seconds), centre_hz=float(rng.uniform(800, 3000)), octaves=3.0)
    return _level(edged(sound, rate_hz=RATE_HZ))


def clarity(rng: np.random.Generator, answer: str) -> Stimulus:
    """The same tone twice, in little and in much noise; first, second or neither is the clear one."""
    seconds = _span(rng)
    clean = beep(rng, seconds)
    clear_db, dim_db = float(rng.uniform(24, 30)), float(rng.uniform(-2, 4))
    both_db = clear_db if rng.random() < 0.5 else dim_db
    snr_db = {"first": (clear_db, dim_db), "second": (dim_db, clear_db), "the same": (both_db, both_db)}[answer]
    parts = [_level(clean * np.float32(_gain(level_db)) + hiss(rng, seconds)) for level_db in snr_db]
    return Stimulus(sound=_in_turn(rng, parts))


def volume(rng: np.random.Generator, answer: str) -> Stimulus:
    """The same sound twice, first or second the louder by 8 to 14 dB, or both alike."""
    seconds = _span(rng)
    sound = beep(rng, seconds) if rng.random() < 0.5 else hiss(rng, seconds)
    soft = _gain(-float(rng.uniform(8, 14)))
    both = soft if rng.random() < 0.5 else 1.0
    gains = {"first": (1.0, soft), "second": (soft, 1.0), "the same": (both, both)}[answer]
    return Stimulus(sound=_in_turn(rng, [sound * np.float32(gain) for gain in gains]))


def order(rng: np.random.Generator, answer: str) -> Stimulus:
    """A tone and noise, one after the other."""
    parts = [beep(rng, _span(rng)), hiss(rng, _span(rng))]
    return Stimulus(sound=_in_turn(rng, parts if answer == "tone" else parts[::-1]))


def presence(rng: np.random.Generator, answer: str) -> Stimulus:
    """Noise, with or without a tone within it for about a second."""
    sound = hiss(rng, SECONDS) * np.float32(0.6)
    within, start = beep(rng, float(rng.uniform(0.8, 1.4))), round(float(rng.uniform(0.4, 2.2)) * RATE_HZ)
    if answer == "yes":
        sound[start : start + len(within)] += within
    return Stimulus(sound=_loud(sound))


def beats(rng: np.random.Generator, answer: str) -> Stimulus:
    """So many short clicks, at least a quarter of a second apart and in no rhythm; silent for 0."""
    count = int(answer)
    pitch = float(rng.uniform(600, 2400))
    click = beep(rng, _BEAT_S, pitch_hz=pitch) * dying(round(_BEAT_S * RATE_HZ), RATE_HZ, half_s=_BEAT_S / 3)
    sound = silence()
    for start_s in spread_s(rng, count, least_s=0.25, within=(0.15, SECONDS - 0.2)):
        start = round(start_s * RATE_HZ)
        sound[start : start + len(click)] += click
    return Stimulus(sound=_loud(sound * np.float32(2.0)), empty=count == 0)


def spread_s(rng: np.random.Generator, count: int, *, least_s: float, within: tuple[float, float]) -> tuple[float, ...]:
    """So many times in an interval, drawn evenly among all that are so far apart at least."""
    low, high = within
    room = high - low - least_s * max(count - 1, 0)
    offsets = np.sort(rng.uniform(0, room, count)).tolist()
    return tuple(low + offset + least_s * number for number, offset in enumerate(offsets))


def _canvas(rng: np.random.Generator, seconds: float) -> Canvas:
    return Canvas(round(seconds * RATE_HZ), RATE_HZ, rng)


def _span(rng: np.random.Generator) -> float:
    return float(rng.uniform(1.0, 1.5))


def _gain(decibels: float) -> float:
    return float(10 ** (decibels / 20))


def _level(sound: Samples) -> Samples:
    return np.asarray(sound / np.float32(np.sqrt(np.mean(np.square(sound)))), np.float32)


def _in_turn(rng: np.random.Generator, parts: list[Samples]) -> Samples:
    """Two sounds of RMS 1 at most, the same pause before, between and about as much after, of 4 s."""
    pause = silence(_PAUSE_S)
    sound = np.concatenate([silence(float(rng.uniform(0.1, 0.3))), parts[0], pause, parts[1], silence()])
    return _loud(sound[: round(SECONDS * RATE_HZ)])


def _loud(sound: Samples) -> Samples:
    return np.asarray(np.clip(sound * np.float32(_LOUD), -1, 1), np.float32)
