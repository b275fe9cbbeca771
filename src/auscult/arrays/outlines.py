"""Outlines of masks as polygons a quarter of a pixel within pixel edges; column x, row y covers x..x+1 and y..y+1.

Programs fill polygons by two rules: pixels whose middle lies within (COCO), or all that the outline touches once
corners are cut to whole numbers (OpenCV, Pillow; so YOLO and LabelMe). A quarter of a pixel within the edges, both give
the mask again.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from auscult.arrays.regions import components
from auscult.types import Doubles, Mask

_Loop: TypeAlias = NDArray[np.int64]

_WITHIN_PX = 0.25
_MOST_LOOPS = 500
_MOST_COMPARED = 64


def outlines(mask: Mask) -> list[Doubles]:
    """The outlines of a mask, bool (H, W): one polygon a part, whose holes are joined to it by slits without width.

    A polygon is float64 (K, 2) of x, y in pixels, not closed. Parts touch by edges (4-connectivity). An empty mask has
    none. Of a mask of more than 500 parts and holes the smallest are left out.
    """
    loops = sorted(_loops(mask), key=lambda one: -abs(_area(one)))[:_MOST_LOOPS]
    outer, inner = [one for one in loops if _area(one) > 0], [one for one in loops if _area(one) < 0]
    if not inner:
        return [_within(one) for one in outer]
    parts = components(mask, connectivity=4)[0]
    holes: dict[int, list[Doubles]] = {}
    for one in inner:
        holes.setdefault(_part(one, parts), []).append(_within(one))
    return [joined([_within(one), *holes.get(_part(one, parts), [])]) for one in outer]


def joined(polygons: list[Doubles]) -> Doubles:
    """Several polygons as one, each joined to those before it where they are nearest, by a slit without width.

    A slit goes there and back along one line, so that the even-odd rule fills nothing of it.
    """
    whole = polygons[0]
    for polygon in polygons[1:]:
        every = -(-len(polygon) // _MOST_COMPARED)
        apart = np.square(whole[:, None, :] - polygon[None, ::every, :]).sum(axis=2)
        here, there = np.unravel_index(int(apart.argmin()), apart.shape)
        turned = np.roll(polygon, -int(there) * every, axis=0)
        whole = np.concatenate((whole[: here + 1], turned, turned[:1], whole[here:]))
    return whole


def _loops(mask: Mask) -> list[_Loop]:
    """Closed walks along pixel edges with the mask on the right hand, as corners where they turn."""
    padded = np.pad(mask, 1)
    ways: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for edges, step in _edges(padded):
        for x, y in edges.tolist():
            ways.setdefault((x, y), []).append(step)
    found = []
    while ways:
        start = next(iter(ways))
        place, step, walk = start, ways[start][0], [start]
        while True:
            steps = ways[place]
            # Where two pixels touch by a corner only, turning right keeps to the same one.
            right = (-step[1], step[0])
            step = right if len(steps) > 1 and right in steps else steps[0]
            steps.remove(step)
            if not steps:
                del ways[place]
            place = (place[0] + step[0], place[1] + step[1])
            if place == start:
                break
            walk.append(place)
        found.append(_turns(np.array(walk, dtype=np.int64)))
    return found


def _edges(padded: Mask) -> list[tuple[NDArray[np.intp], tuple[int, int]]]:
    """Where edges begin, as (x, y) without the padding, and the step they take, for each of the four directions."""
    above, below = padded[:-1, 1:-1], padded[1:, 1:-1]
    left, right = padded[1:-1, :-1], padded[1:-1, 1:]
    return [
        (np.argwhere(~above & below)[:, ::-1], (1, 0)),  # along the top of a pixel, to the right
        (np.argwhere(left & ~right)[:, ::-1], (0, 1)),  # down its right side
        (np.argwhere(above & ~below)[:, ::-1] + (1, 0), (-1, 0)),
        (np.argwhere(~left & right)[:, ::-1] + (0, 1), (0, -1)),
    ]


def _turns(walk: _Loop) -> _Loop:
    """The points of a closed walk at which it turns."""
    coming, going = walk - np.roll(walk, 1, axis=0), np.roll(walk, -1, axis=0) - walk
    found: _Loop = walk[(coming != going).any(axis=1)]
    return found


def _within(loop: _Loop) -> Doubles:
    """The corners moved to the mask's side, the right hand, of both edges that meet there."""
    going = np.sign(np.roll(loop, -1, axis=0) - loop)
    both = going + np.roll(going, 1, axis=0)
    return loop + _WITHIN_PX * np.stack((-both[:, 1], both[:, 0]), axis=1)


def _area(loop: _Loop) -> float:
    """Twice the area within a polygon, above 0 where it runs clockwise on the screen."""
    x, y = loop[:, 0].astype(np.float64), loop[:, 1].astype(np.float64)
    return float(np.dot(x, np.roll(y, -1)) - np.dot(y, np.roll(x, -1)))


def _part(loop: _Loop, parts: NDArray[np.int32]) -> int:
    """The connected part whose outline a loop is: of the pixel on the right hand of its first edge."""
    (x, y), (to_x, to_y) = next(pairwise(loop.tolist()))
    if y == to_y:
        return int(parts[y if to_x > x else y - 1, min(x, to_x)])
    return int(parts[min(y, to_y), x - 1 if to_y > y else x])
