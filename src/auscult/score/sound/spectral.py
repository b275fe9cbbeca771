"""Distances of spectra: how unlike the magnitudes of an output and its stem are, whatever their phases.

Conventions: lower is better, 0 for equal magnitudes; a Hann window, frames that lie whole in the sound (one padded
frame where it is shorter), channels and frames counted alike. A silent stem or estimate is Undefined.

References: A. Gray, J. Markel, "Distance measures for speech processing", IEEE TASSP 24, 1976 (log-spectral distance);
R. Yamamoto, E. Song, J.-M. Kim, "Parallel WaveGAN", ICASSP 2020, Eqs. 4 to 6 (several resolutions).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from auscult.arrays.spectra import short_time
from auscult.outcome import Scored, Signature, Undefined
from auscult.score.sound.inputs import Signal, block, check_finite, check_signals, silence_of, sound_score
from auscult.types import Doubles, Samples

RESOLUTIONS: Final = ((512, 240, 50), (1024, 600, 120), (2048, 1200, 240))
"""Transform, window and hop in samples."""
FLOOR_DB: Final = -100.0
_FRAMES: Final = 256


def log_spectral_distance(
    estimate: Signal, stem: Signal, *, rate_hz: int, window_s: float = 0.032, floor_db: float = FLOOR_DB
) -> Scored[float] | Undefined:
    """Mean over frames of the root mean square difference of log power spectra, in dB, lower is better.

    Args:
        estimate: What was separated, float (samples,) or (channels, samples).
        stem: The true source, the same shape.
        rate_hz: Samples per second.
        window_s: Seconds of a frame; the hop is a quarter.
        floor_db: What is weaker than this below full scale (a sine of 1) counts as that.

    Raises:
        InputError: The shapes differ, or a sample is not finite.

    Source: Gray and Markel 1976, d2 of log spectra.
    """
    check_signals(estimate=estimate, stem=stem)
    size = max(4, round(window_s * rate_hz))
    floor = (size / 4) ** 2 * 10 ** (floor_db / 10)
    total, count, output_energy, stem_energy = 0.0, 0, 0.0, 0.0
    for magnitude, stem_magnitude in _spectra(estimate, stem, shape=(size, size, max(1, size // 4))):
        powers = [np.square(values) for values in (magnitude, stem_magnitude)]
        output_energy, stem_energy = output_energy + float(powers[0].sum()), stem_energy + float(powers[1].sum())
        difference_db = 10 * np.log10(np.maximum(powers[0], floor) / np.maximum(powers[1], floor))
        total += float(np.sqrt(np.mean(difference_db**2, axis=-1)).sum())
        count += difference_db.shape[0] * difference_db.shape[1]
    check_finite(output_energy, stem_energy)
    if reason := silence_of(output_energy, stem_energy):
        return Undefined(reason)
    signed = Signature.of(metric="log_spectral_distance", window=size, hop=max(1, size // 4), floor_db=floor_db)
    return Scored(total / count, signed)


def multi_resolution_stft(estimate: Signal, stem: Signal) -> Scored[float] | Undefined:
    """Spectral convergence and mean difference of log magnitudes, summed, mean of three resolutions; lower is better.

    Arguments and errors are those of ``log_spectral_distance``. Resolutions are in samples, as published, so that
    sounds of one rate only can be compared.

    Source: Yamamoto et al. 2020, Eqs. 4 to 6.
    """
    check_signals(estimate=estimate, stem=stem)
    values = []
    for shape in RESOLUTIONS:
        error = stem_energy = logs = output_sum = 0.0
        count = 0
        for magnitude, stem_magnitude in _spectra(estimate, stem, shape=shape):
            error += float(np.square(magnitude - stem_magnitude).sum())
            output_sum, stem_energy = (
                output_sum + float(magnitude.sum()),
                stem_energy + float(np.square(stem_magnitude).sum()),
            )
            logs += float(np.abs(np.log(np.maximum(magnitude, 1e-7) / np.maximum(stem_magnitude, 1e-7))).sum())
            count += magnitude.size
        check_finite(output_sum, stem_energy)
        if reason := silence_of(output_sum, stem_energy):
            return Undefined(reason)
        values.append(float(np.sqrt(error / stem_energy)) + logs / count)
    signed = Signature.of(metric="multi_resolution_stft", resolutions="512/240/50+1024/600/120+2048/1200/240")
    return Scored(float(np.mean(values)), signed)


def _spectra(estimate: Signal, stem: Signal, *, shape: tuple[int, int, int]) -> Iterator[tuple[Doubles, Doubles]]:
    """Magnitudes of both, (channels, frames, bins), some frames at a time."""
    transform, size, hop = shape
    window = np.hanning(size + 1)[:size]
    frames = max(0, stem.shape[-1] - size) // hop + 1
    for first in range(0, frames, _FRAMES):
        count = min(_FRAMES, frames - first)
        magnitudes = []
        for signal in (estimate, stem):
            part = block(signal, first * hop, (first + count - 1) * hop + size)
            part = np.pad(part, ((0, 0), (0, max(0, size - part.shape[1]))))
            magnitudes.append(np.abs(short_time(part, window, hop=hop, size=transform)))
        yield magnitudes[0], magnitudes[1]


def spectral_complexity(samples: Samples, *, rate_hz: int) -> float:
    """How many of 40 bands sound at once, 1 to 40: exp of the entropy of their power, mean over frames of 64 ms.

    Frames count by their power to .3, as loudness does. A pure tone has about 1, white noise 40. Ours; it stands in for
    the production complexity of Audiobox Aesthetics, which may be given as a column. Silence has 0.
    """
    mono = np.atleast_2d(samples).mean(axis=0)
    size = max(64, int(2 ** np.round(np.log2(0.064 * rate_hz))))
    padded = np.pad(mono, (0, max(0, size - mono.size)))
    count = (padded.size - size) // (size // 2) + 1
    hop = size // 2 * -(-count // 4096)  # of long sounds some frames, evenly
    power = np.abs(short_time(padded, np.hanning(size), hop=hop)) ** 2
    edges = np.unique(np.geomspace(2, power.shape[1] - 1, 41).astype(int))
    bands = np.add.reduceat(power, edges[:-1], axis=1) / np.diff(edges)
    total = bands.sum(axis=1)
    shares = bands / np.maximum(total, 1e-30)[:, None]
    several = np.exp(-(shares * np.log(np.maximum(shares, 1e-30))).sum(axis=1))
    weight = total**0.3
    return float((several * weight).sum() / weight.sum()) if total.max() > 1e-9 else 0.0


LOG_SPECTRAL = sound_score(
    log_spectral_distance, higher_is_better=False, summary="root mean square difference of log spectra",
    goal="lost bands and changed timbre", source="Gray and Markel 1976",
)  # fmt: skip
MULTI_RESOLUTION = sound_score(
    multi_resolution_stft, unit="", higher_is_better=False, summary="difference of magnitudes at three resolutions",
    goal="outputs that are made anew, whose phase is their own", source="Yamamoto et al. 2020, Eqs. 4 to 6",
)  # fmt: skip
