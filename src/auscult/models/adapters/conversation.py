"""Lines to and from a running program, none of them trusted: bounded, never waiting on a pipe that is full."""

from __future__ import annotations

import os
import selectors
import subprocess
from collections import deque
from collections.abc import Sequence
from typing import IO, Final

from auscult.errors import UsageError
from auscult.models.adapters.hearing import LINE_BYTES, ONE_LINE, Broken, Hearing, is_talk, printable
from auscult.work.orphans import dying_with

_BLOCK: Final = 1 << 18
_TICK_S: Final = 0.1
_GRACE_S: Final = 1.0
_LAST_LINES: Final = 5
_UNASKED_BLOCKS: Final = 64
_MOST_WORDS: Final = 300


class Conversation:
    """A program that was started.

    It belongs to this process's group, so whoever stops the group stops it; and it ends when the thread that started it
    ends, where the system can be asked for that.

    Args:
        words: The program and its arguments.

    Raises:
        UsageError: The system does not start it.
    """

    def __init__(self, words: Sequence[str]) -> None:
        try:
            self._process = subprocess.Popen(
                list(words),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                preexec_fn=dying_with(os.getpid()),  # noqa: PLW1509 - it imports nothing and waits for nothing
            )
        except (OSError, subprocess.SubprocessError) as error:
            raise UsageError(
                f"the program {words[0][:80]!r} cannot be started: {getattr(error, 'strerror', None) or error}",
                hint="is it meant for this machine, and does it begin with `#!` and its interpreter?",
            ) from error
        self._input = _pipe(self._process.stdin)
        self._output = _pipe(self._process.stdout)
        self._errors = _pipe(self._process.stderr)
        self._selector = selectors.DefaultSelector()
        for stream in (self._output, self._errors):
            self._selector.register(stream, selectors.EVENT_READ)
        self._unread = bytearray()
        self._looked = 0
        self._has_answered = False
        self._said: deque[bytes] = deque(maxlen=_LAST_LINES)
        self._saying = b""

    def is_ready(self) -> bool:
        """Whether it runs and has said nothing but talk since its last answer."""
        blocks = 0
        while self._take(0.0):
            blocks += 1
            if blocks > _UNASKED_BLOCKS:
                return False
        while (line := self._line()) is not None:
            if not is_talk(line):
                return False
        runs = self._process.poll() is None and self._output in self._selector.get_map()
        return runs and is_talk(bytes(self._unread))

    def exchange(self, line: bytes, *, key: str = "", silence_s: float, most_bytes: int) -> bytes:
        """Send a line, and wait for the line that is no talk.

        Args:
            line: Without its end.
            key: The question's id: talk that holds it may be the answer behind other text.
            silence_s: How long the program may be silent once it has talked.
            most_bytes: How long the line it writes may be, and all its talk before.

        Raises:
            Broken: It ended, wrote too much, or talked and then fell silent; for a second, where what it wrote looks
                like an answer.
        """
        hearing = Hearing(key=key, silence_s=silence_s, most_bytes=most_bytes)
        self._selector.register(self._input, selectors.EVENT_WRITE)
        try:
            return self._wait(memoryview(line + b"\n"), hearing)
        finally:
            if self._input in self._selector.get_map():
                self._selector.unregister(self._input)

    def _wait(self, pending: memoryview, hearing: Hearing) -> bytes:
        while True:
            before = len(self._unread)
            pending, open_ = self._step(pending)
            if len(self._unread) != before:
                hearing.heard()
            while (found := self._line()) is not None:
                if not is_talk(found):
                    self._has_answered = True
                    return found
                hearing.take(found)
                self._keep(found)
            hearing.check(self._unread)
            if not open_:
                raise self._ended()

    def _step(self, pending: memoryview) -> tuple[memoryview, bool]:
        """Write what can be written, read what can be read; False when the program's output has ended."""
        open_ = True
        for key, _ in self._selector.select(_TICK_S):
            if key.fileobj is self._input:
                pending = self._send(pending)
            elif not self._read(key.fileobj):  # type: ignore[arg-type]
                open_ = key.fileobj is not self._output
        if open_ and self._process.poll() is not None and not self._take(0.0):
            open_ = False  # a process of its own may hold the pipe open after it
        return pending, open_ and self._output in self._selector.get_map()

    def _send(self, pending: memoryview) -> memoryview:
        try:
            pending = pending[os.write(self._input.fileno(), pending) :]
        except BlockingIOError:
            return pending
        except OSError:  # it reads no more; what it still says is worth hearing
            pending = pending[len(pending) :]
        if not pending:
            self._selector.unregister(self._input)
        return pending

    def _take(self, wait_s: float) -> bool:
        """Read what is there; False when there was nothing."""
        found = False
        for key, _ in self._selector.select(wait_s):
            if key.fileobj is not self._input:
                found = self._read(key.fileobj) or found  # type: ignore[arg-type]
        return found

    def _read(self, stream: IO[bytes]) -> bool:
        try:
            block = os.read(stream.fileno(), _BLOCK)
        except BlockingIOError:
            return True
        except OSError:
            block = b""
        if not block:
            self._selector.unregister(stream)
            return False
        if stream is self._output:
            self._unread += block
        else:
            *lines, self._saying = (self._saying + block).split(b"\n")
            for line in lines:
                self._keep(line)
            self._saying = self._saying[:LINE_BYTES]
        return True

    def _line(self) -> bytes | None:
        """The next whole line of its output."""
        end = self._unread.find(b"\n", self._looked)
        if end < 0:
            self._looked = len(self._unread)
            return None
        line = bytes(self._unread[:end])
        del self._unread[: end + 1]
        self._looked = 0
        return line

    def _keep(self, line: bytes) -> None:
        if line.strip():
            self._said.append(line[:LINE_BYTES])

    def _ended(self) -> Broken:
        hint = "run it by hand with one question to see why"
        try:
            code = self._process.wait(_GRACE_S / 4)
        except subprocess.TimeoutExpired:
            return Broken("it closed its standard output without an answer", expected=ONE_LINE, hint=hint)
        how = f"signal {-code}" if code < 0 else f"exit status {code}"
        return Broken(
            f"it ended without an answer ({how})", expected=ONE_LINE, hint=hint, ended_well=self._has_answered
        )

    def last_words(self) -> str:
        """The end of what it wrote beside answers, on one line, printable ASCII; may be empty."""
        self._take(0.0)
        lines = [*self._said, self._saying, bytes(self._unread[:LINE_BYTES])]
        text = " | ".join(printable(line) for line in lines if line.strip())
        return text if len(text) <= _MOST_WORDS else "..." + text[-_MOST_WORDS:]

    def end(self, *, at_once: bool = False) -> None:
        """Close its input, which asks it to end, and end it where it does not, or at once."""
        self._selector.close()
        self._input.close()
        try:
            self._process.wait(0.0 if at_once else _GRACE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._output.close()
        self._errors.close()


def _pipe(stream: IO[bytes] | None) -> IO[bytes]:
    assert stream is not None  # noqa: S101 - asked for with PIPE
    os.set_blocking(stream.fileno(), False)
    return stream
