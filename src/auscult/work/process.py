"""One worker process, as its parent sees it.

A fresh interpreter is started rather than a fork or a copy of the caller: about 0.2 s once per worker, and in return no
lock, thread or open file of the caller reaches it and the caller's script is not run again. The thread that starts it
also listens to it and lives as long, because Linux counts a child as orphaned when the thread that made it ends.

It leads a process group of its own, and has a folder of its own for temporary files. When it ends, however it ends,
what is left of both goes with it, and so does what it started and what left the group. Its memory is watched from here,
where nothing that it does can hold the watch up, and what it prints is passed on from here.
"""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Literal, Self

from auscult.work import frames
from auscult.work.kin import Kin
from auscult.work.leftovers import own_folder
from auscult.work.memory import resident_mb
from auscult.work.talk import Talk

_BOOT = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); parent = int(sys.argv[2]); del sys.argv[1:]; "
    "from auscult.work.worker import main; main(parent)"
)
_ONE_PROCESSOR = dict.fromkeys(
    (
        "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS",
        "VECLIB_MAXIMUM_THREADS", "BLIS_NUM_THREADS", "OPENCV_FOR_THREADS_NUM",
    ),
    "1",
)  # fmt: skip
_GRACE_S = 2.0
_TICK_S = 0.1


@dataclass(frozen=True, slots=True, eq=False)
class Event:
    """What a worker process did: it said something, it died, or it could not be started.

    Attributes:
        worker: Which one.
        kind: What it did.
        body: What it said.
        code: Its exit status, negative for a signal.
        error: Why it could not be started.
        memory_mb: What it took when it spoke, where its memory is limited.
        over_memory: It was stopped because it took more than its limit.
    """

    worker: Process
    kind: Literal["said", "died", "unstarted"]
    body: bytes = b""
    code: int = 0
    error: OSError | None = None
    memory_mb: float = 0.0
    over_memory: bool = False


class Process:
    """Starts a worker process; what it does arrives in ``events``.

    Args:
        first: The packed message that tells it what to make.
        events: Where events go.
        memory_mb: Limit on the memory that it and what it started take; None for no limit.
    """

    def __init__(self, first: bytes, events: SimpleQueue[Event], *, memory_mb: int | None = None) -> None:
        self._events = events
        self._memory_mb = memory_mb
        self._guard = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._unwanted = False
        self._retired_at: float | None = None
        self._over_memory = False
        self._thread = threading.Thread(target=self._live, args=(first,), name="auscult-worker", daemon=True)
        self._thread.start()

    def send(self, message: bytes) -> bool:
        """Send one packed message; False if the process has died, which an event tells too."""
        process = self._process
        if process is None or process.stdin is None:
            return False
        try:
            frames.write(process.stdin, message)  # type: ignore[arg-type]
        except (OSError, ValueError):  # ValueError: closed on our side
            return False
        return True

    def retire(self) -> None:
        """Let it end by itself, now that it is idle; it is stopped where it does not within 2 s."""
        with self._guard:
            self._unwanted = True
            self._retired_at = time.monotonic()
            if self._process is not None and self._process.stdin is not None:
                self._process.stdin.close()

    def kill(self) -> None:
        """End it at once, with the processes it may have started."""
        with self._guard:
            self._unwanted = True
            if self._process is not None and self._process.returncode is None:
                _kill_group(self._process)

    def join(self, limit_s: float) -> bool:
        """Wait until it has ended; False if it has not within the limit."""
        self._thread.join(limit_s)
        return not self._thread.is_alive()

    def _live(self, first: bytes) -> None:
        process, code = None, 0
        try:
            # What it leaves behind when it is stopped in the middle of a task is removed here.
            with own_folder() as folder:
                process = _start(folder)
                kin = Kin(process.pid, folder=folder)
                try:
                    self._follow(process, first, kin)
                finally:
                    code = self._reaped(process)
                    kin.end_strays()
        except OSError as error:
            if process is None:
                self._events.put(Event(self, "unstarted", error=error))
        finally:
            if process is not None:  # whatever went wrong here, nobody waits for it in vain
                self._events.put(Event(self, "died", code=code, over_memory=self._over_memory))

    def _follow(self, process: subprocess.Popen[bytes], first: bytes, kin: Kin) -> None:
        """Listen to it until it has ended."""
        with self._guard:
            self._process = process
            if self._unwanted:
                _kill_group(process)
        self.send(first)
        with _Listener(process, lambda: self._goes_on(process, kin)) as listener:
            while (body := frames.read(listener)) is not None:
                listener.end_task()
                taken = 0.0 if self._memory_mb is None else resident_mb(kin, self._memory_mb)
                self._events.put(Event(self, "said", body=body, memory_mb=taken))
            listener.end_task()
        limit = time.monotonic() + _GRACE_S
        while not self._has_ended(process) and time.monotonic() < limit:
            time.sleep(_TICK_S / 10)

    def _reaped(self, process: subprocess.Popen[bytes]) -> int:
        """Its exit status; it is stopped if it has not ended."""
        self.kill()
        with process:  # waits, and closes the pipes
            return process.wait()

    def _goes_on(self, process: subprocess.Popen[bytes], kin: Kin) -> bool:
        """Look after it while it says nothing; False when it has ended."""
        if self._memory_mb is not None and resident_mb(kin, self._memory_mb) > self._memory_mb:
            self._over_memory = True
            self.kill()
        if self._retired_at is not None and time.monotonic() - self._retired_at > _GRACE_S:
            self.kill()
        return not self._has_ended(process)

    def _has_ended(self, process: subprocess.Popen[bytes]) -> bool:
        """Whether it has; then nothing that it started goes on, or holds its pipe open."""
        with self._guard:
            if process.poll() is None:
                return False
            _kill_group(process)
            return True


