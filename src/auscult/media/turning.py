"""Which way up a video frame is: the display matrix of its stream as quarter turns and a mirror."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

import numpy as np

from auscult.types import Frame

_MATRIX_BYTES = 36


@dataclass(frozen=True, slots=True)
class Turn:
    """What is done to a stored frame before it is shown.

    Attributes:
        mirrored: First it is mirrored left to right.
        quarters: Then it is turned by so many quarters counter-clockwise, 0 to 3.
    """

    mirrored: bool = False
    quarters: int = 0

    def applied(self, frame: Frame) -> Frame:
        """The frame as it is shown, C-contiguous."""
        upright = frame[:, ::-1] if self.mirrored else frame
        return np.ascontiguousarray(np.rot90(upright, self.quarters))


def turn_of(picture: Any) -> Turn:
    """The turn of a decoded PyAV frame; turns that are no quarter are rounded to one."""
    side = picture.side_data.get("DISPLAYMATRIX")
    if side is not None and len(bytes(side)) >= _MATRIX_BYTES:
        return turn_of_matrix(bytes(side)[:_MATRIX_BYTES])
    return Turn(quarters=round(float(getattr(picture, "rotation", 0) or 0) / 90.0) % 4)


def turn_of_matrix(matrix: bytes) -> Turn:
    """Read a display matrix (ISO/IEC 14496-12, 8.3.2: nine 32-bit numbers a b u c d v x y w in the machine's order).

    A stored point (p, q) is shown at (a p + c q + x, b p + d q + y), with q downwards.
    """
    a, b, _, c, d = struct.unpack_from("=5i", matrix)
    if a * d - b * c == 0:
        return Turn()
    mirrored = a * d - b * c < 0
    # Mirroring first turns the direction of p round; what is left is a pure turn, whose x axis is (a, b).
    along, across = (-a, -b) if mirrored else (a, b)
    return Turn(mirrored=mirrored, quarters=round(float(np.degrees(np.arctan2(-across, along))) / 90.0) % 4)
