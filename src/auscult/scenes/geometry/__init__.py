"""Where things are, how large, how near, and how they move: numbers only, no picture and no sound.

Places are shares of the picture: x 0 left to 1 right, y 0 top to 1 bottom. ``height`` is a thing's height as a share of
the picture's height. Angles turn clockwise. Distance is in units of its own: at distance 1 a thing has ``full_height``,
at distance 2 half of it.

Things are placed one after the other. Of some draws for each the first one is taken that suits the others, else the one
that suits them best, so that a crowded scene is still a scene.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, TypeAlias, get_args

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from auscult.errors import InputError

Motion: TypeAlias = Literal["still", "left", "right", "up", "down", "nearer", "away", "to_and_fro"]
MOTIONS: tuple[Motion, ...] = get_args(Motion)

_Coordinate: TypeAlias = Annotated[float, Meta(ge=-4.0, le=5.0)]  # a centre may lie up to four pictures outside


@dataclass(frozen=True, slots=True)
class Pose:
    """Where a thing is at one time."""

    x: _Coordinate  # centre, share of the picture's width; may lie outside 0..1
    y: _Coordinate  # centre, share of the picture's height
    height: Annotated[float, Meta(ge=1e-3, le=2.0)]  # height, share of the picture's height, above 0
    turn_deg: Annotated[float, Meta(ge=-360.0, le=360.0)] = 0.0  # turn, clockwise


@dataclass(frozen=True, slots=True, kw_only=True)
class Path:
    """A way through a clip."""

    motion: Motion  # the way in one word; `to_and_fro` swings between `start` and `end`, the others go once
    start: Pose  # pose at 0 s
    end: Pose  # pose at `duration_s`, or at the other end of a swing
    duration_s: Annotated[float, Meta(ge=1e-3, le=3600.0)]  # length of the clip, above 0
    full_height: Annotated[float, Meta(ge=1e-3, le=4.0)]  # height at distance 1
    # full periods of `to_and_fro` within the clip; 0 for the others
    swings: Annotated[float, Meta(ge=0.0, le=1000.0)] = 0.0

    def pose(self, time_s: float) -> Pose:
        """Where the thing is; before 0 and after ``duration_s`` as at that end.

        Sizes change by a constant factor a second, places and turns by a constant amount; a swing slows at its ends.
        """
        share = min(1.0, max(0.0, time_s / self.duration_s))
        if self.swings:
            share = (1.0 - math.cos(2.0 * math.pi * self.swings * share)) / 2.0
        start, end = self.start, self.end
        return Pose(
            x=start.x + share * (end.x - start.x),
            y=start.y + share * (end.y - start.y),
            height=start.height * (end.height / start.height) ** share,
            turn_deg=start.turn_deg + share * (end.turn_deg - start.turn_deg),
        )

    def speed(self, time_s: float) -> tuple[float, float]:
        """Share of the picture's width and of its height that the thing moves in a second, around a time."""
        half_s = 0.01
        before, after = self.pose(time_s - half_s), self.pose(time_s + half_s)
        return (after.x - before.x) / (2 * half_s), (after.y - before.y) / (2 * half_s)

    def distance(self, time_s: float) -> float:
        """How far away the thing is; 1 where it has ``full_height``."""
        return self.full_height / self.pose(time_s).height


MOST_OBJECTS = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class SceneLayout:
    """Paths and depth order of all things of a scene."""

    paths: Annotated[tuple[Path, ...], Meta(max_length=MOST_OBJECTS)]  # one for each thing
    depth: tuple[int, ...]  # rank of each thing from the viewer, 0 in front of all others; the same throughout the clip

    def __post_init__(self) -> None:
        """Insist that the things are ranked."""
        if sorted(self.depth) != list(range(len(self.paths))):
            raise InputError(
                "'depth' does not rank the things",
                expected=f"each of 0 to {len(self.paths) - 1} once",
                hint="correct the line",
            )

    @property
    def far_to_near(self) -> tuple[int, ...]:
        """Indices of the things in the order in which they are painted."""
        return tuple(sorted(range(len(self.depth)), key=lambda index: -self.depth[index]))


Boxes = NDArray[np.float64]

