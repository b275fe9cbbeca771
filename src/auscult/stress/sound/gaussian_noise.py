"""Gaussian noise: the hiss of a poor microphone or amplifier.

Source: R2-Bench, Table 1, sensor noise of sound; constants of its toolbox (audiomentations' amplitude is the standard
deviation).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from auscult.stress import noise
from auscult.stress.perturbation import Perturbs, Range, SeedParams, Share
from auscult.stress.sound.base import SoundStressor
from auscult.types import Metadata, Samples


@dataclass(frozen=True, slots=True, kw_only=True)
class GaussianNoiseParams(SeedParams):
    """Parameters of the noise."""

    share: Share  # where in the level's range its deviation lies, 0 (least) to 1


class GaussianNoise(Perturbs[GaussianNoiseParams]):
    """Adds independent normal noise to every sample of every channel."""

    name = "sound.gaussian_noise.v1"
    params = GaussianNoiseParams
    deviation = Range(
        "standard deviation",
        (0.0, 0.0001, 0.0025, 0.005, 0.01, 0.015),
        (0.0, 0.0025, 0.005, 0.01, 0.015, 0.02),
        unit="1 = full scale",
    )
    meta = Metadata(
        summary="adds independent normal noise to every sample",
        goal="a poor microphone: faint sounds drown in hiss",
        modality="sound",
        source="R2-Bench, Sec. 3.1, Table 1",
        truth="which source sounds when is unchanged",
        origin="sensor",
    )

    def render(self, sound: Samples, params: GaussianNoiseParams, *, rate_hz: int) -> Samples:
        """The sound with the noise."""
        del rate_hz
        scale = self.deviation.within(params.strength, params.share)
        output = noise.normal(params.stream("noise"), sound.shape, scale=scale)
        np.add(output, sound, out=output)
        return output


STRESSOR: SoundStressor[GaussianNoiseParams] = GaussianNoise()
