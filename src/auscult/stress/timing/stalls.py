"""Which frames of a clip do not arrive: single ones and bursts, more of the same at a greater strength."""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

from auscult.rng import generator
from auscult.stress.perturbation import Constant, SeedParams
from auscult.stress.timing.base import Numbers, Retiming, TimingInfo, TimingStressor
from auscult.types import Metadata

_BURST_S: Final = 0.4
_SINGLE: Final = 0.7


def held_back(seed: int, reel: TimingInfo, *, share: float) -> NDArray[np.bool_]:
    """Which frames are concerned, bool (frames,); never the first, before which there is none to show.

    The clip is cut into runs, seven of ten of them single frames and the rest bursts of up to .4 seconds; runs are
    taken in a drawn order until there are enough, a share of the frames after the first, rounded up to whole frames.
    So whatever is held back at one strength is so at every greater one.
    """
    rng = generator(seed, "held back")
    longest = max(2, round(_BURST_S * reel.rate_fps))
    later = reel.frames - 1
    lengths = np.where(rng.random(later) < _SINGLE, 1, rng.integers(2, longest + 1, size=later))
    starts = np.cumsum(lengths) - lengths
    run = np.searchsorted(starts, np.arange(later), side="right") - 1
    turn = rng.permutation(later)[run]  # of every frame, when its run is taken; within a run from its start
    first = np.argsort(turn, kind="stable")[: math.ceil(share * later)]
    found = np.zeros(reel.frames, dtype=np.bool_)
    found[first + 1] = True
    return found


class DroppedFrames(Retiming[SeedParams]):
    """Dropped frames: some are lost on the way, and the one before is shown instead; the clip stays in step.

    No other benchmark has it; the shares go from a link that stutters to one that shows every second frame.
    """

    name = "timing.dropped_frames.v1"
    params = SeedParams
    share = Constant("share of the frames lost", (0.0, 0.05, 0.1, 0.2, 0.35, 0.5))
    meta = Metadata(
        summary="loses frames, single ones and bursts; the one before is shown longer",
        goal="a model that follows motion from frame to frame",
        modality="video",
        source="ours",
        truth="masks follow the frames that are shown; the number of the frame shown at each time is reported",
        origin="transmission",
    )

    def frames(self, params: SeedParams, reel: TimingInfo) -> Numbers:
        """The last frame that was not lost."""
        lost = held_back(params.seed, reel, share=self.share.at(params.strength))
        return np.maximum.accumulate(np.where(lost, 0, np.arange(reel.frames)))


DROPPED_FRAMES: TimingStressor[SeedParams] = DroppedFrames()


class RepeatedFrames(Retiming[SeedParams]):
    """Repeated frames: the picture stalls, then goes on where it stood while the sound ran on.

    As a player does that waits for its buffer. It never catches up, so the picture falls further behind with every
    stall and the end of the clip is not shown; a picture that freezes and jumps back into step is what
    ``dropped_frames`` makes. No other benchmark has it; the shares are ours.
    """

    name = "timing.repeated_frames.v1"
    params = SeedParams
    share = Constant("share of the frames that are repeats", (0.0, 0.05, 0.1, 0.15, 0.2, 0.3))
    meta = Metadata(
        summary="shows frames again, single ones and bursts; the picture falls behind the sound and never catches up",
        goal="a model that trusts frame numbers, or sound and picture to keep step",
        modality="video",
        source="ours",
        truth="masks follow the frames that are shown; the number of the frame shown and the sound's lag are reported",
        origin="transmission",
    )

    def frames(self, params: SeedParams, reel: TimingInfo) -> Numbers:
        """As many frames back as were repeated so far."""
        again = held_back(params.seed, reel, share=self.share.at(params.strength))
        return np.arange(reel.frames) - np.cumsum(again)


REPEATED_FRAMES: TimingStressor[SeedParams] = RepeatedFrames()
