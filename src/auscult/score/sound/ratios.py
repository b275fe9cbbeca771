"""Ratios of energy between a stem and what an estimate adds to it: SNR and SI-SDR.

Conventions: decibels, higher is better; signals are (samples,) or (channels, samples), and channels count together. A
silent stem or estimate, and an estimate without any error, have no ratio: Undefined with the reason, never infinity.

References: J. Le Roux, S. Wisdom, H. Erdogan, J. Hershey, "SDR - half-baked or well done?", ICASSP 2019.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from auscult.outcome import Scored, Signature, Undefined
from auscult.score.sound.inputs import NO_ESTIMATE, NO_STEM, Signal, blocks, check_finite, check_signals, sound_score

_CANCELS: Final = 1e-6
"""Below this share of the target the error is summed by itself: the difference of two energies would be rounding."""
ROUNDING: Final = float(np.finfo(np.float64).eps) ** 2
"""An energy below this share of another is rounding."""

NO_ERROR: Final = "the estimate equals the stem: there is no error to measure"
NOTHING_OF_IT: Final = "the estimate holds nothing of the stem"


def snr(estimate: Signal, stem: Signal) -> Scored[float] | Undefined:
    """Energy of the stem over that of estimate minus stem, in dB: level, delay and filtering all count as errors.

    Args:
        estimate: What was separated, float (samples,) or (channels, samples).
        stem: The true source as it is in the mixture, the same shape.

    Returns:
        Decibels, higher is better. The SDR of music challenges (MDX) is this ratio. Undefined where a signal is silent
        or both are equal.

    Raises:
        InputError: The shapes differ, or a sample is not finite.

    Example:
        >>> round(snr(np.array([1.0, 0.9]), np.array([1.0, 1.0])).value, 2)
        23.01

    Source: Le Roux et al. 2019, Sec. 2.
    """
    check_signals(estimate=estimate, stem=stem)
    output_energy, stem_energy, _ = _products(estimate, stem)
    error = _error(estimate, stem, 1.0) if output_energy and stem_energy else 0.0
    return ratio(stem_energy, error, own=output_energy, metric="snr", silent=not stem_energy)


def si_sdr(estimate: Signal, stem: Signal) -> Scored[float] | Undefined:
    """Scale-invariant SDR in dB: the stem may be scaled to come as near to the estimate as it can; else as ``snr``.

    One scale serves all channels, and the mean of the signals is left in.

    Example:
        >>> round(si_sdr(np.array([2.0, 1.8]), np.array([1.0, 1.0])).value, 2)
        25.58

    Source: Le Roux et al. 2019, Eqs. 2 and 3.
    """
    check_signals(estimate=estimate, stem=stem)
    output_energy, stem_energy, both = _products(estimate, stem)
    target = both * both / stem_energy if stem_energy else 0.0
    error = output_energy - target
    if stem_energy and error < _CANCELS * target:
        error = _error(estimate, stem, both / stem_energy)
    return ratio(target, error, own=output_energy, metric="si_sdr", silent=not stem_energy)


def ratio(
    signal: float, error: float, *, own: float, metric: str, silent: bool = False, **signed: object
) -> Scored[float] | Undefined:
    """Ten times the logarithm of an energy over that of an error, or why there is none; ``own`` is the estimate's."""
    for holds, reason in (
        (silent, NO_STEM),
        (not own, NO_ESTIMATE),
        (signal <= ROUNDING * own, NOTHING_OF_IT),
        (error <= ROUNDING * signal, NO_ERROR),
    ):
        if holds:
            return Undefined(reason)
    value = 10.0 * (math.log10(signal) - math.log10(error))
    return Scored(value, signed_db(metric=metric, **signed))


def signed_db(**signed: object) -> Signature:
    """The signature of a ratio in dB."""
    return Signature.of(**signed, unit="dB", channels="together", zero="undefined")


def _products(estimate: Signal, stem: Signal) -> tuple[float, float, float]:
    """Energy of the estimate and of the stem, and the product of both."""
    output_energy = stem_energy = both = 0.0
    for part, stem_part in blocks((estimate, stem)):
        output_energy += float(np.vdot(part, part))
        stem_energy += float(np.vdot(stem_part, stem_part))
        both += float(np.vdot(part, stem_part))
    check_finite(output_energy, stem_energy)
    return output_energy, stem_energy, both


def _error(estimate: Signal, stem: Signal, scale: float) -> float:
    error = 0.0
    for part, stem_part in blocks((estimate, stem)):
        difference = part - scale * stem_part
        error += float(np.vdot(difference, difference))
    return error


SNR = sound_score(
    snr, summary="energy of the stem over that of the difference",
    goal="how near the output is to the stem, sample by sample", source="Le Roux et al. 2019, Sec. 2; SDR of MDX",
)  # fmt: skip
SI_SDR = sound_score(
    si_sdr, summary="SNR, the stem scaled to fit", goal="how near the output is to the stem, whatever its level",
    source="Le Roux et al. 2019, Eqs. 2 and 3",
)  # fmt: skip
