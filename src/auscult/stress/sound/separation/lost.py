"""The target lost: in time, in bands, above a cut-off, wholly, or for another source; and the paper's two masks.

``time_loss`` and ``band_loss`` take away a stated share of the target's own energy, whatever the sound;
``temporal_mask`` and ``frequency_mask`` a stated share of its length and of its bands, wherever its energy is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from auscult.rng import generator
from auscult.stress.perturbation import Constant, Fixed, Seeded
from auscult.stress.sound import filters
from auscult.stress.sound.separation.base import (
    Parts,
    PlaceParams,
    SeparationStressor,
    SourceParams,
    Stems,
    about,
    at_level,
)
from auscult.stress.sound.separation.spectra import mean_power
from auscult.types import Samples

Numbers = NDArray[np.float64]

_BLOCK_S: Final = 0.25
_FADE_S: Final = 0.01
_SLICE_S: Final = 0.0025
_FEWEST_BLOCKS: Final = 8
_BANDS: Final = 24
_LOWEST_HZ: Final = 60.0
_WIDEST: Final = 0.9
_STEPS: Final = 40
PAPER: Final = "SAM Audio Judge, Sec. III-A, batch 2"


def _taken(x: float, ranks: NDArray[np.intp]) -> Numbers:
    """How much is kept of each block, 0..1, where a share ``x`` of the blocks, in the order of ranks, is taken away."""
    return np.asarray(1.0 - np.clip(x * ranks.size - ranks, 0.0, 1.0))


def solved(lost: Callable[[float], float], wanted: float) -> float:
    """Where a rising function of 0..1 reaches what is wanted."""
    low, high = 0.0, 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2.0
        low, high = (middle, high) if lost(middle) < wanted else (low, middle)
    return high


def _ranks(seed: int, count: int) -> NDArray[np.intp]:
    return generator(seed, "separation", "order").permutation(count)


def _scaled(sound: Samples, points: Numbers, values: Numbers) -> Samples:
    """A sound times a curve, on straight lines between points that are samples."""
    return sound * np.interp(np.arange(sound.shape[1]), points, values).astype(np.float32)


class TimeLoss(Seeded, SeparationStressor[Any]):
    """Takes away blocks of a quarter of a second, at random, until the wanted share of the energy is gone."""

    name = "separation.time_loss.v1"
    degree = "lost_share"
    share = Constant("share of the target's energy lost", (0.0, 0.1, 0.25, 0.45, 0.7, 0.9))
    meta = about("the target drops out for parts of its time", "recall that is lost in time")

    def render(self, stems: Stems, params: Any) -> Parts:
        """The target with pauses."""
        target, samples = stems.target, stems.target.shape[1]
        count = min(samples, max(_FEWEST_BLOCKS, round(samples / stems.rate_hz / _BLOCK_S)))
        edges = np.linspace(0, samples, count + 1)
        fade = min(_FADE_S * stems.rate_hz, samples / count) / 2.0
        points = np.stack([edges[:-1] + fade, edges[1:] - fade], axis=1).reshape(-1)
        starts = np.arange(0, samples, max(1, round(_SLICE_S * stems.rate_hz)))
        powers = sum(np.add.reduceat(channel.astype(np.float64) ** 2, starts) for channel in target)
        ranks = _ranks(params.seed, count)

        def lost(x: float) -> float:
            kept = np.interp(starts, points, np.repeat(_taken(x, ranks), 2))
            return float(np.sum(powers * (1.0 - kept) ** 2) / np.sum(powers))

        x = solved(lost, self.share.at(params.strength))
        return Parts(kept=_scaled(target, points, np.repeat(_taken(x, ranks), 2)))


def _mel(hz: Any) -> Any:
    return np.log1p(np.asarray(hz) / 700.0)


def in_bands(sound: Samples, kept: Callable[[Numbers], Numbers], *, rate_hz: int) -> Samples:
    """A sound filtered by a gain for each place on the mel scale, from 0 (0 Hz) to 1 (half the rate)."""

    def gain(w: Numbers) -> Numbers:
        return kept(_mel(w * rate_hz / (2 * np.pi)) / _mel(rate_hz / 2.0))

    return filters.filtered(sound, filters.Response(gain=gain, reach=max(1, round(2.0 * rate_hz / _LOWEST_HZ))))


class BandLoss(Seeded, SeparationStressor[Any]):
    """Takes away bands, 24 on the mel scale, at random, until the wanted share of the energy is gone."""

    name = "separation.band_loss.v1"
    degree = "lost_share"
    share = Constant("share of the target's energy lost", (0.0, 0.1, 0.25, 0.45, 0.7, 0.9))
    meta = about("the target lacks bands of frequencies", "recall that is lost in frequency")

    def render(self, stems: Stems, params: Any) -> Parts:
        """The target without these bands."""
        powers = mean_power(stems.target)
        places = _mel(np.linspace(0.0, stems.rate_hz / 2.0, powers.size)) / _mel(stems.rate_hz / 2.0)
        ranks, centres = _ranks(params.seed, _BANDS), (np.arange(_BANDS) + 0.5) / _BANDS
        points = np.stack([centres - 0.4 / _BANDS, centres + 0.4 / _BANDS], axis=1).reshape(-1)

        def curve(x: float, at: Numbers) -> Numbers:
            return np.interp(at, points, np.repeat(_taken(x, ranks), 2))

        def lost(x: float) -> float:
            return float(np.sum(powers * (1.0 - curve(x, places)) ** 2) / np.sum(powers))

        x = solved(lost, self.share.at(params.strength))
        return Parts(kept=in_bands(stems.target, lambda at: curve(x, at), rate_hz=stems.rate_hz))


class BandLimit(Fixed, SeparationStressor[Any]):
    """Ends the target at a cut-off, 48 dB for each octave, as networks at a low rate do."""

    name = "separation.band_limit.v1"
    degree = "lost_share"
    cutoff = Constant("cut-off", (24_000.0, 6_000.0, 4_000.0, 2_500.0, 1_500.0, 800.0), unit="Hz")
    meta = about("the target lacks everything above a cut-off", "dull outputs, as of networks at a low rate")

    def render(self, stems: Stems, params: Any) -> Parts:
        """The target below the cut-off."""
        edge = 2 * np.pi * self.cutoff.at(params.strength) / stems.rate_hz
        response = filters.Response(gain=lambda w: 1.0 / np.sqrt(1.0 + (w / edge) ** 16), reach=round(100 / edge) + 1)
        return Parts(kept=filters.filtered(stems.target, response))


class TargetLoss(SeparationStressor[SourceParams]):
    """Fades the target out, and leaves 20 dB below it a trace of another source."""

    name = "separation.target_loss.v1"
    params = SourceParams
    degree = "lost_share"
    needs_others = True
    share = Constant("share of the target's amplitude lost", (0.0, 0.3, 0.55, 0.75, 0.9, 1.0))
    meta = about("the target is lost wholly, a trace of another source stays", "an output that misses its object")

    def render(self, stems: Stems, params: SourceParams) -> Parts:
        """What is left of the target, and the trace."""
        share = self.share.at(params.strength)
        place = stems.other(params.source_share)
        trace = at_level(stems.others[place], -20.0, of=stems.target) * np.float32(share)
        return Parts(kept=stems.target * np.float32(1.0 - share), interference=trace, sources=(place,))


class WrongSource(SeparationStressor[SourceParams]):
    """Fades from the target to another source; at the strongest that source's stem is returned."""

    name = "separation.wrong_source.v1"
    params = SourceParams
    degree = "lost_share"
    needs_others = True
    share = Constant("share of the amplitude that is the other source's", (0.0, 0.15, 0.35, 0.6, 0.85, 1.0))
    meta = about("another source is returned in the target's place", "a separator that mistakes what was asked for")

    def render(self, stems: Stems, params: SourceParams) -> Parts:
        """The two sources, faded."""
        share = np.float32(self.share.at(params.strength))
        place = stems.other(params.source_share)
        return Parts(kept=stems.target * (1 - share), interference=stems.others[place] * share, sources=(place,))


