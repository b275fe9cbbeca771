"""Freehand dilate: the outline lies outside the object's, in other shapes than a band of varying width.

Source: the windows are those of MQ-RAVSBench, Sec. 3.2, Eq. 5; the shapes are our own.
"""

from __future__ import annotations

import numpy as np

from auscult.outcome import Undefined
from auscult.stress.masks.base import undefined, workpiece
from auscult.stress.masks.freehand import outline
from auscult.stress.masks.freehand.edges import EdgeParams
from auscult.types import Defect, Difficulty, Mask, MaskTarget, Metadata


class FreehandDilate:
    """Moves the outline outwards, over background and other objects alike; the result is a superset."""

    name = "masks.freehand_dilate.v1"
    defect: Defect = "dilate"
    difficulties: tuple[Difficulty, ...] = ("hard", "medium")
    params = EdgeParams
    meta = Metadata(
        summary="outline too far out: in lobes, by a soft edge, low resolution, a lag, or few corners",
        goal="outward over-segmentation in shapes that no judge was fitted to",
        modality="mask",
        source="windows of MQ-RAVSBench, Sec. 3.2, Eq. 5; shapes of our own",
        truth="IoU in [.85, .90] (hard, minor revision) or [.75, .80] (medium, major revision)",
    )

    def choose(self, rng: np.random.Generator, target: MaskTarget, *, difficulty: Difficulty) -> EdgeParams | Undefined:
        """Draw the error; undefined where the frame leaves no room for it."""
        piece = workpiece(target)
        room = target.mask.size - piece.area_px
        if room < piece.area_px / 10:
            return undefined("no_room", area_px=piece.area_px, room_px=room)
        return outline.choose(rng, piece, difficulty=difficulty, side="outside")

    def render(self, target: MaskTarget, params: EdgeParams) -> Mask:
        """The target with what lies inside the wrong outline."""
        return outline.render(workpiece(target), params, side="outside")


STRESSOR = FreehandDilate()
