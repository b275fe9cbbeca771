"""What the network sees of a mask: a crop, a wider context, a strip along the outline, and cues.

Training uses this code too.

The crop's side is one and a half times the longer side of the mask's box, the context's twice that; both are centred
on the box. What lies outside the frame is mid grey and no mask. The strip follows the outlines of the mask, outer
ones first, and shows what lies across them on the line of their normals, from deep inside (top) to well outside.
Each also has a channel that says how much a pixel's colour is like the mask's inside (``likeness``). The cues are those
of `masks.cues.v1` and measures of the strip (``along``): they hold for objects unlike all that a network has seen.

Likeness: two histograms over Lab, of the mask's core and of what lies well outside, give each colour a log ratio. A
network with small receptive fields cannot compare a pixel with the whole inside; shown the ratio, it needs to know
nothing of the object to see that a band along the outline belongs to the other side.

Measures of the strip: quantiles and longest stretches over the whole outline, which a convolution cannot give: "on a
third of the outline, in one piece, what lies outside is coloured like the inside and no edge divides them" tells a
missing piece from a weak edge on any object, seen before or not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from auscult.errors import InputError
from auscult.judge.masks.cues.features import Findings, measure
from auscult.judge.masks.cues.model import CUES
from auscult.judge.masks.cues.view import LAB_BINS, bins_of, resized, shares_of, tables_of
from auscult.types import Box, Floats, Frame, Mask

LOG_RATIO: Final = 42
"""Bytes of a log ratio of 1."""

_CORE: Final = 32  # steps of the crop's signed distance, of 127 a quarter of the object's size
_AROUND: Final = -40
_LEAST_CELLS: Final = 20
_GREY: Final = 128

Bytes = NDArray[np.uint8]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Likeness:
    """The log ratio of every colour, for one mask."""

    tables: tuple[NDArray[np.int16], ...]  # which bin a colour falls into, see ``cues.view.tables_of``
    ratio: Bytes  # the log ratio of each bin as a byte, (640,): 128 is even, 42 more a log ratio of 1
    own: Bytes  # the likeness of the crop that it was made of, (h, w)

    def __call__(self, colours: Bytes) -> Bytes:
        """The likeness of colours, uint8 RGB (3, h, w), as (h, w) bytes: above 128 like the inside, below not."""
        return self.ratio.take(bins_of(_lab(colours), self.tables))


def likeness_of(crop: Bytes) -> Likeness:
    """Compare the colours of both sides of an outline in a view's crop.

    Its channels come first: red, green, blue, share inside the mask, signed distance.
    """
    colours = _lab(crop[:3])
    inside, signed = crop[3] >= _GREY, crop[4].astype(np.int16) - _GREY
    core, around = signed > _CORE, signed < _AROUND
    if np.count_nonzero(core) < _LEAST_CELLS:
        core = inside
    if np.count_nonzero(around) < _LEAST_CELLS:
        around = ~inside
    tables = tables_of(colours)
    bins = bins_of(colours, tables)
    ratio = np.log(_shares(bins[core]) / _shares(bins[around]))
    levels = np.clip(_GREY + ratio * LOG_RATIO, 0, 255).astype(np.uint8)
    return Likeness(tables=tables, ratio=levels, own=levels.take(bins))


def _shares(bins: NDArray[np.int16]) -> NDArray[np.float64]:
    return shares_of(np.bincount(bins, minlength=LAB_BINS).astype(np.float64))


def _lab(colours: Bytes) -> Bytes:
    return np.asarray(cv2.cvtColor(cv2.merge(list(colours)), cv2.COLOR_RGB2LAB), dtype=np.uint8)


MEASURES: Final = 102

_BANDS: Final = ((0, 5), (5, 9), (9, 12), (12, 15), (15, 19), (19, 24))  # steps across the outline, from inside out
_COLOUR_BANDS: Final = ((2, 6), (6, 10), (10, 12), (12, 14), (14, 18), (18, 22))
_CALM: Final = 9  # positions along the outline that are averaged
_CALM_COLOURS: Final = 5
_MIDDLE: Final = 10.5
_REACH_PX: Final = 11.0
_NO_EDGE: Final = 0.5  # grey levels a step; where all is of one colour, no edge is the strongest


def along(strip: Bytes) -> Floats:
    """Measure a strip, (6, 24, 256), of red, green, blue, inside, outer and likeness: float32 (102,), of order 1."""
    likeness = _calm((strip[5].astype(np.float32) - _GREY) / LOG_RATIO, _CALM)
    colours = _calm(strip[:3].astype(np.float32), _CALM_COLOURS)
    bands = np.stack([likeness[first:last].mean(0) for first, last in _BANDS])
    steps = _strength(colours[:, 1:] - colours[:, :-1])
    features = [
        _quantiles(bands, (0.1, 0.5, 0.9)),
        _stretches(np.concatenate([bands[3:] > 0, bands[3:] > 0.7, bands[:3] < 0, bands[:3] < -0.7])),
        _quantiles(_steps(colours), (0.25, 0.5, 0.75)),
        _contrast(colours, bands),
        *_edges(np.asarray((steps[:-1] + steps[1:]) / 2, dtype=np.float32)),
    ]
    return np.concatenate(features).astype(np.float32)


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
    position = np.asarray(shares) * (ordered.shape[-1] - 1)
    low = position.astype(np.intp)
    part = (position - low).astype(np.float32)
    high = np.minimum(low + 1, ordered.shape[-1] - 1)
    return np.asarray(ordered[..., low] * (1 - part) + ordered[..., high] * part).ravel()


def _stretches(flags: NDArray[np.bool_]) -> Floats:
    """Of each row, (k, 256): the share that is true, then the longest stretch of it on the closed outline."""
    length = flags.shape[1]
    twice = np.concatenate([flags, flags], axis=1)
    positions = np.arange(2 * length)
    last_false = np.maximum.accumulate(np.where(twice, -1, positions), axis=1)
    longest = np.minimum((positions - last_false).max(axis=1), length) / length
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
    shares = (edges / (edges.sum(axis=0) + 1e-3)).mean(axis=1) * count
    pooled = edges.mean(axis=1)
    pooled = pooled / (pooled.sum() + 1e-3) * count
    spread = [values.reshape(-1, 2).mean(axis=1) for values in (shares, pooled)]
    return (_quantiles(calm / _REACH_PX, (0.1, 0.25, 0.5, 0.75, 0.9)), sides, stretches, *spread)


DEPTH: Final = 24
LENGTH: Final = 256

_SIZE_PX: Final = 96.0  # the object's size on the patch that is read; a step across the outline is one pixel there
_MOST_PX: Final = 320
_MOST_ZOOM: Final = 4.0
_SMOOTH_PX: Final = 2.0
_LEAST_OUTLINE_PX: Final = 12
_MOST_OUTLINES: Final = 16


def strip_of(frame: Frame, mask: Mask, box: Box) -> Bytes:
    """Unroll the outlines of a mask, not empty, that lies whole inside ``box``, the crop's in pixels of the frame.

    (5, 24, 256): red, green, blue, share inside the mask, 255 on outer outlines and 0 on those of holes.
    """
    height, width = mask.shape
    x0, y0, x1, y1 = max(box[0], 0), max(box[1], 0), min(box[2], width), min(box[3], height)
    inner = mask[y0:y1, x0:x1]
    size = float(np.sqrt(np.count_nonzero(inner)))
    scale = min(_SIZE_PX / size, _MOST_PX / max(inner.shape), _MOST_ZOOM)
    columns, rows = max(round((x1 - x0) * scale), 4), max(round((y1 - y0) * scale), 4)
    picture, inside = (
        resized(source, (columns, rows), shrinks=scale < 1)
        for source in (frame[y0:y1, x0:x1], np.multiply(inner, np.uint8(255), dtype=np.uint8))
    )
    patch = cv2.merge([picture, inside])
    points, normals, outer = _outline(inside)
    across = np.arange(DEPTH, dtype=np.float32)[:, None] - np.float32((DEPTH - 1) / 2)
    x = points[None, :, 0] + across * normals[None, :, 0]
    y = points[None, :, 1] + across * normals[None, :, 1]
    read = cv2.remap(patch, x, y, cv2.INTER_LINEAR, borderMode=cv2.BORDER_CONSTANT, borderValue=(_GREY,) * 3 + (0,))
    flags = np.broadcast_to(outer, (DEPTH, LENGTH))
    return np.concatenate([np.asarray(read, dtype=np.uint8).transpose(2, 0, 1), flags[None]])


def _outline(inside: Bytes) -> tuple[Floats, Floats, Bytes]:
    """Points along the outlines, their outward normals, each (256, 2), and which are on outer ones, (256,)."""
    padded = cv2.copyMakeBorder((inside >= _GREY).astype(np.uint8), 1, 1, 1, 1, cv2.BORDER_CONSTANT, value=0)
    smooth = cv2.GaussianBlur(padded.astype(np.float32), (0, 0), _SMOOTH_PX)
    contours, order = cv2.findContours(padded, cv2.RETR_CCOMP, cv2.CHAIN_APPROX_NONE)
    if not contours:  # nothing reaches half a cell: one point in the middle, looked at from all sides
        return _round(inside.shape)
    lengths, inner = np.array([len(line) for line in contours]), order[0, :, 3] >= 0
    longest = np.argsort(-lengths, kind="stable")[:_MOST_OUTLINES]
    chosen = [index for index in longest if lengths[index] >= _LEAST_OUTLINE_PX] or [int(lengths.argmax())]
    chosen = sorted(chosen, key=lambda index: (inner[index], -lengths[index]))
    line = np.concatenate([contours[index][:, 0] for index in chosen]).astype(np.float32)
    outer = np.concatenate([np.full(len(contours[index]), 0 if inner[index] else 255, np.uint8) for index in chosen])
    picked = ((np.arange(LENGTH) + 0.5) * (len(line) / LENGTH)).astype(np.intp)
    points = line[picked]
    column, row = points[:, 0].astype(np.intp), points[:, 1].astype(np.intp)
    slope_x = cv2.Sobel(smooth, cv2.CV_32F, 1, 0, ksize=3)[row, column]
    slope_y = cv2.Sobel(smooth, cv2.CV_32F, 0, 1, ksize=3)[row, column]
    normals = -np.stack([slope_x, slope_y], axis=1)
    normals = normals / np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-6)
    # an outline's pixels lie inside an outer one and outside a hole's: the edge is half a pixel along the normal
    towards = np.where(outer[picked, None] > 0, np.float32(0.5), np.float32(-0.5))
    return (points - 1 + normals * towards).astype(np.float32), normals.astype(np.float32), outer[picked]


def _round(size: tuple[int, ...]) -> tuple[Floats, Floats, Bytes]:
    angle = np.linspace(0, 2 * np.pi, LENGTH, endpoint=False, dtype=np.float32)
    normals = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    middle = np.array([size[1] / 2 - 0.5, size[0] / 2 - 0.5], dtype=np.float32)
    return np.broadcast_to(middle, (LENGTH, 2)).copy(), normals, np.full(LENGTH, 255, np.uint8)


CROP_PX: Final = 128
CONTEXT_PX: Final = 64
MARGIN: Final = 1.5
WIDER: Final = 2.0
LEAST_SIDE_PX: Final = 16
GREY: Final = 128
CUE_COUNT: Final = len(CUES) + MEASURES

_REACH: Final = 0.25  # of the object's size, where the signed distance saturates


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class View:
    """What the network sees, as bytes; ``inputs`` makes the floats of it."""

    # (6, 128, 128): red, green, blue, share of the cell inside the mask, signed distance to the outline (128 on it,
    # more inside), likeness (128 even, more like the inside)
    crop: Bytes
    context: Bytes  # (5, 64, 64): red, green, blue, share inside the mask, likeness
    # (6, 24, 256): red, green, blue, share inside the mask, 255 on outer outlines and 0 on those of holes, likeness
    strip: Bytes
    cues: Floats  # (169,), float32: those of `masks.cues.v1` in their order and units, then the strip's measures
    box: Box  # the crop's box in pixels of the frame; square, may reach beyond the frame


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Outline:
    """What is measured along a mask's outline; part of what a ``View`` holds."""

    strip: Bytes  # (6, 24, 256), as in ``View``; ``cues`` (169,) and ``box`` likewise
    cues: Floats
    inside: Bytes  # (128, 128): share of each cell of the box that lies inside the mask, 255 for all of it
    box: Box


