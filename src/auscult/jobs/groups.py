"""Frame by frame over many items: what ``audit`` and ``stress`` share."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from auscult.cases.grouping import group_by_frame
from auscult.jobs.errors import ErrorLog
from auscult.jobs.progress import Progress
from auscult.outcome import Failed
from auscult.record.schema import error_to_json
from auscult.types import Item
from auscult.work.pool import Task, run_tasks

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class FrameGroup:
    """The items of one frame, and the ids among them that are still to be done."""

    items: tuple[Item, ...]
    wanted: frozenset[str]


@dataclass(frozen=True, slots=True)
class Crew(Generic[R]):
    """Who does the work.

    Attributes:
        make: Called once in each worker process; gives the function of one frame.
        workers: Worker processes; 0 for this process.
        timeout_s: Limit for one frame; None for none.
        stage: What it is, for errors.
    """

    make: Callable[[], Callable[[FrameGroup], Sequence[R]]]
    workers: int
    timeout_s: float | None
    stage: str


def each_frame(
    crew: Crew[R],
    items: Sequence[Item],
    *,
    done: Collection[str],
    keep: Callable[[Sequence[R]], None],
    errors: ErrorLog,
    progress: Progress,
) -> None:
    """Hand the items that are not done to the crew, frame by frame, and keep what comes back.

    A frame whose worker crashed or ran out of time costs its wanted items; each gets a line in ``errors``.
    """
    progress.step(sum(item.id in done for item in items))
    groups = {}
    for group in group_by_frame(items):
        wanted = frozenset(item.id for item in group if item.id not in done)
        if wanted:
            groups[group[0].id] = FrameGroup(tuple(group), wanted)
    tasks = (Task(key, group) for key, group in groups.items())
    for result in run_tasks(crew.make, tasks, workers=crew.workers, timeout_s=crew.timeout_s, stage=crew.stage):
        wanted = groups[result.key].wanted
        if isinstance(result.outcome, Failed):
            failure = result.outcome.error
            errors.keep(error_to_json(name, failure) for name in sorted(wanted))
        else:
            keep(result.outcome)
        progress.step(len(wanted))
