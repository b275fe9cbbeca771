"""Noise of a sensor: in every channel of every pixel by itself, and anew in each frame."""

from __future__ import annotations

import math

import cv2
import numpy as np
from numpy.typing import NDArray

from auscult.stress import noise
from auscult.stress.noise import normal_table
from auscult.stress.perturbation import Constant, Seeded, SeedParams
from auscult.stress.vision.base import VisionStressor
from auscult.types import Frame, Metadata


class GaussianNoise(Seeded):
    """Gaussian noise: a sensor in low light.

    Source: R2-Bench's toolbox, beside the 16 types of its Table 1; constants of ImageNet-C.
    """

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
            offsets = np.take(floors, noise.words(rng, frame[rows].shape))
            output[rows] = cv2.add(frame[rows], offsets, dtype=cv2.CV_8U).reshape(offsets.shape)
        return output


GAUSSIAN_NOISE: VisionStressor[SeedParams] = GaussianNoise()


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
    brightest = math.ceil(photons)
    expected = np.arange(_GREYS)[:, None] * (photons / 255.0)
    ratios = np.concatenate([np.exp(-expected), expected / np.arange(1, brightest)], axis=1)
    below = np.cumsum(np.cumprod(ratios, axis=1), axis=1)
    ends = np.floor(below * _WORDS + 0.5).astype(np.intp)
    counts = np.diff(ends, axis=1, prepend=0, append=_WORDS)
    bright = np.minimum(np.arange(brightest + 1) * (255.0 / photons) + 1e-9, 255.0).astype(np.uint8)
    return np.repeat(np.tile(bright, _GREYS), counts.ravel()).reshape(_GREYS, _WORDS)


def _smooth(photons: float) -> NDArray[np.uint8]:
    """By the normal quantile and its first correction for skew (Cornish and Fisher)."""
    step = 255.0 / photons
    normal = normal_table()[len(normal_table()) // (2 * _WORDS) :: len(normal_table()) // _WORDS].astype(np.float64)
    grey = np.arange(_GREYS, dtype=np.float64)[:, None]
    levels = grey + np.sqrt(grey * step) * normal + (normal**2 - 1.0) * (step / 6.0)
    levels[0] = 0.0
    return np.clip(levels + 1e-9, 0.0, 255.0).astype(np.uint8)


_LEAST = 1e-12  # far below one grey level


class ShotNoise(Seeded):
    """Shot noise: light comes in photons, and in dim light few are counted.

    Source: R2-Bench, Table 1, sensor noise of vision; constants of ImageNet-C. They are the number of photons at full
    brightness, 60 to 3; ``levels`` holds one over it, which is 0 where nothing changes.

    A table holds, for each of 256 grey levels, the brightness at 4,096 equally likely quantiles; a random word then
    picks one. It agrees with Poisson(expected) to 1/8192 in every cumulative probability.
    """

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


SHOT_NOISE: VisionStressor[SeedParams] = ShotNoise()


class ImpulseNoise(Seeded):
    """Impulse noise: single values of the picture are lost, to black or to white.

    Source: R2-Bench, Table 1, sensor noise of vision; constants of ImageNet-C, formula of scikit-image's salt and
    pepper.
    """

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
            draws = noise.words(rng, frame[rows].shape)
            white = np.negative((draws < threshold).view(np.uint8))  # 255 where true
            stays = np.negative((draws < 65536 - threshold).view(np.uint8))
            np.bitwise_or(frame[rows], white, out=output[rows])
            np.bitwise_and(output[rows], stays, out=output[rows])
        return output


IMPULSE_NOISE: VisionStressor[SeedParams] = ImpulseNoise()


_BITS = 7  # of a fraction; 255 then almost fills 16 bits, and what is brighter stops there by itself


class SpeckleNoise(Seeded):
    """Speckle noise: the gain of each element of a sensor varies, so that what is bright is noisier.

    Source: R2-Bench, Table 1, sensor noise of vision; constants of ImageNet-C.
    """

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
            gains = np.take(factors, noise.words(rng, frame[rows].shape))
            product = cv2.multiply(frame[rows], gains, scale=float(1 << _BITS), dtype=cv2.CV_16S)
            output[rows] = np.right_shift(product, _BITS).reshape(gains.shape)
        return output


SPECKLE_NOISE: VisionStressor[SeedParams] = SpeckleNoise()
