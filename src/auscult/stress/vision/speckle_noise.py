"""Speckle noise: the gain of each element of a sensor varies, so that what is bright is noisier.

Source: R2-Bench, Table 1, sensor noise of vision; constants of ImageNet-C.
"""

from __future__ import annotations

import cv2
import numpy as np

from auscult.stress import noise
from auscult.stress.perturbation import Constant, Seeded, SeedParams
from auscult.stress.vision.base import VisionStressor
from auscult.types import Frame, Metadata

_BITS = 7  # of a fraction; 255 then almost fills 16 bits, and what is brighter stops there by itself


class SpeckleNoise(Seeded):
    """Multiplies every channel of every pixel by 1 and normal noise, anew in each frame."""

    name = "vision.speckle_noise.v1"
    deviation = Constant("standard deviation of the factor", (0.0, 0.15, 0.2, 0.35, 0.45, 0.6))
    meta = Metadata(
        summary="multiplies every channel of every pixel by 1 plus normal noise",
        goal="a sensor whose gain varies: what is bright is noisier",
        modality="image",
        source="R2-Bench, Table 1; constants of ImageNet-C",
        truth="masks and boxes stay",
        origin="sensor",
    )

    def render(self, frame: Frame, params: SeedParams, *, index: int = 0) -> Frame:
        """The frame times (1 + noise); cut off at 0 and 255, the fraction dropped as the release does."""
        deviation = self.deviation.at(params.strength)
        factors = np.maximum(noise.normal_table() * np.float32(deviation) + np.float32(1.0), np.float32(0.0))
        rng = params.of_frame(index)
        output = np.empty_like(frame)
        for rows in noise.strips(frame):
            drawn = np.take(factors, noise.words(rng, frame[rows].shape))
            product = cv2.multiply(frame[rows], drawn, scale=float(1 << _BITS), dtype=cv2.CV_16S)
            output[rows] = np.right_shift(product, _BITS).reshape(drawn.shape)
        return output


STRESSOR: VisionStressor[SeedParams] = SpeckleNoise()
