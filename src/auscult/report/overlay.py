"""Masks drawn on their frames, so that a person can see at a glance what was segmented.

A mask is a tint that keeps the picture readable, and a light line with a dark one outside it, which together
stand out from any background. Where a judge says which places are likely wrong, those are marked instead of the tint:
what is likely missing and what is likely too much differ in hue, in lightness and in pattern, so that every eye tells
them apart, in grey and on paper. What is drawn is what is at least as likely wrong as right; ``shares`` counts the same
pixels. Arrays in, arrays out; nothing is read, written or encoded here.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Self, TypeAlias

import cv2
import numpy as np
from numpy.typing import NDArray

from auscult.arrays.boxes import box_of, grown, union_box, window
from auscult.arrays.error_map import values_of
from auscult.types import Box, ErrorMap, Floats, Frame, Mask

Colour: TypeAlias = tuple[int, int, int]

MISSING_COLOUR: Final[Colour] = (24, 104, 226)
"""What is likely missing, RGB; the style sheet's ``--missing`` is the same."""

EXTRA_COLOUR: Final[Colour] = (250, 210, 40)
"""What is likely too much, RGB; the style sheet's ``--extra`` is the same."""

LIKELY: Final = 0.5
"""Probability from which a pixel is drawn and counted."""

_FILL: Final = 0.62
_STRIPE: Final[Colour] = (255, 255, 255)
_DOT: Final[Colour] = (20, 20, 20)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shares:
    """How much of a mask is likely wrong."""

    missing: float  # likely missing pixels per pixel of the object as it likely is, 0..1, lower is better
    extra: float  # likely superfluous pixels per pixel of the mask, 0..1, lower is better


def parts(found: ErrorMap, mask: Mask, view: Box) -> tuple[Mask, Mask]:
    """The pixels that are likely missing from a mask, and those that are likely too much: two bool (h, w).

    The map is in pixels of the frame; the mask, bool (h, w), is as the picture shows it, at whatever size; ``view`` is
    the part of the frame that it shows. All missing pixels are outside the mask, all extra ones inside.
    """
    missing, extra = np.zeros(mask.shape, dtype=np.bool_), np.zeros(mask.shape, dtype=np.bool_)
    height, width = mask.shape
    across, down = width / (view[2] - view[0]), height / (view[3] - view[1])
    left, right = ((edge - view[0]) * across for edge in found.box[::2])
    top, bottom = ((edge - view[1]) * down for edge in found.box[1::2])
    covered = math.floor(left), math.floor(top), math.ceil(right), math.ceil(bottom)
    box = grown(covered, 0, (height, width))
    if box[0] >= box[2] or box[1] >= box[3]:
        return missing, extra
    step = (right - left) / found.side, (bottom - top) / found.side
    start = left - box[0], top - box[1]
    rows, columns = window(box)
    size = box[2] - box[0], box[3] - box[1]
    inside = mask[rows, columns]
    lacks, spare = _likely(values_of(found), start, step=step, size=size)
    missing[rows, columns] = lacks & ~inside
    extra[rows, columns] = spare & inside
    return missing, extra


def _likely(
    values: NDArray[np.float32], start: tuple[float, float], *, step: tuple[float, float], size: tuple[int, int]
) -> tuple[Mask, Mask]:
    """Where values of a grid, (n, n), and where their negatives reach ``LIKELY`` in a picture of (width, height).

    The grid begins at ``start``, x and y, which may be negative, and has ``step`` pixels per cell. A cell that is
    smaller than a pixel of the picture counts for the whole pixel, so that a thin place is not lost.
    """
    cells = min(2 * len(values) - 1, math.ceil(1 / min(step)))  # no larger than from one end of the grid to the other
    matrix = np.array(
        [[step[0], 0.0, start[0] + step[0] / 2 - 0.5], [0.0, step[1], start[1] + step[1] / 2 - 0.5]], dtype=np.float64
    )
    if cells == 1:  # warping takes most of the time; one serves both signs
        painted = cv2.warpAffine(values, matrix, size, flags=cv2.INTER_LINEAR)
        return np.asarray(painted >= LIKELY), np.asarray(painted <= -LIKELY)
    kernel = np.ones((cells, cells), np.uint8)
    lacks, spare = (
        cv2.warpAffine(cv2.dilate(signed, kernel), matrix, size, flags=cv2.INTER_LINEAR) for signed in (values, -values)
    )
    return np.asarray(lacks >= LIKELY), np.asarray(spare >= LIKELY)


