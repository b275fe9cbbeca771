"""Answers that look at nothing or little, to compare with: the whole frame, none of it, a centre box, a random region.

The first frame is flooded from ``REGIONS`` points drawn at random, so that it falls into as many connected regions, a
tenth of the frame each on average, whose outlines lie on edges of the picture where there are any. The one that holds
another random point is the answer, in every frame at the same place.

What is drawn depends on the pixels and the shape of the clip's first frame alone: the same in any process, another
region for any other picture, and for the same picture with noise on it. So its score under a perturbation is another
draw, not the clean one made worse.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from auscult import rng
from auscult.arrays.segments import flooded, reduced
from auscult.models.base import MASK_TASKS, TASKS, Masks, ModelTask
from auscult.record.digest import digest_bytes
from auscult.types import Box, Frame, Frames, Mask, Metadata, Query


@dataclass(frozen=True, slots=True, kw_only=True)
class Still:
    """Answers the same mask in every frame: ``mask_of`` makes it, bool (H, W), from the first, uint8 RGB (H, W, 3)."""

    name: str
    meta: Metadata
    mask_of: Callable[[Frame], Mask]
    tasks: tuple[ModelTask, ...] = MASK_TASKS

    def predict(self, frames: Frames, query: Query, **_: object) -> Masks:
        """Give one mask for every frame, bool (T, H, W), that ignores the given first mask."""
        del query
        return np.repeat(self.mask_of(frames[0])[None], frames.shape[0], axis=0)


def box(frame: Frame) -> Mask:
    """The middle box of half the height and half the width, a quarter of the area, bool (H, W); see ``middle``."""
    mask = np.zeros(frame.shape[:2], np.bool_)
    left, top, right, bottom = middle((frame.shape[0], frame.shape[1]))
    mask[top:bottom, left:right] = True
    return mask


def middle(size: tuple[int, int]) -> Box:
    """The middle box of a frame (height, width), xyxy, half-open: from a quarter to three quarters, never empty."""
    height, width = size
    top, left = height // 4, width // 4
    return left, top, width - left, height - top


CENTRE_BOX = Still(
    name="baseline.centre_box.v1",
    meta=Metadata(
        summary="baseline: the middle box of half the frame's height and width",
        goal="the score that framing gives away",
        modality="video",
        source="a constant answer",
    ),
    mask_of=box,
)


def nothing(frame: Frame) -> Mask:
    """No pixel, bool (H, W)."""
    return np.zeros(frame.shape[:2], np.bool_)


EMPTY = Still(
    name="baseline.empty.v1",
    meta=Metadata(
        summary="baseline: no pixel of any frame",
        goal="the score that saying nothing gives away",
        modality="video",
        source="a constant answer",
    ),
    mask_of=nothing,
    tasks=TASKS,
)


def everything(frame: Frame) -> Mask:
    """Every pixel, bool (H, W)."""
    return np.ones(frame.shape[:2], np.bool_)


FULL_FRAME = Still(
    name="baseline.full_frame.v1",
    meta=Metadata(
        summary="baseline: every pixel of every frame",
        goal="the score that an object's size gives away",
        modality="video",
        source="a constant answer",
    ),
    mask_of=everything,
)


REGIONS: Final = 10
_SIDE_PX: Final = 240  # the picture's longer side as it is flooded
_SEED: Final = 0  # a model has no seed of the run: the same frames, the same answer


def some_region(frame: Frame) -> Mask:
    """One region of a random partition of a frame, bool (H, W): connected if the frame is large enough, never empty."""
    height, width = frame.shape[:2]
    small = reduced(frame, _SIDE_PX)
    generator = rng.generator(_SEED, "RandomRegion", height, width, digest_bytes(frame.tobytes()))
    labels = _partition(small, generator)
    chosen = labels == generator.choice(labels[labels > 0])
    region = cv2.resize(chosen.astype(np.uint8), (width, height), interpolation=cv2.INTER_NEAREST)
    return np.asarray(region) > 0


def _partition(small: Frame, generator: np.random.Generator) -> NDArray[np.int32]:
    """Labels 1..n of the regions, at most ``REGIONS``; -1 on the lines between them."""
    height, width = small.shape[:2]
    points = generator.permutation(height * width)[:REGIONS]
    markers = np.zeros(height * width, np.int32)
    markers[points] = np.arange(1, points.size + 1)
    return flooded(small, markers.reshape(height, width))


RANDOM_REGION = Still(
    name="baseline.random_region.v1",
    meta=Metadata(
        summary="baseline: one region of a random partition of the first frame, moved nowhere",
        goal="the score of chance, for answers that follow the picture's edges",
        modality="video",
        source="flooding from random points, after Meyer, ICIP 1992",
    ),
    mask_of=some_region,
)