def outline_of(frame: Frame, mask: Mask) -> Outline:
    """Measure along the outline of a mask; arguments and errors as of ``look``."""
    findings = _measured(frame, mask)
    box, crop, strip, likeness = _outlined(frame, mask)
    line = np.concatenate([strip, likeness(strip[:3])[None]])
    return Outline(strip=line, cues=_cues(findings, line), inside=crop[3], box=box)


def look(frame: Frame, mask: Mask) -> View:
    """See a mask, bool (H, W), of a frame, uint8 RGB (H, W, 3); an InputError where it is empty."""
    findings = _measured(frame, mask)
    box, crop, strip, likeness = _outlined(frame, mask)
    x0, y0, x1, y1 = box
    wide = square((x0 + x1) / 2, (y0 + y1) / 2, (x1 - x0) * WIDER)
    context = channels(cut(frame, wide, CONTEXT_PX), coverage(mask, wide, CONTEXT_PX))
    context, line = (np.concatenate([part, likeness(part[:3])[None]]) for part in (context, strip))
    crop = np.concatenate([crop, likeness.own[None]])
    return View(crop=crop, context=context, strip=line, cues=_cues(findings, line), box=box)


def _measured(frame: Frame, mask: Mask) -> Findings:
    findings = measure(frame, mask)
    if findings is None:
        raise InputError("the mask is empty", expected="a mask with at least one pixel")
    return findings


