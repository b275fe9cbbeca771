"""Elastic transform: the picture is sheared and crumpled, as behind hot air or on a rolling shutter.

Source: R2-Bench's toolbox, 19th type; constants of ImageNet-C, whose formula moves three corners of a picture of
512 x 512 at random, then every pixel by a field of blurred uniform noise. Levels 1 and 2 shear the whole picture and
bend it in large waves; levels 3 to 5 leave it in place and crumple it more and more finely.

Chosen differently: the release scales every frame to 512 x 512, warps it twice and scales it back, and so also blurs
it. Here the maps are joined and the frame is sampled once, at its own size, so that the damage is the warp's alone and
masks follow the same map. Corners that would fold the picture are drawn anew. In a clip the field stands still.

Beyond its old edges the picture is mirrored, as in the release. Masks leave those mirror images out: the object that a
sentence refers to is there once.

The field is white noise blurred by a Gaussian. It is drawn where that is cheap: the cosine transform of white noise is
white noise, a Gaussian with mirrored edges multiplies it by a Gaussian, and for a blur of a hundredth of the side or
more nothing is left of all but the 128 lowest frequencies of each direction.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

import cv2
import numpy as np
from numpy.typing import NDArray

from auscult.errors import UsageError
from auscult.rng import generator
from auscult.stress import noise
from auscult.stress.perturbation import Constant, Seeded, SeedParams
from auscult.stress.vision.base import VisionStressor
from auscult.types import Frame, Mask, Metadata

Map: TypeAlias = NDArray[np.float32]

SIDE_PX: Final = 512
"""The square that constants in pixels refer to."""

_KEPT: Final = 128
_DEVIATION: Final = 1.0 / math.sqrt(3.0)  # of a uniform draw from -1 to 1
_CENTRE, _REACH = SIDE_PX // 2, SIDE_PX // 3
_LEAST_AREA: Final = 0.1
_AT_ONCE: Final = 1 << 15


@dataclass(frozen=True, slots=True, kw_only=True)
class Bend:
    """How much to bend, as shares of the picture's sides."""

    height: float  # how far the field reaches before it is blurred
    blur: float  # the deviation of the blur
    corners: float  # how far each corner of the triangle moves at most, along each axis


