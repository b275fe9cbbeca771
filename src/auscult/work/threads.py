"""Runs a function over tasks from threads of this process, for work that mostly waits, as for an endpoint.

A function that is not ours, and may take any amount of memory, runs in a process of its own (``SharedWorker``).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable, Iterator
from io import BytesIO
from itertools import count
from queue import Empty, SimpleQueue
from threading import Event, Lock, Semaphore, Thread, current_thread
from typing import Final, Generic, TypeVar

from auscult.outcome import Failed
from auscult.work import failures, frames, process
from auscult.work.pool import Task, TaskResult

P = TypeVar("P")
R = TypeVar("R")

LEAVE_S: Final = 30.0
"""How long a caller that stops iterating waits for tasks under way."""


def run_threads(
    make: Callable[[], Callable[[P], R]],
    tasks: Iterable[Task[P]],
    *,
    threads: int,
    stage: str,
    store: Callable[[TaskResult[R]], None] | None = None,
    timeout_s: float | None = None,
) -> Generator[TaskResult[R], None, None]:
    """Run a function, which ``make`` makes once, from ``threads`` threads; yields each result as it comes.

    Tasks are taken one by one as threads become free, at most twice as many as threads ahead of the caller. An
    exception becomes ``Failed``; one of ``make`` is raised as ``run_tasks`` does.

    ``store`` is called with each result in its thread, by one thread at a time, before the result is yielded, so that
    it is kept even if the caller stops iterating. What ``store`` raises is raised. When the caller stops, no new task
    begins, tasks under way have ``LEAVE_S`` to finish, and nothing is stored after that.

    A task that takes more than ``timeout_s`` is ``Failed``. Its thread cannot be ended: a new one takes its place, and
    what the old one still returns is dropped.
    """
    try:
        function = make()
    except Exception as error:
        raise failures.of_setup(error, stage) from error
    shared = _SharedTasks(function, iter(tasks), stage=stage, store=store, timeout_s=timeout_s)
    shared.room.release(2 * threads)
    for _ in range(threads):
        shared.begin()
    try:
        running = threads
        while running:
            try:
                result = shared.results.get(timeout=shared.patience_s())
            except Empty:
                shared.give_up()
                continue
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
            for thread in tuple(shared.threads):
                thread.join(max(0.0, until - time.monotonic()))
        finally:
            shared.leave()


class _SharedTasks(Generic[P, R]):
    """The state shared by the threads; each puts None among the results when it ends, unless it was given up."""

    def __init__(
        self,
        function: Callable[[P], R],
        source: Iterator[Task[P]],
        *,
        stage: str,
        store: Callable[[TaskResult[R]], None] | None,
        timeout_s: float | None,
    ) -> None:
        self._function, self._source, self._stage, self._store = function, source, stage, store
        self._lock, self._store_lock, self.stopped = Lock(), Lock(), Event()
        self._timeout_s = timeout_s
        self._running: dict[Thread, tuple[Task[P], float]] = {}
        self.threads: set[Thread] = set()  # without those given up
        self.room = Semaphore(0)  # for tasks under way, or finished and not yet yielded
        self.results: SimpleQueue[TaskResult[R] | BaseException | None] = SimpleQueue()

    def begin(self) -> None:
        """Start a thread."""
        thread = Thread(target=self._work, daemon=True)
        self.threads.add(thread)
        thread.start()

    def patience_s(self) -> float | None:
        """How long to wait for a result until a task may exceed its limit; None without a limit."""
        if self._timeout_s is None:
            return None
        with self._lock:
            first = min((start for _, start in self._running.values()), default=time.monotonic())
        return max(0.0, first + self._timeout_s - time.monotonic())

    def give_up(self) -> None:
        """Fail the tasks over their time limit, and replace their threads."""
        limit_s = self._timeout_s or 0.0
        with self._lock:
            until = time.monotonic() - limit_s
            late = {thread: task for thread, (task, start) in self._running.items() if start <= until}
            for thread in late:
                del self._running[thread]
                self.threads.discard(thread)
        for task in late.values():
            self._finish(TaskResult(task.key, failures.of_timeout(limit_s, self._stage)))
            self.begin()

    def _work(self) -> None:
        """Do tasks until there are no more, or until this thread is given up."""
        thread = current_thread()
        try:
            while (task := self._next_task()) is not None:
                with self._lock:
                    self._running[thread] = task, time.monotonic()
                outcome = self._outcome(task)
                with self._lock:
                    if self._running.pop(thread, None) is None:
                        return
                self._finish(TaskResult(task.key, outcome))
        except BaseException as error:  # from the tasks or the store: raised in the caller
            self.results.put(error)
        finally:
            if thread in self.threads:
                self.results.put(None)

    def _finish(self, result: TaskResult[R]) -> None:
        with self._store_lock:
            if self._store is not None:
                self._store(result)
        self.results.put(result)

    def leave(self) -> None:
        """Store nothing from now on."""
        with self._store_lock:
            self._store = None

    def _next_task(self) -> Task[P] | None:
        self.room.acquire()
        with self._lock:
            return None if self.stopped.is_set() else next(self._source, None)

    def _outcome(self, task: Task[P]) -> R | Failed:
        try:
            return self._function(task.payload)
        except (Exception, SystemExit) as error:
            return failures.of_exception(error, self._stage)


class FailedTogether(Failed):
    """A task failed because its process died; another task under way may have caused that."""


class SharedWorker(Generic[P, R]):
    """A function in a worker process of its own, called concurrently from threads of this process.

    ``make`` makes it there and must be picklable. ``memory_mb`` limits the memory of the process with its children, as
    in ``run_tasks``, and ``setup_s`` the time to make the function. If the process dies, calls under way are
    ``Failed``, or ``FailedTogether`` if there are several, and the next call starts a new process. A call that takes
    more than ``timeout_s`` is ``Failed``; it goes on in the process, and its result is dropped.
    """

    def __init__(
        self,
        make: Callable[[], Callable[[P], R]],
        *,
        stage: str,
        memory_mb: int | None,
        setup_s: float | None,
        timeout_s: float | None = None,
    ) -> None:
        self._first, self._stage, self._timeout_s = frames.pack((make, stage, True)), stage, timeout_s
        self._memory_mb, self._setup_s = memory_mb, setup_s
        self._guard, self._numbers = Lock(), count()
        self._pending: dict[int, SimpleQueue[R | Failed]] = {}
        self._process: process.Process | None = self._new_process()

    def __call__(self, payload: P) -> R | Failed:
        """What the function returns, or why it failed."""
        reply: SimpleQueue[R | Failed] = SimpleQueue()
        with self._guard:
            number = next(self._numbers)
            message = frames.pack((number, payload))
            self._process = self._process or self._new_process()
            self._pending[number] = reply
            self._process.send(message)  # if it has died, an event says so too
        try:
            return reply.get(timeout=self._timeout_s)
        except Empty:
            return failures.of_timeout(self._timeout_s or 0.0, self._stage)

    def close(self) -> None:
        """End the process, which is killed if it does not end by itself within 2 s."""
        with self._guard:
            last = self._process
        if last is not None:
            last.retire()
            last.join(LEAVE_S)

    def _new_process(self) -> process.Process:
        """A ready process, with a thread that receives its results."""
        events: SimpleQueue[process.Event] = SimpleQueue()
        started = process.Process(self._first, events, memory_mb=self._memory_mb)
        try:
            event = events.get(timeout=self._setup_s)
        except Empty:
            started.kill()
            raise failures.of_setup_timeout(self._setup_s or 0.0, self._stage) from None
        if event.error is not None:
            raise event.error
        if event.kind == "died":
            over = self._memory_mb if event.over_memory else None
            raise failures.of_setup_death(event.code, self._stage, memory_mb=over)
        kind, error = frames.unpack(event.body)
        if kind == "unready":
            raise error
        Thread(target=self._receive, args=(events,), daemon=True).start()
        return started

    def _receive(self, events: SimpleQueue[process.Event]) -> None:
        while (event := events.get()).kind == "message":
            _, (number, packed) = frames.unpack(event.body)
            outcome: R | Failed
            try:
                outcome = frames.unpack(frames.read(BytesIO(packed)) or b"")
            except Exception as error:
                outcome = failures.of_exception(error, self._stage)
            with self._guard:
                reply = self._pending.pop(number)
            reply.put(outcome)
        if event.over_memory:
            failure = failures.of_memory(self._memory_mb or 0, self._stage)
        else:
            failure = failures.of_death(event.code, self._stage)
        with self._guard:
            waiting, self._pending, self._process = self._pending, {}, None
        for reply in waiting.values():
            reply.put(failure if len(waiting) == 1 else FailedTogether(failure.error))