def _cues(findings: Findings, line: Bytes) -> Floats:
    return np.concatenate([findings.vector().astype(np.float32), along(line)])


def strip_along(frame: Frame, mask: Mask) -> Bytes:
    """The strip of ``look`` alone, (6, 24, 256)."""
    _, _, strip, likeness = _outlined(frame, mask)
    return np.concatenate([strip, likeness(strip[:3])[None]])


def _outlined(frame: Frame, mask: Mask) -> tuple[Box, Bytes, Bytes, Likeness]:
    """The crop's box, the crop without its likeness, the strip, and what gives the likeness of either."""
    box = box_round(mask)
    crop = channels(cut(frame, box, CROP_PX), coverage(mask, box, CROP_PX))
    crop = np.concatenate([crop, signed_distance(crop[3])[None]])
    return box, crop, strip_of(frame, mask, box), likeness_of(crop)


def inputs(views: list[View]) -> dict[str, Floats]:
    """The network's inputs of some views: float32, batch first, in the order given; pictures are about -2..2."""
    pictures = {
        "crop": np.stack([view.crop for view in views]),
        "context": np.stack([view.context for view in views]),
        "strip": np.stack([view.strip for view in views]),
    }
    return {name: scaled(value) for name, value in pictures.items()} | {"cues": np.stack([view.cues for view in views])}


