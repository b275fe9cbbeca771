"""What judges of separated sound share: lining an output up with its mixture, and what is judged by rule."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from math import log1p
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from auscult.arrays.resampling import mono, moved, power_of_two
from auscult.arrays.spectra import short_time
from auscult.types import PERFORMANCE, Doubles, Samples, SoundCase, SoundEvidence, SoundVerdict

MOST_DELAY_S: Final = 0.1
SILENT: Final = 10 ** (-70 / 20)
"""An output of which everything is below this share of the mixture's peak is silent (-70 dB)."""
STEP_S: Final = 0.02
STEPS: Final = 10

_SURE: Final = 6.0  # a peak by chance is seldom more than five times the deviation
_HIGHER: Final = 1.1
_BANDS: Final = 24
_LOWEST_HZ, _HIGHEST_HZ = 50.0, 16_000.0
_SILENT_MIXTURE: Final = 1e-7
_TURNED: Final = -0.5  # mean cosine; what phases are damaged of is near 0
_WEIGHT: Final = 0.5  # loud cells, of which the mixture is mostly one source, tell the level


class Cells(NamedTuple):
    """Products of mixture and output in cells of 200 ms and one band each, float64 (bands, cells)."""

    mixture: Doubles  # power
    output: Doubles
    explained: Doubles  # power of the output that one complex factor on the mixture explains, chance taken off
    cosine: Doubles  # of that factor's angle


def is_silent(mixture: Samples, separated: Samples | None = None) -> bool:
    """Whether there is nothing to hear in a mixture, or in an output beside it: in the mean of channels, without DC."""
    peak = float(np.ptp(mono(mixture))) / 2
    return peak < _SILENT_MIXTURE if separated is None else float(np.ptp(mono(separated))) / 2 < SILENT * peak


def aligned(mixture: Samples, separated: Samples, *, rate_hz: int) -> tuple[Samples, float, float]:
    """An output in time and at level with its mixture, float32 (samples,) or (channels, samples), neither silent.

    It is moved by up to ``MOST_DELAY_S``, silence in what was not there, and scaled: what it shares with the mixture is
    then the same in both; one that shares nothing gets the mixture's power. Also by how many seconds it was late, and
    the gain, negative where its polarity was turned.

    Reference: Knapp and Carter, "The generalized correlation method for estimation of time delay", 1976 (PHAT).
    """
    late = delay_of(mono(mixture), mono(separated), rate_hz=rate_hz)
    shifted = moved(separated, late)
    reference, output = (spectra(mono(sound), rate_hz=rate_hz) for sound in (mixture, shifted))
    gain = gain_of(cells_of(reference, output, rate_hz=rate_hz))
    return np.asarray(shifted * np.float32(gain), dtype=np.float32), late / rate_hz, gain


def delay_of(mixture: Samples, separated: Samples, *, rate_hz: int) -> int:
    """By how many samples an output is late, float32 (samples,) each; 0 where nothing tells."""
    limit = min(round(MOST_DELAY_S * rate_hz), mixture.size - 1)
    size = power_of_two(mixture.size + limit)
    cross = np.fft.rfft(separated, size) * np.fft.rfft(mixture, size).conj()
    strength = np.abs(cross)
    peaks = np.abs(
        np.roll(np.fft.irfft(cross / (strength + 1e-3 * strength.mean() + 1e-30), size), limit)[: 2 * limit + 1]
    )
    best = int(peaks.argmax())
    sure = peaks[best] > _SURE * np.median(peaks) / 0.6745 and peaks[best] > _HIGHER * peaks[limit]
    return best - limit if sure else 0


