"""What an error map amounts to: how much is missing, how much too much, where, and how far the outline is off."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from auscult.judge.masks.compact.error_map import OF_NOTE
from auscult.judge.masks.shared import MIDDLE, ninth
from auscult.types import Box, Mask

ALL_ROUND: Final = "all round"

_COUNTED: Final = 0.15  # smaller values are the doubt that lies over the whole grid
_ROUND_SHARE: Final = 0.7
_NEAR: Final = np.ones((5, 5), np.uint8)
_STEP: Final = np.ones((3, 3), np.uint8)

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True)
class Patch:
    """One region that is missing or too much.

    Attributes:
        share: Its size over that of the object (missing) or the mask (too much), 0 and more.
        sure: Mean probability of its cells, 0..1.
        inner: Whether it lies inside the mask's filled outline or its notches, not along the outside.
        place: Where, in words, seen from the mask.
        box: Its box in pixels of the frame, inside the frame.
    """

    share: float
    sure: float
    inner: bool
    place: str
    box: Box


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """All that is missing, or all that is too much.

    Attributes:
        share: Its size over that of the object (missing) or the mask (too much), 0 and more.
        plain: The same without cells whose error is small, as it is along every outline.
        shift_px: How far the outline is off where it is off, in pixels of the frame.
        where: ``all round``, or the part of the mask where most of it lies, in words.
        patches: How many regions make more than a tenth of it.
        largest: The largest region; None where nothing stands out.
    """

    share: float
    plain: float
    shift_px: float
    where: str
    patches: int
    largest: Patch | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Both sides of an error map."""

    missing: Side
    extra: Side


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Grid:
    inside: Mask
    hull: Mask
    cell_px: float
    box: Box
    size: tuple[int, int]


def places_of(signed: Floats, inside: Floats, *, box: Box, size: tuple[int, int]) -> Places:
    """Measure an error map.

    Args:
        signed: Signed errors, (n, n) in [-1, 1], positive where something is missing.
        inside: Share of each cell that the mask covers, (n, n), 0..1.
        box: What the grid covers, in pixels of the frame.
        size: (height, width) of the frame.
    """
    covered = inside >= 0.5
    if not covered.any():  # thinner than a cell: its densest cells stand for it
        covered = inside >= inside.max()
    grid = _Grid(
        inside=np.asarray(covered),
        hull=_hull(np.asarray(covered)),
        cell_px=(box[2] - box[0]) / len(signed),
        box=box,
        size=size,
    )
    lost = np.where(signed >= _COUNTED, signed, 0).astype(np.float32)
    spare = np.where(signed <= -_COUNTED, -signed, 0).astype(np.float32)
    mask_cells = max(float(inside.sum()), 1e-6)
    object_cells = max(mask_cells - float(spare.sum()) + float(lost.sum()), 1e-6)
    return Places(missing=_side(lost, object_cells, grid), extra=_side(spare, mask_cells, grid))


def _side(amount: Floats, whole: float, grid: _Grid) -> Side:
    total = float(amount.sum())
    marked = np.asarray(amount >= OF_NOTE)
    count, labels, _, _ = cv2.connectedComponentsWithStats(marked.view(np.uint8), connectivity=8)
    sizes = np.bincount(labels.ravel(), weights=amount.ravel(), minlength=count)[1:]
    outline = _outline(grid.inside)
    touched = outline & (cv2.dilate(marked.view(np.uint8), _NEAR) > 0)
    round_share = float(np.count_nonzero(touched)) / max(float(np.count_nonzero(outline)), 1.0)
    length = max(round_share * _length(grid.inside), 1.0)
    return Side(
        share=total / whole,
        plain=float(amount[marked].sum()) / whole,
        shift_px=total / length * grid.cell_px,
        where=ALL_ROUND if round_share > _ROUND_SHARE else _centre_of(amount, grid),
        patches=int((sizes > 0.1 * max(total, 1e-6)).sum()),
        largest=None if not len(sizes) else _patch(amount, labels == 1 + int(sizes.argmax()), whole=whole, grid=grid),
    )


def _patch(amount: Floats, members: Mask, *, whole: float, grid: _Grid) -> Patch:
    own = np.where(members, amount, 0).astype(np.float32)
    return Patch(
        share=float(own.sum()) / whole,
        sure=float(amount[members].mean()),
        inner=float((members & grid.hull).sum()) > 0.5 * float(members.sum()),
        place=_centre_of(own, grid),
        box=_in_frame(members, grid),
    )


def _outline(inside: Mask) -> Mask:
    """The cells on the mask's side of its outlines."""
    marked = inside.view(np.uint8)
    return np.asarray(marked > cv2.erode(marked, _STEP, borderType=cv2.BORDER_CONSTANT, borderValue=0))


def _length(inside: Mask) -> float:
    """How long the mask's outlines are, in cells; on the middle of the outermost cells, so half a cell is added."""
    lines, _ = cv2.findContours(inside.view(np.uint8), cv2.RETR_CCOMP, cv2.CHAIN_APPROX_NONE)
    return sum(float(cv2.arcLength(line, closed=True)) + np.pi for line in lines)


def _hull(inside: Mask) -> Mask:
    """The mask without its holes and notches: the convex hull of each part."""
    found = np.zeros(inside.shape, np.uint8)
    lines, _ = cv2.findContours(inside.view(np.uint8), cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
    for line in lines:
        cv2.fillConvexPoly(found, cv2.convexHull(line), 1)
    return np.asarray(found > 0)


def _in_frame(members: Mask, grid: _Grid) -> Box:
    """The box of some cells in pixels of the frame, cut at the frame and never empty."""
    rows, columns = np.flatnonzero(members.any(axis=1)), np.flatnonzero(members.any(axis=0))
    x0, y0 = grid.box[:2]
    height, width = grid.size
    left = min(max(int(x0 + columns[0] * grid.cell_px), 0), width - 1)
    top = min(max(int(y0 + rows[0] * grid.cell_px), 0), height - 1)
    right = min(int(np.ceil(x0 + (columns[-1] + 1) * grid.cell_px)), width)
    bottom = min(int(np.ceil(y0 + (rows[-1] + 1) * grid.cell_px)), height)
    return left, top, max(right, left + 1), max(bottom, top + 1)


def _centre_of(amount: Floats, grid: _Grid) -> str:
    """The ninth of the mask's box in which the middle of an amount lies, in words; beyond the box counts with it."""
    total = float(amount.sum())
    if total <= 0:
        return MIDDLE
    side = np.arange(len(amount), dtype=np.float32)
    x, y = float(amount.sum(axis=0) @ side) / total, float(amount.sum(axis=1) @ side) / total
    rows, columns = np.flatnonzero(grid.inside.any(axis=1)), np.flatnonzero(grid.inside.any(axis=0))
    across = (x - columns[0]) / max(int(columns[-1] - columns[0]), 1)
    down = (y - rows[0]) / max(int(rows[-1] - rows[0]), 1)
    return ninth(across, down)
