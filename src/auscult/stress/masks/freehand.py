"""A second maker of mask defects: the taxonomy and IoU windows of ``auscult.stress.masks`` in other shapes.

A judge that was fitted to one maker's shapes is measured with the other's. Cutout, dilate and erode are made here;
perfect, merge and full_neg have no shape of their own and are the built-in ones.

Freehand errors along the outline, erode and dilate: what is drawn, and the ways an outline goes wrong.

========  ==============================================================================================
swell     an offset that is wide along some lobes of the outline, seen from its middle, and none elsewhere
matte     a soft edge cut at the wrong level: thin parts and corners go first, bays fill up first
blocks    the mask at low resolution, every cell that is touched all in or all out
coarse    the mask at low resolution, enlarged smoothly and cut at the wrong level
lag       the mask of a moment before: a crescent on one side
corners   an outline clicked with few corners, all of them on the wrong side
========  ==============================================================================================

Each errs to one side only: what is taken in is kept, or what is left out stays out. The first four are maps with a
level, the last two are shapes.

A map gives every pixel the level at which the defect takes it: at which one inside is lost, one outside taken in. The
defect at a level is the set of pixels at most there. So the level for a wanted number of pixels is an order statistic
of the map.

Source: the windows are those of MQ-RAVSBench, Sec. 3.2, Eqs. 5 and 6; the shapes are our own.

Freehand cutout: pieces are missing, in other shapes than rectangles and ellipses.

Source: the windows are those of MQ-RAVSBench, Sec. 3.2, Eq. 4; the shapes are our own.

======  =======================================================================================
stroke  a bent line across the object, as something thin in front of it leaves
wedge   a slice from a point inside out to the outline
bite    one or two rounds out of the outline
holes   several small blobs inside
crop    everything beyond a straight line
limb    one end of the object up to where it is thin: what lies beyond a neck
======  =======================================================================================
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Final, Literal, NamedTuple, TypeAlias

import cv2
import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from auscult.arrays import boxes
from auscult.outcome import Undefined
from auscult.stress.masks.base import (
    Coordinate,
    Doubles,
    Reason,
    Side,
    Turn,
    Wanted,
    Workpiece,
    last_taken,
    undefined,
    wanted_px,
    widest_px,
    workpiece,
)
from auscult.stress.perturbation import JsonParams
from auscult.types import Box, Defect, Difficulty, Floats, Mask, MaskTarget, Metadata

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
    cells = cv2.resize(window, (x.size, y.size), interpolation=cv2.INTER_AREA)
    return np.asarray(cells, dtype=np.float32).reshape(y.size, x.size)


def wobble(angle: Doubles, turn: float) -> Doubles:
    """Factor on a blob's radius by angle in radians, mean 1: an outline drawn by hand, 0.6 to 1.4."""
    return 1.0 + 0.22 * np.cos(2 * angle + turn) + 0.12 * np.cos(3 * angle - 2 * turn) + 0.06 * np.cos(5 * angle)


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
    """What was drawn for one error along the outline."""

    mode: Mode  # which way it goes wrong
    level: Coordinate = 0.0  # how far: a value of the mode's map; pixels of `lag`; without meaning for `corners`
    grain_px: Annotated[int, Meta(ge=0, le=4096)] = 0  # blur of `matte` and cell of `blocks` and `coarse`; else 0
    turn_deg: Turn = 0.0  # direction of `lag`, clockwise from the right; else 0
    lobes: Annotated[tuple[Lobe, ...], Meta(max_length=6)] = ()  # where `swell` is wide; else empty
    rings: Annotated[tuple[Ring, ...], Meta(max_length=MOST_RINGS)] = ()  # polygons of `corners`; else empty

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
    if key not in piece.cache:
        distance = piece.distance(side)
        if params.mode == "swell":
            values = distance / _widths(piece.window(side), params.lobes)
        else:
            cover = _soft(own_window(piece, side).astype(np.float32), params)
            values = cover if side == "inside" else np.where(cover > 0, np.float32(1.0) - cover, np.inf)
        piece.cache.clear()
        piece.cache[key] = np.where(distance > 0, values, np.inf).astype(np.float32)
    cached: Floats = piece.cache[key]
    return cached


