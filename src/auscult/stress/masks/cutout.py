"""Cutout: rectangles and ellipses are missing from the inside of the object, in stills and through clips.

A still's cut is placed where the object is wide enough, and grown until it has the wanted area or meets the outline.
Where the object allows it, cuts are holes that leave the outline whole; where it is too thin, they may touch it.

Places, shapes and relative sizes of a track's holes are drawn once, in body coordinates, where the object has room in
most frames. In each frame one common factor scales them so that the exact IoU lies in the window. A hole leaves a rim
of the object standing where the object allows it.

Source: MQ-RAVSBench, Sec. 3.2, Eq. 4, and the video protocol of Sec. 4.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Final, Literal, TypeAlias

import cv2
import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from auscult.arrays import boxes, regions
from auscult.outcome import Undefined
from auscult.stress.masks.base import (
    Body,
    Coordinate,
    Doubles,
    Posed,
    Side,
    Turn,
    Wanted,
    check_body,
    last_taken,
    undefined,
    wanted_px,
    workpiece,
)
from auscult.stress.perturbation import JsonParams
from auscult.types import Box, Defect, Difficulty, Mask, MaskTarget, Metadata

_MOST_CUTS: Final = 12
_ATTEMPTS: Final = 6
_TRIES_PER_CUT: Final = 4
_COARSE_PX: Final = 96  # the map that a still's centres are drawn from has at most this many rows and columns
_LEAST_SIZE_PX: Final = 0.01

_MOST_HOLES: Final = 8
_CELLS: Final = 64
_EXTENT: Final = 1.6  # a track's map of room covers body coordinates from minus to plus this
_MOST_FRAMES: Final = 12  # frames from which the map of room is made
_LOW_QUANTILE: Final = 0.25
_LEAST_ROOM: Final = 0.035
_GAP: Final = 0.03
_DRAWS: Final = 4
_WIDEST: Final = 2.5  # a hole grown by more is not the same hole any more
_RIM: Final = 0.03

Shape: TypeAlias = Literal["rectangle", "ellipse"]
HalfAxis: TypeAlias = Annotated[float, Meta(ge=1e-4, le=1e6)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Hole:
    """One missing piece in body coordinates: in a track the object's area is 1, in a still a pixel's."""

    shape: Shape
    u: Coordinate
    v: Coordinate
    half_length: HalfAxis
    half_width: HalfAxis
    turn_deg: Turn

    @property
    def area(self) -> float:
        """In units of the body's area."""
        return self.half_length * self.half_width * (4.0 if self.shape == "rectangle" else float(np.pi))

    @property
    def reach(self) -> float:
        """Distance of its farthest point from its middle."""
        corner = float(np.hypot(self.half_length, self.half_width))
        return corner if self.shape == "rectangle" else max(self.half_length, self.half_width)

    def norm(self, u: Doubles, v: Doubles, *, length: Callable[[Doubles, Doubles], Doubles] = np.hypot) -> Doubles:
        """How far out each point is, in units of the half axes: below 1 is inside."""
        turn = np.deg2rad(self.turn_deg)
        # unnamed differences are overwritten in place, which is a fifth faster over a whole frame
        along = ((u - self.u) * np.cos(turn) + (v - self.v) * np.sin(turn)) / self.half_length
        aside = ((v - self.v) * np.cos(turn) - (u - self.u) * np.sin(turn)) / self.half_width
        if self.shape == "ellipse":
            return length(along, aside)
        norm: Doubles = np.maximum(np.abs(along), np.abs(aside))
        return norm


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """One missing piece of a still, in frame coordinates; pixel (row, column) lies at y = row, x = column."""

    shape: Shape
    x_px: Coordinate
    y_px: Coordinate
    half_length_px: HalfAxis
    half_width_px: HalfAxis
    turn_deg: Turn

    @property
    def hole(self) -> Hole:
        """The same in a body that is the frame."""
        return Hole(
            shape=self.shape,
            u=self.x_px,
            v=self.y_px,
            half_length=self.half_length_px,
            half_width=self.half_width_px,
            turn_deg=self.turn_deg,
        )


@dataclass(frozen=True, slots=True)
class CutoutParams(JsonParams):
    """The pieces that are cut out of a still."""

    cuts: Annotated[tuple[Cut, ...], Meta(max_length=_MOST_CUTS)]


@dataclass(frozen=True, slots=True, kw_only=True)
class HoleParams(JsonParams):
    """The holes of one frame of a track: those of the track, the frame's body, and how much they are scaled."""

    holes: Annotated[tuple[Hole, ...], Meta(max_length=_MOST_HOLES)]  # the same in all frames of a track
    body: Body  # where the object is
    size: Annotated[float, Meta(ge=0.0, le=_WIDEST)]  # common factor on the half axes
    # object pixels no farther than this from the outside are left standing
    rim_px: Annotated[int, Meta(ge=0, le=1_000_000)]

    def __post_init__(self) -> None:
        """Refuse a body whose axes span no area."""
        check_body(self.body)