def scaled(value: Bytes) -> Floats:
    """Bytes to what the network takes: 128 is 0, a step of 64 is 1."""
    return (value.astype(np.float32) - np.float32(GREY)) / np.float32(64)


def box_round(mask: Mask, margin: float = MARGIN) -> Box:
    """The square (x0, y0, x1, y1) round a mask's box, in pixels: a side of ``margin`` longer sides, at least 16 px."""
    x, y, width, height = cv2.boundingRect(mask.view(np.uint8))
    return square(x + width / 2, y + height / 2, max(max(width, height) * margin, LEAST_SIDE_PX))


def coverage(mask: Mask, box: Box, side: int) -> Bytes:
    """Share of each cell of a grid over a box that lies inside a mask, (side, side), 255 for all of it."""
    return cut(np.multiply(mask, np.uint8(255), dtype=np.uint8), box, side, outside=0)


def square(x: float, y: float, side: float) -> Box:
    """The square of whole pixels about a point."""
    side_px = round(side)
    left, top = round(x - side_px / 2), round(y - side_px / 2)
    return left, top, left + side_px, top + side_px


def cut(picture: Bytes, box: Box, side: int, *, outside: int = GREY) -> Bytes:
    """Cut a box and bring it to ``side`` cells; what lies outside the picture has one value."""
    height, width = picture.shape[:2]
    x0, y0, x1, y1 = box
    inner = picture[max(y0, 0) : min(y1, height), max(x0, 0) : min(x1, width)]
    gaps = max(-y0, 0), max(y1 - height, 0), max(-x0, 0), max(x1 - width, 0)
    shrinks = x1 - x0 > side
    if any(gaps):
        if (
            shrinks
        ):  # the part that is there is brought to size first: a border at full size would cost most of the time
            return _shrunk_with_border(inner, box, gaps=gaps, side=side, outside=outside)
        inner = np.asarray(
            cv2.copyMakeBorder(inner, *gaps, cv2.BORDER_CONSTANT, value=(outside, outside, outside)), dtype=np.uint8
        )
    return resized(inner, (side, side), shrinks=shrinks)


def _shrunk_with_border(inner: Bytes, box: Box, *, gaps: tuple[int, int, int, int], side: int, outside: int) -> Bytes:
    scale = side / (box[2] - box[0])
    top, bottom, left, right = (round(gap * scale) for gap in gaps)
    rows, columns = max(side - top - bottom, 1), max(side - left - right, 1)
    top, left = min(top, side - rows), min(left, side - columns)
    canvas = np.full((side, side, *inner.shape[2:]), outside, dtype=np.uint8)
    if inner.size:
        canvas[top : top + rows, left : left + columns] = resized(inner, (columns, rows), shrinks=True)
    return canvas


def channels(picture: Bytes, inside: Bytes) -> Bytes:
    """A picture (h, w, 3) and a mask (h, w) as four channels, (4, h, w)."""
    return np.concatenate([planes(picture), inside[None]])


def planes(picture: Bytes) -> Bytes:
    """A picture's channels, (h, w, 3) -> (3, h, w), contiguous; OpenCV takes them apart much faster than numpy."""
    return np.asarray(cv2.split(picture), dtype=np.uint8)


def signed_distance(inside: Bytes) -> Bytes:
    """Signed distance to the outline in parts of the object's size, 128 on it."""
    filled = (inside >= GREY).astype(np.uint8)
    size = max(float(np.sqrt(np.count_nonzero(filled))), 4.0)
    within = cv2.distanceTransform(filled, cv2.DIST_L2, 3)
    without = cv2.distanceTransform(1 - filled, cv2.DIST_L2, 3)
    signed = (within - without) / (_REACH * size)
    return np.asarray(np.clip(GREY + np.clip(signed, -2, 2) * 127, 0, 255), dtype=np.uint8)
