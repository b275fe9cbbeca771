"""Merge: the mask holds the target and another object as well.

Source: MQ-RAVSBench, Sec. 3.2, Eq. 7.
"""

from __future__ import annotations

import numpy as np

from auscult.outcome import Undefined
from auscult.stress.masks import negatives
from auscult.types import Defect, Difficulty, Mask, MaskTarget, Metadata


class Merge:
    """Adds one other object of the frame; how bad that is follows from the sizes of the two."""

    name = "masks.merge.v1"
    defect: Defect = "merge"
    difficulties: tuple[Difficulty, ...] = ()
    params = negatives.OtherParams
    meta = Metadata(
        summary="adds another object of the frame to the target",
        goal="semantic over-segmentation: a distractor is taken in with the target",
        modality="mask",
        source="MQ-RAVSBench, Sec. 3.2, Eq. 7",
        truth="IoU from .9 minor revision (hard), from .75 major revision (medium), below reject (easy)",
    )

    def choose(
        self, rng: np.random.Generator, target: MaskTarget, *, difficulty: Difficulty
    ) -> negatives.OtherParams | Undefined:
        """Draw one of the hardest other objects; undefined where the frame has none."""
        del difficulty
        return negatives.choose(rng, target)

    def render(self, target: MaskTarget, params: negatives.OtherParams) -> Mask:
        """The target and the other object."""
        return target.mask | negatives.negative(target, params)


STRESSOR = Merge()
