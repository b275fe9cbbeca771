"""Everything is the object: what a large object scores by its size alone."""

from __future__ import annotations

import numpy as np

from auscult.models.baselines.still import Still
from auscult.types import Frame, Mask, Metadata


def everything(frame: Frame) -> Mask:
    """Every pixel, bool (H, W)."""
    return np.ones(frame.shape[:2], np.bool_)


MODEL = Still(
    name="baseline.full_frame.v1",
    meta=Metadata(
        summary="baseline: every pixel of every frame",
        goal="the score that an object's size gives away",
        modality="video",
        source="a constant answer",
    ),
    mask_of=everything,
)