class Silence(Fixed, SeparationStressor[Any]):
    """Fades the target out; at the strongest every sample is 0."""

    name = "separation.silence.v1"
    degree = "lost_share"
    share = Constant("share of the amplitude lost", (0.0, 0.3, 0.6, 0.8, 0.95, 1.0))
    meta = about("the output fades to silence", "scores that reward an output without content")

    def render(self, stems: Stems, params: Any) -> Parts:
        """The quieter target."""
        return Parts(kept=stems.target * np.float32(1.0 - self.share.at(params.strength)))


class TemporalMask(SeparationStressor[PlaceParams]):
    """Silences two spans of the output, with fades of 10 ms; stronger ones contain weaker ones."""

    name = "separation.temporal_mask.v1"
    params = PlaceParams
    degree = "lost_share"
    share = Constant("share of the length masked by each of two spans", (0.0, 0.04, 0.08, 0.14, 0.22, 0.35))
    meta = about("two spans of the output are silenced", "the enrichment by temporal masking", source=PAPER)

    def render(self, stems: Stems, params: PlaceParams) -> Parts:
        """The target with two pauses."""
        samples, kept = stems.target.shape[1], stems.target
        fade = _FADE_S * stems.rate_hz
        for start, end in _two_spans(params, self.share.at(params.strength)):
            points = np.array([start * samples, start * samples + fade, end * samples - fade, end * samples])
            if points[2] > points[1]:
                kept = _scaled(kept, points, np.array([1.0, 0.0, 0.0, 1.0]))
        return Parts(kept=kept)


class FrequencyMask(SeparationStressor[PlaceParams]):
    """Takes two bands out of the output, on the mel scale; stronger ones contain weaker ones."""

    name = "separation.frequency_mask.v1"
    params = PlaceParams
    degree = "lost_share"
    share = Constant("share of the mel scale masked by each of two bands", (0.0, 0.04, 0.08, 0.14, 0.22, 0.35))
    meta = about("two bands of the output are taken out", "the enrichment by frequency masking", source=PAPER)

    def render(self, stems: Stems, params: PlaceParams) -> Parts:
        """The target without the two bands."""
        bands = _two_spans(params, self.share.at(params.strength))

        def kept(at: Numbers) -> Numbers:
            inside = [np.clip(np.minimum(at - low, high - at) / 0.01, 0.0, 1.0) for low, high in bands]
            return 1.0 - np.maximum(*inside)

        return Parts(kept=in_bands(stems.target, kept, rate_hz=stems.rate_hz))


def _two_spans(params: PlaceParams, length: float) -> list[tuple[float, float]]:
    """Two spans in 0..1 of one length, that grow around places of their own."""
    places = (params.place, float(generator(params.seed, "separation", "second").random()))
    return [(place * (1.0 - length), place * (1.0 - length) + length) for place in places]


TIME_LOSS, BAND_LOSS, BAND_LIMIT, TARGET_LOSS = TimeLoss(), BandLoss(), BandLimit(), TargetLoss()
WRONG_SOURCE, SILENCE, TEMPORAL_MASK, FREQUENCY_MASK = WrongSource(), Silence(), TemporalMask(), FrequencyMask()
