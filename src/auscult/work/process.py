"""One worker process, as its parent sees it.

A fresh interpreter is started rather than a fork or a copy of the caller: about 0.2 s once per worker, and in return no
lock, thread or open file of the caller reaches it and the caller's script is not run again. The thread that starts it
also listens to it and lives as long, because Linux counts a child as orphaned when the thread that made it ends.

It leads a process group of its own, and has a folder of its own for temporary files. When it ends, however it ends,
what is left of both goes with it, and so does what it started and what left the group. Its memory is watched from here,
where nothing that it does can hold the watch up, and what it prints is passed on from here.

What belongs to a worker is its process group, and whatever inherited the name of its folder for temporary files, which
no other process knows: a child that leaves the group, as a daemon does, keeps its environment. One that leaves the
group and clears its environment is not found.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import selectors
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import Literal, Self

from auscult.work import frames

_PROC = Path("/proc")
_LOOK_AGAIN_S = 0.5
_ROUNDS = 20
_PAUSE_S = 0.01


class ProcessTree:
    """A worker's processes: its group, named by its process id, and what inherited the name of its ``folder``."""

    def __init__(self, group: int, *, folder: str = "") -> None:
        self._group = group
        self._mark = os.fsencode(folder)
        self._marked: dict[int, bool] = {}
        self._members: list[int] = []
        self._looked_at = -_LOOK_AGAIN_S

    def members(self) -> list[int]:
        """Their process ids, looked up twice a second at most: who belongs to it changes less often than what it takes.

        Empty where all have ended or the system does not tell.
        """
        now = time.monotonic()
        if now - self._looked_at >= _LOOK_AGAIN_S:
            there = _processes()
            self._marked = {process: self._marked[process] for process in there if process in self._marked}
            self._members = [process for process in there if self._is_member(process)]
            self._looked_at = now
        return self._members

    def end_strays(self) -> None:
        """Stop what has left the group, once the worker itself has ended; what they start meanwhile too."""
        for _ in range(_ROUNDS if self._mark else 0):
            strays = [process for process in _processes() if _has_mark(process, self._mark)]
            for process in strays:
                with contextlib.suppress(OSError):
                    os.kill(process, signal.SIGKILL)
            if not strays:
                return
            time.sleep(_PAUSE_S)

    def _is_member(self, process: int) -> bool:
        try:
            if os.getpgid(process) == self._group:
                return True
        except OSError:  # it has ended since
            return False
        if not self._mark:
            return False
        found = self._marked.get(process)
        if found is None:
            found = _has_mark(process, self._mark)
            if found is not None:
                self._marked[process] = found  # what it inherited stays
        return bool(found)


def _processes() -> list[int]:
    if not _PROC.joinpath("self", "statm").exists():  # this system does not tell of other processes
        return []
    return [int(name) for name in os.listdir(_PROC) if name.isdigit()]  # noqa: PTH208 - names alone, in half the time


def _has_mark(process: int, mark: bytes) -> bool | None:
    """Whether the environment that a process began with holds a name; None where it shows none at present."""
    try:
        environment = _PROC.joinpath(str(process), "environ").read_bytes()
    except OSError:  # another user's, or it has ended since
        return False
    return mark in environment if environment else None


_MB = 1 << 20


def resident_mb(tree: ProcessTree, limit_mb: float) -> float:
    """What they take now, in mebibytes; 0 where they have ended or the system does not tell.

    Pages that several of them share, as after a fork, are counted once for each; only where that passes the limit are
    shared pages divided among those who share them, which takes the kernel longer to tell.
    """
    members = tree.members()
    resident = sum(_resident(member) for member in members)
    if resident > limit_mb * _MB and len(members) > 1:
        resident = sum(_shared_out(member) for member in members)
    return resident / _MB


def _resident(process: int) -> int:
    """Bytes of a process's resident pages; 0 if it has ended."""
    try:
        pages = _PROC.joinpath(str(process), "statm").read_bytes().split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0


def _shared_out(process: int) -> int:
    """Bytes of a process's resident pages, each divided by the number of processes that share it."""
    try:
        lines = _PROC.joinpath(str(process), "smaps_rollup").read_bytes().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(b"Pss:"))
    except (OSError, ValueError, IndexError, StopIteration):
        return _resident(process)


_PREFIX = "auscult-worker-"
_NAME = re.compile(_PREFIX + r"([1-9][0-9]{0,9})-.+")


@contextlib.contextmanager
def own_folder() -> Iterator[str]:
    """A new folder for a worker's temporary files, which is removed with all in it.

    Its name tells the process that made it, and a lock that this process lives: process ids repeat, and are not the
    same in every container that shares the folder.
    """
    with tempfile.TemporaryDirectory(prefix=f"{_PREFIX}{os.getpid()}-", ignore_cleanup_errors=True) as folder:
        lock = _locked(Path(folder))
        try:
            yield folder
        finally:
            if lock is not None:
                os.close(lock)


