"""What was drawn for an error along the outline, and the ways an outline goes wrong.

========  ==============================================================================================
swell     an offset that is wide along some lobes of the outline, seen from its middle, and none elsewhere
matte     a soft edge cut at the wrong level: thin parts and corners go first, bays fill up first
blocks    the mask at low resolution, every cell that is touched all in or all out
coarse    the mask at low resolution, enlarged smoothly and cut at the wrong level
lag       the mask of a moment before: a crescent on one side
corners   an outline clicked with few corners, all of them on the wrong side
========  ==============================================================================================

Each errs to one side only: what is taken in is kept, or what is left out stays out. The first four are maps with a
level (``edge_maps``), the last two are shapes (``shapes``).

A map gives each pixel on the wrong side of the outline the level at which it is lost (inside) or taken in (outside).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, TypeAlias, cast

import cv2
import numpy as np

from auscult.arrays import boxes
from auscult.stress.masks import fields
from auscult.stress.masks.base import Workpiece
from auscult.stress.masks.freehand.levels import Fine, enlarged, grid
from auscult.types import Box, Floats, Mask

Mode: TypeAlias = Literal["swell", "matte", "blocks", "coarse", "lag", "corners"]
Lobe: TypeAlias = tuple[float, float, float]
"""(waves round the outline, amount, phase in radians)."""

Ring: TypeAlias = tuple[tuple[int, int], ...]
"""Corners (x, y) in sixteenths of a pixel of the frame."""

MODES: Final[tuple[Mode, ...]] = ("swell", "matte", "blocks", "coarse", "lag", "corners")
MAPS: Final = frozenset({"swell", "matte", "blocks", "coarse"})
MOST_RINGS: Final = 12
MOST_CORNERS: Final = 48
MOST_LOBES: Final = 6
SUBPIXELS: Final = 16
_FAR: Final = 1e6


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgeParams:
    """What was drawn for one error along the outline.

    Attributes:
        mode: Which way it goes wrong.
        level: How far: a value of the mode's map; pixels of ``lag``; without meaning for ``corners``.
        grain_px: Blur of ``matte`` and cell of ``blocks`` and ``coarse``; else 0.
        turn_deg: Direction of ``lag``, clockwise from the right; else 0.
        lobes: Where ``swell`` is wide; else empty.
        rings: Polygons of ``corners``; else empty.
    """

    mode: Mode
    level: float = 0.0
    grain_px: int = 0
    turn_deg: float = 0.0
    lobes: tuple[Lobe, ...] = ()
    rings: tuple[Ring, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """The same as JSON values."""
        return {
            "mode": self.mode,
            "level": self.level,
            "grain_px": self.grain_px,
            "turn_deg": self.turn_deg,
            "lobes": [list(lobe) for lobe in self.lobes],
            "rings": [[list(corner) for corner in ring] for ring in self.rings],
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> EdgeParams:
        """Read what ``as_json`` wrote.

        Raises:
            InputError: A key is missing, unknown, or holds a value out of range.
        """
        given = fields.exactly(value, ("mode", "level", "grain_px", "turn_deg", "lobes", "rings"))
        mode = cast("Mode", fields.one_of(given["mode"], "mode", MODES))
        needs_grain = mode in {"matte", "blocks", "coarse"}
        return cls(
            mode=mode,
            level=fields.real(given["level"], "level", low=-_FAR, high=_FAR),
            grain_px=fields.whole(given["grain_px"], "grain_px", low=int(needs_grain), high=4096),
            turn_deg=fields.real(given["turn_deg"], "turn_deg", low=-360.0, high=360.0),
            lobes=tuple(_lobe(one) for one in fields.listed(given["lobes"], "lobes", most=MOST_LOBES)),
            rings=tuple(_ring(one) for one in fields.listed(given["rings"], "rings", most=MOST_RINGS)),
        )


def _lobe(value: object) -> Lobe:
    given = [*fields.listed(value, "lobes", most=3), None, None, None]
    waves, amount, phase = (fields.real(number, "lobes", low=-100.0, high=100.0) for number in given[:3])
    return waves, amount, phase


def _ring(value: object) -> Ring:
    return tuple(_corner(one) for one in fields.listed(value, "rings", most=MOST_CORNERS))


def _corner(value: object) -> tuple[int, int]:
    far = int(_FAR) * SUBPIXELS
    given = [*fields.listed(value, "rings", most=2), None, None]
    x, y = (fields.whole(number, "rings", low=-far, high=far) for number in given[:2])
    return x, y


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
