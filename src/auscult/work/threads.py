"""Run a function over tasks from threads of this process: for what waits for others.

A function that is not ours, and may take what memory it likes, is put into a process of its own (``SharedWorker``).
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
"""So long whoever stops to iterate waits for what is under way."""


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

    Tasks are taken one by one as threads become free, at most twice as many as threads ahead of who iterates. An
    exception becomes ``Failed``, one of ``make`` is raised as ``run_tasks`` does.

    ``store`` is called with each result by the thread that has it, by one thread at a time, before it is yielded: so
    what was waited for is kept even where it is never taken. What ``store`` raises is raised. Whoever stops to iterate
    gets no new task begun, and waits ``LEAVE_S`` at most for what was begun; nothing is stored after that.

    A task that takes more than ``timeout_s`` is ``Failed``. Its thread cannot be ended: it is left to itself, another
    takes its place, and what it still gives is dropped.
    """
    try:
        function = make()
    except Exception as error:
        raise failures.of_setup(error, stage) from error
    shared = _Asking(function, iter(tasks), stage=stage, store=store, timeout_s=timeout_s)
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


class _Asking(Generic[P, R]):
    """What the threads share; each puts None among the results when it ends, unless it was given up."""

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
        self._lock, self._storing, self.stopped = Lock(), Lock(), Event()
        self._timeout_s = timeout_s
        self._begun: dict[Thread, tuple[Task[P], float]] = {}
        self.threads: set[Thread] = set()  # without those that were given up
        self.room = Semaphore(0)  # for tasks that are under way, or done and not yet taken
        self.results: SimpleQueue[TaskResult[R] | BaseException | None] = SimpleQueue()

    def begin(self) -> None:
        """Start a thread."""
        thread = Thread(target=self._work, daemon=True)
        self.threads.add(thread)
        thread.start()

    def patience_s(self) -> float | None:
        """How long to wait for a result before a task may have taken too long; None without a limit."""
        if self._timeout_s is None:
            return None
        with self._lock:
            first = min((start for _, start in self._begun.values()), default=time.monotonic())
        return max(0.0, first + self._timeout_s - time.monotonic())

    def give_up(self) -> None:
        """Make failures of tasks that have taken too long, each with a new thread for its own."""
        limit_s = self._timeout_s or 0.0
        with self._lock:
            until = time.monotonic() - limit_s
            late = {thread: task for thread, (task, start) in self._begun.items() if start <= until}
            for thread in late:
                del self._begun[thread]
                self.threads.discard(thread)
        for task in late.values():
            self._finish(TaskResult(task.key, failures.of_timeout(limit_s, self._stage)))
            self.begin()

    def _work(self) -> None:
        """Do tasks until there are none, or until this thread is given up."""
        thread = current_thread()
        try:
            while (task := self._next()) is not None:
                with self._lock:
                    self._begun[thread] = task, time.monotonic()
                outcome = self._outcome(task)
                with self._lock:
                    if self._begun.pop(thread, None) is None:
                        return
                self._finish(TaskResult(task.key, outcome))
        except BaseException as error:  # of whoever makes the tasks or stores: the caller's
            self.results.put(error)
        finally:
            if thread in self.threads:
                self.results.put(None)

    def _finish(self, result: TaskResult[R]) -> None:
        with self._storing:
            if self._store is not None:
                self._store(result)
        self.results.put(result)

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


class FailedTogether(Failed):
    """A failure of one of several tasks that were under way when their process died: which caused it is not known."""


class SharedWorker(Generic[P, R]):
    """A function in a worker process of its own, called from threads of this one, all at once.

    ``make`` makes it there and must be picklable. Memory of the process, with those that it starts, is limited to
    ``memory_mb`` as in ``run_tasks``, and making the function to ``setup_s``. Where the process dies, what was under
    way is ``Failed``, or ``FailedTogether``, and the next call starts another. A call that takes more than
    ``timeout_s`` is ``Failed`` and left to itself.
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
        self._waiting: dict[int, SimpleQueue[R | Failed]] = {}
        self._process: process.Process | None = self._started()

    def __call__(self, payload: P) -> R | Failed:
        """What the function returns, or why it does not."""
        reply: SimpleQueue[R | Failed] = SimpleQueue()
        with self._guard:
            number = next(self._numbers)
            message = frames.pack((number, payload))
            self._process = self._process or self._started()
            self._waiting[number] = reply
            self._process.send(message)  # where it has died, its end says so too
        try:
            return reply.get(timeout=self._timeout_s)
        except Empty:
            return failures.of_timeout(self._timeout_s or 0.0, self._stage)

    def close(self) -> None:
        """End the process, at once where it does not end by itself."""
        with self._guard:
            last = self._process
        if last is not None:
            last.retire()
            last.join(LEAVE_S)

    def _started(self) -> process.Process:
        """A process that is ready, with a thread that hears it."""
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
        Thread(target=self._hear, args=(events,), daemon=True).start()
        return started

    def _hear(self, events: SimpleQueue[process.Event]) -> None:
        while (event := events.get()).kind == "message":
            _, (number, packed) = frames.unpack(event.body)
            outcome: R | Failed
            try:
                outcome = frames.unpack(frames.read(BytesIO(packed)) or b"")
            except Exception as error:
                outcome = failures.of_exception(error, self._stage)
            with self._guard:
                reply = self._waiting.pop(number)
            reply.put(outcome)
        if event.over_memory:
            failure = failures.of_memory(self._memory_mb or 0, self._stage)
        else:
            failure = failures.of_death(event.code, self._stage)
        with self._guard:
            waiting, self._waiting, self._process = self._waiting, {}, None
        for reply in waiting.values():
            reply.put(failure if len(waiting) == 1 else FailedTogether(failure.error))
