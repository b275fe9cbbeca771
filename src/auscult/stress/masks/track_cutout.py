"""Holes that keep their place on an object through a clip.

Places, shapes and relative sizes of the holes are drawn once, in body coordinates, where the object has room in most
frames. In each frame one common factor scales them so that the exact IoU lies in the window; the factor is an order
statistic, so no search is needed. A hole leaves a rim of the object standing where the object allows it.

Source: MQ-RAVSBench, Sec. 3.2, Eq. 4, and the video protocol of Sec. 4.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, cast

import numpy as np
from numpy.typing import NDArray

from auscult.arrays import boxes
from auscult.outcome import Undefined
from auscult.stress.masks import fields
from auscult.stress.masks.base import undefined
from auscult.stress.masks.body import Body, Posed
from auscult.stress.masks.cutout import Shape
from auscult.types import Mask

_MOST_HOLES: Final = 8
_CELLS: Final = 64
_EXTENT: Final = 1.6  # the map of room covers body coordinates from minus to plus this
_MOST_FRAMES: Final = 12  # that the map of room looks at
_LOW_QUANTILE: Final = 0.25
_LEAST_ROOM: Final = 0.035
_GAP: Final = 0.03
_DRAWS: Final = 4
_WIDEST: Final = 2.5  # a hole grown by more is not the same hole any more
_RIM: Final = 0.03


@dataclass(frozen=True, slots=True, kw_only=True)
class Hole:
    """One hole in body coordinates, where the object's area is 1."""

    shape: Shape
    u: float
    v: float
    half_length: float
    half_width: float
    turn_deg: float

    @property
    def area(self) -> float:
        """Share of the object's area."""
        return self.half_length * self.half_width * (4.0 if self.shape == "rectangle" else float(np.pi))

    def norm(self, u: NDArray[np.float64], v: NDArray[np.float64]) -> NDArray[np.float64]:
        """How far out each place is, in units of the half axes."""
        turn = np.deg2rad(self.turn_deg)
        along = ((u - self.u) * np.cos(turn) + (v - self.v) * np.sin(turn)) / self.half_length
        aside = ((v - self.v) * np.cos(turn) - (u - self.u) * np.sin(turn)) / self.half_width
        norm: NDArray[np.float64]
        norm = np.maximum(np.abs(along), np.abs(aside)) if self.shape == "rectangle" else np.hypot(along, aside)
        return norm


