"""Full negative: the mask is of another object altogether.

Source: MQ-RAVSBench, Sec. 3.2, Eq. 3.
"""

from __future__ import annotations

import numpy as np

from auscult.outcome import Undefined
from auscult.stress.masks import negatives
from auscult.types import Defect, Difficulty, Mask, MaskTarget, Metadata


class FullNeg:
    """Gives one other object of the frame in place of the target."""

    name = "masks.full_neg.v1"
    defect: Defect = "full_neg"
    difficulties: tuple[Difficulty, ...] = ()
    params = negatives.OtherParams
    meta = Metadata(
        summary="another object of the frame in place of the target",
        goal="the wrong object: right outline, wrong identity",
        modality="mask",
        source="MQ-RAVSBench, Sec. 3.2, Eq. 3",
        truth="IoU 0, reject",
    )

    def choose(
        self, rng: np.random.Generator, target: MaskTarget, *, difficulty: Difficulty
    ) -> negatives.OtherParams | Undefined:
        """Draw one of the hardest other objects; undefined where the frame has none."""
        del difficulty
        return negatives.choose(rng, target)

    def render(self, target: MaskTarget, params: negatives.OtherParams) -> Mask:
        """The other object, without what it shares with the target."""
        return negatives.negative(target, params)


STRESSOR = FullNeg()
