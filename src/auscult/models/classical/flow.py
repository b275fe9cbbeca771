"""Follows the object of the first frame's mask through a video, by dense optical flow and colour; no weights.

Each frame, made small, in a window around where the object was:

1. The last soft mask is carried along the flow; where the flow cannot be trusted (something came into view, or the
   search failed) it is blurred.
2. The first mask is carried along the summed flow, corrected against the first frame itself, so that errors do not
   only add up; it weighs as much as its pixels look like those of the first frame.
3. Colours vote: those of the object in the first frame, and around each place those of the object as just carried.
4. The sum of the logits goes through a guided filter (He, Sun and Tang, TPAMI 2013), so that the outline lies on edges.

Where less than three tenths of the first area is left, the whole frame is searched for the object as it looked in the
first frame, and following starts anew where it is found.

What it cannot do: find again what looks otherwise than in the first frame, tell things of one look apart that touch,
notice that it follows something else, follow what moves further from frame to frame than a ninth of the frame's width.

Constants were chosen by reasoning and on the sequence dogs-jump of DAVIS 2017 and eight clips in which objects cut out
of COCO photographs move over others; no sequence of DAVIS 2016 was looked at before they were fixed.

Flow is dense inverse search (Kroeger et al., ECCV 2016, as in OpenCV). It loses what moves further than a few of its
patches; a second search then starts from the shift at which the object's pixels fit best, and each pixel takes the
flow that it can trust more.

Colours are those of a palette, fitted to what lies inside and around the object in the first frame. Around each place
the share of a colour that the object holds is counted in a window (after local colour models, Bai et al., "Video
SnapCut", SIGGRAPH 2009), so that a colour can be the object's here and the ground's there.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, TypeAlias

import cv2
import numpy as np
from numpy.typing import NDArray

from auscult.errors import InputError
from auscult.models.base import Masks, ModelTask
from auscult.types import Floats, Frame, Frames, Mask, Metadata, Query

Shift: TypeAlias = tuple[int, int]

LEAST_SIDE_PX: Final = 16
"""Below this OpenCV's search refuses a picture; nothing is then taken to move."""

NEAR_PX: Final = 48
"""How far an object is searched for from one frame to the next."""

_ASTRAY_PX: Final = 1.0  # what the flow there and back may be off: a pixel and a twentieth of its length
_ASTRAY_SHARE: Final = 0.05
_UNLIKE: Final = 40.0  # summed difference of Lab, in grey levels, at which trust falls to exp(-1)
_UNLIKE_FIRST: Final = 30.0
_FARNESS: Final = 0.1  # squared grey levels that a shift costs per pixel of its length: of equal fits the nearest
_LEAST_AREA_PX: Final = 32


@dataclass(frozen=True, slots=True, eq=False)
class FlowPicture:
    """A small frame, or a window of one."""

    lab: NDArray[np.uint8]  # uint8 (h, w, 3), as OpenCV scales CIE Lab
    grey: NDArray[np.uint8]  # uint8 (h, w)

    @classmethod
    def of(cls, frame: Frame, size: tuple[int, int]) -> FlowPicture:
        """A frame at a size, (width, height)."""
        small = cv2.resize(frame, size, interpolation=cv2.INTER_AREA)
        lab = np.asarray(cv2.cvtColor(small, cv2.COLOR_RGB2LAB), dtype=np.uint8)
        return cls(lab, np.asarray(cv2.cvtColor(small, cv2.COLOR_RGB2GRAY), dtype=np.uint8))

    def moved(self, shift: Shift) -> FlowPicture:
        """All of it moved by columns and rows; its edges stand for what comes from beyond."""
        grid = places(np.zeros((*self.grey.shape, 2), np.float32)) - np.asarray(shift, dtype=np.float32)
        return FlowPicture(np.asarray(pulled(self.lab, grid), np.uint8), np.asarray(pulled(self.grey, grid), np.uint8))

    def part(self, window: tuple[slice, slice]) -> FlowPicture:
        """The part in a window of rows and columns."""
        return FlowPicture(np.ascontiguousarray(self.lab[window]), np.ascontiguousarray(self.grey[window]))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FlowMotion:
    """What lies between two pictures."""

    back: Floats  # float32 (h, w, 2): shift in columns and rows from a pixel of the later picture to where it came from
    # float32 (h, w), 0..1: near 1 where the flow there and back again ends where it began and brings along the colour
    # that is there; near 0 where something came into view
    trust: Floats