def own_window(piece: Workpiece, side: Side) -> Mask:
    """The mask over the side's window; on the inside, extended to a frame edge that it almost meets."""
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


def _soft(cover: Floats, params: EdgeParams) -> Floats:
    """How much of each pixel belongs to the object, 0..1, after blurring or at low resolution."""
    if params.mode == "matte":
        blurred = cv2.GaussianBlur(cover, (0, 0), float(params.grain_px), borderType=cv2.BORDER_REPLICATE)
        return np.asarray(blurred, dtype=np.float32)
    height, width = cover.shape
    grain = min(params.grain_px, 2 * max(height, width))
    padded = np.pad(cover, ((0, -height % grain), (0, -width % grain)), mode="edge")
    rows, columns = padded.shape[0] // grain, padded.shape[1] // grain
    cells = padded.reshape(rows, grain, columns, grain).mean(axis=(1, 3), dtype=np.float32)
    interpolation = cv2.INTER_NEAREST if params.mode == "blocks" else cv2.INTER_LINEAR
    size = (columns * grain, rows * grain)
    return np.asarray(cv2.resize(cells, size, interpolation=interpolation), dtype=np.float32)[:height, :width]


_ON_EDGE_PX: Final = 2.0
_BEYOND_PX: Final = 4.0
_LEAST_PART: Final = 0.01


def shaped(piece: Workpiece, params: EdgeParams, *, side: Side) -> Mask:
    """The other mask that the target is cut with (inside) or joined with (outside), bool over the side's window."""
    return _lagging(piece, params, side=side) if params.mode == "lag" else _filled(piece, params.rings, side=side)


def _lagging(piece: Workpiece, params: EdgeParams, *, side: Side) -> Mask:
    """The target moved by ``level`` pixels; where the frame cuts it off, its edge pixels are repeated."""
    mask = own_window(piece, side).astype(np.uint8) * 255
    turn = np.deg2rad(params.turn_deg)
    step = np.array([[1.0, 0.0, params.level * np.cos(turn)], [0.0, 1.0, params.level * np.sin(turn)]])
    moved = cv2.warpAffine(
        mask, step, (mask.shape[1], mask.shape[0]), flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE
    )
    return np.asarray(moved) >= 128


def _filled(piece: Workpiece, rings: Sequence[Ring], *, side: Side) -> Mask:
    box = piece.window(side)
    canvas = np.zeros((box[3] - box[1], box[2] - box[0]), np.uint8)
    origin = np.array([box[0], box[1]]) * SUBPIXELS
    for ring in rings:
        if len(ring) > 2:
            cv2.fillPoly(canvas, [(np.array(ring) - origin).astype(np.int32)], (1,), shift=4)
    return canvas.view(np.bool_)


