"""What candidates are made of and what a candidate is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from auscult.train.candidates.working import Work
from auscult.types import Difficulty, Frame, Mask

Named: TypeAlias = Literal["perfect", "cutout", "dilate", "erode", "merge", "arbitrary"]
"""What a network learns to name. ``arbitrary`` is a mask on no object; the paper's other five are its own."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CandidateScene:
    """One object of one picture, mostly a crop of a frame.

    Attributes:
        frame: uint8 RGB (H, W, 3).
        mask: The true mask, bool (H, W), not empty.
        others: The picture's other objects, bool (H, W) each.
        before: A neighbouring video frame and the object's true mask there, same shapes; None for photographs.
        complete: Whether ``others`` are all other objects of the picture; else no mask is called one on no object.
    """

    frame: Frame
    mask: Mask
    others: tuple[Mask, ...] = ()
    before: tuple[Frame, Mask] | None = None
    complete: bool = True


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Candidate:
    """A mask that may be wrong, and what is known about it.

    Attributes:
        mask: bool (H, W), never empty; identical to the truth only where the defect is ``perfect``.
        kind: Name of what made it, see ``mixture``.
        defect: Its type; None where no single type describes it, as with errors on both sides of the outline.
        iou: Exact IoU with the true mask, 0..1.
        difficulty: ``hard`` or ``medium`` where a cutout, dilation or erosion lies in the paper's window; a merge's by
            the paper's thresholds; else None.
    """

    mask: Mask
    kind: str
    defect: Named | None
    iou: float
    difficulty: Difficulty | None


@dataclass(frozen=True, slots=True, eq=False)
class Draft:
    """A mask over ``Work.box`` or over the whole picture, and the type it is meant to have."""

    mask: Mask
    defect: Named | None


Maker: TypeAlias = Callable[[Work, np.random.Generator], Draft | None]
"""Makes a draft, or None where the object does not allow it this time."""