@dataclass(frozen=True, slots=True)
class Fit:
    """Where an object's pixels fit best."""

    shift: Shift  # columns and rows by which it moved
    misfit: float  # mean squared difference there, in grey levels squared of a channel of Lab


def between(earlier: FlowPicture, later: FlowPicture, *, shift: Shift | None = None) -> FlowMotion:
    """How one picture became the next; ``shift``, the object's columns and rows, is a second place to search from."""
    best = _searched(earlier, later, (0, 0))
    if shift is None or shift == (0, 0):
        return best
    other = _searched(earlier, later, shift)
    better = other.trust > best.trust
    back = np.where(better[..., None], other.back, best.back)
    return FlowMotion(back=back, trust=np.maximum(best.trust, other.trust))


def from_first(first: FlowPicture, later: FlowPicture, start: Floats) -> FlowMotion:
    """How the clip's first picture became a window of a later one, (h, w), from a guess that has drifted.

    ``start`` is the guess that summed flow gives: absolute columns and rows in the first picture, float32 (h, w, 2).
    ``back`` of what is found holds the same, corrected; ``trust`` is by colour alone.
    """
    guess = np.asarray(pulled(first.grey, start), dtype=np.uint8)
    residual = _flow(later.grey, guess, (0, 0))
    corrected = pulled(start, places(residual))
    unlike = cv2.blur(_difference(pulled(first.lab, corrected), later.lab), (5, 5)) / np.float32(_UNLIKE_FIRST)
    return FlowMotion(back=corrected, trust=np.exp(-unlike * unlike))


