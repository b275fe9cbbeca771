"""Where a mask's boundary runs, and how much of two boundaries agrees within a tolerance.

Conventions: masks are bool (H, W); distances are pixels between pixel centres; shares are 0..1, higher is
better.

The boundary is that of the DAVIS benchmark: one pixel wide and half a pixel towards the top left of the true
edge. A pixel belongs to it when it differs from its right, its lower or its lower right neighbour. Outside
the frame the mask is taken to go on as it ends, so the frame itself is never a boundary; a mask that fills
the frame has none.

A disk is every offset with x^2 + y^2 <= r^2. The dilation is exact and works on whole masks at once: a mask
is one long integer, a row after the other with room between them, so that moving it is a shift and joining
two is an ``or``. This is about ten times as fast as dilating with a disk-shaped kernel.

References: F. Perazzi et al., "A Benchmark Dataset and Evaluation Methodology for Video Object Segmentation",
CVPR 2016, Sec. 4 (contour accuracy); D. Martin et al., PAMI 2004 (the boundary map).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from auscult.types import Mask

TOLERANCE = 0.008
"""The DAVIS tolerance, as a share of the frame's diagonal."""


@dataclass(frozen=True, slots=True)
class BoundaryMatch:
    """How many boundary pixels of two masks have one of the other mask within the tolerance."""

    first_matched: int  # boundary pixels of the first mask that have one of the second near
    first: int  # boundary pixels of the first mask
    second_matched: int  # boundary pixels of the second mask that have one of the first near
    second: int  # boundary pixels of the second mask

    @property
    def precision(self) -> float:
        """Share of the first boundary that is near the second, 0..1; 1 for no first boundary."""
        return self.first_matched / self.first if self.first else 1.0

    @property
    def recall(self) -> float:
        """Share of the second boundary that is near the first, 0..1; 1 for no second boundary."""
        return self.second_matched / self.second if self.second else 1.0

    @property
    def f(self) -> float:
        """Harmonic mean of precision and recall, 0..1; 1 when neither mask has a boundary."""
        if self.first == 0 or self.second == 0:
            return float(self.first == self.second)
        total = self.precision + self.recall
        return 2 * self.precision * self.recall / total if total else 0.0


def tolerance_px(shape: tuple[int, ...], tolerance: float = TOLERANCE) -> int:
    """The radius within which boundaries count as equal: a share of the whole frame's diagonal, rounded up.

    Example:
        >>> tolerance_px((480, 854))
        8
    """
    # In floating point and in this order, as the reference does it: sizes on the edge must round the same way.
    return math.ceil(tolerance * float(np.linalg.norm(shape)))


def boundary_of(mask: Mask) -> Mask:
    """The one pixel wide boundary of a mask, bool (H, W), by the rule in the module's first lines.

    Example:
        >>> mask = np.zeros((4, 4), bool); mask[2, 2] = True
        >>> boundary_of(mask).astype(int).tolist()
        [[0, 0, 0, 0], [0, 1, 1, 0], [0, 1, 1, 0], [0, 0, 0, 0]]
    """
    height, width = mask.shape
    longer = np.empty((height + 1, width + 1), np.bool_)
    longer[:-1, :-1] = mask
    longer[-1] = longer[-2]
    longer[:, -1] = longer[:, -2]
    edge = mask ^ longer[:-1, 1:]
    edge |= mask ^ longer[1:, :-1]
    edge |= mask ^ longer[1:, 1:]
    return edge


def match(first: Mask, second: Mask, radius_px: int) -> BoundaryMatch:
    """Compare the boundaries of two masks, bool (H, W), within a tolerance; see ``tolerance_px``.

    A crop gives the same answer as the frame when it holds both masks and one more pixel on every side (where the frame
    has one).
    """
    if first.shape != second.shape:
        raise ValueError(f"masks have shapes {first.shape} and {second.shape}; they must be equal")
    height, width = first.shape
    stride = _stride(width, radius_px)
    size = (height, width, stride)
    first_bits, second_bits = _pack(boundary_of(first), stride), _pack(boundary_of(second), stride)
    if first_bits == 0 or second_bits == 0:
        return BoundaryMatch(0, first_bits.bit_count(), 0, second_bits.bit_count())
    return BoundaryMatch(
        (first_bits & _dilated(second_bits, size, radius_px)).bit_count(),
        first_bits.bit_count(),
        (second_bits & _dilated(first_bits, size, radius_px)).bit_count(),
        second_bits.bit_count(),
    )


def _stride(width: int, radius_px: int) -> int:
    """Bits per row: room for a row to move by the radius without touching the next, in whole octets."""
    return -(-(width + min(radius_px, width)) // 8) * 8


def _pack(mask: Mask, stride: int) -> int:
    """A mask as one integer: the top left pixel is the highest bit, ``stride`` bits per row."""
    octets = np.packbits(mask, axis=1)
    rows = np.zeros((mask.shape[0], stride // 8), np.uint8)
    rows[:, : octets.shape[1]] = octets
    return int.from_bytes(rows.tobytes(), "big")


def _dilated(bits: int, size: tuple[int, int, int], radius_px: int) -> int:
    """The packed mask dilated by a disk; bits between the rows and beyond the last one are not meaningful."""
    height, width, stride = size
    reach = 0
    spread = bits
    result = 0
    # From the disk's top row, which is short, to its middle: the horizontal runs only grow.
    for rows in range(radius_px, -1, -1):
        run = min(math.isqrt(radius_px * radius_px - rows * rows), width)
        while reach < run:
            reach += 1
            spread |= bits << reach | bits >> reach
        if rows < height:
            result |= spread << rows * stride | spread >> rows * stride
    return result
