"""Run a function over tasks from threads of this process: for what waits for others and needs no isolation."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable, Iterator
from queue import SimpleQueue
from threading import Event, Lock, Semaphore, Thread
from typing import Final, Generic, TypeVar

from auscult.outcome import Failed
from auscult.work import failures
from auscult.work.pool import Task, TaskResult

P = TypeVar("P")
R = TypeVar("R")

LEAVE_S: Final = 30.0
"""So long whoever stops to iterate waits for what is under way."""


def run_threads(
    make: Callable[[], Callable[[P], R]],
    tasks: Iterable[Task[P]],
    *,
    threads: int,
    stage: str,
    store: Callable[[TaskResult[R]], None] | None = None,
) -> Generator[TaskResult[R], None, None]:
    """Run a function, which ``make`` makes once, from ``threads`` threads; yields each result as it comes.

    Tasks are taken one by one as threads become free, at most twice as many as threads ahead of who iterates. An
    exception becomes ``Failed``, one of ``make`` is raised as ``run_tasks`` does.

    ``store`` is called with each result by the thread that has it, by one thread at a time, before it is yielded: so
    what was waited for is kept even where it is never taken. What ``store`` raises is raised. Whoever stops to iterate
    gets no new task begun, and waits ``LEAVE_S`` at most for what was begun; nothing is stored after that.
    """
    try:
        function = make()
    except Exception as error:
        raise failures.of_setup(error, stage) from error
    shared = _Asking(function, iter(tasks), stage=stage, store=store)
    shared.room.release(2 * threads)
    all_threads = [Thread(target=shared.work, daemon=True) for _ in range(threads)]
    for thread in all_threads:
        thread.start()
    try:
        running = len(all_threads)
        while running:
            result = shared.results.get()
            if isinstance(result, BaseException):
                raise result
            if result is None:
                running -= 1
            else:
                yield result
                shared.room.release()
    finally:
        shared.stopped.set()
        shared.room.release(threads)
        until = time.monotonic() + LEAVE_S
        try:
            for thread in all_threads:
                thread.join(max(0.0, until - time.monotonic()))
        finally:
            shared.leave()


class _Asking(Generic[P, R]):
    """What the threads share; each puts None among the results when it ends."""

    def __init__(
        self,
        function: Callable[[P], R],
        source: Iterator[Task[P]],
        *,
        stage: str,
        store: Callable[[TaskResult[R]], None] | None,
    ) -> None:
        self._function, self._source, self._stage, self._store = function, source, stage, store
        self._lock, self._storing, self.stopped = Lock(), Lock(), Event()
        self.room = Semaphore(0)  # for tasks that are under way, or done and not yet taken
        self.results: SimpleQueue[TaskResult[R] | BaseException | None] = SimpleQueue()

    def work(self) -> None:
        """Do tasks until there are none."""
        try:
            while (task := self._next()) is not None:
                result = TaskResult(task.key, self._outcome(task))
                with self._storing:
                    if self._store is not None:
                        self._store(result)
                self.results.put(result)
        except BaseException as error:  # of whoever makes the tasks or stores: the caller's
            self.results.put(error)
        finally:
            self.results.put(None)

    def leave(self) -> None:
        """Store nothing from now on."""
        with self._storing:
            self._store = None

    def _next(self) -> Task[P] | None:
        self.room.acquire()
        with self._lock:
            return None if self.stopped.is_set() else next(self._source, None)

    def _outcome(self, task: Task[P]) -> R | Failed:
        try:
            return self._function(task.payload)
        except (Exception, SystemExit) as error:
            return failures.of_exception(error, self._stage)
