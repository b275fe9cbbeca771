"""Choose and render an error along the outline, shared by erode and dilate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

import numpy as np

from auscult.arrays import boxes, regions
from auscult.outcome import Undefined
from auscult.stress.masks.base import Reason, Workpiece, undefined, widest_px
from auscult.stress.masks.freehand.edge_maps import Side, distance_of, edge_map, window_of
from auscult.stress.masks.freehand.edges import MAPS, MODES, EdgeParams, Lobe, Mode
from auscult.stress.masks.freehand.levels import Wanted, level_for, wanted_px
from auscult.stress.masks.freehand.shapes import Outline, shaped
from auscult.types import Difficulty, Mask

_ROUNDS: Final = 2
_STEPS: Final = 12
_LOBE: Final = 0.6  # how far a lobe may stand out, in shares of the widest error: farther out it is another thing
_LEAST_ALONG: Final = 0.2  # share of the outline that an error along it touches
_MOST_LOOSE: Final = 0.12  # share of the target that an erosion may leave cut off from the rest


def choose(rng: np.random.Generator, piece: Workpiece, *, difficulty: Difficulty, side: Side) -> EdgeParams | Undefined:
    """Draw an error along the outline that puts the IoU into the window.

    Args:
        rng: Draws the way it goes wrong and the place in the window.
        piece: The target.
        difficulty: ``hard`` or ``medium``.
        side: Inside erodes, outside dilates.

    Returns:
        Parameters, or ``Undefined`` where no way hits the window.
    """
    wanted = wanted_px(rng, piece.area_px, difficulty, adds=side == "outside")
    if wanted is None:
        return undefined("window_not_reached", area_px=piece.area_px)
    if not (distance_of(piece, side) == 1.0).any():
        return undefined("no_boundary", area_px=piece.area_px)
    reason: Reason = "window_not_reached"
    for mode in [MODES[place] for _ in range(_ROUNDS) for place in rng.permutation(len(MODES))]:
        drawn = _drawn(rng, piece, mode, wanted=wanted, side=side)
        if drawn is None:
            continue
        if _is_along_the_outline(piece, drawn, side=side):
            return drawn
        reason = "splits" if side == "inside" else "window_not_reached"
    return undefined(reason, area_px=piece.area_px, fewest_px=wanted.fewest, most_px=wanted.most)


def render(piece: Workpiece, params: EdgeParams, *, side: Side) -> Mask:
    """The target with its outline in the wrong place, a new bool (H, W): a subset (inside) or a superset (outside)."""
    result = piece.mask.copy()
    window = boxes.window(window_of(piece, side))
    if params.mode in MAPS:
        changed = edge_map(piece, params, side=side) <= np.float32(params.level)
        result[window] = result[window] & ~changed if side == "inside" else result[window] | changed
    else:
        other = shaped(piece, params, side=side)
        result[window] = result[window] & other if side == "inside" else result[window] | other
    return result


def _drawn(rng: np.random.Generator, piece: Workpiece, mode: Mode, *, wanted: Wanted, side: Side) -> EdgeParams | None:
    size = piece.size_px
    if mode == "lag":
        return _searched(piece, _lag(float(rng.uniform(0.0, 360.0))), wanted=wanted, side=side)
    if mode == "corners":
        outline = Outline(piece, rng, slack_px=float(rng.uniform(0.025, 0.07)) * size)
        sign = -1.0 if side == "inside" else 1.0
        if not outline.found:
            return None
        return _searched(piece, _corners(outline, sign), wanted=wanted, side=side)
    if mode == "swell":
        drawn = EdgeParams(mode=mode, lobes=_lobes(rng))
    elif mode == "matte":
        drawn = EdgeParams(mode=mode, grain_px=max(1, round(float(rng.uniform(0.08, 0.2)) * size)))
    else:
        drawn = EdgeParams(mode=mode, grain_px=max(2, round(float(rng.uniform(0.06, 0.16)) * size)))
    values = edge_map(piece, drawn, side=side)
    level = level_for(values[np.isfinite(values)], wanted)
    return None if level is None else replace(drawn, level=level)


def _lobes(rng: np.random.Generator) -> tuple[Lobe, ...]:
    """One to four lobes of uneven width."""
    waves = int(rng.integers(1, 4))
    ground: Lobe = (0.0, float(rng.uniform(-0.3, 0.35)), 0.0)
    main: Lobe = (float(waves), float(rng.uniform(0.5, 0.9)), float(rng.uniform(0.0, 2 * np.pi)))
    second: Lobe = (float(waves + int(rng.integers(1, 4))), float(rng.uniform(0.1, 0.4)), float(rng.uniform(0.0, 6.28)))
    return ground, main, second


def _lag(turn_deg: float) -> Callable[[float], EdgeParams]:
    return lambda amount: EdgeParams(mode="lag", level=amount, turn_deg=turn_deg)


def _corners(outline: Outline, sign: float) -> Callable[[float], EdgeParams]:
    return lambda amount: EdgeParams(mode="corners", rings=outline.moved(sign * amount))


def _searched(
    piece: Workpiece, made: Callable[[float], EdgeParams], *, wanted: Wanted, side: Side
) -> EdgeParams | None:
    """Find by halving how far a shape must go, from nothing to the widest that still is an error of the outline."""
    low, high = 0.0, widest_px(piece.size_px)
    own = piece.mask[boxes.window(window_of(piece, side))]
    best: tuple[int, EdgeParams] | None = None
    for _ in range(_STEPS):
        middle = (low + high) / 2
        drawn = made(middle)
        other = shaped(piece, drawn, side=side)
        pixels = int(np.count_nonzero(own & ~other if side == "inside" else other & ~own))
        if wanted.holds(pixels) and (best is None or abs(pixels - wanted.drawn) < abs(best[0] - wanted.drawn)):
            best = pixels, drawn
            if abs(pixels - wanted.drawn) * 20 <= wanted.most - wanted.fewest:
                break
        low, high = (middle, high) if pixels < wanted.drawn else (low, middle)
    return None if best is None else best[1]


def _is_along_the_outline(piece: Workpiece, params: EdgeParams, *, side: Side) -> bool:
    """Whether it touches enough of the outline, stays near it, and does not cut the object in two."""
    result = render(piece, params, side=side)[boxes.window(window_of(piece, side))]
    own = piece.mask[boxes.window(window_of(piece, side))]
    distance = distance_of(piece, side)
    changed = result != own
    edge = distance == 1.0
    if np.count_nonzero(changed & edge) < _LEAST_ALONG * np.count_nonzero(edge):
        return False
    farthest_px = widest_px(piece.size_px) * (_LOBE if params.mode == "swell" else 1.0)
    if float(distance[changed].max(initial=0.0)) > farthest_px:
        return False
    if side == "outside":
        return True
    _, areas = regions.components(result)
    return areas.size > 0 and float(areas.max() / areas.sum()) >= piece.main_share - _MOST_LOOSE
