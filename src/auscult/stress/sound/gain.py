"""Gain: the source is louder or quieter than it was recorded.

Source: R2-Bench, Table 1, source noise of sound; constants of its toolbox.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar, Final

import numpy as np

from auscult.stress.params import Params
from auscult.stress.sound.base import AudioInfo, SoundStressor
from auscult.stress.strength import Rows, between
from auscult.types import Metadata, Samples

_DECLARED: Final[Mapping[int, str]] = MappingProxyType(
    {0: "drawn both ways: louder or quieter, up to the level's bound"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class GainParams(Params):
    """Parameters of the gain.

    Attributes:
        share: Of the level's bound, -1 (quietest) to 1 (loudest).
    """

    share: float

    RANGES: ClassVar[Mapping[str, tuple[float, float]]] = {"share": (-1.0, 1.0)}


class Gain:
    """Multiplies the whole sound by one factor."""

    name = "sound.gain.v1"
    params = GainParams
    levels: Rows = ((0.0,), (3.0,), (6.0,), (9.0,), (12.0,), (15.0,))
    declared = _DECLARED
    keeps_silence = True
    meta = Metadata(
        summary="makes the whole sound louder or quieter",
        goal="a model that listens to loudness rather than to what sounds",
        modality="sound",
        source="R2-Bench, Sec. 3.1, Table 1",
        truth="who sounds when stays",
        origin="source",
    )

    def choose(self, rng: np.random.Generator, take: AudioInfo, *, strength: float) -> GainParams:
        """Draw how much of the level's bound, and which way."""
        del take
        return GainParams(strength=strength, share=float(rng.uniform(-1.0, 1.0)))

    def render(self, sound: Samples, params: GainParams, *, rate_hz: int) -> Samples:
        """The sound times 10^(dB / 20)."""
        del rate_hz
        (bound_db,) = between(self.levels, params.strength)
        return sound * np.float32(10.0 ** (params.share * bound_db / 20.0))


STRESSOR: SoundStressor[GainParams] = Gain()
