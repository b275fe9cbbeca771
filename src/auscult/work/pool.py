"""Schedules tasks over worker processes and gives the result of each."""

from __future__ import annotations

import math
import os
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, Generic, Self, TypeVar

from auscult.errors import AuscultError, UsageError
from auscult.outcome import Failed
from auscult.work import failures, frames
from auscult.work.process import Event, Process, remove_leftovers
from auscult.work.standstill import WATCH

_V2 = Path("/sys/fs/cgroup/cpu.max")
_V1 = (Path("/sys/fs/cgroup/cpu/cpu.cfs_quota_us"), Path("/sys/fs/cgroup/cpu/cpu.cfs_period_us"))


def default_workers() -> int:
    """One worker per processor that this process may use: its affinity, and a container's share of time."""
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    share = _container_share()
    return max(1, processors if share is None else min(processors, math.ceil(share)))


def _container_share() -> float | None:
    """Processors' worth of time that a Linux control group grants; None for no limit."""
    try:
        quota, period = _V2.read_text("ascii").split() if _V2.exists() else (p.read_text("ascii") for p in _V1)
        share = int(quota) / int(period)
    except (OSError, ValueError, ZeroDivisionError):  # no such file, or "max"
        return None
    return share if share > 0 else None


P = TypeVar("P")
R = TypeVar("R")

_JOIN_S = 2.0
_SETUP_S = 600.0
_FULL = 0.8


@dataclass(frozen=True, slots=True)
class Task(Generic[P]):
    """A key, unique among the tasks, and the argument of the function."""

    key: str
    payload: P


@dataclass(frozen=True, slots=True)
class TaskResult(Generic[R]):
    """What the function returned for the task with that key, or why it failed."""

    key: str
    outcome: R | Failed


def run_tasks(
    make: Callable[[], Callable[[P], R]],
    tasks: Iterable[Task[P]],
    *,
    workers: int,
    timeout_s: float | None = None,
    setup_s: float | None = None,
    memory_mb: int | None = None,
    stage: str = "work",
    kept: KeptWorkers | None = None,
    early: EarlyWorkers | None = None,
) -> Iterator[TaskResult[R]]:
    """Run a function over tasks and yield each result as it comes, in any order.

    ``make`` makes the function, once in each worker, and must be picklable. Tasks are taken one by one as workers
    become free; with 0 ``workers`` all are done in this process, without isolation or limits. A worker that exceeds
    ``timeout_s`` at one task is killed and replaced; ``setup_s`` is for starting a worker and making the function in
    it, None for ten minutes, or for ``timeout_s`` if that is more. ``memory_mb`` limits the resident memory of a
    worker with its child processes, in mebibytes, checked ten times a second on Linux; a worker whose tasks made it
    grow over 80 % of it is replaced between two tasks, without loss. An exception, a crash, a time-out or a result that
    cannot be sent is a ``Failed``. If no worker can make the function, an error of ours is raised as it is, any other
    as ``UsageError``; if at least one can, the run goes on with those. Workers come from ``kept``, if it has some, and
    return there at the end; or from ``early``, but not from both: that is a ``ValueError``.
    """
    if kept is not None and early is not None:  # each has its own queue of events, and a run waits for one
        raise ValueError("workers come from kept or from early, not from both")
    if workers < 0 or any(limit is not None and limit <= 0 for limit in (timeout_s, setup_s, memory_mb)):
        raise UsageError(
            f"workers={workers}, timeout_s={timeout_s}, setup_s={setup_s}, memory_mb={memory_mb}",
            expected="workers 0 or more, limits above 0 or None",
        )
    if workers == 0:
        return _in_this_process(make, tasks, stage)
    try:
        first = frames.pack((make, stage, False))
    except Exception as error:
        raise UsageError(
            f"the workers' function cannot be sent to another process: {failures.described(error)}",
            expected="functions and classes of modules",
            hint="put it into a module of its own and import it, or use workers=0",
        ) from error
    if setup_s is None and timeout_s is not None:
        setup_s = max(timeout_s, _SETUP_S)
    limits = _Limits(timeout_s, setup_s, memory_mb)
    return _Pool(first, workers=workers, limits=limits, stage=stage, kept=kept, early=early).run(tasks)


def _in_this_process(
    make: Callable[[], Callable[[P], R]], tasks: Iterable[Task[P]], stage: str
) -> Iterator[TaskResult[R]]:
    try:
        function = make()
    except Exception as error:
        raise failures.of_setup(error, stage) from error
    for task in tasks:
        outcome: R | Failed
        try:
            outcome = function(task.payload)
        except (Exception, SystemExit) as error:  # an interrupt is for the caller
            outcome = failures.of_exception(error, stage)
        yield TaskResult(task.key, outcome)


