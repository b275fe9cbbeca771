"""Likeness: how much each pixel's colour is like the mask's inside rather than like what surrounds it.

Two histograms over Lab, of the mask's core and of what lies well outside, give each colour a log ratio. A network with
small receptive fields cannot compare a pixel with the whole inside; shown the ratio, it needs to know nothing of the
object to see that a band along the outline belongs to the other side.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

_BINS: Final = (10, 8, 8)
_LEAST_SPAN: Final = (50, 16, 16)  # grey levels of a channel that its bins cover at least
_SIZE: Final = 10 * 8 * 8
_CORE: Final = 32  # steps of the crop's signed distance, of 127 a quarter of the object's size
_AROUND: Final = -40
_LEAST_CELLS: Final = 20
_PRIOR: Final = 0.2 / _SIZE
_NEIGHBOURS: Final = np.array([0.15, 0.7, 0.15])
_GREY: Final = 128
_STEP: Final = 42  # bytes of a log ratio of 1

Bytes = NDArray[np.uint8]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Likeness:
    """The log ratio of every colour, for one mask.

    Attributes:
        tables: For each Lab channel the bin of each of its 256 values, int32 (3, 256), scaled for a joint index.
        ratio: The log ratio of each joint bin as a byte, (640,): 128 is even, 42 more a log ratio of 1.
    """

    tables: NDArray[np.int32]
    ratio: Bytes

    def __call__(self, colours: Bytes) -> Bytes:
        """The likeness of pixels.

        Args:
            colours: uint8 RGB, channels first, (3, h, w).

        Returns:
            (h, w) bytes: above 128 like the inside, below like the surroundings.
        """
        return self.ratio[_joint(_lab(colours), self.tables)]


def likeness_of(crop: Bytes) -> Likeness:
    """Compare the colours of both sides of an outline.

    Args:
        crop: A view's crop, channels first: red, green, blue, share inside the mask, signed distance.
    """
    colours = _lab(crop[:3])
    inside, signed = crop[3] >= _GREY, crop[4].astype(np.int16) - _GREY
    core, around = signed > _CORE, signed < _AROUND
    if np.count_nonzero(core) < _LEAST_CELLS:
        core = inside
    if np.count_nonzero(around) < _LEAST_CELLS:
        around = ~inside
    tables = _tables(colours)
    joint = _joint(colours, tables)
    ratio = np.log((_histogram(joint[core]) + _PRIOR) / (_histogram(joint[around]) + _PRIOR))
    return Likeness(tables=tables, ratio=np.clip(_GREY + ratio * _STEP, 0, 255).astype(np.uint8))


def _lab(colours: Bytes) -> Bytes:
    return np.asarray(cv2.cvtColor(np.ascontiguousarray(colours.transpose(1, 2, 0)), cv2.COLOR_RGB2LAB), dtype=np.uint8)


def _tables(colours: Bytes) -> NDArray[np.int32]:
    """Bins that cover the range of each channel; a step of the first channel's counts for all bins of the others."""
    found = np.empty((3, 256), np.int32)
    steps = np.arange(256)
    for channel, (bins, least) in enumerate(zip(_BINS, _LEAST_SPAN, strict=True)):
        low, high, _, _ = cv2.minMaxLoc(np.ascontiguousarray(colours[..., channel]))
        cell = np.clip((steps - low) / max(high - low + 1, least) * bins, 0, bins - 1).astype(np.int32)
        found[channel] = cell * int(np.prod(_BINS[channel + 1 :]))
    return found


def _joint(colours: Bytes, tables: NDArray[np.int32]) -> NDArray[np.int32]:
    first, second, third = (tables[channel][colours[..., channel]] for channel in range(3))
    return np.asarray(first + second + third)


def _histogram(joint: NDArray[np.int32]) -> NDArray[np.float64]:
    """Shares of the bins; neighbouring colours count a little, so that few pixels suffice."""
    counts = np.bincount(joint, minlength=_SIZE).astype(np.float64).reshape(_BINS)
    for axis in range(3):
        padded = np.moveaxis(np.pad(counts, [(int(at == axis),) * 2 for at in range(3)]), axis, 0)
        length = counts.shape[axis]
        mixed = sum(weight * padded[start : start + length] for start, weight in enumerate(_NEIGHBOURS))
        counts = np.moveaxis(np.asarray(mixed), 0, axis)
    return np.asarray(counts.ravel() / max(counts.sum(), 1.0))
