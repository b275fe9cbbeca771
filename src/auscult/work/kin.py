"""Which processes belong to a worker, seen from outside; on Linux.

They are its process group, and whatever inherited the name of its folder for temporary files, which no other process
knows: a child that leaves the group, as a daemon does, keeps its environment. One that leaves the group and clears its
environment is not found.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from pathlib import Path

_PROC = Path("/proc")
_LOOK_AGAIN_S = 0.5
_ROUNDS = 20
_PAUSE_S = 0.01


def is_told() -> bool:
    """Whether this system tells of other processes."""
    return _PROC.joinpath("self", "statm").exists()


class Kin:
    """A worker's processes.

    Args:
        group: The number of its group, which is its process id.
        folder: Its folder for temporary files; none for the group alone.
    """

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
    if not is_told():
        return []
    return [int(name) for name in os.listdir(_PROC) if name.isdigit()]  # noqa: PTH208 - names alone, in half the time


def _has_mark(process: int, mark: bytes) -> bool | None:
    """Whether the environment that a process began with holds a name; None where it shows none at present."""
    try:
        environment = _PROC.joinpath(str(process), "environ").read_bytes()
    except OSError:  # another user's, or it has ended since
        return False
    return mark in environment if environment else None
