"""Cutout: rectangles and ellipses are missing from the inside of the object.

A cut is placed where the object is wide enough, and grown until it has the wanted area or meets the outline. Where the
object allows it, cuts are holes that leave the outline whole; where it is too thin, they may touch it.

Source: MQ-RAVSBench, Sec. 3.2, Eq. 4.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, cast

import cv2
import numpy as np
from numpy.typing import NDArray

from auscult.arrays import boxes, regions
from auscult.outcome import Undefined
from auscult.stress.masks import bands, fields
from auscult.stress.masks.base import undefined, workpiece
from auscult.types import Box, Defect, Difficulty, Mask, MaskTarget, Metadata

_MOST_CUTS: Final = 12
_ATTEMPTS: Final = 6
_TRIES_PER_CUT: Final = 4
_COARSE_PX: Final = 96  # the map that centres are drawn from has at most this many rows and columns
_FAR: Final = 1e6

Shape = Literal["rectangle", "ellipse"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """One missing piece, in frame coordinates; pixel (row, column) lies at y = row, x = column."""

    shape: Shape
    x_px: float
    y_px: float
    half_length_px: float
    half_width_px: float
    turn_deg: float


@dataclass(frozen=True, slots=True)
class CutoutParams:
    """The pieces that are cut out."""

    cuts: tuple[Cut, ...]

    def as_json(self) -> dict[str, Any]:
        """The same as JSON values."""
        return {
            "cuts": [
                {
                    "shape": cut.shape,
                    "x_px": cut.x_px,
                    "y_px": cut.y_px,
                    "half_length_px": cut.half_length_px,
                    "half_width_px": cut.half_width_px,
                    "turn_deg": cut.turn_deg,
                }
                for cut in self.cuts
            ]
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> CutoutParams:
        """Read what ``as_json`` wrote.

        Raises:
            InputError: A key is missing, unknown, or holds a value out of range.
        """
        given = fields.exactly(value, ("cuts",))
        return cls(tuple(_cut(item) for item in fields.listed(given["cuts"], "cuts", most=_MOST_CUTS)))


def _cut(value: object) -> Cut:
    given = fields.exactly(value, ("shape", "x_px", "y_px", "half_length_px", "half_width_px", "turn_deg"))
    return Cut(
        shape=cast("Shape", fields.one_of(given["shape"], "shape", ("rectangle", "ellipse"))),
        x_px=fields.real(given["x_px"], "x_px", low=-_FAR, high=_FAR),
        y_px=fields.real(given["y_px"], "y_px", low=-_FAR, high=_FAR),
        half_length_px=fields.real(given["half_length_px"], "half_length_px", low=1e-3, high=_FAR),
        half_width_px=fields.real(given["half_width_px"], "half_width_px", low=1e-3, high=_FAR),
        turn_deg=fields.real(given["turn_deg"], "turn_deg", low=-360.0, high=360.0),
    )


class Cutout:
    """Takes pieces out of the object; the result is a subset of the target."""

    name = "masks.cutout.v1"
    defect: Defect = "cutout"
    difficulties: tuple[Difficulty, ...] = ("hard", "medium")
    params = CutoutParams
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
        fewest, most = bands.needed_px(piece.area_px, difficulty, side="inside")
        if fewest > most:
            return undefined("window_not_reached", area_px=piece.area_px)
        wanted = int(rng.integers(fewest, most, endpoint=True))
        room = piece.mask[boxes.window(piece.box)]
        for allowed in (_kernel_inside(room), room):  # holes first; cuts that touch the outline where no hole fits
            if np.count_nonzero(allowed) < fewest:
                continue
            for _ in range(_ATTEMPTS):
                cuts = _draw(rng, allowed, wanted=(fewest, wanted, most))
                params = CutoutParams(tuple(_moved(cut, piece.box) for cut in cuts))
                lost = piece.area_px - int(np.count_nonzero(self.render(piece, params)))
                if fewest <= lost <= most:
                    return params
        return undefined("no_interior", area_px=piece.area_px, fewest_px=fewest, most_px=most)

    def render(self, target: MaskTarget, params: CutoutParams) -> Mask:
        """The target without the pieces."""
        result = target.mask.copy()
        for cut in params.cuts:
            window = _window(cut, _reach_px(cut), result.shape)
            if boxes.area(window) > 0:
                result[boxes.window(window)] &= _norm(cut, window) >= 1.0
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


def _draw(rng: np.random.Generator, allowed: Mask, *, wanted: tuple[int, int, int]) -> list[Cut]:
    """Draw cuts inside ``allowed`` until they have enough pixels or no more fit.

    Args:
        rng: Draws places, shapes, turns and the number of cuts.
        allowed: Pixels that may be cut.
        wanted: The fewest, the wanted and the most pixels in all.
    """
    fewest, middle, most = wanted
    free = allowed.copy()
    width_map, scale = _coarse_widths(free)
    shape: Shape = "rectangle" if rng.random() < 0.5 else "ellipse"
    pieces = int(rng.choice([1, 1, 1, 2, 2, 3]))
    cuts: list[Cut] = []
    taken = 0
    while taken < fewest and len(cuts) < _MOST_CUTS:
        share = -(-max(1, middle - taken) // max(1, pieces - len(cuts)))
        found = _fitted(rng, free, shape=shape, wanted=(share, most - taken), width_map=width_map, scale=scale)
        if found is None:
            break
        cut, pixels = found
        cuts.append(cut)
        taken += pixels
        _take(free, cut)
        _narrow(width_map, cut, scale)
    return cuts


def _fitted(
    rng: np.random.Generator,
    free: Mask,
    *,
    shape: Shape,
    wanted: tuple[int, int],
    width_map: NDArray[np.float32],
    scale: float,
) -> tuple[Cut, int] | None:
    """The best of a few cuts: the first that has all the wanted pixels, else the largest."""
    best: tuple[Cut, int] | None = None
    for _ in range(_TRIES_PER_CUT):
        centre = _centre(rng, width_map, radius=np.sqrt(wanted[0] / np.pi) / scale)
        if centre is None:
            break
        slender = float(rng.uniform(0.4, 1.0))
        x_px, y_px = ((place + rng.uniform(0.0, 1.0)) * scale - 0.5 for place in centre)
        unit = Cut(
            shape=shape,
            x_px=float(x_px),
            y_px=float(y_px),
            half_length_px=1.0,
            half_width_px=slender,
            turn_deg=float(rng.uniform(0.0, 180.0)) if rng.random() < 0.7 else 0.0,
        )
        found = _grown(unit, free, wanted=wanted)
        if found is not None and (best is None or found[1] > best[1]):
            best = found
        if best is not None and best[1] >= 0.95 * wanted[0]:
            break
    return best


def _grown(unit: Cut, free: Mask, *, wanted: tuple[int, int]) -> tuple[Cut, int] | None:
    """Grow a cut until it has the wanted pixels, or would have too many, or would leave ``free``; with its pixels."""
    share, most = wanted
    reach_px = 1.5 * np.sqrt(share / (2.0 * unit.half_width_px)) + 3.0
    window = _window(unit, float(reach_px), free.shape)
    norm, inside = _norm(unit, window), free[boxes.window(window)]
    blocked = norm[~inside]
    limit = min(float(blocked.min()), float(reach_px)) if blocked.size else float(reach_px)
    usable = norm[inside & (norm < limit)]
    if usable.size == 0:
        return None
    count = min(share, usable.size)
    last = np.partition(usable, count - 1)[count - 1]
    if np.count_nonzero(usable <= last) > most:  # the pixels of a rectangle's side only come together
        below = usable[usable < last]
        if below.size == 0:
            return None
        last = below.max()
    above = usable[usable > last]
    size = (float(last) + (float(above.min()) if above.size else limit)) / 2.0  # between pixels: rounding moves none
    cut = replace(unit, half_length_px=max(size, 0.01), half_width_px=max(size, 0.01) * unit.half_width_px)
    return cut, int(np.count_nonzero(usable < max(size, 0.01)))


def _norm(cut: Cut, window: Box) -> NDArray[np.float64]:
    """How far each pixel is out, in units of the cut's half axes: below 1 is inside."""
    turn = np.deg2rad(cut.turn_deg)
    across = np.arange(window[0], window[2]) - cut.x_px
    down = (np.arange(window[1], window[3]) - cut.y_px)[:, None]
    along = (across * np.cos(turn) + down * np.sin(turn)) / cut.half_length_px
    aside = (down * np.cos(turn) - across * np.sin(turn)) / cut.half_width_px
    norm: NDArray[np.float64]
    if cut.shape == "rectangle":
        norm = np.maximum(np.abs(along), np.abs(aside))
    else:
        norm = np.sqrt(along * along + aside * aside)
    return norm


