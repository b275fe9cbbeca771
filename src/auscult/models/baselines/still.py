"""A model that answers one mask in every frame, from a look at the first frame alone or at nothing but its size."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from auscult.models.base import TASKS, Clip, Masks, Task
from auscult.types import Frame, Mask, Metadata, Query, Samples


@dataclass(frozen=True, slots=True, kw_only=True)
class Still:
    """Answers the same mask in every frame.

    Attributes:
        name: The registry name.
        meta: What it is.
        mask_of: The answer, bool (H, W), for a first frame, uint8 RGB (H, W, 3).
        tasks: All: it looks at no guidance.
    """

    name: str
    meta: Metadata
    mask_of: Callable[[Frame], Mask]
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
        """Segment without looking at what is asked for.

        Args:
            frames: uint8 RGB (T, H, W, 3); at most the first is looked at.
            query: Not looked at, nor is what follows.
            sound: Not looked at.
            rate_hz: Not looked at.
            first_mask: Not looked at, so that the first frame's answer is not right for free.

        Returns:
            bool (T, H, W), the same in every frame.
        """
        del query, sound, rate_hz, first_mask
        return np.repeat(self.mask_of(frames[0])[None], frames.shape[0], axis=0)
