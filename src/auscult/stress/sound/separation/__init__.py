"""What separators do wrong, made of true stems: the target lost, other sources left in, artefacts.

A stressor makes of stems a wrong output as a sum of three known parts (law 4). Each kind registers as
``separation.<name>.v1``. Strengths 1, 3 and 5 are low, medium and high; 0 returns the stem.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias, get_type_hints

import numpy as np

from auscult.errors import UsageError
from auscult.outcome import Undefined
from auscult.stress.perturbation import Constant, Params, Perturbs, Share, at_fault, chosen, kind_of, loaded
from auscult.stress.sound.base import opened, rate_of
from auscult.types import Metadata, Samples, Stressed

__all__ = ["Parts", "SeparationStressor", "SeparationTruth", "Stems", "makes", "perturb", "render"]


Degree: TypeAlias = Literal["lost_share", "interference_db", "artefacts_db"]

_FLOOR: Final = 1e-12
"""Below this share of the target's energy a part is rounding."""
_SILENT: Final = 1e-9


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


def perturb(
    kind: str,
    stems: Sequence[Samples],
    *,
    target: int = 0,
    rate_hz: int,
    severity: float | str = 3,
    seed: int = 0,
    key: str = "",
) -> Stressed[Samples, SeparationTruth] | Undefined:
    """Make of the stems of a mixture what a separator would wrongly return for one of them.

    Args:
        kind: ``separation.leakage.v1``, or a short form such as ``leakage``.
        stems: The sources, whose sum is the mixture: float32 (samples,) or (channels, samples), all of one shape.
        target: Which of them is wanted, from 0.
        rate_hz: Samples per second.
        severity: 0..5, or ``low``, ``medium``, ``high`` for 1, 3, 5; 0 returns the stem.
        seed: The run's seed.
        key: What it is made for, an item's id; another key draws anew.

    Returns:
        The output, float32 of the stem's shape, which may leave [-1, 1], with its parameters and truth; ``Undefined``
        where the target is silent, or where other sources are needed and none is heard.

    Raises:
        UnknownName: No such stressor.
        UsageError: A stem is empty, not finite, or of another shape; or the severity is out of range.

    Example:
        >>> import numpy as np
        >>> tone, hum = (np.sin(np.arange(8000) * step).astype(np.float32) for step in (0.3, 0.02))
        >>> made = perturb("leakage", [tone, hum], rate_hz=8000, severity=5)
        >>> abs(made.truth.interference_db) < 0.01  # as loud as the target
        True
    """
    stressor, mixture = loaded("separation", kind), _opened(stems, target, rate_hz)
    params = chosen(stressor, mixture, severity=severity, seed=seed, key=key)
    if reason := _why_not(stressor, mixture):
        return Undefined(reason)
    parts, output = _rendered(stressor, mixture, params)
    truth = _truth_of(parts, output, mixture.target)
    return Stressed(output=output.reshape(stems[target].shape), params=params.as_json(), truth=truth)


def render(
    kind: str, stems: Sequence[Samples], params_json: Mapping[str, Any], *, target: int = 0, rate_hz: int
) -> Samples:
    """Render again from recorded parameters, byte for byte.

    Raises:
        UnknownName: No such stressor.
        UsageError: The stems are of another shape or type, or lack what the stressor needs.
        InputError: The parameters are not this stressor's.
    """
    stressor, mixture = loaded("separation", kind), _opened(stems, target, rate_hz)
    params = stressor.params.from_json(params_json)
    if reason := _why_not(stressor, mixture):
        raise UsageError(f"nothing can be made: {reason}", expected="the stems that the parameters were drawn for")
    return _rendered(stressor, mixture, params)[1].reshape(stems[target].shape)


def _opened(stems: Sequence[Samples], target: int, rate_hz: object) -> Stems:
    if not 0 <= target < len(stems):
        raise UsageError(f"the target is stem {target}", expected=f"a number from 0 to {len(stems) - 1}")
    sounds = [opened(stem) for stem in stems]
    for stem in stems:
        if stem.shape != stems[target].shape:
            raise UsageError(
                f"one stem is {kind_of(stem)}, the target {kind_of(stems[target])}",
                expected="stems of one length and as many channels, all at one rate",
            )
    others = {index: sound for index, sound in enumerate(sounds) if index != target and not _silent(sound)}
    return Stems(target=sounds[target], others=others, rate_hz=rate_of(rate_hz))


def _silent(sound: Samples) -> bool:
    return float(np.abs(sound).max()) < _SILENT


def _why_not(stressor: SeparationStressor, stems: Stems) -> str:
    if _silent(stems.target):
        return "target_silent"
    needs_others = stressor.params is SourceParams or stressor.degree == "interference_db"
    return "no_other_source" if needs_others and not stems.others else ""


def _rendered(stressor: SeparationStressor, stems: Stems, params: Params) -> tuple[Parts, Samples]:
    """The parts of an output, and the output, a new array."""
    parts = Parts(kept=stems.target)
    if params.strength > 0.0:
        parts = stressor.render(stems, params, stressor.amount.at(params.strength))
    output = parts.kept.copy()
    for part in (parts.interference, parts.artefacts):
        if part is not None:
            output += part
    if output.shape != stems.target.shape or output.dtype != np.float32:
        raise at_fault(stressor, f"made {kind_of(output)}", expected=f"float32 {stems.target.shape}")
    return parts, output


def _product(first: Samples, second: Samples) -> float:
    return float(np.einsum("ij,ij->", first, second, dtype=np.float64))


def energy(sound: Samples) -> float:
    """The sum of the squares of a sound's samples, in double precision."""
    return _product(sound, sound)


def at_level(sound: Samples, level_db: float, *, of: Samples) -> Samples:
    """A sound so scaled that its energy is some dB above that of another; silence stays silence."""
    total = energy(sound)
    return sound * np.float32(math.sqrt(energy(of) / total) * 10.0 ** (level_db / 20.0)) if total > 0.0 else sound


def _truth_of(parts: Parts, output: Samples, target: Samples) -> SeparationTruth:
    target_energy, output_energy = energy(target), energy(output)

    def level(part: Samples | None) -> float | None:
        share = 0.0 if part is None else energy(part) / target_energy
        return 10.0 * math.log10(share) if share > _FLOOR else None

    wrong, lost = level(output - target), energy(target - parts.kept) / target_energy
    projected = _product(output, target) ** 2 / target_energy
    residual = output_energy - projected
    scaled = min(projected, residual) <= 1e-10 * max(output_energy, _FLOOR * target_energy)
    return SeparationTruth(
        lost_share=lost if lost > _FLOOR else 0.0,
        interference_db=level(parts.interference),
        artefacts_db=level(parts.artefacts),
        snr_db=None if wrong is None else -wrong,
        si_sdr_db=None if scaled else 10.0 * math.log10(projected / residual),
        sources=parts.sources,
    )
