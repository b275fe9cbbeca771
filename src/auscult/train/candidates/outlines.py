"""Outlines that are off on both sides: smooth and jagged noise, few corners, coarse grids, low-resolution heads."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from auscult.train.candidates import amounts
from auscult.train.candidates.base import Draft
from auscult.train.candidates.working import Work
from auscult.types import Mask


def wavy(work: Work, rng: np.random.Generator) -> Draft | None:
    """Smooth two-sided noise on the signed distance; on which side a place is off changes slowly."""
    grain = float(np.exp(rng.uniform(np.log(0.12), np.log(0.9)))) * work.size_px
    return _noisy(work, work.noise(rng, grain), amounts.realistic(rng))


def jagged(work: Work, rng: np.random.Generator) -> Draft | None:
    """Rough noise on the signed distance in grains of a few pixels, no further from the outline than that."""
    grain = float(rng.uniform(1.5, 7.0))
    noise = work.noise(rng, grain, smooth=False)
    if rng.random() < 0.5:
        noise = noise * (0.6 + 0.6 * work.noise(rng, 0.4 * work.size_px))
    noise = np.where(work.away <= 1.2 * grain + 0.5, noise, np.float32(0.0))
    return _noisy(work, noise, amounts.realistic(rng), within=1.0)


def _noisy(work: Work, noise: NDArray[np.float32], wanted: float, *, within: float = 0.02) -> Draft | None:
    towards = np.where(work.own, -noise, noise)
    times = np.where(towards > 0.05, work.away / np.maximum(towards, 0.05), np.float32(np.inf))
    mask = work.flipped(times, wanted, within=within)
    return None if mask is None or not mask.any() else Draft(mask, None)


def corners(work: Work, rng: np.random.Generator) -> Draft | None:
    """The outline as a polygon of few corners, sometimes each of them off by a little."""
    epsilon = float(np.exp(rng.uniform(np.log(0.015), np.log(0.3)))) * work.size_px
    shake = float(rng.uniform(0.0, 0.6)) * epsilon if rng.random() < 0.4 else 0.0
    mask = polygons(work.own, epsilon, shake_px=shake, rng=rng)
    return Draft(mask, None) if mask.any() and work.iou(mask) >= 0.3 else None


def polygons(mask: Mask, epsilon_px: float, *, shake_px: float, rng: np.random.Generator) -> Mask:
    """Every outline of a mask, of parts and holes alike, by the fewest corners within a tolerance.

    Args:
        mask: bool (H, W).
        epsilon_px: How far the polygon may run from the outline.
        shake_px: Standard deviation of the corners' own error.
        rng: Draws that error.

    Returns:
        bool (H, W); parts that are left with fewer than three corners are gone.
    """
    outlines, _ = cv2.findContours(mask.view(np.uint8), cv2.RETR_CCOMP, cv2.CHAIN_APPROX_NONE)
    kept = []
    for outline in outlines:
        polygon = cv2.approxPolyDP(outline, epsilon_px, closed=True)
        if len(polygon) >= 3:
            kept.append(np.rint(polygon + rng.normal(0.0, 1.0, polygon.shape) * shake_px).astype(np.int32))
    drawn = np.zeros(mask.shape, np.uint8)
    if kept:
        cv2.fillPoly(drawn, kept, (1,))
    return drawn.view(np.bool_)


def low_resolution(work: Work, rng: np.random.Generator) -> Draft | None:
    """A mask head's answer: 14 to 64 cells over a box about the object, its edges off, brought up to size."""
    cells = int(rng.choice([14, 20, 28, 28, 28, 40, 56, 64]))
    grown = rng.uniform(-0.04, 0.2, 4)
    left, top, right, bottom = (a - b for a, b in zip(work.piece.box, (*work.box[:2], *work.box[:2]), strict=True))
    wide, high = right - left, bottom - top
    height, width = work.own.shape
    x0, x1 = max(0, round(left - grown[0] * wide)), min(width, round(right + grown[1] * wide))
    y0, y1 = max(0, round(top - grown[2] * high)), min(height, round(bottom + grown[3] * high))
    if x1 - x0 < 4 or y1 - y0 < 4:
        return None
    small = cv2.resize(work.own[y0:y1, x0:x1].astype(np.float32), (cells, cells), interpolation=cv2.INTER_AREA)
    soft = cv2.GaussianBlur(small, (0, 0), float(rng.uniform(0.3, 1.6)))
    doubt = rng.normal(0.0, float(rng.uniform(0.0, 0.25)), (cells, cells)).astype(np.float32)
    soft = soft + np.asarray(cv2.GaussianBlur(doubt, (0, 0), 0.7))
    how = cv2.INTER_NEAREST if rng.random() < 0.3 else cv2.INTER_LINEAR
    mask = np.zeros(work.own.shape, np.bool_)
    fine = np.asarray(cv2.resize(soft, (x1 - x0, y1 - y0), interpolation=how))
    mask[y0:y1, x0:x1] = fine > float(rng.uniform(0.35, 0.65))
    return Draft(mask, None) if mask.any() else None


def blocky(work: Work, rng: np.random.Generator) -> Draft | None:
    """The mask on a grid of cells of 2 to 16 px that knows nothing of the object, as a strided network gives it."""
    stride = int(rng.choice([2, 3, 4, 4, 6, 8, 8, 12, 16]))
    if stride > 0.25 * work.size_px:
        return None
    height, width = work.own.shape
    before = rng.integers(0, stride, 2)
    padded = np.pad(work.own, ((before[0], -(height + before[0]) % stride), (before[1], -(width + before[1]) % stride)))
    rows, columns = padded.shape[0] // stride, padded.shape[1] // stride
    small = cv2.resize(padded.astype(np.float32), (columns, rows), interpolation=cv2.INTER_AREA)
    how = cv2.INTER_NEAREST if rng.random() < 0.6 else cv2.INTER_LINEAR
    fine = np.asarray(cv2.resize(small, (columns * stride, rows * stride), interpolation=how))
    mask = fine[before[0] : before[0] + height, before[1] : before[1] + width] > float(rng.uniform(0.3, 0.7))
    return Draft(np.ascontiguousarray(mask), None) if mask.any() else None
