"""Follows the object of the first frame's mask through a video, by dense optical flow and colour; no weights.

Each frame, made small, in a window around where the object was:

1. The last soft mask is carried along the flow; where the flow cannot be trusted (something came into view, or the
   search failed) it is blurred. See ``flow_motion``.
2. The first mask is carried along the summed flow, corrected against the first frame itself, so that errors do not
   only add up; it weighs as much as its pixels look like those of the first frame.
3. Colours vote: those of the object in the first frame, and around each place those of the object as just carried. See
   ``flow_colour``.
4. The sum of the logits goes through a guided filter (He, Sun and Tang, TPAMI 2013), so that the outline lies on edges.

Where less than three tenths of the first area is left, the whole frame is searched for the object as it looked in the
first frame, and following starts anew where it is found.

What it cannot do: find again what looks otherwise than in the first frame, tell things of one look apart that touch,
notice that it follows something else, follow what moves further from frame to frame than a ninth of the frame's width.

Constants were chosen by reasoning and on the sequence dogs-jump of DAVIS 2017 and eight clips in which objects cut out
of COCO photographs move over others; no sequence of DAVIS 2016 was looked at before they were fixed.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

import cv2
import numpy as np

from auscult.errors import InputError
from auscult.models.base import Clip, Masks, Task
from auscult.models.classical import flow_colour, flow_motion
from auscult.models.classical.flow_colour import Palette
from auscult.models.classical.flow_motion import Floats, Picture
from auscult.types import Mask, Metadata, Query, Samples

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
    """Propagates the first frame's mask.

    Attributes:
        name: The registry name.
        meta: What it is.
        tasks: What it can be asked.
    """

    name: str = "classical.flow.v1"
    meta: Metadata = Metadata(
        summary="the first frame's mask, carried along by dense optical flow and corrected by its colours",
        goal="a real video model without weights, whose failures under perturbation teach something",
        modality="video",
        source="flow of Kroeger et al., ECCV 2016; colours after Bai et al., SIGGRAPH 2009",
    )
    tasks: tuple[Task, ...] = ("vos",)

    def predict(
        self,
        frames: Clip,
        query: Query,
        *,
        sound: Samples | None = None,
        rate_hz: int | None = None,
        first_mask: Mask | None = None,
    ) -> Masks:
        """Follow the object.

        Args:
            frames: uint8 RGB (T, H, W, 3).
            query: Not looked at.
            sound: Not looked at.
            rate_hz: Not looked at.
            first_mask: The object in the first frame, bool (H, W); an empty one is followed by empty ones.

        Returns:
            bool (T, H, W); the first is the given mask.

        Raises:
            InputError: There is no first mask, or it is not bool of the frames' size.
        """
        del query, sound, rate_hz
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
            track = _Track(Picture.of(frames[0], size), np.asarray(soft, dtype=np.float32))
            for frame, mask in zip(frames[1:], masks[1:], strict=True):
                soft = track.follow(Picture.of(frame, size))
                mask[:] = np.asarray(cv2.resize(soft, (width, height), interpolation=cv2.INTER_LINEAR)) > 0.5
        return masks


class _Track:
    """One object on its way through a clip."""

    def __init__(self, first: Picture, mask: Floats) -> None:
        self._first, self._first_mask = first, mask
        self._palette = Palette.of(first.lab, mask)
        self._last, self._mask = first, mask
        # where each pixel of the last picture was in the first
        self._origin = flow_motion.places(np.zeros((*mask.shape, 2), np.float32))

    def follow(self, picture: Picture) -> Floats:
        """The soft mask in the next picture, float32 (h, w)."""
        if float(self._mask.sum()) < _LOST * float(self._first_mask.sum()):
            self._look_again(picture)
        mask = np.zeros_like(self._mask)
        if float(self._mask.sum()) >= _GONE_PX:
            window = _window(self._mask)
            mask[window] = self._within(picture, window)
        self._last, self._mask = picture, mask
        return mask

    def _look_again(self, picture: Picture) -> None:
        """Take the first picture, moved, for the last one where the object looks as it did there."""
        whole = max(self._mask.shape)
        fit = flow_motion.fit_of(self._first, picture, self._first_mask, reach_px=whole, shrink=4)
        if fit is None or fit.misfit > _ALIKE:
            return
        self._last = self._first.moved(fit.shift)
        self._origin = flow_motion.places(np.zeros((*self._mask.shape, 2), np.float32)) - np.asarray(
            fit.shift, dtype=np.float32
        )
        self._mask = flow_motion.pulled(self._first_mask, self._origin)

    def _within(self, picture: Picture, window: tuple[slice, slice]) -> Floats:
        before, after, mask = self._last.part(window), picture.part(window), np.ascontiguousarray(self._mask[window])
        fit = flow_motion.fit_of(before, after, mask)
        shift = None if fit is None else fit.shift
        motion = flow_motion.between(before, after, shift=shift)
        at = flow_motion.places(motion.back)
        carried = flow_motion.pulled(mask, at)
        origin = flow_motion.pulled(np.ascontiguousarray(self._origin[window]), at)
        known = flow_motion.from_first(self._first, after, origin)
        self._origin[window] = known.back
        radius = float(np.clip(_RADIUS * np.sqrt(carried.sum()), *_RADII_PX))
        side = 2 * round(radius) + 1
        unsure = 1 - motion.trust
        mixed = carried + unsure * 0.5 * (cv2.blur(carried, (side, side)) - carried)
        weight = _FIRST * known.trust
        mixed = (mixed + weight * flow_motion.pulled(self._first_mask, known.back)) / (1 + weight)
        labels = self._palette.labels(after.lab)
        share = flow_colour.local_share(labels, carried, motion.trust, radius_px=radius)
        told = (
            _logit(mixed, _SURE)
            + _LOCAL * _logit(np.asarray(cv2.blur(share, (3, 3)), dtype=np.float32), _SURE_COLOUR)
            + _COLOUR * cv2.blur(self._palette.evidence[labels], (3, 3))
        )
        return _guided(np.asarray(1 / (1 + np.exp(-told)), dtype=np.float32), after)


@contextmanager
def _one_thread() -> Iterator[None]:
    """OpenCV's flow depends on its number of threads, which is the process's; it is put back afterwards."""
    before = cv2.getNumThreads()
    cv2.setNumThreads(1)
    try:
        yield
    finally:
        cv2.setNumThreads(before)


def _check(frames: Clip, first_mask: Mask | None) -> None:
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
        found = np.flatnonzero(inside.any(axis=axis))
        slices.append(slice(max(0, int(found[0]) - _MARGIN_PX), int(found[-1]) + 1 + _MARGIN_PX))
    return slices[0], slices[1]


def _logit(share: Floats, least: float) -> Floats:
    kept = np.clip(share, least, 1 - least)
    return np.asarray(np.log(kept / (1 - kept)), dtype=np.float32)


def _guided(soft: Floats, picture: Picture) -> Floats:
    """A soft mask drawn to the edges of its picture."""
    guide, side = picture.grey.astype(np.float32), (2 * _GUIDE_PX + 1, 2 * _GUIDE_PX + 1)
    mean_guide, mean_soft = cv2.blur(guide, side), cv2.blur(soft, side)
    slope = (cv2.blur(guide * soft, side) - mean_guide * mean_soft) / (
        cv2.blur(guide * guide, side) - mean_guide * mean_guide + _GUIDE_FLAT
    )
    level = mean_soft - slope * mean_guide
    drawn = cv2.blur(slope, side) * guide + cv2.blur(level, side)
    return np.asarray(np.clip((drawn - 0.5) * _SHARPER + 0.5, 0, 1), dtype=np.float32)


MODEL = FlowPropagation()
