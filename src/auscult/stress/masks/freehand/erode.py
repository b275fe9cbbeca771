"""Freehand erode: the outline lies inside the object's, in other shapes than a band of varying width.

Source: the windows are those of MQ-RAVSBench, Sec. 3.2, Eq. 6; the shapes are our own.
"""

from __future__ import annotations

import numpy as np

from auscult.outcome import Undefined
from auscult.stress.masks.base import undefined, workpiece
from auscult.stress.masks.freehand import outline
from auscult.stress.masks.freehand.edges import EdgeParams
from auscult.types import Defect, Difficulty, Mask, MaskTarget, Metadata


class FreehandErode:
    """Moves the outline inwards; the result is a subset of the target."""

    name = "masks.freehand_erode.v1"
    defect: Defect = "erode"
    difficulties: tuple[Difficulty, ...] = ("hard", "medium")
    params = EdgeParams
    meta = Metadata(
        summary="outline too far in: in lobes, by a soft edge, low resolution, a lag, or few corners",
        goal="inward under-segmentation in shapes that no judge was fitted to",
        modality="mask",
        source="windows of MQ-RAVSBench, Sec. 3.2, Eq. 6; shapes of our own",
        truth="IoU in [.85, .90] (hard, minor revision) or [.75, .80] (medium, major revision)",
    )

    def choose(self, rng: np.random.Generator, target: MaskTarget, *, difficulty: Difficulty) -> EdgeParams | Undefined:
        """Draw the error; undefined where the object is too thin or small, or would fall apart."""
        piece = workpiece(target)
        if float(piece.depth.max()) < 2.0:
            return undefined("too_thin", area_px=piece.area_px)
        return outline.choose(rng, piece, difficulty=difficulty, side="inside")

    def render(self, target: MaskTarget, params: EdgeParams) -> Mask:
        """The target without what lies outside the wrong outline."""
        return outline.render(workpiece(target), params, side="inside")


STRESSOR = FreehandErode()
