"""All the ways through one clip, and which thing is in front of which."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from auscult.cases.scenes import reading
from auscult.cases.scenes.geometry.path import Path, Pose
from auscult.errors import InputError

MOST_THINGS = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Where everything of a scene is.

    Attributes:
        paths: One for each thing.
        depth: Rank of each thing from the viewer, 0 in front of all others; the same throughout the clip.
    """

    paths: tuple[Path, ...]
    depth: tuple[int, ...]

    def poses(self, time_s: float) -> tuple[Pose, ...]:
        """Where each thing is at a time, in the order of ``paths``."""
        return tuple(path.pose(time_s) for path in self.paths)

    @property
    def far_to_near(self) -> tuple[int, ...]:
        """Indices of the things in the order in which they are painted."""
        return tuple(sorted(range(len(self.depth)), key=lambda thing: -self.depth[thing]))

    def as_json(self) -> dict[str, Any]:
        """The layout as JSON values."""
        return {"paths": [path.as_json() for path in self.paths], "depth": list(self.depth)}

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> Layout:
        """Read what ``as_json`` gives.

        Raises:
            InputError: A value is absent, of another type or out of bounds, or the ranks are not 0, 1, 2, ...
        """
        paths = tuple(Path.from_json(entry) for entry in reading.entries(row, "paths", most=MOST_THINGS))
        depth = row.get("depth")
        whole = isinstance(depth, list) and all(type(rank) is int for rank in depth)
        if not whole or sorted(depth or ()) != list(range(len(paths))):
            raise InputError(
                "'depth' does not rank the things",
                expected=f"each of 0 to {len(paths) - 1} once",
                hint="correct the line",
            )
        return cls(paths=paths, depth=tuple(depth or ()))