@dataclass(frozen=True, slots=True, kw_only=True)
class HoleParams:
    """The holes of one frame: those of the track, the frame's body, and how much they are scaled.

    Attributes:
        holes: The same in all frames of a track.
        body: Where the object is.
        size: Common factor on the half axes.
        rim_px: Object pixels no farther than this from the outside are left standing.
    """

    holes: tuple[Hole, ...]
    body: Body
    size: float
    rim_px: int

    def as_json(self) -> dict[str, Any]:
        """The same as JSON values."""
        return {
            "holes": [
                {
                    "shape": hole.shape,
                    "u": hole.u,
                    "v": hole.v,
                    "half_length": hole.half_length,
                    "half_width": hole.half_width,
                    "turn_deg": hole.turn_deg,
                }
                for hole in self.holes
            ],
            "body": self.body.as_json(),
            "size": self.size,
            "rim_px": self.rim_px,
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> HoleParams:
        """Read what ``as_json`` wrote.

        Raises:
            InputError: A key is missing, unknown, or holds a value out of range.
        """
        given = fields.exactly(value, ("holes", "body", "size", "rim_px"))
        return cls(
            holes=tuple(_hole(item) for item in fields.listed(given["holes"], "holes", most=_MOST_HOLES)),
            body=Body.from_json(given["body"]),
            size=fields.real(given["size"], "size", low=0.0, high=_WIDEST),
            rim_px=fields.whole(given["rim_px"], "rim_px", low=0, high=1_000_000),
        )


def _hole(value: object) -> Hole:
    given = fields.exactly(value, ("shape", "u", "v", "half_length", "half_width", "turn_deg"))
    return Hole(
        shape=cast("Shape", fields.one_of(given["shape"], "shape", ("rectangle", "ellipse"))),
        u=fields.real(given["u"], "u", low=-1e3, high=1e3),
        v=fields.real(given["v"], "v", low=-1e3, high=1e3),
        half_length=fields.real(given["half_length"], "half_length", low=1e-4, high=1e3),
        half_width=fields.real(given["half_width"], "half_width", low=1e-4, high=1e3),
        turn_deg=fields.real(given["turn_deg"], "turn_deg", low=-360.0, high=360.0),
    )


def draw(rng: np.random.Generator, frames: Sequence[Posed], *, share: float) -> tuple[Hole, ...]:
    """Draw the holes of a track.

    Args:
        rng: Draws their number, shape, places and turns.
        frames: The target where it is seen, at least one frame.
        share: Of the object's area that the holes should have.

    Returns:
        One to eight holes, or none where the object is nowhere wide enough.
    """
    room = room_of(frames)
    best: tuple[Hole, ...] = ()
    for _ in range(_DRAWS):
        drawn = _drawn(rng, room.copy(), share=share)
        if not best or sum(hole.area for hole in drawn) > sum(hole.area for hole in best):
            best = drawn
        if sum(hole.area for hole in best) >= 0.9 * share:
            break
    return best


def room_of(frames: Sequence[Posed]) -> NDArray[np.float64]:
    """How much of the object lies round each place in most frames, in body units: (cells, cells), rows are v."""
    step = max(1, -(-len(frames) // _MOST_FRAMES))
    places = _places()
    maps = []
    for frame in frames[::step]:
        x, y = frame.body.pixel_of(places[None, :], places[:, None])
        columns = np.rint(x).astype(np.int64) - frame.piece.box[0]
        rows = np.rint(y).astype(np.int64) - frame.piece.box[1]
        height, width = frame.room.shape
        seen = (columns >= 0) & (columns < width) & (rows >= 0) & (rows < height)
        room = np.zeros(seen.shape)
        room[seen] = frame.room[rows[seen], columns[seen]]
        maps.append(room / frame.piece.size_px)
    low: NDArray[np.float64] = np.sort(np.stack(maps), axis=0)[int(_LOW_QUANTILE * (len(maps) - 1))]
    return low


def _places() -> NDArray[np.float64]:
    places: NDArray[np.float64] = (np.arange(_CELLS, dtype=np.float64) + 0.5) * (2 * _EXTENT / _CELLS) - _EXTENT
    return places


def _drawn(rng: np.random.Generator, room: NDArray[np.float64], *, share: float) -> tuple[Hole, ...]:
    shape: Shape = "rectangle" if rng.random() < 0.5 else "ellipse"
    pieces = int(rng.choice([1, 1, 1, 2, 2, 3]))
    holes: list[Hole] = []
    taken = 0.0
    while taken < 0.95 * share and len(holes) < _MOST_HOLES and float(room.max()) >= _LEAST_ROOM:
        wanted = (share - taken) / max(1, pieces - len(holes))
        hole = _one(rng, room, shape=shape, area=wanted)
        holes.append(hole)
        taken += hole.area
        places = _places()
        away = np.hypot(places[None, :] - hole.u, places[:, None] - hole.v)
        np.minimum(room, np.maximum(away - hole.half_length - _GAP, 0.0), out=room)
    return tuple(holes)


def _one(rng: np.random.Generator, room: NDArray[np.float64], *, shape: Shape, area: float) -> Hole:
    radius = float(np.sqrt(area / np.pi))
    cells = np.flatnonzero(room >= min(1.15 * radius, 0.75 * float(room.max())))
    row, column = divmod(int(cells[int(rng.integers(cells.size))]), _CELLS)
    slender = float(rng.uniform(0.45, 1.0))
    around = float(room[row, column])
    if shape == "rectangle":
        half_length = min(float(np.sqrt(area / (4 * slender))), around / float(np.hypot(1.0, slender)))
    else:
        half_length = min(float(np.sqrt(area / (np.pi * slender))), around)
    places = _places()
    return Hole(
        shape=shape,
        u=float(places[column]),
        v=float(places[row]),
        half_length=half_length,
        half_width=half_length * slender,
        turn_deg=float(rng.uniform(0.0, 180.0)) if rng.random() < 0.7 else 0.0,
    )


def solve(frame: Posed, holes: tuple[Hole, ...], *, wanted: tuple[int, int, int]) -> HoleParams | Undefined:
    """Scale a track's holes for one frame.

    Args:
        frame: The target and its body.
        holes: From ``draw``.
        wanted: The fewest, the wanted and the most pixels that may be missing.

    Returns:
        The frame's parameters, or ``Undefined`` where the object is too thin at the holes' place.
    """
    fewest, middle, most = wanted
    if not holes:
        return undefined("no_interior", area_px=frame.piece.area_px)
    norm = _norm(frame, holes)
    for rim_px in _rims(frame):
        inside = frame.room > rim_px
        usable = norm[inside]
        usable = usable[usable < _WIDEST]
        if usable.size < fewest:
            continue
        size = _size(usable, fewest=fewest, middle=min(middle, usable.size), most=most)
        if size is not None:
            return HoleParams(holes=holes, body=frame.body, size=size, rim_px=rim_px)
    return undefined("window_not_reached", area_px=frame.piece.area_px, fewest_px=fewest, most_px=most)


def _rims(frame: Posed) -> list[int]:
    wide = max(1, round(_RIM * frame.piece.size_px))
    return sorted({wide, 1, 0}, reverse=True)


def _size(usable: NDArray[np.float64], *, fewest: int, middle: int, most: int) -> float | None:
    """The factor below which about ``middle`` pixels lie, halfway between two pixels' so that rounding moves none."""
    last = float(np.partition(usable, middle - 1)[middle - 1])
    count = int(np.count_nonzero(usable <= last))
    if count > most:  # the pixels of a rectangle's side only come together
        below = usable[usable < last]
        if below.size < fewest:
            return None
        last = float(below.max())
    above = usable[usable > last]
    return (last + (float(above.min()) if above.size else _WIDEST)) / 2.0


def _norm(frame: Posed, holes: tuple[Hole, ...]) -> NDArray[np.float64]:
    """The least norm of all holes over ``piece.box``."""
    if holes not in frame.kept:
        frame.kept.clear()
        frame.kept[holes] = _fresh_norm(frame, holes)
    found: NDArray[np.float64] = frame.kept[holes]
    return found


def _fresh_norm(frame: Posed, holes: tuple[Hole, ...]) -> NDArray[np.float64]:
    left, top, right, bottom = frame.piece.box
    u, v = frame.body.place_of(
        np.arange(left, right, dtype=np.float64)[None, :], np.arange(top, bottom, dtype=np.float64)[:, None]
    )
    least: NDArray[np.float64] = np.full(u.shape, np.inf)
    for hole in holes:
        np.minimum(least, hole.norm(u, v), out=least)
    return least


def render(frame: Posed, params: HoleParams) -> Mask:
    """The target without its holes, a new bool (H, W)."""
    posed = frame if frame.body == params.body else replace(frame, body=params.body)
    cut = (posed.room > params.rim_px) & (_norm(posed, params.holes) < params.size)
    result = frame.piece.mask.copy()
    result[boxes.window(frame.piece.box)] &= ~cut
    return result
