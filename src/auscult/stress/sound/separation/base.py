"""What a stressor of separation is: of true stems it makes a wrong output, as a sum of three known parts (law 4)."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Final, Literal, TypeAlias

import numpy as np

from auscult.stress.perturbation import P, Params, Perturbs, SeedParams, Share
from auscult.types import Metadata, Samples

Degree: TypeAlias = Literal["lost_share", "interference_db", "artefacts_db"]

_BLOCK: Final = 1 << 20
_FLOOR: Final = 1e-12
"""Below this share of the target's energy a part is rounding."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Stems:
    """The sources of a mixture, which is their sum.

    Attributes:
        target: What a separator should return, float32 (channels, samples), not silent.
        others: The other sources that are not silent, by their place in what was given; shapes as of the target.
        rate_hz: Samples per second.
    """

    target: Samples
    others: Mapping[int, Samples]
    rate_hz: int

    def other(self, share: float) -> int:
        """The place of one of the others, by a drawn number from 0 to 1."""
        places = list(self.others)
        return places[min(int(share * len(places)), len(places) - 1)]

    def rest(self) -> Samples:
        """The sum of the others."""
        return np.asarray(np.sum(list(self.others.values()), axis=0, dtype=np.float32))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Parts:
    """A wrong output as the sum of what it is made of, each float32 (channels, samples) or None.

    Attributes:
        kept: What is left of the target.
        interference: What is heard of other sources.
        artefacts: What is in no source.
        sources: The places of the other sources that are heard.
    """

    kept: Samples
    interference: Samples | None = None
    artefacts: Samples | None = None
    sources: tuple[int, ...] = ()

    def output(self) -> Samples:
        """Their sum, a new array."""
        made = self.kept.copy()
        for part in (self.interference, self.artefacts):
            if part is not None:
                made += part
        return made


@dataclass(frozen=True, slots=True, kw_only=True)
class SeparationTruth:
    """What was done to the target; levels are energies over the whole sound, relative to the true target's.

    Attributes:
        lost_share: Energy of what is missing of the target, 0 to 1.
        interference_db: Of other sources; None where there is none.
        artefacts_db: Of what is in no source; None where there is none.
        snr_db: Of the target to all that is wrong; None where nothing is.
        si_sdr_db: Scale-invariant SDR; None where the output is the target at any level, or holds nothing of it.
        sources: The places of the other sources that are heard.
    """

    lost_share: float = 0.0
    interference_db: float | None = None
    artefacts_db: float | None = None
    snr_db: float | None = None
    si_sdr_db: float | None = None
    sources: tuple[int, ...] = ()


class SeparationStressor(Perturbs[P], ABC):
    """Makes one kind of wrong output.

    Attributes:
        degree: The field of the truth that never falls as strength rises.
        needs_others: Whether there is nothing to make where the target is the only source.
    """

    degree: ClassVar[Degree]
    needs_others: ClassVar[bool] = False

    @abstractmethod
    def render(self, stems: Stems, params: P) -> Parts:
        """Make the output; pure, ``params.strength`` is above 0 here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceParams(Params):
    """Parameters of what lets one other source through."""

    source_share: Share  # which of the other sources, 0 (the first) to 1 (the last)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaceParams(SeedParams):
    """Parameters of what lies somewhere in time or frequency, in an order or with signs that follow from the seed."""

    place: Share  # 0 (at the beginning, or lowest) to 1


def about(summary: str, goal: str, *, source: str = "SAM Audio Judge, Sec. III-A: three axes") -> Metadata:
    """The metadata of a kind of wrong output."""
    truth = "energies lost, left in and added, by construction"
    return Metadata(summary=summary, goal=goal, modality="sound", source=source, truth=truth)


def product(one: Samples, two: Samples) -> float:
    """The sum of the products of two sounds' samples, in double precision a block at a time."""
    flat = one.reshape(-1), two.reshape(-1)
    starts = range(0, flat[0].size, _BLOCK)
    return sum(float(np.dot(*(side[at : at + _BLOCK].astype(np.float64) for side in flat))) for at in starts)


def energy(sound: Samples) -> float:
    """The sum of the squares of a sound's samples."""
    return product(sound, sound)


def at_level(sound: Samples, level_db: float, *, of: Samples) -> Samples:
    """A sound so scaled that its energy is some dB above that of another; silence stays silence."""
    own = energy(sound)
    return sound * np.float32(math.sqrt(energy(of) / own) * 10.0 ** (level_db / 20.0)) if own > 0.0 else sound.copy()


def decibels(share: float) -> float | None:
    """An energy's share in dB; None for one that is rounding."""
    return 10.0 * math.log10(share) if share > _FLOOR else None


def truth_of(parts: Parts, output: Samples, target: Samples) -> SeparationTruth:
    """The truth of an output, from its parts."""
    whole, left = energy(target), energy(output)
    levels = [
        None if part is None else decibels(energy(part) / whole) for part in (parts.interference, parts.artefacts)
    ]
    wrong = decibels(energy(output - target) / whole)
    lost = energy(target - parts.kept) / whole
    alike = product(output, target) ** 2 / whole
    beside = left - alike
    audible = min(alike, beside) > 1e-10 * max(left, _FLOOR * whole)
    return SeparationTruth(
        lost_share=lost if lost > _FLOOR else 0.0,
        interference_db=levels[0],
        artefacts_db=levels[1],
        snr_db=None if wrong is None else -wrong,
        si_sdr_db=10.0 * math.log10(alike / beside) if audible else None,
        sources=parts.sources,
    )
