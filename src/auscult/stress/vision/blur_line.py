"""Weighted means along a line through each pixel, in short pieces: a long thin kernel is mostly empty."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from auscult.types import Frame

_LEAST_PX = 1e-3  # of a standard deviation: all weight is on the first place long before
_BITS = 7  # of a fraction; 255 then almost fills 16 bits
_HALF_STEPS = 2  # what rounding may take from a sum that is a whole number
_ROWS = 64  # made at a time, so that what is made in between stays in the processor's cache
_PIECE = 11  # taps; a kernel of at most 11 x 11 is summed tap by tap, a larger one goes through a Fourier transform


@dataclass(frozen=True, slots=True)
class Tap:
    """One place that a pixel looks at.

    Attributes:
        down: Pixels.
        right: Pixels.
        weight: Of the mean.
    """

    down: int
    right: int
    weight: float


def half_gaussian(radius_px: float, sigma_px: float) -> NDArray[np.float64]:
    """Weights of a line from its start: a Gaussian's falling half, 2 radius + 1 long, sum 1.

    A radius that is no whole number gives the last place a part of its weight.
    """
    length = 2.0 * radius_px + 1.0
    places = np.arange(math.ceil(length - 1e-9))
    weights = np.exp(-(places**2) / (2.0 * max(sigma_px, _LEAST_PX) ** 2)) * np.minimum(length - places, 1.0)
    return np.asarray(weights / weights.sum(), dtype=np.float64)


def line(weights: NDArray[np.float64], angle_deg: float) -> tuple[Tap, ...]:
    """Places along a line from a pixel on, each rounded to the nearest pixel, halves down.

    Args:
        weights: Of the places, one pixel apart.
        angle_deg: 0 goes right, 90 down.
    """
    down, right = math.sin(math.radians(angle_deg)), math.cos(math.radians(angle_deg))
    return tuple(
        Tap(math.ceil(at * down - 0.5), math.ceil(at * right - 0.5), float(weight)) for at, weight in enumerate(weights)
    )


def weighted_mean(frame: Frame, taps: Sequence[Tap]) -> Frame:
    """Each pixel's weighted mean over its taps; the edge of the picture is repeated outwards.

    Args:
        frame: uint8 (H, W, 3).
        taps: Along a line; neighbours in the sequence lie next to each other.

    Returns:
        uint8 (H, W, 3), fractions dropped.
    """
    height, width = frame.shape[:2]
    around = max(max(abs(tap.down), abs(tap.right)) for tap in taps)
    padded = cv2.copyMakeBorder(frame, around, around, around, around, cv2.BORDER_REPLICATE)
    pieces = [_piece(taps[start : start + _PIECE]) for start in range(0, len(taps), _PIECE)]
    made = np.empty_like(frame)
    for top in range(0, height, _ROWS):
        rows = min(_ROWS, height - top)
        total = np.full((rows, width, 3), _HALF_STEPS, dtype=np.int16)
        for down, right, kernel in pieces:
            tall, wide = kernel.shape
            seen = padded[top + around + down :, around + right :][: rows + tall - 1, : width + wide - 1]
            means = np.asarray(cv2.filter2D(seen, cv2.CV_16S, kernel, anchor=(0, 0)), dtype=np.int16)
            total += means[:rows, :width]
        total >>= _BITS
        made[top : top + rows] = total
    return made


def _piece(taps: Sequence[Tap]) -> tuple[int, int, NDArray[np.float32]]:
    """Some taps as a kernel, scaled, with the place of its first element."""
    top, left = min(tap.down for tap in taps), min(tap.right for tap in taps)
    tall, wide = max(tap.down for tap in taps) - top + 1, max(tap.right for tap in taps) - left + 1
    kernel = np.zeros((tall, wide), dtype=np.float32)
    for tap in taps:
        kernel[tap.down - top, tap.right - left] += tap.weight * (1 << _BITS)
    return top, left, kernel
