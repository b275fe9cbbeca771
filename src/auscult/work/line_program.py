"""Programs that answer requests: a line of JSON in, a line of JSON out.

Models under test and judges may be such programs (``command:PROGRAM ARGUMENTS``). A request is an object with an id
that is never the same twice; the answer is an object with the same id, and ``"error": "why"`` where it has none. Its
standard output is for answers alone: any other line, such as a library's banner, fails the request at once, and so
does a line longer than an answer may be. It goes on from request to request, and ends when its standard input does.
Linux and macOS.
"""

from __future__ import annotations

import itertools
import json
import os
import select
import shlex
import subprocess
import threading
from collections.abc import Sequence
from contextlib import suppress
from typing import IO, Any, Final

from auscult.errors import InputError, UsageError
from auscult.work.worker import dying_with

_HINT: Final = "in Python: print(json.dumps(answer), flush=True); write everything else to the standard error output"
_EXPECTED: Final = "command:PROGRAM ARGUMENTS, such as command:'python model.py --size 480'"
_BLOCK: Final = 1 << 18
_TICK_S: Final = 0.1
_QUIET_TICKS: Final = 10  # after so long a line that has no end is looked at
_GRACE_S: Final = 1.0
_KEPT_BYTES: Final = 1000  # of the end of its standard error output
_MOST_SHOWN: Final = 200
_MOST_WORDS: Final = 300


class ProgramEnded(InputError):
    """The program ended before it had answered a request."""


