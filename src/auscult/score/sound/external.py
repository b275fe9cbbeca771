"""Scores that other packages compute: PESQ, STOI, DNSMOS and ViSQOL, behind one interface.

Conventions: higher is better. The package is asked for the mono mix of both signals at the rate they have; where it is
not installed, is not made for that rate, or finds no speech, the score is Undefined and says why, with the line that
installs it. Nothing is resampled here. They look at whole sounds, and are not for hours of it.

References: A. Rix et al., ICASSP 2001, ITU-T P.862 (PESQ); C. Taal et al., IEEE TASLP 19, 2011 (STOI); J. Jensen, C.
Taal, IEEE TASLP 24, 2016 (extended STOI); C. Reddy et al., ICASSP 2021 (DNSMOS); M. Chinen et al., QoMEX 2020 (ViSQOL).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import numpy as np

from auscult.outcome import Scored, Signature, Undefined
from auscult.score.sound.inputs import Signal, SoundScore, block, check_finite, check_signals, sound_score
from auscult.score.sound.ratios import NO_ESTIMATE, NO_STEM
from auscult.types import Doubles

_INSTALL: Final = {
    "pesq": "pip install pesq",
    "pystoi": "pip install pystoi",
    "speechmos": "pip install speechmos",
    "visqol": "build it from https://github.com/google/visqol with bazel, then pip install .",
}
_PESQ_HZ: Final = {8_000: "nb", 16_000: "wb"}
_VISQOL_HZ: Final = {16_000: True, 48_000: False}

Score = Callable[..., "Scored[float] | Undefined"]


def stoi(estimate: Signal, stem: Signal, *, rate_hz: int, extended: bool = False) -> Scored[float] | Undefined:
    """Short-time objective intelligibility of speech, 0..1, by ``pystoi`` (which brings it to 10 kHz itself).

    Args:
        estimate: What was separated, float (samples,) or (channels, samples).
        stem: The true speech, the same shape.
        rate_hz: Samples per second.
        extended: Extended STOI.
    """

    def measured(package: Any, mine: Doubles, other: Doubles) -> float | str:
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            try:
                return float(package.stoi(other, mine, rate_hz, extended=extended))
            except RuntimeWarning:
                return "less than 30 frames of the stem sound"

    return _asked("pystoi", estimate, stem, measured=measured, metric="estoi" if extended else "stoi", rate_hz=rate_hz)


def pesq(estimate: Signal, stem: Signal, *, rate_hz: int) -> Scored[float] | Undefined:
    """Perceptual evaluation of speech quality, about 1..4.6, by ``pesq``: narrow band at 8 kHz, wide band at 16 kHz."""
    if rate_hz not in _PESQ_HZ:
        return _other_rate("PESQ", rate_hz, _PESQ_HZ)

    def measured(package: Any, mine: Doubles, other: Doubles) -> float | str:
        try:
            return float(package.pesq(rate_hz, other, mine, _PESQ_HZ[rate_hz]))
        except (ValueError, RuntimeError) as error:  # what the package raises of its own is a RuntimeError
            return f"pesq: {str(error)[:120]}"

    return _asked("pesq", estimate, stem, measured=measured, metric=f"pesq_{_PESQ_HZ[rate_hz]}", rate_hz=rate_hz)


def dnsmos(estimate: Signal, stem: Signal, *, rate_hz: int) -> Scored[float] | Undefined:
    """DNSMOS P.835's overall quality of an estimate, 1..5, by ``speechmos``, which looks at no stem."""
    if rate_hz != 16_000:
        return _other_rate("DNSMOS", rate_hz, {16_000: ""})

    def measured(package: Any, mine: Doubles, other: Doubles) -> float:  # noqa: ARG001 - without reference
        return float(package.run(np.clip(mine, -1, 1).astype(np.float32), rate_hz)["ovrl_mos"])

    return _asked(
        "speechmos", estimate, stem, measured=measured, metric="dnsmos_ovrl", rate_hz=rate_hz, inner=".dnsmos"
    )


def visqol(estimate: Signal, stem: Signal, *, rate_hz: int) -> Scored[float] | Undefined:
    """ViSQOL's listening quality, 1..5, by ``visqol``: its speech model at 16 kHz, that of all sound at 48 kHz."""
    if rate_hz not in _VISQOL_HZ:
        return _other_rate("ViSQOL", rate_hz, _VISQOL_HZ)
    speech = _VISQOL_HZ[rate_hz]

    def measured(package: Any, mine: Doubles, other: Doubles) -> float:
        config = import_module("visqol.pb2.visqol_config_pb2").VisqolConfig()
        config.audio.sample_rate = rate_hz
        config.options.use_speech_scoring = speech
        model = (
            "lattice_tcditugenmeetpackhref_ls2_nl60_lr12_bs2048_learn.005_ep2400_train1_7_raw.tflite"
            if speech
            else "libsvm_nu_svr_model.txt"
        )
        config.options.svr_model_path = str(Path(package.__file__).parent / "model" / model)
        asked = package.VisqolApi()
        asked.Create(config)
        return float(asked.Measure(other, mine).moslqo)

    return _asked("visqol", estimate, stem, measured=measured, metric="visqol", rate_hz=rate_hz, inner=".visqol_lib_py")


def _asked(
    package: str,
    estimate: Signal,
    stem: Signal,
    *,
    measured: Callable[..., float | str],
    inner: str = "",
    **signed: Any,
) -> Scored[float] | Undefined:
    """What a package says of the mono mixes; ``measured`` gives a number, or why there is none."""
    _, length = check_signals(estimate=estimate, stem=stem)
    mine, other = (block(one, 0, length).mean(axis=0) for one in (estimate, stem))
    check_finite(float(mine.sum()), float(other.sum()))
    if not mine.any() or not other.any():
        return Undefined(NO_ESTIMATE if other.any() else NO_STEM)
    try:
        module = import_module(package + inner)
    except ImportError:
        return Undefined(f"{package} is not installed: {_INSTALL[package]}", {"package": package})
    found = measured(module, mine, other)
    if isinstance(found, str) or not np.isfinite(found):
        return Undefined(found if isinstance(found, str) else f"{package} gave no number")
    return Scored(found, Signature.of(**signed, package=package, channels="mono mix"))


def _other_rate(name: str, rate_hz: int, known: Any) -> Undefined:
    rates = " or ".join(str(one) for one in known)
    return Undefined(f"{name} is made for {rates} Hz, the sound has {rate_hz}; --resample brings it there")


def _entry(function: Score, summary: str, source: str) -> SoundScore:
    return sound_score(function, unit="", summary=summary, goal="what people hear of speech, by a model", source=source)


STOI = _entry(stoi, "intelligibility of speech, by pystoi", "Taal et al. 2011")
PESQ = _entry(pesq, "quality of speech, by pesq", "ITU-T P.862")
DNSMOS = _entry(dnsmos, "overall quality of speech without a reference, by speechmos", "Reddy et al. 2021")
VISQOL = _entry(visqol, "quality by likeness to the stem, by visqol", "Chinen et al. 2020")
