"""Our own stressors as candidates: the paper's cutout, dilate, erode, merge and perfect, and masks on no object."""

from __future__ import annotations

from typing import Any

import numpy as np

from auscult.outcome import Undefined
from auscult.stress.masks import bands, cutout, negatives
from auscult.stress.masks.base import MaskStressor
from auscult.train.candidates.base import Draft, TypedDefect, Work
from auscult.train.material import arbitrary
from auscult.types import Difficulty


def perfect(work: Work, rng: np.random.Generator) -> Draft:
    """The truth itself."""
    del rng
    return Draft(work.truth.copy(), "perfect")


def paper_cutout(work: Work, rng: np.random.Generator) -> Draft | None:
    """Rectangles and ellipses missing, IoU in a window."""
    return _made(cutout.STRESSOR, work, rng, defect="cutout")


def paper_dilate(work: Work, rng: np.random.Generator) -> Draft | None:
    """A band too much, all round or local, IoU in a window."""
    return _made(bands.DILATE, work, rng, defect="dilate")


def paper_erode(work: Work, rng: np.random.Generator) -> Draft | None:
    """A band missing, all round or local, IoU in a window."""
    return _made(bands.ERODE, work, rng, defect="erode")


def paper_merge(work: Work, rng: np.random.Generator) -> Draft | None:
    """Another object as well."""
    return _made(negatives.MERGE, work, rng, defect="merge") if work.others else None


def paper_arbitrary(work: Work, rng: np.random.Generator) -> Draft | None:
    """One of the boxes, ellipses, blobs, moved truths and complements that the cues were fitted with."""
    if "arbitrary" not in work.kept:  # five for the price of one draw of places
        work.kept["arbitrary"] = list(arbitrary(work.truth, work.others, rng=rng))
    left = work.kept["arbitrary"]
    return Draft(left.pop(int(rng.integers(len(left)))), "arbitrary") if left else None


def _made(stressor: MaskStressor[Any], work: Work, rng: np.random.Generator, *, defect: TypedDefect) -> Draft | None:
    difficulty: Difficulty = "hard" if rng.random() < 0.5 else "medium"
    params = stressor.choose(rng, work.piece, difficulty=difficulty)
    return None if isinstance(params, Undefined) else Draft(stressor.render(work.piece, params), defect)
