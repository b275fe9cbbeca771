"""Defocus blur: a lens focused elsewhere spreads each point over a disc.

Source: R2-Bench, Table 1, sensor noise of vision; constants and kernel of ImageNet-C: a disc of whole radius, its rim
softened by a small Gaussian, the picture mirrored at its edge. Discs of the radii below and above are mixed between.
The release softens the disc on a grid that mirrors at its edge, so that discs of 7 pixels and more sum to up to 1.014
and brighten the picture by that; that is kept, as a factor.
"""

from __future__ import annotations

import math

import cv2
import numpy as np

from auscult.stress.strength import ALL_ONE_WAY, Rows, between
from auscult.stress.vision.base import Fixed, NoDraws, VisionStressor
from auscult.stress.vision.blur_disc import disc_mean
from auscult.types import Frame, Metadata

_GRID_PX = 8  # the half side of the kernel; discs above it have their rim softened over 5 pixels, others over 3


class DefocusBlur(Fixed):
    """Blurs by a disc with a soft rim, in pixels of the picture as it is."""

    name = "vision.defocus_blur.v1"
    levels: Rows = ((0.0, 0.1), (3.0, 0.1), (4.0, 0.5), (6.0, 0.5), (8.0, 0.5), (10.0, 0.5))
    declared = ALL_ONE_WAY
    meta = Metadata(
        summary="blurs by a disc, as a lens out of focus does",
        goal="a camera focused elsewhere: outlines are lost, points become discs",
        modality="image",
        source="R2-Bench, Table 1; constants of ImageNet-C",
        truth="masks and boxes stay",
        origin="sensor",
    )

    def render(self, frame: Frame, params: NoDraws, *, index: int = 0) -> Frame:
        """The frame, out of focus."""
        del index
        radius_px, rim_px = between(self.levels, params.strength)
        smaller = math.floor(radius_px)
        share = radius_px - smaller
        made = _defocused(frame, smaller, rim_px)
        if share == 0.0:
            return made
        larger = _defocused(frame, smaller + 1, rim_px)
        return np.asarray(cv2.addWeighted(made, 1.0 - share, larger, share, 0.0), dtype=np.uint8)


def _defocused(frame: Frame, radius_px: int, rim_px: float) -> Frame:
    """The mean over a disc of the softened frame, which is the frame by a softened disc."""
    soft_px = 2 if radius_px > _GRID_PX else 1
    around = radius_px + soft_px
    padded = cv2.copyMakeBorder(frame, around, around, around, around, cv2.BORDER_REFLECT_101)
    softened = cv2.GaussianBlur(padded, (2 * soft_px + 1, 2 * soft_px + 1), rim_px)
    inner = np.asarray(softened[soft_px:-soft_px, soft_px:-soft_px], dtype=np.uint8)
    return disc_mean(inner, radius_px, gain=_gain(radius_px, soft_px, rim_px))


def _gain(radius_px: int, soft_px: int, rim_px: float) -> float:
    """What the release's kernel sums to: its disc is softened on a grid that mirrors what lies next to its edge."""
    half = max(_GRID_PX, radius_px)
    squares = np.arange(-half, half + 1) ** 2
    disc = (np.add.outer(squares, squares) <= radius_px**2).astype(np.float64)
    size = 2 * soft_px + 1
    return float(cv2.GaussianBlur(disc, (size, size), rim_px).sum() / disc.sum())


STRESSOR: VisionStressor[NoDraws] = DefocusBlur()