class Cutout:
    """Takes pieces out of the object; the result is a subset of the target."""

    name = "masks.cutout.v1"
    defect: Defect = "cutout"
    difficulties: tuple[Difficulty, ...] = ("hard", "medium")
    params = CutoutParams
    side: Side = "inside"
    frame_params = HoleParams
    meta = Metadata(
        summary="cuts rectangles or ellipses out of the inside of the object",
        goal="inner loss: pixels within the object are missed",
        modality="mask",
        source="MQ-RAVSBench, Sec. 3.2, Eq. 4",
        truth="IoU in [.85, .90] (hard, minor revision) or [.75, .80] (medium, major revision)",
    )

    def choose(
        self, rng: np.random.Generator, target: MaskTarget, *, difficulty: Difficulty
    ) -> CutoutParams | Undefined:
        """Draw the cuts; undefined where none of the wanted size fits into the object."""
        piece = workpiece(target)
        wanted = wanted_px(rng, piece.area_px, difficulty, side="inside")
        if wanted is None:
            return undefined("window_not_reached", area_px=piece.area_px)
        room = piece.mask[boxes.window(piece.box)]
        for allowed in (_kernel_inside(room), room):  # holes first; cuts that touch the outline where no hole fits
            if np.count_nonzero(allowed) < wanted.fewest:
                continue
            for _ in range(_ATTEMPTS):
                params = CutoutParams(_draw_cuts(rng, allowed, wanted=wanted, corner=piece.box[:2]))
                if wanted.holds(piece.area_px - int(np.count_nonzero(self.render(piece, params)))):
                    return params
        return undefined("no_interior", area_px=piece.area_px, fewest_px=wanted.fewest, most_px=wanted.most)

    def draw_track(
        self, rng: np.random.Generator, frames: Sequence[Posed], *, share: float, plain: bool
    ) -> tuple[Hole, ...]:
        """Draw the holes of a track, a ``share`` of the object's area: one to eight, or none where it is too thin."""
        del plain
        room = _room_of(frames)
        best: tuple[Hole, ...] = ()
        for _ in range(_DRAWS):
            holes = _draw_all(rng, room.copy(), share=share)
            if not best or sum(hole.area for hole in holes) > sum(hole.area for hole in best):
                best = holes
            if sum(hole.area for hole in best) >= 0.9 * share:
                break
        return best

    def fit(self, frame: Posed, drawn: tuple[Hole, ...], *, wanted: Wanted) -> HoleParams | Undefined:
        """Scale a track's holes for one frame; undefined where the object is too thin at their place."""
        piece = frame.piece
        if not drawn:
            return undefined("no_interior", area_px=piece.area_px)
        norm = _least_norm(frame, drawn)
        full_rim = max(1, round(_RIM * piece.size_px))
        for rim_px in sorted({full_rim, 1, 0}, reverse=True):
            usable = norm[piece.room > rim_px]
            usable = usable[usable < _WIDEST]
            last = last_taken(usable, wanted)
            if last is not None:
                size = _halfway(usable, float(last), end=_WIDEST)
                return HoleParams(holes=drawn, body=frame.body, size=size, rim_px=rim_px)
        return undefined("window_not_reached", area_px=piece.area_px, fewest_px=wanted.fewest, most_px=wanted.most)

    def render(self, target: MaskTarget, params: CutoutParams | HoleParams) -> Mask:
        """The target without the pieces; the parameters are a still's, or those of one frame of a track."""
        result = target.mask.copy()
        if isinstance(params, HoleParams):
            piece = workpiece(target)
            missing = (piece.room > params.rim_px) & (
                _least_norm(Posed(piece, params.body), params.holes) < params.size
            )
            result[boxes.window(piece.box)] &= ~missing
            return result
        for hole in (cut.hole for cut in params.cuts):
            window = _window(hole, hole.reach, result.shape)
            if boxes.area(window) > 0:
                result[boxes.window(window)] &= _norm_over(hole, window) >= 1.0
        return result


def _kernel_inside(room: Mask) -> Mask:
    """Pixels whose eight neighbours all belong to the object: a hole there leaves the outline whole."""
    eroded = cv2.erode(
        np.ascontiguousarray(room).view(np.uint8),
        np.ones((3, 3), np.uint8),
        borderType=cv2.BORDER_CONSTANT,
        borderValue=0,
    )
    return np.asarray(eroded, dtype=np.uint8).view(np.bool_)


