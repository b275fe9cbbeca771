"""What a perturbation of timing is: which frame is shown when, and how much later than its picture sound is heard.

Nothing is drawn or rendered twice: a perturbation chooses, and from its parameters follow the number of the input frame
that each output frame shows, and the time of the input at which each moment of the output's sound is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final, Protocol, TypeAlias, runtime_checkable

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from auscult.stress.perturbation import P, Perturbation, Perturbs
from auscult.stress.vision.base import MOST_FPS, MOST_FRAMES
from auscult.types import Samples

Numbers: TypeAlias = NDArray[np.int64]
Times: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class TimingInfo:
    """What a perturbation may know of a video when it draws its parameters.

    Attributes:
        frames: How many, 1 or more.
        rate_fps: Frames per second.
    """

    frames: Annotated[int, Meta(ge=1, le=MOST_FRAMES)]
    rate_fps: Annotated[float, Meta(gt=0.0, le=MOST_FPS)]

    @property
    def duration_s(self) -> float:
        """Length in seconds."""
        return self.frames / self.rate_fps


@runtime_checkable
class TimingStressor(Perturbation[P, TimingInfo], Protocol[P]):
    """Perturbs the timing of a video and its sound."""

    def frames(self, params: P, reel: TimingInfo) -> Numbers:
        """The number of the input frame that each output frame shows, int64 (reel.frames,); it never falls."""
        ...

    def heard(self, params: P, times_s: Times) -> Times:
        """The time of the input's sound that is heard at each time of the output.

        Args:
            params: What was drawn; ``params.strength`` is above 0 here.
            times_s: Times of the output in seconds, float64 (n,), rising.

        Returns:
            float64 (n,), never falling. Before 0 and after the end of the sound there is silence.
        """
        ...


AnyTimingStressor: TypeAlias = TimingStressor[Any]


class Retiming(Perturbs[P]):
    """A perturbation of timing that leaves frames and sound in their places, but for what a subclass moves."""

    def frames(self, params: P, reel: TimingInfo) -> Numbers:
        """Every frame in its place."""
        del params
        return np.arange(reel.frames)

    def heard(self, params: P, times_s: Times) -> Times:
        """Every moment in its place."""
        del params
        return times_s


Heard: TypeAlias = Callable[[Times], Times]
"""The time of the input's sound heard at each time of the output; never falling."""

Spans: TypeAlias = tuple[tuple[float, float], ...]

_TAPS: Final = 32
_PHASES: Final = 512
_KAISER: Final = 8.0
_CHUNK: Final = 1 << 15
_WHOLE: Final = 1e-4  # of a sample: nearer than this to one, the sample itself is taken
_HALVINGS: Final = 60


def retimed(sound: Samples, heard: Heard, *, rate_hz: int) -> Samples:
    """A sound, float32 (channels, samples), at other times: a new array of the same shape.

    Where every time falls on a sample, the samples themselves; else between them, by a windowed sinc of 32 taps. Played
    faster by some percent, what then lies above half the rate folds back.
    """
    channels, samples = sound.shape
    padded = np.zeros((channels, samples + 2 * _TAPS), dtype=np.float32)
    padded[:, _TAPS : _TAPS + samples] = sound
    output = np.empty_like(padded, shape=sound.shape)
    table = _table()
    for start in range(0, samples, _CHUNK):
        stop = min(start + _CHUNK, samples)
        positions = heard(np.arange(start, stop) / rate_hz) * rate_hz
        output[:, start:stop] = _taken(padded, positions, table=table)
    return output


def _taken(padded: Samples, positions: Times, *, table: NDArray[np.float32]) -> Samples:
    samples = padded.shape[1] - 2 * _TAPS
    inside = (positions >= -_WHOLE) & (positions <= samples - 1 + _WHOLE)
    positions = np.clip(positions, 0.0, samples - 1.0)
    whole = np.rint(positions)
    if np.abs(positions - whole).max(where=inside, initial=0.0) < _WHOLE:
        exact: Samples = padded[:, whole.astype(np.int64) + _TAPS] * inside
        return exact
    below = np.floor(positions)
    phase = (positions - below) * _PHASES
    row = phase.astype(np.int64)
    share = (phase - row).astype(np.float32)[:, None]
    weights = table[row] + share * (table[row + 1] - table[row])
    windows = np.lib.stride_tricks.sliding_window_view(padded, _TAPS, axis=1)
    first = below.astype(np.int64) + _TAPS - (_TAPS // 2 - 1)
    output: Samples = np.stack([np.einsum("ij,ij->i", channel[first], weights) for channel in windows]) * inside
    return output


def _table() -> NDArray[np.float32]:
    """Weights of the taps for every phase between two samples, (phases + 2, taps), each row summing to 1."""
    phases = np.arange(_PHASES + 2)[:, None] / _PHASES
    away = np.arange(_TAPS)[None, :] - (_TAPS // 2 - 1) - phases
    window = np.i0(_KAISER * np.sqrt(np.clip(1.0 - (away / (_TAPS // 2)) ** 2, 0.0, 1.0)))
    weights = np.sinc(away) * window
    table: NDArray[np.float32] = (weights / weights.sum(axis=1, keepdims=True)).astype(np.float32)
    return table


def spans_heard(spans: Sequence[tuple[float, float]], heard: Heard, *, duration_s: float) -> Spans:
    """When spans of the input are heard in the output, in seconds; those that are never heard are left out."""
    found = [(_when(heard, start, duration_s), _when(heard, end, duration_s)) for start, end in spans]
    return tuple((start, end) for start, end in found if end > start)


def unheard(heard: Heard, *, duration_s: float) -> Spans:
    """When nothing of the input is heard, because it has not begun or is over, in seconds."""
    begins, ends = _when(heard, 0.0, duration_s), _when(heard, duration_s, duration_s)
    return tuple((start, end) for start, end in ((0.0, begins), (ends, duration_s)) if end - start > 1e-9)


def joined(spans: Sequence[tuple[float, float]]) -> Spans:
    """Spans in order, those that touch as one."""
    merged: list[tuple[float, float]] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return tuple(merged)


def _when(heard: Heard, moment_s: float, duration_s: float) -> float:
    """The first time of the output, 0 to its end, at which the input is at ``moment_s`` or later."""
    if float(heard(np.array([0.0]))[0]) >= moment_s:
        return 0.0
    if float(heard(np.array([duration_s]))[0]) < moment_s:
        return duration_s
    low, high = 0.0, duration_s
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if float(heard(np.array([middle]))[0]) >= moment_s:
            high = middle
        else:
            low = middle
    return high
