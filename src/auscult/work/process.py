"""One worker process, as its parent sees it.

A fresh interpreter is started rather than a fork or a copy of the caller: about 0.2 s once per worker, and in return no
lock, thread or open file of the caller reaches it and the caller's script is not run again. The thread that starts it
also listens to it and lives as long, because Linux counts a child as orphaned when the thread that made it ends.

It leads a process group of its own, and has a folder of its own for temporary files. When it ends, for any reason, its
group and the processes that left the group are killed, and the folder is removed. The parent watches its memory, which
nothing in the worker can block, and passes on what it prints.

The processes of a worker are its group and those that inherited the unique name of its folder: a child that leaves the
group, as a daemon does, keeps its environment. One that leaves the group and clears its environment is not found.
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
    """A worker's processes: its group, by process id, and those that inherited the name of its ``folder``."""

    def __init__(self, group: int, *, folder: str = "") -> None:
        self._group = group
        self._mark = os.fsencode(folder)
        self._is_marked: dict[int, bool] = {}
        self._members: list[int] = []
        self._last_check = -_LOOK_AGAIN_S

    def members(self) -> list[int]:
        """Process ids of the members, updated at most twice a second; empty if all have ended or without /proc."""
        now = time.monotonic()
        if now - self._last_check >= _LOOK_AGAIN_S:
            running = _processes()
            self._is_marked = {process: self._is_marked[process] for process in running if process in self._is_marked}
            self._members = [process for process in running if self._is_member(process)]
            self._last_check = now
        return self._members

    def end_strays(self) -> None:
        """Kill processes that left the group, and those they start meanwhile, after the worker has ended."""
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
        is_marked = self._is_marked.get(process)
        if is_marked is None:
            is_marked = _has_mark(process, self._mark)
            if is_marked is not None:
                self._is_marked[process] = is_marked  # the initial environment does not change
        return bool(is_marked)


def _processes() -> list[int]:
    if not _PROC.joinpath("self", "statm").exists():  # no /proc on this system
        return []
    return [int(name) for name in os.listdir(_PROC) if name.isdigit()]  # noqa: PTH208 - names alone, in half the time


def _has_mark(process: int, mark: bytes) -> bool | None:
    """Whether the initial environment of a process contains ``mark``; None if it cannot be read at present."""
    try:
        environment = _PROC.joinpath(str(process), "environ").read_bytes()
    except OSError:  # another user's, or it has ended since
        return False
    return mark in environment if environment else None


_MB = 1 << 20