class _Listener:
    """What a process writes, while somebody looks after it: a pipe stays open as long as anybody holds it."""

    def __init__(self, process: subprocess.Popen[bytes], goes_on: Callable[[], bool]) -> None:
        assert process.stdout is not None  # noqa: S101 - asked for with PIPE
        self._pipe = process.stdout.fileno()
        self._goes_on = goes_on
        self._looked_at = time.monotonic()
        self._selector = selectors.DefaultSelector() if os.name == "posix" else None
        self._talk: Talk | None = None
        if self._selector is not None:
            self._selector.register(self._pipe, selectors.EVENT_READ)
            if process.stderr is not None:
                self._talk = Talk(process.stderr.fileno())
                self._selector.register(process.stderr, selectors.EVENT_READ, self._talk)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self._selector is not None:
            self._selector.close()

    def read(self, size: int) -> bytes:
        """Read up to so many bytes; none at the end."""
        while self._selector is not None and not self._has_said(self._selector):
            if time.monotonic() - self._looked_at >= _TICK_S:
                if not self._goes_on():
                    return b""
                self._looked_at = time.monotonic()
        return os.read(self._pipe, size)

    def end_task(self) -> None:
        """Pass on what it printed at the task that it has answered."""
        if self._talk is not None:
            self._talk.end_task()

    def _has_said(self, selector: selectors.BaseSelector) -> bool:
        """Wait a little for a message, and pass on what it prints meanwhile."""
        said = False
        for key, _ in selector.select(_TICK_S):
            if not isinstance(key.data, Talk):
                said = True
            elif not key.data.pass_on():
                selector.unregister(key.fileobj)
        return said


def _start(folder: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", _BOOT, json.dumps(sys.path), str(os.getpid())],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE if os.name == "posix" else None,
        bufsize=0,
        env={**os.environ, **_ONE_PROCESSOR, **dict.fromkeys(("TMPDIR", "TEMP", "TMP"), folder)},
        process_group=0 if os.name == "posix" else None,  # so that Ctrl-C reaches the parent alone
    )


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    """Stop a process and all of its group; the group's number is not given to another while anybody is left in it."""
    try:
        if os.name == "posix":
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    except (ProcessLookupError, PermissionError):  # macOS says the latter where only zombies are left
        return
