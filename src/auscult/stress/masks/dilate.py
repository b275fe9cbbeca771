"""Dilate: the mask leaks over the object's outline, all round or only in places.

Source: MQ-RAVSBench, Sec. 3.2, Eq. 5.
"""

from __future__ import annotations

import numpy as np

from auscult.arrays import boxes
from auscult.outcome import Undefined
from auscult.stress.masks import bands
from auscult.stress.masks.base import undefined, workpiece
from auscult.types import Defect, Difficulty, Mask, MaskTarget, Metadata


class Dilate:
    """Adds a band outside the outline, over background and other objects alike; the result is a superset."""

    name = "masks.dilate.v1"
    defect: Defect = "dilate"
    difficulties: tuple[Difficulty, ...] = ("hard", "medium")
    params = bands.BandParams
    meta = Metadata(
        summary="adds a band round the object along its outline, all round or locally, smooth or ragged",
        goal="outward over-segmentation: neighbouring pixels are taken in",
        modality="mask",
        source="MQ-RAVSBench, Sec. 3.2, Eq. 5",
        truth="IoU in [.85, .90] (hard, minor revision) or [.75, .80] (medium, major revision)",
    )

    def choose(
        self, rng: np.random.Generator, target: MaskTarget, *, difficulty: Difficulty
    ) -> bands.BandParams | Undefined:
        """Draw the band; undefined where the frame leaves no room for it."""
        piece = workpiece(target)
        fewest, _ = bands.needed_px(piece.area_px, difficulty, side="outside")
        room = target.mask.size - piece.area_px
        if room < fewest:
            return undefined("no_room", area_px=piece.area_px, fewest_px=fewest, room_px=room)
        return bands.choose(rng, piece, difficulty=difficulty, side="outside")

    def render(self, target: MaskTarget, params: bands.BandParams) -> Mask:
        """The target with the band."""
        piece = workpiece(target)
        result = target.mask.copy()
        result[boxes.window(piece.around)] = bands.ratios(piece, params, side="outside") <= np.float32(params.width_px)
        return result


STRESSOR = Dilate()