def spectra(sound: Samples, *, rate_hz: int) -> NDArray[np.complex64]:
    """Spectra of 40 ms every 20 ms, (frames, bins), whole cells of ``STEPS`` frames with silence at the end."""
    step = max(1, round(STEP_S * rate_hz))
    frames = STEPS * -(-sound.size // (STEPS * step))
    padded = np.pad(sound, (step // 2, (frames + 1) * step - step // 2 - sound.size))
    return np.asarray(short_time(padded, np.hanning(2 * step).astype(np.float32), hop=step), dtype=np.complex64)


def cells_of(mixture: NDArray[np.complex64], separated: NDArray[np.complex64], *, rate_hz: int) -> Cells:
    """The cells of the spectra of a mixture and of an output that lies in time."""
    edges = band_edges(mixture.shape[1], rate_hz)

    def summed(values: NDArray[Any]) -> NDArray[Any]:
        bands = np.stack([values[:, low:high].sum(axis=1, dtype=np.complex128) for low, high in pairwise(edges)])
        return np.asarray(bands.reshape(len(bands), -1, STEPS).sum(axis=2))

    powers = [np.maximum(summed(np.abs(spectrum) ** 2).real, 1e-20) for spectrum in (mixture, separated)]
    factors = summed(separated * mixture.conj())
    cosine = factors.real / np.maximum(np.abs(factors), 1e-20)
    shared = np.abs(factors) ** 2 / powers[0]
    free = 0.5 * STEPS * np.diff(edges)[:, None]  # overlapping windows repeat half of what they say
    chance = np.maximum(powers[1] - shared, 0.0) / np.maximum(free - 1.0, 1.0)
    return Cells(powers[0], powers[1], np.clip(shared - 3.0 * chance, 0.0, powers[1]), cosine)


def band_edges(bins: int, rate_hz: int) -> list[int]:
    """First bins of the bands, which are equally wide in ERB and three bins at least; the last is where they end."""
    top = min(_HIGHEST_HZ, rate_hz / 2)
    scale = np.linspace(log1p(0.00437 * _LOWEST_HZ), log1p(0.00437 * top), _BANDS + 1)
    edges = [max(1, round(_LOWEST_HZ * 2 * STEP_S))]
    for edge in np.round(np.expm1(scale[1:]) / 0.00437 * 2 * STEP_S).astype(int):
        if edge - edges[-1] >= 3:
            edges.append(min(int(edge), bins))
    return edges


def gain_of(cells: Cells) -> float:
    """What to multiply an output by so that what it shares with its mixture is as loud in both, and of one polarity."""
    factors = np.sqrt(cells.explained / cells.mixture).ravel()
    weights = np.where(cells.mixture > 1e-6 * cells.mixture.max(), cells.explained, 0.0).ravel() ** _WEIGHT
    order = np.argsort(factors)
    summed = np.cumsum(weights[order])
    if summed[-1] <= 0.0:
        return float(np.sqrt(cells.mixture.sum() / cells.output.sum()))
    sign = -1.0 if weights @ cells.cosine.ravel() < _TURNED * summed[-1] else 1.0
    return sign / float(factors[order][np.searchsorted(summed, summed[-1] / 2)])


def scored(
    case: SoundCase,
    judge: str,
    scores: Mapping[str, tuple[float, float, float]],
    *,
    difficulty: Mapping[str, float],
    evidence: SoundEvidence,
    rationale: str,
    **more: Any,
) -> SoundVerdict:
    """A verdict from scores by ``PERFORMANCE``, each with the ends of its interval; none of them is unjudged."""
    values: dict[str, Any] = {
        f"{axis}{end}": scores[axis][place] if scores else None
        for axis in PERFORMANCE
        for place, end in enumerate(("", "_low", "_high"))
    }
    values |= {"difficulty": difficulty, "evidence": evidence, "rationale": rationale, **more}
    return SoundVerdict(id=case.id, judge=judge, **values)


def unjudged(case: SoundCase, judge: str) -> SoundVerdict:
    """The verdict on a silent mixture: none."""
    return scored(case, judge, {}, difficulty={}, evidence=SoundEvidence(), rationale="The mixture is silent.")


def silent_output(
    case: SoundCase, judge: str, *, difficulty: Mapping[str, float], evidence: SoundEvidence
) -> SoundVerdict:
    """The verdict on a silent output, by rule: nothing of the target, and nothing else either."""
    scores = {"recall": 1.0, "precision": 5.0, "faithfulness": 1.0, "overall": 0.6 + 0.4 * 7 / 3}
    return scored(
        case,
        judge,
        {axis: (score, score, score) for axis, score in scores.items()},
        difficulty=difficulty,
        evidence=evidence,
        rationale="By rule: the output is silent, so nothing of the target is there, and nothing else.",
    )
