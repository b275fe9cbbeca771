"""High-pass: a narrow channel loses the bass, as a small loudspeaker does.

Source: R2-Bench, Table 1, transmission noise of sound; constants of its toolbox. The filter is audiomentations' of
12 dB for each octave (the toolbox leaves the slope open), but without its delay: see ``filters``. Below level 1 the
filter of level 1 is taken in part.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from auscult.stress.params import Params
from auscult.stress.sound import filters
from auscult.stress.sound.base import AudioInfo, SoundStressor
from auscult.stress.strength import ALL_ONE_WAY, Rows, between
from auscult.types import Metadata, Samples


@dataclass(frozen=True, slots=True, kw_only=True)
class HighPassParams(Params):
    """Parameters of the high-pass.

    Attributes:
        cutoff_share: Where in the level's range the cut-off lies, 0 (lowest) to 1, on the mel scale.
    """

    cutoff_share: float

    RANGES: ClassVar[Mapping[str, tuple[float, float]]] = {"cutoff_share": (0.0, 1.0)}


class HighPass:
    """Takes away what is below a cut-off."""

    name = "sound.high_pass.v1"
    params = HighPassParams
    levels: Rows = (
        (100.0, 200.0, 0.0),
        (100.0, 200.0, 1.0),
        (200.0, 400.0, 1.0),
        (400.0, 800.0, 1.0),
        (800.0, 1600.0, 1.0),
        (1600.0, 3200.0, 1.0),
    )
    """Least and greatest cut-off in Hz, share of the filter."""
    declared = ALL_ONE_WAY
    keeps_silence = True
    meta = Metadata(
        summary="takes away the bass below a cut-off, at 12 dB for each octave",
        goal="a model that tells sounds apart by their bass",
        modality="sound",
        source="R2-Bench, Sec. 3.1, Table 1",
        truth="who sounds when stays",
        origin="transmission",
    )

    def choose(self, rng: np.random.Generator, take: AudioInfo, *, strength: float) -> HighPassParams:
        """Draw where the cut-off lies."""
        del take
        return HighPassParams(strength=strength, cutoff_share=float(rng.uniform()))

    def render(self, sound: Samples, params: HighPassParams, *, rate_hz: int) -> Samples:
        """The sound without its bass."""
        low_hz, high_hz, share = between(self.levels, params.strength)
        cutoff_hz = filters.mel_between(low_hz, high_hz, share=params.cutoff_share)
        return filters.filtered(sound, filters.blended(filters.high_pass(cutoff_hz, rate_hz=rate_hz), share))


STRESSOR: SoundStressor[HighPassParams] = HighPass()