def _draw_kind(rng: np.random.Generator) -> tuple[Shape, int]:
    """Shape of all pieces, and how many there should be where each finds enough room."""
    shape: Shape = "rectangle" if rng.random() < 0.5 else "ellipse"
    return shape, int(rng.choice([1, 1, 1, 2, 2, 3]))


def _draw_centre(rng: np.random.Generator, room: NDArray[Any], *, radius: float) -> tuple[int, int]:
    """Row and column with room for ``radius``, or else one of the roomiest; the map has room somewhere."""
    roomy = np.flatnonzero(room >= min(radius * 1.15, 0.75 * float(room.max())))
    row, column = divmod(int(roomy[int(rng.integers(roomy.size))]), room.shape[1])
    return row, column


def _draw_turn(rng: np.random.Generator) -> float:
    return float(rng.uniform(0.0, 180.0)) if rng.random() < 0.7 else 0.0


def _draw_cuts(rng: np.random.Generator, allowed: Mask, *, wanted: Wanted, corner: tuple[int, int]) -> tuple[Cut, ...]:
    """Draw a still's cuts until they have enough pixels or no more fit into those ``allowed``.

    ``corner`` is the column and row of the frame at which ``allowed`` begins.
    """
    free = allowed.copy()
    room, scale = _coarse_room(free)
    shape, pieces = _draw_kind(rng)
    cuts: list[Cut] = []
    removed = 0
    while removed < wanted.fewest and len(cuts) < _MOST_CUTS:
        share = -(-max(1, wanted.drawn - removed) // max(1, pieces - len(cuts)))
        fitted = _fitted(rng, free, shape=shape, wanted=Wanted(1, share, wanted.most - removed), room=room, scale=scale)
        if fitted is None:
            break
        hole, pixels = fitted
        cuts.append(
            Cut(
                shape=shape,
                x_px=hole.u + corner[0],
                y_px=hole.v + corner[1],
                half_length_px=hole.half_length,
                half_width_px=hole.half_width,
                turn_deg=hole.turn_deg,
            )
        )
        removed += pixels
        # the next cut is kept off this one by two pixels, so that holes do not run together
        larger = replace(hole, half_length=hole.half_length + 2.0, half_width=hole.half_width + 2.0)
        window = _window(larger, larger.reach, free.shape)
        free[boxes.window(window)] &= _norm_over(larger, window) >= 1.0
        rows, columns = ((np.arange(size) + 0.5) * scale - 0.5 for size in room.shape)
        distance = np.hypot(rows[:, None] - hole.v, columns[None, :] - hole.u)
        distance = (distance - np.sqrt(hole.half_length * hole.half_width)) / scale
        np.minimum(room, np.maximum(distance, 0.0).astype(np.float32), out=room)
    return tuple(cuts)


def _coarse_room(free: Mask) -> tuple[NDArray[np.float32], float]:
    """A small map of how much room there is round each cell, and the pixels per cell of it."""
    scale = max(1.0, max(free.shape) / _COARSE_PX)
    if scale == 1.0:
        return regions.depth(free, frame_is_outline=True), scale
    rows, columns = (max(1, int(side / scale)) for side in free.shape)
    small = cv2.resize(free.view(np.uint8), (columns, rows), interpolation=cv2.INTER_NEAREST_EXACT).view(np.bool_)
    return regions.depth(small, frame_is_outline=True), scale


def _fitted(
    rng: np.random.Generator, free: Mask, *, shape: Shape, wanted: Wanted, room: NDArray[np.float32], scale: float
) -> tuple[Hole, int] | None:
    """The best of a few cuts: the first that has all the wanted pixels, else the largest."""
    best: tuple[Hole, int] | None = None
    for _ in range(_TRIES_PER_CUT if float(room.max()) > 0.0 else 0):
        row, column = _draw_centre(rng, room, radius=np.sqrt(wanted.drawn / np.pi) / scale)
        slender = float(rng.uniform(0.4, 1.0))
        u, v = (float((cell + rng.uniform(0.0, 1.0)) * scale - 0.5) for cell in (column, row))
        unit = Hole(shape=shape, u=u, v=v, half_length=1.0, half_width=slender, turn_deg=_draw_turn(rng))
        grown = _grown(unit, free, wanted=wanted)
        if grown is not None and (best is None or grown[1] > best[1]):
            best = grown
        if best is not None and best[1] >= 0.95 * wanted.drawn:
            break
    return best


def _grown(unit: Hole, free: Mask, *, wanted: Wanted) -> tuple[Hole, int] | None:
    """Grow a cut until it has the wanted pixels, or would have too many, or would leave ``free``; with its pixels."""
    reach_px = 1.5 * np.sqrt(wanted.drawn / (2.0 * unit.half_width)) + 3.0
    window = _window(unit, float(reach_px), free.shape)
    norm, inside = _norm_over(unit, window), free[boxes.window(window)]
    blocked = norm[~inside]
    limit = min(float(blocked.min()), float(reach_px)) if blocked.size else float(reach_px)
    usable = norm[inside & (norm < limit)]
    last = last_taken(usable, wanted)
    if last is None:
        return None
    size = max(_halfway(usable, float(last), end=limit), _LEAST_SIZE_PX)
    return replace(unit, half_length=size, half_width=size * unit.half_width), int(np.count_nonzero(usable < size))


def _halfway(values: Doubles, last: float, *, end: float) -> float:
    """Halfway from the last value that is taken to the next one or the end, so that rounding moves no pixel."""
    above = values[values > last]
    return (last + (float(above.min()) if above.size else end)) / 2.0


def _norm_over(hole: Hole, window: Box) -> Doubles:
    """The norm of a still's pixels."""
    columns = np.arange(window[0], window[2], dtype=np.float64)
    rows = np.arange(window[1], window[3], dtype=np.float64)[:, None]
    return hole.norm(columns, rows, length=_root)


def _root(along: Doubles, aside: Doubles) -> Doubles:
    """Length by which version 1 grows a still's cuts; a track's ``hypot`` differs in the last bit of recorded sizes."""
    return np.sqrt(along * along + aside * aside)


def _window(hole: Hole, reach_px: float, shape: tuple[int, ...]) -> Box:
    spot = (int(np.floor(hole.u)), int(np.floor(hole.v)), int(np.ceil(hole.u)) + 1, int(np.ceil(hole.v)) + 1)
    return boxes.grown(spot, int(np.ceil(reach_px)), (shape[0], shape[1]))


def _room_of(frames: Sequence[Posed]) -> Doubles:
    """How much of the object lies round each cell in most frames, in body units: (cells, cells), rows are v."""
    step = max(1, -(-len(frames) // _MOST_FRAMES))
    centres = _cell_centres()
    maps = []
    for frame in frames[::step]:
        x, y = frame.body.pixel_of(centres[None, :], centres[:, None])
        columns = np.rint(x).astype(np.int64) - frame.piece.box[0]
        rows = np.rint(y).astype(np.int64) - frame.piece.box[1]
        height, width = frame.piece.room.shape
        in_box = (columns >= 0) & (columns < width) & (rows >= 0) & (rows < height)
        room = np.zeros(in_box.shape)
        room[in_box] = frame.piece.room[rows[in_box], columns[in_box]]
        maps.append(room / frame.piece.size_px)
    low: Doubles = np.sort(np.stack(maps), axis=0)[int(_LOW_QUANTILE * (len(maps) - 1))]
    return low


def _cell_centres() -> Doubles:
    return (np.arange(_CELLS, dtype=np.float64) + 0.5) * (2 * _EXTENT / _CELLS) - _EXTENT


def _draw_all(rng: np.random.Generator, room: Doubles, *, share: float) -> tuple[Hole, ...]:
    shape, pieces = _draw_kind(rng)
    centres = _cell_centres()
    holes: list[Hole] = []
    removed = 0.0
    while removed < 0.95 * share and len(holes) < _MOST_HOLES and float(room.max()) >= _LEAST_ROOM:
        area = (share - removed) / max(1, pieces - len(holes))
        row, column = _draw_centre(rng, room, radius=float(np.sqrt(area / np.pi)))
        slender = float(rng.uniform(0.45, 1.0))
        unit = Hole(shape=shape, u=0.0, v=0.0, half_length=1.0, half_width=slender, turn_deg=0.0)
        half_length = min(float(np.sqrt(area / unit.area)), float(room[row, column]) / unit.reach)
        hole = Hole(
            shape=shape,
            u=float(centres[column]),
            v=float(centres[row]),
            half_length=half_length,
            half_width=half_length * slender,
            turn_deg=_draw_turn(rng),
        )
        holes.append(hole)
        removed += hole.area
        distance = np.hypot(centres[None, :] - hole.u, centres[:, None] - hole.v)
        np.minimum(room, np.maximum(distance - hole.half_length - _GAP, 0.0), out=room)
    return tuple(holes)


def _least_norm(frame: Posed, holes: tuple[Hole, ...]) -> Doubles:
    """The least norm of all holes over ``piece.box``."""
    cache, key = frame.piece.cache, (frame.body, holes)
    if key not in cache:
        left, top, right, bottom = frame.piece.box
        u, v = frame.body.uv_of(
            np.arange(left, right, dtype=np.float64)[None, :], np.arange(top, bottom, dtype=np.float64)[:, None]
        )
        least: Doubles = np.full(u.shape, np.inf)
        for hole in holes:
            np.minimum(least, hole.norm(u, v), out=least)
        cache.clear()
        cache[key] = least
    cached: Doubles = cache[key]
    return cached


STRESSOR = Cutout()
