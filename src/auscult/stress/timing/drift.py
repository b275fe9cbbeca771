"""Drift: sound and picture run by two clocks, and part a little more every second.

No other benchmark has it; .05 % is a poor pair of free-running clocks, 2 % half of what 24 frames a second shown at 25
gives.
"""

from __future__ import annotations

from dataclasses import dataclass

from auscult.stress.perturbation import Constant, Params
from auscult.stress.timing.base import Retiming, Times, TimingStressor
from auscult.types import Metadata


@dataclass(frozen=True, slots=True, kw_only=True)
class DriftParams(Params):
    """Parameters of the drift."""

    behind: bool  # whether the sound falls behind its picture


class Drift(Retiming[DriftParams]):
    """Plays the sound slightly slower or faster, in step with the picture at first; its pitch goes along."""

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


STRESSOR: TimingStressor[DriftParams] = Drift()
