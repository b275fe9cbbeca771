"""DNSMOS, what listeners would give to speech, from networks in a folder of the user's.

Reddy et al., ICASSP 2021 (P.808: one number) and 2022 (P.835: speech, background, overall), 1..5, higher is better.
They were trained on noisy and enhanced speech and tell nothing of other sounds.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import numpy as np

from auscult.arrays.resampling import mono_at
from auscult.arrays.spectra import short_time
from auscult.errors import InputError
from auscult.nets.onnx_session import open_known
from auscult.types import Doubles, Floats, Samples

_RATE_HZ: Final = 16_000
_WINDOW: Final = 144_160  # 9.01 s
_SIZE, _HOP, _BANDS = 321, 160, 120
_POLYNOMIALS: Final = {  # the release's, from what the network gives to the scale of its listeners
    "speech": (-0.08397278, 1.22083953, 0.0052439),
    "background": (-0.13166888, 1.60915514, -0.39604546),
    "overall": (-0.06766283, 1.11546468, 0.04602535),
}
_FETCH: Final = "fetch sig_bak_ovr.onnx and model_v8.onnx of microsoft/DNS-Challenge, and give them these names"


class Dnsmos:
    """Both networks, ``dnsmos_sig_bak_ovr.onnx`` and ``dnsmos_p808.onnx``; a ``UsageError`` says what is missing."""

    def __init__(self, folder: Path) -> None:
        self._p835 = open_known(folder / "dnsmos_sig_bak_ovr.onnx", takes="input_1", gives=[3], hint=_FETCH)
        self._p808 = open_known(folder / "dnsmos_p808.onnx", takes="input_1", gives=[1], hint=_FETCH)
        self._banks = _slaney_banks()

    def scores(self, samples: Samples, rate_hz: int) -> Mapping[str, float]:
        """``speech``, ``background``, ``overall`` (P.835) and ``p808`` of a sound, (samples,) or (channels, samples).

        A shorter sound is repeated up to 9.01 s; of a longer one the mean over windows a second apart is taken, as the
        release does. An ``InputError`` where it is silent, of which the networks say nothing that means anything.
        """
        mono = mono_at(samples, rate_hz=rate_hz, wanted_hz=_RATE_HZ)
        if not mono.any():
            raise InputError("the sound is silent", expected="speech")
        while mono.size < _WINDOW:
            mono = np.concatenate([mono, mono])
        count = int(mono.size // _RATE_HZ - _WINDOW / _RATE_HZ) + 1  # as the release counts
        values = [self._window(mono[start:][:_WINDOW]) for start in range(0, count * _RATE_HZ, _RATE_HZ)]
        mean = np.mean(values, axis=0)
        if not np.isfinite(mean).all():
            raise InputError("the networks give what is no number", expected="whole weights", hint=_FETCH)
        return dict(zip((*_POLYNOMIALS, "p808"), mean.tolist(), strict=True))

    def _window(self, window: Samples) -> list[float]:
        raw = self._p835.run(None, {"input_1": window[None]})[0][0]
        p808 = self._p808.run(None, {"input_1": self._log_mel(window[:-_HOP])[None]})[0][0][0]
        return [*map(np.polyval, _POLYNOMIALS.values(), raw), p808]

    def _log_mel(self, samples: Samples) -> Floats:
        """(frames, 120) in dB below the loudest cell, at most 80, and scaled."""
        window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(_SIZE) / _SIZE)
        power = np.abs(short_time(np.pad(samples, _SIZE // 2), window, hop=_HOP)) ** 2 @ self._banks.T
        decibels = 10 * np.log10(np.maximum(power, 1e-10) / max(float(power.max()), 1e-10))
        return np.asarray((np.maximum(decibels, -80) + 40) / 40, np.float32)


def _slaney_banks() -> Doubles:
    """Triangles of unit area on Slaney's scale: linear to 1 kHz, 27 bands for a factor of 6.4 above; (120, 161)."""
    top = 15 + 27 * np.log(_RATE_HZ / 2 / 1000) / np.log(6.4)
    place = np.linspace(0, top, _BANDS + 2)
    edges = np.where(place < 15, place * 200 / 3, 1000 * np.exp((place - 15) * np.log(6.4) / 27))
    bins = np.arange(_SIZE // 2 + 1)[None] * _RATE_HZ / _SIZE
    low, middle, high = (edges[shift : shift + _BANDS, None] for shift in range(3))
    triangles = np.maximum(0, np.minimum((bins - low) / (middle - low), (high - bins) / (high - middle)))
    return np.asarray(triangles * 2 / (high - low))
