"""What a perturbation of timing is: which frame is shown when, and how much later than its picture sound is heard.

Nothing is drawn or rendered twice: a perturbation chooses, and from its parameters follow the number of the input frame
that each output frame shows, and the time of the input at which each moment of the output's sound is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from numbers import Real
from typing import Annotated, Any, Final, Protocol, TypeAlias, runtime_checkable

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from auscult.errors import UsageError
from auscult.stress.perturbation import Effect, P, Params, Perturbation, Perturbs, at_fault, chosen, kind_of, loaded
from auscult.stress.sound.base import opened as sound_opened
from auscult.stress.sound.base import rate_of
from auscult.stress.vision.base import MOST_FPS, MOST_FRAMES, checked_mask, masks_from
from auscult.types import Frames, Mask, Samples, Stressed

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
        output[:, start:stop] = _interpolated(padded, positions, table=table)
    return output


def _interpolated(padded: Samples, positions: Times, *, table: NDArray[np.float32]) -> Samples:
    samples = padded.shape[1] - 2 * _TAPS
    inside = (positions >= -_WHOLE) & (positions <= samples - 1 + _WHOLE)
    positions = np.clip(positions, 0.0, samples - 1.0)
    nearest = np.rint(positions)
    if np.abs(positions - nearest).max(where=inside, initial=0.0) < _WHOLE:
        exact: Samples = padded[:, nearest.astype(np.int64) + _TAPS] * inside
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
    distance = np.arange(_TAPS)[None, :] - (_TAPS // 2 - 1) - phases
    window = np.i0(_KAISER * np.sqrt(np.clip(1.0 - (distance / (_TAPS // 2)) ** 2, 0.0, 1.0)))
    weights = np.sinc(distance) * window
    table: NDArray[np.float32] = (weights / weights.sum(axis=1, keepdims=True)).astype(np.float32)
    return table


def spans_heard(spans: Sequence[tuple[float, float]], heard: Heard, *, duration_s: float) -> Spans:
    """When spans of the input are heard in the output, in seconds; those that are never heard are left out."""
    times = [(_when(heard, start, duration_s), _when(heard, end, duration_s)) for start, end in spans]
    return tuple((start, end) for start, end in times if end > start)


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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Footage:
    """A clip with its sound.

    Attributes:
        clip: uint8 RGB (T, H, W, 3).
        sound: float32 (samples,) or (channels, samples); None for a silent film.
    """

    clip: Frames
    sound: Samples | None = None


def apply(
    name: str,
    clip: Frames,
    sound: Samples | None = None,
    *,
    rate_fps: float,
    rate_hz: int | None = None,
    severity: float | str = 3,
    seed: int = 0,
    key: str = "",
) -> Footage:
    """Perturb the timing of a clip and its sound.

    Args:
        name: ``timing.offset.v1``, or a short form such as ``offset``.
        clip: uint8 RGB (T, H, W, 3).
        sound: Its sound, (samples,) or (channels, samples), as ``stress.sound`` takes it; None where there is none.
        rate_fps: Frames per second.
        rate_hz: Samples per second; needed with a sound.
        severity: 0..5, or ``low``, ``medium``, ``high`` for 1, 3, 5; 0 changes nothing.
        seed: The run's seed.
        key: What it is made for, an item's id; another key draws anew.

    Returns:
        A new clip and a new sound, each as long as it was.

    Raises:
        UnknownName: No such stressor.
        UsageError: The clip, the sound, a rate or the severity does not fit.

    Example:
        >>> clip = np.zeros((25, 4, 4, 3), np.uint8)
        >>> apply("dropped_frames", clip, rate_fps=25.0, severity=3, seed=7).clip.shape
        (25, 4, 4, 3)
    """
    return perturb(
        name, clip, sound, rate_fps=rate_fps, rate_hz=rate_hz, severity=severity, seed=seed, key=key
    ).output  # fmt: skip


def perturb(
    name: str,
    clip: Frames,
    sound: Samples | None = None,
    *,
    rate_fps: float,
    rate_hz: int | None = None,
    severity: float | str = 3,
    seed: int = 0,
    key: str = "",
    masks: Sequence[Mask] | None = None,
) -> Stressed[Footage, Effect]:
    """Perturb the timing, with its parameters and resulting ground truth; other arguments and errors as in ``apply``.

    ``masks`` of objects, each bool (T, H, W), are to follow the frames that are shown.

    Returns:
        What was made, its parameters, and what became of frames, masks and sound.
    """
    stressor, reel = loaded("timing", name), reel_of(clip, rate_fps)
    params = chosen(stressor, reel, severity=severity, seed=seed, key=key)
    numbers = numbers_of(stressor, params, reel)
    footage = _footage(stressor, params, clip=clip, sound=sound, numbers=numbers, rate_hz=rate_hz)
    times = np.arange(reel.frames) / reel.rate_fps
    heard = partial(heard_by, stressor, params)
    moved = None if masks is None else tuple(checked_mask(mask, clip.shape[:3])[numbers] for mask in masks_from(masks))
    truth = Effect(
        masks=moved,
        frames=tuple(numbers.tolist()),
        silent_s=() if sound is None else unheard(heard, duration_s=np.shape(sound)[-1] / rate_of(rate_hz)),
        offset_s=tuple((numbers / reel.rate_fps - heard(times)).tolist()),
    )
    return Stressed(output=footage, params=params.as_json(), truth=truth)


def render(
    name: str,
    clip: Frames,
    sound: Samples | None = None,
    *,
    params_json: Mapping[str, Any],
    rate_fps: float,
    rate_hz: int | None = None,
) -> Footage:
    """Render again from recorded parameters, byte for byte.

    Raises:
        UnknownName: No such stressor.
        UsageError: The clip, the sound or a rate does not fit.
        InputError: The parameters are not this stressor's.
    """
    stressor, reel = loaded("timing", name), reel_of(clip, rate_fps)
    params = stressor.params.from_json(params_json)
    numbers = numbers_of(stressor, params, reel)
    return _footage(stressor, params, clip=clip, sound=sound, numbers=numbers, rate_hz=rate_hz)


def numbers_of(stressor: AnyTimingStressor, params: Params, reel: TimingInfo) -> Numbers:
    """The number of the input frame that each output frame shows, int64 (frames,); a UsageError where they fall."""
    if params.strength == 0.0:
        return np.arange(reel.frames)
    numbers: object = stressor.frames(params, reel)
    fits = isinstance(numbers, np.ndarray) and numbers.shape == (reel.frames,) and numbers.dtype == np.int64
    if not fits or numbers.min() < 0 or numbers.max() >= reel.frames or (np.diff(numbers) < 0).any():  # type: ignore[attr-defined,call-overload]
        expected = f"int64 ({reel.frames},), from 0, never falling"
        raise at_fault(stressor, f"made no frame numbers of a clip of {reel.frames} frames", expected=expected)
    return numbers  # type: ignore[return-value]


def heard_by(stressor: AnyTimingStressor, params: Params, times_s: Times) -> Times:
    """The time of the input's sound heard at each time of the output; a UsageError where the stressor gave none."""
    if params.strength == 0.0:
        return times_s
    heard: object = stressor.heard(params, times_s)
    fits = isinstance(heard, np.ndarray) and heard.shape == times_s.shape and heard.dtype == np.float64
    if not fits or not np.isfinite(heard).all() or (np.diff(heard) < 0).any():  # type: ignore[call-overload]
        expected = f"float64 {times_s.shape}, finite, never falling"
        raise at_fault(stressor, "does not tell what is heard when", expected=expected)
    return heard  # type: ignore[return-value]


