"""Errors along the outline that are maps with a level: swell, matte, blocks, coarse.

A map gives each pixel on the wrong side of the outline the level at which it is lost (inside) or taken in (outside).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final, Literal, TypeAlias

import cv2
import numpy as np

from auscult.arrays import boxes
from auscult.stress.masks.base import Workpiece
from auscult.stress.masks.freehand.edges import EdgeParams, Lobe
from auscult.stress.masks.freehand.grids import Fine, Floats, enlarged, grid
from auscult.types import Box, Mask

Side: TypeAlias = Literal["inside", "outside"]

_FRAME_GAP_PX: Final = 2
_FLOOR: Final = 0.02  # width of a swell between its lobes: none that shows


def window_of(piece: Workpiece, side: Side) -> Box:
    """Where an error on this side of the outline may lie."""
    return piece.inside if side == "inside" else piece.around


def distance_of(piece: Workpiece, side: Side) -> Floats:
    """Pixels from the outline over ``window_of``, 0 on the other side; the frame's edge is no outline."""
    return piece.depth if side == "inside" else piece.reach


def edge_map(piece: Workpiece, params: EdgeParams, *, side: Side) -> Floats:
    """The map over ``window_of``: float32, below infinity where a pixel may be lost or taken in.

    The map is kept with the target, since choosing and rendering both need it.
    """
    key = ("freehand", side, replace(params, level=0.0))
    if key not in piece.kept:
        distance = distance_of(piece, side)
        if params.mode == "swell":
            values = distance / _widths(window_of(piece, side), params.lobes)
        else:
            cover = _soft(own_window(piece, side).astype(np.float32), params)
            values = cover if side == "inside" else np.where(cover > 0, np.float32(1.0) - cover, np.inf)
        piece.kept.clear()
        piece.kept[key] = np.where(distance > 0, values, np.inf).astype(np.float32)
    return piece.kept[key]


def own_window(piece: Workpiece, side: Side) -> Mask:
    """The mask over ``window_of``, a new bool array; inside it is drawn on to a frame's edge that it all but meets.

    Annotators' outlines often end a pixel or two before the frame, where the object does not end.
    """
    own = piece.mask[boxes.window(window_of(piece, side))].copy()
    if side == "inside":
        height, width = piece.frame_size
        left, top, right, bottom = piece.box
        gaps = (0, 1, top), (-1, -2, height - bottom), (0, 1, left), (-1, -2, width - right)
        for at, beside, gap_px in gaps[:2]:
            if 0 < gap_px <= _FRAME_GAP_PX:
                own[at] |= own[beside]
        for at, beside, gap_px in gaps[2:]:
            if 0 < gap_px <= _FRAME_GAP_PX:
                own[:, at] |= own[:, beside]
    return own


def _widths(box: Box, lobes: tuple[Lobe, ...]) -> Floats:
    """Width of a swell by the direction seen from the middle of the box, 0..1."""
    x, y = grid(box)
    half_width, half_height = max(1.0, (box[2] - box[0]) / 2), max(1.0, (box[3] - box[1]) / 2)
    angle = np.arctan2((y - (box[1] + box[3] - 1) / 2) / half_height, (x - (box[0] + box[2] - 1) / 2) / half_width)
    wave: Fine = np.zeros(angle.shape)
    for waves, amount, phase in lobes:
        wave += amount * np.cos(waves * angle + phase)
    return enlarged(np.clip(wave, _FLOOR, 1.0), box)


def _soft(own: Floats, params: EdgeParams) -> Floats:
    """How much of each place belongs to the object, 0..1, after blurring or at low resolution."""
    if params.mode == "matte":
        blurred = cv2.GaussianBlur(own, (0, 0), float(params.grain_px), borderType=cv2.BORDER_REPLICATE)
        return np.asarray(blurred, dtype=np.float32)
    height, width = own.shape
    grain = min(params.grain_px, 2 * max(height, width))
    padded = np.pad(own, ((0, -height % grain), (0, -width % grain)), mode="edge")
    rows, columns = padded.shape[0] // grain, padded.shape[1] // grain
    cells = padded.reshape(rows, grain, columns, grain).mean(axis=(1, 3), dtype=np.float32)
    how = cv2.INTER_NEAREST if params.mode == "blocks" else cv2.INTER_LINEAR
    size = (columns * grain, rows * grain)
    return np.asarray(cv2.resize(cells, size, interpolation=how), dtype=np.float32)[:height, :width]
