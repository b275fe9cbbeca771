"""Freehand cutout: pieces are missing, in other shapes than rectangles and ellipses.

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

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Final, Literal, NamedTuple, TypeAlias

import cv2
import numpy as np
from msgspec import Meta

from auscult.arrays import boxes
from auscult.outcome import Undefined
from auscult.stress.masks.base import Coordinate, Doubles, Turn, Workpiece, undefined, wanted_px, workpiece
from auscult.stress.masks.freehand.outline import enlarged, grid, level_for, narrowest, shares, wobble
from auscult.stress.perturbation import JsonParams
from auscult.types import Defect, Difficulty, Floats, Mask, MaskTarget, Metadata

Mode: TypeAlias = Literal["stroke", "wedge", "bite", "holes", "crop", "limb"]

MODES: Final[tuple[Mode, ...]] = ("stroke", "wedge", "bite", "holes", "crop", "limb")
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

    mode: Mode  # their shape
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
    along = np.linspace(0.0, 1.0, _SEGMENTS + 1)
    weights = (1 - along) ** 2, 2 * along * (1 - along), along**2
    line_x = weights[0] * first.x_px + weights[1] * pulled.x_px + weights[2] * last.x_px
    line_y = weights[0] * first.y_px + weights[1] * pulled.y_px + weights[2] * last.y_px
    best: Doubles = np.full((y.size, x.size), np.inf)
    for i in range(_SEGMENTS):
        step_x, step_y = line_x[i + 1] - line_x[i], line_y[i + 1] - line_y[i]
        length = max(float(step_x**2 + step_y**2), 1e-9)
        share = np.clip(((x - line_x[i]) * step_x + (y - line_y[i]) * step_y) / length, 0.0, 1.0)
        away = np.hypot(x - line_x[i] - share * step_x, y - line_y[i] - share * step_y)
        thickness = 1.0 + 0.25 * np.sin(6.0 * (along[i] + share / _SEGMENTS) + pulled.turn_deg)
        best = np.minimum(best, away / thickness)
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
    """Give cells beside the object their neighbours' steps, so that enlarging keeps its edge; far off, many."""
    most = float(steps[np.isfinite(steps)].max()) * 2.0 + 10.0
    filled = np.where(np.isfinite(steps), steps, most).astype(np.float32)
    nearby = np.asarray(cv2.erode(filled, np.ones((3, 3), np.uint8), borderType=cv2.BORDER_REPLICATE))
    return np.where(np.isfinite(steps), filled, nearby).astype(np.float64)


_MAPS: Final[Mapping[Mode, Callable[[Workpiece, tuple[Spot, ...]], Doubles]]] = {
    "stroke": _stroke,
    "wedge": _wedge,
    "bite": _blobs,
    "holes": _blobs,
    "crop": _crop,
    "limb": _limb,
}


_ROUNDS: Final = 2
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
        own = piece.mask[boxes.window(piece.box)]
        for mode in [MODES[index] for _ in range(_ROUNDS) for index in rng.permutation(len(MODES))]:
            drawn = LossParams(mode=mode, spots=_spots(rng, mode, sampler=sampler))
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


class _SpotSampler:
    """Where spots may be drawn, on the coarse grid."""

    def __init__(self, piece: Workpiece) -> None:
        x, y = grid(piece.box)
        own = shares(piece.mask, piece.box) >= 0.5
        if not own.any():
            own = shares(piece.mask, piece.box) > _LEAST_LEFT
        rows, columns = np.nonzero(own)
        self.all = np.stack([x[0, columns], y[rows, 0]], axis=1)
        left, top, right, bottom = piece.box
        beside = np.clip(np.rint(x[0] - left).astype(np.int64), 0, right - left - 1) + left - piece.inside[0]
        below = np.clip(np.rint(y[:, 0] - top).astype(np.int64), 0, bottom - top - 1) + top - piece.inside[1]
        # an object that fills the frame has no outline, and is infinitely deep
        deep = np.minimum(piece.depth[below[rows], beside[columns]], np.float32(_DEEPEST_PX))
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


def _spots(rng: np.random.Generator, mode: Mode, *, sampler: _SpotSampler) -> tuple[Spot, ...]:
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


STRESSOR = FreehandCutout()
