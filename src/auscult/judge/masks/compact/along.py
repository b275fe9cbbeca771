"""Measures of the strip: how colour and edges lie along an outline, as numbers.

Quantiles and longest stretches over the whole outline, which a convolution cannot give: "on a third of the outline, in
one piece, what lies outside is coloured like the inside and no edge divides them" tells a missing piece from a weak
edge on any object, seen before or not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from auscult.judge.masks.compact.likeness import LOG_RATIO

MEASURES: Final = 102

_BANDS: Final = ((0, 5), (5, 9), (9, 12), (12, 15), (15, 19), (19, 24))  # steps across the outline, from inside out
_COLOUR_BANDS: Final = ((2, 6), (6, 10), (10, 12), (12, 14), (14, 18), (18, 22))
_CALM: Final = 9  # places along the outline that are averaged
_CALM_COLOURS: Final = 5
_GREY: Final = 128
_MIDDLE: Final = 10.5
_REACH: Final = 11.0
_NO_EDGE: Final = 0.5  # grey levels a step; where all is of one colour, no place is the strongest

Bytes = NDArray[np.uint8]
Floats = NDArray[np.float32]


def along(strip: Bytes) -> Floats:
    """Measure a strip.

    Args:
        strip: (6, 24, 256): red, green, blue, inside, outer, likeness.

    Returns:
        float32 (102,), of order 1.
    """
    likeness = _calm((strip[5].astype(np.float32) - _GREY) / LOG_RATIO, _CALM)
    colours = _calm(strip[:3].astype(np.float32), _CALM_COLOURS)
    bands = np.stack([likeness[first:last].mean(0) for first, last in _BANDS])
    steps = _strength(colours[:, 1:] - colours[:, :-1])
    found = [
        _quantiles(bands, (0.1, 0.5, 0.9)),
        _stretches(np.concatenate([bands[3:] > 0, bands[3:] > 0.7, bands[:3] < 0, bands[:3] < -0.7])),
        _quantiles(_steps(colours), (0.25, 0.5, 0.75)),
        _contrast(colours, bands),
        *_edges(np.asarray((steps[:-1] + steps[1:]) / 2, dtype=np.float32)),
    ]
    return np.concatenate(found).astype(np.float32)


def _calm(values: Floats, width: int) -> Floats:
    """Running means along the outline, which is closed."""
    half = width // 2
    closed = np.concatenate([values[..., -half:], values, values[..., :half]], axis=-1)
    sums = np.zeros((*closed.shape[:-1], closed.shape[-1] + 1))
    np.cumsum(closed, axis=-1, out=sums[..., 1:])
    return np.asarray((sums[..., width:] - sums[..., :-width]) / width, dtype=np.float32)


def _strength(step: Floats) -> Floats:
    """Length of a difference of colours, (3, ...) -> (...)."""
    return np.asarray(np.sqrt(np.square(step).sum(axis=0)))


def _quantiles(values: Floats, shares: Sequence[float]) -> Floats:
    """Quantiles over the outline, by linear interpolation, row by row."""
    ordered = np.sort(values, axis=-1)
    place = np.asarray(shares) * (ordered.shape[-1] - 1)
    low = place.astype(np.intp)
    part = (place - low).astype(np.float32)
    high = np.minimum(low + 1, ordered.shape[-1] - 1)
    return np.asarray(ordered[..., low] * (1 - part) + ordered[..., high] * part).ravel()


def _stretches(flags: NDArray[np.bool_]) -> Floats:
    """Of each row, (k, 256): the share that is true, then the longest stretch of it on the closed outline."""
    length = flags.shape[1]
    twice = np.concatenate([flags, flags], axis=1)
    at = np.arange(2 * length)
    last_false = np.maximum.accumulate(np.where(twice, -1, at), axis=1)
    longest = np.minimum((at - last_false).max(axis=1), length) / length
    return np.concatenate([flags.mean(axis=1), longest]).astype(np.float32)


def _steps(colours: Floats) -> Floats:
    """Changes of colour between bands across the outline, (5, 256), in parts of all of them together."""
    bands = np.stack([colours[:, first:last].mean(axis=1) for first, last in _COLOUR_BANDS], axis=1)
    change = _strength(bands[:, 1:] - bands[:, :-1])
    return np.asarray(change / (change.sum(axis=0) + 8))


def _contrast(colours: Floats, bands: Floats) -> Floats:
    """Where hardly anything changes across the outline: weak in itself, weak for this outline, and like the inside."""
    across = _strength(colours[:, 7:11].mean(axis=1) - colours[:, 13:17].mean(axis=1))
    usual = np.median(across) + 4
    flags = [across < 6, across < 12, across < 0.3 * usual, across < 0.6 * usual]
    flags.append((across < 0.5 * usual) & (bands[3] > 0) & (bands[4] > 0))
    return np.concatenate([_stretches(np.stack(flags)), np.log1p(_quantiles(across, (0.1, 0.5, 0.9)))])


def _edges(edges: Floats) -> tuple[Floats, ...]:
    """Where across the outline the strongest edge lies, and how strength is spread, (22, 256)."""
    offset = np.where(edges.max(axis=0) < _NO_EDGE, 0, edges.argmax(axis=0) - _MIDDLE).astype(np.float32)
    calm = _calm(offset, _CALM)
    sides = np.array([(np.abs(offset) <= 1.5).mean(), (offset > 2).mean(), (offset < -2).mean()])
    stretches = _stretches(np.stack([calm > 2.5, calm < -2.5]))[2:]
    count = len(edges)
    each = (edges / (edges.sum(axis=0) + 1e-3)).mean(axis=1) * count
    pooled = edges.mean(axis=1)
    pooled = pooled / (pooled.sum() + 1e-3) * count
    spread = [values.reshape(-1, 2).mean(axis=1) for values in (each, pooled)]
    return (_quantiles(calm / _REACH, (0.1, 0.25, 0.5, 0.75, 0.9)), sides, stretches, *spread)
