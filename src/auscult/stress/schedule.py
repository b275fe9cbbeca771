"""How the strength of a perturbation goes through a clip, and which perturbation a frame gets (R2-Bench, Eq. 2).

======== =======================================================================================================
static   the same strength in every frame
paper    each frame draws its type among the steps of a recipe, and its severity among 1, 3 and 5
r2bench  each frame draws its severity among 1, 3 and 5; the type stays, as in the release's own code
ramp     rises on a straight line from nothing in the first frame to the full strength in the last
burst    nothing, broken by bursts of full strength: one in every 50 frames, a quarter to a half of them long
walk     wanders between nothing and the full strength, by about a sixteenth of it per frame
======== =======================================================================================================

Each is a pure function of a seed, the frame's number and the number of frames. What a perturbation draws, it draws once
for the clip: only how strong it is changes, so weather stays one weather and does not boil.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from auscult.errors import UnknownName
from auscult.rng import generator

LEVELS: Final = (1.0, 3.0, 5.0)
"""Low, medium and high: what ``paper`` and ``r2bench`` draw among."""

_BURST_FRAMES: Final = 50
_WALK_STEP: Final = 1 / 16

Strengths: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Schedule:
    """A schedule by its name."""

    name: str  # one of `SCHEDULES`

    @property
    def draws_levels(self) -> bool:
        """Whether severities are drawn, so that the strength of a step says nothing."""
        return self.name in {"paper", "r2bench"}

    @property
    def draws_types(self) -> bool:
        """Whether the steps of a recipe are alternatives, of which each frame takes one."""
        return self.name == "paper"

    @property
    def moves(self) -> bool:
        """Whether anything changes from frame to frame."""
        return self.name != "static"

    def strengths(self, full: float, *, seed: int, frames: int) -> Strengths:
        """The strength of every frame of a step of strength ``full``, float64 (frames,), 0..5; drawn from the seed."""
        if self.draws_levels and full > 0.0:
            return np.array(LEVELS)[generator(seed, "schedule", "levels").integers(len(LEVELS), size=frames)]
        shape = _SHAPES.get(self.name)
        return np.full(frames, full) if shape is None else full * shape(generator(seed, "schedule", self.name), frames)

    def types(self, count: int, *, seed: int, frames: int) -> NDArray[np.int64]:
        """Which of ``count`` alternatives each frame takes, int64 (frames,)."""
        return generator(seed, "schedule", "types").integers(count, size=frames)

    def whole(self, full: float, rng: np.random.Generator) -> float:
        """The strength of what has no frames, a sound or a sentence: drawn once where severities are drawn."""
        return LEVELS[int(rng.integers(len(LEVELS)))] if self.draws_levels and full > 0.0 else full


def no_such(what: str, name: str, known: Iterable[str]) -> UnknownName:
    """The error for a name that is none of those known, with the nearest."""
    names = list(known)
    close = difflib.get_close_matches(name, names, n=2)
    return UnknownName(
        f"there is no {what} {name!r:.60}",
        expected=f"one of: {', '.join(names)}",
        hint=f"did you mean {' or '.join(close)}?" if close else "",
    )


def schedule_of(name: str) -> Schedule:
    """A schedule by its name; an UnknownName where there is no such."""
    if name in SCHEDULES:
        return SCHEDULES[name]
    raise no_such("schedule", name, SCHEDULES)


def _ramp(rng: np.random.Generator, frames: int) -> Strengths:
    del rng
    return np.linspace(0.0, 1.0, frames) if frames > 1 else np.ones(1)


def _burst(rng: np.random.Generator, frames: int) -> Strengths:
    shape = np.zeros(frames)
    for start in range(0, frames, _BURST_FRAMES):
        period = min(_BURST_FRAMES, frames - start)
        length = max(1, round(period * rng.uniform(0.25, 0.5)))
        begin = start + int(rng.integers(period - length + 1))
        shape[begin : begin + length] = 1.0
    return shape


def _walk(rng: np.random.Generator, frames: int) -> Strengths:
    start = rng.uniform()
    steps = _WALK_STEP * rng.standard_normal(frames - 1)
    path = start + np.concatenate([[0.0], np.cumsum(steps)])
    return 1.0 - np.abs(1.0 - np.mod(path, 2.0))  # reflected at both ends


_SHAPES: Final[Mapping[str, Callable[[np.random.Generator, int], Strengths]]] = MappingProxyType(
    {"ramp": _ramp, "burst": _burst, "walk": _walk}
)

SCHEDULES: Final[Mapping[str, Schedule]] = MappingProxyType(
    {name: Schedule(name) for name in ("static", "paper", "r2bench", "ramp", "burst", "walk")}
)
STATIC: Final = SCHEDULES["static"]
