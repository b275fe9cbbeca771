"""One worker process, as its parent sees it.

A fresh interpreter is started rather than a fork or a copy of the caller: about 0.2 s once per worker, and in return no
lock, thread or open file of the caller reaches it and the caller's script is not run again. The thread that starts it
also listens to it and lives as long, because Linux counts a child as orphaned when the thread that made it ends.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Literal

from auscult.work import frames

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


@dataclass(frozen=True, slots=True, eq=False)
class Event:
    """What a worker process did: it said something, it died, or it could not be started."""

    worker: Process
    kind: Literal["said", "died", "unstarted"]
    body: bytes = b""
    code: int = 0
    error: OSError | None = None


class Process:
    """Starts a worker process; what it does arrives in ``events``.

    Args:
        first: The packed message that tells it what to make.
        events: Where events go.
    """

    def __init__(self, first: bytes, events: SimpleQueue[Event]) -> None:
        self._events = events
        self._guard = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._unwanted = False
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
        """Let it end by itself, now that it is idle."""
        with self._guard:
            self._unwanted = True
            if self._process is not None and self._process.stdin is not None:
                self._process.stdin.close()

    def kill(self) -> None:
        """End it at once, with the processes it may have started."""
        with self._guard:
            self._unwanted = True
            if self._process is not None:
                _kill(self._process)

    def join(self, limit_s: float) -> bool:
        """Wait until it has ended; False if it has not within the limit."""
        self._thread.join(limit_s)
        return not self._thread.is_alive()

    def _live(self, first: bytes) -> None:
        try:
            process = _start()
        except OSError as error:
            self._events.put(Event(self, "unstarted", error=error))
            return
        with process:
            with self._guard:
                self._process = process
                if self._unwanted:
                    _kill(process)
            self.send(first)
            while process.stdout is not None and (body := frames.read(process.stdout)) is not None:  # type: ignore[arg-type]
                self._events.put(Event(self, "said", body=body))
            try:
                process.wait(_GRACE_S)
            except subprocess.TimeoutExpired:
                _kill(process)
            self._events.put(Event(self, "died", code=process.wait()))


def _start() -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", _BOOT, json.dumps(sys.path), str(os.getpid())],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        bufsize=0,
        env={**os.environ, **_ONE_PROCESSOR},
        process_group=0 if os.name == "posix" else None,  # so that Ctrl-C reaches the parent alone
    )


def _kill(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is not None:
        return
    try:
        if os.name == "posix":
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    except ProcessLookupError:
        return
