"""How one picture of a clip moves onto another: dense flow both ways, and where it can be trusted.

Flow is dense inverse search (Kroeger et al., ECCV 2016, as in OpenCV). It loses what moves further than a few of its
patches; a second search then starts from the shift at which the object's pixels fit best, and each pixel takes the
flow that it can trust more.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias

import cv2
import numpy as np
from numpy.typing import NDArray

from auscult.types import Frame

Floats: TypeAlias = NDArray[np.float32]
Shift: TypeAlias = tuple[int, int]

LEAST_SIDE_PX: Final = 16
"""Below this OpenCV's search refuses a picture; nothing is then taken to move."""

NEAR_PX: Final = 48
"""How far an object is searched for from one frame to the next."""

_ASTRAY_PX: Final = 1.0  # what the flow there and back may be off: a pixel and a twentieth of its length
_ASTRAY_SHARE: Final = 0.05
_UNLIKE: Final = 40.0  # summed difference of Lab, in grey levels, at which trust falls to exp(-1)
_UNLIKE_FIRST: Final = 30.0
_FARNESS: Final = 0.1  # squared grey levels that a shift costs per pixel of its length: of equal fits the nearest
_LEAST_AREA_PX: Final = 32


@dataclass(frozen=True, slots=True, eq=False)
class Picture:
    """A small frame, or a window of one.

    Attributes:
        lab: uint8 (h, w, 3), as OpenCV scales CIE Lab.
        grey: uint8 (h, w).
    """

    lab: NDArray[np.uint8]
    grey: NDArray[np.uint8]

    @classmethod
    def of(cls, frame: Frame, size: tuple[int, int]) -> Picture:
        """A frame at a size, (width, height)."""
        small = cv2.resize(frame, size, interpolation=cv2.INTER_AREA)
        lab = np.asarray(cv2.cvtColor(small, cv2.COLOR_RGB2LAB), dtype=np.uint8)
        return cls(lab, np.asarray(cv2.cvtColor(small, cv2.COLOR_RGB2GRAY), dtype=np.uint8))

    def moved(self, shift: Shift) -> Picture:
        """All of it moved by columns and rows; its edges stand for what comes from beyond."""
        at = places(np.zeros((*self.grey.shape, 2), np.float32)) - np.asarray(shift, dtype=np.float32)
        return Picture(np.asarray(pulled(self.lab, at), np.uint8), np.asarray(pulled(self.grey, at), np.uint8))

    def part(self, window: tuple[slice, slice]) -> Picture:
        """The part in a window of rows and columns."""
        return Picture(np.ascontiguousarray(self.lab[window]), np.ascontiguousarray(self.grey[window]))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Motion:
    """What lies between two pictures.

    Attributes:
        back: float32 (h, w, 2): shift in columns and rows from a pixel of the later picture to where it came from.
        trust: float32 (h, w), 0..1: near 1 where the flow there and back again ends where it began and brings along
            the colour that is there; near 0 where something came into view.
    """

    back: Floats
    trust: Floats


@dataclass(frozen=True, slots=True)
class Fit:
    """Where an object's pixels fit best.

    Attributes:
        shift: Columns and rows by which it moved.
        misfit: Mean squared difference there, in grey levels squared of a channel of Lab.
    """

    shift: Shift
    misfit: float


def between(earlier: Picture, later: Picture, *, shift: Shift | None = None) -> Motion:
    """How one picture became the next.

    Args:
        earlier: A picture.
        later: One of the same size.
        shift: Columns and rows by which the object moved, as ``fit_of`` has it: a second place to search from.
    """
    best = _searched(earlier, later, (0, 0))
    if shift is None or shift == (0, 0):
        return best
    other = _searched(earlier, later, shift)
    better = other.trust > best.trust
    back = np.where(better[..., None], other.back, best.back)
    return Motion(back=back, trust=np.maximum(best.trust, other.trust))


def from_first(first: Picture, later: Picture, start: Floats) -> Motion:
    """How the clip's first picture became a later one, from a guess that summed flow gives and that has drifted.

    Args:
        first: The whole first picture.
        later: A window of a later one, (h, w).
        start: Absolute columns and rows in the first picture where each pixel of the window is thought to come from,
            float32 (h, w, 2).

    Returns:
        ``back`` holds such columns and rows, corrected; ``trust`` is by colour alone.
    """
    guess = np.asarray(pulled(first.grey, start), dtype=np.uint8)
    rest = _flow(later.grey, guess, (0, 0))
    found = pulled(start, places(rest))
    unlike = cv2.blur(_difference(pulled(first.lab, found), later.lab), (5, 5)) / np.float32(_UNLIKE_FIRST)
    return Motion(back=found, trust=np.exp(-unlike * unlike))


