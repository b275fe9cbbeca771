"""Repeated frames: the picture stalls, then goes on where it stood while the sound ran on.

As a player does that waits for its buffer. It never catches up, so the picture falls further behind with every stall
and the end of the clip is not shown; a picture that freezes and jumps back into step is what ``dropped_frames`` makes.
Nobody offers it; the shares are ours.
"""

from __future__ import annotations

import numpy as np

from auscult.stress.strength import ALL_ONE_WAY, Rows, between
from auscult.stress.timing.base import Numbers, Reel, TimingStressor
from auscult.stress.timing.stalls import Stalling, StallParams, held_back
from auscult.types import Metadata


class RepeatedFrames(Stalling):
    """Shows frames several times; every later one comes later by that much."""

    name = "timing.repeated_frames.v1"
    levels: Rows = ((0.0,), (0.05,), (0.1,), (0.15,), (0.2,), (0.3,))
    declared = ALL_ONE_WAY
    meta = Metadata(
        summary="shows frames again, single ones and bursts; the picture falls behind the sound and never catches up",
        goal="a model that trusts frame numbers, or sound and picture to keep step",
        modality="video",
        source="ours",
        truth="masks follow the frames that are shown; the number of the frame shown and the sound's lag are told",
        origin="transmission",
    )

    def frames(self, params: StallParams, reel: Reel) -> Numbers:
        """As many frames back as were repeated so far."""
        (share,) = between(self.levels, params.strength)
        again = held_back(params.seed, reel, share=share)
        return np.arange(reel.frames) - np.cumsum(again)


STRESSOR: TimingStressor[StallParams] = RepeatedFrames()
