"""Long and short filters on sounds, by Fourier transforms of blocks (overlap-save), aligned to the sample.

A response longer than a block is cut in parts, each of which acts on an earlier block (partitioned: Gardner, JAES 43,
1995). Transforms are OpenCV's, of rows of a power of two: three to ten times as fast as NumPy's, and equal to them in
the seventh digit.
"""

from __future__ import annotations

from collections import deque
from math import ceil, log2
from typing import Final, TypeAlias

import cv2
import numpy as np
from numpy.typing import NDArray

from auscult.types import Samples

Spectra: TypeAlias = NDArray[np.complex64]

# Few samples are in work at once: large arrays cost more than the arithmetic.
_TOGETHER: Final = 4
_SHORTEST: Final = 16_384
_LONG: Final = 32_768
_LONGEST: Final = 131_072
_VERY_LONG: Final = 250_000


def sounds_of(spectra: Spectra) -> Samples:
    """The real signals (rows, size) of spectra (rows, size / 2 + 1) from 0 to half the rate; size is a power of two."""
    rows, bins = spectra.shape
    parts = np.ascontiguousarray(spectra).view(np.float32)
    packed = np.empty((rows, 2 * (bins - 1)), dtype=np.float32)
    packed[:, 0] = parts[:, 0]
    packed[:, 1:] = parts[:, 2:-1]
    return _dft(packed, cv2.DFT_ROWS | cv2.DFT_INVERSE | cv2.DFT_SCALE)


def spectra_of(sounds: Samples) -> Spectra:
    """The spectra (rows, size / 2 + 1) of real signals (rows, size); size is a power of two."""
    packed = _dft(sounds, cv2.DFT_ROWS)
    parts = np.zeros((packed.shape[0], packed.shape[1] + 2), dtype=np.float32)
    parts[:, 0] = packed[:, 0]
    parts[:, 2:-1] = packed[:, 1:]
    return parts.view(np.complex64)


def convolve(sound: Samples, response: Samples, *, lead: int = 0) -> Samples:
    """Filter every channel of a float32 (channels, samples) by one response, float32 (taps,).

    ``output[n]`` is the sum over k of ``response[k] * sound[n + lead - k]``: what the response holds at ``lead``, 0 to
    taps - 1, is heard without delay, what it holds before is heard early. Outside the sound is silence.
    """
    taps = response[: lead + sound.shape[1]]  # later taps would reach beyond the sound
    size = _transform_length(taps.size, sound.shape[1] + lead)
    # A long response is cut in parts of half a transform; those act on earlier blocks.
    whole = 2 * taps.size <= size
    hop = size - taps.size + 1 if whole else size // 2
    parts = [taps] if whole else [taps[start : start + hop] for start in range(0, taps.size, hop)]
    kernels = np.zeros((len(parts), size), dtype=np.float32)
    for kernel, part in zip(kernels, parts, strict=True):
        kernel[: part.size] = part
    kernels = _dft(kernels, cv2.DFT_ROWS)
    output = np.empty_like(sound)
    for channel, filtered in zip(sound, output, strict=True):
        _filter(channel, kernels, filtered, hop=hop, lead=lead)
    return output


def _dft(rows: Samples, flags: int) -> Samples:
    """Transforms of rows, packed as OpenCV does: both ends are real, and share the first and the last entry."""
    return np.asarray(cv2.dft(rows, flags=flags), dtype=np.float32)


def _transform_length(taps: int, samples: int) -> int:
    """A power of two: long beside a short response, short beside a long sound."""
    length = max(_SHORTEST, min(8 * taps, _LONG if taps < _VERY_LONG else _LONGEST))
    return int(2 ** ceil(log2(min(length, max(2, samples + taps)))))


def _filter(channel: Samples, kernels: Samples, filtered: Samples, *, hop: int, lead: int) -> None:
    """Overlap-save on one channel (samples,), into ``filtered``; ``kernels`` are the parts, transformed."""
    size = kernels.shape[1]
    recent, inner = deque(np.zeros_like(kernels)), [_inner(kernel) for kernel in kernels]
    blocks, product = np.empty((_TOGETHER, size), dtype=np.float32), np.empty(size // 2 - 1, dtype=np.complex64)
    for first in range(0, lead + filtered.size, _TOGETHER * hop):
        for index, block in enumerate(blocks):
            _fill(block, channel, first + (index + 1) * hop - size)
        spectra = _dft(blocks, cv2.DFT_ROWS)
        for row in spectra:
            recent.rotate(1)
            recent[0][...] = row
            for end in (0, -1):
                row[end] = sum(float(a[end]) * float(b[end]) for a, b in zip(recent, kernels, strict=True))
            summed = _inner(row)
            np.multiply(_inner(recent[0]), inner[0], out=summed)
            for part in range(1, len(inner)):
                np.add(summed, np.multiply(_inner(recent[part]), inner[part], out=product), out=summed)
        output = _dft(spectra, cv2.DFT_ROWS | cv2.DFT_INVERSE | cv2.DFT_SCALE)[:, size - hop :].reshape(-1)
        start = first - lead
        output = output[max(0, -start) : filtered.size - start]
        filtered[max(0, start) :][: output.size] = output


def _inner(packed: Samples) -> Spectra:
    """The complex entries of a packed transform."""
    return packed[1:-1].view(np.complex64)


def _fill(block: Samples, channel: Samples, start: int) -> None:
    """Copy what a block covers of the channel, from a position that may lie before it; silence elsewhere."""
    covered, before = channel[max(0, start) : max(0, start + block.size)], max(0, -start)
    block[:before] = 0.0
    block[before : before + covered.size] = covered
    block[before + covered.size :] = 0.0
