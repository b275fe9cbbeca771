"""The object is in the middle: what a photographer's habit of framing scores alone."""

from __future__ import annotations

import numpy as np

from auscult.models.baselines.still import Still
from auscult.types import Box, Frame, Mask, Metadata


def box(frame: Frame) -> Mask:
    """The middle box of half the height and half the width, a quarter of the area, bool (H, W); see ``middle``."""
    mask = np.zeros(frame.shape[:2], np.bool_)
    left, top, right, bottom = middle((frame.shape[0], frame.shape[1]))
    mask[top:bottom, left:right] = True
    return mask


def middle(size: tuple[int, int]) -> Box:
    """The middle box of a frame, xyxy, half-open.

    Args:
        size: (height, width). From a quarter to three quarters of each side, rounded down and up: at least one pixel
            of any frame, and symmetric.
    """
    height, width = size
    top, left = height // 4, width // 4
    return left, top, width - left, height - top


MODEL = Still(
    name="baseline.centre_box.v1",
    meta=Metadata(
        summary="baseline: the middle box of half the frame's height and width",
        goal="the score that framing gives away",
        modality="video",
        source="a constant answer",
    ),
    mask_of=box,
)