_CHANCES = (0.30, 0.13, 0.13, 0.08, 0.08, 0.10, 0.10, 0.08)  # of MOTIONS, in their order
_TRIES = 24
_TIMES = 11
_FARTHEST = 2.2
_SIZES = (0.24, 0.44)  # square root of the share of the picture that a thing's box covers at distance 1
_LARGEST = (0.80, 0.60)  # height and width, shares of the picture
_CROSSES_EDGE = 0.35  # chance that a thing that goes left or right enters or leaves the picture
_HIDES = 0.8  # chance that one thing is put half behind another
_HALF_HIDDEN = (0.25, 0.65)  # the share of a box that is wanted hidden at one time, where hiding is wanted
_APART = 0.18  # the share that may be hidden otherwise
_ROLLS = 0.3  # chance that a thing turns on its way


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wish:
    """What is drawn for a thing before its position."""

    motion: Motion
    aspect: float
    distance: float
    extent: float
    duration_s: float


def choose(
    rng: np.random.Generator, aspects: Sequence[float], *, duration_s: float, frame_aspect: float = 16 / 9
) -> SceneLayout:
    """Draw a layout, one path for each thing, from the width over height of each and of the picture.

    Nearer things are larger than they would be far away and are painted over far ones.
    """
    wishes = [_wish(rng, aspect / frame_aspect, duration_s) for aspect in aspects]
    partner = int(rng.integers(1, len(wishes))) if len(wishes) > 1 and rng.random() < _HIDES else 0
    paths: list[Path] = []
    boxes: list[Boxes] = []
    for index, wish in enumerate(wishes):
        nearer = np.array([other.distance < wish.distance for other in wishes[:index]], np.bool_)
        best, least = None, math.inf
        for _ in range(_TRIES):
            path = _draw(rng, wish, beside=boxes[0] if index == partner and index else None)
            box = _boxes(path, wish.aspect)
            penalty = _penalty(box, boxes, nearer, wanted=index == partner and index > 0)
            if penalty < least:
                best, least = (path, box), penalty
            if not penalty:
                break
        if best is not None:
            paths.append(best[0])
            boxes.append(best[1])
    order = np.argsort([wish.distance for wish in wishes], kind="stable")
    return SceneLayout(paths=tuple(paths), depth=tuple(int(rank) for rank in np.argsort(order)))


def _wish(rng: np.random.Generator, aspect: float, duration_s: float) -> _Wish:
    chances = np.cumsum(_CHANCES)
    return _Wish(
        motion=MOTIONS[int(np.searchsorted(chances, rng.random() * chances[-1], side="right"))],
        aspect=aspect,
        distance=float(np.exp(rng.uniform(0, math.log(_FARTHEST)))),
        extent=float(rng.uniform(*_SIZES)),
        duration_s=duration_s,
    )


def _draw(rng: np.random.Generator, wish: _Wish, *, beside: Boxes | None) -> Path:
    """Draw a path for a wish; ``beside`` is the path of the thing that it shall hide or be hidden by."""
    full = _fitting(wish.extent / math.sqrt(wish.aspect), wish.aspect)
    height = full / wish.distance
    growth = float(rng.uniform(1.45, 1.8))
    first, last = {"nearer": (1 / growth, growth), "away": (growth, 1 / growth)}.get(wish.motion, (1.0, 1.0))
    ends = (_fitting(height * first, wish.aspect), _fitting(height * last, wish.aspect))
    tall = max(ends)
    wide = tall * wish.aspect
    x, y = _inside(rng, wide), _inside(rng, tall)
    if beside is not None:
        middle = beside[int(rng.integers(len(beside)))]
        x = float((middle[0] + middle[2]) / 2 + rng.choice((-1, 1)) * rng.uniform(0.3, 0.7) * (middle[2] - middle[0]))
        y = float((middle[1] + middle[3]) / 2 + rng.uniform(-0.35, 0.35) * (middle[3] - middle[1]))
        x, y = _clamped(x, wide), _clamped(y, tall)
    (x0, x1), (y0, y1) = _ends(rng, wish.motion, centre=(x, y), extent=(wide, tall))
    turn = float(rng.normal(0, 5))
    roll = float(rng.uniform(15, 50)) * (1 if x1 > x0 else -1)
    rolls = wish.motion in {"left", "right", "to_and_fro"} and rng.random() < _ROLLS
    return Path(
        motion=wish.motion,
        start=_rounded(Pose(x0, y0, ends[0], turn)),
        end=_rounded(Pose(x1, y1, ends[1], turn + roll if rolls else turn)),
        duration_s=wish.duration_s,
        full_height=round(full, 4),
        swings=round(float(rng.uniform(1.0, 2.0)), 3) if wish.motion == "to_and_fro" else 0.0,
    )


