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

from auscult.judge.masks.colours import SIZE, bins_of, shares_of, tables_of

LOG_RATIO: Final = 42
"""Bytes of a log ratio of 1."""

_CORE: Final = 32  # steps of the crop's signed distance, of 127 a quarter of the object's size
_AROUND: Final = -40
_LEAST_CELLS: Final = 20
_GREY: Final = 128

Bytes = NDArray[np.uint8]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Likeness:
    """The log ratio of every colour, for one mask.

    Attributes:
        tables: Which bin a colour falls into, see ``colours``.
        ratio: The log ratio of each bin as a byte, (640,): 128 is even, 42 more a log ratio of 1.
    """

    tables: tuple[NDArray[np.int16], ...]
    ratio: Bytes

    def __call__(self, colours: Bytes) -> Bytes:
        """The likeness of pixels.

        Args:
            colours: uint8 RGB, channels first, (3, h, w).

        Returns:
            (h, w) bytes: above 128 like the inside, below like the surroundings.
        """
        return self.ratio[bins_of(_lab(colours), self.tables)]


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
    tables = tables_of(colours)
    bins = bins_of(colours, tables)
    ratio = np.log(_shares(bins[core]) / _shares(bins[around]))
    return Likeness(tables=tables, ratio=np.clip(_GREY + ratio * LOG_RATIO, 0, 255).astype(np.uint8))


def _shares(bins: NDArray[np.int16]) -> NDArray[np.float64]:
    return shares_of(np.bincount(bins, minlength=SIZE).astype(np.float64))


def _lab(colours: Bytes) -> Bytes:
    return np.asarray(cv2.cvtColor(np.ascontiguousarray(colours.transpose(1, 2, 0)), cv2.COLOR_RGB2LAB), dtype=np.uint8)
