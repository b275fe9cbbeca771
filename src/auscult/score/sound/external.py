"""Scores that other packages compute: PESQ, STOI, DNSMOS and ViSQOL, behind one interface.

Conventions: higher is better. A package gets the mono mix of both signals, whole, at their rate; where it is not
installed, is not made for that rate, or finds no speech, the score is Undefined with the reason and the line that
installs it. Nothing is resampled here.

References: A. Rix et al., ICASSP 2001, ITU-T P.862 (PESQ); C. Taal et al., IEEE TASLP 19, 2011 (STOI); C. Reddy et al.,
ICASSP 2021 (DNSMOS); M. Chinen et al., QoMEX 2020 (ViSQOL).
"""

from __future__ import annotations

import warnings
from collections.abc import Collection
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import numpy as np

from auscult.outcome import Scored, Signature, Undefined
from auscult.score.sound.inputs import Signal, block, check_finite, check_signals, silence_of, sound_score
from auscult.types import Doubles

_INSTALL: Final = {
    "pesq": "pip install pesq",
    "pystoi": "pip install pystoi",
    "speechmos.dnsmos": "pip install speechmos",
    "visqol.visqol_lib_py": "build it from https://github.com/google/visqol with bazel, then pip install .",
}
_VISQOL_MODELS: Final = {
    16_000: "lattice_tcditugenmeetpackhref_ls2_nl60_lr12_bs2048_learn.005_ep2400_train1_7_raw.tflite",
    48_000: "libsvm_nu_svr_model.txt",
}


def stoi(estimate: Signal, stem: Signal, *, rate_hz: int, extended: bool = False) -> Scored[float] | Undefined:
    """Short-time objective intelligibility of speech, 0..1, by ``pystoi`` (which brings it to 10 kHz itself).

    Args:
        estimate: What was separated, float (samples,) or (channels, samples).
        stem: The true speech, the same shape.
        rate_hz: Samples per second.
        extended: Extended STOI.
    """

    def measured(package: Any, output: Doubles, source: Doubles) -> float:
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)  # fewer than 30 frames that sound
            return float(package.stoi(source, output, rate_hz, extended=extended))

    return _package_score("pystoi", (estimate, stem), measured, metric="estoi" if extended else "stoi")


def pesq(estimate: Signal, stem: Signal, *, rate_hz: int) -> Scored[float] | Undefined:
    """Perceptual evaluation of speech quality, about 1..4.6, by ``pesq``: narrow band at 8 kHz, wide band at 16 kHz."""
    bands = {8_000: "nb", 16_000: "wb"}

    def measured(package: Any, output: Doubles, source: Doubles) -> float:
        return float(package.pesq(rate_hz, source, output, bands[rate_hz]))

    return _package_score("pesq", (estimate, stem), measured, metric="pesq", rate_hz=rate_hz, rates=bands)


def dnsmos(estimate: Signal, stem: Signal, *, rate_hz: int) -> Scored[float] | Undefined:
    """DNSMOS P.835's overall quality of an estimate, 1..5, by ``speechmos``, which looks at no stem."""

    def measured(package: Any, output: Doubles, _source: Doubles) -> float:
        return float(package.run(np.clip(output, -1, 1).astype(np.float32), rate_hz)["ovrl_mos"])

    return _package_score(
        "speechmos.dnsmos", (estimate, stem), measured, metric="dnsmos_ovrl", rate_hz=rate_hz, rates=[16_000]
    )


def visqol(estimate: Signal, stem: Signal, *, rate_hz: int) -> Scored[float] | Undefined:
    """ViSQOL's listening quality, 1..5, by ``visqol``: its speech model at 16 kHz, that of all sound at 48 kHz."""

    def measured(package: Any, output: Doubles, source: Doubles) -> float:
        config = import_module("visqol.pb2.visqol_config_pb2").VisqolConfig()
        config.audio.sample_rate = rate_hz
        config.options.use_speech_scoring = rate_hz == 16_000
        config.options.svr_model_path = str(Path(package.__file__).parent / "model" / _VISQOL_MODELS[rate_hz])
        api = package.VisqolApi()
        api.Create(config)
        return float(api.Measure(source, output).moslqo)

    return _package_score(
        "visqol.visqol_lib_py", (estimate, stem), measured, metric="visqol", rate_hz=rate_hz, rates=_VISQOL_MODELS
    )  # fmt: skip


def _package_score(
    package: str,
    sounds: tuple[Signal, Signal],
    measured: Any,
    *,
    metric: str,
    rate_hz: int = 0,
    rates: Collection[int] = (),
) -> Scored[float] | Undefined:
    """What a package says of the mono mixes of an estimate and its stem."""
    _, length = check_signals(estimate=sounds[0], stem=sounds[1])
    if rates and rate_hz not in rates:
        choices = " or ".join(map(str, rates))
        return Undefined(
            f"{metric} is made for {choices} Hz, the sound has {rate_hz}; --resample brings it to its stem's"
        )
    output, source = (block(sound, 0, length).mean(axis=0) for sound in sounds)
    check_finite(float(output.sum()), float(source.sum()))
    if reason := silence_of(output.any(), source.any()):
        return Undefined(reason)
    try:
        module = import_module(package)
    except ImportError:
        return Undefined(f"{package.partition('.')[0]} is not installed: {_INSTALL[package]}")
    try:
        value = measured(module, output, source)
    except (ValueError, RuntimeError, RuntimeWarning) as error:  # errors of pesq are RuntimeErrors
        return Undefined(f"{package}: {str(error)[:160]}")
    if not np.isfinite(value):
        return Undefined(f"{package} gave no number")
    return Scored(value, Signature.of(metric=metric, package=package, channels="mono mix"))


_about: dict[str, Any] = {"unit": "", "goal": "what people hear of speech, by a model"}
STOI = sound_score(stoi, **_about, summary="intelligibility of speech, by pystoi", source="Taal et al. 2011")
PESQ = sound_score(pesq, **_about, summary="quality of speech, by pesq", source="ITU-T P.862")
DNSMOS = sound_score(
    dnsmos, **_about, summary="quality of speech without a reference, by speechmos", source="Reddy et al. 2021"
)  # fmt: skip
VISQOL = sound_score(visqol, **_about, summary="likeness to the stem, by visqol", source="Chinen et al. 2020")
