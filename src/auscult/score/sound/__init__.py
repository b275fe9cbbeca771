"""Scores of separated sound with its true stems."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from auscult.arrays.resampling import moved
from auscult.outcome import Scored, Undefined
from auscult.score.sound.bss_eval import BSS3, BSS4, SDR, bss3, bss4, bss_images, bss_sources, sdr
from auscult.score.sound.embeddings import Frechet, frechet_distance, words_fit
from auscult.score.sound.external import DNSMOS, PESQ, STOI, VISQOL, dnsmos, pesq, stoi, visqol
from auscult.score.sound.inputs import Signal, SoundScore, sound_score
from auscult.score.sound.perceptual import perceptual
from auscult.score.sound.ratios import SI_SDR, SNR, si_sdr, snr
from auscult.score.sound.spectral import LOG_SPECTRAL, MULTI_RESOLUTION, log_spectral_distance, multi_resolution_stft
from auscult.score.sound.times import SPAN_AGREEMENT, Delay, find_delay, sounding, span_agreement
from auscult.types import PERFORMANCE


def perceptual_scores(
    estimate: Signal, stems: Sequence[Signal], *, target: int = 0, rate_hz: int
) -> dict[str, Scored[float] | Undefined]:
    """``recall``, ``precision``, ``faithfulness`` and ``overall`` of ``perceptual``, 1..5, each by itself."""
    scores = perceptual(estimate, stems, target=target, rate_hz=rate_hz)
    if isinstance(scores, Undefined):
        return dict.fromkeys(PERFORMANCE, scores)
    return {name: Scored(getattr(scores, name), scores.signature) for name in PERFORMANCE}


PERCEPTUAL: Final = sound_score(
    perceptual_scores, unit="1..5", needs=("stems",),
    summary="recall, precision, faithfulness and overall, from loudness in bands",
    goal="what a listener should notice; our definition, not people's",
    source="docs/sound-truth.md; the scale of SAM Audio Judge",
)  # fmt: skip
SCORES: Final[Mapping[str, SoundScore]] = MappingProxyType(
    {
        "snr": SNR, "si_sdr": SI_SDR, "sdr": SDR, "bss3": BSS3, "bss4": BSS4,
        "log_spectral_distance": LOG_SPECTRAL, "multi_resolution_stft": MULTI_RESOLUTION,
        "span_agreement": SPAN_AGREEMENT, "perceptual": PERCEPTUAL,
        "stoi": STOI, "pesq": PESQ, "dnsmos": DNSMOS, "visqol": VISQOL,
    }
)  # fmt: skip
"""Scores of an estimate with its stem or stems, by what ``auscult score --protocol`` calls them."""


def score_sound(
    name: str, estimate: Signal, stems: Sequence[Signal], *, target: int = 0, **known: Any
) -> Mapping[str, Scored[float] | Undefined]:
    """Score an estimate of one stem by a name of ``SCORES``.

    Args:
        name: A key of ``SCORES``.
        estimate: What was separated, (samples,) or (channels, samples).
        stems: The true sources of the mixture; one is enough where the score needs no other.
        target: Which of them the estimate should be.
        known: What else is known, such as ``rate_hz``; a score takes what it asks for. Without ``spans`` the target
            should sound where its stem does.

    Returns:
        By name: most give one number under their own, BSS Eval ``sdr``, ``sir`` and so on.
    """
    spec = SCORES[name]
    truth: Any = stems if spec.takes == "sound and stems" else stems[target]
    if spec.takes == "sound and spans":
        estimate, truth = estimate[..., :], known.get("spans") or sounding(truth[..., :], rate_hz=known["rate_hz"])
    parameters = inspect.signature(spec.function).parameters
    options = {key: value for key, value in {**known, "target": target}.items() if key in parameters and key != "spans"}
    result = spec.function(estimate, truth, **options)
    return result if isinstance(result, Mapping) else {name: result}


__all__ = [
    "SCORES", "Delay", "Frechet", "Signal", "SoundScore", "bss3", "bss4", "bss_images", "bss_sources", "dnsmos",
    "find_delay", "frechet_distance", "log_spectral_distance", "moved", "multi_resolution_stft", "pesq", "score_sound",
    "sdr", "si_sdr", "snr", "sounding", "span_agreement", "stoi", "visqol", "words_fit",
]  # fmt: skip