def resident_mb(tree: ProcessTree, limit_mb: float) -> float:
    """Resident memory of all processes in a tree, in mebibytes; 0 if all have ended or without /proc.

    Pages shared by several processes, as after a fork, count for each of them; only if the sum is over the limit are
    they divided among the processes, which takes the kernel longer.
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


def peak_mb() -> int | None:
    """Peak memory of this process with the model, in mebibytes; None if the system does not report it."""
    with contextlib.suppress(OSError, ValueError, IndexError):  # getrusage has the peak of the starting process as well
        return int(_PROC.joinpath("self", "status").read_bytes().split(b"VmHWM:")[1].split()[0]) >> 10
    try:
        import resource
    except ImportError:
        return None
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // (1 << 20 if sys.platform == "darwin" else 1 << 10)


def forget_peak() -> None:
    """Reset ``peak_mb`` for a new function."""
    with contextlib.suppress(OSError):
        _PROC.joinpath("self", "clear_refs").write_text("5", "ascii")


def peak_gpu_mb() -> int | None:
    """Peak GPU memory of torch in this process, in mebibytes; None if it used none."""
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_initialized():
        return None
    return int(torch.cuda.max_memory_allocated()) >> 20


@contextlib.contextmanager
def own_folder() -> Iterator[str]:
    """A new folder for a worker's temporary files, removed at the end.

    Its name holds the process id of its owner. A lock shows that the owner is alive: process ids repeat, and are not
    the same in every container that shares the folder.
    """
    with tempfile.TemporaryDirectory(prefix=f"{_PREFIX}{os.getpid()}-", ignore_cleanup_errors=True) as folder:
        lock = _locked(Path(folder))
        try:
            yield folder
        finally:
            if lock is not None:
                os.close(lock)


def remove_leftovers() -> None:
    """Remove the folders of killed processes of this user, as far as possible."""
    if os.name != "posix":
        return
    with contextlib.suppress(OSError), os.scandir(tempfile.gettempdir()) as entries:
        for entry in entries:
            match = _NAME.fullmatch(entry.name)
            if match and not _is_alive(int(match[1])):
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
    """A descriptor that locks a folder until it is closed; None if it is locked, or a link."""
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
_MOST_BLOCKS = 64  # per call, so that a fast writer cannot block it


class StderrRelay:
    """Copies a worker's stderr, 64 KiB of each task, to ours without blocking; ``pipe`` is the descriptor to read."""

    def __init__(self, pipe: int) -> None:
        os.set_blocking(pipe, False)
        self._pipe = pipe
        self._copied = 0
        self._dropped = 0

    def pass_on(self) -> bool:
        """Copy the available output; False when the pipe is closed."""
        for _ in range(_MOST_BLOCKS):
            try:
                block = os.read(self._pipe, _BLOCK)
            except BlockingIOError:
                return True
            except OSError:
                return False
            if not block:
                return False
            copied = block[: _MOST_BYTES - self._copied]
            self._copied += len(copied)
            self._dropped += len(block) - len(copied)
            _write_stderr(copied)
        return True

    def end_task(self) -> None:
        """Copy the rest of a task's output, and report how much was dropped."""
        self.pass_on()
        if self._dropped:
            _write_stderr(
                b"\nauscult: %.1f MB more that was printed at one case are left out\n" % (self._dropped / 1e6)
            )
        self._copied = self._dropped = 0


def _write_stderr(text: bytes) -> None:
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
    """What happened to a worker process: it sent a message, died, or could not be started."""

    worker: Process
    kind: Literal["message", "died", "unstarted"]
    body: bytes = b""
    code: int = 0  # exit status, negative for a signal
    error: OSError | None = None
    memory_mb: float = 0.0  # resident memory at the message, if memory is limited
    over_memory: bool = False  # it was killed at its memory limit


