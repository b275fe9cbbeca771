"""Masks that are all but perfect: what two careful annotators differ by.

From an IoU of .97 such a mask is called ``perfect``, between .95 and .97 nothing: an annotator would accept it, but the
paper's perfect is the truth itself, and a network that calls a band of 3 % perfect cannot tell slight erosions.
"""

from __future__ import annotations

from typing import Final

import cv2
import numpy as np

from auscult.train.candidates.base import Draft
from auscult.train.candidates.outlines import polygons
from auscult.train.candidates.working import Work
from auscult.types import Mask

PERFECT_FROM: Final = 0.97
LEAST: Final = 0.95


def nearly(work: Work, rng: np.random.Generator) -> Draft | None:
    """The outline shaken by about half a pixel to a pixel, to both sides alike."""
    noise = work.noise(rng, float(np.exp(rng.uniform(np.log(2.0), np.log(0.4 * work.size_px + 2.1)))))
    towards = np.where(work.own, -noise, noise)
    times = np.where(towards > 0.02, work.away / np.maximum(towards, 0.02), np.float32(np.inf))
    one_px = 1 - 0.6 * work.edge_px / work.area_px  # a pixel off over half of the outline
    mask = work.flipped(times, float(rng.uniform(min(max(LEAST, one_px), 0.99), 0.995)), within=0.01)
    return _named(work, mask)


def traced(work: Work, rng: np.random.Generator) -> Draft | None:
    """Drawn as a polygon within 1 px, as COCO's annotations are."""
    return _named(work, polygons(work.own, float(rng.uniform(0.5, 1.3)), shake_px=0.0, rng=rng))


def resampled(work: Work, rng: np.random.Generator) -> Draft | None:
    """Kept at another size and brought back: the outline moves by less than a pixel."""
    height, width = work.own.shape
    scale = float(rng.uniform(0.45, 0.9))
    size = (max(2, round(width * scale)), max(2, round(height * scale)))
    small = cv2.resize(work.own.astype(np.float32), size, interpolation=cv2.INTER_AREA)
    back = np.asarray(cv2.resize(small, (width, height), interpolation=cv2.INTER_LINEAR))
    return _named(work, back > 0.5)


def _named(work: Work, mask: Mask | None) -> Draft | None:
    if mask is None or not mask.any():
        return None
    iou = work.iou(mask)
    return Draft(mask, "perfect" if iou >= PERFECT_FROM else None) if iou >= LEAST else None
