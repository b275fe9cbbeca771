"""Masks on no object: shapes and pieces of the picture that follow no object as a whole.

Called ``arbitrary`` where they hold nearly nothing of the object (IoU below .05); a mask that holds a good part of it
has no type. None is like another object of the picture: that would be a good mask of the wrong thing.
"""

from __future__ import annotations

from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from auscult.arrays.overlap import iou
from auscult.train.candidates.base import Draft
from auscult.train.candidates.working import Work
from auscult.types import Mask

_TRIES: Final = 4
_LEAST_SHARE: Final = 0.08  # of the object's area
_TOUCHES_MOST: Final = 0.05
_LIKE_ANOTHER: Final = 0.35


def shape(work: Work, rng: np.random.Generator) -> Draft | None:
    """A box, an ellipse, a polygon or a blob, anywhere."""
    for _ in range(_TRIES):
        height, width = work.truth.shape
        size = work.size_px * float(np.exp(rng.uniform(np.log(0.35), np.log(1.3))))
        corners = _outline(rng, size)
        centre = rng.uniform((0, 0), (width, height))
        drawn = np.zeros(work.truth.shape, np.uint8)
        cv2.fillPoly(drawn, [np.rint(corners + centre).astype(np.int32)], (1,))
        draft = _judged(work, drawn.view(np.bool_))
        if draft is not None and draft.defect == "arbitrary":
            return draft
    return None


def moved_away(work: Work, rng: np.random.Generator) -> Draft | None:
    """The object's own shape, mirrored, turned and moved to where it is not."""
    height, width = work.truth.shape
    left, top, right, bottom = work.piece.box
    for _ in range(_TRIES):
        angle = float(rng.choice([0, 0, 90, 180, 270])) + float(rng.normal(0, 8))
        scale = float(rng.uniform(0.6, 1.15))
        centre = (left + right) / 2, (top + bottom) / 2
        matrix = np.asarray(cv2.getRotationMatrix2D(centre, angle, scale), dtype=np.float64)
        matrix[:, 2] += rng.uniform((0, 0), (width, height)) - np.array(centre)
        if rng.random() < 0.5:
            matrix[:, 2] += matrix[:, 0] * (left + right - 1)
            matrix[:, 0] *= -1
        drawn = cv2.warpAffine(work.truth.view(np.uint8), matrix, (width, height), flags=cv2.INTER_NEAREST)
        draft = _judged(work, np.asarray(drawn, dtype=np.uint8).view(np.bool_))
        if draft is not None and draft.defect == "arbitrary":
            return draft
    return None


def background(work: Work, rng: np.random.Generator) -> Draft | None:
    """All that is not the object, or what of it lies near."""
    near = np.asarray(work.reach <= rng.uniform(0.1, 0.6) * work.size_px)
    return _judged(work, ~work.truth if rng.random() < 0.4 else work.whole(near))


def half_and_half(work: Work, rng: np.random.Generator) -> Draft | None:
    """A shape over the outline: a part of the object and about as much of what is beside it."""
    rows, columns = np.nonzero(work.depth == np.float32(0.5))
    if not rows.size:
        return None
    at = int(rng.integers(rows.size))
    drawn = np.zeros(work.own.shape, np.uint8)
    corners = _outline(rng, work.size_px * float(rng.uniform(0.4, 1.1)))
    cv2.fillPoly(drawn, [np.rint(corners + np.array([columns[at], rows[at]])).astype(np.int32)], (1,))
    mask = drawn.view(np.bool_)
    return _judged(work, mask)


def _judged(work: Work, mask: Mask) -> Draft | None:
    if np.count_nonzero(mask) < max(64.0, _LEAST_SHARE * work.area_px):
        return None
    full = work.whole(mask)
    if any(iou(full, other) > _LIKE_ANOTHER for other in work.others):
        return None
    return Draft(mask, "arbitrary" if work.iou(mask) < _TOUCHES_MOST else None)


def _outline(rng: np.random.Generator, size_px: float) -> NDArray[np.float64]:
    """Corners (n, 2) of a random shape about 0 with sides of about ``size_px``."""
    kind = rng.random()
    stretch = float(np.exp(rng.uniform(-0.6, 0.6)))
    turn = 0.0 if kind < 0.25 else float(rng.uniform(0, np.pi))
    if kind < 0.35:
        points = np.array([[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]])
    elif kind < 0.5:
        angles = np.sort(rng.uniform(0, 2 * np.pi, int(rng.integers(3, 8))))
        points = 1.3 * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    else:
        angles = np.linspace(0, 2 * np.pi, 48, endpoint=False)
        radius = np.full(angles.shape, 1.1)
        for waves in range(2, int(rng.integers(2, 8))):  # none: an ellipse
            radius += rng.uniform(0, 0.9 / waves) * np.cos(waves * angles + rng.uniform(0, 2 * np.pi))
        points = np.maximum(radius, 0.2)[:, None] * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    points = points * (0.5 * size_px * stretch, 0.5 * size_px / stretch)
    spin = np.array([[np.cos(turn), np.sin(turn)], [-np.sin(turn), np.cos(turn)]])
    turned: NDArray[np.float64] = points @ spin
    return turned
