"""A watchdog: after long inactivity the stacks of all threads are printed on stderr, once for each process.

It is off unless ``AUSCULT_STANDSTILL_S`` sets the seconds; the command line sets 300, and 0 turns it off there. The
parent's time runs from its last event, a worker's from the start of its task. The output begins with faulthandler's
``Timeout (0:05:00)!``; nothing is stopped.
"""

from __future__ import annotations

import faulthandler
import os
import time
from contextlib import suppress
from typing import Final

VARIABLE: Final = "AUSCULT_STANDSTILL_S"
_STDERR: Final = 2


class Watch:
    """The watchdog of one process."""

    def __init__(self) -> None:
        self._start_s: float | None = None
        self._limit_s = 0.0

    def moved(self) -> None:
        """Start the time again after progress."""
        if self._reported():
            return
        with suppress(ValueError, OSError, RuntimeError):  # not a number, or no stderr
            self._limit_s = float(os.environ.get(VARIABLE) or 0.0)
            if self._limit_s > 0:
                faulthandler.dump_traceback_later(self._limit_s, file=_STDERR)
                self._start_s = time.monotonic()

    def rest(self) -> None:
        """Stop the time: no work is under way."""
        if self._start_s is not None and not self._reported():
            faulthandler.cancel_dump_traceback_later()
            self._start_s = None

    def _reported(self) -> bool:
        return self._start_s is not None and time.monotonic() - self._start_s >= self._limit_s


WATCH: Final = Watch()
"""The watchdog of this process."""