class KeptWorkers:
    """Idle worker processes, kept from one ``run_tasks`` for the next; a context that ends them.

    Only for functions of ours, since they share the state of the process. It serves one run at a time.
    """

    def __init__(self) -> None:
        self.events: SimpleQueue[Event] = SimpleQueue()
        self._idle: list[Process] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        _end(self._idle, at_once=False)
        self._idle.clear()

    def keep(self, process: Process) -> None:
        """Keep an idle process."""
        self._idle.append(process)

    def take(self, first: bytes, *, memory_mb: int | None) -> Process | None:
        """A process that makes the function of the setup message ``first``; None if none is idle."""
        while self._idle:
            process = self._idle.pop()
            if not process.join(0.0):  # it has not ended meanwhile
                process.set_up_again(first, memory_mb=memory_mb)
                return process
        return None


class EarlyWorkers:
    """Worker processes that warm up while their tasks are still being listed; a context that ends them.

    The first ``run_tasks`` that gets them takes them all. There are none without a ``warm_up``.
    """

    def __init__(self, warm_up: Callable[[], None] | None, *, count: int) -> None:
        self.events: SimpleQueue[Event] = SimpleQueue()
        started = range(0 if warm_up is None else count)
        self._processes = [Process(frames.pack((warm_up, "start", False)), self.events) for _ in started]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        _end(self._processes, at_once=True)

    def take(self, first: bytes, *, memory_mb: int | None) -> list[Process]:
        """All of them, to make the function of the setup message ``first`` next; none at a second call."""
        processes, self._processes = self._processes, []
        for process in processes:
            process.set_up_again(first, memory_mb=memory_mb)
        return processes


@dataclass(frozen=True, slots=True)
class _Limits:
    """Limits of a worker, None for no limit."""

    timeout_s: float | None
    setup_s: float | None
    memory_mb: int | None

    def is_grown(self, ready_mb: float, now_mb: float) -> bool:
        """Whether a worker has grown too large for another task since it was ready."""
        if self.memory_mb is None:
            return False
        # A worker that is large from the start is not replaced after every task: its model would be loaded each time.
        return now_mb > _FULL * self.memory_mb and now_mb - ready_mb > (1 - _FULL) / 2 * self.memory_mb


class _Worker:
    """A process and its task."""

    def __init__(self, process: Process, setup_s: float | None, *, kept: bool = False, setups: int = 1) -> None:
        self.process = process
        self.kept = kept  # from an earlier run
        self.setups = setups  # functions still to make; the last one does the tasks
        self.ready = False
        self.ready_mb = 0.0
        self.key: str | None = None
        self.message = b""
        self.deadline = None if setup_s is None else time.monotonic() + setup_s
        self.timed_out = False

    def give(self, key: str, message: bytes, timeout_s: float | None) -> None:
        self.key, self.message = key, message
        if self.ready:
            self.begin(timeout_s)

    def begin(self, timeout_s: float | None) -> None:
        """Send the task; its time limit begins now, not at the start of the process."""
        self.deadline = None
        if self.key is not None:
            self.deadline = None if timeout_s is None else time.monotonic() + timeout_s
            if self.process.send(self.message):
                self.message = b""

    def end(self) -> str | None:
        key, self.key, self.deadline = self.key, None, None
        return key


