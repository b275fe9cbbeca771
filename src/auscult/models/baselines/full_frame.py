"""Everything is the object: what a large object scores by its size alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from auscult.models.base import TASKS, Clip, Masks, Task
from auscult.types import Mask, Metadata, Query, Samples


@dataclass(frozen=True, slots=True)
class FullFrame:
    """Answers the whole of every frame.

    Attributes:
        name: The registry name.
        meta: What it is.
        tasks: All: it looks at no guidance.
    """

    name: str = "baseline.full_frame.v1"
    meta: Metadata = Metadata(
        summary="baseline: every pixel of every frame",
        goal="the score that an object's size gives away",
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
        """Segment everything.

        Args:
            frames: uint8 RGB (T, H, W, 3); only the shape is looked at.
            query: Not looked at, nor is what follows.
            sound: Not looked at.
            rate_hz: Not looked at.
            first_mask: Not looked at, so that the first frame's answer is not right for free.

        Returns:
            bool (T, H, W), all True.
        """
        del query, sound, rate_hz, first_mask
        return np.ones(frames.shape[:3], np.bool_)


MODEL = FullFrame()
