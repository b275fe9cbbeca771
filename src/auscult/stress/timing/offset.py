"""Offset: the sound comes before or after its picture, by the same time throughout.

No other benchmark has it; the levels double from what few notice (ITU-R BT.1359 gives 45 ms early and 125 ms late as
what can be seen) to what nobody misses.
"""

from __future__ import annotations

from dataclasses import dataclass

from auscult.stress.perturbation import Constant, Params
from auscult.stress.timing.base import Retiming, Times, TimingStressor
from auscult.types import Metadata


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetParams(Params):
    """Parameters of the offset."""

    late: bool  # whether the sound comes after its picture


class Offset(Retiming[OffsetParams]):
    """Moves the whole sound against the picture; silence fills the end it leaves."""

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


STRESSOR: TimingStressor[OffsetParams] = Offset()