def reel_of(clip: object, rate_fps: object) -> TimingInfo:
    """What may be known of a clip when its timing is perturbed; a UsageError where clip or rate is invalid."""
    if not isinstance(clip, np.ndarray) or clip.dtype != np.uint8 or clip.shape[3:] != (3,) or 0 in clip.shape:
        raise UsageError(f"the clip is {kind_of(clip)}", expected="uint8 (T, H, W, 3), none of them 0")
    numeric = isinstance(rate_fps, Real) and not isinstance(rate_fps, bool)
    if not numeric or not 0.0 < rate_fps <= MOST_FPS:  # type: ignore[operator]
        raise UsageError(f"the rate is {rate_fps!r:.40} frames per second", expected=f"above 0, up to {MOST_FPS:g}")
    return TimingInfo(frames=len(clip), rate_fps=float(rate_fps))  # type: ignore[arg-type]


def _footage(
    stressor: AnyTimingStressor,
    params: Params,
    *,
    clip: Frames,
    sound: Samples | None,
    numbers: Numbers,
    rate_hz: int | None,
) -> Footage:
    if sound is None:
        return Footage(clip=clip[numbers])
    samples = sound_opened(sound)
    if params.strength == 0.0:
        return Footage(clip=clip[numbers], sound=samples.copy().reshape(np.shape(sound)))
    output = retimed(samples, partial(heard_by, stressor, params), rate_hz=rate_of(rate_hz))
    return Footage(clip=clip[numbers], sound=output.reshape(np.shape(sound)))
