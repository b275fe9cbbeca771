"""Run a function over tasks from threads of this process: for what waits for others and needs no isolation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from queue import SimpleQueue
from threading import Event, Lock, Semaphore, Thread
from typing import Generic, TypeVar

from auscult.outcome import Failed
from auscult.work import failures
from auscult.work.pool import Task, TaskResult

P = TypeVar("P")
R = TypeVar("R")


def run_threads(
    make: Callable[[], Callable[[P], R]], tasks: Iterable[Task[P]], *, threads: int, stage: str
) -> Iterator[TaskResult[R]]:
    """Run a function, which ``make`` makes once, from ``threads`` threads; yields each result as it comes.

    Tasks are taken one by one as threads become free, at most twice as many as threads ahead of who iterates. An
    exception becomes ``Failed``, one of ``make`` is raised as ``run_tasks`` does. Whoever stops to iterate gets no new
    task begun; what was begun runs to its end, unseen.
    """
    try:
        function = make()
    except Exception as error:
        raise failures.of_setup(error, stage) from error
    shared = _Asking(function, iter(tasks), stage)
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


class _Asking(Generic[P, R]):
    """What the threads share; each puts None among the results when it ends."""

    def __init__(self, function: Callable[[P], R], source: Iterator[Task[P]], stage: str) -> None:
        self._function, self._source, self._stage = function, source, stage
        self._lock, self.stopped = Lock(), Event()
        self.room = Semaphore(0)  # for tasks that are under way, or done and not yet taken
        self.results: SimpleQueue[TaskResult[R] | BaseException | None] = SimpleQueue()

    def work(self) -> None:
        """Do tasks until there are none."""
        try:
            while (task := self._next()) is not None:
                self.results.put(TaskResult(task.key, self._outcome(task)))
        except BaseException as error:  # of whoever makes the tasks: the caller's
            self.results.put(error)
        finally:
            self.results.put(None)

    def _next(self) -> Task[P] | None:
        self.room.acquire()
        with self._lock:
            return None if self.stopped.is_set() else next(self._source, None)

    def _outcome(self, task: Task[P]) -> R | Failed:
        try:
            return self._function(task.payload)
        except (Exception, SystemExit) as error:
            return failures.of_exception(error, self._stage)