def shares(found: ErrorMap, mask: Mask) -> Shares:
    """How much of a mask, bool (H, W), at the size of its frame, is likely missing and too much: the pixels marked."""
    box = grown(found.box, 0, (mask.shape[0], mask.shape[1]))
    if box[0] >= box[2] or box[1] >= box[3]:  # the map lies outside the frame
        return Shares(missing=0.0, extra=0.0)
    missing, extra = parts(found, mask[window(box)], box)
    lacks, spare, area = (int(np.count_nonzero(part)) for part in (missing, extra, mask))
    likely = area - spare + lacks
    return Shares(missing=lacks / likely if likely else 0.0, extra=spare / area if area else 0.0)


def draw(picture: Frame, missing: Mask, extra: Mask, *, period_px: int) -> None:
    """Mark both kinds of pixels, bool (h, w), on a picture, uint8 RGB (h, w, 3), which is changed.

    What is missing is blue with light stripes that rise to the right, what is extra yellow with dark dots.
    """
    y, x = np.ogrid[: picture.shape[0], : picture.shape[1]]
    line = max(1, round(period_px / 4))
    stripes = (x + y) % period_px < line
    dots = (x % period_px < line + 1) & ((y + (x // period_px % 2) * (period_px // 2)) % period_px < line + 1)
    for mask, colour, pattern, ink in (
        (missing, MISSING_COLOUR, stripes, _STRIPE),
        (extra, EXTRA_COLOUR, dots, _DOT),
    ):
        if not mask.any():
            continue
        pixels = picture[mask].astype(np.float32)
        picture[mask] = (pixels * (1 - _FILL) + np.array(colour, np.float32) * _FILL).astype(np.uint8)
        picture[mask & pattern] = ink


MASK_COLOUR: Colour = (232, 60, 190)
"""The tint of a candidate mask, RGB: a hue that photographs seldom hold and no action of the report uses."""

_TINT = 0.42
_TINT_BESIDE_ERRORS = 0.16
LIGHT = 255
DARK = 12
THUMBNAIL_PX = 160

_ASPECT = 4 / 3
_CONTEXT = 1.7
_LEAST_SHARE = 0.35
_CROSS = cv2.getStructuringElement(cv2.MORPH_CROSS, (3, 3))


def overlay(frame: Frame, mask: Mask, *, outline: bool = True) -> Frame:
    """Draw a mask, bool (H, W), with a line round it on a copy of its frame, uint8 RGB (H, W, 3)."""
    _check(frame, mask)
    return _with_marks(frame, mask, line_px=max(1, round(min(mask.shape) / 300)) if outline else 0)


TRACK_COLOURS: Final[tuple[Colour, ...]] = (
    MASK_COLOUR, (40, 170, 250), (250, 180, 40), (90, 210, 90), (240, 90, 60), (150, 110, 240),
)  # fmt: skip
"""Tints of the objects of a clip, RGB, in their order; the first again after the last."""


def captioned(frame: Frame, masks: Sequence[tuple[Mask, str, Colour]]) -> Frame:
    """Masks, bool (H, W), with a line of text each, in a colour of their own, on a copy of their frame."""
    painted = frame.copy()
    for mask, _, colour in masks:
        _check(frame, mask)
        painted = _with_marks(painted, mask, line_px=max(1, round(min(mask.shape) / 300)), colour=colour)
    scale = max(0.4, min(frame.shape[:2]) / 800)
    line, edge = math.ceil(34 * scale), math.ceil(8 * scale)
    top = painted[: line * len(masks) + edge]
    top //= 3  # a dark strip, on which text can be read
    for row, (_, text, colour) in enumerate(masks, start=1):
        plain = "".join(sign if " " <= sign <= "~" else "?" for sign in text)  # what OpenCV has letters for
        font, ink = cv2.FONT_HERSHEY_SIMPLEX, _lighter(colour)
        cv2.putText(painted, plain, (edge, row * line - edge // 2), font, scale, ink, max(1, round(scale)), cv2.LINE_AA)
    return painted


def _lighter(colour: Colour) -> Colour:
    red, green, blue = ((value + LIGHT) // 2 for value in colour)
    return red, green, blue


def compared(frame: Frame, mask: Mask | None, truth: Mask | None, *, size: tuple[int, int]) -> Frame:
    """A mask's tint and the true outline on a frame, uint8 RGB, at (width, height) ``size``.

    The outline runs outside the object, so that the tint of a tiny one stays in sight.
    """
    canvas = _resized(frame, size).copy()
    if mask is not None:
        canvas = overlay(canvas, _small_mask(mask, size), outline=False)
    if truth is not None and truth.any():
        shape = _bytes(_small_mask(truth, size))
        dilated = cv2.dilate(shape, _CROSS, borderType=cv2.BORDER_CONSTANT, borderValue=(0,))
        canvas[cv2.dilate(dilated, _CROSS) > dilated] = DARK
        canvas[dilated > shape] = LIGHT
    return canvas


def heated(frame: Frame, values: Floats) -> Frame:
    """A map (h, w) of any size in colours over its grey frame, uint8 RGB (H, W, 3), from its lowest to its highest."""
    low, high = float(values.min()), float(values.max())
    levels = np.rint(255 * (values - low) / max(high - low, 1e-9)).astype(np.uint8)
    large = cv2.resize(levels, (frame.shape[1], frame.shape[0]), interpolation=cv2.INTER_LINEAR)
    colours = cv2.cvtColor(cv2.applyColorMap(large, cv2.COLORMAP_VIRIDIS), cv2.COLOR_BGR2RGB)
    grey = cv2.cvtColor(cv2.cvtColor(frame, cv2.COLOR_RGB2GRAY), cv2.COLOR_GRAY2RGB)
    return np.asarray(cv2.addWeighted(colours, 0.65, grey, 0.35, 0), dtype=np.uint8)


def shrunk(frame: Frame, *, width_px: int = THUMBNAIL_PX) -> Frame:
    """The frame at the size of a thumbnail, once for all its masks, for ``small_overlay``.

    It is never wider than the frame, never taller than twice ``width_px``.
    """
    height, width = frame.shape[:2]
    scale = min(1.0, width_px / width, 2 * width_px / height)
    return _resized(frame, (max(1, round(width * scale)), max(1, round(height * scale))))


def small_overlay(small: Frame, mask: Mask, *, errors: ErrorMap | None = None) -> Frame:
    """A frame that ``shrunk`` made small with a mask and, where it is likely wrong, marks, both of the whole frame.

    A mask too thin for that size is still shown.
    """
    shape = _small_mask(mask, (small.shape[1], small.shape[0]))
    frame_box = 0, 0, mask.shape[1], mask.shape[0]
    return _with_marks(small, shape, line_px=1, errors=_Errors.of(errors, shape, frame_box, period_px=4))


def crop(
    frame: Frame,
    mask: Mask,
    region: Box | None,
    *,
    size_px: int = 480,
    whole: bool = False,
    errors: ErrorMap | None = None,
) -> Frame:
    """A large view, ``size_px`` on its longer side, of the place that matters, with its surroundings.

    The view is centred on ``region``, a box of which parts outside the frame are ignored, where there is one, else on
    the mask, else it is the whole frame. It is 4:3 if the frame allows. The region is marked by corner brackets. With
    ``whole`` it shows the whole mask too: of two objects in one mask both must be seen.
    """
    _check(frame, mask)
    marked = None if region is None else _inside(region, mask.shape)
    focus = union_box(marked, box_of(mask)) if whole else marked or box_of(mask)
    view = _view(focus, mask.shape)
    left, top, right, bottom = view
    scale = size_px / max(right - left, bottom - top)
    size = max(1, round((right - left) * scale)), max(1, round((bottom - top) * scale))
    rows, columns = window(view)
    picture = _resized(np.ascontiguousarray(frame[rows, columns]), size)
    shape = cv2.resize(_bytes(mask[rows, columns]), size, interpolation=cv2.INTER_NEAREST) > 0
    marks = _Errors.of(errors, shape, view, period_px=10)
    canvas = _with_marks(picture, shape, line_px=2 if size_px >= 320 else 1, errors=marks)
    if marked is not None:
        _brackets(canvas, _scaled(marked, view, scale))
    return canvas


@dataclass(frozen=True, slots=True, eq=False)
class _Errors:
    """What is likely wrong with a mask, in pixels of one picture."""

    missing: Mask
    extra: Mask
    period_px: int

    @classmethod
    def of(cls, found: ErrorMap | None, mask: Mask, view: Box, *, period_px: int) -> Self | None:
        """Project a map; None where there is none."""
        return None if found is None else cls(*parts(found, mask, view), period_px)

    def any(self) -> Mask:
        """What is likely wrong either way."""
        return np.asarray(self.missing | self.extra, dtype=np.bool_)


def _check(frame: Frame, mask: Mask) -> None:
    if frame.ndim != 3 or frame.shape[2] != 3 or frame.shape[:2] != mask.shape or mask.size == 0:
        raise ValueError(f"frame {frame.shape} and mask {mask.shape}: expected (H, W, 3) and (H, W)")


def _bytes(mask: Mask) -> NDArray[np.uint8]:
    return np.ascontiguousarray(mask).view(np.uint8)


def _resized(frame: Frame, size: tuple[int, int]) -> Frame:
    if (frame.shape[1], frame.shape[0]) == size:
        return frame
    shrinks = size[0] < frame.shape[1]
    interpolation = cv2.INTER_AREA if shrinks else cv2.INTER_LINEAR
    resized: Frame = cv2.resize(_halved(frame, size), size, interpolation=interpolation).astype(np.uint8, copy=False)
    return resized


def _halved(picture: NDArray[np.uint8], size: tuple[int, int]) -> NDArray[np.uint8]:
    """The picture at half size while that is still large; an odd last row or column goes, unseen at that size.

    Averaging two by two is several times faster than by a factor that is no whole number.
    """
    while picture.shape[1] >= 2 * size[0] and picture.shape[0] >= 2 * size[1]:
        half = picture.shape[1] // 2, picture.shape[0] // 2
        even = picture[: 2 * half[1], : 2 * half[0]]
        picture = cv2.resize(even, half, interpolation=cv2.INTER_AREA).astype(np.uint8, copy=False)
    return picture


def _small_mask(mask: Mask, size: tuple[int, int]) -> Mask:
    """The mask at thumbnail size: a pixel that it covers by half, or by anything if that leaves none."""
    if (mask.shape[1], mask.shape[0]) == size:
        return mask
    reduced = _halved(_bytes(mask) * np.uint8(255), size)
    share = cv2.resize(reduced, size, interpolation=cv2.INTER_AREA)
    half: Mask = share > 127
    if half.any() or not mask.any():
        return half
    touched: Mask = share > 0
    if touched.any():
        return touched
    first = np.argwhere(mask)[0] * np.array(touched.shape) // np.array(mask.shape)
    touched[tuple(first)] = True  # its share of a pixel rounds to nothing
    return touched


def _with_marks(
    frame: Frame, mask: Mask, *, line_px: int, errors: _Errors | None = None, colour: Colour = MASK_COLOUR
) -> Frame:
    painted: Frame = frame.copy()
    if errors is not None:
        draw(painted, errors.missing, errors.extra, period_px=errors.period_px)
    box = box_of(mask)
    if box is None:
        return painted
    rows, columns = window(grown(box, line_px + 1, (mask.shape[0], mask.shape[1])))
    part = np.ascontiguousarray(painted[rows, columns])
    shape = _bytes(mask[rows, columns])
    if errors is None:
        cv2.copyTo(_tinted(part, _TINT, colour), shape, part)
    else:
        cv2.copyTo(_tinted(part, _TINT_BESIDE_ERRORS), _bytes(mask & ~errors.extra)[rows, columns], part)
    if line_px:
        _line(part, shape, line_px, spared=None if errors is None or line_px > 1 else errors.any()[rows, columns])
    painted[rows, columns] = part
    return painted


def _tinted(part: Frame, share: float, colour: Colour = MASK_COLOUR) -> Frame:
    ramp = np.arange(256, dtype=np.float32)[:, None] * (1 - share)
    table = (ramp + np.array(colour, np.float32) * share).astype(np.uint8)[None]
    return np.asarray(cv2.LUT(part, table), dtype=np.uint8)


def _line(part: Frame, shape: NDArray[np.uint8], line_px: int, *, spared: Mask | None) -> None:
    """Draw the line round a mask, light inside, dark outside; not over pixels that are ``spared``.

    In a small picture a place that is likely wrong may be as thin as the line.
    """
    constant = cv2.BORDER_CONSTANT  # a mask that reaches the edge of the frame has its line there
    inner = cv2.erode(shape, _CROSS, iterations=line_px, borderType=constant, borderValue=(0,))
    outer = cv2.dilate(shape, _CROSS, iterations=line_px)
    dark, light = outer > shape, shape > inner
    if spared is not None:
        dark, light = dark & ~spared, light & ~spared
    part[dark] = DARK
    part[light] = LIGHT


def _inside(box: Box, shape: tuple[int, ...]) -> Box | None:
    left, top, right, bottom = grown(box, 0, (shape[0], shape[1]))
    return (left, top, right, bottom) if left < right and top < bottom else None


def _view(box: Box | None, shape: tuple[int, ...]) -> Box:
    """The part of the frame to show: the box and its surroundings, 4:3, moved inside the frame."""
    height, width = shape[0], shape[1]
    if box is None:
        return 0, 0, width, height
    view_width = max((box[2] - box[0]) * _CONTEXT, (box[3] - box[1]) * _CONTEXT * _ASPECT, width * _LEAST_SHARE)
    left, right = _span((box[0] + box[2]) / 2, view_width, width)
    top, bottom = _span((box[1] + box[3]) / 2, view_width / _ASPECT, height)
    return left, top, right, bottom


def _span(centre: float, length: float, limit: int) -> tuple[int, int]:
    size = min(limit, max(1, math.ceil(length)))
    start = min(max(0, round(centre - size / 2)), limit - size)
    return start, start + size


def _scaled(box: Box, view: Box, scale: float) -> Box:
    left, top = view[0], view[1]
    return (
        round((box[0] - left) * scale),
        round((box[1] - top) * scale),
        round((box[2] - left) * scale),
        round((box[3] - top) * scale),
    )


def _brackets(frame: Frame, box: Box) -> None:
    """Mark a box by its four corners, light on dark, without hiding what is inside."""
    left, top, right, bottom = grown(box, 4, (frame.shape[0], frame.shape[1]))
    right, bottom = right - 1, bottom - 1
    arm = max(4, min(22, (right - left) // 3, (bottom - top) // 3))
    for value, thickness in ((DARK, 5), (LIGHT, 2)):
        for x, dx in ((left, arm), (right, -arm)):
            for y, dy in ((top, arm), (bottom, -arm)):
                corner = np.array([[x + dx, y], [x, y], [x, y + dy]], np.int32)
                cv2.polylines(frame, [corner], isClosed=False, color=(value,) * 3, thickness=thickness)
