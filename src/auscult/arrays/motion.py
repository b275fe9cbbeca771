"""How the picture moves from one frame of a clip to the next, and where a mask would be if it moved along.

Everything works on small pictures: at most ``MOST_HEIGHT`` by ``MOST_WIDTH`` pixels, at which dense flow both ways
costs a millisecond or two. Small masks are soft, the share of each cell that the mask covers, so that shrinking costs
little accuracy.

Flow is dense inverse search (Kroeger et al., ECCV 2016, as in OpenCV). It fails where things move far or come out from
behind others, so that each step says which pixels it could follow, and masks are compared on those alone. The three
constants were chosen on the true masks of seven DAVIS sequences, so that these agree and masks of changing size do not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias, TypeVar

import cv2
import numpy as np
from numpy.typing import NDArray

from auscult.types import Frame, Mask

MOST_HEIGHT = 120
MOST_WIDTH = 240
SMALLEST = 16
FLATTEST = 0.4
ASTRAY = 0.1
CHANGED = 0.1
BINS = 4

SoftMask: TypeAlias = NDArray[np.float32]
Flow: TypeAlias = NDArray[np.float32]
Number = TypeVar("Number", np.uint8, np.float32)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FlowStep:
    """What lies between two small frames.

    Attributes:
        flow: float32 (h, w, 2): shift in columns and rows from a pixel of the later frame to where it came from.
        followed: float32 (h, w): 1 where the flow can be trusted, else 0.
    """

    flow: Flow
    followed: SoftMask


@dataclass(frozen=True, slots=True, kw_only=True)
class Overlap:
    """How much two masks of consecutive frames agree, motion taken out.

    Attributes:
        iou: Their IoU over the followed pixels, 0..1, higher is better; None where none of theirs was followed.
        followed: Share of their union that was followed, 0..1; 0 for two empty masks.
        everywhere: Their IoU over all pixels; None for two empty masks.
        within: Share of the smaller one that lies in the other, over the followed pixels; None where either is empty
            there.
    """

    iou: float | None
    followed: float
    everywhere: float | None
    within: float | None = None


def small_size(size: tuple[int, int]) -> tuple[int, int]:
    """The size, (height, width), to which frames are shrunk before their motion is estimated; never enlarged."""
    height, width = size
    scale = min(1.0, MOST_HEIGHT / height, MOST_WIDTH / width)
    return max(1, round(height * scale)), max(1, round(width * scale))


def small_frame(frame: Frame, size: tuple[int, int] | None = None) -> Frame:
    """A frame, uint8 RGB, shrunk for ``step_between``; ``size`` is the whole frame's where this one is reduced."""
    return _shrunk(frame, small_size(size or (frame.shape[0], frame.shape[1])))


def small_mask(mask: Mask) -> SoftMask:
    """A mask, bool (H, W), shrunk like its frame: float32 0..1, the share of each cell that it covers."""
    grey = mask.view(np.uint8) * np.uint8(255)
    shares: SoftMask = _shrunk(grey, small_size((mask.shape[0], mask.shape[1]))).astype(np.float32)
    return shares / np.float32(255)


