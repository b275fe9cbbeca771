"""The part of a frame that the cues look at: the mask's box and its surroundings, at a bounded resolution.

Lengths in a view are view pixels; ``scale`` is view pixels per frame pixel. Distances across the outline are in units
of ``thickness_px``: area over outline length, so that moving the outline by 0.1 changes the area by about 10 %,
whatever the object's size or shape.

Colours are compared by histograms over Lab, whose bins cover what the picture holds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from auscult.arrays.boxes import box_of, grown, window
from auscult.types import Box, Frame, Mask

_BOX_SIDE_PX = 160
_MOST_ENLARGED = 4.0
_CONTEXT = 0.3
_LAB_SCALE = np.array([100 / 255, 1, 1], dtype=np.float32)
_LAB_ZERO = np.array([0, 128, 128], dtype=np.float32)
_LAB = (np.arange(256, dtype=np.uint8)[None, :, None] * _LAB_SCALE - _LAB_ZERO).astype(np.float32)
_MOST_FLOATS = 1 << 24  # larger pictures would take too much memory
_HALF = np.array([-0.5, 0.5] + [0.0] * 254, dtype=np.float32)

_BINS: Final = (10, 8, 8)
LAB_BINS: Final = 10 * 8 * 8
"""Bins of a histogram."""

_LEAST_SPAN: Final = (50, 16, 16)  # grey levels of a channel that its bins cover at least
_PRIOR: Final = 0.2


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CueView:
    """A mask and the picture around it."""

    lab: NDArray[np.float32]  # CIE Lab of the crop, float32 (h, w, 3), L in 0..100
    lab8: NDArray[np.uint8]  # the same as OpenCV keeps it in uint8 (h, w, 3), for histograms
    mask: Mask  # the candidate in the crop, bool (h, w), not empty
    smooth: NDArray[np.float32]  # the candidate, slightly blurred, float32 0..1
    smooth_px: float  # length of the outer outlines where ``smooth`` is 0.5, in view pixels; 0 where it is nowhere
    distance: NDArray[np.float32]  # signed distance to the outline in units of ``thickness_px``; negative inside
    thickness_px: float  # area over outline length
    box: Box  # the crop in frame pixels
    scale: float  # view pixels per frame pixel
    at_frame: tuple[bool, bool, bool, bool]  # whether the crop's left, top, right and bottom sides are the frame's
    frame_share: float  # mask area over frame area, 0..1
    area_px: int  # mask area in frame pixels
    area: int  # mask area in view pixels

    def to_frame(self, box: Box) -> Box:
        """A box of the view in frame pixels, cut at the crop."""
        x0, y0, x1, y1 = self.box
        left, top = x0 + int(box[0] / self.scale), y0 + int(box[1] / self.scale)
        right, bottom = x0 + int(np.ceil(box[2] / self.scale)), y0 + int(np.ceil(box[3] / self.scale))
        return min(left, x1 - 1), min(top, y1 - 1), max(min(right, x1), left + 1), max(min(bottom, y1), top + 1)


def view_of(frame: Frame, mask: Mask) -> CueView | None:
    """Cut out and resize what the cues look at; None for an empty mask."""
    tight = box_of(mask)
    if tight is None:
        return None
    height, width = mask.shape
    side = max(tight[2] - tight[0], tight[3] - tight[1])
    box = grown(tight, max(6, round(_CONTEXT * side)), (height, width))
    scale = min(_MOST_ENLARGED, _BOX_SIDE_PX / side)
    size = max(1, round((box[2] - box[0]) * scale)), max(1, round((box[3] - box[1]) * scale))
    shrinks = size[0] < box[2] - box[0]
    small = _resized_mask(mask[window(box)], size, shrinks=shrinks)
    area = int(np.count_nonzero(small))
    sigma = max(0.8, 0.015 * float(np.sqrt(area)))
    smooth = np.asarray(cv2.GaussianBlur(small.astype(np.float32), (0, 0), sigma), dtype=np.float32)
    picture = resized(frame[window(box)], size, shrinks=shrinks)
    lab8 = np.asarray(cv2.cvtColor(picture, cv2.COLOR_RGB2LAB), dtype=np.uint8)
    contours, _ = cv2.findContours((smooth >= 0.5).view(np.uint8), cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
    length = float(sum(cv2.arcLength(contour, closed=True) for contour in contours))
    thickness = max(1.0, area / max(length, 2 * float(np.sqrt(np.pi * area))))
    area_px = int(np.count_nonzero(mask[window(tight)]))
    return CueView(
        lab=np.asarray(cv2.LUT(lab8, _LAB), dtype=np.float32),
        lab8=lab8,
        mask=small,
        smooth=smooth,
        smooth_px=length,
        distance=np.asarray(_signed_distance(small) / thickness, dtype=np.float32),
        thickness_px=thickness,
        box=box,
        scale=scale,
        at_frame=(box[0] == 0, box[1] == 0, box[2] == width, box[3] == height),
        frame_share=area_px / (height * width),
        area_px=area_px,
        area=area,
    )


def resized(picture: NDArray[np.uint8], size: tuple[int, int], *, shrinks: bool) -> NDArray[np.uint8]:
    """A picture, (h, w) or (h, w, 3), at another size (width, height): averaged where it shrinks, else interpolated.

    OpenCV averages three channels a quarter faster as float32, and in the same order, so that rounding gives the same
    bytes as ``INTER_AREA`` of bytes; not so where both sides shrink by whole numbers or one grows.
    """
    height, width = picture.shape[:2]
    whole_ratio = width % size[0] == 0 and height % size[1] == 0
    exact = picture.ndim == 3 and not whole_ratio and size[0] <= width and size[1] <= height
    if not shrinks or not exact or picture.size > _MOST_FLOATS:
        method = cv2.INTER_AREA if shrinks else cv2.INTER_LINEAR
        return np.asarray(cv2.resize(picture, size, interpolation=method), dtype=np.uint8)
    means = np.asarray(cv2.resize(picture.astype(np.float32), size, interpolation=cv2.INTER_AREA))
    return np.rint(means).astype(np.uint8)


def _resized_mask(mask: Mask, size: tuple[int, int], *, shrinks: bool) -> Mask:
    soft = resized(mask.view(np.uint8) * np.uint8(255), size, shrinks=shrinks)
    hard = np.asarray(soft >= 128)
    if not hard.any():  # thinner than a view pixel: keep what is left of it
        hard = np.asarray(soft >= max(1, int(soft.max())))
    if not hard.any():
        hard = np.ones_like(hard)
    return hard


def _signed_distance(mask: Mask) -> NDArray[np.float32]:
    inside = mask.view(np.uint8)
    if mask.all():
        return np.full(mask.shape, -float(max(mask.shape)), dtype=np.float32)
    to_inside = np.asarray(cv2.distanceTransform(1 - inside, cv2.DIST_L2, 3), dtype=np.float32)
    to_outside = np.asarray(cv2.distanceTransform(inside, cv2.DIST_L2, 3), dtype=np.float32)
    to_inside -= to_outside  # one of the two is 0
    to_inside += np.asarray(cv2.LUT(inside, _HALF), dtype=np.float32)
    return to_inside


def parts_of(region: Mask, *, connectivity: int = 8) -> NDArray[np.int32]:
    """The connected parts of a region of a view, contiguous in memory: int32 (parts, 5) of x, y, width, height, area.

    Only the region's box is searched. It begins at even pixels, so that the order of the parts, which OpenCV takes
    from blocks of two by two pixels, does not depend on the box.
    """
    x, y, width, height = cv2.boundingRect(region.view(np.uint8))
    left, top = x - x % 2, y - y % 2
    crop = region[top : y + height, left : x + width].view(np.uint8)
    if crop.size == 0:
        return np.zeros((0, 5), dtype=np.int32)
    # labels of 16 bits are enough for a view's size and take less time than those of 32
    _, _, stats, _ = cv2.connectedComponentsWithStats(crop, connectivity=connectivity, ltype=cv2.CV_16U)
    return np.asarray(stats[1:] + np.array([left, top, 0, 0, 0], dtype=np.int32), dtype=np.int32)


def tables_of(lab8: NDArray[np.uint8]) -> tuple[NDArray[np.int16], ...]:
    """For each channel what each of its 256 values adds to a pixel's bin; the bins cover the picture's range.

    The picture is Lab as OpenCV keeps it, uint8 (h, w, 3).
    """
    tables = []
    stride = LAB_BINS
    for channel, bins, least in zip(cv2.split(lab8), _BINS, _LEAST_SPAN, strict=True):
        low, high, _, _ = cv2.minMaxLoc(channel)
        cell = (np.arange(256) - low) / max(high - low + 1, least) * bins
        stride //= bins
        tables.append(np.clip(cell, 0, bins - 1).astype(np.int16) * np.int16(stride))
    return tuple(tables)


def bins_of(lab8: NDArray[np.uint8], tables: tuple[NDArray[np.int16], ...]) -> NDArray[np.int16]:
    """Each pixel's bin, int16 (h, w), 0..LAB_BINS - 1."""
    index = np.zeros(lab8.shape[:2], np.int16)
    for channel, table in zip(cv2.split(lab8), tables, strict=True):
        index += np.asarray(cv2.LUT(channel, table), dtype=np.int16)
    return index


def shares_of(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Shares of the bins, (640,), none of them 0; neighbouring colours count a little, so that few pixels suffice."""
    counts = counts.reshape(_BINS)
    for axis in range(3):
        lower: list[slice] = [slice(None)] * 3
        upper = lower.copy()
        lower[axis], upper[axis] = slice(None, -1), slice(1, None)
        spread = 0.7 * counts
        spread[tuple(upper)] += 0.15 * counts[tuple(lower)]
        spread[tuple(lower)] += 0.15 * counts[tuple(upper)]
        counts = spread
    counts = counts.ravel() / max(counts.sum(), 1.0)
    return np.asarray((counts + _PRIOR / LAB_BINS) / (1 + _PRIOR), dtype=np.float64)
