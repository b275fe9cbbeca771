"""Motion blur: the camera moved while the shutter was open.

Source: R2-Bench, Table 1, sensor noise of vision; constants of ImageNet-C, kernel of ImageMagick's motion blur: the
falling half of a Gaussian along a line, so that edges get a tail on one side. A picture smaller than the line sees its
own edge repeated; imagecorruptions leaves those places out and darkens it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, NamedTuple

import cv2
import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from auscult.stress.perturbation import Constant, Params, Perturbs
from auscult.stress.vision.base import VisionStressor, as_bytes
from auscult.types import Frame, Metadata

_LEAST_PX = 1e-3  # of a standard deviation: all weight is on the first tap long before
BITS = 7  # of a fraction; 255 then almost fills 16 bits
_HALF_STEPS = 2  # what rounding may take from a sum that is a whole number
_ROWS = 64  # made at a time, so that what is made in between stays in the processor's cache
PIECE = 11  # taps; a kernel of at most 11 x 11 is summed tap by tap, a larger one goes through a Fourier transform


class Tap(NamedTuple):
    """One offset whose pixel enters the weighted mean."""

    down: int  # pixels
    right: int  # pixels
    weight: float  # of the mean


class Kernel(NamedTuple):
    """Some taps; ``down`` and ``right`` are the offset of the first weight."""

    down: int
    right: int
    weights: NDArray[np.float32]


def half_gaussian(radius_px: float, sigma_px: float) -> NDArray[np.float64]:
    """Weights of a line from its start: a Gaussian's falling half, 2 radius + 1 long, sum 1.

    A radius that is no whole number gives the last tap a part of its weight.
    """
    length = 2.0 * radius_px + 1.0
    positions = np.arange(math.ceil(length - 1e-9))
    weights = np.exp(-(positions**2) / (2.0 * max(sigma_px, _LEAST_PX) ** 2)) * np.minimum(length - positions, 1.0)
    return np.asarray(weights / weights.sum(), dtype=np.float64)


def line(weights: NDArray[np.float64], angle_deg: float) -> tuple[Tap, ...]:
    """Offsets from a pixel on, one pixel apart, rounded to the nearest, halves down; 0 degrees go right, 90 down."""
    down, right = math.sin(math.radians(angle_deg)), math.cos(math.radians(angle_deg))
    return tuple(
        Tap(math.ceil(at * down - 0.5), math.ceil(at * right - 0.5), float(weight)) for at, weight in enumerate(weights)
    )


def weighted_mean(frame: Frame, taps: Sequence[Tap]) -> Frame:
    """Each pixel's weighted mean over its taps, uint8 (H, W, 3), fractions dropped; the edge is repeated outwards.

    Neighbours in the sequence of taps lie next to each other.
    """
    height, width = frame.shape[:2]
    around = max(max(abs(tap.down), abs(tap.right)) for tap in taps)
    padded = as_bytes(cv2.copyMakeBorder(frame, around, around, around, around, cv2.BORDER_REPLICATE))
    kernels = [kernel_of(taps[start : start + PIECE]) for start in range(0, len(taps), PIECE)]
    output = np.empty_like(frame)
    for top in range(0, height, _ROWS):
        rows = min(_ROWS, height - top)
        total: NDArray[np.int16] = np.full((rows, width, 3), _HALF_STEPS, dtype=np.int16)
        for kernel in kernels:
            total += summed(padded, kernel, at=(top + around, around), size=(rows, width))
        total >>= BITS
        output[top : top + rows] = total
    return output


def kernel_of(taps: Sequence[Tap]) -> Kernel:
    """A few taps as one kernel, in 128ths of their weights."""
    top, left = min(tap.down for tap in taps), min(tap.right for tap in taps)
    tall, wide = max(tap.down for tap in taps) - top + 1, max(tap.right for tap in taps) - left + 1
    weights = np.zeros((tall, wide), dtype=np.float32)
    for tap in taps:
        weights[tap.down - top, tap.right - left] += tap.weight * (1 << BITS)
    return Kernel(top, left, weights)


def summed(padded: Frame, kernel: Kernel, *, at: tuple[int, int], size: tuple[int, int]) -> NDArray[np.int16]:
    """Weighted sums, in 128ths of a grey level, for the pixels of a size (H, W) that begin ``at`` (y, x)."""
    tall, wide = kernel.weights.shape
    region = padded[at[0] + kernel.down :, at[1] + kernel.right :][: size[0] + tall - 1, : size[1] + wide - 1]
    output = cv2.filter2D(region, cv2.CV_16S, kernel.weights, anchor=(0, 0))
    return np.asarray(output, dtype=np.int16)[: size[0], : size[1]]


@dataclass(frozen=True, slots=True, kw_only=True)
class MotionBlurParams(Params):
    """Parameters of motion blur."""

    # of the motion, -45 (up to the right) to 45 (down to the right); one for a whole clip
    angle_deg: Annotated[float, Meta(ge=-45.0, le=45.0)]


class MotionBlur(Perturbs[MotionBlurParams]):
    """Blurs along one direction, in pixels of the picture as it is."""

    name = "vision.motion_blur.v1"
    params = MotionBlurParams
    radius = Constant("radius of the kernel", (0.0, 10.0, 15.0, 15.0, 15.0, 20.0), unit="px")
    sigma = Constant("standard deviation", (0.0, 3.0, 5.0, 8.0, 12.0, 15.0), unit="px")
    meta = Metadata(
        summary="blurs along one direction, as a moving camera does",
        goal="a camera that moved: edges across the motion are drawn out",
        modality="image",
        source="R2-Bench, Table 1; constants of ImageNet-C",
        truth="masks and boxes stay, although what is blurred reaches up to some pixels past them on one side",
        origin="sensor",
    )

    def render(self, frame: Frame, params: MotionBlurParams, *, index: int = 0) -> Frame:
        """The frame, blurred along the direction."""
        del index
        weights = half_gaussian(self.radius.at(params.strength), self.sigma.at(params.strength))
        return weighted_mean(frame, line(weights, params.angle_deg))


STRESSOR: VisionStressor[MotionBlurParams] = MotionBlur()
