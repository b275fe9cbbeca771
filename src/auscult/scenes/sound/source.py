"""What a sound track is before it is mixed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Protocol, TypeAlias

import numpy as np
from msgspec import Meta

from auscult.record.codec import Word
from auscult.types import Samples

Seconds: TypeAlias = Annotated[float, Meta(ge=0.0)]
Span: TypeAlias = tuple[Seconds, Seconds]
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
    spans: tuple[Span, ...]  # when, in seconds; ordered and apart
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
