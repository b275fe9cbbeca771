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
level, the last two are shapes (``outline``).

A map gives every pixel the level at which the defect takes it: at which one inside is lost, one outside taken in. The
defect at a level is the set of pixels at most there. So the level for a wanted number of pixels is an order statistic
of the map.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any, Final, Literal, TypeAlias

import cv2
import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from auscult.arrays import boxes
from auscult.stress.masks.base import Coordinate, Doubles, Side, Turn, Wanted, Workpiece, last_taken
from auscult.stress.perturbation import JsonParams
from auscult.types import Box, Floats, Mask

MOST_CELLS: Final = 80


def grid(box: Box) -> tuple[Doubles, Doubles]:
    """Columns (1, m) and rows (n, 1) of the cells' centres, in frame pixels; at most ``MOST_CELLS`` either way."""
    width, height = box[2] - box[0], box[3] - box[1]
    columns, rows = min(width, MOST_CELLS), min(height, MOST_CELLS)
    x: Doubles = (np.arange(columns, dtype=np.float64) + 0.5) * (width / columns) - 0.5 + box[0]
    y: Doubles = (np.arange(rows, dtype=np.float64) + 0.5) * (height / rows) - 0.5 + box[1]
    return x[None, :], y[:, None]


def enlarged(cells: Doubles, box: Box) -> Floats:
    """A coarse map at the box's full size, float32."""
    size = box[2] - box[0], box[3] - box[1]
    return np.asarray(cv2.resize(cells.astype(np.float32), size, interpolation=cv2.INTER_LINEAR), dtype=np.float32)


def shares(mask: Mask, box: Box) -> Floats:
    """Share of each cell of a box that a mask of the whole frame, bool (H, W), covers, 0..1."""
    x, y = grid(box)
    window = np.ascontiguousarray(mask[boxes.window(box)]).astype(np.float32)
    found = cv2.resize(window, (x.size, y.size), interpolation=cv2.INTER_AREA)
    return np.asarray(found, dtype=np.float32).reshape(y.size, x.size)


def wobble(angle: Doubles, turn: float) -> Doubles:
    """Factor on a blob's radius by angle in radians, mean 1: an outline drawn by hand, 0.6 to 1.4."""
    factor: Doubles = (
        1.0 + 0.22 * np.cos(2 * angle + turn) + 0.12 * np.cos(3 * angle - 2 * turn) + 0.06 * np.cos(5 * angle)
    )
    return factor


def level_for(values: NDArray[np.float32], wanted: Wanted) -> float | None:
    """The level at which a map, float32 (n,), takes the drawn number of pixels, or as near to it as equal values allow.

    A float32 number halfway to the next value, so that a last bit moves no pixel; None where the window is missed.
    """
    last = last_taken(values, wanted)
    return None if last is None else _between(values, last)


def narrowest(values: NDArray[np.float32], wanted: Wanted) -> float | None:
    """The level inside the window at which the fewest pixels lie, as for ``level_for``: a cut at the thinnest place."""
    if values.size < wanted.fewest:
        return None
    ordered = np.sort(values)
    span = ordered[wanted.fewest - 1 : wanted.most]
    step = max(1, span.size // 6)
    if span.size <= step:
        return level_for(values, wanted)
    last = span[int(np.argmax(span[step:] - span[:-step])) + step // 2]
    return _between(values, last) if wanted.holds(int(np.count_nonzero(values <= last))) else None


def _between(values: NDArray[np.float32], last: Any) -> float:
    """Halfway from the last value that is taken to the next one, as a float32 number below the next."""
    above = values[values > last]
    if not above.size:
        return float(last)
    following = float(above.min())
    middle = float(np.float32((float(last) + following) / 2))
    return middle if float(last) <= middle < following else float(last)


Mode: TypeAlias = Literal["swell", "matte", "blocks", "coarse", "lag", "corners"]
MODES: Final[tuple[Mode, ...]] = ("swell", "matte", "blocks", "coarse", "lag", "corners")
MAPS: Final = frozenset({"swell", "matte", "blocks", "coarse"})
MOST_RINGS: Final = 12
MOST_CORNERS: Final = 48
SUBPIXELS: Final = 16

_Wave: TypeAlias = Annotated[float, Meta(ge=-100.0, le=100.0)]
Lobe: TypeAlias = tuple[_Wave, _Wave, _Wave]
"""(waves round the outline, amount, phase in radians)."""

_Subpixel: TypeAlias = Annotated[int, Meta(ge=-1_000_000 * SUBPIXELS, le=1_000_000 * SUBPIXELS)]
Ring: TypeAlias = Annotated[tuple[tuple[_Subpixel, _Subpixel], ...], Meta(max_length=MOST_CORNERS)]
"""Corners (x, y) in sixteenths of a pixel of the frame."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgeParams(JsonParams):
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
    level: Coordinate = 0.0
    grain_px: Annotated[int, Meta(ge=0, le=4096)] = 0
    turn_deg: Turn = 0.0
    lobes: Annotated[tuple[Lobe, ...], Meta(max_length=6)] = ()
    rings: Annotated[tuple[Ring, ...], Meta(max_length=MOST_RINGS)] = ()

    def __post_init__(self) -> None:
        """Insist on a grain where the mode has one."""
        if self.mode in {"matte", "blocks", "coarse"} and self.grain_px < 1:
            raise ValueError(f"grain_px is {self.grain_px}, of {self.mode} it is 1 or more")


_FLOOR: Final = 0.02  # width of a swell between its lobes: none that shows


def edge_map(piece: Workpiece, params: EdgeParams, *, side: Side) -> Floats:
    """The map over the side's window: float32, below infinity where a pixel may be lost or taken in.

    The map is kept with the target, since choosing and rendering both need it.
    """
    key = ("freehand", side, replace(params, level=0.0))
    if key not in piece.kept:
        distance = piece.distance(side)
        if params.mode == "swell":
            values = distance / _widths(piece.window(side), params.lobes)
        else:
            cover = _soft(own_window(piece, side).astype(np.float32), params)
            values = cover if side == "inside" else np.where(cover > 0, np.float32(1.0) - cover, np.inf)
        piece.kept.clear()
        piece.kept[key] = np.where(distance > 0, values, np.inf).astype(np.float32)
    found: Floats = piece.kept[key]
    return found


def own_window(piece: Workpiece, side: Side) -> Mask:
    """The mask over the side's window; inside it is drawn on to a frame's edge that it all but meets."""
    return piece.met_by_frame if side == "inside" else piece.mask[boxes.window(piece.around)]


def _widths(box: Box, lobes: tuple[Lobe, ...]) -> Floats:
    """Width of a swell by the direction seen from the middle of the box, 0..1."""
    x, y = grid(box)
    half_width, half_height = max(1.0, (box[2] - box[0]) / 2), max(1.0, (box[3] - box[1]) / 2)
    angle = np.arctan2((y - (box[1] + box[3] - 1) / 2) / half_height, (x - (box[0] + box[2] - 1) / 2) / half_width)
    wave: Doubles = np.zeros(angle.shape)
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
