"""What a perturbation of sound is, and how sounds are perturbed by name and rendered again.

``choose`` draws everything that is random, ``render`` is pure (law 3).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Annotated, Any, Final, Protocol, TypeAlias, TypeGuard, TypeVar, runtime_checkable

import numpy as np
from msgspec import Meta

from auscult.errors import UsageError
from auscult.stress.perturbation import Effect, P, Params, Perturbation, at_fault, chosen, kind_of, loaded
from auscult.types import Samples, Stressed

MOST_HZ: Final = 768_000


@dataclass(frozen=True, slots=True, kw_only=True)
class AudioInfo:
    """What a perturbation may know of a sound when it draws its parameters.

    Attributes:
        samples: Length, 1 or more.
        channels: 1 or more.
        rate_hz: Samples per second.
    """

    samples: Annotated[int, Meta(ge=1, le=1 << 40)]
    channels: Annotated[int, Meta(ge=1, le=1_000)]
    rate_hz: Annotated[int, Meta(ge=1, le=MOST_HZ)]


P_contra = TypeVar("P_contra", bound=Params, contravariant=True)


@runtime_checkable
class SoundStressor(Perturbation[P, AudioInfo], Protocol[P]):
    """Perturbs sound."""

    def render(self, sound: Samples, params: P, *, rate_hz: int) -> Samples:
        """Perturb a sound.

        Args:
            sound: float32 (channels, samples), finite; never written to.
            params: What was drawn; ``params.strength`` is above 0 here.
            rate_hz: Samples per second.

        Returns:
            A new float32 array of the same shape, aligned with the input to one sample. It may leave [-1, 1], as the
            sum of two loud sounds does; whoever writes it to a file decides what becomes of that.
        """
        ...


@runtime_checkable
class SilencingStressor(Protocol[P_contra]):
    """A perturbation that takes the sound away for a while."""

    def silent(self, params: P_contra, take: AudioInfo) -> tuple[tuple[float, float], ...]:
        """The spans without sound, (start, end) in seconds."""
        ...


@runtime_checkable
class MixingStressor(Protocol[P_contra]):
    """A perturbation that mixes in another sound, which the caller may bring."""

    def mix(self, sound: Samples, noise: Samples, params: P_contra, *, rate_hz: int) -> Samples:
        """Perturb a sound by another.

        Args:
            sound: float32 (channels, samples).
            noise: The other sound at the same rate, float32 (channels, samples) of any number of either, 1 or more.
            params: What was drawn.
            rate_hz: Samples per second.
        """
        ...


@runtime_checkable
class BlockStressor(Protocol[P_contra]):
    """A perturbation of which a part of a sound is enough to render that part."""

    def block(self, sound: Samples, params: P_contra, *, start: int, take: AudioInfo) -> Samples:
        """What ``render`` makes of the samples from ``start`` on, bit for bit.

        Args:
            sound: Those samples, float32 (channels, samples).
            params: What was drawn.
            start: The number of the first.
            take: The whole sound.
        """
        ...


AnySoundStressor: TypeAlias = SoundStressor[Any]


def silences(stressor: AnySoundStressor) -> TypeGuard[SilencingStressor[Any]]:
    """Whether it takes the sound away for a while; checking the whole protocol would take longer than a gain."""
    return hasattr(stressor, "silent")


def keeps_silence(stressor: AnySoundStressor) -> bool:
    """Whether what it makes of silence is silence, but for what a filter spreads of the sound beside it.

    It says so by an attribute ``keeps_silence`` that is true; noise, echoes and codecs have none.
    """
    return bool(getattr(stressor, "keeps_silence", False))


def renders_blocks(stressor: AnySoundStressor) -> TypeGuard[BlockStressor[Any]]:
    """Whether a part of a sound is enough to render that part."""
    return hasattr(stressor, "block")


def mixes(stressor: AnySoundStressor) -> TypeGuard[MixingStressor[Any]]:
    """Whether it mixes in another sound."""
    return hasattr(stressor, "mix")


_MOST_CHANNELS = 64
_EXPECTED = "float32 or float64 (samples,) or (channels, samples), at least one sample, all finite"
_FLOATS = frozenset({np.dtype(np.float32), np.dtype(np.float64)})
_WHOLES = frozenset({np.dtype(np.int16), np.dtype(np.int32)})


def apply(
    name: str,
    sound: Samples,
    *,
    rate_hz: int,
    severity: float | str = 3,
    seed: int = 0,
    key: str = "",
    noise: Samples | None = None,
) -> Samples:
    """Perturb a sound.

    Args:
        name: ``sound.gain.v1``, or a short form such as ``gain``.
        sound: float32 in [-1, 1], (samples,) or (channels, samples); int16 and int32 are scaled by their range.
        rate_hz: Samples per second.
        severity: 0..5, or ``low``, ``medium``, ``high`` for 1, 3, 5; 0 changes nothing.
        seed: The run's seed.
        key: What it is made for, an item's id; another key draws anew.
        noise: Another sound at the same rate, for a perturbation that mixes one in; it makes its own otherwise.

    Returns:
        float32 of the same shape, aligned to one sample. It may leave [-1, 1].

    Raises:
        UnknownName: No such stressor.
        UsageError: The sound is empty, not finite or of another type; the severity is out of range; or an extra that
            the perturbation needs is not installed.

    Example:
        >>> tone = np.sin(np.arange(8000) * 0.1).astype(np.float32)
        >>> apply("gain", tone, rate_hz=8000, severity=2, seed=7).shape
        (8000,)
    """
    return perturb(name, sound, rate_hz=rate_hz, severity=severity, seed=seed, key=key, noise=noise).output


def perturb(
    name: str,
    sound: Samples,
    *,
    rate_hz: int,
    severity: float | str = 3,
    seed: int = 0,
    key: str = "",
    noise: Samples | None = None,
) -> Stressed[Samples, Effect]:
    """Perturb a sound, with its parameters and resulting ground truth; arguments and errors as in ``apply``.

    Returns:
        What was made, its parameters, and the spans that were silenced.
    """
    stressor, samples = loaded("sound", name), opened(sound)
    take = _take(samples, rate_hz)
    params = chosen(stressor, take, severity=severity, seed=seed, key=key)
    output = rendered(stressor, samples, params, rate_hz=take.rate_hz, noise=noise)
    silent: tuple[tuple[float, float], ...] = ()
    if silences(stressor) and params.strength > 0.0:
        silent = stressor.silent(params, take)
    return Stressed(output=output.reshape(sound.shape), params=params.as_json(), truth=Effect(silent_s=silent))


def _take(sound: Samples, rate_hz: object) -> AudioInfo:
    """The ``AudioInfo`` of an opened sound."""
    return AudioInfo(samples=sound.shape[1], channels=sound.shape[0], rate_hz=rate_of(rate_hz))


def render(
    name: str, sound: Samples, params_json: Mapping[str, Any], *, rate_hz: int, noise: Samples | None = None
) -> Samples:
    """Render again from recorded parameters, byte for byte; ``noise`` must be the same as before.

    Raises:
        UnknownName: No such stressor.
        UsageError: The sound is of another shape or type.
        InputError: The parameters are not this stressor's.
    """
    stressor = loaded("sound", name)
    params = stressor.params.from_json(params_json)
    output = rendered(stressor, opened(sound), params, rate_hz=rate_of(rate_hz), noise=noise)
    return output.reshape(np.shape(sound))


def rendered(
    stressor: AnySoundStressor, sound: Samples, params: Params, *, rate_hz: int, noise: Samples | None = None
) -> Samples:
    """A sound (channels, samples), perturbed; a copy at strength 0; a UsageError where the stressor returned none."""
    if noise is not None and not mixes(stressor):
        raise UsageError(f"{stressor.name} mixes nothing in", hint="leave out the noise, or take background_noise")
    if params.strength == 0.0:
        return sound.copy()
    if noise is not None and mixes(stressor):
        return _checked(stressor, stressor.mix(sound, opened(noise), params, rate_hz=rate_hz), sound)
    return _checked(stressor, stressor.render(sound, params, rate_hz=rate_hz), sound)


def _checked(stressor: Any, output: object, sound: Samples) -> Samples:
    if not isinstance(output, np.ndarray) or output.shape != sound.shape or output.dtype != np.float32:
        raise at_fault(stressor, f"made {kind_of(output)}", expected=f"float32 {sound.shape}")
    return output


def opened(sound: object) -> Samples:
    """A sound as float32 (channels, samples), C-contiguous; a UsageError where it is no sound, empty, or not finite."""
    if not isinstance(sound, np.ndarray) or sound.ndim not in {1, 2} or 0 in sound.shape:
        raise UsageError(f"the sound is {kind_of(sound)}", expected=_EXPECTED)
    if sound.dtype in _WHOLES:
        sound = sound / float(-np.iinfo(sound.dtype).min)
    elif sound.dtype not in _FLOATS:
        raise UsageError(
            f"the sound is {sound.dtype} {sound.shape}", expected=_EXPECTED, hint="int16 and int32 will do as well"
        )
    with np.errstate(over="ignore", invalid="ignore"):  # overflow is reported below
        array = np.ascontiguousarray(sound if sound.ndim == 2 else sound[None], dtype=np.float32)
        flat = array.reshape(-1)
        power = np.dot(flat, flat)  # one pass, where all is well
    if not math.isfinite(power) and not np.isfinite(array).all():
        raise UsageError("the sound holds NaN, infinity, or numbers beyond float32", expected=_EXPECTED)
    if array.shape[0] > _MOST_CHANNELS and array.shape[0] > array.shape[1]:
        raise UsageError(
            f"the sound has {array.shape[0]} channels", expected="(channels, samples)", hint="transpose it"
        )
    return array


def rate_of(rate_hz: object) -> int:
    """Samples per second, as a whole number; a UsageError where it is no whole number, or out of range."""
    numeric = isinstance(rate_hz, Real) and not isinstance(rate_hz, bool)
    if not numeric or not 0 < rate_hz <= MOST_HZ or int(rate_hz) != rate_hz:  # type: ignore[call-overload,operator]
        raise UsageError(f"the rate of the sound is {rate_hz!r:.40} Hz", expected=f"a whole number up to {MOST_HZ}")
    return int(rate_hz)  # type: ignore[call-overload,no-any-return]
