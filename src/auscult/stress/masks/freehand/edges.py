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

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, NamedTuple, TypeAlias, cast

import cv2
import numpy as np
from numpy.typing import NDArray

from auscult.arrays import boxes
from auscult.stress.masks import fields
from auscult.stress.masks.base import WINDOWS, Workpiece
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
