"""What a sound track is before it is mixed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Protocol, TypeAlias

import numpy as np
from msgspec import Meta

from auscult.record.codec import Word
from auscult.types import Metadata, Samples

Seconds: TypeAlias = Annotated[float, Meta(ge=0.0)]
Span: TypeAlias = tuple[Seconds, Seconds]
_Level: TypeAlias = Annotated[float, Meta(ge=-120.0, le=0.0)]
_Pan: TypeAlias = Annotated[float, Meta(ge=-1.0, le=1.0)]


@dataclass(frozen=True, slots=True, kw_only=True)
class SoundSource:
    """One source of sound: which sound of a set, and everything that was drawn for it.

    Attributes:
        label: What it is: a kind of generated sound (``siren``), or a clip's label (``dog``).
        instance: Name of this one sound within its set; scenes of different splits share none.
        noun: What is heard, as a noun: ``siren``, ``bark``.
        verb: What its maker does, third person: ``wails``, ``barks``.
        countable: One span of it is heard as one sound. False where strokes within a span can be counted, as of a bell,
            and where nobody knows, as of a recording.
        params: What else is needed to make it again; JSON values.
    """

    label: Word
    instance: Word
    noun: Word
    verb: Word
    countable: bool = False
    params: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class SoundTrack:
    """A source in a scene.

    Attributes:
        source: What sounds.
        spans: When, in seconds; ordered and apart.
        gain_db: Level at each of ``times_s``, relative to a fixed reference loudness; 0 or less.
        pan: Place at each of ``times_s``, -1 left to 1 right.
        times_s: Times of ``gain_db`` and ``pan``, rising; values between are interpolated.
    """

    source: SoundSource
    spans: tuple[Span, ...]
    gain_db: tuple[_Level, ...]
    pan: tuple[_Pan, ...]
    times_s: tuple[Seconds, ...]


class SoundSet(Protocol):
    """Where sounds come from."""

    @property
    def name(self) -> str:
        """The set's name, for the record."""
        ...

    @property
    def meta(self) -> Metadata:
        """What it is."""
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