def _corners(
    piece: Workpiece, rng: np.random.Generator, *, slack_px: float
) -> list[tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """The target's outline with few corners, passing by its own by up to ``slack_px``: rings and the pulls of each."""
    window = np.ascontiguousarray(piece.mask[boxes.window(piece.box)]).view(np.uint8)
    contours, _ = cv2.findContours(window, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
    rings: list[tuple[NDArray[np.float64], NDArray[np.float64]]] = []
    for line in sorted(contours, key=lambda line: -cv2.contourArea(np.asarray(line)))[:MOST_RINGS]:
        if cv2.contourArea(np.asarray(line)) < _LEAST_PART * piece.area_px and rings:
            continue
        ring = np.asarray(cv2.approxPolyDP(np.asarray(line), slack_px, closed=True), dtype=np.float64)[:, 0]
        if 3 <= len(ring) <= MOST_CORNERS:
            rings.append((ring + np.array([piece.box[0], piece.box[1]]), rng.uniform(0.0, 1.0, len(ring)) ** 2))
    return rings


def _moved(ring: NDArray[np.float64], pull: NDArray[np.float64], by_px: float, *, size: tuple[int, int]) -> Ring:
    """The corners moved outwards, inwards where negative; those at the frame's edge are put beyond it."""
    moved = ring + _outwards(ring) * (pull * by_px)[:, None]
    for axis, last in ((0, size[1] - 1), (1, size[0] - 1)):
        moved[ring[:, axis] <= _ON_EDGE_PX, axis] = -_BEYOND_PX
        moved[ring[:, axis] >= last - _ON_EDGE_PX, axis] = last + _BEYOND_PX
    subpixels = np.rint(moved * SUBPIXELS).astype(np.int64)
    return tuple((int(x), int(y)) for x, y in subpixels)


def _outwards(ring: NDArray[np.float64]) -> NDArray[np.float64]:
    """Unit directions away from the polygon at its corners, (n, 2)."""
    before, after = ring - np.roll(ring, 1, axis=0), np.roll(ring, -1, axis=0) - ring
    edges = [edge / np.maximum(np.hypot(edge[:, 0], edge[:, 1]), 1e-9)[:, None] for edge in (before, after)]
    tangent = edges[0] + edges[1]
    normal = np.stack([tangent[:, 1], -tangent[:, 0]], axis=1)
    shoelace = np.sum(ring[:, 0] * np.roll(ring[:, 1], -1) - np.roll(ring[:, 0], -1) * ring[:, 1])
    normal *= 1.0 if shoelace > 0 else -1.0
    return normal / np.maximum(np.hypot(normal[:, 0], normal[:, 1]), 1e-9)[:, None]


_ROUNDS: Final = 2
_STEPS: Final = 12
_LOBE: Final = 0.6  # how far a lobe may stand out, in shares of the widest error: farther out it is no outline error
_LEAST_ALONG: Final = 0.2  # share of the outline that an error along it touches
_MOST_LOOSE: Final = 0.12  # share of the target that an erosion may leave cut off from the rest


def _draw(rng: np.random.Generator, piece: Workpiece, mode: Mode, *, wanted: Wanted, side: Side) -> EdgeParams | None:
    size = piece.size_px
    if mode in {"lag", "corners"}:
        return _searched(piece, _shape(rng, piece, mode, side=side), wanted=wanted, side=side)
    if mode == "swell":
        params = EdgeParams(mode=mode, lobes=_lobes(rng))
    elif mode == "matte":
        params = EdgeParams(mode=mode, grain_px=max(1, round(float(rng.uniform(0.08, 0.2)) * size)))
    else:
        params = EdgeParams(mode=mode, grain_px=max(2, round(float(rng.uniform(0.06, 0.16)) * size)))
    values = edge_map(piece, params, side=side)
    level = level_for(values[np.isfinite(values)], wanted)
    return None if level is None else replace(params, level=level)


def _shape(rng: np.random.Generator, piece: Workpiece, mode: Mode, *, side: Side) -> Callable[[float], EdgeParams]:
    """A shape by how far it goes, in pixels."""
    if mode == "lag":
        turn_deg = float(rng.uniform(0.0, 360.0))
        return lambda by_px: EdgeParams(mode=mode, level=by_px, turn_deg=turn_deg)
    corners = _corners(piece, rng, slack_px=float(rng.uniform(0.025, 0.07)) * piece.size_px)
    sign = -1.0 if side == "inside" else 1.0
    size = piece.frame_size
    return lambda by_px: EdgeParams(
        mode=mode, rings=tuple(_moved(ring, pull, sign * by_px, size=size) for ring, pull in corners)
    )


def _lobes(rng: np.random.Generator) -> tuple[Lobe, ...]:
    """One to four lobes of uneven width."""
    waves = int(rng.integers(1, 4))
    ground: Lobe = (0.0, float(rng.uniform(-0.3, 0.35)), 0.0)
    main: Lobe = (float(waves), float(rng.uniform(0.5, 0.9)), float(rng.uniform(0.0, 2 * np.pi)))
    second: Lobe = (float(waves + int(rng.integers(1, 4))), float(rng.uniform(0.1, 0.4)), float(rng.uniform(0.0, 6.28)))
    return ground, main, second


def _searched(
    piece: Workpiece, params_at: Callable[[float], EdgeParams], *, wanted: Wanted, side: Side
) -> EdgeParams | None:
    """Find by halving how far a shape must go, from nothing to the widest that still is an error of the outline."""
    low, high = 0.0, widest_px(piece.size_px)
    mask = piece.mask[boxes.window(piece.window(side))]
    best: tuple[int, EdgeParams] | None = None
    for _ in range(_STEPS):
        middle = (low + high) / 2
        params = params_at(middle)
        other = shaped(piece, params, side=side)
        pixels = int(np.count_nonzero(mask & ~other if side == "inside" else other & ~mask))
        if wanted.holds(pixels) and (best is None or abs(pixels - wanted.drawn) < abs(best[0] - wanted.drawn)):
            best = pixels, params
            if abs(pixels - wanted.drawn) * 20 <= wanted.most - wanted.fewest:
                break
        low, high = (middle, high) if pixels < wanted.drawn else (low, middle)
    return None if best is None else best[1]


class _Freehand:
    """An outline in the wrong place; ``side`` says on which side of the true one."""

    side: Side
    difficulties: tuple[Difficulty, ...] = ("hard", "medium")
    params = EdgeParams

    def choose(self, rng: np.random.Generator, target: MaskTarget, *, difficulty: Difficulty) -> EdgeParams | Undefined:
        """Draw the kind of error and the IoU within the window; undefined where no kind reaches it."""
        piece = workpiece(target)
        room = target.mask.size - piece.area_px
        if self.side == "outside" and room < piece.area_px / 10:
            return undefined("no_room", area_px=piece.area_px, room_px=room)
        if self.side == "inside" and float(piece.depth.max()) < 2.0:
            return undefined("too_thin", area_px=piece.area_px)
        wanted = wanted_px(rng, piece.area_px, difficulty, side=self.side)
        if wanted is None:
            return undefined("window_not_reached", area_px=piece.area_px)
        if not (piece.distance(self.side) == 1.0).any():
            return undefined("no_boundary", area_px=piece.area_px)
        reason: Reason = "window_not_reached"
        for mode in [MODES[index] for _ in range(_ROUNDS) for index in rng.permutation(len(MODES))]:
            params = _draw(rng, piece, mode, wanted=wanted, side=self.side)
            if params is None:
                continue
            if self._is_along_the_outline(piece, params):
                return params
            reason = "splits" if self.side == "inside" else "window_not_reached"
        return undefined(reason, area_px=piece.area_px, fewest_px=wanted.fewest, most_px=wanted.most)

    def render(self, target: MaskTarget, params: EdgeParams) -> Mask:
        """The target with its outline in the wrong place: a subset (inside) or a superset (outside)."""
        piece = workpiece(target)
        window = boxes.window(piece.window(self.side))
        result = target.mask.copy()
        if params.mode in MAPS:
            changed = edge_map(piece, params, side=self.side) <= np.float32(params.level)
            other = ~changed if self.side == "inside" else changed
        else:
            other = shaped(piece, params, side=self.side)
        result[window] = result[window] & other if self.side == "inside" else result[window] | other
        return result

    def _is_along_the_outline(self, piece: Workpiece, params: EdgeParams) -> bool:
        """Whether it touches enough of the outline, stays near it, and does not cut the object in two."""
        window = boxes.window(piece.window(self.side))
        result = self.render(piece, params)[window]
        distance = piece.distance(self.side)
        changed = result != piece.mask[window]
        edge = distance == 1.0
        if np.count_nonzero(changed & edge) < _LEAST_ALONG * np.count_nonzero(edge):
            return False
        farthest_px = widest_px(piece.size_px) * (_LOBE if params.mode == "swell" else 1.0)
        if float(distance[changed].max(initial=0.0)) > farthest_px:
            return False
        return self.side == "outside" or piece.holds_together(result, most_loose=_MOST_LOOSE)


class FreehandDilate(_Freehand):
    """Moves the outline outwards, over background and other objects alike; the result is a superset."""

    name = "masks.freehand_dilate.v1"
    defect: Defect = "dilate"
    side: Side = "outside"
    meta = Metadata(
        summary="outline too far out: in lobes, by a soft edge, low resolution, a lag, or few corners",
        goal="outward over-segmentation in shapes that no judge was fitted to",
        modality="mask",
        source="windows of MQ-RAVSBench, Sec. 3.2, Eq. 5; shapes of our own",
        truth="IoU in [.85, .90] (hard, minor revision) or [.75, .80] (medium, major revision)",
    )


DILATE = FreehandDilate()


class FreehandErode(_Freehand):
    """Moves the outline inwards; the result is a subset of the target."""

    name = "masks.freehand_erode.v1"
    defect: Defect = "erode"
    side: Side = "inside"
    meta = Metadata(
        summary="outline too far in: in lobes, by a soft edge, low resolution, a lag, or few corners",
        goal="inward under-segmentation in shapes that no judge was fitted to",
        modality="mask",
        source="windows of MQ-RAVSBench, Sec. 3.2, Eq. 6; shapes of our own",
        truth="IoU in [.85, .90] (hard, minor revision) or [.75, .80] (medium, major revision)",
    )


ERODE = FreehandErode()


LossMode: TypeAlias = Literal["stroke", "wedge", "bite", "holes", "crop", "limb"]

LOSS_MODES: Final[tuple[LossMode, ...]] = ("stroke", "wedge", "bite", "holes", "crop", "limb")
_SEGMENTS: Final = 10
_COVERED: Final = 0.05  # share of a cell that the object must cover for a limb to go on through it


class Spot(NamedTuple):
    """A point that anchors a shape."""

    x_px: Coordinate  # column
    y_px: Coordinate  # row
    size: Annotated[float, Meta(ge=1e-3, le=1e3)]  # its share in the shape's size, above 0
    turn_deg: Turn  # its direction, clockwise from the right


@dataclass(frozen=True, slots=True, kw_only=True)
class LossParams(JsonParams):
    """What was drawn for the missing pieces."""

    mode: LossMode  # their shape
    level: Coordinate = 0.0  # their size, a value of the mode's map
    # where they are: three points of a stroke, else one a piece
    spots: Annotated[tuple[Spot, ...], Meta(min_length=1, max_length=8)]

    def __post_init__(self) -> None:
        """Insist on the points of a stroke."""
        if self.mode == "stroke" and len(self.spots) < 3:
            raise ValueError(f"a stroke has {len(self.spots)} spots, it needs 3")


def loss_map(piece: Workpiece, params: LossParams) -> Floats:
    """Size at which the missing pieces reach each pixel, float32 over ``piece.box``; in or out of the mask alike."""
    cells = _MAPS[params.mode](piece, params.spots)
    return enlarged(cells, piece.box)


def _stroke(piece: Workpiece, spots: tuple[Spot, ...]) -> Doubles:
    """Distance to the bent line through the first and last spot that the second one draws to itself."""
    x, y = grid(piece.box)
    first, pulled, last = spots[0], spots[1], spots[2]
    t = np.linspace(0.0, 1.0, _SEGMENTS + 1)
    weights = (1 - t) ** 2, 2 * t * (1 - t), t**2
    line_x = weights[0] * first.x_px + weights[1] * pulled.x_px + weights[2] * last.x_px
    line_y = weights[0] * first.y_px + weights[1] * pulled.y_px + weights[2] * last.y_px
    best: Doubles = np.full((y.size, x.size), np.inf)
    for i in range(_SEGMENTS):
        step_x, step_y = line_x[i + 1] - line_x[i], line_y[i + 1] - line_y[i]
        length = max(float(step_x**2 + step_y**2), 1e-9)
        share = np.clip(((x - line_x[i]) * step_x + (y - line_y[i]) * step_y) / length, 0.0, 1.0)
        distance = np.hypot(x - line_x[i] - share * step_x, y - line_y[i] - share * step_y)
        thickness = 1.0 + 0.25 * np.sin(6.0 * (t[i] + share / _SEGMENTS) + pulled.turn_deg)
        best = np.minimum(best, distance / thickness)
    return best


def _wedge(piece: Workpiece, spots: tuple[Spot, ...]) -> Doubles:
    """Degrees from the wedge's middle, seen from its point."""
    x, y = grid(piece.box)
    best: Doubles = np.full((y.size, x.size), np.inf)
    for spot in spots:
        angle = np.rad2deg(np.arctan2(y - spot.y_px, x - spot.x_px)) - spot.turn_deg
        best = np.minimum(best, np.abs((angle + 180.0) % 360.0 - 180.0) / spot.size)
    return best


def _blobs(piece: Workpiece, spots: tuple[Spot, ...]) -> Doubles:
    """Distance to the nearest spot in units of its own radius."""
    x, y = grid(piece.box)
    best: Doubles = np.full((y.size, x.size), np.inf)
    for spot in spots:
        across, down = x - spot.x_px, y - spot.y_px
        shape = wobble(np.arctan2(down, across), float(np.deg2rad(spot.turn_deg)))
        best = np.minimum(best, np.hypot(across, down) / (shape * spot.size))
    return best


def _crop(piece: Workpiece, spots: tuple[Spot, ...]) -> Doubles:
    """How far a pixel lies behind the spot, against its direction: the farther along it, the sooner it is lost."""
    x, y = grid(piece.box)
    turn = np.deg2rad(spots[0].turn_deg)
    behind: Doubles = -((x - spots[0].x_px) * np.cos(turn) + (y - spots[0].y_px) * np.sin(turn))
    return behind


def _limb(piece: Workpiece, spots: tuple[Spot, ...]) -> Doubles:
    """Steps inside the object from the spot: eight directions, a diagonal step every other time."""
    x, y = grid(piece.box)
    allowed = (shares(piece.mask, piece.box) > _COVERED).astype(np.uint8)
    column = int(np.argmin(np.abs(x - spots[0].x_px)))
    row = int(np.argmin(np.abs(y - spots[0].y_px)))
    reached = np.zeros_like(allowed)
    reached[row, column] = 1
    kernels = cv2.getStructuringElement(cv2.MORPH_CROSS, (3, 3)), np.ones((3, 3), np.uint8)
    steps = np.where(reached > 0, 0.0, np.inf)
    idle = 0
    for step in range(1, 2 * (x.size + y.size) + allowed.size):
        grown = np.asarray(cv2.dilate(reached, kernels[step % 2]), dtype=np.uint8) & allowed
        new = grown > reached
        idle = 0 if new.any() else idle + 1
        if idle > 1:
            break
        steps[new] = step
        reached = grown
    return _carried_outwards(steps)


def _carried_outwards(steps: Doubles) -> Doubles:
    """Give cells beside the object their neighbours' steps, so that enlarging keeps its edge; far cells get many."""
    far_steps = float(steps[np.isfinite(steps)].max()) * 2.0 + 10.0
    filled = np.where(np.isfinite(steps), steps, far_steps).astype(np.float32)
    nearby = np.asarray(cv2.erode(filled, np.ones((3, 3), np.uint8), borderType=cv2.BORDER_REPLICATE))
    return np.where(np.isfinite(steps), filled, nearby).astype(np.float64)


_MAPS: Final[Mapping[LossMode, Callable[[Workpiece, tuple[Spot, ...]], Doubles]]] = {
    "stroke": _stroke,
    "wedge": _wedge,
    "bite": _blobs,
    "holes": _blobs,
    "crop": _crop,
    "limb": _limb,
}


_LOSS_ROUNDS: Final = 2
_INNER: Final = 0.45  # share of the greatest depth from which a place counts as inside
_LEAST_LEFT: Final = 1e-3
_DEEPEST_PX: Final = 1e6


class FreehandCutout:
    """Takes pieces out of the object; the result is a subset of the target."""

    name = "masks.freehand_cutout.v1"
    defect: Defect = "cutout"
    difficulties: tuple[Difficulty, ...] = ("hard", "medium")
    params = LossParams
    meta = Metadata(
        summary="pieces missing: strokes, wedges, bites, small holes, a cropped side, a lost limb",
        goal="inner loss in shapes that no judge was fitted to",
        modality="mask",
        source="windows of MQ-RAVSBench, Sec. 3.2, Eq. 4; shapes of our own",
        truth="IoU in [.85, .90] (hard, minor revision) or [.75, .80] (medium, major revision)",
    )

    def choose(self, rng: np.random.Generator, target: MaskTarget, *, difficulty: Difficulty) -> LossParams | Undefined:
        """Draw the pieces; undefined where no shape of the wanted size fits the object."""
        piece = workpiece(target)
        wanted = wanted_px(rng, piece.area_px, difficulty, side="inside")
        if wanted is None:
            return undefined("window_not_reached", area_px=piece.area_px)
        sampler = _SpotSampler(piece)
        mask = piece.mask[boxes.window(piece.box)]
        for mode in [LOSS_MODES[index] for _ in range(_LOSS_ROUNDS) for index in rng.permutation(len(LOSS_MODES))]:
            params = LossParams(mode=mode, spots=_spots(rng, mode, sampler=sampler))
            values = loss_map(piece, params)[mask]
            level = narrowest(values, wanted) if mode == "limb" else level_for(values, wanted)
            if level is not None:
                return replace(params, level=level)
        return undefined("no_interior", area_px=piece.area_px, fewest_px=wanted.fewest, most_px=wanted.most)

    def render(self, target: MaskTarget, params: LossParams) -> Mask:
        """The target without the pieces."""
        piece = workpiece(target)
        result = target.mask.copy()
        result[boxes.window(piece.box)] &= loss_map(piece, params) > np.float32(params.level)
        return result


class _SpotSampler:
    """Where spots may be drawn, on the coarse grid."""

    def __init__(self, piece: Workpiece) -> None:
        x, y = grid(piece.box)
        mask = shares(piece.mask, piece.box) >= 0.5
        if not mask.any():
            mask = shares(piece.mask, piece.box) > _LEAST_LEFT
        rows, columns = np.nonzero(mask)
        self.all = np.stack([x[0, columns], y[rows, 0]], axis=1)
        left, top, right, bottom = piece.box
        depth_columns = np.clip(np.rint(x[0] - left).astype(np.int64), 0, right - left - 1) + left - piece.inside[0]
        depth_rows = np.clip(np.rint(y[:, 0] - top).astype(np.int64), 0, bottom - top - 1) + top - piece.inside[1]
        # an object that fills the frame has no outline, and is infinitely deep
        deep = np.minimum(piece.depth[depth_rows[rows], depth_columns[columns]], np.float32(_DEEPEST_PX))
        self.inner = self.all[deep >= _INNER * deep.max()]
        self.rim = self.all[deep <= np.quantile(deep, 0.25)]

    def draw(self, rng: np.random.Generator, among: Doubles) -> Spot:
        """One of the points ``among``, with a random direction."""
        x_px, y_px = among[int(rng.integers(len(among)))]
        return Spot(float(x_px), float(y_px), 1.0, float(rng.uniform(0.0, 360.0)))

    def end(self, turn_deg: float) -> Spot:
        """The object's end in a direction."""
        turn = np.deg2rad(turn_deg)
        x_px, y_px = self.all[int(np.argmax(self.all @ np.array([np.cos(turn), np.sin(turn)])))]
        return Spot(float(x_px), float(y_px), 1.0, turn_deg)


def _spots(rng: np.random.Generator, mode: LossMode, *, sampler: _SpotSampler) -> tuple[Spot, ...]:
    turn_deg = float(rng.uniform(0.0, 360.0))
    if mode == "stroke":
        opposite = (turn_deg + float(rng.uniform(120.0, 240.0))) % 360.0
        return sampler.end(turn_deg), sampler.draw(rng, sampler.inner), sampler.end(opposite)
    if mode == "bite":
        count = int(rng.integers(1, 3))
        return tuple(sampler.draw(rng, sampler.rim)._replace(size=float(rng.uniform(0.6, 1.0))) for _ in range(count))
    if mode == "holes":
        count = int(rng.integers(3, 7))
        return tuple(sampler.draw(rng, sampler.inner)._replace(size=float(rng.uniform(0.5, 1.0))) for _ in range(count))
    if mode == "wedge":
        return (sampler.draw(rng, sampler.inner),)
    return (sampler.end(turn_deg),)


CUTOUT = FreehandCutout()
