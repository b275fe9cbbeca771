"""Nothing is the object: what a protocol gives for saying nothing, where an object is not there or is silent."""

from __future__ import annotations

import numpy as np

from auscult.models.baselines.still import Still
from auscult.types import Frame, Mask, Metadata


def nothing(frame: Frame) -> Mask:
    """No pixel, bool (H, W)."""
    return np.zeros(frame.shape[:2], np.bool_)


MODEL = Still(
    name="baseline.empty.v1",
    meta=Metadata(
        summary="baseline: no pixel of any frame",
        goal="the score that saying nothing gives away",
        modality="video",
        source="a constant answer",
    ),
    mask_of=nothing,
)
