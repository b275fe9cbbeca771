"""Gain: the source is louder or quieter than it was recorded.

Source: R2-Bench, Table 1, source noise of sound; constants of its toolbox.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from msgspec import Meta

from auscult.stress.perturbation import Constant, Params, Perturbs
from auscult.stress.sound.base import SoundStressor
from auscult.types import Metadata, Samples


@dataclass(frozen=True, slots=True, kw_only=True)
class GainParams(Params):
    """Parameters of the gain."""

    share: Annotated[float, Meta(ge=-1.0, le=1.0)]  # of the level's bound, -1 (quietest) to 1 (loudest)


class Gain(Perturbs[GainParams]):
    """Multiplies the whole sound by one factor."""

    name = "sound.gain.v1"
    params = GainParams
    bound = Constant(
        "bound of the gain",
        (0.0, 3.0, 6.0, 9.0, 12.0, 15.0),
        unit="dB",
        exception="drawn both ways: louder or quieter, up to the level's bound",
    )
    keeps_silence = True
    meta = Metadata(
        summary="makes the whole sound louder or quieter",
        goal="a model that listens to loudness rather than to what sounds",
        modality="sound",
        source="R2-Bench, Sec. 3.1, Table 1",
        truth="which source sounds when is unchanged",
        origin="source",
    )

    def render(self, sound: Samples, params: GainParams, *, rate_hz: int) -> Samples:
        """The sound times 10^(dB / 20)."""
        del rate_hz
        return sound * np.float32(10.0 ** (params.share * self.bound.at(params.strength) / 20.0))


STRESSOR: SoundStressor[GainParams] = Gain()
