"""What `sound.cues.v1` reads off an output beside its mixture, and off the mixture alone.

Powers are of cells of 200 ms and one band, relative to the mixture's mean; loudness is their power of .3, as in the
truth by formula.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from auscult.arrays.resampling import mono_at
from auscult.judge.sound.shared import STEP_S, STEPS, band_edges, cells_of, delay_of, gain_of, moved, spectra
from auscult.types import Doubles, Samples, Span

RATE_HZ: Final = 16_000
FEATURES: Final[Mapping[str, str]] = {
    "kept": "how much of the mixture's loudness is kept",
    "unexplained": "sound in the output that the mixture has not",
    "like_the_rest": "how alike output and rest are in when and where they are loud",
    "half_open": "places where output and rest share the sound evenly",
    "undecided": "how much the share that is kept differs from place to place",
    "flicker": "how restless the output is beside the mixture, as musical noise is",
    "duller": "how much lower the output sounds than the mixture",
    "gaps": "moments in which the output is silent and the mixture is not",
    "noisier": "how much less tonal the output is than the mixture",
    "modulation": "how much stronger the output's loudness varies than the mixture's",
}
SPAN_FEATURES: Final[Mapping[str, str]] = {
    "kept_inside": "how much of the mixture is kept where the target should be heard",
    "kept_outside": "how much of the mixture is kept where it should not",
    "inside": "how much of the output is heard where the target should be",
}
HARD_FEATURES: Final = (
    "mixture_rank", "mixture_modulation", "mixture_flatness", "mixture_busy", "mixture_change",
    "open", "louder_inside", "alike_inside",
)  # fmt: skip
_FLOOR: Final = 1e-6
_EXPONENT: Final = 0.3
_HEARD_DB: Final = -40.0


def _loudness(power: Doubles, masker: Doubles | float = 0.0) -> Doubles:
    floor = _FLOOR + 0.03 * masker
    return np.asarray((power + floor) ** _EXPONENT - floor**_EXPONENT)


class Heard:
    """A mixture, float32 (samples,) or (channels, samples), opened once for all its outputs."""

    def __init__(self, mixture: Samples, *, rate_hz: int) -> None:
        self.samples = mono_at(mixture, rate_hz=rate_hz, wanted_hz=RATE_HZ)
        self.spectra = spectra(self.samples, rate_hz=RATE_HZ)
        self.looks = _looks(self.spectra)

    def told(self, spans: Sequence[Span]) -> bool:
        """Whether spans tell where the target is heard from where it is not."""
        return open_frames(spans, len(self.spectra) // STEPS, hop_s=STEP_S * STEPS) is not None

    def difficulty(self, spans: Sequence[Span]) -> Doubles:
        """``HARD_FEATURES`` of mixture and spans."""
        power = self.looks.bands
        loud = _loudness(power / max(power.sum(axis=0).mean(), 1e-20))
        sizes = np.linalg.svd(loud, compute_uv=False)
        share = sizes / max(sizes.sum(), 1e-12)
        change = np.abs(np.diff(loud, axis=1)).sum() / max(loud.sum(), 1e-12)
        busy = float((loud > 0.3 * loud.max()).mean())
        own = [-float((share * np.log(share + 1e-12)).sum()), self.looks.modulation, self.looks.flatness, busy, change]
        inside = open_frames(spans, loud.shape[1])
        if inside is None:
            return np.array([*own, 1.0, 0.0, 1.0])
        one, two = (loud[:, where].mean(axis=1) if where.any() else np.zeros(len(loud)) for where in (inside, ~inside))
        level = float(np.log((one.sum() + 0.1) / (two.sum() + 0.1)))
        return np.array([*own, float(inside.mean()), level, _correlation(one, two)])

    def features(self, separated: Samples, *, rate_hz: int, spans: Sequence[Span]) -> tuple[Doubles, Doubles]:
        """Read off what is said of an output.

        Args:
            separated: float32 (samples,) or (channels, samples), as long as the mixture.
            rate_hz: Samples per second.
            spans: Where the target is heard, or is not.

        Returns:
            Values of ``FEATURES``, and of ``SPAN_FEATURES`` where spans tell inside from outside; and of each 200 ms
                the loudness kept, left out and unexplained, (3, steps).
        """
        output = mono_at(separated, rate_hz=rate_hz, wanted_hz=RATE_HZ)
        output = moved(output, delay_of(self.samples, output, rate_hz=RATE_HZ))
        found = spectra(output, rate_hz=RATE_HZ)
        cells = cells_of(self.spectra, found, rate_hz=RATE_HZ)
        gain, mean = gain_of(cells) ** 2, max(cells.mixture.sum(axis=0).mean(), 1e-20)
        mixture, kept = cells.mixture / mean, np.minimum(cells.explained * gain, cells.mixture) / mean
        strange = np.maximum(cells.output - cells.explained, 0.0) * gain / mean
        rest = np.maximum(mixture - kept, 0.0)
        loud, ours, left = (_loudness(part) for part in (mixture, kept, rest))
        odd, total = _loudness(strange, kept), max(loud.sum(), 1e-12)
        share, weights = np.sqrt(kept / np.maximum(mixture, 1e-12)), loud / total
        middle, looks = float((weights * share).sum()), _looks(found)
        over_time = loud.sum(axis=0)
        silent = (ours + odd).sum(axis=0) < 0.05 * over_time
        values = [
            ours.sum() / total,
            odd.sum() / (ours.sum() + 0.02 * total),
            _correlation(ours.ravel(), left.ravel()),
            float((weights * 4 * share**2 * (1 - share**2)).sum()),
            float(np.sqrt((weights * (share - middle) ** 2).sum())),
            looks.flicker - self.looks.flicker,
            self.looks.centre - looks.centre,
            float((over_time * silent).sum() / total),
            looks.flatness - self.looks.flatness,
            looks.modulation - self.looks.modulation,
        ]
        inside = open_frames(spans, ours.shape[1], hop_s=STEP_S * STEPS)
        if inside is not None:
            heard = (ours + odd).sum(axis=0)
            values += [
                float(ours[:, inside].sum() / (loud[:, inside].sum() + 0.02 * total)),
                float(ours[:, ~inside].sum() / (loud[:, ~inside].sum() + 0.02 * total)),
                float(heard[inside].sum() / max(heard.sum(), 1e-12)),
            ]
        return np.array(values, np.float64), np.stack([part.sum(axis=0) for part in (ours, left, odd)])


class _Looks(NamedTuple):
    """What a spectrum looks like, whatever its level."""

    bands: Doubles  # power, (bands, frames)
    flicker: float  # mean change from frame to frame in dB
    centre: float  # mean band, weighted by loudness
    flatness: float  # mean log of geometric over arithmetic mean of neighbouring bins, 0 of noise, lower of tones
    modulation: float  # deviation of the loudness over time, relative to its mean


def _looks(found: NDArray[np.complex64]) -> _Looks:
    power = (found.real**2 + found.imag**2).astype(np.float64)
    edges = band_edges(power.shape[1], RATE_HZ)
    bands = np.stack([power[:, low:high].sum(axis=1) for low, high in pairwise(edges)])
    top = max(float(bands.max()), 1e-20)
    level_db = np.maximum(10 * np.log10(bands / top + 1e-12), _HEARD_DB - 10)
    heard = level_db[:, 1:] > _HEARD_DB
    loud = _loudness(bands / top)
    over_time = loud.sum(axis=0)
    logs = np.log(power[:, edges[0] : edges[-1]] / top + 1e-9)
    strong = logs.max(axis=1) > np.log(1e-4)
    flat = logs.mean(axis=1) - np.log(np.exp(logs).mean(axis=1))
    return _Looks(
        bands,
        float((np.abs(np.diff(level_db, axis=1)) * heard).sum() / max(heard.sum(), 1)),
        float((loud.sum(axis=1) * np.arange(len(loud))).sum() / max(loud.sum(), 1e-12)),
        float(flat[strong].mean()) if strong.any() else 0.0,
        float(over_time.std() / max(over_time.mean(), 1e-12)),
    )


def open_frames(spans: Sequence[Span], frames: int, *, hop_s: float = STEP_S) -> NDArray[np.bool_] | None:
    """In which steps of ``hop_s`` the target should be heard; None where spans do not tell some from others."""
    found = np.full(frames, not any(span.sign == "+" for span in spans))
    for span in sorted(spans, key=lambda span: span.sign == "-"):  # what is not the target has the last word
        first, last = (max(0, round(at / hop_s)) for at in (span.start_s, span.end_s))
        found[first:last] = span.sign == "+"
    return found if found.any() and not found.all() else None


def _correlation(one: Doubles, two: Doubles) -> float:
    first, second = one - one.mean(), two - two.mean()
    return float(first @ second / np.sqrt(max(first @ first * (second @ second), 1e-20)))
