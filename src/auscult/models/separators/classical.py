"""Separators without weights. None of them takes a query: each gives its tracks, and one of them is assigned to it.

Each is the textbook's idea in its plainest form, at the same windows of 64 ms; better ones exist.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray

from auscult.arrays.stft import istft, stft
from auscult.models.separators.base import SeparationRequest, Tracks
from auscult.models.separators.masking import window_of
from auscult.rng import generator
from auscult.types import Doubles, Floats

COMPONENTS: Final = 8
_SEED: Final = 0
_ROUNDS: Final = 60
_TINY: Final = 1e-9


def nmf(request: SeparationRequest) -> Tracks:
    """Non-negative matrix factorisation of the magnitudes in 8 components, which are joined to two tracks.

    Components are joined by when they sound: their activations are cut in two by the second eigenvector of their
    correlations. The track of more energy comes first. Kullback-Leibler divergence, multiplicative updates: Lee and
    Seung, NIPS 2000; on sound: Smaragdis and Brown, WASPAA 2003.
    """
    window = window_of(request.rate_hz)
    spectrogram = stft(request.mono, window=window, hop=window // 4)
    magnitude = np.abs(spectrogram).astype(np.float32)
    bases, activations = factorised(magnitude, COMPONENTS)
    groups = _grouped(activations)
    parts = np.stack([bases[:, groups == side] @ activations[groups == side] for side in (0, 1)])
    parts = parts[np.argsort(-parts.sum(axis=(1, 2)), kind="stable")]
    return _tracks(request, spectrogram, {"first": parts[0], "second": parts[1]})


def factorised(magnitude: Floats, components: int) -> tuple[Floats, Floats]:
    """Bases (bins, components) and activations (components, frames), their product near a magnitude (bins, frames)."""
    rng = generator(_SEED, "nmf", *magnitude.shape)
    scale = np.sqrt(magnitude.mean() / components + _TINY)
    bases = (scale * rng.uniform(0.5, 1.5, (magnitude.shape[0], components))).astype(np.float32)
    activations = (scale * rng.uniform(0.5, 1.5, (components, magnitude.shape[1]))).astype(np.float32)
    for _ in range(_ROUNDS):
        ratio = magnitude / (bases @ activations + _TINY)
        activations *= (bases.T @ ratio) / (bases.sum(axis=0)[:, None] + _TINY)
        ratio = magnitude / (bases @ activations + _TINY)
        bases *= (ratio @ activations.T) / (activations.sum(axis=1) + _TINY)
    return bases, activations


def _grouped(activations: Floats) -> NDArray[np.intp]:
    """0 or 1 for each component, by the sign of the second eigenvector of their correlations."""
    centred = activations - activations.mean(axis=1, keepdims=True)
    lengths = np.linalg.norm(centred, axis=1, keepdims=True)
    correlation = np.clip((unit := centred / (lengths + _TINY)) @ unit.T, 0, 1)
    laplacian = np.diag(correlation.sum(axis=1)) - correlation
    second = np.linalg.eigh(laplacian.astype(np.float64))[1][:, 1]
    return np.asarray(second >= np.median(second), np.intp)


def _tracks(
    request: SeparationRequest, spectrogram: NDArray[np.complex64], parts: Mapping[str, Floats | Doubles]
) -> Tracks:
    """A sound for each part, (bins, frames) of magnitudes or shares: its share of the spectrogram."""
    window, total = window_of(request.rate_hz), np.sum(list(parts.values()), axis=0) + _TINY
    return {
        name: istft(
            np.asarray(spectrogram * (part / total), np.complex64),
            window=window,
            hop=window // 4,
            count=request.mono.size,
        )
        for name, part in parts.items()
    }
