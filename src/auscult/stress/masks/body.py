"""Coordinates that go with an object through a clip, so that a defect stays where it is on the object.

Body coordinates have their origin at the centroid and are scaled so that the object's area is 1. They follow the
object's turn: a frame's shape is laid over that of the frame before, and the angle at which the two agree best is added
up. Only masks are looked at. Where the shape does not tell its turn (a disc), it is taken not to turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from auscult.arrays import boxes
from auscult.stress.masks.base import Coordinate, Workpiece
from auscult.types import Mask

_ANGLES: Final = 180
_RADII: Final = (np.arange(24) + 0.5) / 24 * 1.5
_WIDEST_TURN: Final = 30  # cells of 2 degrees that a body may turn from one frame to the next
_PENALTY: Final = 0.10  # agreement that a turn by half a circle must bring over none
_LEAST_AREA_PX: Final = 1e-3


class Body(NamedTuple):
    """Where an object is in one frame: pixel = (x, y) + u * (ux, uy) + v * (vx, vy) for body coordinates (u, v)."""

    x_px: Coordinate
    y_px: Coordinate
    ux_px: Coordinate
    uy_px: Coordinate
    vx_px: Coordinate
    vy_px: Coordinate

    @property
    def area_px(self) -> float:
        """Pixels of one unit of area."""
        return self.ux_px * self.vy_px - self.uy_px * self.vx_px

    def pixel_of(self, u: NDArray[np.float64], v: NDArray[np.float64]) -> tuple[Any, Any]:
        """Columns and rows (x, y) of body coordinates."""
        return self.x_px + u * self.ux_px + v * self.vx_px, self.y_px + u * self.uy_px + v * self.vy_px

    def uv_of(self, x: NDArray[np.float64], y: NDArray[np.float64]) -> tuple[Any, Any]:
        """Body coordinates (u, v) of columns and rows."""
        across, down = x - self.x_px, y - self.y_px
        u = (across * self.vy_px - down * self.vx_px) / self.area_px
        v = (down * self.ux_px - across * self.uy_px) / self.area_px
        return u, v


FRAME: Final = Body(0.0, 0.0, 1.0, 0.0, 0.0, 1.0)
"""A still is a clip of one frame, and its body coordinates are the pixels of that frame."""


def check_body(body: Body) -> None:
    """Refuse recorded axes that span nothing, with the ValueError that ``codec`` expects of a rule between fields."""
    if not body.area_px >= _LEAST_AREA_PX:
        raise ValueError(f"the body's axes span {body.area_px:g} pixels, at least {_LEAST_AREA_PX} are needed")


class Posed(NamedTuple):
    """A frame's target with its body."""

    piece: Workpiece
    body: Body


def bodies(pieces: Sequence[Workpiece | None]) -> tuple[Body | None, ...]:
    """The body of each frame's target, in order of time; None where there is no target."""
    found: list[Body | None] = []
    turn = 0.0
    before: NDArray[np.float64] | None = None
    for piece in pieces:
        if piece is None:
            found.append(None)
            continue
        upright = _upright(piece)
        print_now = _print(piece.mask, upright)
        if before is not None:
            turn += _turn(before, print_now)
        before = print_now
        found.append(_turned(upright, turn))
    return tuple(found)


def _upright(piece: Workpiece) -> Body:
    """Centroid and scale; a similarity, so that no direction is favoured."""
    rows, columns = np.nonzero(piece.mask[boxes.window(piece.box)])
    size = piece.size_px
    return Body(float(columns.mean()) + piece.box[0], float(rows.mean()) + piece.box[1], size, 0.0, 0.0, size)


def _turned(body: Body, turn: float) -> Body:
    cos, sin = float(np.cos(turn)), float(np.sin(turn))
    return Body(
        body.x_px,
        body.y_px,
        cos * body.ux_px + sin * body.vx_px,
        cos * body.uy_px + sin * body.vy_px,
        cos * body.vx_px - sin * body.ux_px,
        cos * body.vy_px - sin * body.uy_px,
    )


def _print(mask: Mask, body: Body) -> NDArray[np.float64]:
    """The mask in polar body coordinates, weighted by area: (radii, angles)."""
    angles = np.arange(_ANGLES) * (2 * np.pi / _ANGLES)
    x, y = body.pixel_of(_RADII[:, None] * np.cos(angles), _RADII[:, None] * np.sin(angles))
    columns, rows = np.rint(x).astype(np.int64), np.rint(y).astype(np.int64)
    seen = (columns >= 0) & (columns < mask.shape[1]) & (rows >= 0) & (rows < mask.shape[0])
    inside = np.zeros(seen.shape)
    inside[seen] = mask[rows[seen], columns[seen]]
    inside *= np.sqrt(_RADII)[:, None]
    return inside


def _turn(before: NDArray[np.float64], now: NDArray[np.float64]) -> float:
    """The turn in radians at which two prints agree best; small turns are preferred."""
    spectrum = np.fft.rfft(now, axis=1) * np.conj(np.fft.rfft(before, axis=1))
    shared = np.fft.irfft(spectrum.sum(axis=0), n=_ANGLES)
    norm = float(np.sqrt((before**2).sum() * (now**2).sum()))
    steps = np.arange(-_WIDEST_TURN, _WIDEST_TURN + 1)
    score = np.round(shared[steps] / max(norm, 1e-9), 9) - _PENALTY * np.abs(steps) / (_ANGLES / 2)
    best = int(np.lexsort((np.abs(steps), -score))[0])
    cell = 2 * np.pi / _ANGLES
    if not 0 < best < steps.size - 1 or steps[best] == 0:
        return float(steps[best]) * cell
    left, middle, right = (float(score[best + step]) for step in (-1, 0, 1))
    bend = left - 2 * middle + right
    return (float(steps[best]) + (0.5 * (left - right) / bend if bend < 0 else 0.0)) * cell