class _Pool:
    def __init__(
        self,
        first: bytes,
        *,
        workers: int,
        limits: _Limits,
        stage: str,
        kept: KeptWorkers | None = None,
        early: EarlyWorkers | None = None,
    ) -> None:
        self._first = first
        self._kept = kept
        self._early = early
        self._most_workers = workers
        self._limits = limits
        self._stage = stage
        source = kept or early
        self._events: SimpleQueue[Event] = SimpleQueue() if source is None else source.events
        self._workers: dict[Process, _Worker] = {}
        self._retired: set[Process] = set()
        self._results: deque[TaskResult[Any]] = deque()
        self._backlog: list[tuple[str, bytes]] = []
        self._retries = 0

    def run(self, tasks: Iterable[Task[Any]]) -> Iterator[TaskResult[Any]]:
        source = iter(tasks)
        clean = False
        remove_leftovers()
        try:
            if self._early is not None:
                for process in self._early.take(self._first, memory_mb=self._limits.memory_mb):
                    self._workers[process] = _Worker(process, self._limits.setup_s, setups=2)
            has_more = True
            while True:
                WATCH.moved()
                has_more = self._fill(source if has_more else iter(())) and has_more
                if self._results:
                    yield self._results.popleft()
                elif any(worker.key is not None for worker in self._workers.values()):
                    self._wait()
                else:
                    break
            clean = True
        finally:
            self._stop(clean=clean)
            WATCH.rest()

    def _fill(self, source: Iterator[Task[Any]]) -> bool:
        """Give a task to every free worker, starting workers up to the limit; False when there are no more tasks."""
        while True:
            free = next((worker for worker in self._workers.values() if worker.key is None), None)
            if free is None and len(self._workers) >= self._most_workers:
                return True
            if self._backlog:
                key, message = self._backlog.pop()
            else:
                task = next(source, None)
                if task is None:
                    return False
                try:
                    key, message = task.key, frames.pack(task.payload)
                except Exception as error:
                    self._results.append(TaskResult(task.key, failures.of_exception(error, self._stage)))
                    return True
            if free is None:
                free = self._worker()
            free.give(key, message, self._limits.timeout_s)

    def _worker(self) -> _Worker:
        """A kept worker, or a new one."""
        memory_mb = self._limits.memory_mb
        kept = None if self._kept is None else self._kept.take(self._first, memory_mb=memory_mb)
        process = kept or Process(self._first, self._events, memory_mb=memory_mb)
        worker = _Worker(process, self._limits.setup_s, kept=kept is not None)
        self._workers[process] = worker
        return worker

    def _wait(self) -> None:
        """Wait for events, handle all of them, then kill workers over their time limit."""
        deadlines = [worker.deadline for worker in self._workers.values() if worker.deadline is not None]
        pause = max(0.0, min(deadlines) - time.monotonic()) if deadlines else None
        try:
            self._handle(self._events.get(timeout=pause))
            while True:
                self._handle(self._events.get_nowait())
        except Empty:
            pass
        now = time.monotonic()
        for worker in self._workers.values():
            if worker.deadline is not None and worker.deadline <= now:
                worker.deadline, worker.timed_out = None, True
                worker.process.kill()

    def _handle(self, event: Event) -> None:
        if event.worker in self._retired:
            if event.kind == "died":
                self._retired.remove(event.worker)
            return
        worker = self._workers.get(event.worker)
        if worker is None:  # a kept worker that died idle
            return
        if event.kind == "message":
            self._receive(worker, event)
            return
        del self._workers[event.worker]
        if event.error is not None:
            raise UsageError(
                f"a worker process cannot be started: {event.error.strerror}",
                hint="use fewer --workers, or close other programs",
            ) from event.error
        if worker.kept and not worker.ready and not worker.timed_out:
            # a new worker shows whether the function can be made
            self._backlog += [] if worker.key is None else [(worker.key, worker.message)]
            return
        if not worker.ready:
            self._drop(worker, self._setup_error(worker, event))
            return
        key = worker.end()
        if key is not None and worker.message:  # it died idle, before it got this task
            self._backlog.append((key, worker.message))
        elif key is not None:
            self._results.append(TaskResult(key, self._failure(worker, event)))

    def _failure(self, worker: _Worker, event: Event) -> Failed:
        if event.over_memory:
            return failures.of_memory(self._limits.memory_mb or 0, self._stage)
        if worker.timed_out:
            return failures.of_timeout(self._limits.timeout_s or 0.0, self._stage)
        return failures.of_death(event.code, self._stage)

    def _setup_error(self, worker: _Worker, event: Event) -> AuscultError:
        if worker.timed_out:
            return failures.of_setup_timeout(self._limits.setup_s or 0.0, self._stage)
        over = self._limits.memory_mb if event.over_memory else None
        return failures.of_setup_death(event.code, self._stage, memory_mb=over)

    def _drop(self, worker: _Worker, error: AuscultError) -> None:
        """Go on without a worker that did not become ready, and give its task to another.

        The remaining workers may hold the resource that it lacks. If none remain and one was ready before, a worker is
        started once more: a lock or a device may not have been free yet.
        """
        if self._workers:
            self._most_workers = len(self._workers)
        elif self._retries:
            self._retries -= 1
        else:
            raise error
        if worker.key is not None:
            self._backlog.append((worker.key, worker.message))

    def _receive(self, worker: _Worker, event: Event) -> None:
        try:
            kind, value = frames.unpack(event.body)
        except Exception as error:
            kind, value = "done", failures.of_exception(error, self._stage)
        if kind == "unready":
            del self._workers[worker.process]
            self._retired.add(worker.process)
            self._drop(worker, value)
            return
        if kind == "ready":
            worker.setups -= 1
            if worker.setups:
                return
            worker.ready, worker.ready_mb = True, event.memory_mb
            self._retries = 1
            worker.begin(self._limits.timeout_s)
            return
        key = worker.end()
        if key is not None:
            self._results.append(TaskResult(key, value))
        if self._limits.is_grown(worker.ready_mb, event.memory_mb):
            del self._workers[worker.process]
            self._retired.add(worker.process)
            worker.process.retire()

    def _stop(self, *, clean: bool) -> None:
        """End every process: gently after the last task, at once after an error or interrupt."""
        processes = [*self._workers, *self._retired]
        if clean and self._kept is not None:
            for process in [process for process, worker in self._workers.items() if worker.ready]:
                self._kept.keep(process)
                processes.remove(process)
        unready = [process for process, worker in self._workers.items() if not worker.ready]  # there was no task left
        _end(unready, at_once=True)
        _end([process for process in processes if process not in unready], at_once=not clean)


def _end(processes: Sequence[Process], *, at_once: bool) -> None:
    """End processes: idle ones gently, others at once."""
    for process in processes:
        if at_once:
            process.kill()
        else:
            process.retire()
    limit = time.monotonic() + _JOIN_S
    for process in processes:
        if not process.join(max(0.0, limit - time.monotonic())):
            process.kill()
            process.join(_JOIN_S)
