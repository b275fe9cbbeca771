"""Freehand cutout: pieces are missing, in other shapes than rectangles and ellipses.

Source: the windows are those of MQ-RAVSBench, Sec. 3.2, Eq. 4; the shapes are our own.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np

from auscult.arrays import boxes
from auscult.outcome import Undefined
from auscult.stress.masks.base import Workpiece, undefined, workpiece
from auscult.stress.masks.freehand.grids import grid, shares
from auscult.stress.masks.freehand.levels import level_for, narrowest, wanted_px
from auscult.stress.masks.freehand.losses import MODES, LossParams, Mode, Spot, loss_map
from auscult.types import Defect, Difficulty, Mask, MaskTarget, Metadata

_ROUNDS: Final = 2
_INNER: Final = 0.45  # share of the greatest depth from which a place counts as inside
_LEAST_LEFT: Final = 1e-3


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
        wanted = wanted_px(rng, piece.area_px, difficulty, adds=False)
        if wanted is None:
            return undefined("window_not_reached", area_px=piece.area_px)
        places = _Places(piece)
        own = piece.mask[boxes.window(piece.box)]
        for mode in [MODES[place] for _ in range(_ROUNDS) for place in rng.permutation(len(MODES))]:
            drawn = LossParams(mode=mode, spots=_spots(rng, mode, places=places))
            values = loss_map(piece, drawn)[own]
            level = narrowest(values, wanted) if mode == "limb" else level_for(values, wanted)
            if level is not None:
                return replace(drawn, level=level)
        return undefined("no_interior", area_px=piece.area_px, fewest_px=wanted.fewest, most_px=wanted.most)

    def render(self, target: MaskTarget, params: LossParams) -> Mask:
        """The target without the pieces."""
        piece = workpiece(target)
        result = target.mask.copy()
        result[boxes.window(piece.box)] &= loss_map(piece, params) > np.float32(params.level)
        return result


class _Places:
    """Where spots may be drawn, on the coarse grid.

    Args:
        piece: The target.
    """

    def __init__(self, piece: Workpiece) -> None:
        x, y = grid(piece.box)
        self._x, self._y = x[0], y[:, 0]
        own = shares(piece.mask, piece.box) >= 0.5
        if not own.any():
            own = shares(piece.mask, piece.box) > _LEAST_LEFT
        rows, columns = np.nonzero(own)
        self.all = np.stack([self._x[columns], self._y[rows]], axis=1)
        depth = piece.depth[boxes.window(_within(piece))]
        at_cells = depth[_nearest(self._y, piece.box[1], depth.shape[0])][
            :, _nearest(self._x, piece.box[0], depth.shape[1])
        ]
        deep = at_cells[rows, columns]
        self.inner = self.all[deep >= _INNER * deep.max()]
        self.rim = self.all[deep <= np.quantile(deep, 0.25)]

    def draw(self, rng: np.random.Generator, among: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> Spot:
        """One of the places, with a direction."""
        x_px, y_px = among[int(rng.integers(len(among)))]
        return Spot(float(x_px), float(y_px), 1.0, float(rng.uniform(0.0, 360.0)))

    def end(self, turn_deg: float) -> Spot:
        """The object's end in a direction."""
        turn = np.deg2rad(turn_deg)
        x_px, y_px = self.all[int(np.argmax(self.all @ np.array([np.cos(turn), np.sin(turn)])))]
        return Spot(float(x_px), float(y_px), 1.0, turn_deg)


def _within(piece: Workpiece) -> tuple[int, int, int, int]:
    """``piece.box`` in the coordinates of ``piece.depth``."""
    left, top = piece.box[0] - piece.inside[0], piece.box[1] - piece.inside[1]
    return left, top, left + piece.box[2] - piece.box[0], top + piece.box[3] - piece.box[1]


def _nearest(
    places: np.ndarray[tuple[int, ...], np.dtype[np.float64]], start: int, size: int
) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    return np.clip(np.rint(places - start).astype(np.int64), 0, size - 1)


def _spots(rng: np.random.Generator, mode: Mode, *, places: _Places) -> tuple[Spot, ...]:
    turn_deg = float(rng.uniform(0.0, 360.0))
    if mode == "stroke":
        opposite = (turn_deg + float(rng.uniform(120.0, 240.0))) % 360.0
        return places.end(turn_deg), places.draw(rng, places.inner), places.end(opposite)
    if mode == "bite":
        count = int(rng.integers(1, 3))
        return tuple(replace(places.draw(rng, places.rim), size=float(rng.uniform(0.6, 1.0))) for _ in range(count))
    if mode == "holes":
        count = int(rng.integers(3, 7))
        return tuple(replace(places.draw(rng, places.inner), size=float(rng.uniform(0.5, 1.0))) for _ in range(count))
    if mode == "wedge":
        return (places.draw(rng, places.inner),)
    return (places.end(turn_deg),)


STRESSOR = FreehandCutout()
