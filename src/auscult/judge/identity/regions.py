"""What a candidate is compared with: the other masks of the frame, and regions of even colour that it does not hold.

Regions are made here, from colours alone, so that a check has something to compare with where nothing else is known:
the picture is cut into pieces, and the smallest is joined to the neighbour across its weakest border until few are
left.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from auscult.arrays.boxes import box_of, window
from auscult.arrays.overlap import iou
from auscult.arrays.segments import borders, edge_strength, pieces
from auscult.types import Frame, Mask

LONG_SIDE_PX: Final = 192
"""Long side of the reduced picture that is cut into pieces."""

_PIECES: Final = 12  # across the short side
_KEPT: Final = 12  # regions that are left of the picture when joining stops
_LEAST: Final = 0.01  # of the frame
_MOST: Final = 0.6
_APART: Final = 0.5  # IoU from which two masks count as the same thing
_HELD: Final = 0.3  # share of a region that may lie in the candidate


def rivals(
    frame: Frame,
    mask: Mask,
    others: Sequence[Mask],
    *,
    most: int,
    coloured: Callable[[Frame], Sequence[Mask]] | None = None,
) -> tuple[Mask, ...]:
    """Regions that the expression could mean instead of the candidate.

    Args:
        frame: uint8 RGB (H, W, 3).
        mask: The candidate, bool (H, W).
        others: Masks of other objects, bool (H, W) each; they come first, the largest before the rest.
        most: How many at most.
        coloured: Gives the frame's regions of even colour, for who keeps them; None for ``coloured_regions``.

    Returns:
        bool (H, W) each, none empty, none much the same as the candidate or as another.
    """
    given = sorted((one for one in others if one.any()), key=lambda one: -int(np.count_nonzero(one)))
    found: list[Mask] = []
    for one in given:
        if len(found) < most and all(_differ(one, known) for known in (mask, *found)):
            found.append(one)
    if len(found) == most:
        return tuple(found)
    for one in (coloured or coloured_regions)(frame):
        held = float(np.count_nonzero(one & mask)) / float(np.count_nonzero(one))
        if len(found) < most and held <= _HELD and all(_differ(one, known) for known in (mask, *found)):
            found.append(one)
    return tuple(found)


def coloured_regions(frame: Frame) -> tuple[Mask, ...]:
    """Regions of even colour, 1 to 60 % of the frame each, those that stand out most first; they do not overlap.

    Args:
        frame: uint8 RGB (H, W, 3).

    Returns:
        bool (H, W) each; may be none.
    """
    height, width = frame.shape[:2]
    scale = min(1.0, LONG_SIDE_PX / max(height, width))
    size = (max(1, round(width * scale)), max(1, round(height * scale)))
    if min(size) < 2 * _PIECES:
        return ()
    small = np.asarray(cv2.resize(frame, size, interpolation=cv2.INTER_AREA), dtype=np.uint8)
    strength = edge_strength(np.asarray(cv2.cvtColor(small, cv2.COLOR_RGB2LAB), dtype=np.uint8))
    labels = _joined(pieces(small, strength, step_px=max(4, min(size) // _PIECES)), strength)
    whole = np.asarray(cv2.resize(labels.astype(np.float32), (width, height), interpolation=cv2.INTER_NEAREST))
    found: list[tuple[float, Mask]] = []
    for label in range(int(labels.max()) + 1):
        share = float(np.mean(labels == label))
        region: Mask = whole == label
        if _LEAST <= share <= _MOST and region.any():
            found.append((_stands_out(labels == label, strength), region))
    return tuple(region for _, region in sorted(found, key=lambda one: -one[0]))


def _joined(labels: NDArray[np.int32], strength: NDArray[np.float32]) -> NDArray[np.int32]:
    """Labels after the smallest region was joined to the neighbour across its weakest border, again and again."""
    count = int(labels.max()) + 1
    area = np.bincount(labels.ravel(), minlength=count).astype(np.float64)
    touching = borders(labels, strength)
    first, second = touching.pairs[:, 0], touching.pairs[:, 1]
    length, edge = np.zeros((count, count)), np.zeros((count, count))
    length[first, second] = length[second, first] = touching.length_px
    edge[first, second] = edge[second, first] = touching.strength
    name = np.arange(count)
    for left in range(count, 1, -1):
        small = int(np.argmin(area))
        if left <= _KEPT and area[small] >= _LEAST * labels.size:
            break
        weakness = np.where(length[small] > 0, edge[small] / np.maximum(length[small], 1), np.inf)
        into = int(np.argmin(weakness))
        for table in (length, edge):
            table[into] += table[small]
            table[:, into] += table[:, small]
            table[small] = table[:, small] = 0.0
            table[into, into] = 0.0
        area[into] += area[small]
        area[small] = np.inf
        name[name == small] = into
    _, dense = np.unique(name[labels], return_inverse=True)
    return dense.reshape(labels.shape).astype(np.int32)


def _stands_out(region: Mask, strength: NDArray[np.float32]) -> float:
    """Mean strength of the edge along a region's outline; 0 where it has none."""
    box = box_of(region)
    if box is None:
        return 0.0
    inner = np.asarray(cv2.erode(region.view(np.uint8), np.ones((3, 3), np.uint8)), dtype=bool)
    rim = (region & ~inner)[window(box)]
    return float(strength[window(box)][rim].mean()) if rim.any() else 0.0


def _differ(first: Mask, second: Mask) -> bool:
    return iou(first, second) < _APART
