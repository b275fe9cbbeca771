"""What a worker writes beside its answers, passed on to the error output: the first 64 KB of each task."""

from __future__ import annotations

import contextlib
import os
import sys

_MOST_BYTES = 1 << 16
_BLOCK = 1 << 16
_MOST_BLOCKS = 64  # of a pipe that somebody fills faster than it is read


class Talk:
    """Passes on what comes through a pipe; it never waits for it.

    Args:
        pipe: The descriptor of the end to read from.
    """

    def __init__(self, pipe: int) -> None:
        os.set_blocking(pipe, False)
        self._pipe = pipe
        self._told = 0
        self._left_out = 0

    def pass_on(self) -> bool:
        """Pass on what is there; False when nobody can write any more."""
        for _ in range(_MOST_BLOCKS):
            try:
                block = os.read(self._pipe, _BLOCK)
            except BlockingIOError:
                return True
            except OSError:
                return False
            if not block:
                return False
            shown = block[: _MOST_BYTES - self._told]
            self._told += len(shown)
            self._left_out += len(block) - len(shown)
            _say(shown)
        return True

    def end_task(self) -> None:
        """Pass on the rest of a task's talk, and say how much of it was left out."""
        self.pass_on()
        if self._left_out:
            _say(b"\nauscult: %.1f MB more that was printed at one case are left out\n" % (self._left_out / 1e6))
        self._told = self._left_out = 0


def _say(text: bytes) -> None:
    if sys.stderr is None:  # its descriptor may belong to another file
        return
    with contextlib.suppress(OSError):
        while text:
            text = text[os.write(2, text) :]
