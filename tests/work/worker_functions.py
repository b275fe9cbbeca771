"""Functions that worker processes of the tests run; a module of its own so that a child can import it."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from auscult.errors import InputError, NothingToDo


class Stubborn:
    """Cannot be sent anywhere."""

    def __reduce__(self) -> Any:
        raise TypeError("stubborn things stay where they are")


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


def behave(payload: Any) -> Any:  # noqa: C901, PLR0911, PLR0912, PLR0915 - a table of misbehaviour
    match payload:
        case ("double", number):
            return number * 2
        case ("sleep", seconds):
            time.sleep(seconds)
            return seconds
        case ("spin",):
            while True:
                pass
        case ("exit", code):
            os._exit(code)
        case ("sys.exit", code):
            sys.exit(code)
        case ("signal", number):
            os.kill(os.getpid(), number)
            time.sleep(30)
        case ("input error",):
            raise InputError("no such mask", expected="a PNG", hint="look again", path="a/b.png", line=3)
        case ("value error",):
            raise ValueError("first line\nsecond line")
        case ("library error",):
            import numpy as np

            return np.zeros(3).reshape(2, 2)
        case ("interrupt",):
            raise KeyboardInterrupt
        case ("memory",):
            raise MemoryError
        case ("unspeakable",):
            raise Unspeakable
        case ("stubborn result",):
            return Stubborn()
        case ("lambda result",):
            return lambda: None
        case ("print",):
            print("talk from a plug-in")
            os.write(1, b"talk from a library\n")
            return sys.stdin.read()
        case ("print much", size):
            sys.stderr.write("z" * size)
            return size
        case ("big", size):
            return b"x" * size
        case ("length", data):
            return len(data)
        case ("pid",):
            return os.getpid()
        case ("environment", name):
            return os.environ.get(name)
        case ("cv2 threads",):
            import cv2

            return cv2.getNumThreads()
        case ("die soon", seconds):
            threading.Timer(seconds, os._exit, (1,)).start()
            return None
        case ("argv",):
            return sys.argv
        case ("grandchild", path):
            child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
            Path(path).write_text(str(child.pid), "ascii")
            time.sleep(60)
    raise AssertionError(payload)


def make() -> Callable[[Any], Any]:
    return behave


def make_with_cv2() -> Callable[[Any], Any]:
    import cv2

    cv2.setNumThreads(4)
    return behave


def make_counting(path: str) -> Callable[[Any], Any]:
    with Path(path).open("a", encoding="ascii") as file:
        file.write(f"{os.getpid()}\n")
    return behave


def leave_mark(folder: str) -> None:
    """A file that is named after the process."""
    (Path(folder) / str(os.getpid())).touch()


def make_nothing_to_do() -> Callable[[Any], Any]:
    raise NothingToDo("no judge here", hint="name one")


def make_broken() -> Callable[[Any], Any]:
    raise KeyError("weights")


def make_dying() -> Callable[[Any], Any]:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError


def make_exit() -> Callable[[Any], Any]:
    sys.exit(3)


def make_hanging() -> Callable[[Any], Any]:
    time.sleep(60)
    raise AssertionError


def make_slowly() -> Callable[[Any], Any]:
    time.sleep(0.8)
    return behave


def make_unless(path: str, failing: tuple[int, ...], wait_s: float = 0.0) -> Callable[[Any], Any]:
    """Fails where it is called for the so manyeth time, over all processes."""
    with Path(path).open("a+", encoding="ascii") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.write("x")
        file.flush()
        number = Path(path).stat().st_size
    if number in failing:
        time.sleep(wait_s)
        raise RuntimeError("the device is held")
    return behave
