"""Separators without weights: each says which share of every cell of a spectrogram is whose.

Ideal masks are oracles: they are shown the stems, and bound what a mask on this spectrogram can reach. The classical
ones take no query and give two tracks, one of which is assigned to it; each is the textbook's idea in its plainest
form, at windows of 64 ms, and better ones exist.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from math import log2
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from auscult.arrays.spectra import add_frames, short_time
from auscult.errors import InputError
from auscult.models.separators.base import SeparationRequest, Tracks
from auscult.record.digest import digest_bytes
from auscult.rng import generator
from auscult.types import Floats, Samples

Method: TypeAlias = Callable[[Floats, SeparationRequest], Mapping[str, Floats]]
"""From magnitudes (bins, frames) to the share of each track, 0..1 of the same shape; a single one has no name."""

WINDOW_S: Final = 0.064
BLOCK_S: Final = 60.0
FADE_S: Final = 0.5
_SEED: Final = 0  # a separator has no seed of the run: the same mixture, the same answer
_TINY: Final = 1e-9
_COMPONENTS: Final = 8
_TAPS: Final = 17
_KEPT: Final = 0.98  # of the last frame's ratio of signal to noise
_LEAST_PRIOR: Final = 10 ** (-25 / 10)


def separated(method: Method, request: SeparationRequest) -> Samples | Tracks:
    """The tracks of a method, by name; one without a name is given alone, float32 (samples,).

    A long mixture is separated minute by minute, so that memory does not grow with it; blocks fade into one another.
    """
    mono, rate_hz = request.mono, request.rate_hz
    if any(stem.shape != mono.shape for stem in request.stems):
        raise InputError(f"a stem is not as long as its mixture, {mono.size} samples", expected="equal lengths")
    window = max(64, 1 << round(log2(WINDOW_S * rate_hz)))
    block, fade = round(BLOCK_S * rate_hz), round(FADE_S * rate_hz)
    joined: dict[str, Samples] = {}
    for start in range(0, max(1, mono.size - fade), block):
        part = slice(start, min(start + block + fade, mono.size))
        gain = np.ones(part.stop - start, np.float32)
        if start:
            gain[:fade] = np.arange(fade) / fade
        if part.stop < mono.size:
            gain[block:] = 1 - np.arange(fade) / fade
        block_request = replace(request, mixture=mono[part], stems=tuple(stem[part] for stem in request.stems))
        spectrogram = stft(mono[part], window=window)
        for name, share in method(np.abs(spectrogram), block_request).items():
            track = istft(np.asarray(spectrogram * share, np.complex64), count=gain.size)
            joined.setdefault(name, np.zeros(mono.size, np.float32))[part] += gain * track
    return joined.get("", joined)


def stft(samples: Samples, *, window: int) -> NDArray[np.complex64]:
    """The spectrogram of float32 (samples,), (window // 2 + 1, frames), a quarter of a window apart.

    The window is the square root of a periodic Hann window; one of silence stands before and behind.
    """
    hop = window // 4
    padded = np.pad(samples, (window, window + -samples.size % hop))
    return np.asarray(short_time(padded, np.sin(np.pi * np.arange(window) / window), hop=hop).T, np.complex64)


def istft(spectrogram: NDArray[np.complex64], *, count: int) -> Samples:
    """The sound of a spectrogram that ``stft`` made, float32 (count,)."""
    window = 2 * (len(spectrogram) - 1)
    frames = np.fft.irfft(spectrogram.T, window, axis=1) * np.sin(np.pi * np.arange(window) / window)
    summed = np.zeros((len(frames) + 3) * window // 4)
    add_frames(summed, frames, hop=window // 4)
    return np.asarray(summed[window : window + count] / 2, np.float32)  # the squared windows sum to 2


def _shares(**parts: Floats) -> Mapping[str, Floats]:
    """Each part by its ratio to their sum."""
    total = np.sum(list(parts.values()), axis=0) + _TINY
    return {name: np.asarray(part / total, np.float32) for name, part in parts.items()}


def random_bands(magnitude: Floats, request: SeparationRequest) -> Mapping[str, Floats]:
    """A random half of 16 bands of equal width on a logarithmic scale; another half for other words."""
    digest = digest_bytes(np.ascontiguousarray(request.mono).tobytes())
    bands = generator(_SEED, "random_bands", str(request.query), digest).permutation(np.arange(16) < 8)
    place = np.log(np.arange(len(magnitude)) + 1) / np.log(len(magnitude) + 1)
    return {"": np.asarray(bands[(16 * place).astype(int)][:, None], np.float32)}


def ideal_ratio(magnitude: Floats, request: SeparationRequest) -> Mapping[str, Floats]:
    """The ratio of the wanted source's magnitude to the sum of it and that of all else."""
    target, rest = _ideal(magnitude, request)
    return {"": target / (target + rest + _TINY)}


def ideal_binary(magnitude: Floats, request: SeparationRequest) -> Mapping[str, Floats]:
    """The cells in which the wanted source is stronger than all else."""
    target, rest = _ideal(magnitude, request)
    return {"": np.asarray(target > rest, np.float32)}


def _ideal(magnitude: Floats, request: SeparationRequest) -> tuple[Floats, Floats]:
    """The magnitudes of the wanted source and of the rest of the mixture."""
    window, target = 2 * (len(magnitude) - 1), request.stems[0]
    return np.abs(stft(target, window=window)), np.abs(stft(request.mono - target, window=window))


def nmf(magnitude: Floats, _: SeparationRequest) -> Mapping[str, Floats]:
    """Non-negative matrix factorisation in 8 components, which are joined to two tracks by when they sound.

    The second eigenvector of the correlations of their activations cuts them in two; the track of more energy comes
    first. Kullback-Leibler divergence, multiplicative updates: Lee and Seung, NIPS 2000; Smaragdis and Brown, 2003.
    """
    bases, activations = _factorised(magnitude)
    centred = activations - activations.mean(axis=1, keepdims=True)
    unit = centred / (np.linalg.norm(centred, axis=1, keepdims=True) + _TINY)
    correlation = np.clip(unit @ unit.T, 0, 1).astype(np.float64)
    second = np.linalg.eigh(np.diag(correlation.sum(axis=1)) - correlation)[1][:, 1]
    upper = second >= np.median(second)
    parts = [bases[:, side] @ activations[side] for side in (upper, ~upper)]
    first, other = sorted(parts, key=lambda part: -float(part.sum()))
    return _shares(first=first, second=other)


def _factorised(magnitude: Floats) -> tuple[Floats, Floats]:
    """Bases (bins, components) and activations (components, frames), their product near the magnitude."""
    rng = generator(_SEED, "nmf", *magnitude.shape)
    scale = np.sqrt(magnitude.mean() / _COMPONENTS + _TINY)
    bases = (scale * rng.uniform(0.5, 1.5, (magnitude.shape[0], _COMPONENTS))).astype(np.float32)
    activations = (scale * rng.uniform(0.5, 1.5, (_COMPONENTS, magnitude.shape[1]))).astype(np.float32)
    for _ in range(60):
        ratio = magnitude / (bases @ activations + _TINY)
        activations *= (bases.T @ ratio) / (bases.sum(axis=0)[:, None] + _TINY)
        ratio = magnitude / (bases @ activations + _TINY)
        bases *= (ratio @ activations.T) / (activations.sum(axis=1) + _TINY)
    return bases, activations


def hpss(magnitude: Floats, _: SeparationRequest) -> Mapping[str, Floats]:
    """What keeps its pitch and what is short, by medians along time and frequency: Fitzgerald, DAFx 2010."""
    return _shares(harmonic=_median(magnitude) ** 2, percussive=_median(magnitude.T).T ** 2)


def _median(values: Floats) -> Floats:
    """The median of 17 neighbours along the last axis, row by row so that little is held."""
    padded = np.pad(values, ((0, 0), (_TAPS // 2, _TAPS // 2)), mode="edge")
    rows = (np.median(np.lib.stride_tricks.sliding_window_view(row, _TAPS), axis=1) for row in padded)
    return np.stack(list(rows)).astype(np.float32)


def repet(magnitude: Floats, _: SeparationRequest) -> Mapping[str, Floats]:
    """What repeats and what does not: the idea of REPET-SIM, Rafii and Pardo, ISMIR 2012.

    Of each frame the background is the median of the 16 frames most like it, none within .2 s of it, and no more than
    the frame itself.
    """
    frames = magnitude.shape[1]
    unit = magnitude / (np.linalg.norm(magnitude, axis=0) + _TINY)
    likeness = unit.T @ unit
    gap = min(round(4 * 0.2 / WINDOW_S), frames // 4)
    likeness[np.abs(np.subtract.outer(np.arange(frames), np.arange(frames))) < gap] = -1
    like = np.argsort(-likeness, axis=1, kind="stable")[:, :16]
    repeating = np.stack([np.median(magnitude[:, chosen], axis=1) for chosen in like], axis=1)
    background = np.minimum(repeating, magnitude)
    return _shares(foreground=magnitude - background, background=background)


def wiener(magnitude: Floats, _: SeparationRequest) -> Mapping[str, Floats]:
    """What stands out of a steady background, by a Wiener filter, and the rest.

    The ratio of signal to noise is decided frame by frame: Ephraim and Malah, IEEE TASSP 1984. Noise is the minimum
    of the smoothed power within a second: after Martin, IEEE TSAP 2001.
    """
    power = magnitude**2
    noise = _noise(power, frames=round(4 / WINDOW_S))
    gains, before = np.empty_like(power), np.zeros(len(power), np.float32)
    for frame in range(power.shape[1]):
        posterior = power[:, frame] / noise[:, frame]
        prior = np.maximum(_KEPT * before + (1 - _KEPT) * np.maximum(posterior - 1, 0), _LEAST_PRIOR)
        gains[:, frame] = prior / (1 + prior)
        before = np.minimum(gains[:, frame] ** 2 * posterior, 1e6)
    return {"foreground": gains, "background": 1 - gains}


def _noise(power: Floats, *, frames: int) -> Floats:
    """The power of the background, above 0: of each bin the least smoothed power about each frame, and half more."""
    smooth, level = np.empty_like(power), power[:, :frames].mean(axis=1)
    for frame in range(power.shape[1]):
        level = 0.8 * level + 0.2 * power[:, frame]
        smooth[:, frame] = level
    padded = np.pad(smooth, ((0, 0), (frames // 2, frames // 2)), mode="edge")
    views = np.lib.stride_tricks.sliding_window_view(padded, 2 * (frames // 2) + 1, axis=1)
    return np.asarray(1.5 * views.min(axis=-1) + _TINY, np.float32)


def gate(magnitude: Floats, _: SeparationRequest) -> Mapping[str, Floats]:
    """The cells more than 6 dB above the .2 quantile of their band, smoothed over 3 x 3 cells, and the rest."""
    floor = np.quantile(magnitude, 0.2, axis=1, keepdims=True)
    opened = np.pad((magnitude > 10 ** (6 / 20) * floor).astype(np.float32), 1, mode="edge")
    gains = np.lib.stride_tricks.sliding_window_view(opened, (3, 3)).mean(axis=(2, 3))
    return {"foreground": gains, "background": 1 - gains}
