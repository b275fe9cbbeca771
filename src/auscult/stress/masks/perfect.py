"""Perfect: the candidate is the target's mask itself.

Source: MQ-RAVSBench, Sec. 3.2, Eq. 2.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from auscult.stress.perturbation import JsonParams
from auscult.types import Defect, Difficulty, Mask, MaskTarget, Metadata


@dataclass(frozen=True, slots=True)
class PerfectParams(JsonParams):
    """Nothing is drawn."""


class Perfect:
    """Gives the target's mask as it is."""

    name = "masks.perfect.v1"
    defect: Defect = "perfect"
    difficulties: tuple[Difficulty, ...] = ()
    params = PerfectParams
    meta = Metadata(
        summary="the target's own mask, unchanged",
        goal="the control: a judge must let good masks pass",
        modality="mask",
        source="MQ-RAVSBench, Sec. 3.2, Eq. 2",
        truth="IoU 1, accept",
    )

    def choose(self, rng: np.random.Generator, target: MaskTarget, *, difficulty: Difficulty) -> PerfectParams:
        """Nothing to draw."""
        del rng, target, difficulty
        return PerfectParams()

    def render(self, target: MaskTarget, params: PerfectParams) -> Mask:
        """A copy of the target's mask."""
        del params
        return target.mask.copy()


STRESSOR = Perfect()