def fit_of(earlier: Picture, later: Picture, mask: Floats, *, reach_px: int = NEAR_PX, shrink: int = 2) -> Fit | None:
    """By how much the object as a whole moved: where its pixels fit best.

    Args:
        earlier: The picture in which the object is known, (h, w).
        later: One of the same size.
        mask: Soft mask of the object in the earlier one, (h, w).
        reach_px: How far it is searched for, to all sides.
        shrink: The pictures are made smaller by this first.

    Returns:
        The best fit; None for an object too small to tell.
    """
    inside = mask > 0.5
    if np.count_nonzero(inside) < _LEAST_AREA_PX:
        return None
    size = (max(1, mask.shape[1] // shrink), max(1, mask.shape[0] // shrink))
    before, after = (cv2.resize(one.lab, size, interpolation=cv2.INTER_AREA) for one in (earlier, later))
    known = np.asarray(cv2.resize(inside.astype(np.float32), size, interpolation=cv2.INTER_AREA)) > 0.5
    rows, columns = np.flatnonzero(known.any(axis=1)), np.flatnonzero(known.any(axis=0))
    if rows.size == 0:
        return None
    top, bottom, left, right = rows[0], rows[-1] + 1, columns[0], columns[-1] + 1
    reach = reach_px // shrink
    padded = cv2.copyMakeBorder(after, reach, reach, reach, reach, cv2.BORDER_REPLICATE)
    field = padded[top : bottom + 2 * reach, left : right + 2 * reach].astype(np.float32)
    weights = np.repeat(known[top:bottom, left:right, None].astype(np.float32), 3, axis=2)
    thing = before[top:bottom, left:right].astype(np.float32)
    found = cv2.matchTemplate(field, thing, cv2.TM_SQDIFF, mask=weights) / np.float32(weights.sum())
    line = np.arange(-reach, reach + 1, dtype=np.float32)
    cost = found + _FARNESS * np.hypot(line[:, None], line)
    row, column = np.unravel_index(int(np.argmin(cost)), cost.shape)
    return Fit((shrink * (int(column) - reach), shrink * (int(row) - reach)), float(found[row, column]))


def places(flow: Floats, *, corner: tuple[int, int] = (0, 0)) -> Floats:
    """Flow as absolute columns and rows of where each pixel came from, float32 (h, w, 2).

    Args:
        flow: float32 (h, w, 2).
        corner: Row and column of the first pixel.
    """
    found = flow.copy()
    found[..., 0] += np.arange(corner[1], corner[1] + flow.shape[1], dtype=np.float32)
    found[..., 1] += np.arange(corner[0], corner[0] + flow.shape[0], dtype=np.float32)[:, None]
    return found


def pulled(values: NDArray[np.generic], at: Floats) -> Floats:
    """Values at absolute places; the edge of the picture stands for what is beyond it.

    Args:
        values: (h, w) or (h, w, n), uint8 or float32.
        at: float32 (rows, columns, 2): columns and rows.
    """
    found = cv2.remap(values, at, None, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)  # type: ignore[call-overload]
    return np.asarray(found)


def _searched(earlier: Picture, later: Picture, shift: Shift) -> Motion:
    back = _flow(later.grey, earlier.grey, (-shift[0], -shift[1]))
    forth = _flow(earlier.grey, later.grey, shift)
    at = places(back)
    returned = back + pulled(forth, at)
    reach = _ASTRAY_PX + _ASTRAY_SHARE * _length(back)
    astray = _length(returned) / reach
    unlike = cv2.blur(_difference(pulled(earlier.lab, at), later.lab), (3, 3)) / np.float32(_UNLIKE)
    return Motion(back=back, trust=np.exp(-0.5 * astray * astray - unlike * unlike))


def _difference(one: NDArray[np.generic], other: NDArray[np.uint8]) -> Floats:
    apart = np.asarray(cv2.absdiff(np.asarray(one), other), dtype=np.float32)
    return np.asarray(apart.sum(axis=2), dtype=np.float32)


def _length(flow: Floats) -> Floats:
    return np.asarray(cv2.magnitude(flow[..., 0], flow[..., 1]), dtype=np.float32)


def _flow(here: NDArray[np.uint8], there: NDArray[np.uint8], start: Shift) -> Floats:
    guess = np.empty((*here.shape, 2), np.float32)
    guess[:] = start
    if min(here.shape) < LEAST_SIDE_PX:
        return guess
    search = cv2.DISOpticalFlow.create(cv2.DISOPTICAL_FLOW_PRESET_MEDIUM)
    return np.asarray(search.calc(here, there, guess), dtype=np.float32)