class Process:
    """Starts a worker process; ``first`` is the packed setup message, ``events`` gets its events.

    ``memory_mb`` limits the memory of the process with all its children.
    """

    def __init__(self, first: bytes, events: SimpleQueue[Event], *, memory_mb: int | None = None) -> None:
        self._events = events
        self._memory_mb = memory_mb
        self._guard = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._stopping = False
        self._retired_at: float | None = None
        self._over_memory = False
        self._setup = [first]
        self._thread = threading.Thread(target=self._run, name="auscult-worker", daemon=True)
        self._thread.start()

    def send(self, message: bytes) -> bool:
        """Send one packed message; False if the process has died, which is also reported as an event."""
        process = self._process
        if process is None or process.stdin is None:
            return False
        try:
            frames.write(process.stdin, message)  # type: ignore[arg-type]
        except (OSError, ValueError):  # ValueError: closed on our side
            return False
        return True

    def set_up_again(self, first: bytes, *, memory_mb: int | None) -> None:
        """Have it make another function as soon as it is idle, by another setup message and with another limit."""
        self._memory_mb = memory_mb
        with self._guard:
            self._setup.append(frames.NEXT + first)
            if self._process is not None:  # else it is sent after the start
                self.send(self._setup.pop())  # if it has died, an event says so too

    def retire(self) -> None:
        """Let an idle process end by itself; it is killed after 2 s."""
        with self._guard:
            self._stopping = True
            self._retired_at = time.monotonic()
            if self._process is not None and self._process.stdin is not None:
                self._process.stdin.close()

    def kill(self) -> None:
        """End it at once, with its children."""
        with self._guard:
            self._stopping = True
            if self._process is not None and self._process.returncode is None:
                _kill_group(self._process)

    def join(self, limit_s: float) -> bool:
        """Wait until it has ended; False if it has not within the limit."""
        self._thread.join(limit_s)
        return not self._thread.is_alive()

    def _run(self) -> None:
        process, code = None, 0
        try:
            # Temporary files of a process that is killed during a task are removed here.
            with own_folder() as folder:
                process = _start(folder)
                tree = ProcessTree(process.pid, folder=folder)
                try:
                    self._follow(process, tree)
                finally:
                    code = self._exit_status(process)
                    tree.end_strays()
        except OSError as error:
            if process is None:
                self._events.put(Event(self, "unstarted", error=error))
        finally:
            if process is not None:  # always reported, or the pool would wait for it
                self._events.put(Event(self, "died", code=code, over_memory=self._over_memory))

    def _follow(self, process: subprocess.Popen[bytes], tree: ProcessTree) -> None:
        with self._guard:
            self._process = process
            if self._stopping:
                _kill_group(process)
            while self._setup:
                self.send(self._setup.pop(0))
        with _Listener(process, lambda: self._is_running(process, tree)) as listener:
            while (body := frames.read(listener)) is not None:
                listener.end_task()
                used_mb = 0.0 if self._memory_mb is None else resident_mb(tree, self._memory_mb)
                self._events.put(Event(self, "message", body=body, memory_mb=used_mb))
            listener.end_task()
        limit = time.monotonic() + _GRACE_S
        while not self._has_ended(process) and time.monotonic() < limit:
            time.sleep(_TICK_S / 10)

    def _exit_status(self, process: subprocess.Popen[bytes]) -> int:
        """Its exit status; it is killed first if it has not ended."""
        self.kill()
        with process:  # waits, and closes the pipes
            return process.wait()

    def _is_running(self, process: subprocess.Popen[bytes], tree: ProcessTree) -> bool:
        """Enforce its limits; False when it has ended."""
        if self._memory_mb is not None and resident_mb(tree, self._memory_mb) > self._memory_mb:
            self._over_memory = True
            self.kill()
        if self._retired_at is not None and time.monotonic() - self._retired_at > _GRACE_S:
            self.kill()
        return not self._has_ended(process)

    def _has_ended(self, process: subprocess.Popen[bytes]) -> bool:
        """Whether it has; then its group is killed, so that no child goes on or holds its pipe open."""
        with self._guard:
            if process.poll() is None:
                return False
            _kill_group(process)
            return True


class _Listener:
    """Reads the messages of a process, and checks whether it runs, since a child may hold the pipe open."""

    def __init__(self, process: subprocess.Popen[bytes], is_running: Callable[[], bool]) -> None:
        assert process.stdout is not None  # noqa: S101 - opened with PIPE
        self._pipe = process.stdout.fileno()
        self._is_running = is_running
        self._last_check = time.monotonic()
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
        while self._selector is not None:
            arrived = self._has_message(self._selector)
            if time.monotonic() - self._last_check >= _TICK_S:  # also while messages keep coming
                if not self._is_running() and not arrived:
                    return b""
                self._last_check = time.monotonic()
            if arrived:
                break
        return os.read(self._pipe, size)

    def end_task(self) -> None:
        """Copy what it printed during the finished task."""
        if self._relay is not None:
            self._relay.end_task()

    def _has_message(self, selector: selectors.BaseSelector) -> bool:
        """Wait ``_TICK_S`` for a message, copying its stderr; True when a message has arrived."""
        arrived = False
        for key, _ in selector.select(_TICK_S):
            if not isinstance(key.data, StderrRelay):
                arrived = True
            elif not key.data.pass_on():
                selector.unregister(key.fileobj)
        return arrived


def _start(folder: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", _BOOT, json.dumps(sys.path), str(os.getpid())],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE if os.name == "posix" else None,
        bufsize=0,
        env={**os.environ, **_ONE_PROCESSOR, **dict.fromkeys(("TMPDIR", "TEMP", "TMP"), folder)},
        process_group=0 if os.name == "posix" else None,  # Ctrl-C is for the parent alone
    )


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    """Kill the group of a process; the group id is not reused while a member is left."""
    try:
        if os.name == "posix":
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    except (ProcessLookupError, PermissionError):  # macOS raises the latter if only zombies are left
        return