def maps(seed: int, bend: Bend, size: tuple[int, int], *, most: float) -> Iterator[tuple[slice, Map, Map]]:
    """The rows, and the column and row that each of their pixels comes from, float32 (n, W), for a picture of (H, W).

    Field and corners follow from the seed; ``most`` is the greatest ``bend.corners`` at which the picture must not
    collapse.
    """
    height, width = size
    per_x, per_y = width / SIDE_PX, height / SIDE_PX
    linear, constant = _backwards(SIDE_PX * bend.corners * corners(seed, most=most))
    field = np.tensordot(linear, _field(seed, bend), axes=1)
    stretched = [cv2.resize(part, (_KEPT, height), interpolation=cv2.INTER_CUBIC) for part in field.astype(np.float32)]
    x, y = (np.arange(width) + 0.5) / per_x, (np.arange(height) + 0.5) / per_y
    steps = max(1, _AT_ONCE // width)
    for start in range(0, height, steps):
        rows = slice(start, min(start + steps, height))
        planes = []
        for axis, per in enumerate((per_x, per_y)):
            part = cv2.resize(stretched[axis][rows], (width, rows.stop - start), interpolation=cv2.INTER_CUBIC)
            across = (linear[axis, 0] * x).astype(np.float32)
            down = (linear[axis, 1] * y[rows] + constant[axis]).astype(np.float32)
            part += across
            part += down[:, None]
            part *= np.float32(per)
            part -= np.float32(0.5)
            planes.append(part)
        yield rows, planes[0], planes[1]


def corners(seed: int, *, most: float) -> NDArray[np.float64]:
    """Shifts of three corners, (3, 2), each -1..1; drawn anew while the triangle collapses at ``most``."""
    rng = generator(seed, "corners")
    while True:
        shifts = rng.uniform(-1.0, 1.0, (3, 2))
        if all(_area(_linear(SIDE_PX * most * part * shifts)) >= _LEAST_AREA for part in (0.25, 0.5, 0.75, 1.0)):
            return shifts


def _linear(shifts: NDArray[np.float64]) -> NDArray[np.float64]:
    """The linear part of the map that moves the triangle's corners by ``shifts`` pixels, (2, 2).

    The corners lie right below, right above and left above the centre, ``_REACH`` away along both axes.
    """
    below, corner, left = shifts
    return np.eye(2) + np.column_stack([corner - left, below - corner]) / (2 * _REACH)


def _area(linear: NDArray[np.float64]) -> float:
    return float(linear[0, 0] * linear[1, 1] - linear[0, 1] * linear[1, 0])


def _backwards(shifts: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The inverse of that map as a linear part and a constant, for coordinates from the picture's outer edge."""
    linear = _linear(shifts)
    inverse = np.array([[linear[1, 1], -linear[0, 1]], [-linear[1, 0], linear[0, 0]]]) / _area(linear)
    corner = np.array([_CENTRE + _REACH, _CENTRE - _REACH]) + 0.5
    return inverse, corner - inverse @ (corner + shifts[1])


def _field(seed: int, bend: Bend) -> NDArray[np.float32]:
    """The field in pixels of the square, across and down, at the middles of 128 x 128 equal parts: (2, 128, 128)."""
    coefficients = noise.normal(generator(seed, "field"), (2, _KEPT, _KEPT), scale=_DEVIATION)
    fading = np.exp(-0.5 * (bend.blur * np.pi * np.arange(_KEPT)) ** 2)
    scale = SIDE_PX * bend.height * _KEPT / SIDE_PX
    faded = (coefficients * (scale * np.outer(fading, fading))).astype(np.float32)
    return np.stack([cv2.idct(part) for part in faded])


MOST_PIXELS: Final = 32_766
"""Greatest height and width that OpenCV's remapping takes."""


class ElasticTransform(Seeded):
    """Shears a frame by its corners and bends it by a smooth random field."""

    name = "vision.elastic_transform.v1"
    height = Constant(
        "height of the field",
        (0.0, 2.0, 2.0, 0.05, 0.07, 0.12),
        unit="share of the side",
        exception="the height goes with the blur: great at levels 1 and 2, which blur it away, and growing from 3 to 5",
    )
    blur = Constant("deviation of its blur", (0.7, 0.7, 0.08, 0.01, 0.01, 0.01), unit="share of the side")
    corners = Constant(
        "most that a corner moves",
        (0.0, 0.1, 0.2, 0.02, 0.02, 0.02),
        unit="share of the side",
        exception="corners move far at levels 1 and 2, and little at levels 3 to 5",
    )
    meta = Metadata(
        summary="shears at levels 1 and 2, crumples at levels 3 to 5",
        goal="bent outlines: shape and place of an object are no longer what was learnt",
        modality="image",
        source="R2-Bench toolbox; constants of ImageNet-C",
        truth="masks and boxes follow the pixels; mirror images beyond the old edges belong to none",
        origin="sensor",
    )

    def render(self, frame: Frame, params: SeedParams, *, index: int = 0) -> Frame:
        """The frame, bent; linear between pixels, mirrored beyond the edges."""
        del index
        return self._bent(frame, params, sampling=cv2.INTER_LINEAR, beyond=cv2.BORDER_REFLECT_101)

    def move(self, mask: Mask, params: SeedParams, *, index: int = 0) -> Mask:
        """The mask, bent as the frame is, each pixel from the nearest; a mirror image is not the object."""
        del index
        moved = self._bent(mask.view(np.uint8), params, sampling=cv2.INTER_NEAREST, beyond=cv2.BORDER_CONSTANT)
        return moved.view(np.bool_)

    def _bent(self, picture: Frame, params: SeedParams, *, sampling: int, beyond: int) -> Frame:
        if max(picture.shape) > MOST_PIXELS:
            raise UsageError(f"a frame of {picture.shape[0]} x {picture.shape[1]}", expected=f"up to {MOST_PIXELS}")
        strength = params.strength
        bend = Bend(height=self.height.at(strength), blur=self.blur.at(strength), corners=self.corners.at(strength))
        output = np.empty_like(picture)
        for rows, x, y in maps(params.seed, bend, picture.shape[:2], most=max(self.corners.values)):
            output[rows] = cv2.remap(picture, x, y, sampling, borderMode=beyond).reshape(output[rows].shape)
        return output


STRESSOR: VisionStressor[SeedParams] = ElasticTransform()
