"""Which frames of a clip do not arrive: single ones and bursts, more of the same at a greater strength."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from auscult.rng import generator
from auscult.stress.params import Params, seed_from
from auscult.stress.timing.base import Reel, Times

_BURST_S: Final = 0.4
_SINGLE: Final = 0.7


@dataclass(frozen=True, slots=True, kw_only=True)
class StallParams(Params):
    """Parameters of a perturbation that holds frames back.

    Attributes:
        seed: What it follows from which frames are concerned, and in which order as strength grows.
    """

    seed: int


class Stalling:
    """What perturbations that hold frames back have in common: the sound is left alone."""

    params = StallParams

    def choose(self, rng: np.random.Generator, reel: Reel, *, strength: float) -> StallParams:
        """Draw the seed."""
        del reel
        return StallParams(strength=strength, seed=seed_from(rng))

    def heard(self, params: StallParams, times_s: Times) -> Times:
        """Every moment in its place."""
        del params
        return times_s


def held_back(seed: int, reel: Reel, *, share: float) -> NDArray[np.bool_]:
    """Which frames are concerned.

    The clip is cut into runs, seven of ten of them single frames and the rest bursts of up to .4 seconds; runs are
    taken in a drawn order until there are enough. So whatever is held back at one strength is so at every greater one.

    Args:
        seed: What the draws follow from.
        reel: The clip.
        share: Of the frames after the first, 0..1; rounded up to whole frames.

    Returns:
        bool (frames,); never the first frame, before which there is none to show.
    """
    rng = generator(seed, "held back")
    longest = max(2, round(_BURST_S * reel.rate_fps))
    later = reel.frames - 1
    lengths = np.where(rng.random(later) < _SINGLE, 1, rng.integers(2, longest + 1, size=later))
    starts = np.cumsum(lengths) - lengths
    run = np.searchsorted(starts, np.arange(later), side="right") - 1
    turn = rng.permutation(later)[run]  # of every frame, when its run is taken; within a run from its start
    first = np.argsort(turn, kind="stable")[: math.ceil(share * later)]
    found = np.zeros(reel.frames, dtype=np.bool_)
    found[first + 1] = True
    return found
