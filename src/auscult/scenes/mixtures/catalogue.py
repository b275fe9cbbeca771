"""What mixtures are made of: clips by class, each of one recording, and each recording in one part of the split.

Parts are ``train``, ``calibration`` and ``test``. Where a recording is not in the committed split, its part follows
from a hash of its name, and a quarter of the classes is unseen: all their recordings are for tests.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, Protocol, TypeAlias

from auscult.rng import generator
from auscult.scenes.mixtures.classes import Classes, committed_classes
from auscult.scenes.sound import generated
from auscult.types import Samples

Part: TypeAlias = Literal["train", "calibration", "test"]
PARTS: Final[tuple[Part, ...]] = ("train", "calibration", "test")
UNSEEN_SHARE: Final = 0.25
_PART_ENDS: Final[Mapping[Part, float]] = {"train": 0.5, "calibration": 0.7, "test": 1.0}


@dataclass(frozen=True, slots=True, kw_only=True)
class Clip:
    """One file of sound, or one generated sound."""

    id: str  # unique in its catalogue
    label: str  # its class
    recording: str  # clips of one recording or series have it in common
    voice: str  # clips that one source may play one after another: of a speaker, an instrument, a recording
    part: Part
    seen: bool  # whether its class is one that training may use


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """A picture of what makes a sound."""

    id: str  # unique in its catalogue, clips included
    label: str
    part: Part


class Catalogue(Protocol):
    """Where clips come from."""

    @property
    def name(self) -> str:
        """For the record."""
        ...

    @property
    def digest(self) -> str:
        """Hash of the files that it has; empty where it has none."""
        ...

    @property
    def clips(self) -> Sequence[Clip]:
        """All clips, in a fixed order."""
        ...

    @property
    def classes(self) -> Classes:
        """What is known of their classes."""
        ...

    @property
    def pictures(self) -> Sequence[Picture]:
        """All pictures, in a fixed order."""
        ...

    def samples(self, ids: Sequence[str], *, seconds: float, offset: float, rate_hz: int) -> Samples:
        """Clips one after another, repeated where they are too short, (samples,) float32 of any level; pure.

        Where they are longer than ``seconds``, ``offset`` from 0 to 1 says how late it begins.
        """
        ...

    def picture(self, name: str) -> bytes:
        """A picture's file."""
        ...


def share_of(name: str) -> float:
    """A number from 0 to 1 that depends on a name alone."""
    return int.from_bytes(hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest()) / 2**64


def part_of(recording: str, *, seen: bool) -> Part:
    """The part of a recording that the committed split does not have."""
    share = share_of(recording) if seen else 1.0
    return next(part for part in PARTS if share <= _PART_ENDS[part])


class GeneratedCatalogue:
    """The generated sounds, sixty of each of eighteen classes."""

    name = "generated"
    digest = ""
    classes = committed_classes()
    pictures: tuple[Picture, ...] = ()

    def __init__(self) -> None:
        unseen = {label for label in generated.KINDS if share_of(label) < UNSEEN_SHARE}
        self.clips = tuple(
            Clip(id=name, label=label, recording=name, voice=name, part=part_of(name, seen=seen), seen=seen)
            for label, names in generated.GENERATED.instances().items()
            for seen in (label not in unseen,)
            for name in names
        )

    def samples(self, ids: Sequence[str], *, seconds: float, offset: float, rate_hz: int) -> Samples:  # noqa: ARG002 - it is made as long as asked for
        """The first of the sounds."""
        label = ids[0].rpartition("-")[0]
        source = generated.GENERATED.source(generator(0, "mixture", ids[0]), label, instance=ids[0])
        return generated.GENERATED.samples(source, seconds=seconds, rate_hz=rate_hz)

    def picture(self, name: str) -> bytes:
        """There is none."""
        raise KeyError(name)


GENERATED: Final[Catalogue] = GeneratedCatalogue()
