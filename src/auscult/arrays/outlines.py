"""Outlines of masks as polygons a quarter of a pixel within pixel edges; column x, row y covers x..x+1 and y..y+1.

Programs fill polygons by two rules: pixels whose middle lies within (COCO), or all that the outline touches once
corners are cut to whole numbers (OpenCV, Pillow; so YOLO and LabelMe). A quarter of a pixel within the edges, both give
the mask again.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from auscult.arrays.boxes import box_of, window
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
    box = box_of(mask)
    if box is None:
        return []
    mask, corner = mask[window(box)], np.array(box[:2], np.float64)
    loops = sorted(_loops(mask), key=lambda loop: -abs(_area(loop)))[:_MOST_LOOPS]
    outer, inner = [loop for loop in loops if _area(loop) > 0], [loop for loop in loops if _area(loop) < 0]
    if not inner:
        return [corner + _within(loop) for loop in outer]
    parts = components(mask, connectivity=4)[0]
    holes: dict[int, list[Doubles]] = {}
    for loop in inner:
        holes.setdefault(_part(loop, parts), []).append(_within(loop))
    return [corner + joined([_within(loop), *holes.get(_part(loop, parts), [])]) for loop in outer]


def joined(polygons: list[Doubles]) -> Doubles:
    """Several polygons as one, each joined to those before it where they are nearest, by a slit without width.

    A slit goes there and back along one line, so that the even-odd rule fills nothing of it.
    """
    result = polygons[0]
    for polygon in polygons[1:]:
        step = -(-len(polygon) // _MOST_COMPARED)
        distances = np.square(result[:, None, :] - polygon[None, ::step, :]).sum(axis=2)
        position, start = np.unravel_index(int(distances.argmin()), distances.shape)
        turned = np.roll(polygon, -int(start) * step, axis=0)
        result = np.concatenate((result[: position + 1], turned, turned[:1], result[position:]))
    return result


def _loops(mask: Mask) -> list[_Loop]:
    """Closed walks along pixel edges with the mask on the right hand, as corners where they turn."""
    edges_from: dict[tuple[int, int], list[tuple[int, tuple[int, int]]]] = {}
    for turn, (begins, ends) in enumerate(_edges(mask)):
        for begin, end in zip(map(tuple, begins.tolist()), map(tuple, ends.tolist()), strict=True):
            edges_from.setdefault(begin, []).append((turn, end))
    loops = []
    while edges_from:
        start = place = next(iter(edges_from))
        turn, walk = edges_from[start][0][0], list[tuple[int, int]]()
        while not walk or place != start:
            walk.append(place)
            edges = edges_from[place]
            # Where two pixels touch by a corner only, turning right keeps to the same one.
            edge = next((edge for edge in edges if len(edges) > 1 and edge[0] == (turn + 1) % 4), edges[0])
            edges.remove(edge)
            if not edges:
                del edges_from[place]
            turn, place = edge
        loops.append(np.array(walk, dtype=np.int64))
    return loops


def _edges(mask: Mask) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Where straight edges begin and end, as (x, y), by direction: to the right, down, to the left, up.

    No edge goes through a corner at which two pixels touch.
    """
    padded = np.pad(mask, 1)
    above, below = padded[:-1, 1:-1], padded[1:, 1:-1]
    left, right = padded[1:-1, :-1], padded[1:-1, 1:]
    yield _runs(~above & below)  # along the top of a pixel
    yield _transposed(_runs((left & ~right).T))  # down its right side
    yield _runs(above & ~below)[::-1]
    yield _transposed(_runs((~left & right).T)[::-1])


def _runs(edges: Mask) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """First and last corner, (x, y), of the runs of edges along each row."""
    padded = np.pad(edges, ((0, 0), (1, 1)))
    before, after = padded[:, :-1], padded[:, 1:]
    return _places(after & ~before), _places(before & ~after)


def _places(marked: Mask) -> NDArray[np.intp]:
    """Where a picture is true, as (x, y), row by row; a third of the time of ``argwhere``."""
    rows, columns = np.divmod(np.flatnonzero(marked), marked.shape[1])
    return np.stack((columns, rows), axis=1)


def _transposed(ends: tuple[NDArray[np.intp], ...]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Corners of a picture from those of its transpose."""
    return ends[0][:, ::-1], ends[1][:, ::-1]


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
