"""Peaking filter: a microphone that hears one band too loud, or hardly at all.

Source: R2-Bench, Table 1, sensor noise of sound; constants of its toolbox. The filter is audiomentations' (the Audio EQ
Cookbook's), but without its delay: see ``filters``. The centre is drawn below 0.9 of half the rate, so that the band
can be heard; audiomentations draws it above half the rate too, where the formula means another filter.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Final

import numpy as np
from msgspec import Meta

from auscult.stress.perturbation import Constant, Params, Perturbs, Range, Share
from auscult.stress.sound import filters
from auscult.stress.sound.base import AudioInfo, SoundStressor
from auscult.types import Metadata, Samples

_HIGHEST: Final = 0.9


@dataclass(frozen=True, slots=True, kw_only=True)
class PeakingParams(Params):
    """Parameters of the peaking filter."""

    centre_share: Share  # where in the level's range the centre lies, 0 (lowest) to 1, on the mel scale
    gain_share: Annotated[float, Meta(ge=-1.0, le=1.0)]  # of the level's bound, -1 (quietest) to 1 (loudest)
    quality_share: Share  # where in the level's range the quality lies, 0 (widest band) to 1


class PeakingFilter(Perturbs[PeakingParams]):
    """Makes one band louder or quieter."""

    name = "sound.peaking_filter.v1"
    params = PeakingParams
    centre = Range(
        "centre",
        (200.0, 200.0, 500.0, 1000.0, 1500.0, 2000.0),
        (1500.0, 1500.0, 2500.0, 3500.0, 5500.0, 7500.0),
        unit="Hz",
    )
    bound = Constant(
        "bound of the gain",
        (0.0, 12.0, 18.0, 24.0, 30.0, 36.0),
        unit="dB",
        exception="drawn both ways: the band is louder or quieter, up to the level's bound",
    )
    quality = Range("quality", (1.0, 1.0, 1.5, 2.0, 2.5, 3.0), (2.0, 2.0, 2.5, 3.0, 3.5, 4.0))
    keeps_silence = True
    meta = Metadata(
        summary="makes one band of frequencies much louder or quieter",
        goal="a model that trusts the balance of frequencies of good microphones",
        modality="sound",
        source="R2-Bench, Sec. 3.1, Table 1",
        truth="which source sounds when is unchanged",
        origin="sensor",
    )

    def choose(self, rng: np.random.Generator, take: AudioInfo, /, *, strength: float) -> PeakingParams:
        """Draw where the band lies, how wide it is, and what becomes of it."""
        del take
        centre, quality = (float(rng.uniform()) for _ in range(2))
        return PeakingParams(
            strength=strength, centre_share=centre, quality_share=quality, gain_share=float(rng.uniform(-1.0, 1.0))
        )

    def render(self, sound: Samples, params: PeakingParams, *, rate_hz: int) -> Samples:
        """The sound with its band changed."""
        low_hz, high_hz = self.centre.at(params.strength)
        highest_hz = _HIGHEST * rate_hz / 2.0
        centre_hz = filters.mel_between(min(low_hz, highest_hz), min(high_hz, highest_hz), share=params.centre_share)
        gain_db = params.gain_share * self.bound.at(params.strength)
        quality = self.quality.within(params.strength, params.quality_share)
        response = filters.peaking(centre_hz, gain_db=gain_db, quality=quality, rate_hz=rate_hz)
        return filters.filtered(sound, response)


STRESSOR: SoundStressor[PeakingParams] = PeakingFilter()
