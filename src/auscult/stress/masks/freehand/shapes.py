"""Errors along the outline that are shapes: the mask of a moment before, and an outline clicked with few corners."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from auscult.arrays import boxes
from auscult.stress.masks.base import Workpiece
from auscult.stress.masks.freehand.edge_maps import Side, own_window, window_of
from auscult.stress.masks.freehand.edges import MOST_CORNERS, MOST_RINGS, SUBPIXELS, EdgeParams, Ring
from auscult.types import Mask

_ON_EDGE_PX: Final = 2.0
_BEYOND_PX: Final = 4.0
_LEAST_PART: Final = 0.01


def shaped(piece: Workpiece, params: EdgeParams, *, side: Side) -> Mask:
    """The other mask that the target is cut with (inside) or joined with (outside), bool over ``window_of``."""
    return _lagging(piece, params, side=side) if params.mode == "lag" else _filled(piece, params.rings, side=side)


def _lagging(piece: Workpiece, params: EdgeParams, *, side: Side) -> Mask:
    """The target moved by ``level`` pixels; where the frame cuts it, it goes on beyond."""
    own = own_window(piece, side).astype(np.uint8) * 255
    turn = np.deg2rad(params.turn_deg)
    step = np.array([[1.0, 0.0, params.level * np.cos(turn)], [0.0, 1.0, params.level * np.sin(turn)]])
    moved = cv2.warpAffine(
        own, step, (own.shape[1], own.shape[0]), flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE
    )
    found: Mask = np.asarray(moved) >= 128
    return found


def _filled(piece: Workpiece, rings: Sequence[Ring], *, side: Side) -> Mask:
    box = window_of(piece, side)
    canvas = np.zeros((box[3] - box[1], box[2] - box[0]), np.uint8)
    origin = np.array([box[0], box[1]]) * SUBPIXELS
    for ring in rings:
        if len(ring) > 2:
            cv2.fillPoly(canvas, [(np.array(ring) - origin).astype(np.int32)], (1,), shift=4)
    return canvas.view(np.bool_)


class Outline:
    """The target's outline with few corners, to be moved in or out.

    Args:
        piece: The target.
        rng: Draws how far each corner goes, in shares of the farthest.
        slack_px: How far the outline may pass by the mask's own.
    """

    def __init__(self, piece: Workpiece, rng: np.random.Generator, *, slack_px: float) -> None:
        window = np.ascontiguousarray(piece.mask[boxes.window(piece.box)]).view(np.uint8)
        found, _ = cv2.findContours(window, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
        large = sorted(found, key=lambda line: -cv2.contourArea(np.asarray(line)))[:MOST_RINGS]
        self._size = piece.frame_size
        self._rings: list[NDArray[np.float64]] = []
        self._pulls: list[NDArray[np.float64]] = []
        for line in large:
            if cv2.contourArea(np.asarray(line)) < _LEAST_PART * piece.area_px and self._rings:
                continue
            ring = np.asarray(cv2.approxPolyDP(np.asarray(line), slack_px, closed=True), dtype=np.float64)[:, 0]
            if 3 <= len(ring) <= MOST_CORNERS:
                self._rings.append(ring + np.array([piece.box[0], piece.box[1]]))
                self._pulls.append(rng.uniform(0.0, 1.0, len(ring)) ** 2)

    @property
    def found(self) -> bool:
        """Whether there is anything to move."""
        return bool(self._rings)

    def moved(self, by_px: float) -> tuple[Ring, ...]:
        """The corners moved outwards, inwards where negative; those at the frame's edge are put beyond it."""
        return tuple(self._ring(ring, pull, by_px) for ring, pull in zip(self._rings, self._pulls, strict=True))

    def _ring(self, ring: NDArray[np.float64], pull: NDArray[np.float64], by_px: float) -> Ring:
        moved = ring + _outwards(ring) * (pull * by_px)[:, None]
        for axis, last in ((0, self._size[1] - 1), (1, self._size[0] - 1)):
            moved[ring[:, axis] <= _ON_EDGE_PX, axis] = -_BEYOND_PX
            moved[ring[:, axis] >= last - _ON_EDGE_PX, axis] = last + _BEYOND_PX
        whole = np.rint(moved * SUBPIXELS).astype(np.int64)
        return tuple((int(x), int(y)) for x, y in whole)


def _outwards(ring: NDArray[np.float64]) -> NDArray[np.float64]:
    """Unit directions away from the polygon at its corners, (n, 2)."""
    before, after = ring - np.roll(ring, 1, axis=0), np.roll(ring, -1, axis=0) - ring
    edges = [edge / np.maximum(np.hypot(edge[:, 0], edge[:, 1]), 1e-9)[:, None] for edge in (before, after)]
    along = edges[0] + edges[1]
    normal = np.stack([along[:, 1], -along[:, 0]], axis=1)
    shoelace = np.sum(ring[:, 0] * np.roll(ring[:, 1], -1) - np.roll(ring[:, 0], -1) * ring[:, 1])
    normal *= 1.0 if shoelace > 0 else -1.0
    unit: NDArray[np.float64] = normal / np.maximum(np.hypot(normal[:, 0], normal[:, 1]), 1e-9)[:, None]
    return unit
