"""How much memory a worker and what it started take, seen from outside; on Linux."""

from __future__ import annotations

import os
from pathlib import Path

from auscult.work.kin import Kin

_PROC = Path("/proc")
_MB = 1 << 20


def resident_mb(kin: Kin, limit_mb: float) -> float:
    """What they take now.

    Pages that several of them share, as after a fork, are counted once for each; only where that passes the limit are
    shared pages divided among those who share them, which takes the kernel longer to tell.

    Args:
        kin: The processes.
        limit_mb: What the sum is compared with.

    Returns:
        Mebibytes; 0 where they have ended or the system does not tell.
    """
    members = kin.members()
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
