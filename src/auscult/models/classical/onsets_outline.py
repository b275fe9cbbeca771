"""A candidate's outline, drawn again along the colours of the frame it is seen in."""

from __future__ import annotations

from typing import Final

import cv2
import numpy as np

from auscult.arrays.boxes import box_of
from auscult.types import Frame, Mask

_MARGIN_PX: Final = 12
_OUT_PX: Final = 9  # sides of squares: how far the new outline may lie outside and inside the old one
_IN_PX: Final = 7
_ROUNDS: Final = 2
_LEAST_PX: Final = 30
_KEPT: Final = 0.5  # of the old shape; what agrees less is another thing, and the old one stays


def outlined(frame: Frame, mask: Mask) -> Mask:
    """Fit a mask to the colours inside and outside it (Rother et al., "GrabCut", SIGGRAPH 2004).

    Args:
        frame: uint8 RGB (h, w, 3).
        mask: bool (h, w).

    Returns:
        bool (h, w); the mask itself where it is tiny, fills the picture, or the fit goes astray.
    """
    box = box_of(mask)
    if box is None or np.count_nonzero(mask) < _LEAST_PX or mask.all():
        return mask
    x0, y0, x1, y1 = box
    here = (slice(max(0, y0 - _MARGIN_PX), y1 + _MARGIN_PX), slice(max(0, x0 - _MARGIN_PX), x1 + _MARGIN_PX))
    labels = _labels(mask[here])
    if not np.isin(labels, (cv2.GC_BGD, cv2.GC_PR_BGD)).any():
        return mask
    cv2.setRNGSeed(0)  # its colour models start from k-means, which draws from OpenCV's own generator
    models = np.zeros((1, 65)), np.zeros((1, 65))
    picture = np.ascontiguousarray(frame[here][..., ::-1])
    cv2.grabCut(picture, labels, None, *models, _ROUNDS, cv2.GC_INIT_WITH_MASK)  # type: ignore[call-overload]
    fitted = np.zeros(mask.shape, np.bool_)
    fitted[here] = np.isin(labels, (cv2.GC_FGD, cv2.GC_PR_FGD))
    both, either = int(np.count_nonzero(fitted & mask)), int(np.count_nonzero(fitted | mask))
    return fitted if both >= _KEPT * either else mask


def _labels(mask: Mask) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
    """What is surely and what is likely inside and outside."""
    inside = mask.astype(np.uint8)
    outer = cv2.dilate(inside, np.ones((_OUT_PX, _OUT_PX), np.uint8)) > 0
    core = cv2.erode(inside, np.ones((_IN_PX, _IN_PX), np.uint8)) > 0
    labels = np.full(mask.shape, cv2.GC_BGD, np.uint8)
    labels[outer] = cv2.GC_PR_BGD
    labels[mask] = cv2.GC_PR_FGD
    labels[core] = cv2.GC_FGD
    return labels
