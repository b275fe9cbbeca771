"""The other objects of a clip, for merge and full_neg: which can be used in which frames, and which are the hardest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from auscult.arrays import boxes
from auscult.outcome import Undefined
from auscult.stress.masks import negatives
from auscult.stress.masks.base import Workpiece
from auscult.stress.masks.track import LEAST_SHARE
from auscult.types import Mask

_MOST: Final = negatives.MOST


def ranked(pieces: Sequence[Workpiece | None], count: int) -> tuple[int, ...]:
    """The other objects to take, hardest first.

    Args:
        pieces: The target of each frame with its others; None where there is no target.
        count: Other objects of the clip.

    Returns:
        At most three, by their place in ``others``. Those that can be used in at least half of the frames with a target
        come before those that cannot; then by falling mean box IoU with the target over all frames with a target (0 in
        a frame where the object cannot be used); ties by their place. Objects that no frame can use are left out.
    """
    present = [piece for piece in pieces if piece is not None]
    scored: list[tuple[bool, float, int]] = []
    for index in range(count):
        found = [box_iou(piece, index) for piece in present]
        usable = [value for value in found if value is not None]
        if usable:
            rare = len(usable) < LEAST_SHARE * len(present)
            scored.append((rare, -sum(usable) / len(present), index))
    return tuple(index for _, _, index in sorted(scored)[:_MOST])


def box_iou(piece: Workpiece, index: int) -> float | None:
    """Box IoU of the target and what another object has outside it; None where that is no object."""
    negative = piece.others[index] & ~piece.mask
    box = boxes.box_of(negative)
    if box is None or np.count_nonzero(negative[boxes.window(box)]) < negatives.LEAST_PX:
        return None
    return boxes.box_iou(piece.box, box)


def unusable(piece: Workpiece, other: Mask | None) -> Undefined | None:
    """Why a frame cannot use another object; None where it can."""
    if other is None:
        return Undefined("other_not_annotated")
    if not other.any():
        return Undefined("other_not_visible")
    outside = int(np.count_nonzero(other & ~piece.mask))
    if outside < negatives.LEAST_PX:
        return Undefined("other_inside_target", {"outside_px": outside})
    return None
