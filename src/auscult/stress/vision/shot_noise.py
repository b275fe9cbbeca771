"""Shot noise: light comes in photons, and in dim light few are counted.

Source: R2-Bench, Table 1, sensor noise of vision; constants of ImageNet-C. They are the number of photons at full
brightness, 60 to 3; ``levels`` holds one over it, which is 0 where nothing changes.
"""

from __future__ import annotations

import numpy as np

from auscult.stress import noise
from auscult.stress.strength import ALL_ONE_WAY, Rows, between
from auscult.stress.vision.base import Seeded, SeedParams, VisionStressor
from auscult.stress.vision.noise_photons import WORD_BITS, brightness_table
from auscult.types import Frame, Metadata

_LEAST = 1e-12  # far below one grey level


class ShotNoise(Seeded):
    """Replaces every channel value by a Poisson count of that mean, anew in each frame."""

    name = "vision.shot_noise.v1"
    levels: Rows = ((0.0,), (1 / 60,), (1 / 25,), (1 / 12,), (1 / 5,), (1 / 3,))
    declared = ALL_ONE_WAY
    meta = Metadata(
        summary="replaces every channel of every pixel by a Poisson count with that mean",
        goal="dim light: few photons are counted, and brightness comes in coarse steps",
        modality="image",
        source="R2-Bench, Table 1; constants of ImageNet-C",
        truth="masks and boxes stay",
        origin="sensor",
    )

    def render(self, frame: Frame, params: SeedParams, *, index: int = 0) -> Frame:
        """The frame as counted; cut off at 255, the fraction dropped as the release does."""
        (grain,) = between(self.levels, params.strength)
        table = brightness_table(1.0 / max(grain, _LEAST)).ravel()
        rng = params.of_frame(index)
        made = np.empty_like(frame)
        for rows in noise.strips(frame):
            place = frame[rows].astype(np.int32)
            place <<= WORD_BITS
            place |= noise.words(rng, place.shape) >> (16 - WORD_BITS)
            np.take(table, place, out=made[rows], mode="wrap")
        return made


STRESSOR: VisionStressor[SeedParams] = ShotNoise()
