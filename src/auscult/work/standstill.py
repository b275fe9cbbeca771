"""A watchdog: where nothing happens for long, the stacks of all threads are printed on stderr, and work goes on.

It is off unless ``AUSCULT_STANDSTILL_S`` says after how many seconds; the command line sets it to 300, and 0 turns it
off there. The parent's time runs from its last event, a worker's from the beginning of its task, so that both tell
where they stand; each process tells once. What is printed begins with ``Timeout (0:05:00)!``, faulthandler's words;
nothing is stopped.
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
    """The watch of one process over itself."""

    def __init__(self) -> None:
        self._begun_s: float | None = None
        self._limit_s = 0.0

    def moved(self) -> None:
        """Something happened: the time until stacks are printed runs anew."""
        if self._reported():
            return
        with suppress(ValueError, OSError, RuntimeError):  # no number, or no stderr
            self._limit_s = float(os.environ.get(VARIABLE) or 0.0)
            if self._limit_s > 0:
                faulthandler.dump_traceback_later(self._limit_s, file=_STDERR)
                self._begun_s = time.monotonic()

    def rest(self) -> None:
        """There is nothing to wait for now."""
        if self._begun_s is not None and not self._reported():
            faulthandler.cancel_dump_traceback_later()
            self._begun_s = None

    def _reported(self) -> bool:
        return self._begun_s is not None and time.monotonic() - self._begun_s >= self._limit_s


WATCH: Final = Watch()
"""This process's own."""