def fit_of(
    earlier: FlowPicture, later: FlowPicture, mask: Floats, *, reach_px: int = NEAR_PX, shrink: int = 2
) -> Fit | None:
    """By how much an object, a soft mask (h, w), moved as a whole: where its pixels fit best within ``reach_px``.

    The pictures are made smaller by ``shrink`` first. None for an object too small to tell.
    """
    inside = mask > 0.5
    if np.count_nonzero(inside) < _LEAST_AREA_PX:
        return None
    size = (max(1, mask.shape[1] // shrink), max(1, mask.shape[0] // shrink))
    before, after = (cv2.resize(picture.lab, size, interpolation=cv2.INTER_AREA) for picture in (earlier, later))
    small = np.asarray(cv2.resize(inside.astype(np.float32), size, interpolation=cv2.INTER_AREA)) > 0.5
    rows, columns = np.flatnonzero(small.any(axis=1)), np.flatnonzero(small.any(axis=0))
    if rows.size == 0:
        return None
    top, bottom, left, right = rows[0], rows[-1] + 1, columns[0], columns[-1] + 1
    reach = reach_px // shrink
    padded = cv2.copyMakeBorder(after, reach, reach, reach, reach, cv2.BORDER_REPLICATE)
    field = padded[top : bottom + 2 * reach, left : right + 2 * reach].astype(np.float32)
    weights = np.repeat(small[top:bottom, left:right, None].astype(np.float32), 3, axis=2)
    patch = before[top:bottom, left:right].astype(np.float32)
    misfit = cv2.matchTemplate(field, patch, cv2.TM_SQDIFF, mask=weights) / np.float32(weights.sum())
    line = np.arange(-reach, reach + 1, dtype=np.float32)
    cost = misfit + _FARNESS * np.hypot(line[:, None], line)
    row, column = np.unravel_index(int(np.argmin(cost)), cost.shape)
    return Fit((shrink * (int(column) - reach), shrink * (int(row) - reach)), float(misfit[row, column]))


def places(flow: Floats) -> Floats:
    """Flow, float32 (h, w, 2), as absolute columns and rows that pixels came from."""
    positions = flow.copy()
    positions[..., 0] += np.arange(flow.shape[1], dtype=np.float32)
    positions[..., 1] += np.arange(flow.shape[0], dtype=np.float32)[:, None]
    return positions


def pulled(values: NDArray[np.generic], at: Floats) -> Floats:
    """Values (h, w) or (h, w, n) at absolute columns and rows (rows, columns, 2); the edge goes on beyond it."""
    sampled = cv2.remap(values, at, None, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)  # type: ignore[call-overload]
    return np.asarray(sampled)


def _searched(earlier: FlowPicture, later: FlowPicture, shift: Shift) -> FlowMotion:
    back = _flow(later.grey, earlier.grey, (-shift[0], -shift[1]))
    forth = _flow(earlier.grey, later.grey, shift)
    positions = places(back)
    returned = back + pulled(forth, positions)
    reach = _ASTRAY_PX + _ASTRAY_SHARE * _length(back)
    astray = _length(returned) / reach
    unlike = cv2.blur(_difference(pulled(earlier.lab, positions), later.lab), (3, 3)) / np.float32(_UNLIKE)
    return FlowMotion(back=back, trust=np.exp(-0.5 * astray * astray - unlike * unlike))


def _difference(first: NDArray[np.generic], second: NDArray[np.uint8]) -> Floats:
    difference = np.asarray(cv2.absdiff(np.asarray(first), second), dtype=np.float32)
    return np.asarray(difference.sum(axis=2), dtype=np.float32)


def _length(flow: Floats) -> Floats:
    return np.asarray(cv2.magnitude(flow[..., 0], flow[..., 1]), dtype=np.float32)


def _flow(first: NDArray[np.uint8], second: NDArray[np.uint8], start: Shift) -> Floats:
    guess = np.empty((*first.shape, 2), np.float32)
    guess[:] = start
    if min(first.shape) < LEAST_SIDE_PX:
        return guess
    search = cv2.DISOpticalFlow.create(cv2.DISOPTICAL_FLOW_PRESET_MEDIUM)
    return np.asarray(search.calc(first, second, guess), dtype=np.float32)


ColourLabels: TypeAlias = NDArray[np.intp]

_COLOURS: Final = 32  # half of them of the object, half of what is around it
_SAMPLES: Final = 1500
_AROUND_PX: Final = 41
_LEVELS: Final = 32  # of each channel, in the table from colour to palette
_FLOOR: Final = 0.003
_MOST: Final = 3.0
_FAR: Final = 0.1  # weight of what lies beyond ``_NEAR_PX`` of the object
_NEAR_PX: Final = 61
_CELL_PX: Final = 4
_PRIOR: Final = 2.0  # pixels of either kind that each window is taken to hold beforehand, half and half
_UNTRUSTED: Final = 0.2


@dataclass(frozen=True, slots=True, eq=False)
class Palette:
    """Colours of a clip."""

    table: ColourLabels  # intp (32768,): the palette's colour for five bits of each channel of Lab
    # float32 (colours,), within -3..3: log ratio of the colour's share of the object to its share of what is not, in
    # the first frame
    evidence: Floats

    @classmethod
    def of(cls, lab: NDArray[np.uint8], mask: Floats) -> Palette:
        """The palette of a first frame, uint8 (h, w, 3), and a soft mask of the object, (h, w)."""
        table = _table(lab, mask)
        labels = _labels(table, lab)
        around = cv2.dilate((mask > 0.5).astype(np.uint8), np.ones((_NEAR_PX, _NEAR_PX), np.uint8))
        inside = _shares(labels, mask)
        outside = _shares(labels, (1 - mask) * np.where(around > 0, 1.0, _FAR))
        if not inside.any() or not outside.any():
            return cls(table, np.zeros(_COLOURS, np.float32))
        ratio = np.log((inside + _FLOOR) / (outside + _FLOOR))
        return cls(table, np.clip(ratio, -_MOST, _MOST).astype(np.float32))

    def labels(self, lab: NDArray[np.uint8]) -> ColourLabels:
        """The palette's colour of each pixel, intp (h, w)."""
        return _labels(self.table, lab)


def local_share(labels: ColourLabels, mask: Floats, trust: Floats, *, radius_px: float) -> Floats:
    """What share of each pixel's colour around it is the object's, float32 (h, w), 0..1; a half where none is known."""
    height, width = labels.shape
    rows, columns = -(-height // _CELL_PX), -(-width // _CELL_PX)
    cell = (np.arange(height) // _CELL_PX * columns)[:, None] + np.arange(width) // _CELL_PX
    bins = (cell * _COLOURS + labels).reshape(-1)
    weights = _UNTRUSTED + (1 - _UNTRUSTED) * trust
    side = 2 * round(radius_px / _CELL_PX) + 1
    counts = []
    for part in (weights * mask, weights):
        counted = np.bincount(bins, part.reshape(-1), minlength=rows * columns * _COLOURS)
        grid = counted.reshape(rows, columns, _COLOURS).astype(np.float32)
        counts.append(cv2.boxFilter(grid, -1, (side, side), normalize=False).reshape(-1))
    share = (counts[0] + _PRIOR / 2) / (counts[1] + _PRIOR)
    return np.asarray(share[bins].reshape(height, width), dtype=np.float32)


def _table(lab: NDArray[np.uint8], mask: Floats) -> ColourLabels:
    inside = mask > 0.5
    around = cv2.dilate(inside.astype(np.uint8), np.ones((_AROUND_PX, _AROUND_PX), np.uint8)) > 0
    centres = np.concatenate([_centres(lab[part] if part.any() else lab) for part in (inside, around & ~inside)])
    axis = (np.arange(_LEVELS, dtype=np.float32) + 0.5) * (256 / _LEVELS)
    grid = np.stack(np.meshgrid(axis, axis, axis, indexing="ij"), axis=-1).reshape(-1, 3)
    distance = (centres * centres).sum(axis=1) - 2 * (grid @ centres.T)
    return np.asarray(np.argmin(distance, axis=1), dtype=np.intp)


def _centres(pixels: NDArray[np.uint8]) -> Floats:
    flat = pixels.reshape(-1, 3)
    chosen = flat[np.linspace(0, len(flat) - 1, _SAMPLES).astype(np.intp)].astype(np.float32)
    cv2.setRNGSeed(0)  # OpenCV's k-means draws its first centres from OpenCV's own generator
    limits = (cv2.TERM_CRITERIA_EPS + cv2.TERM_CRITERIA_COUNT, 10, 1.0)
    labels = np.zeros((len(chosen), 1), np.int32)
    _, _, centres = cv2.kmeans(chosen, _COLOURS // 2, labels, limits, 1, cv2.KMEANS_PP_CENTERS)
    return np.asarray(centres, dtype=np.float32)


def _labels(table: ColourLabels, lab: NDArray[np.uint8]) -> ColourLabels:
    level = (lab >> 3).astype(np.intp)
    return np.asarray(table[(level[..., 0] * _LEVELS + level[..., 1]) * _LEVELS + level[..., 2]])


def _shares(labels: ColourLabels, weights: NDArray[np.floating]) -> NDArray[np.float64]:
    counts = np.bincount(labels.reshape(-1), weights.reshape(-1), minlength=_COLOURS)
    total = counts.sum()
    return np.asarray(counts / total if total > 0 else counts)


_SIDE_PX: Final = 432  # the frame's longer side as it is worked on
_MARGIN_PX: Final = 56  # of the window around the object: as far as it is searched for, and a flow patch
_GONE_PX: Final = 0.5  # what is left of an object that is taken for gone
_LOST: Final = 0.3  # share of the first area below which the object is looked for in the whole frame
_ALIKE: Final = 225.0  # how much it may then differ from the first frame: 15 grey levels, squared
_FIRST: Final = 2.0  # weight of the first mask where its pixels are found again, against 1 for the last mask
_LOCAL: Final = 0.7
_COLOUR: Final = 0.6
_RADIUS: Final = 0.6  # of the window in which colours are counted, in square roots of the object's area
_RADII_PX: Final = (12.0, 80.0)
_GUIDE_PX: Final = 4
_GUIDE_FLAT: Final = 60.0  # variance of grey below which a place counts as flat
_SHARPER: Final = 1.3  # what blur the filter and the carrying leave is taken back by
_SURE: Final = 0.01
_SURE_COLOUR: Final = 0.03


@dataclass(frozen=True, slots=True)
class FlowPropagation:
    """Propagates the first frame's mask."""

    name: str = "classical.flow.v1"
    meta: Metadata = Metadata(
        summary="the first frame's mask, carried along by dense optical flow and corrected by its colours",
        goal="a real video model without weights, whose failures under perturbation teach something",
        modality="video",
        source="flow of Kroeger et al., ECCV 2016; colours after Bai et al., SIGGRAPH 2009",
    )
    tasks: tuple[ModelTask, ...] = ("vos",)

    def predict(self, frames: Frames, query: Query, *, first_mask: Mask | None = None, **_: object) -> Masks:
        """Follow the object from its first mask, which may be empty, through the frames: bool (T, H, W)."""
        del query
        _check(frames, first_mask)
        masks = np.zeros(frames.shape[:3], np.bool_)
        masks[0] = first_mask
        if not masks[0].any() or len(frames) == 1:
            return masks
        height, width = frames.shape[1:3]
        scale = min(1.0, _SIDE_PX / max(height, width))
        size = (max(1, round(width * scale)), max(1, round(height * scale)))
        soft = cv2.resize(masks[0].astype(np.float32), size, interpolation=cv2.INTER_AREA)
        with _one_thread():
            track = _Track(FlowPicture.of(frames[0], size), np.asarray(soft, dtype=np.float32))
            for frame, mask in zip(frames[1:], masks[1:], strict=True):
                soft = track.follow(FlowPicture.of(frame, size))
                mask[:] = np.asarray(cv2.resize(soft, (width, height), interpolation=cv2.INTER_LINEAR)) > 0.5
        return masks


class _Track:
    """One object on its way through a clip."""

    def __init__(self, first: FlowPicture, mask: Floats) -> None:
        self._first, self._first_mask = first, mask
        self._palette = Palette.of(first.lab, mask)
        self._last, self._mask = first, mask
        # where each pixel of the last picture was in the first
        self._origin = places(np.zeros((*mask.shape, 2), np.float32))

    def follow(self, picture: FlowPicture) -> Floats:
        """The soft mask in the next picture, float32 (h, w)."""
        if float(self._mask.sum()) < _LOST * float(self._first_mask.sum()):
            self._look_again(picture)
        mask = np.zeros_like(self._mask)
        if float(self._mask.sum()) >= _GONE_PX:
            window = _window(self._mask)
            mask[window] = self._within(picture, window)
        self._last, self._mask = picture, mask
        return mask

    def _look_again(self, picture: FlowPicture) -> None:
        """Take the first picture, moved, for the last one where the object looks as it did there."""
        reach = max(self._mask.shape)
        fit = fit_of(self._first, picture, self._first_mask, reach_px=reach, shrink=4)
        if fit is None or fit.misfit > _ALIKE:
            return
        self._last = self._first.moved(fit.shift)
        self._origin = places(np.zeros((*self._mask.shape, 2), np.float32)) - np.asarray(fit.shift, dtype=np.float32)
        self._mask = pulled(self._first_mask, self._origin)

    def _within(self, picture: FlowPicture, window: tuple[slice, slice]) -> Floats:
        before, after, mask = self._last.part(window), picture.part(window), np.ascontiguousarray(self._mask[window])
        fit = fit_of(before, after, mask)
        shift = None if fit is None else fit.shift
        motion = between(before, after, shift=shift)
        positions = places(motion.back)
        carried = pulled(mask, positions)
        origin = pulled(np.ascontiguousarray(self._origin[window]), positions)
        corrected = from_first(self._first, after, origin)
        self._origin[window] = corrected.back
        radius = float(np.clip(_RADIUS * np.sqrt(carried.sum()), *_RADII_PX))
        side = 2 * round(radius) + 1
        unsure = 1 - motion.trust
        mixed = carried + unsure * 0.5 * (cv2.blur(carried, (side, side)) - carried)
        weight = _FIRST * corrected.trust
        mixed = (mixed + weight * pulled(self._first_mask, corrected.back)) / (1 + weight)
        labels = self._palette.labels(after.lab)
        share = local_share(labels, carried, motion.trust, radius_px=radius)
        logit = (
            _logit(mixed, _SURE)
            + _LOCAL * _logit(np.asarray(cv2.blur(share, (3, 3)), dtype=np.float32), _SURE_COLOUR)
            + _COLOUR * cv2.blur(self._palette.evidence[labels], (3, 3))
        )
        return _guided(np.asarray(1 / (1 + np.exp(-logit)), dtype=np.float32), after)


@contextmanager
def _one_thread() -> Iterator[None]:
    """OpenCV's flow depends on its number of threads, which is the process's; it is put back afterwards."""
    before = cv2.getNumThreads()
    cv2.setNumThreads(1)
    try:
        yield
    finally:
        cv2.setNumThreads(before)


def _check(frames: Frames, first_mask: Mask | None) -> None:
    if first_mask is None:
        raise InputError(
            "the model was given no first mask", expected="the object in the first frame", hint="its task is vos"
        )
    if first_mask.dtype != np.bool_ or first_mask.shape != frames.shape[1:3]:
        raise InputError(
            f"the first mask has shape {first_mask.shape} and dtype {first_mask.dtype}",
            expected=f"bool {frames.shape[1:3]}, the size of the frames",
        )


def _window(mask: Floats) -> tuple[slice, slice]:
    """Rows and columns of the object and what is around it; never empty."""
    inside = mask > min(0.5, 0.5 * float(mask.max()))
    slices = []
    for axis in (1, 0):
        occupied = np.flatnonzero(inside.any(axis=axis))
        slices.append(slice(max(0, int(occupied[0]) - _MARGIN_PX), int(occupied[-1]) + 1 + _MARGIN_PX))
    return slices[0], slices[1]


def _logit(share: Floats, least: float) -> Floats:
    clipped = np.clip(share, least, 1 - least)
    return np.asarray(np.log(clipped / (1 - clipped)), dtype=np.float32)


def _guided(soft: Floats, picture: FlowPicture) -> Floats:
    """A soft mask drawn to the edges of its picture."""
    guide, side = picture.grey.astype(np.float32), (2 * _GUIDE_PX + 1, 2 * _GUIDE_PX + 1)
    mean_guide, mean_soft = cv2.blur(guide, side), cv2.blur(soft, side)
    slope = (cv2.blur(guide * soft, side) - mean_guide * mean_soft) / (
        cv2.blur(guide * guide, side) - mean_guide * mean_guide + _GUIDE_FLAT
    )
    level = mean_soft - slope * mean_guide
    fitted = cv2.blur(slope, side) * guide + cv2.blur(level, side)
    return np.asarray(np.clip((fitted - 0.5) * _SHARPER + 0.5, 0, 1), dtype=np.float32)


MODEL = FlowPropagation()
