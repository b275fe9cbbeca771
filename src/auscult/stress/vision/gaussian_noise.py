"""Gaussian noise: a sensor in low light.

Source: R2-Bench's toolbox, 19th type; constants of ImageNet-C.
"""

from __future__ import annotations

import cv2
import numpy as np

from auscult.stress import noise
from auscult.stress.perturbation import Constant, Seeded, SeedParams
from auscult.stress.vision.base import VisionStressor
from auscult.types import Frame, Metadata


class GaussianNoise(Seeded):
    """Adds independent normal noise to every channel of every pixel, anew in each frame."""

    name = "vision.gaussian_noise.v1"
    deviation = Constant("standard deviation", (0.0, 0.08, 0.12, 0.18, 0.26, 0.38), unit="1 = white")
    meta = Metadata(
        summary="adds independent normal noise to every channel of every pixel",
        goal="a sensor in low light: edges and fine texture drown",
        modality="image",
        source="R2-Bench toolbox; constants of ImageNet-C",
        truth="masks and boxes stay",
        origin="sensor",
    )

    def render(self, frame: Frame, params: SeedParams, *, index: int = 0) -> Frame:
        """The frame with noise; cut off at 0 and 255, the fraction dropped as the release does."""
        deviation = self.deviation.at(params.strength)
        # A whole number and noise, the fraction dropped, are that number and the noise's floor.
        floors = np.floor(noise.normal_table() * np.float32(255.0 * deviation)).astype(np.int16)
        rng = params.of_frame(index)
        output = np.empty_like(frame)
        for rows in noise.strips(frame):
            drawn = np.take(floors, noise.words(rng, frame[rows].shape))
            output[rows] = cv2.add(frame[rows], drawn, dtype=cv2.CV_8U).reshape(drawn.shape)
        return output


STRESSOR: VisionStressor[SeedParams] = GaussianNoise()
