"""Shot noise: light comes in photons, and in dim light few are counted.

Source: R2-Bench, Table 1, sensor noise of vision; constants of ImageNet-C. They are the number of photons at full
brightness, 60 to 3; ``levels`` holds one over it, which is 0 where nothing changes.

A table holds, for each of 256 grey levels, the brightness at 4,096 equally likely quantiles; a random word then picks
one. It agrees with Poisson(expected) to 1/8192 in every cumulative probability.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from auscult.stress import noise
from auscult.stress.noise import normal_table
from auscult.stress.perturbation import Constant, Seeded, SeedParams
from auscult.stress.vision.base import VisionStressor
from auscult.types import Frame, Metadata

WORD_BITS = 12
_WORDS = 1 << WORD_BITS
_GREYS = 256
_COUNTED = 400.0
"""Up to so many photons at full brightness they are counted; beyond, the distribution is smooth."""


def brightness_table(photons: float) -> NDArray[np.uint8]:
    """Brightness after counting, uint8 (256, 4096), not falling along a row; infinite photons give each level itself.

    255 Poisson(grey / 255 * photons) / photons, cut off at 255 and its fraction dropped, at the quantiles in the middle
    of 4,096 equal parts.
    """
    return _counted(photons) if photons <= _COUNTED else _smooth(photons)


def _counted(photons: float) -> NDArray[np.uint8]:
    """Exact: how many of the quantiles count 0, 1, 2 ... photons; more than ``photons`` are as bright as that."""
    most = math.ceil(photons)
    expected = np.arange(_GREYS)[:, None] * (photons / 255.0)
    ratios = np.concatenate([np.exp(-expected), expected / np.arange(1, most)], axis=1)
    below = np.cumsum(np.cumprod(ratios, axis=1), axis=1)
    ends = np.floor(below * _WORDS + 0.5).astype(np.intp)
    counts = np.diff(ends, axis=1, prepend=0, append=_WORDS)
    bright = np.minimum(np.arange(most + 1) * (255.0 / photons) + 1e-9, 255.0).astype(np.uint8)
    return np.repeat(np.tile(bright, _GREYS), counts.ravel()).reshape(_GREYS, _WORDS)


def _smooth(photons: float) -> NDArray[np.uint8]:
    """By the normal quantile and its first correction for skew (Cornish and Fisher)."""
    step = 255.0 / photons
    normal = normal_table()[len(normal_table()) // (2 * _WORDS) :: len(normal_table()) // _WORDS].astype(np.float64)
    grey = np.arange(_GREYS, dtype=np.float64)[:, None]
    found = grey + np.sqrt(grey * step) * normal + (normal**2 - 1.0) * (step / 6.0)
    found[0] = 0.0
    return np.clip(found + 1e-9, 0.0, 255.0).astype(np.uint8)


_LEAST = 1e-12  # far below one grey level


class ShotNoise(Seeded):
    """Replaces every channel value by a Poisson count of that mean, anew in each frame."""

    name = "vision.shot_noise.v1"
    grain = Constant("1 / photons at full brightness", (0.0, 1 / 60, 1 / 25, 1 / 12, 1 / 5, 1 / 3))
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
        grain = self.grain.at(params.strength)
        table = brightness_table(1.0 / max(grain, _LEAST)).ravel()
        rng = params.of_frame(index)
        output = np.empty_like(frame)
        for rows in noise.strips(frame):
            indices = frame[rows].astype(np.int32)
            indices <<= WORD_BITS
            indices |= noise.words(rng, indices.shape) >> (16 - WORD_BITS)
            np.take(table, indices, out=output[rows], mode="wrap")
        return output


STRESSOR: VisionStressor[SeedParams] = ShotNoise()
