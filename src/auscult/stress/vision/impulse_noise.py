"""Impulse noise: single values of the picture are lost, to black or to white.

Source: R2-Bench, Table 1, sensor noise of vision; constants of ImageNet-C, formula of scikit-image's salt and pepper.
"""

from __future__ import annotations

import numpy as np

from auscult.stress import noise
from auscult.stress.perturbation import Constant, Seeded, SeedParams
from auscult.stress.vision.base import VisionStressor
from auscult.types import Frame, Metadata


class ImpulseNoise(Seeded):
    """Sets a share of all channel values to 0 or 255, one as often as the other, anew in each frame."""

    name = "vision.impulse_noise.v1"
    share = Constant("share of values lost", (0.0, 0.03, 0.06, 0.09, 0.17, 0.27))
    meta = Metadata(
        summary="sets single channel values to black or white",
        goal="a sensor with dead and hot elements, or bits lost on the way: isolated wrong values",
        modality="image",
        source="R2-Bench, Table 1; constants of ImageNet-C",
        truth="masks and boxes stay",
        origin="sensor",
    )

    def render(self, frame: Frame, params: SeedParams, *, index: int = 0) -> Frame:
        """The frame with a share of its values replaced, each channel for itself."""
        threshold = round(self.share.at(params.strength) * 32768.0)  # of 65,536 words, for either
        rng = params.of_frame(index)
        output = np.empty_like(frame)
        for rows in noise.strips(frame):
            drawn = noise.words(rng, frame[rows].shape)
            white = np.negative((drawn < threshold).view(np.uint8))  # 255 where true
            stays = np.negative((drawn < 65536 - threshold).view(np.uint8))
            np.bitwise_or(frame[rows], white, out=output[rows])
            np.bitwise_and(output[rows], stays, out=output[rows])
        return output


STRESSOR: VisionStressor[SeedParams] = ImpulseNoise()