class Conversation:
    """A program that was started.

    It belongs to this process's group, so whoever stops the group stops it; and it ends when the thread that started it
    ends, where the system can be asked for that. Threads send and listen, so that no full pipe holds up the other two.
    """

    def __init__(self, words: Sequence[str], *, answers: str) -> None:
        self._answers = answers  # what a line of an answer is, for messages
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
        self._stdin, self._stdout, self._stderr = map(
            _pipe, (self._process.stdin, self._process.stdout, self._process.stderr)
        )
        self._unread = bytearray()
        self._stderr_end = b""
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()
        self.answered: object = None  # the id of the last request that it answered

    def exchange(self, request: dict[str, Any], *, most_bytes: int) -> dict[str, Any]:
        """Send a request, and wait for its answer of at most so many bytes; ``ProgramEnded`` if it ended instead."""
        line = json.dumps(request).encode("ascii") + b"\n"
        threading.Thread(target=self._send, args=(memoryview(line),), daemon=True).start()
        reply = self._object(self._line(most_bytes))
        while self.answered is not None and reply.get("id") == self.answered:  # it wrote that one twice
            reply = self._object(self._line(most_bytes))
        if reply.get("id") != request["id"]:
            raise InputError(
                f"it answered with the id {shown(reply.get('id'))}",
                expected=f"the request's own id, {shown(request['id'])}: one line for each request, in order",
            )
        self.answered = request["id"]
        return reply

    def _send(self, line: memoryview) -> None:
        with suppress(OSError, ValueError):  # it reads no more, or was ended; what it still writes is worth reading
            while line:
                line = line[self._stdin.write(line) :]

    def _listen(self) -> None:
        with self._stderr:
            while block := self._stderr.read(_BLOCK):
                self._stderr_end = (self._stderr_end + block)[-_KEPT_BYTES:]

    def _line(self, most_bytes: int) -> bytes:
        """The next line of its output that is not empty."""
        line, searched = b"", 0
        while not line.strip():
            end = self._unread.find(b"\n", searched)
            if end >= 0:
                line, searched = bytes(self._unread[:end]), 0
                del self._unread[: end + 1]
                continue
            searched = len(self._unread)
            if searched > most_bytes:
                raise InputError(
                    f"it wrote more than {most_bytes:,} bytes without an answer", expected=self._answers, hint=_HINT
                )
            self._unread += self._next_block()
        return line

    def _next_block(self) -> bytes:
        """Some bytes of its output."""
        for tick in itertools.count():
            has_ended = self._process.poll() is not None  # asked first: what it wrote last is still read below
            if select.select([self._stdout], [], [], _TICK_S)[0]:
                if block := self._stdout.read(_BLOCK):
                    return block
                break
            if has_ended:  # a process of its own may hold the pipe open after it
                break
            if tick == _QUIET_TICKS:
                self._check_unended()
        raise self._ended()

    def _check_unended(self) -> None:
        """Refuse a line without an end that is no beginning of an answer, or all of one: nothing more would come."""
        line = self._unread.strip()
        if line.startswith(b"{"):
            try:
                json.loads(line)
            except (ValueError, RecursionError):
                return
        if line:
            raise InputError(
                f"it wrote a line without a line break: {shown(bytes(line))}", expected=self._answers, hint=_HINT
            )

    def _object(self, line: bytes) -> dict[str, Any]:
        """The JSON object that a line holds."""
        try:
            value = json.loads(line.decode("utf-8-sig"))
        except (ValueError, RecursionError):
            value = None
        if not isinstance(value, dict):
            raise InputError(
                f"it wrote a line that is no JSON object: {shown(line)}", expected=self._answers, hint=_HINT
            )
        return value

    def _ended(self) -> ProgramEnded:
        message = "it closed its standard output without an answer"
        with suppress(subprocess.TimeoutExpired):
            code = self._process.wait(_GRACE_S / 4)
            message = f"it ended without an answer ({f'signal {-code}' if code < 0 else f'exit status {code}'})"
        return ProgramEnded(message, expected=self._answers, hint="run it by hand with one request to see why")

    def end(self, *, at_once: bool = False) -> str:
        """End it, by closing its input first or at once; gives its last words on one line of printable ASCII."""
        self._stdin.close()
        try:
            self._process.wait(0.0 if at_once else _GRACE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._listener.join(_GRACE_S / 4)  # a process of its own may hold this pipe open, too
        self._stdout.close()
        lines = self._stderr_end.decode("utf-8", "replace").splitlines()
        return ascii(" | ".join(line.strip() for line in lines if line.strip()))[1:-1][-_MOST_WORDS:]


def _pipe(stream: IO[bytes] | None) -> IO[bytes]:
    assert stream is not None  # noqa: S101 - asked for with PIPE
    return stream


def shown(value: object) -> str:
    """A value shortened, as printable ASCII in quotation marks."""
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
    text = " ".join(text.split())
    return ascii(text if len(text) <= _MOST_SHOWN else text[: _MOST_SHOWN - 3] + "...")


def words_of(line: str) -> tuple[str, ...]:
    """The words of a command line, as a shell would cut it; there is no shell, so nothing in them is replaced."""
    try:
        words = tuple(shlex.split(line))
    except ValueError as error:
        raise UsageError(f"the command cannot be read: {error}", expected=_EXPECTED) from error
    if not words:
        raise UsageError("a command without a program", expected=_EXPECTED)
    return words


class LineProgram:
    """A program that runs as long as this object, and is started again after an answer that is none.

    ``name`` is what messages call it, ``answers`` what a line of an answer is.
    """

    def __init__(self, words: Sequence[str], *, name: str, answers: str) -> None:
        self._words = tuple(words)
        self._name = name
        self._answers = answers
        self._running: Conversation | None = Conversation(self._words, answers=answers)
        self._count = 0

    def key(self, name: str) -> str:
        """An id for a request about ``name``: never the same twice, so that a late answer is refused."""
        self._count += 1
        return f"{name}#{self._count}"

    def ask(self, request: dict[str, Any], *, most_bytes: int) -> dict[str, Any]:
        """The answer to a request, of at most so many bytes; ``InputError`` where there is none.

        After a line that is no answer the program is started again for the next request, unless it only said that it
        has none for this.
        """
        reply = self._exchange(request, most_bytes=most_bytes)
        if reply.get("error") is not None:
            raise InputError(f"the program says: {shown(reply['error'])}")
        return reply

    def close(self) -> None:
        """End the program; a second call does nothing."""
        if self._running is not None:
            self._running.end()
            self._running = None

    def _exchange(self, request: dict[str, Any], *, most_bytes: int) -> dict[str, Any]:
        running = self._running = self._running or Conversation(self._words, answers=self._answers)
        try:
            return running.exchange(request, most_bytes=most_bytes)
        except InputError as error:
            words = running.end(at_once=True)
            self._running = None
            # One that answers and ends has ended since the request before: this one is put to a new one.
            if isinstance(error, ProgramEnded) and running.answered is not None:
                return self._exchange(request, most_bytes=most_bytes)
            raise InputError(
                f"the program {self._name[-80:]!r}: {error.message}" + (f"; its last words: {words}" if words else ""),
                expected=error.expected,
                hint=error.hint,
            ) from error
