"""What a stressor of separation is: of true stems it makes a wrong output, as a sum of three known parts (law 4)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias, get_type_hints

import numpy as np

from auscult.stress.perturbation import Constant, Params, Perturbs, Share
from auscult.types import Metadata, Samples

Degree: TypeAlias = Literal["lost_share", "interference_db", "artefacts_db"]

_FLOOR: Final = 1e-12
"""Below this share of the target's energy a part is rounding."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Stems:
    """The sources of a mixture, which is their sum; sounds are float32 (channels, samples) of one shape."""

    target: Samples  # what a separator should return, not silent
    others: Mapping[int, Samples]  # the other sources that are not silent, by their place in what was given
    rate_hz: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Parts:
    """A wrong output as a sum."""

    kept: Samples  # what is left of the target
    interference: Samples | None = None  # of other sources
    artefacts: Samples | None = None  # what is in no source
    sources: tuple[int, ...] = ()  # the places of the other sources that are heard


@dataclass(frozen=True, slots=True, kw_only=True)
class SeparationTruth:
    """What was done to the target; levels are energies over the whole sound, relative to the true target's.

    A level is None where there is nothing of it; ``si_sdr_db`` where the output is the target at any level, or holds
    nothing of it.
    """

    lost_share: float = 0.0  # energy of what is missing of the target, 0 to 1
    interference_db: float | None = None  # of other sources
    artefacts_db: float | None = None  # of what is in no source
    snr_db: float | None = None  # of the target to all that is wrong
    si_sdr_db: float | None = None
    sources: tuple[int, ...] = ()  # the places of the other sources that are heard


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceParams(Params):
    """Parameters of what lets one other source through."""

    source_share: Share  # which of the other sources, 0 (the first) to 1 (the last)

    def of(self, stems: Stems) -> tuple[Samples, tuple[int]]:
        """The other source that was drawn, and its place."""
        places = list(stems.others)
        place = places[min(int(self.source_share * len(places)), len(places) - 1)]
        return stems.others[place], (place,)


Render: TypeAlias = Callable[[Stems, Any, float], Parts]
"""From stems, parameters and the constant at their strength, which is above 0; pure."""


class SeparationStressor(Perturbs[Any]):
    """Makes one kind of wrong output, ``separation.<name>.v1`` by the name of its function."""

    def __init__(self, render: Render, amount: Constant, meta: Metadata, *, degree: Degree) -> None:
        self.name = f"separation.{render.__name__}.v1"
        self.render, self.amount, self.meta = render, amount, meta
        self.degree = degree  # the field of the truth that never falls as strength rises
        self.params = list(get_type_hints(render).values())[1]
        self.needs_others = self.params is SourceParams or degree == "interference_db"
        self.constants, self.levels = (amount,), amount.rows


_GOALS: Final[Mapping[Degree, str]] = {
    "lost_share": "recall: is all of the target there",
    "interference_db": "precision: is nothing else there",
    "artefacts_db": "faithfulness: does the target sound as it did",
}


def makes(
    degree: Degree, summary: str, amount: Constant, *, source: str = "SAM Audio Judge, Sec. III-A"
) -> Callable[[Render], SeparationStressor]:
    """Make a stressor of a function, whose second argument is annotated with the class of its parameters."""
    truth = "energies lost, left in and added, by construction"
    meta = Metadata(summary=summary, goal=_GOALS[degree], modality="sound", source=source, truth=truth)
    return lambda render: SeparationStressor(render, amount, meta, degree=degree)


def product(one: Samples, two: Samples) -> float:
    """The sum of the products of two sounds' samples, in double precision."""
    return float(np.einsum("ij,ij->", one, two, dtype=np.float64))


def energy(sound: Samples) -> float:
    """The sum of the squares of a sound's samples."""
    return product(sound, sound)


def at_level(sound: Samples, level_db: float, *, of: Samples) -> Samples:
    """A sound so scaled that its energy is some dB above that of another; silence stays silence."""
    own = energy(sound)
    return sound * np.float32(math.sqrt(energy(of) / own) * 10.0 ** (level_db / 20.0)) if own > 0.0 else sound


def truth_of(parts: Parts, output: Samples, target: Samples) -> SeparationTruth:
    """The truth of an output that is the sum of its parts."""
    whole, left = energy(target), energy(output)

    def level(part: Samples | None) -> float | None:
        share = 0.0 if part is None else energy(part) / whole
        return 10.0 * math.log10(share) if share > _FLOOR else None

    wrong, lost = level(output - target), energy(target - parts.kept) / whole
    alike = product(output, target) ** 2 / whole
    beside = left - alike
    scaled = min(alike, beside) <= 1e-10 * max(left, _FLOOR * whole)
    return SeparationTruth(
        lost_share=lost if lost > _FLOOR else 0.0,
        interference_db=level(parts.interference),
        artefacts_db=level(parts.artefacts),
        snr_db=None if wrong is None else -wrong,
        si_sdr_db=None if scaled else 10.0 * math.log10(alike / beside),
        sources=parts.sources,
    )
