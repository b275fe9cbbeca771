"""The key frame of an instance: the frame with most objects, among those that show the target.

Source: MQ-RAVSBench, Sec. 3.3: the richest frame gives the hardest negatives. The paper counts the detections of a
detector; counting annotated objects needs none.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from auscult import registry
from auscult.errors import AuscultError, RecordError, UsageError
from auscult.media.frames import read_frame
from auscult.models.proposals import MaskProposer, count_objects
from auscult.record.schema import error_to_json
from auscult.suites.mqa.moments import OpenedMoment, failed_row, open_moment
from auscult.suites.mqa.options import ANNOTATED
from auscult.types import Frame, Instance, Moment

UNREADABLE: Final = "unreadable"

Detector: TypeAlias = Callable[[Frame], int]
"""Counts the objects of a frame, uint8 RGB (H, W, 3): 0 or more. Picklable, since it runs in worker processes."""


def key_frame(objects: Sequence[int], areas: Sequence[int]) -> int | None:
    """Choose the key frame.

    Args:
        objects: Per frame, how many objects it shows, 0 or more.
        areas: Per frame, the target's pixels; 0 where it is not in the picture or not annotated.

    Returns:
        Index of the frame with most objects; of several the one where the target is larger, then the earlier one. None
        when no frame shows the target.

    Raises:
        UsageError: The two differ in length, or a number is negative.

    Example:
        >>> key_frame([2, 4, 4, 5], [90, 40, 50, 0])
        2
    """
    if len(objects) != len(areas) or any(number < 0 for number in (*objects, *areas)):
        raise UsageError(
            f"{len(objects)} counts and {len(areas)} areas",
            expected="one count and one area per frame, neither negative",
        )
    showing = [index for index, area in enumerate(areas) if area]
    if not showing:
        return None
    return max(showing, key=lambda index: (objects[index], areas[index], -index))


@dataclass(frozen=True, slots=True, kw_only=True)
class Looked:
    """What opening an instance's masks showed.

    Attributes:
        id: The instance.
        frame: Index of its key frame among its moments; None when it cannot be used.
        objects: Objects per moment, as counted.
        areas: The target's pixels per moment.
        reason: Why it cannot be used; empty when it can.
        errors: Rows of ``errors.jsonl``.
    """

    id: str
    frame: int | None
    objects: tuple[int, ...] = ()
    areas: tuple[int, ...] = ()
    reason: str = ""
    errors: tuple[Mapping[str, Any], ...] = ()

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> Looked:
        """Read a row of ``survey.jsonl``.

        Raises:
            RecordError: It is no such row.
        """
        try:
            frame = None if row["frame"] is None else int(row["frame"])
            numbers = {key: tuple(int(one) for one in row[key]) for key in ("objects", "areas")}
            errors = tuple(dict(one) for one in row["errors"])
            return cls(id=str(row["id"]), frame=frame, **numbers, reason=str(row["reason"]), errors=errors)
        except (KeyError, TypeError, ValueError) as error:
            raise RecordError(
                f"a line of survey.jsonl is damaged: {error}",
                expected="the lines as they were written",
                hint="use --overwrite to begin anew, or another --out",
            ) from error


@dataclass(frozen=True, slots=True)
class Finder:
    """Finds the key frame of an instance; made once in each worker process.

    Attributes:
        detector: Counts the objects of a frame; None to count the annotated ones.
        least_px: A target with fewer pixels does not show.
    """

    detector: Detector | None = None
    least_px: int = 0

    def __call__(self, instance: Instance) -> Looked:
        """Open every moment of an instance; one that cannot be opened costs the instance."""
        objects: list[int] = []
        areas: list[int] = []
        remarks: list[Mapping[str, Any]] = []
        try:
            for moment in instance.moments:
                opened = open_moment(moment)
                remarks += [error_to_json(instance.id, remark) for remark in opened.remarks]
                areas.append(opened.area)
                objects.append(self._count(moment, opened))
        except AuscultError as error:
            return Looked(
                id=instance.id, frame=None, reason=UNREADABLE, errors=(*remarks, failed_row(instance, error, "read"))
            )
        frame = key_frame(objects, [area if area >= self.least_px else 0 for area in areas])
        return Looked(
            id=instance.id,
            frame=frame,
            objects=tuple(objects),
            areas=tuple(areas),
            reason="" if frame is not None else "too_small" if any(areas) else "target_empty",
            errors=tuple(remarks),
        )

    def _count(self, moment: Moment, opened: OpenedMoment) -> int:
        if self.detector is None or not opened.area:
            return opened.objects
        return self.detector(read_frame(moment.frame))


def make_finder(key_frame: str | Detector, *, least_px: int = 0) -> Finder:
    """Make the worker's function; module-level, so that a child process can be told to call it.

    Args:
        key_frame: As ``BuildOptions.key_frame``.
        least_px: As ``BuildOptions.least_px``.

    Raises:
        UnknownName: No such proposer.
    """
    if not isinstance(key_frame, str):
        return Finder(key_frame, least_px)
    return Finder(None if key_frame == ANNOTATED else count_objects(load_proposer(key_frame)), least_px)


def load_proposer(name: str) -> MaskProposer:
    """A registered proposer of regions, by its full or short name.

    Raises:
        UnknownName: No such model.
        UsageError: The model proposes no regions.
    """
    entry = registry.find("model", name)
    loaded = entry.load()
    if not callable(loaded) or "target" not in inspect.signature(loaded).parameters:
        raise UsageError(
            f"model {entry.name} proposes no regions",
            expected="a model that is called with a frame and keyword target",
            hint="`auscult list model` says what there is",
        )
    proposer: MaskProposer = loaded
    return proposer
