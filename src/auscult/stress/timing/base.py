"""What a perturbation of timing is: which frame is shown when, and how much later than its picture sound is heard.

Nothing is drawn or rendered twice: a perturbation chooses, and from its parameters follow the number of the input frame
that each output frame shows, and the time of the input at which each moment of the output's sound is taken.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from auscult.stress.params import Params
from auscult.stress.perturbation import Perturbation

Numbers: TypeAlias = NDArray[np.int64]
Times: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class TimingInfo:
    """What may be known of a video when a perturbation is chosen.

    Attributes:
        frames: How many, 1 or more.
        rate_fps: Frames per second.
    """

    frames: int
    rate_fps: float

    @property
    def duration_s(self) -> float:
        """Length in seconds."""
        return self.frames / self.rate_fps


P = TypeVar("P", bound=Params)


@runtime_checkable
class TimingStressor(Perturbation[P], Protocol[P]):
    """Perturbs the timing of a video and its sound."""

    def choose(self, rng: np.random.Generator, reel: TimingInfo, *, strength: float) -> P:
        """Draw everything that is random; the draws do not depend on ``strength``."""
        ...

    def frames(self, params: P, reel: TimingInfo) -> Numbers:
        """The number of the input frame that each output frame shows, int64 (reel.frames,); it never falls."""
        ...

    def heard(self, params: P, times_s: Times) -> Times:
        """The time of the input's sound that is heard at each time of the output.

        Args:
            params: What was drawn; ``params.strength`` is above 0 here.
            times_s: Times of the output in seconds, float64 (n,), rising.

        Returns:
            float64 (n,), never falling. Before 0 and after the end of the sound there is silence.
        """
        ...


AnyStressor: TypeAlias = TimingStressor[Any]
