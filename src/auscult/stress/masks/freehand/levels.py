"""How far a defect goes: the level of a map at which the exact IoU lies in the wanted window.

A map gives every pixel the amount at which the defect takes it; the defect at a level is the set of pixels at most
there. So the level for a wanted number of pixels is an order statistic of the map.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple, TypeAlias

import cv2
import numpy as np
from numpy.typing import NDArray

from auscult.arrays import boxes
from auscult.stress.masks.base import WINDOWS
from auscult.types import Box, Difficulty, Floats, Mask

Fine: TypeAlias = NDArray[np.float64]

MOST_CELLS: Final = 80


def grid(box: Box) -> tuple[Fine, Fine]:
    """Columns (1, m) and rows (n, 1) of the cells' centres, in frame pixels; at most ``MOST_CELLS`` either way."""
    width, height = box[2] - box[0], box[3] - box[1]
    columns, rows = min(width, MOST_CELLS), min(height, MOST_CELLS)
    x: Fine = (np.arange(columns, dtype=np.float64) + 0.5) * (width / columns) - 0.5 + box[0]
    y: Fine = (np.arange(rows, dtype=np.float64) + 0.5) * (height / rows) - 0.5 + box[1]
    return x[None, :], y[:, None]


def enlarged(cells: Fine, box: Box) -> Floats:
    """A coarse map at the box's full size, float32."""
    size = box[2] - box[0], box[3] - box[1]
    return np.asarray(cv2.resize(cells.astype(np.float32), size, interpolation=cv2.INTER_LINEAR), dtype=np.float32)


def shares(mask: Mask, box: Box) -> Floats:
    """Share of each cell that the mask covers, 0..1.

    Args:
        mask: bool (H, W) of the whole frame.
        box: Where to look.
    """
    x, y = grid(box)
    window = np.ascontiguousarray(mask[boxes.window(box)]).astype(np.float32)
    found = cv2.resize(window, (x.size, y.size), interpolation=cv2.INTER_AREA)
    return np.asarray(found, dtype=np.float32).reshape(y.size, x.size)


def wobble(angle: Fine, turn: float) -> Fine:
    """Factor on a blob's radius by angle in radians, mean 1: an outline drawn by hand, 0.6 to 1.4."""
    factor: Fine = (
        1.0 + 0.22 * np.cos(2 * angle + turn) + 0.12 * np.cos(3 * angle - 2 * turn) + 0.06 * np.cos(5 * angle)
    )
    return factor


class Wanted(NamedTuple):
    """Pixels that a defect takes away or adds: the fewest, a drawn number, and the most."""

    fewest: int
    drawn: int
    most: int

    def holds(self, pixels: int) -> bool:
        """Whether so many put the IoU into the window."""
        return self.fewest <= pixels <= self.most


def wanted_px(rng: np.random.Generator, area_px: int, difficulty: Difficulty, *, adds: bool) -> Wanted | None:
    """Draw how many pixels a defect changes.

    Args:
        rng: Draws the place in the window.
        area_px: Pixels of the target.
        difficulty: ``hard`` or ``medium``.
        adds: The pixels are added; else they are taken away.

    Returns:
        The numbers; None where no whole number of pixels puts the IoU into the window.
    """
    low, high = WINDOWS[difficulty]
    least, greatest = (1 / high - 1, 1 / low - 1) if adds else (1 - high, 1 - low)
    counts = np.arange(max(1, int(area_px * least) - 1), int(area_px * greatest) + 3)
    ious = area_px / (area_px + counts) if adds else (area_px - counts) / area_px
    fitting = counts[(ious >= low) & (ious <= high)]
    if not fitting.size:
        return None
    fewest, most = int(fitting[0]), int(fitting[-1])
    return Wanted(fewest, int(rng.integers(fewest, most, endpoint=True)), most)


def level_for(values: NDArray[np.float32], wanted: Wanted) -> float | None:
    """The level that takes the drawn number of pixels, or as near to it as equal values allow.

    Args:
        values: The map's values at the pixels that may be taken, float32 (n,).
        wanted: How many to take.

    Returns:
        A float32 number halfway to the next value, so that a last bit moves no pixel; None where the window is missed.
    """
    if values.size < wanted.fewest:
        return None
    place = min(wanted.drawn, values.size) - 1
    last = np.partition(values, place)[place]
    if np.count_nonzero(values <= last) > wanted.most:  # equal values only come together
        below = values[values < last]
        if below.size < wanted.fewest:
            return None
        last = below.max()
    return between(values, last)


def narrowest(values: NDArray[np.float32], wanted: Wanted) -> float | None:
    """The level inside the window at which the fewest pixels lie, as for ``level_for``: a cut at the thinnest place."""
    if values.size < wanted.fewest:
        return None
    ordered = np.sort(values)
    span = ordered[wanted.fewest - 1 : wanted.most]
    step = max(1, span.size // 6)
    if span.size <= step:
        return level_for(values, wanted)
    start = int(np.argmax(span[step:] - span[:-step]))
    return between(values, span[start + step // 2]) if _fits(values, span[start + step // 2], wanted) else None


def _fits(values: NDArray[np.float32], last: np.float32, wanted: Wanted) -> bool:
    return wanted.holds(int(np.count_nonzero(values <= last)))


def between(values: NDArray[np.float32], last: Any) -> float:
    """Halfway from the last value that is taken to the next one, as a float32 number below the next."""
    above = values[values > last]
    if not above.size:
        return float(last)
    following = float(above.min())
    middle = float(np.float32((float(last) + following) / 2))
    return middle if float(last) <= middle < following else float(last)
