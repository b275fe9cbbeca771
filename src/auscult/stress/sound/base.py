"""What a perturbation of sound is: ``choose`` draws everything that is random, ``render`` is pure (law 3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Final, Protocol, TypeAlias, TypeGuard, TypeVar, runtime_checkable

from msgspec import Meta

from auscult.stress.perturbation import P, Params, Perturbation
from auscult.types import Samples

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


AnySoundStressor: TypeAlias = SoundStressor[Any]


def silences(stressor: AnySoundStressor) -> TypeGuard[SilencingStressor[Any]]:
    """Whether it takes the sound away for a while; checking the whole protocol would take longer than a gain."""
    return hasattr(stressor, "silent")


def keeps_silence(stressor: AnySoundStressor) -> bool:
    """Whether what it makes of silence is silence, but for what a filter spreads of the sound beside it.

    It says so by an attribute ``keeps_silence`` that is true; noise, echoes and codecs have none.
    """
    return bool(getattr(stressor, "keeps_silence", False))


def mixes(stressor: AnySoundStressor) -> TypeGuard[MixingStressor[Any]]:
    """Whether it mixes in another sound."""
    return hasattr(stressor, "mix")
