"""What can be seen of a mask at all; below these limits nothing is said of the outline."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

import cv2
import numpy as np
from numpy.typing import NDArray

from auscult.types import Box, Mask

Sight: TypeAlias = Literal["clear", "small", "tiny", "full", "flat"]

BLIND: Final[tuple[Sight, ...]] = ("tiny", "full", "flat")
"""The outline cannot be checked by the picture."""
MEASURED_PX: Final = 32 * 32
"""The least area, in pixels of the frame, of the objects that the card measures."""

_LEAST_PX = 64
_FULL_SHARE = 0.95
_INSIDE = 128
_LEAST_STEP = 1.5  # grey levels of 255: no person sees less across an outline
_BAND = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (9, 9))


def sight_of(mask: Mask, crop: NDArray[np.uint8], box: Box) -> Sight:
    """How much of a mask can be judged by its picture.

    Args:
        mask: bool (H, W), not empty.
        crop: What is seen of it, channels first: red, green, blue, share inside the mask (255 for all of a cell).
        box: What the crop covers, in pixels of the frame.

    Returns:
        ``clear``; ``small``, below the measured size; or, with no outline to look at, ``full`` (the mask fills the
        frame), ``tiny`` (a speck or a hairline) or ``flat`` (the picture shows nothing along the outline).
    """
    area = int(np.count_nonzero(mask))
    if area > _FULL_SHARE * mask.size:
        return "full"
    if area < _LEAST_PX or _is_hairline(mask, box):
        return "tiny"
    if _contrast(crop, in_frame(box, mask.shape[:2], len(crop[3]))) < _LEAST_STEP:
        return "flat"
    return "small" if area < MEASURED_PX else "clear"


def in_frame(box: Box, size: tuple[int, ...], side: int) -> Mask:
    """Which cells of a square grid over ``box`` have their middle inside a frame of ``size`` (height, width)."""
    x0, y0, x1, y1 = box
    across = (np.arange(side) + 0.5) / side
    columns, rows = x0 + across * (x1 - x0), y0 + across * (y1 - y0)
    inside = ((rows >= 0) & (rows < size[0]))[:, None] & ((columns >= 0) & (columns < size[1]))[None]
    return np.asarray(inside, dtype=np.bool_)


def _is_hairline(mask: Mask, box: Box) -> bool:
    """Whether no part of the mask is three pixels of the frame wide; the frame's border bounds nothing."""
    height, width = mask.shape
    x0, y0, x1, y1 = box
    inner = np.ascontiguousarray(mask[max(y0, 0) : min(y1, height), max(x0, 0) : min(x1, width)]).view(np.uint8)
    return not cv2.erode(inner, np.ones((3, 3), np.uint8), borderValue=1).any()


def _contrast(crop: NDArray[np.uint8], framed: Mask) -> float:
    """The largest difference of colour along most of the outline, in grey levels.

    The 90th percentile, over a band along it, of the range of each channel within five cells. What lies outside the
    frame has a colour of its own in the crop and is left out.
    """
    near = np.ones((5, 5), np.uint8)
    inside = (crop[3] >= _INSIDE).astype(np.uint8)
    band = (cv2.dilate(inside, _BAND) > cv2.erode(inside, _BAND)) & (
        cv2.erode(framed.view(np.uint8), near, borderValue=1) > 0
    )
    if not band.any():
        return 0.0
    ranges = [cv2.dilate(channel, near)[band] - cv2.erode(channel, near)[band] for channel in crop[:3]]
    return float(np.percentile(np.max(ranges, axis=0), 90))
