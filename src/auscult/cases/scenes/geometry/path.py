"""A thing's way through a clip, and where it is at a time.

Places are shares of the picture: x 0 left to 1 right, y 0 top to 1 bottom. ``height`` is a thing's height as a share of
the picture's height. Angles turn clockwise. Distance is in units of its own: at distance 1 a thing has ``full_height``,
at distance 2 half of it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, TypeAlias, cast, get_args

from auscult.cases.scenes import reading

Motion: TypeAlias = Literal["still", "left", "right", "up", "down", "nearer", "away", "to_and_fro"]
MOTIONS: tuple[Motion, ...] = get_args(Motion)

_FARTHEST = 4.0  # how far outside the picture a centre may lie, in pictures


@dataclass(frozen=True, slots=True)
class Pose:
    """Where a thing is at one time.

    Attributes:
        x: Centre, share of the picture's width; may lie outside 0..1.
        y: Centre, share of the picture's height.
        height: Height, share of the picture's height, above 0.
        turn_deg: Turn, clockwise.
    """

    x: float
    y: float
    height: float
    turn_deg: float = 0.0

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> Pose:
        """Read what ``asdict`` gives.

        Raises:
            InputError: A value is absent, no number or out of bounds.
        """
        return cls(
            x=reading.number(row, "x", low=-_FARTHEST, high=1 + _FARTHEST),
            y=reading.number(row, "y", low=-_FARTHEST, high=1 + _FARTHEST),
            height=reading.number(row, "height", low=1e-3, high=2.0),
            turn_deg=reading.number(row, "turn_deg", low=-360.0, high=360.0),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Path:
    """A way through a clip.

    Attributes:
        motion: The way in one word; ``to_and_fro`` swings between ``start`` and ``end``, the others go once.
        start: Pose at 0 s.
        end: Pose at ``duration_s``, or at the other end of a swing.
        duration_s: Length of the clip, above 0.
        full_height: Height at distance 1.
        swings: Full periods of ``to_and_fro`` within the clip; 0 for the others.
    """

    motion: Motion
    start: Pose
    end: Pose
    duration_s: float
    full_height: float
    swings: float = 0.0

    def pose(self, time_s: float) -> Pose:
        """Where the thing is; before 0 and after ``duration_s`` as at that end.

        Sizes change by a constant factor a second, places and turns by a constant amount; a swing slows at its ends.
        """
        share = min(1.0, max(0.0, time_s / self.duration_s))
        if self.swings:
            share = (1.0 - math.cos(2.0 * math.pi * self.swings * share)) / 2.0
        one, two = self.start, self.end
        return Pose(
            x=one.x + share * (two.x - one.x),
            y=one.y + share * (two.y - one.y),
            height=one.height * (two.height / one.height) ** share,
            turn_deg=one.turn_deg + share * (two.turn_deg - one.turn_deg),
        )

    def speed(self, time_s: float) -> tuple[float, float]:
        """Share of the picture's width and of its height that the thing moves in a second, around a time."""
        half_s = 0.01
        before, after = self.pose(time_s - half_s), self.pose(time_s + half_s)
        return (after.x - before.x) / (2 * half_s), (after.y - before.y) / (2 * half_s)

    def distance(self, time_s: float) -> float:
        """How far away the thing is; 1 where it has ``full_height``."""
        return self.full_height / self.pose(time_s).height

    def as_json(self) -> dict[str, Any]:
        """The path as JSON values."""
        return asdict(self)

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> Path:
        """Read what ``as_json`` gives.

        Raises:
            InputError: A value is absent, of another type or out of bounds.
        """
        return cls(
            motion=cast("Motion", reading.word(row, "motion", MOTIONS)),
            start=Pose.from_json(reading.mapping(row, "start")),
            end=Pose.from_json(reading.mapping(row, "end")),
            duration_s=reading.number(row, "duration_s", low=1e-3, high=3600.0),
            full_height=reading.number(row, "full_height", low=1e-3, high=4.0),
            swings=reading.number(row, "swings", low=0.0, high=1000.0),
        )
