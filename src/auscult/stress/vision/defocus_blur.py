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
from numpy.typing import NDArray

from auscult.stress.perturbation import Constant, Fixed, NoDraws
from auscult.stress.vision.base import VisionStressor
from auscult.types import Frame, Metadata

_ROWS = 32
"""Rows made at a time, so that what is made in between stays in the processor's cache."""

_FIT = 65_535 // 255
"""How many pixels may be summed in 16 bits."""

_DROP = -0.49
"""Turns rounding into dropping the fraction, and leaves whole numbers what they are."""


def half_widths(radius_px: int) -> tuple[int, ...]:
    """How far the disc x^2 + y^2 <= radius^2 reaches to either side, for y = 0, 1 ... radius."""
    return tuple(math.isqrt(radius_px**2 - row**2) for row in range(radius_px + 1))


def disc_mean(padded: Frame, radius_px: int, *, gain: float = 1.0) -> Frame:
    """``gain`` times the mean over a disc of 0 to 12 pixels, its fraction dropped.

    From uint8 (H + 2 radius, W + 2 radius, 3) to uint8 (H, W, 3).
    """
    height, width = (side - 2 * radius_px for side in padded.shape[:2])
    output = np.empty((height, width, 3), dtype=np.uint8)
    for top in range(0, height, _ROWS):
        rows = min(_ROWS, height - top)
        strip = padded[top : top + rows + 2 * radius_px].astype(np.uint16).reshape(rows + 2 * radius_px, -1)
        output[top : top + rows] = _strip_mean(strip, radius_px, gain)[:, : 3 * width].reshape(rows, width, 3)
    return output


def _strip_mean(strip: NDArray[np.uint16], radius_px: int, gain: float) -> NDArray[np.uint8]:
    """Means of a strip, uint8 (rows - 2 radius, 3 (W + 2 radius)); right of 3 W they are of no use.

    The sums of a row over -w..w grow from w to w + 1 by two values; wherever the disc is as wide as that, they are
    added to the rows above and below. The padding keeps what wraps from one row into the next out of the picture.
    """
    pitch = strip.shape[1]
    inner = strip.shape[0] - 2 * radius_px
    flat = strip.ravel()
    middle = slice(3 * radius_px, flat.size - 3 * radius_px)
    across = np.zeros_like(flat)  # sums over a row, at the leftmost pixel of the disc
    sums = across[: flat.size - 6 * radius_px]
    sums += flat[middle]
    reach = half_widths(radius_px)
    totals = [np.zeros(inner * pitch, dtype=np.uint16) for _ in range(2)]
    summed = [0, 0]  # how many pixels each total holds: it has room for so many that the second takes the rest
    for half in range(radius_px + 1):
        if half:
            sums += flat[3 * (radius_px - half) : flat.size - 3 * (radius_px + half)]
            sums += flat[3 * (radius_px + half) : flat.size - 3 * (radius_px - half)]
        for row in (row for row, wide in enumerate(reach) if wide == half):
            for shifted in {radius_px - row, radius_px + row}:
                at = 0 if summed[0] + 2 * half + 1 <= _FIT else 1
                totals[at] += across[shifted * pitch :][: inner * pitch]
                summed[at] += 2 * half + 1
    scale, total = gain / sum(summed), totals[0]
    if summed[1]:  # both by half, which fits
        scale, total = 2.0 * scale, (total >> 1) + (totals[1] >> 1)
    mean = cv2.convertScaleAbs(total, alpha=scale, beta=_DROP)
    return np.asarray(mean, dtype=np.uint8).reshape(inner, pitch)


_GRID_PX = 8  # the half side of the kernel; discs above it have their rim softened over 5 pixels, others over 3


class DefocusBlur(Fixed):
    """Blurs by a disc with a soft rim, in pixels of the picture as it is."""

    name = "vision.defocus_blur.v1"
    radius = Constant("radius of the disc", (0.0, 3.0, 4.0, 6.0, 8.0, 10.0), unit="px")
    rim = Constant("deviation of its rim", (0.1, 0.1, 0.5, 0.5, 0.5, 0.5), unit="px")
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
        radius_px, rim_px = self.radius.at(params.strength), self.rim.at(params.strength)
        smaller = math.floor(radius_px)
        share = radius_px - smaller
        output = _defocused(frame, smaller, rim_px)
        if share == 0.0:
            return output
        larger = _defocused(frame, smaller + 1, rim_px)
        return np.asarray(cv2.addWeighted(output, 1.0 - share, larger, share, 0.0), dtype=np.uint8)


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
