"""Separators that weigh the cells of a spectrogram by the truth, by chance, or not at all.

Ideal masks are oracles: they are shown the stems, and bound what any mask on this spectrogram can reach. Mixture,
silence and random bands are the rows that look at nothing, to compare with.
"""

from __future__ import annotations

from collections.abc import Callable
from math import log2
from typing import Final

import numpy as np
from numpy.typing import NDArray

from auscult.arrays.stft import istft, stft
from auscult.errors import InputError
from auscult.models.separators.base import SeparationRequest
from auscult.record.digest import digest_bytes
from auscult.rng import generator
from auscult.types import Floats, Samples

WINDOW_S: Final = 0.064
_SEED: Final = 0  # a separator has no seed of the run: the same mixture, the same answer
_BANDS: Final = 16
_TINY: Final = 1e-12


def window_of(rate_hz: int, *, seconds: float = WINDOW_S) -> int:
    """The samples of a window: the power of two nearest to its length, at least 64."""
    return max(64, 1 << round(log2(max(seconds * rate_hz, 1))))


def masked(mono: Samples, mask_of: Callable[[NDArray[np.complex64]], Floats], *, rate_hz: int) -> Samples:
    """A sound, float32 (samples,), with the cells of its spectrogram weighed by what ``mask_of`` makes of it."""
    window = window_of(rate_hz)
    spectrogram = stft(mono, window=window, hop=window // 4)
    weighed = np.asarray(spectrogram * mask_of(spectrogram), np.complex64)
    return istft(weighed, window=window, hop=window // 4, count=mono.size)


def mixture(request: SeparationRequest) -> Samples:
    """The mixture as it is: recall without precision."""
    return request.mono


def silence(request: SeparationRequest) -> Samples:
    """Nothing."""
    return np.zeros_like(request.mono)


def random_bands(request: SeparationRequest) -> Samples:
    """The mixture in a random half of 16 bands of equal width on a logarithmic scale, another half for other words."""
    mono = request.mono
    rng = generator(_SEED, "random_bands", str(request.query), digest_bytes(np.ascontiguousarray(mono).tobytes()))
    kept = rng.permutation(np.arange(_BANDS) < _BANDS // 2)

    def mask_of(spectrogram: NDArray[np.complex64]) -> Floats:
        bins = np.arange(len(spectrogram)) + 1
        band = np.minimum(_BANDS * np.log(bins) / np.log(len(spectrogram) + 1), _BANDS - 1).astype(int)
        return np.asarray(kept[band][:, None], np.float32)

    return masked(mono, mask_of, rate_hz=request.rate_hz)


def ideal_ratio(request: SeparationRequest) -> Samples:
    """The ratio of the wanted source's magnitude to the sum of it and that of all else."""
    return masked(
        request.mono,
        lambda _: (powers := _powers(request, 0.5))[0] / (powers.sum(axis=0) + _TINY),
        rate_hz=request.rate_hz,
    )


def ideal_binary(request: SeparationRequest) -> Samples:
    """The cells in which the wanted source is stronger than all else."""
    return masked(
        request.mono,
        lambda _: np.asarray((powers := _powers(request, 1.0))[0] > powers[1], np.float32),
        rate_hz=request.rate_hz,
    )


def _powers(request: SeparationRequest, exponent: float) -> Floats:
    """|S|^(2 exponent) of the wanted source and of the rest of the mixture, (2, bins, frames)."""
    target, mono = request.stems[0], request.mono
    if target.shape != mono.shape:
        raise InputError(
            f"the stem has {target.size} samples, the mixture {mono.size}", expected="a stem as long as its mixture"
        )
    window = window_of(request.rate_hz)
    both = [stft(one, window=window, hop=window // 4) for one in (target, mono - target)]
    return np.asarray(np.abs(np.stack(both)) ** (2 * exponent), np.float32)
