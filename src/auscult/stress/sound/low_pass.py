"""Low-pass: a narrow channel loses the treble, as a telephone does.

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
class LowPassParams(Params):
    """Parameters of the low-pass.

    Attributes:
        cutoff_share: Where in the level's range the cut-off lies, 0 (lowest) to 1, on the mel scale.
    """

    cutoff_share: Share


class LowPass(Perturbs[LowPassParams]):
    """Takes away what is above a cut-off."""

    name = "sound.low_pass.v1"
    params = LowPassParams
    cutoff = Range(
        "cut-off",
        (8000.0, 8000.0, 4000.0, 2000.0, 1000.0, 500.0),
        (16000.0, 16000.0, 8000.0, 4000.0, 2000.0, 1000.0),
        unit="Hz",
    )
    share = Constant("share of the filter", (0.0, 1.0, 1.0, 1.0, 1.0, 1.0))
    keeps_silence = True
    meta = Metadata(
        summary="takes away the treble above a cut-off, at 12 dB for each octave",
        goal="a model that tells sounds apart by their treble",
        modality="sound",
        source="R2-Bench, Sec. 3.1, Table 1",
        truth="who sounds when stays",
        origin="transmission",
    )

    def render(self, sound: Samples, params: LowPassParams, *, rate_hz: int) -> Samples:
        """The sound without its treble."""
        cutoff_hz = filters.mel_between(*self.cutoff.at(params.strength), share=params.cutoff_share)
        response = filters.low_pass(cutoff_hz, rate_hz=rate_hz)
        return filters.filtered(sound, filters.blended(response, self.share.at(params.strength)))


STRESSOR: SoundStressor[LowPassParams] = LowPass()
