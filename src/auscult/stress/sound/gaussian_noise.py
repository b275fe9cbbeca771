"""Gaussian noise: the hiss of a poor microphone or amplifier.

Source: R2-Bench, Table 1, sensor noise of sound; constants of its toolbox (audiomentations' amplitude is the standard
deviation).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from auscult.stress import noise
from auscult.stress.params import seed_from
from auscult.stress.sound.base import AudioInfo, SeedParams, SoundStressor
from auscult.stress.strength import ALL_ONE_WAY, Rows, between
from auscult.types import Metadata, Samples


@dataclass(frozen=True, slots=True, kw_only=True)
class GaussianNoiseParams(SeedParams):
    """Parameters of the noise.

    Attributes:
        share: Where in the level's range its deviation lies, 0 (least) to 1.
    """

    share: float

    RANGES: ClassVar[Mapping[str, tuple[float, float]]] = {"share": (0.0, 1.0)}


class GaussianNoise:
    """Adds independent normal noise to every sample of every channel."""

    name = "sound.gaussian_noise.v1"
    params = GaussianNoiseParams
    levels: Rows = ((0.0, 0.0), (0.0001, 0.0025), (0.0025, 0.005), (0.005, 0.01), (0.01, 0.015), (0.015, 0.02))
    """Least and greatest standard deviation, of full scale."""
    declared = ALL_ONE_WAY
    meta = Metadata(
        summary="adds independent normal noise to every sample",
        goal="a poor microphone: faint sounds drown in hiss",
        modality="sound",
        source="R2-Bench, Sec. 3.1, Table 1",
        truth="who sounds when stays",
        origin="sensor",
    )

    def choose(self, rng: np.random.Generator, take: AudioInfo, *, strength: float) -> GaussianNoiseParams:
        """Draw how strong the noise is, and its seed."""
        del take
        return GaussianNoiseParams(strength=strength, share=float(rng.uniform()), seed=seed_from(rng))

    def render(self, sound: Samples, params: GaussianNoiseParams, *, rate_hz: int) -> Samples:
        """The sound with the noise."""
        del rate_hz
        least, most = between(self.levels, params.strength)
        made = noise.normal(params.stream("noise"), sound.shape, scale=least + params.share * (most - least))
        np.add(made, sound, out=made)
        return made


STRESSOR: SoundStressor[GaussianNoiseParams] = GaussianNoise()
