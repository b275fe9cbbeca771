"""Filters without delay: the spectrum of a sound, taken in blocks, is multiplied by a gain for each frequency.

A recursive filter delays what it lets through, a low-pass at 500 Hz by .45 ms, and each frequency by another time, so
that no shift would put the sound back in its place. Here the gain alone is kept, that of the digital filter, and the
phase stays as it was: the correlation of output and input is greatest at lag 0 whatever the sound. It is also faster.

Frequencies are drawn on the mel scale, as audiomentations draws them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

import cv2
import numpy as np
from numpy.typing import NDArray

from auscult.types import Samples

Gains: TypeAlias = NDArray[np.float64]

_TAIL: Final = 1e-6
"""How far the answer to a click has died away where it is cut off, as a share."""
_SMALLEST_BLOCK: Final = 4096
_SAMPLES_AT_ONCE: Final = 1 << 17


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """What a filter does to each frequency."""

    gain: Callable[[Gains], Gains]  # from angular frequencies 0..pi, in radians per sample, to factors of 0 or more
    reach: int  # samples before and after a click within which its answer has died away


def low_pass(cutoff_hz: float, *, rate_hz: int) -> Response:
    """A Butterworth low-pass of second order: -3 dB at the cut-off, 12 dB for each octave above it.

    The cut-off is held below half the rate; there it changes nothing.
    """
    edge = _warped(held(cutoff_hz, rate_hz=rate_hz), rate_hz)
    return Response(gain=lambda w: 1.0 / np.sqrt(1.0 + (np.tan(w / 2) / edge) ** 4), reach=_butterworth_reach(edge))


def high_pass(cutoff_hz: float, *, rate_hz: int) -> Response:
    """A Butterworth high-pass of second order: -3 dB at the cut-off, 12 dB for each octave below it.

    The cut-off is held below half the rate; there it leaves next to nothing.
    """
    edge = _warped(held(cutoff_hz, rate_hz=rate_hz), rate_hz)

    def gain(w: Gains) -> Gains:
        squared = (np.tan(w / 2) / edge) ** 2
        return squared / np.sqrt(1.0 + squared**2)

    return Response(gain=gain, reach=_butterworth_reach(edge))


def peaking(centre_hz: float, *, gain_db: float, quality: float, rate_hz: int) -> Response:
    """The peaking filter of the Audio EQ Cookbook: some dB at its centre, below half the rate, and 0 dB far from it.

    The gain is of either sign; the quality is the centre over the bandwidth.
    """
    angle = 2.0 * math.pi * centre_hz / rate_hz
    root = 10.0 ** (gain_db / 40.0)
    alpha = math.sin(angle) / (2.0 * quality)
    above = np.array([1.0 + alpha * root, -2.0 * math.cos(angle), 1.0 - alpha * root])
    below = np.array([1.0 + alpha / root, -2.0 * math.cos(angle), 1.0 - alpha / root])

    def gain(w: Gains) -> Gains:
        turns = np.exp(1j * w)
        return np.abs(np.polyval(above, turns)) / np.abs(np.polyval(below, turns))

    radius = float(max(np.abs(np.roots(above)).max(), np.abs(np.roots(below)).max()))
    return Response(gain=gain, reach=_reach(radius))


def blended(response: Response, share: float) -> Response:
    """The filter taken in part only: 0 for the sound as it was, 1 for the whole filter."""
    return Response(gain=lambda w: 1.0 + share * (response.gain(w) - 1.0), reach=response.reach)


def filtered(sound: Samples, response: Response) -> Samples:
    """Filter every channel of a float32 (channels, samples) without delay; a new array of the same shape.

    Before its beginning and after its end the sound is taken to hold its last value.
    """
    length = sound.shape[1]
    block = _block(length, response.reach)
    step = block - 2 * response.reach
    count = -(-length // step)
    factors = _packed(response.gain(np.linspace(0.0, math.pi, block // 2 + 1)))
    output = np.empty((sound.shape[0], count * step), dtype=np.float32)
    around = (response.reach, response.reach + count * step - length)
    for channel, target in zip(sound, output, strict=True):
        rows = np.lib.stride_tricks.sliding_window_view(np.pad(channel, around, mode="edge"), block)[::step]
        _fill(target.reshape(count, step), rows, factors, reach=response.reach)
    return np.ascontiguousarray(output[:, :length])


def mel_between(low_hz: float, high_hz: float, *, share: float) -> float:
    """The frequency at a share of the way from one to another on the mel scale, in Hz."""
    low, high = (math.log1p(hz / 700.0) for hz in (low_hz, high_hz))
    return 700.0 * math.expm1(low + share * (high - low))


def held(hz: float, *, rate_hz: int) -> float:
    """A frequency, or where it is too high just below half the rate, as audiomentations holds it."""
    return min(hz, 0.9999 * rate_hz / 2.0)


def _warped(hz: float, rate_hz: int) -> float:
    """Where the bilinear transform puts a frequency on the analogue axis."""
    return math.tan(math.pi * hz / rate_hz)


def _butterworth_reach(edge: float) -> int:
    pole = edge * complex(-math.sqrt(0.5), math.sqrt(0.5))
    return _reach(abs((1.0 + pole) / (1.0 - pole)))


def _reach(radius: float) -> int:
    """Samples until powers of the outermost pole or zero have died away."""
    return max(1, math.ceil(math.log(_TAIL) / math.log(max(radius, _TAIL))))


def _block(length: int, reach: int) -> int:
    """Samples of a block: a power of two, of which the answer's tails waste at most half."""
    enough = 1 << (length + 2 * reach - 1).bit_length()
    return min(enough, max(_SMALLEST_BLOCK, 1 << (4 * reach - 1).bit_length()))


def _packed(gains: Gains) -> NDArray[np.float32]:
    """Gains in the order in which OpenCV packs a spectrum: that of 0, each other twice, that of half the rate."""
    return np.concatenate([gains[:1], np.repeat(gains[1:-1], 2), gains[-1:]]).astype(np.float32)


def _fill(target: Samples, rows: Samples, factors: NDArray[np.float32], *, reach: int) -> None:
    """Filter overlapping rows, and keep of each what its neighbours do not reach."""
    at_once = max(1, _SAMPLES_AT_ONCE // rows.shape[1])
    for first in range(0, len(rows), at_once):
        spectrum = cv2.dft(np.ascontiguousarray(rows[first : first + at_once]), flags=cv2.DFT_ROWS)
        np.multiply(spectrum, factors, out=spectrum)
        back = cv2.idft(spectrum, flags=cv2.DFT_ROWS | cv2.DFT_SCALE)
        target[first : first + at_once] = back[:, reach : reach + target.shape[1]]
