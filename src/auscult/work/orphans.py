"""A death with the process that started this one, where the kernel can be asked for it: Linux."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Callable
from functools import partial

_PR_SET_PDEATHSIG = 1


def die_with(parent: int) -> None:
    """End this process when the thread that started it ends, however that happens.

    Args:
        parent: Process id of the parent; if it has ended already, this ends here.
    """
    dying_with(parent)()


def dying_with(parent: int) -> Callable[[], None]:
    """What a new process calls before it becomes another program: ``die_with``, with all that it needs looked up now.

    A process that was forked from one with several threads must not import or wait for a lock.
    """
    if sys.platform != "linux":
        return _nothing
    try:
        call = ctypes.CDLL(None).prctl
    except (OSError, AttributeError):  # the end of its pipe is seen all the same
        return _nothing
    return partial(_ask, call, parent)


def _ask(call: Callable[..., int], parent: int) -> None:
    call(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)


def _nothing() -> None:
    return