def remove_leftovers() -> None:
    """Remove the folders of this user's processes that were killed; what cannot be removed stays."""
    if os.name != "posix":
        return
    with contextlib.suppress(OSError), os.scandir(tempfile.gettempdir()) as entries:
        for entry in entries:
            found = _NAME.fullmatch(entry.name)
            if found and not _is_alive(int(found[1])):
                _remove(Path(entry.path))


def _remove(folder: Path) -> None:
    try:
        status = folder.lstat()
        lock = _locked(folder) if status.st_uid == os.geteuid() else None
    except OSError:
        return
    if lock is not None:
        try:
            shutil.rmtree(folder, ignore_errors=True)  # it follows no links
        finally:
            os.close(lock)


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):  # another user's
        return True
    return True


def _locked(folder: Path) -> int | None:
    """A descriptor that locks a folder until it is closed; None where another holds it, or it is a link."""
    if os.name != "posix":
        return None
    import fcntl

    try:
        opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(opened)
        return None
    return opened


_MOST_BYTES = 1 << 16
_BLOCK = 1 << 16
_MOST_BLOCKS = 64  # of a pipe that somebody fills faster than it is read


class StderrRelay:
    """Passes on what comes through a pipe, given by the descriptor of its end to read from; it never waits for it."""

    def __init__(self, pipe: int) -> None:
        os.set_blocking(pipe, False)
        self._pipe = pipe
        self._told = 0
        self._left_out = 0

    def pass_on(self) -> bool:
        """Pass on what is there; False when nobody can write any more."""
        for _ in range(_MOST_BLOCKS):
            try:
                block = os.read(self._pipe, _BLOCK)
            except BlockingIOError:
                return True
            except OSError:
                return False
            if not block:
                return False
            shown = block[: _MOST_BYTES - self._told]
            self._told += len(shown)
            self._left_out += len(block) - len(shown)
            _say(shown)
        return True

    def end_task(self) -> None:
        """Pass on the rest of a task's output, and say how much of it was left out."""
        self.pass_on()
        if self._left_out:
            _say(b"\nauscult: %.1f MB more that was printed at one case are left out\n" % (self._left_out / 1e6))
        self._told = self._left_out = 0


def _say(text: bytes) -> None:
    if sys.stderr is None:  # its descriptor may belong to another file
        return
    with contextlib.suppress(OSError):
        while text:
            text = text[os.write(2, text) :]


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
    """What a worker process did: it said something, it died, or it could not be started."""

    worker: Process
    kind: Literal["said", "died", "unstarted"]
    body: bytes = b""
    code: int = 0  # its exit status, negative for a signal
    error: OSError | None = None
    memory_mb: float = 0.0  # what it took when it spoke, where its memory is limited
    over_memory: bool = False  # it was stopped because it took more than its limit


class Process:
    """Starts a worker process with a packed message that tells it what to make; what it does arrives in ``events``.

    What it and all that it started take together stays below ``memory_mb``, where that is given.
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
                tree = ProcessTree(process.pid, folder=folder)
                try:
                    self._follow(process, first, tree)
                finally:
                    code = self._reaped(process)
                    tree.end_strays()
        except OSError as error:
            if process is None:
                self._events.put(Event(self, "unstarted", error=error))
        finally:
            if process is not None:  # whatever went wrong here, nobody waits for it in vain
                self._events.put(Event(self, "died", code=code, over_memory=self._over_memory))

    def _follow(self, process: subprocess.Popen[bytes], first: bytes, tree: ProcessTree) -> None:
        """Listen to it until it has ended."""
        with self._guard:
            self._process = process
            if self._unwanted:
                _kill_group(process)
        self.send(first)
        with _Listener(process, lambda: self._goes_on(process, tree)) as listener:
            while (body := frames.read(listener)) is not None:
                listener.end_task()
                taken = 0.0 if self._memory_mb is None else resident_mb(tree, self._memory_mb)
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

    def _goes_on(self, process: subprocess.Popen[bytes], tree: ProcessTree) -> bool:
        """Look after it while it says nothing; False when it has ended."""
        if self._memory_mb is not None and resident_mb(tree, self._memory_mb) > self._memory_mb:
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
        self._relay: StderrRelay | None = None
        if self._selector is not None:
            self._selector.register(self._pipe, selectors.EVENT_READ)
            if process.stderr is not None:
                self._relay = StderrRelay(process.stderr.fileno())
                self._selector.register(process.stderr, selectors.EVENT_READ, self._relay)

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
        if self._relay is not None:
            self._relay.end_task()

    def _has_said(self, selector: selectors.BaseSelector) -> bool:
        """Wait a little for a message, and pass on what it prints meanwhile."""
        said = False
        for key, _ in selector.select(_TICK_S):
            if not isinstance(key.data, StderrRelay):
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
