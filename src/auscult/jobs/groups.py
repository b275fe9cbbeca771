"""Items frame by frame: what ``audit`` and ``stress`` share."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from auscult.cases.ids import group_by_frame
from auscult.jobs.errors import ErrorLog
from auscult.jobs.progress import Progress
from auscult.outcome import Failed
from auscult.record.schema import error_to_json
from auscult.types import Item
from auscult.work.pool import Task, run_tasks

R = TypeVar("R")

CHUNK = 32


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

    An item whose worker crashed or ran out of time gets a line in ``errors``.
    """
    progress.step(sum(item.id in done for item in items))
    for wanted, outcome in frames_of(crew, items, done=done):
        if isinstance(outcome, Failed):
            errors.keep(error_to_json(name, outcome.error) for name in sorted(wanted))
        else:
            keep(outcome)
        progress.step(len(wanted))


def frames_of(
    crew: Crew[R], items: Sequence[Item], *, done: Collection[str] = ()
) -> Iterator[tuple[frozenset[str], Sequence[R] | Failed]]:
    """Yield what becomes of the items that are not done: ids with results, or one id with why it has none.

    Up to ``CHUNK`` items of a frame go to a worker together. Where that fails as a whole, because a judge raised or a
    process died, they are tried one by one, so that one bad item costs no other.
    """
    again: dict[str, FrameGroup] = {}
    groups = {min(group.wanted): group for group in _chunks(items, done)}
    for key, outcome in _run(crew, groups):
        group = groups[key]
        if isinstance(outcome, Failed) and len(group.wanted) > 1:
            again |= {name: replace(group, wanted=frozenset((name,))) for name in group.wanted}
        else:
            yield group.wanted, outcome
    for key, outcome in _run(crew, again):
        yield again[key].wanted, outcome


def _chunks(items: Sequence[Item], done: Collection[str]) -> Iterator[FrameGroup]:
    for group in group_by_frame(items):
        wanted = [item.id for item in group if item.id not in done]
        for start in range(0, len(wanted), CHUNK):
            yield FrameGroup(tuple(group), frozenset(wanted[start : start + CHUNK]))


def _run(crew: Crew[R], groups: Mapping[str, FrameGroup]) -> Iterator[tuple[str, Sequence[R] | Failed]]:
    tasks = (Task(key, group) for key, group in groups.items())
    for result in run_tasks(crew.make, tasks, workers=crew.workers, timeout_s=crew.timeout_s, stage=crew.stage):
        yield result.key, result.outcome


def item_row(item: Item) -> dict[str, Any]:
    """Expression, clip and time of an item, as the keys of ``items.jsonl``; what it lacks is left out."""
    keys = {"text": item.query.text, "clip": item.clip, "time_s": item.time_s}
    return {key: value for key, value in keys.items() if value is not None}
