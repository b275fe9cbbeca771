"""Our own stressors as candidates: the paper's cutout, dilate, erode, merge and perfect, and masks on no object."""

from __future__ import annotations

from typing import Any

import numpy as np

from auscult.outcome import Undefined
from auscult.stress.masks import bands, cutout, negatives
from auscult.stress.masks.base import MaskStressor
from auscult.train.candidates.base import Draft, Maker, TypedDefect, Work
from auscult.train.material import arbitrary
from auscult.types import Difficulty


def perfect(work: Work, rng: np.random.Generator) -> Draft:
    """The truth itself."""
    del rng
    return Draft(work.truth.copy(), "perfect")


def paper_arbitrary(work: Work, rng: np.random.Generator) -> Draft | None:
    """One of the boxes, ellipses, blobs, moved truths and complements that the cues were fitted with."""
    if "arbitrary" not in work.kept:  # five for the price of one draw of places
        work.kept["arbitrary"] = list(arbitrary(work.truth, work.others, rng=rng))
    left = work.kept["arbitrary"]
    return Draft(left.pop(int(rng.integers(len(left)))), "arbitrary") if left else None


def _stressed(stressor: MaskStressor[Any], defect: TypedDefect) -> Maker:
    """What a stressor makes, IoU in a window."""

    def maker(work: Work, rng: np.random.Generator) -> Draft | None:
        if defect == "merge" and not work.others:
            return None
        difficulty: Difficulty = "hard" if rng.random() < 0.5 else "medium"
        params = stressor.choose(rng, work.piece, difficulty=difficulty)
        return None if isinstance(params, Undefined) else Draft(stressor.render(work.piece, params), defect)

    return maker


paper_cutout = _stressed(cutout.STRESSOR, "cutout")
paper_dilate = _stressed(bands.DILATE, "dilate")
paper_erode = _stressed(bands.ERODE, "erode")
paper_merge = _stressed(negatives.MERGE, "merge")
