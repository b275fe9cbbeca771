"""Merges of other forms than the stressor's: any other object, badly outlined, or most of it.

Called ``merge`` where the candidate holds all of the object and at least ``LEAST_PART`` of another one; a smaller part,
or a merge that has lost some of the object, has no type.
"""

from __future__ import annotations

from typing import Final

import cv2
import numpy as np

from auscult.arrays import regions
from auscult.train.candidates.base import Draft
from auscult.train.candidates.working import Work
from auscult.types import Mask

LEAST_PART: Final = 0.5
_LEAST_SHARE: Final = 0.02  # of the object's area; a smaller other object is a speck
_LEAST_PX: Final = 32


def any_other(work: Work, rng: np.random.Generator) -> Draft | None:
    """The object and any other one, however small or large."""
    other = _other(work, rng)
    return None if other is None else Draft(work.truth | other, "merge")


def rough_other(work: Work, rng: np.random.Generator) -> Draft | None:
    """The object and another one whose outline is off."""
    other = _other(work, rng)
    if other is None:
        return None
    size = float(np.sqrt(np.count_nonzero(other)))
    soft = cv2.GaussianBlur(other.astype(np.float32), (0, 0), max(0.8, float(rng.uniform(0.02, 0.12)) * size))
    rough = np.asarray(np.asarray(soft) > float(rng.uniform(0.25, 0.7)))
    return _joined(work, work.truth, rough, other=other)


def part_of_other(work: Work, rng: np.random.Generator) -> Draft | None:
    """The object and what of another one lies on one side of a line."""
    other = _other(work, rng)
    if other is None:
        return None
    rows, columns = np.nonzero(other)
    turn = float(rng.uniform(0, 2 * np.pi))
    along = np.cos(turn) * columns + np.sin(turn) * rows
    taken = along <= np.quantile(along, float(rng.uniform(0.15, 0.95)))
    part = np.zeros(other.shape, np.bool_)
    part[rows[taken], columns[taken]] = True
    return _joined(work, work.truth, part, other=other)


def grown_merge(work: Work, rng: np.random.Generator) -> Draft | None:
    """The object and another one, both a little too large, the gap between them filled."""
    other = _other(work, rng)
    if other is None:
        return None
    width = max(1.0, float(rng.uniform(0.01, 0.06)) * work.size_px)
    both = work.truth | other
    return _joined(work, np.asarray(regions.reach(both) <= width), other, other=other)


def eroded_merge(work: Work, rng: np.random.Generator) -> Draft | None:
    """The object, a little too small, and another one."""
    other = _other(work, rng)
    if other is None:
        return None
    mask = work.own & (work.depth > max(1.0, float(rng.uniform(0.01, 0.06)) * work.size_px))
    return _joined(work, work.whole(np.asarray(mask)), other, other=other)


def both_sides(work: Work, rng: np.random.Generator) -> Draft | None:
    """The object and all other objects that it touches or that lie nearest."""
    found = _usable(work)
    if len(found) < 2:
        return None
    some = rng.permutation(len(found))[: int(rng.integers(2, min(4, len(found)) + 1))]
    return Draft(work.truth | np.logical_or.reduce([found[int(index)] for index in some]), "merge")


def _usable(work: Work) -> list[Mask]:
    """What other objects have outside the object, the specks left out."""
    if "others" not in work.kept:
        least = max(_LEAST_PX, _LEAST_SHARE * work.area_px)
        outside = [other & ~work.truth for other in work.others]
        work.kept["others"] = [one for one in outside if np.count_nonzero(one) >= least]
    found: list[Mask] = work.kept["others"]
    return found


def _other(work: Work, rng: np.random.Generator) -> Mask | None:
    found = _usable(work)
    return found[int(rng.integers(len(found)))] if found else None


def _joined(work: Work, first: Mask, second: Mask, *, other: Mask) -> Draft:
    mask = first | second
    held = np.count_nonzero(mask & other) / np.count_nonzero(other)
    whole = not (work.truth & ~mask).any()
    return Draft(mask, "merge" if whole and held >= LEAST_PART else None)
