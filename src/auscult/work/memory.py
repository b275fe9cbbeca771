"""How much memory a process and those it started take, seen from outside; on Linux."""

from __future__ import annotations

import os
import time
from pathlib import Path

_PROC = Path("/proc")
_MB = 1 << 20
_LOOK_AGAIN_S = 0.5


def is_told() -> bool:
    """Whether this system tells how much memory another process takes."""
    return _PROC.joinpath("self", "statm").exists()


class GroupMemory:
    """Resident memory of a process group.

    Args:
        group: Its number, the process id of its leader.
    """

    def __init__(self, group: int) -> None:
        self._group = group
        self._members: list[int] = []
        self._looked_at = -_LOOK_AGAIN_S

    def mb(self, limit_mb: float) -> float:
        """What the group takes now.

        Pages that several of its processes share, as after a fork, are counted once for each; only where that passes
        the limit are shared pages divided among those who share them, which takes the kernel longer to tell.

        Args:
            limit_mb: What the sum is compared with.

        Returns:
            Mebibytes; 0 where the group has ended or the system does not tell.
        """
        now = time.monotonic()
        if now - self._looked_at >= _LOOK_AGAIN_S:  # who belongs to it changes less often than what they take
            self._members, self._looked_at = _members(self._group), now
        resident = sum(_resident(member) for member in self._members)
        if resident > limit_mb * _MB and len(self._members) > 1:
            resident = sum(_shared_out(member) for member in self._members)
        return resident / _MB


def _members(group: int) -> list[int]:
    found = []
    for place in _PROC.iterdir() if is_told() else ():
        if place.name.isdigit():
            try:
                if os.getpgid(int(place.name)) == group:
                    found.append(int(place.name))
            except OSError:  # it has ended since
                continue
    return found


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
