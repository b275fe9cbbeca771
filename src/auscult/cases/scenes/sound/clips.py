"""Recorded sounds made fit for a scene: one channel, only what is heard, as long as its span."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from auscult.cases.scenes.sound.loudness import edged
from auscult.cases.scenes.sound.resampling import resampled
from auscult.errors import InputError
from auscult.media.limits import Limits
from auscult.media.sound import read_sound
from auscult.media.wav import Sound
from auscult.types import Samples

SHORTEST_S = 0.05
"""A recording in which less is heard is too short to be recognised."""

LONGEST_PAUSE_S = 0.2
"""Longer pauses inside a recording are cut to this, so that one span is heard as one."""

LIMITS = Limits(max_bytes=134_217_728, max_seconds=900.0, max_samples=60_000_000)

_FRAME_S = 0.01
_TAIL_FRAMES = 3
_HEARD_DB = 25.0
_ONSET_DB = 18.0
_LEAD_FRAMES = 1
_SILENT = 1e-3
_JOIN_S = 0.03
_STRIKE_S = 0.6
_CANCELLED = 0.2


def read_clip(path: Path, *, limits: Limits = LIMITS) -> Sound:
    """Read a recording as one channel, without silence around it and without long pauses.

    Heard is what lies, over 10 ms, at most 25 dB below the loudest. The clip begins where it first comes within 18 dB,
    so that a span starts with its sound and not with the noise before it.

    Returns:
        (1, samples) float32 at the recording's own rate and level.

    Raises:
        InputError: It cannot be read, is silent, or less than 0.05 s is heard in it.
        TooLarge: Over ``limits``.
        UsageError: It is no WAV file, and the extra `video` is not installed.
    """
    sound = read_sound(path, limits=limits)
    mono = _one_channel(sound.samples)
    if float(np.max(np.abs(mono))) < _SILENT:
        raise InputError("the sound is silent", expected="a sound louder than -60 dB", path=path)
    size = max(1, round(_FRAME_S * sound.rate_hz))
    frames = np.zeros((-(-len(mono) // size), size), dtype=np.float32)
    frames.reshape(-1)[: len(mono)] = mono
    heard = _heard(frames)
    if len(heard) * _FRAME_S < SHORTEST_S:
        raise InputError(
            f"only {len(heard) * _FRAME_S:.2f} s of the sound are heard",
            expected=f"at least {SHORTEST_S} s",
            path=path,
        )
    return Sound(samples=frames[_kept(heard, len(frames))].reshape(1, -1), rate_hz=sound.rate_hz)


def fitted(clip: Sound, *, count: int, rate_hz: int) -> Samples:
    """Cut a recording to a length, or repeat it with joins that cannot be heard; from its beginning.

    A recording shorter than 0.6 s, such as a knock, is repeated with a pause of 0.2 s: end to end it would be a buzz.

    Args:
        clip: As ``read_clip`` gives it.
        count: Samples wanted.
        rate_hz: Rate wanted.

    Returns:
        (count,) float32 at the recording's own level.
    """
    wanted = int(np.ceil((count / rate_hz + _FRAME_S) * clip.rate_hz))
    sound = resampled(clip.samples[0, :wanted], from_hz=clip.rate_hz, to_hz=rate_hz)
    if len(sound) >= count:
        return sound[:count]
    if len(sound) < _STRIKE_S * rate_hz:
        sound = np.pad(edged(sound, rate_hz=rate_hz), (0, round(LONGEST_PAUSE_S * rate_hz)))
    join = min(round(_JOIN_S * rate_hz), len(sound) // 4)
    step = len(sound) - join
    rise = np.sin(np.linspace(0.0, np.pi / 2.0, join, dtype=np.float32))
    piece = sound.copy()
    piece[step:] *= rise[::-1]
    whole = np.zeros(-(-count // step) * step + join, dtype=np.float32)
    for start in range(0, len(whole) - join, step):
        whole[start : start + len(piece)] += piece
        piece[:join] = sound[:join] * rise  # from the second on it rises out of the end of the one before
    return whole[:count]


def _one_channel(samples: Samples) -> NDArray[np.float32]:
    """The mean of the channels; the first where they cancel one another out."""
    mono = np.asarray(samples.mean(axis=0), dtype=np.float32)
    if float(np.std(mono)) < _CANCELLED * float(np.std(samples[0])):
        return np.asarray(samples[0])
    return mono


def _heard(frames: NDArray[np.float32]) -> NDArray[np.intp]:
    """Which frames are heard, from where the sound sets in."""
    power = np.mean(frames**2, axis=1)
    loudest = float(power.max())
    onset = int(np.argmax(power > loudest * 10.0 ** (-_ONSET_DB / 10.0)))
    heard = np.flatnonzero(power > loudest * 10.0 ** (-_HEARD_DB / 10.0))
    return heard[heard >= onset - _LEAD_FRAMES]


def _kept(heard: NDArray[np.intp], count: int) -> NDArray[np.bool_]:
    """The frames to keep: what is heard, short pauses whole, the beginning of long ones, and a tail."""
    most = round(LONGEST_PAUSE_S / _FRAME_S)
    keep = np.zeros(count, dtype=np.bool_)
    pieces = np.split(heard, np.flatnonzero(np.diff(heard) > most) + 1)
    for number, piece in enumerate(pieces):
        tail = _TAIL_FRAMES if number == len(pieces) - 1 else most
        keep[piece[0] : piece[-1] + 1 + tail] = True
    return keep
