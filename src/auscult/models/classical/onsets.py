"""Segments what sounds, without weights: where the sound comes from against where things are and move.

Stereo tells how far left or right each sound is (``onsets_sound``); in each frame the thing that stands there is taken
(``onsets_sight``), one that moves before one that stands. Where nothing tells left from right, the thing whose change
goes along with the sound's level is taken. Frame ``k`` of ``T`` is at ``k / T`` of the sound, as in scenes and at one
frame a second; in a silent frame, and without sound, nothing sounds and the mask is empty.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from auscult.models.base import Clip, Masks, Task
from auscult.models.classical.onsets_match import sounding
from auscult.models.classical.onsets_sight import Sight, enlarged
from auscult.models.classical.onsets_sound import listen
from auscult.types import Mask, Metadata, Query, Samples

_TASKS: Final[tuple[Task, ...]] = ("avs",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Onsets:
    """The sound model.

    Attributes:
        name: The registry name.
        meta: What it is.
        tasks: What it can be asked.
    """

    name: str = "classical.onsets.v1"
    meta: Metadata = Metadata(
        summary="what stands or moves where the sound comes from, or changes along with it; no weights",
        goal="a model for audio-visual segmentation that needs no download",
        modality="video",
        source="auscult; places by amplitude after Arberet et al., IEEE TSP 2010",
    )
    tasks: tuple[Task, ...] = _TASKS

    def predict(
        self,
        frames: Clip,
        query: Query,
        *,
        sound: Samples | None = None,
        rate_hz: int | None = None,
        first_mask: Mask | None = None,
    ) -> Masks:
        """Segment what sounds.

        Args:
            frames: uint8 RGB (T, H, W, 3).
            query: Not looked at.
            sound: float32 (samples,) or (channels, samples), as long as the clip; None or no samples: nothing sounds.
            rate_hz: Its sample rate.
            first_mask: Not looked at.

        Returns:
            bool (T, H, W).
        """
        del query, first_mask
        size = (frames.shape[1], frames.shape[2])
        empty = np.zeros((len(frames), *size), np.bool_)
        if sound is None or not rate_hz or not np.size(sound) or not len(frames):
            return empty
        heard = listen(sound, rate_hz, frames=len(frames))
        if not heard.sounds.any():
            return empty
        sight = Sight(frames)
        return enlarged(sounding(heard, sight), size)


MODEL = Onsets()
