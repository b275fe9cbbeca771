"""How many processors this process may use."""

from __future__ import annotations

import math
import os
from pathlib import Path

_V2 = Path("/sys/fs/cgroup/cpu.max")
_V1 = (Path("/sys/fs/cgroup/cpu/cpu.cfs_quota_us"), Path("/sys/fs/cgroup/cpu/cpu.cfs_period_us"))


def default_workers() -> int:
    """One worker per processor that this process may use: its affinity, and a container's share of time."""
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    share = _container_share()
    return max(1, processors if share is None else min(processors, math.ceil(share)))


def _container_share() -> float | None:
    """Processors' worth of time that a Linux control group grants; None for no limit."""
    try:
        quota, period = _V2.read_text("ascii").split() if _V2.exists() else (p.read_text("ascii") for p in _V1)
        share = int(quota) / int(period)
    except (OSError, ValueError, ZeroDivisionError):  # no such files, or "max"
        return None
    return share if share > 0 else None