def _shrunk(values: NDArray[np.uint8], size: tuple[int, int]) -> NDArray[np.uint8]:
    """Shrink by halves, which is fast, and then the rest."""
    while min(values.shape[0] // size[0], values.shape[1] // size[1]) >= 2:
        half = values.shape[1] // 2, values.shape[0] // 2
        values = np.asarray(cv2.resize(values, half, interpolation=cv2.INTER_LINEAR), dtype=np.uint8)
    return np.asarray(cv2.resize(values, size[::-1], interpolation=cv2.INTER_AREA), dtype=np.uint8)


def step_between(earlier: Frame, later: Frame) -> FlowStep:
    """How one frame of ``small_frame`` became the next of the same size, and where that can be trusted.

    A pixel counts as followed where the flow forward and back ends within a pixel and a tenth of its length, and
    where its brightness changes by less than a tenth of full scale.
    """
    if earlier.shape != later.shape:
        raise ValueError(f"frames have shapes {earlier.shape} and {later.shape}; they must be equal")
    greys = [np.asarray(cv2.cvtColor(frame, cv2.COLOR_RGB2GRAY), dtype=np.uint8) for frame in (earlier, later)]
    backward, forward = _flow(greys[1], greys[0]), _flow(greys[0], greys[1])
    returned = moved(forward, backward)
    change = cv2.absdiff(moved(greys[0], backward), greys[1])
    reach = 1 + ASTRAY * (_length(backward) + _length(returned))
    followed = (_length(backward + returned) < reach) & (change < CHANGED * 255)
    return FlowStep(flow=backward, followed=followed.astype(np.float32))


def _length(flow: Flow) -> SoftMask:
    return np.asarray(cv2.magnitude(flow[..., 0], flow[..., 1]), dtype=np.float32)


def _flow(start: NDArray[np.uint8], end: NDArray[np.uint8]) -> Flow:
    # The coarsest scale of the search follows the width alone: a flat picture would be lower there than a patch.
    if min(start.shape) < SMALLEST or start.shape[0] < FLATTEST * start.shape[1]:
        return np.zeros((*start.shape, 2), np.float32)
    search = cv2.DISOpticalFlow.create(cv2.DISOPTICAL_FLOW_PRESET_ULTRAFAST)
    zero = np.zeros((*start.shape, 2), np.float32)
    return np.asarray(search.calc(start, end, zero), dtype=np.float32)


def carried(mask: SoftMask, step: FlowStep) -> SoftMask:
    """A soft mask (h, w) of the earlier frame, moved along with the picture to the later one."""
    return moved(mask, step.flow)


def overlap(before: SoftMask, after: SoftMask, step: FlowStep) -> Overlap:
    """How much a mask, already ``carried``, and one of the later frame agree where the motion could be followed."""
    either, both = np.maximum(before, after), np.minimum(before, after)
    total, followed = float(either.sum()), float((either * step.followed).sum())
    shared = float((both * step.followed).sum())
    smaller = min(float((before * step.followed).sum()), float((after * step.followed).sum()))
    return Overlap(
        iou=shared / followed if followed > 0 else None,
        followed=followed / total if total > 0 else 0.0,
        everywhere=float(both.sum()) / total if total > 0 else None,
        within=shared / smaller if smaller > 0 else None,
    )


def moved(values: NDArray[Number], flow: Flow) -> NDArray[Number]:
    """The earlier picture, (h, w) or (h, w, 3), warped along the flow; 0 where the flow leads outside of it."""
    columns = flow[..., 0] + np.arange(flow.shape[1], dtype=np.float32)
    rows = flow[..., 1] + np.arange(flow.shape[0], dtype=np.float32)[:, None]
    warped = cv2.remap(values, columns, rows, cv2.INTER_LINEAR, borderMode=cv2.BORDER_CONSTANT)
    return np.asarray(warped, dtype=values.dtype)


def colour_bins(frame: Frame) -> NDArray[np.intp]:
    """The bin of each pixel in a joint histogram of ``BINS`` levels a channel, (h, w)."""
    level = (frame // (256 // BINS)).astype(np.intp)
    return np.asarray((level[..., 0] * BINS + level[..., 1]) * BINS + level[..., 2])


def colours_of(frame: Frame, mask: SoftMask) -> NDArray[np.float32]:
    """The joint histogram of colours under a soft mask, float32 (``BINS`` ** 3,), of sum 1; 0 for an empty mask."""
    counts = np.bincount(colour_bins(frame).reshape(-1), weights=mask.reshape(-1), minlength=BINS**3)
    total = counts.sum()
    return (counts / total if total > 0 else counts).astype(np.float32)


def colour_distance(first: NDArray[np.float32], second: NDArray[np.float32]) -> float:
    """Hellinger distance of two histograms: 0 for the same colours, 1 for none in common."""
    return float(np.sqrt(max(0.0, 1.0 - float(np.sqrt(first * second).sum()))))
