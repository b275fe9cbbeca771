"""Colour arithmetic on whole frames, a few thousand pixels at a time, so that what lies between stays in the cache."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

import cv2
import numpy as np
from numpy.typing import NDArray

from auscult.types import Frame

Plane: TypeAlias = NDArray[np.uint8]
Planes: TypeAlias = tuple[Plane, Plane, Plane]

_AT_ONCE: Final = 30_000


def by_planes(frame: Frame, change: Callable[[Planes], Planes]) -> Frame:
    """Change every pixel of a uint8 RGB (H, W, 3), C-contiguous, by itself; a new frame.

    ``change`` gets red, green and blue of some pixels, each uint8 (1, n), which it may overwrite, and gives new ones.
    """
    output = np.empty_like(frame)
    pixels, changed = frame.reshape(1, -1, 3), output.reshape(1, -1, 3)
    room = [np.empty((1, min(_AT_ONCE, pixels.shape[1])), dtype=np.uint8) for _ in range(3)]
    for start in range(0, pixels.shape[1], _AT_ONCE):
        chunk = pixels[:, start : start + _AT_ONCE]
        red, green, blue = (plane[:, : chunk.shape[1]] for plane in room)
        cv2.split(chunk, [red, green, blue])
        cv2.merge(change((red, green, blue)), changed[:, start : start + _AT_ONCE])
    return output


def greatest(planes: Planes) -> Plane:
    """The greatest of red, green and blue, which is HSV's value."""
    red, green, blue = planes
    return np.maximum(np.maximum(red, green), blue)


def least(planes: Planes) -> Plane:
    """The least of red, green and blue."""
    red, green, blue = planes
    return np.minimum(np.minimum(red, green), blue)
