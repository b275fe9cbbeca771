"""What a worker process does for a video: go through its frames two at a time and follow each track's mask.

Frames are read and shrunk one after the other; no more than two are held. Masks come from the record, as RLE. What
cannot be read leaves a gap, and costs nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from auscult.arrays import motion
from auscult.errors import AuscultError
from auscult.media.frames import read_reduced
from auscult.media.rle import decode
from auscult.score.masks.over_time import MaskStep
from auscult.types import Frame

Colours: TypeAlias = NDArray[np.float32]

LONGEST = 48
LEAST_CELLS = 16.0
"""Cells of the small frame that a mask must cover before its colours say anything."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """Consecutive frames of a video; the first is also the last of the stretch before.

    Attributes:
        frames: The picture files.
        masks: Track to the RLE of its mask on each frame; None where it has none.
    """

    frames: tuple[Path, ...]
    masks: Mapping[str, tuple[Mapping[str, Any] | None, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Followed:
    """What was seen of one track in a stretch.

    Attributes:
        areas: Share of the frame that the mask covers, 0..1, of each frame; None where there is no mask.
        steps: The step to each frame but the first; None where a frame or mask could not be had.
        first: Place of the first frame on which the mask's colours are known, and the colours; None where on none.
        last: The colours under the mask where they are known last; None where on no frame.
    """

    areas: tuple[float | None, ...]
    steps: tuple[MaskStep | None, ...]
    first: tuple[int, Colours] | None = field(default=None, compare=False)
    last: Colours | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Seen:
    """A mask on the small frame."""

    area: float
    soft: motion.Soft
    colours: NDArray[np.float32] | None


def make_follower() -> Follower:
    """Make the worker's function; module-level, so that a child process can be told to call it."""
    return Follower()


class Follower:
    """Follows the masks of a stretch."""

    def __call__(self, stretch: Stretch) -> dict[str, Followed]:
        """Go through the frames and give what was seen of each track."""
        areas: dict[str, list[float | None]] = {name: [] for name in stretch.masks}
        steps: dict[str, list[MaskStep | None]] = {name: [] for name in stretch.masks}
        last: Frame | None = None
        before: dict[str, _Seen | None] = {}
        shown: dict[str, Colours] = {}
        first: dict[str, tuple[int, Colours]] = {}
        for place, path in enumerate(stretch.frames):
            frame = _small(path)
            now = {name: _seen(frame, masks[place]) for name, masks in stretch.masks.items()}
            between = _between(last, frame) if place else None
            for name, seen in now.items():
                areas[name].append(None if seen is None else seen.area)
                if place:
                    steps[name].append(_step(before[name], seen, between, last=shown.get(name)))
                if seen is not None and seen.colours is not None:
                    shown[name] = seen.colours
                    first.setdefault(name, (place, seen.colours))
            last, before = frame, now
        return {
            name: Followed(
                areas=tuple(areas[name]), steps=tuple(steps[name]), first=first.get(name), last=shown.get(name)
            )
            for name in stretch.masks
        }


def stretches(frames: Sequence[Path], masks: Mapping[str, Sequence[Mapping[str, Any] | None]]) -> list[Stretch]:
    """Cut a video into stretches of at most ``LONGEST`` steps.

    Args:
        frames: The frames in order, at least two.
        masks: Track to the RLE of its mask on each of them.
    """
    return [
        Stretch(
            frames=tuple(frames[begin : begin + LONGEST + 1]),
            masks={name: tuple(rows[begin : begin + LONGEST + 1]) for name, rows in masks.items()},
        )
        for begin in range(0, len(frames) - 1, LONGEST)
    ]


def joined(parts: Sequence[Mapping[str, Followed]]) -> dict[str, Followed]:
    """What was seen in the stretches of a video, in order, as one: each begins with the frame the last ended with."""
    return {name: _joined([part[name] for part in parts]) for name in parts[0]}


def _joined(parts: Sequence[Followed]) -> Followed:
    areas, steps = [*parts[0].areas[:1]], list[MaskStep | None]()
    first, last = None, None
    for part in parts:
        if part.first is not None and first is None:
            first = len(steps) + part.first[0], part.first[1]
        areas += part.areas[1:]
        steps += _known_before(part, last)
        last = last if part.last is None else part.last
    return Followed(areas=tuple(areas), steps=tuple(steps), first=first, last=last)


def _known_before(part: Followed, last: Colours | None) -> tuple[MaskStep | None, ...]:
    """The steps of a stretch in which a mask comes back that was there in a stretch before, with these colours."""
    place = 0 if part.first is None else part.first[0]
    step = part.steps[place - 1] if place else None
    if part.first is None or last is None or step is None:
        return part.steps
    back = replace(step, colours=motion.colour_distance(last, part.first[1]))
    return (*part.steps[: place - 1], back, *part.steps[place:])


def unseen(stretch: Stretch) -> dict[str, Followed]:
    """A stretch of which nothing could be seen."""
    count = len(stretch.frames)
    return {name: Followed(areas=(None,) * count, steps=(None,) * (count - 1)) for name in stretch.masks}


def _small(path: Path) -> Frame | None:
    try:
        frame, size = read_reduced(path, least=motion.MOST_HEIGHT)
    except AuscultError:
        return None
    return motion.small_frame(frame, size)


def _between(last: Frame | None, frame: Frame | None) -> motion.Step | None:
    if last is None or frame is None or last.shape != frame.shape:
        return None
    return motion.step_between(last, frame)


def _seen(frame: Frame | None, segmentation: Mapping[str, Any] | None) -> _Seen | None:
    if segmentation is None:
        return None
    try:
        mask = decode(segmentation)
    except AuscultError:
        return None
    soft = motion.small_mask(mask)
    colours = None
    if frame is not None and soft.shape == frame.shape[:2] and float(soft.sum()) >= LEAST_CELLS:
        colours = motion.colours_of(frame, soft)
    return _Seen(area=float(np.count_nonzero(mask)) / mask.size, soft=soft, colours=colours)


def _step(
    before: _Seen | None, after: _Seen | None, between: motion.Step | None, *, last: Colours | None
) -> MaskStep | None:
    """The step to a mask; ``last`` are the colours under the track's mask when it was last there."""
    if after is None or between is None or after.soft.shape != between.followed.shape:
        return None
    known = None if last is None or after.colours is None else (last, after.colours)
    colours = None if known is None else motion.colour_distance(*known)
    if before is None or before.soft.shape != after.soft.shape:
        return MaskStep(iou=None, followed=0.0, everywhere=None, colours=colours)
    carried = motion.carried(before.soft, between)
    overlap = motion.overlap(carried, after.soft, between)
    return MaskStep(
        iou=overlap.iou,
        followed=overlap.followed,
        everywhere=overlap.everywhere,
        within=overlap.within,
        jump=_jump(carried if carried.any() else before.soft, after.soft),
        colours=colours,
    )


def _jump(before: motion.Soft, after: motion.Soft) -> float | None:
    first, second = _centre(before), _centre(after)
    if first is None or second is None:
        return None
    return math.dist(first, second) / max(1.0, math.sqrt(float(before.sum())))


def _centre(soft: motion.Soft) -> tuple[float, float] | None:
    total = float(soft.sum())
    if total == 0:
        return None
    rows, columns = soft.sum(axis=1), soft.sum(axis=0)
    return (
        float(rows @ np.arange(rows.size, dtype=np.float32)) / total,
        float(columns @ np.arange(columns.size, dtype=np.float32)) / total,
    )
