"""Filters that take away one side of a cut-off, in part below level 1; see ``filters`` for how they keep time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from auscult.stress.perturbation import Constant, Params, Perturbs, Range, Share
from auscult.stress.sound import filters
from auscult.stress.sound.base import SoundStressor
from auscult.types import Metadata, Samples


@dataclass(frozen=True, slots=True, kw_only=True)
class CutoffParams(Params):
    """Parameters of a low-pass or a high-pass."""

    cutoff_share: Share  # where in the level's range the cut-off lies, 0 (lowest) to 1, on the mel scale


class CutoffFilter(Perturbs[CutoffParams], ABC):
    """What a low-pass and a high-pass have in common."""

    params = CutoffParams
    cutoff: Range
    share = Constant("share of the filter", (0.0, 1.0, 1.0, 1.0, 1.0, 1.0))
    keeps_silence = True

    @abstractmethod
    def response(self, cutoff_hz: float, *, rate_hz: int) -> filters.Response:
        """The whole filter."""

    def render(self, sound: Samples, params: CutoffParams, *, rate_hz: int) -> Samples:
        """The sound without what lies beyond the cut-off."""
        cutoff_hz = filters.mel_between(*self.cutoff.at(params.strength), share=params.cutoff_share)
        whole = self.response(cutoff_hz, rate_hz=rate_hz)
        return filters.filtered(sound, filters.blended(whole, self.share.at(params.strength)))


class LowPass(CutoffFilter):
    """Low-pass: a narrow channel loses the treble, as a telephone does.

    Source: R2-Bench, Table 1, transmission noise of sound; constants of its toolbox. The filter is audiomentations' of
    12 dB for each octave (the toolbox leaves the slope open), but without its delay: see ``filters``. Below level 1 the
    filter of level 1 is taken in part.
    """

    name = "sound.low_pass.v1"
    cutoff = Range(
        "cut-off",
        (8000.0, 8000.0, 4000.0, 2000.0, 1000.0, 500.0),
        (16000.0, 16000.0, 8000.0, 4000.0, 2000.0, 1000.0),
        unit="Hz",
    )
    meta = Metadata(
        summary="takes away the treble above a cut-off, at 12 dB for each octave",
        goal="a model that tells sounds apart by their treble",
        modality="sound",
        source="R2-Bench, Sec. 3.1, Table 1",
        truth="which source sounds when is unchanged",
        origin="transmission",
    )

    def response(self, cutoff_hz: float, *, rate_hz: int) -> filters.Response:
        """As of ``filters.low_pass``."""
        return filters.low_pass(cutoff_hz, rate_hz=rate_hz)


LOW_PASS: SoundStressor[CutoffParams] = LowPass()


class HighPass(CutoffFilter):
    """High-pass: a narrow channel loses the bass, as a small loudspeaker does.

    Source: R2-Bench, Table 1, transmission noise of sound; constants of its toolbox. The filter is audiomentations' of
    12 dB for each octave (the toolbox leaves the slope open), but without its delay: see ``filters``. Below level 1 the
    filter of level 1 is taken in part.
    """

    name = "sound.high_pass.v1"
    cutoff = Range(
        "cut-off",
        (100.0, 100.0, 200.0, 400.0, 800.0, 1600.0),
        (200.0, 200.0, 400.0, 800.0, 1600.0, 3200.0),
        unit="Hz",
    )
    meta = Metadata(
        summary="takes away the bass below a cut-off, at 12 dB for each octave",
        goal="a model that tells sounds apart by their bass",
        modality="sound",
        source="R2-Bench, Sec. 3.1, Table 1",
        truth="which source sounds when is unchanged",
        origin="transmission",
    )

    def response(self, cutoff_hz: float, *, rate_hz: int) -> filters.Response:
        """As of ``filters.high_pass``."""
        return filters.high_pass(cutoff_hz, rate_hz=rate_hz)


HIGH_PASS: SoundStressor[CutoffParams] = HighPass()
