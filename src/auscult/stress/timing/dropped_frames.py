"""Dropped frames: some are lost on the way, and the one before is shown instead; the clip stays in step.

Nobody offers it; the shares go from a link that stutters to one that shows every second frame.
"""

from __future__ import annotations

import numpy as np

from auscult.stress.strength import ALL_ONE_WAY, Rows, between
from auscult.stress.timing.base import Numbers, Reel, TimingStressor
from auscult.stress.timing.stalls import Stalling, StallParams, held_back
from auscult.types import Metadata


class DroppedFrames(Stalling):
    """Shows the last frame that arrived in place of each that is lost."""

    name = "timing.dropped_frames.v1"
    levels: Rows = ((0.0,), (0.05,), (0.1,), (0.2,), (0.35,), (0.5,))
    declared = ALL_ONE_WAY
    meta = Metadata(
        summary="loses frames, single ones and bursts; the one before is shown longer",
        goal="a model that follows motion from frame to frame",
        modality="video",
        source="ours",
        truth="masks follow the frames that are shown; the number of the frame shown at each time is told",
        origin="transmission",
    )

    def frames(self, params: StallParams, reel: Reel) -> Numbers:
        """The last frame that was not lost."""
        (share,) = between(self.levels, params.strength)
        lost = held_back(params.seed, reel, share=share)
        return np.maximum.accumulate(np.where(lost, 0, np.arange(reel.frames)))


STRESSOR: TimingStressor[StallParams] = DroppedFrames()
