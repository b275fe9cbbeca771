"""All cues of one candidate mask, in the catalogue's order."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from auscult.judge.masks.cues.catalogue import CUES
from auscult.judge.masks.cues.colour import Colour, colour_of
from auscult.judge.masks.cues.ribbon import Ribbon, ribbon_cues, ribbon_of
from auscult.judge.masks.cues.scene import Scene, scene_of
from auscult.judge.masks.cues.shape import Shape, shape_of
from auscult.judge.masks.cues.view import View, view_of
from auscult.types import Frame, Mask


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Findings:
    """What was measured of one candidate.

    Attributes:
        view: The part of the frame that was looked at.
        shape: Findings from the mask alone.
        ribbon: The picture across the outline.
        colour: Findings from colour.
        scene: Findings from the frame's other masks.
        cues: Every cue by name, finite.
    """

    view: View
    shape: Shape
    ribbon: Ribbon
    colour: Colour
    scene: Scene
    cues: dict[str, float]

    def vector(self) -> NDArray[np.float64]:
        """The cues as float64 (len(CUES),), in the catalogue's order."""
        return np.array([self.cues[cue.name] for cue in CUES], dtype=np.float64)


def measure(frame: Frame, mask: Mask, *, others: tuple[Mask, ...] = ()) -> Findings | None:
    """Measure every cue of a candidate mask.

    Args:
        frame: uint8 RGB (H, W, 3).
        mask: bool (H, W).
        others: Other objects of the frame, each bool (H, W).

    Returns:
        The findings, or None for an empty mask, which has no cue.
    """
    view = view_of(frame, mask)
    if view is None:
        return None
    shape, ribbon = shape_of(view), ribbon_of(view)
    colour, scene = colour_of(view), scene_of(mask, others)
    found = shape.cues | ribbon_cues(ribbon) | colour.cues | scene.cues
    cues = {cue.name: float(min(max(found[cue.name], cue.low), cue.high)) for cue in CUES}
    return Findings(view=view, shape=shape, ribbon=ribbon, colour=colour, scene=scene, cues=cues)
