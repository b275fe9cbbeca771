"""Perturb the timing of a clip and its sound by name, and render it again from recorded parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from numbers import Real
from typing import Any

import numpy as np

from auscult.errors import UsageError
from auscult.stress.perturbation import Effect, Params, at_fault, chosen, kind_of, loaded
from auscult.stress.sound.making import opened as sound_opened
from auscult.stress.sound.making import rate_of
from auscult.stress.timing.base import AnyTimingStressor, Numbers, Times, TimingInfo, retimed, unheard
from auscult.stress.vision.base import MOST_FPS
from auscult.stress.vision.making import checked_mask, masks_from
from auscult.types import Frames, Mask, Samples, Stressed


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
    truth = Effect(
        masks=None if masks is None else tuple(checked_mask(one, clip.shape[:3])[numbers] for one in masks_from(masks)),
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
    made: object = stressor.frames(params, reel)
    fits = isinstance(made, np.ndarray) and made.shape == (reel.frames,) and made.dtype == np.int64
    if not fits or made.min() < 0 or made.max() >= reel.frames or (np.diff(made) < 0).any():  # type: ignore[attr-defined,call-overload]
        expected = f"int64 ({reel.frames},), from 0, never falling"
        raise at_fault(stressor, f"made no frame numbers of a clip of {reel.frames} frames", expected=expected)
    return made  # type: ignore[return-value]


def heard_by(stressor: AnyTimingStressor, params: Params, times_s: Times) -> Times:
    """The time of the input's sound heard at each time of the output; a UsageError where the stressor gave none."""
    if params.strength == 0.0:
        return times_s
    made: object = stressor.heard(params, times_s)
    fits = isinstance(made, np.ndarray) and made.shape == times_s.shape and made.dtype == np.float64
    if not fits or not np.isfinite(made).all() or (np.diff(made) < 0).any():  # type: ignore[call-overload]
        expected = f"float64 {times_s.shape}, finite, never falling"
        raise at_fault(stressor, "does not tell what is heard when", expected=expected)
    return made  # type: ignore[return-value]


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
