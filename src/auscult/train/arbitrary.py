"""Masks that lie on no object: boxes, ellipses and blobs anywhere, true masks moved or mirrored away, complements.

The paper's full_neg (MQ-RAVSBench, Eq. 3) holds regions of the background as well as other objects. Unlike those,
background regions can be told by their outline, which follows no object's edge.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from auscult.arrays.overlap import iou
from auscult.types import Mask

_LEAST_PX = 32 * 32
_TRIES = 20
_MOST_LIKE_ANOTHER = 0.2
_SHAPES = ("box", "ellipse", "blob")


def arbitrary(truth: Mask, others: tuple[Mask, ...], *, rng: np.random.Generator) -> Iterator[Mask]:
    """Up to five masks without a pixel of the truth: one of each shape, the moved truth, and its complement.

    Args:
        truth: The object, bool (H, W), not empty.
        others: The frame's other objects; none of the shapes is like one of them (IoU .2 at most).
        rng: Where sizes and places come from.

    Yields:
        Masks of at least 32 x 32 pixels, bool (H, W); a kind that finds no place is left out.
    """
    for kind in _SHAPES:
        yield from _placed(partial(_shape, kind, truth.shape, rng), truth, others)
    yield from _placed(partial(_moved, truth, rng), truth, others)
    complement = np.asarray(~truth)
    if np.count_nonzero(complement) >= _LEAST_PX:
        yield complement


def _placed(draw: Callable[[], Mask], truth: Mask, others: tuple[Mask, ...]) -> Iterator[Mask]:
    for _ in range(_TRIES):
        mask = draw()
        if np.count_nonzero(mask) < _LEAST_PX or (mask & truth).any():
            continue
        if all(iou(mask, other) <= _MOST_LIKE_ANOTHER for other in others):
            yield mask
            return


def _shape(kind: str, size: tuple[int, ...], rng: np.random.Generator) -> Mask:
    height, width = size
    reach = float(np.exp(rng.uniform(np.log(17), np.log(max(18.0, 0.3 * min(size))))))
    stretch = 1.0 if rng.random() < 0.3 else float(np.exp(rng.uniform(-0.6, 0.6)))
    turn = 0.0 if kind == "box" and rng.random() < 0.7 else float(rng.uniform(0, np.pi))
    rows, columns = np.ogrid[:height, :width]
    y, x = rows - rng.uniform(0, height), columns - rng.uniform(0, width)
    along = (np.cos(turn) * x + np.sin(turn) * y) / (reach * stretch)
    across = (np.cos(turn) * y - np.sin(turn) * x) / (reach / stretch)
    if kind == "box":
        return np.asarray((np.abs(along) <= 1) & (np.abs(across) <= 1))
    radius = np.ones(along.shape)
    if kind == "blob":
        angle = np.arctan2(across, along)
        for waves in range(2, int(rng.integers(4, 9))):
            radius += rng.uniform(0, 0.9 / waves) * np.cos(waves * angle + rng.uniform(0, 2 * np.pi))
    return np.asarray(along**2 + across**2 <= radius**2)


def _moved(truth: Mask, rng: np.random.Generator) -> Mask:
    """The truth, mirrored at random and moved at random, cut at the frame; empty where less than half is left."""
    height, width = truth.shape
    turned = truth[:, ::-1] if rng.random() < 0.5 else truth
    turned = turned[::-1] if rng.random() < 0.3 else turned
    rows, columns = np.nonzero(turned)
    rows = rows + int(rng.integers(-height, height + 1))
    columns = columns + int(rng.integers(-width, width + 1))
    kept = (rows >= 0) & (rows < height) & (columns >= 0) & (columns < width)
    mask = np.zeros(truth.shape, dtype=np.bool_)
    if kept.mean() >= 0.5:
        mask[rows[kept], columns[kept]] = True
    return mask
