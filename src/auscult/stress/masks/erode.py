"""Erode: the mask lacks pixels along the object's outline, all round or only in places.

Source: MQ-RAVSBench, Sec. 3.2, Eq. 6.
"""

from __future__ import annotations

import numpy as np

from auscult.arrays import boxes
from auscult.outcome import Undefined
from auscult.stress.masks import bands
from auscult.stress.masks.base import undefined, workpiece
from auscult.types import Defect, Difficulty, Mask, MaskTarget, Metadata


class Erode:
    """Takes a band off the inside of the outline; the result is a subset of the target."""

    name = "masks.erode.v1"
    defect: Defect = "erode"
    difficulties: tuple[Difficulty, ...] = ("hard", "medium")
    params = bands.BandParams
    meta = Metadata(
        summary="takes a band off the object along its outline, all round or locally, smooth or ragged",
        goal="inward under-segmentation: pixels near the boundary are missed",
        modality="mask",
        source="MQ-RAVSBench, Sec. 3.2, Eq. 6",
        truth="IoU in [.85, .90] (hard, minor revision) or [.75, .80] (medium, major revision)",
    )

    def choose(
        self, rng: np.random.Generator, target: MaskTarget, *, difficulty: Difficulty
    ) -> bands.BandParams | Undefined:
        """Draw the band; undefined where the object is too thin or small, or would fall apart."""
        piece = workpiece(target)
        if float(piece.depth.max()) < 2.0:
            return undefined("too_thin", area_px=piece.area_px)
        return bands.choose(rng, piece, difficulty=difficulty, side="inside")

    def render(self, target: MaskTarget, params: bands.BandParams) -> Mask:
        """The target without the band."""
        piece = workpiece(target)
        result = target.mask.copy()
        result[boxes.window(piece.inside)] = bands.ratios(piece, params, side="inside") > np.float32(params.width_px)
        return result


STRESSOR = Erode()
