"""Brightness: too much light, or too long an exposure.

Source: R2-Bench, Table 1, environment noise of vision; constants of ImageNet-C.

The release goes to HSV, adds to the value and comes back. Hue and saturation are kept exactly when red, green and blue
are multiplied by new value / old value, so that is what happens here; black has no hue and becomes grey.
"""

from __future__ import annotations

from typing import Final

import cv2
import numpy as np

from auscult.stress.perturbation import Constant, Fixed, NoDraws
from auscult.stress.vision.base import VisionStressor
from auscult.stress.vision.digital_planes import Plane, Planes, by_planes, greatest
from auscult.types import Frame, Metadata

_UP: Final = 1 + 2.0**-21  # so that a product that should be a whole number does not fall just below it


class Brightness(Fixed):
    """Adds to the value of every pixel in HSV, up to white."""

    name = "vision.brightness.v1"
    added = Constant("added to the value", (0.0, 0.1, 0.2, 0.3, 0.4, 0.5), unit="1 = white")
    meta = Metadata(
        summary="adds to the value of every pixel in HSV, up to white",
        goal="glare and long exposure: bright surfaces lose their relief and their differences",
        modality="image",
        source="R2-Bench, Table 1 (environment); constants of ImageNet-C",
        truth="masks and boxes stay",
        origin="environment",
    )

    def render(self, frame: Frame, params: NoDraws, *, index: int = 0) -> Frame:
        """The frame with more light; the fraction dropped as the release does."""
        del index
        added = self.added.at(params.strength)
        old = np.arange(256.0)
        old[0] = 1.0  # black is lifted to 1 below
        new = np.minimum(np.arange(256.0) + 255.0 * added, 255.0)
        factors = (new / old * _UP).astype(np.float32)

        def lighter(planes: Planes) -> Planes:
            value = greatest(planes)
            black = (value == 0).view(np.uint8)
            factor = cv2.LUT(value, factors)

            def times(plane: Plane) -> Plane:
                np.bitwise_or(plane, black, out=plane)
                return np.multiply(plane, factor, dtype=np.float32).astype(np.uint8)

            red, green, blue = planes
            return times(red), times(green), times(blue)

        return by_planes(frame, lighter)


STRESSOR: VisionStressor[NoDraws] = Brightness()
