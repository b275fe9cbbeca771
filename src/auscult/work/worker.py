"""The main function of a worker process.

The process reads tasks from its original standard input and answers on its original standard output. Both are moved to
other descriptors before a judge or plug-in is imported, so that its input and output do not disturb the messages. A
process that a task forks has neither, and ends with the task: only the process that got the task answers.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import Any, BinaryIO

from auscult.errors import AuscultError, UsageError
from auscult.work import failures, frames
from auscult.work.process import forget_peak
from auscult.work.standstill import WATCH

_PR_SET_PDEATHSIG = 1


def die_with(parent: int) -> None:
    """End this process when the thread that started it ends; at once if the parent has ended."""
    dying_with(parent)()


def dying_with(parent: int) -> Callable[[], None]:
    """``die_with`` as a ``preexec_fn``, with its function of the C library looked up now.

    A process that was forked from one with several threads must not import or wait for a lock.
    """
    if sys.platform != "linux":
        return _nothing
    try:
        call = ctypes.CDLL(None).prctl
    except (OSError, AttributeError):  # without prctl, it ends when its pipe is closed
        return _nothing
    return partial(_request_signal, call, parent)


def _request_signal(call: Callable[..., int], parent: int) -> None:
    call(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)


def _nothing() -> None:
    return


def main(parent: int) -> None:
    """Serve tasks until the parent closes the pipe; never outlive it."""
    tasks_pipe, answers_pipe = _take_pipes()
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=lambda: _leave(tasks_pipe, answers_pipe))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # interrupts are for the parent
    die_with(parent)
    inbox: SimpleQueue[bytes | None] = SimpleQueue()
    busy = threading.Event()
    threading.Thread(target=_listen, args=(tasks_pipe, inbox, busy), daemon=True).start()
    try:
        while _serve(inbox, answers_pipe, busy):
            forget_peak()
    except OSError:  # the parent is gone, or the model closed the pipe
        os._exit(1)


def _take_pipes() -> tuple[BinaryIO, BinaryIO]:
    """Move the pipes to other descriptors; standard input becomes empty, standard output goes to standard error."""
    tasks = os.fdopen(os.dup(0), "rb", buffering=0)
    answers = os.fdopen(os.dup(1), "wb", buffering=0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return tasks, answers


def _leave(*pipes: BinaryIO) -> None:
    """Close the pipes in a forked process: it must not answer, and its copies would keep the pipe open."""
    for pipe in pipes:
        with contextlib.suppress(OSError):
            pipe.close()


def _listen(pipe: BinaryIO, inbox: SimpleQueue[bytes | None], busy: threading.Event) -> None:
    """Pass messages on. If the pipe ends during a task, the parent is gone and the process exits."""
    while (message := frames.read(pipe)) is not None:
        inbox.put(message)
    if busy.is_set():
        os._exit(1)
    inbox.put(None)


def _serve(inbox: SimpleQueue[bytes | None], answers: BinaryIO, busy: threading.Event) -> bool:
    """Serve the tasks of one function; True if an empty message announces another function."""
    first = inbox.get()
    if first is None:
        return False
    busy.set()
    pid, home, stage = os.getpid(), _folder(), ""
    try:
        make, stage, together = frames.unpack(first)
        function = make()
    except BaseException as error:
        _end_unless(pid)
        frames.write(answers, _unready(failures.of_setup(error, stage)))
        return False
    _end_unless(pid)
    _one_processor()
    busy.clear()
    frames.write(answers, frames.pack(("ready", None)))
    if together:
        _serve_together(function, inbox, answers, stage=stage)
        return False
    while message := inbox.get():
        busy.set()
        WATCH.moved()
        answer = _answer(function, message, stage)
        WATCH.rest()
        _end_unless(pid)
        _return_to(home)
        busy.clear()
        frames.write(answers, answer)
    if message is not None and callable(close := getattr(function, "close", None)):
        close()
    return message is not None


def _serve_together(
    function: Callable[[Any], Any], inbox: SimpleQueue[bytes | None], answers: BinaryIO, *, stage: str
) -> None:
    """Do each task in its own thread; tasks and answers have numbers, since answers come in any order."""
    pid, writing = os.getpid(), threading.Lock()

    def answer(number: int, payload: Any) -> None:
        try:
            packed = frames.pack(function(payload))
        except BaseException as error:
            packed = frames.pack(failures.of_exception(error, stage))
        _end_unless(pid)
        with writing:
            frames.write(answers, frames.pack(("done", (number, packed))))

    while (message := inbox.get()) is not None:
        threading.Thread(target=answer, args=frames.unpack(message), daemon=True).start()
    if callable(close := getattr(function, "close", None)):
        close()


def _end_unless(pid: int) -> None:
    if os.getpid() != pid:
        os._exit(1)


def _folder() -> str | None:
    try:
        return str(Path.cwd())
    except OSError:  # it has been removed
        return None


def _return_to(folder: str | None) -> None:
    """Undo a change of the working folder: files of the next task may be relative to it."""
    if folder is not None:
        with contextlib.suppress(OSError):
            os.chdir(folder)


def _unready(error: AuscultError) -> bytes:
    try:
        return frames.pack(("unready", error))
    except Exception:  # an error class of a plug-in that cannot be pickled: send its text
        return frames.pack(("unready", UsageError(error.message, expected=error.expected, hint=error.hint)))


def _answer(function: Callable[[Any], Any], message: bytes, stage: str) -> bytes:
    """Run one task; whatever it raises, ``sys.exit`` included, is its failure."""
    try:
        return frames.pack(("done", function(frames.unpack(message))))
    except BaseException as error:
        return frames.pack(("done", failures.of_exception(error, stage)))


def _one_processor() -> None:
    """Turn off OpenCV's own threads: the workers are the parallelism."""
    opencv = sys.modules.get("cv2")
    if opencv is not None:
        opencv.setNumThreads(1)
