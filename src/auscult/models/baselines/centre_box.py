"""The object is in the middle: what a photographer's habit of framing scores alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from auscult.models.base import TASKS, Clip, Masks, Task
from auscult.types import Box, Mask, Metadata, Query, Samples


@dataclass(frozen=True, slots=True)
class CentreBox:
    """Answers the middle box of half the height and half the width, a quarter of the area, in every frame.

    Attributes:
        name: The registry name.
        meta: What it is.
        tasks: All: it looks at no guidance.
    """

    name: str = "baseline.centre_box.v1"
    meta: Metadata = Metadata(
        summary="baseline: the middle box of half the frame's height and width",
        goal="the score that framing gives away",
        modality="video",
        source="a constant answer",
    )
    tasks: tuple[Task, ...] = TASKS

    def predict(
        self,
        frames: Clip,
        query: Query,
        *,
        sound: Samples | None = None,
        rate_hz: int | None = None,
        first_mask: Mask | None = None,
    ) -> Masks:
        """Segment the middle.

        Args:
            frames: uint8 RGB (T, H, W, 3); only the shape is looked at.
            query: Not looked at, nor is what follows.
            sound: Not looked at.
            rate_hz: Not looked at.
            first_mask: Not looked at, so that the first frame's answer is not right for free.

        Returns:
            bool (T, H, W), the same box in every frame; see ``middle``.
        """
        del query, sound, rate_hz, first_mask
        masks = np.zeros(frames.shape[:3], np.bool_)
        left, top, right, bottom = middle((frames.shape[1], frames.shape[2]))
        masks[:, top:bottom, left:right] = True
        return masks


def middle(size: tuple[int, int]) -> Box:
    """The middle box of a frame, xyxy, half-open.

    Args:
        size: (height, width). From a quarter to three quarters of each side, rounded down and up: at least one pixel
            of any frame, and symmetric.
    """
    height, width = size
    top, left = height // 4, width // 4
    return left, top, width - left, height - top


MODEL = CentreBox()