def _reach_px(cut: Cut) -> float:
    corner = np.hypot(cut.half_length_px, cut.half_width_px)
    return float(corner) if cut.shape == "rectangle" else max(cut.half_length_px, cut.half_width_px)


def _window(cut: Cut, reach_px: float, shape: tuple[int, ...]) -> Box:
    spot = (int(np.floor(cut.x_px)), int(np.floor(cut.y_px)), int(np.ceil(cut.x_px)) + 1, int(np.ceil(cut.y_px)) + 1)
    return boxes.grown(spot, int(np.ceil(reach_px)), (shape[0], shape[1]))


def _moved(cut: Cut, box: Box) -> Cut:
    return replace(cut, x_px=cut.x_px + box[0], y_px=cut.y_px + box[1])


def _take(free: Mask, cut: Cut) -> None:
    """Keep the next cut off this one by two pixels, so that holes do not run together."""
    larger = replace(cut, half_length_px=cut.half_length_px + 2.0, half_width_px=cut.half_width_px + 2.0)
    window = _window(larger, _reach_px(larger), free.shape)
    free[boxes.window(window)] &= _norm(larger, window) >= 1.0


def _coarse_widths(free: Mask) -> tuple[NDArray[np.float32], float]:
    """A small map of how much room there is round each place, and the pixels per cell of it."""
    scale = max(1.0, max(free.shape) / _COARSE_PX)
    if scale == 1.0:
        return regions.depth(free, frame_is_outline=True), scale
    rows, columns = (max(1, int(side / scale)) for side in free.shape)
    small = cv2.resize(free.view(np.uint8), (columns, rows), interpolation=cv2.INTER_NEAREST_EXACT).view(np.bool_)
    return regions.depth(small, frame_is_outline=True), scale


def _narrow(width_map: NDArray[np.float32], cut: Cut, scale: float) -> None:
    """Take the room of a cut off the map."""
    rows = (np.arange(width_map.shape[0]) + 0.5) * scale - 0.5 - cut.y_px
    columns = (np.arange(width_map.shape[1]) + 0.5) * scale - 0.5 - cut.x_px
    away = (np.hypot(rows[:, None], columns[None, :]) - np.sqrt(cut.half_length_px * cut.half_width_px)) / scale
    np.minimum(width_map, np.maximum(away, 0.0).astype(np.float32), out=width_map)


def _centre(rng: np.random.Generator, width_map: NDArray[np.float32], *, radius: float) -> tuple[int, int] | None:
    """Draw a place with room for ``radius`` cells, or else one of the roomiest."""
    widest = float(width_map.max())
    if widest <= 0.0:
        return None
    places = np.flatnonzero(width_map >= min(radius * 1.15, 0.75 * widest))
    row, column = divmod(int(places[int(rng.integers(places.size))]), width_map.shape[1])
    return column, row


STRESSOR = Cutout()
