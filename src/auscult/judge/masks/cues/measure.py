"""All cues of one candidate mask, in the catalogue's order.

Other masks of a frame may be other candidates for the same object. One that shares half of its union with the
candidate, or that fills most of it, is taken for that and left out. Everything here is in frame pixels.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from auscult.arrays.boxes import box_of, grown, window
from auscult.judge.masks.cues.features import Colour, Ribbon, ShapeFindings, colour_of, ribbon_cues, ribbon_of, shape_of
from auscult.judge.masks.cues.model import CUES
from auscult.judge.masks.cues.view import CueView, view_of
from auscult.types import Box, Frame, Mask

_SAME_IOU = 0.5
_SWALLOWED = 0.8
_FILLS = 0.7
_RIM_PX = 2
_SPECK_PX = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """The findings of this module.

    Attributes:
        cues: All cues of this module, by name (see ``catalogue``).
        swallowed_box: Box of the largest other object that the candidate covers, in frame pixels.
    """

    cues: dict[str, float]
    swallowed_box: Box | None


def scene_of(mask: Mask, others: tuple[Mask, ...]) -> Scene:
    """Compare a candidate with the frame's other masks.

    Args:
        mask: bool (H, W), not empty.
        others: Each bool (H, W); the order does not matter.
    """
    if not others:
        return Scene(cues=dict.fromkeys(("swallowed", "overlap", "touching"), 0.0), swallowed_box=None)
    swallowed, overlap, touching = 0.0, 0.0, 0.0
    box: Box | None = None
    height, width = mask.shape
    around = window(grown(box_of(mask) or (0, 0, width, height), _RIM_PX, (height, width)))
    own = mask[around]
    area = int(np.count_nonzero(own))
    kernel = np.ones((2 * _RIM_PX + 1, 2 * _RIM_PX + 1), np.uint8)
    rim = np.asarray(cv2.dilate(own.astype(np.uint8), kernel) > 0) & ~own
    length = max(int(np.count_nonzero(rim)), 1)
    for other in others:
        near = other[around]
        both = int(np.count_nonzero(own & near))
        size = int(np.count_nonzero(other))
        fills = both / area
        if size < _SPECK_PX or both / (area + size - both) > _SAME_IOU or fills > _FILLS:
            continue
        overlap = max(overlap, fills)
        touching = max(touching, int(np.count_nonzero(rim & near)) / length)
        if both / size > _SWALLOWED and fills > swallowed:
            swallowed, box = fills, box_of(other)
    cues = {"swallowed": float(np.sqrt(swallowed)), "overlap": float(np.sqrt(overlap)), "touching": touching}
    return Scene(cues=cues, swallowed_box=box)


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

    view: CueView
    shape: ShapeFindings
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