def _rounded(pose: Pose) -> Pose:
    return Pose(round(pose.x, 4), round(pose.y, 4), round(pose.height, 4), round(pose.turn_deg, 2))


def _fitting(height: float, aspect: float) -> float:
    return min(height, _LARGEST[0], _LARGEST[1] / aspect)


def _inside(rng: np.random.Generator, length: float) -> float:
    margin = min(0.5, length / 2 + 0.02)
    return float(rng.uniform(margin, 1 - margin))


def _clamped(centre: float, length: float) -> float:
    margin = min(0.5, length / 2)
    return min(1 - margin, max(margin, centre))


def _ends(
    rng: np.random.Generator, motion: Motion, *, centre: tuple[float, float], extent: tuple[float, float]
) -> tuple[tuple[float, float], tuple[float, float]]:
    """First and last x, first and last y of a thing that passes about ``centre``."""
    x, y = centre
    if motion in {"left", "right"}:
        ends = _across(rng, x, extent[0])
        return (ends if motion == "right" else ends[::-1]), (y, y)
    if motion in {"up", "down"}:
        ends = _shifted(rng, y, extent[1], shift=(0.30, 0.60))
        return (x, x), (ends if motion == "down" else ends[::-1])
    if motion == "to_and_fro":
        ends = _shifted(rng, x, extent[0], shift=(0.20, 0.45))
        return (ends if rng.random() < 0.5 else ends[::-1]), (y, y)
    return (x, x), (y, y)


def _shifted(
    rng: np.random.Generator, centre: float, length: float, *, shift: tuple[float, float]
) -> tuple[float, float]:
    """Two positions, the smaller first, ``shift`` apart, with ``centre`` between them; in the picture if they fit."""
    distance = float(rng.uniform(*shift))
    first = centre - distance * float(rng.uniform(0.2, 0.8))
    margin = min(length / 2, (1 - distance) / 2)
    first = min(1 - margin - distance, max(margin, first))
    return first, first + distance


def _across(rng: np.random.Generator, centre: float, length: float) -> tuple[float, float]:
    """As ``_shifted``, but now and then one end lies outside the picture."""
    low, high = _shifted(rng, centre, length, shift=(0.30, 0.65))
    if rng.random() < _CROSSES_EDGE:
        outside = length / 2 + float(rng.uniform(0.0, 0.08))
        if rng.random() < 0.5:
            return -outside, max(high, 0.45)
        return min(low, 0.55), 1 + outside
    return low, high


def _boxes(path: Path, aspect: float) -> Boxes:
    """Boxes xyxy at some times of the clip, (times, 4), shares of the picture."""
    poses = [path.pose(path.duration_s * step / (_TIMES - 1)) for step in range(_TIMES)]
    rows = [
        (
            pose.x - pose.height * aspect / 2,
            pose.y - pose.height / 2,
            pose.x + pose.height * aspect / 2,
            pose.y + pose.height / 2,
        )
        for pose in poses
    ]
    return np.array(rows, np.float64)


def _penalty(box: Boxes, others: Sequence[Boxes], nearer: NDArray[np.bool_], *, wanted: bool) -> float:
    """Penalty of a path, 0 is best: its boxes (times, 4) against those already placed, of which some are ``nearer``.

    Where ``wanted``, it and the first of them shall hide one another in part.
    """
    inside = _shared(box, np.array([0.0, 0.0, 1.0, 1.0])[None]) / _areas(box)
    penalty = max(0.0, 6.0 - float(np.count_nonzero(inside > 0.6)))
    for index, other in enumerate(others):
        behind = box if nearer[index] else other
        hidden = _shared(box, other) / _areas(behind)
        worst = float(hidden.max())
        if wanted and index == 0:
            low, high = _HALF_HIDDEN
            penalty += max(0.0, low - worst) + max(0.0, worst - high)
        else:
            penalty += max(0.0, worst - _APART)
    return penalty


def _shared(first: Boxes, second: Boxes) -> Boxes:
    """Intersection areas of boxes, pairwise; (times,)."""
    width = np.minimum(first[:, 2], second[:, 2]) - np.maximum(first[:, 0], second[:, 0])
    height = np.minimum(first[:, 3], second[:, 3]) - np.maximum(first[:, 1], second[:, 1])
    return np.asarray(np.clip(width, 0, None) * np.clip(height, 0, None), dtype=np.float64)


def _areas(box: Boxes) -> Boxes:
    return np.asarray((box[:, 2] - box[:, 0]) * (box[:, 3] - box[:, 1]), dtype=np.float64)
