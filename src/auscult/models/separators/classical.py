"""Separators without weights. None of them takes a query: each gives its tracks, and one of them is assigned to it.

Each is the textbook's idea in its plainest form, at the same windows of 64 ms; better ones exist.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from auscult.arrays.stft import istft, stft
from auscult.models.separators.base import SeparationRequest, Tracks
from auscult.models.separators.masking import window_of
from auscult.rng import generator
from auscult.types import Doubles, Floats, Samples

COMPONENTS: Final = 8
BLOCK_S: Final = 60.0
FADE_S: Final = 0.5
_SEED: Final = 0
_ROUNDS: Final = 60
_TAPS: Final = 17
_NEIGHBOURS: Final = 16
_APART_S: Final = 0.2
_KEPT: Final = 0.98  # of the last frame's ratio of signal to noise
_LEAST_PRIOR: Final = 10 ** (-25 / 10)
_MOST_RATIO: Final = 1e6
_MINIMUM_BIAS: Final = 1.5  # a minimum lies below the mean
_QUANTILE: Final = 0.2
_ABOVE: Final = 10 ** (6 / 20)
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


def hpss(request: SeparationRequest) -> Tracks:
    """What keeps its pitch (``harmonic``) and what is short (``percussive``), by medians along time and frequency.

    Fitzgerald, DAFx 2010; soft masks of power.
    """
    window = window_of(request.rate_hz)
    spectrogram = stft(request.mono, window=window, hop=window // 4)
    magnitude = np.abs(spectrogram)
    parts = {"harmonic": _median(magnitude) ** 2, "percussive": _median(magnitude.T).T ** 2}
    return _tracks(request, spectrogram, parts)


def _median(values: Floats) -> Floats:
    """The median of 17 neighbours along the last axis, row by row so that little is held."""
    padded = np.pad(values, ((0, 0), (_TAPS // 2, _TAPS // 2)), mode="reflect" if values.shape[1] > _TAPS else "edge")
    rows = (np.median(np.lib.stride_tricks.sliding_window_view(row, _TAPS), axis=1) for row in padded)
    return np.stack(list(rows)).astype(np.float32)


def repet(request: SeparationRequest) -> Tracks:
    """What repeats (``background``) and what does not (``foreground``).

    Of each frame the background is the median of the 16 frames most like it, none of them within .2 s of it, and no
    more than the frame itself: the idea of REPET-SIM, Rafii and Pardo, ISMIR 2012.
    """
    window = window_of(request.rate_hz)
    spectrogram = stft(request.mono, window=window, hop=window // 4)
    magnitude = np.abs(spectrogram)
    frames = magnitude.shape[1]
    unit = magnitude / (np.linalg.norm(magnitude, axis=0) + _TINY)
    likeness = unit.T @ unit
    near = max(1, round(_APART_S * request.rate_hz / (window // 4)))
    likeness[np.abs(np.subtract.outer(np.arange(frames), np.arange(frames))) < min(near, frames // 4)] = -1
    like = np.argsort(-likeness, axis=1, kind="stable")[:, :_NEIGHBOURS]
    repeating = np.stack([np.median(magnitude[:, chosen], axis=1) for chosen in like], axis=1)
    background = np.minimum(repeating, magnitude)
    return _tracks(request, spectrogram, {"foreground": magnitude - background, "background": background})


def wiener(request: SeparationRequest) -> Tracks:
    """What stands out of a steady background (``foreground``), by a Wiener filter, and the rest.

    The ratio of signal to noise is decided frame by frame: Ephraim and Malah, IEEE TASSP 1984. Noise is the minimum
    of the smoothed power within a second: after Martin, IEEE TSAP 2001.
    """
    window = window_of(request.rate_hz)
    spectrogram = stft(request.mono, window=window, hop=window // 4)
    power = np.abs(spectrogram) ** 2
    noise = _noise(power, frames=max(2, round(request.rate_hz / (window // 4))))
    gains, before = np.empty_like(power), np.zeros(len(power), np.float32)
    for frame in range(power.shape[1]):
        posterior = power[:, frame] / noise[:, frame]
        prior = _KEPT * before + (1 - _KEPT) * np.maximum(posterior - 1, 0)
        gains[:, frame] = np.maximum(prior, _LEAST_PRIOR) / (1 + np.maximum(prior, _LEAST_PRIOR))
        before = np.minimum(gains[:, frame] ** 2 * posterior, _MOST_RATIO)
    return _tracks(request, spectrogram, {"foreground": gains, "background": 1 - gains})


def _noise(power: Floats, *, frames: int) -> Floats:
    """The power of the background, above 0: of each bin the least smoothed power about each frame, and half more."""
    smooth = np.empty_like(power)
    level = power[:, :frames].mean(axis=1)
    for frame in range(power.shape[1]):
        level = 0.8 * level + 0.2 * power[:, frame]
        smooth[:, frame] = level
    padded = np.pad(smooth, ((0, 0), (frames // 2, frames // 2)), mode="edge")
    views = np.lib.stride_tricks.sliding_window_view(padded, 2 * (frames // 2) + 1, axis=1)
    return np.asarray(_MINIMUM_BIAS * views.min(axis=-1) + _TINY, np.float32)


def gate(request: SeparationRequest) -> Tracks:
    """The cells more than 6 dB above the .2 quantile of their band (``foreground``), and the rest.

    Spectral gating, as noise reduction in audio editors does it; the gate is smoothed over 3 x 3 cells.
    """
    window = window_of(request.rate_hz)
    spectrogram = stft(request.mono, window=window, hop=window // 4)
    magnitude = np.abs(spectrogram)
    floor = np.quantile(magnitude, _QUANTILE, axis=1, keepdims=True)
    opened = np.pad((magnitude > _ABOVE * floor).astype(np.float32), 1, mode="edge")
    gains = np.lib.stride_tricks.sliding_window_view(opened, (3, 3)).mean(axis=(2, 3))
    return _tracks(request, spectrogram, {"foreground": gains, "background": 1 - gains})


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


def in_blocks(ask: Callable[[SeparationRequest], Samples | Tracks], request: SeparationRequest) -> Samples | Tracks:
    """Ask about a long mixture minute by minute, so that memory does not grow with it; what comes back is joined.

    Blocks overlap by half a second, in which the one fades into the next.
    """
    rate_hz, count = request.rate_hz, request.mono.size
    block, fade = round(BLOCK_S * rate_hz), round(FADE_S * rate_hz)
    if count <= block + fade:
        return ask(request)
    joined: dict[str, Samples] = {}
    for start in range(0, count - fade, block):
        part = slice(start, min(start + block + fade, count))
        found = ask(
            replace(request, mixture=request.mixture[..., part], stems=tuple(stem[..., part] for stem in request.stems))
        )
        gain = np.ones(part.stop - start, np.float32)
        if start:
            gain[:fade] = np.arange(fade) / fade
        if part.stop < count:
            gain[block:] = 1 - np.arange(fade) / fade
        for name, track in (found if isinstance(found, Mapping) else {"": found}).items():
            joined.setdefault(name, np.zeros(count, np.float32))[part] += gain * track
    return joined.get("", joined)
