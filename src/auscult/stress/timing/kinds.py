"""Sound that is early, late or drifts from its picture, and frames that do not arrive, single ones and bursts."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from auscult.rng import generator
from auscult.stress.perturbation import Constant, Params, SeedParams
from auscult.stress.timing.base import Numbers, Retiming, Times, TimingInfo, TimingStressor
from auscult.types import Metadata


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetParams(Params):
    """Parameters of the offset."""

    late: bool  # whether the sound comes after its picture


class Offset(Retiming[OffsetParams]):
    """Offset: the sound comes before or after its picture, by the same time throughout.

    No other benchmark has it; the levels double from what few notice (ITU-R BT.1359 gives 45 ms early and 125 ms late
    as what can be seen) to what nobody misses.
    """

    name = "timing.offset.v1"
    params = OffsetParams
    offset = Constant(
        "offset",
        (0.0, 0.04, 0.08, 0.16, 0.32, 0.64),
        unit="s",
        exception="drawn both ways: the sound comes early or late",
    )
    meta = Metadata(
        summary="moves the sound against the picture, early or late",
        goal="a model that binds sound to picture by their moment",
        modality="video",
        source="ours; the least that is seen after ITU-R BT.1359",
        truth="masks stay; the lag of the sound at each frame and the silence at one end are reported",
        origin="transmission",
    )

    def heard(self, params: OffsetParams, times_s: Times) -> Times:
        """The sound of some time before, or after."""
        offset_s = self.offset.at(params.strength)
        return times_s - offset_s if params.late else times_s + offset_s


OFFSET: TimingStressor[OffsetParams] = Offset()


@dataclass(frozen=True, slots=True, kw_only=True)
class DriftParams(Params):
    """Parameters of the drift."""

    behind: bool  # whether the sound falls behind its picture


class Drift(Retiming[DriftParams]):
    """Drift: sound and picture run by two clocks, and part a little more every second.

    No other benchmark has it; .05 % is a poor pair of free-running clocks, 2 % half of what 24 frames a second shown at
    25 gives.
    """

    name = "timing.drift.v1"
    params = DriftParams
    share = Constant(
        "seconds lost or won per second",
        (0.0, 0.0005, 0.002, 0.005, 0.01, 0.02),
        exception="drawn both ways: the sound runs ahead or falls behind",
    )
    meta = Metadata(
        summary="lets the sound run away from the picture by a share of every second",
        goal="long clips: a model that is in step at first and trusts it",
        modality="video",
        source="ours",
        truth="masks stay; the lag of the sound at each frame, and silence where the sound is over, are reported",
        origin="sensor",
    )

    def heard(self, params: DriftParams, times_s: Times) -> Times:
        """The sound of a little less, or more, than the time that has passed."""
        share = self.share.at(params.strength)
        return times_s * (1.0 - share if params.behind else 1.0 + share)


DRIFT: TimingStressor[DriftParams] = Drift()


_BURST_S: Final = 0.4
_SINGLE: Final = 0.7


def held_back(seed: int, reel: TimingInfo, *, share: float) -> NDArray[np.bool_]:
    """Which frames are held back, bool (frames,); never the first, before which there is none to show.

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
    chosen = np.zeros(reel.frames, dtype=np.bool_)
    chosen[first + 1] = True
    return chosen


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
        repeated = held_back(params.seed, reel, share=self.share.at(params.strength))
        return np.arange(reel.frames) - np.cumsum(repeated)


REPEATED_FRAMES: TimingStressor[SeedParams] = RepeatedFrames()
