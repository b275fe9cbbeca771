"""High-pass: a narrow channel loses the bass, as a small loudspeaker does.

Source: R2-Bench, Table 1, transmission noise of sound; constants of its toolbox. The filter is audiomentations' of
12 dB for each octave (the toolbox leaves the slope open), but without its delay: see ``filters``. Below level 1 the
filter of level 1 is taken in part.
"""

from __future__ import annotations

from dataclasses import dataclass

from auscult.stress.params import Params, Share
from auscult.stress.perturbation import Constant, Perturbs, Range
from auscult.stress.sound import filters
from auscult.stress.sound.base import SoundStressor
from auscult.types import Metadata, Samples


@dataclass(frozen=True, slots=True, kw_only=True)
class HighPassParams(Params):
    """Parameters of the high-pass.

    Attributes:
        cutoff_share: Where in the level's range the cut-off lies, 0 (lowest) to 1, on the mel scale.
    """

    cutoff_share: Share


class HighPass(Perturbs[HighPassParams]):
    """Takes away what is below a cut-off."""

    name = "sound.high_pass.v1"
    params = HighPassParams
    cutoff = Range(
        "cut-off",
        (100.0, 100.0, 200.0, 400.0, 800.0, 1600.0),
        (200.0, 200.0, 400.0, 800.0, 1600.0, 3200.0),
        unit="Hz",
    )
    share = Constant("share of the filter", (0.0, 1.0, 1.0, 1.0, 1.0, 1.0))
    keeps_silence = True
    meta = Metadata(
        summary="takes away the bass below a cut-off, at 12 dB for each octave",
        goal="a model that tells sounds apart by their bass",
        modality="sound",
        source="R2-Bench, Sec. 3.1, Table 1",
        truth="who sounds when stays",
        origin="transmission",
    )

    def render(self, sound: Samples, params: HighPassParams, *, rate_hz: int) -> Samples:
        """The sound without its bass."""
        cutoff_hz = filters.mel_between(*self.cutoff.at(params.strength), share=params.cutoff_share)
        response = filters.high_pass(cutoff_hz, rate_hz=rate_hz)
        return filters.filtered(sound, filters.blended(response, self.share.at(params.strength)))


STRESSOR: SoundStressor[HighPassParams] = HighPass()
