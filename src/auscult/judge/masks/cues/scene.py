"""Cues from the frame's other masks: does the candidate overlap, touch or swallow another object?

Other masks of a frame may be other candidates for the same object. One that shares half of its union with the
candidate, or that fills most of it, is taken for that and left out. Everything here is in frame pixels.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np

from auscult.arrays.boxes import box_of, grown, window
from auscult.types import Box, Mask

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
