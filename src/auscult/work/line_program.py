"""Programs that answer requests: a line of JSON in, a line of JSON out.

Models under test and judges may be such programs (``command:PROGRAM ARGUMENTS``). A request is an object with a unique
id; the answer is an object with the same id, and with ``"error": "why"`` if the request has failed. Standard output is
for answers alone: any other line, such as a library's banner, fails the request at once, and so does a line that is too
long. The program serves requests until its standard input ends. Linux and macOS.
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
from pathlib import Path
from typing import IO, Any, Final, Self

from auscult.errors import InputError, UsageError
from auscult.work.worker import dying_with

SCRIPTS: Final = frozenset({".py", ".sh", ".js", ".rb", ".pl", ".jl"})
"""Suffixes of a program's own files among the words of its command line."""
_HINT: Final = "in Python: print(json.dumps(answer), flush=True); write everything else to the standard error output"
_EXPECTED: Final = "command:PROGRAM ARGUMENTS, such as command:'python model.py --size 480'"
_BLOCK: Final = 1 << 18
_TICK_S: Final = 0.1
_QUIET_TICKS: Final = 10  # ticks without output before an unended line is checked
_GRACE_S: Final = 1.0
_KEPT_BYTES: Final = 1000  # of the end of standard error
_MOST_SHOWN: Final = 200
_MOST_WORDS: Final = 300


class ProgramEnded(InputError):
    """The program ended before it answered a request."""


class Conversation:
    """A running program.

    It belongs to this process's group and is stopped with it; on Linux it also ends with the thread that started it.
    Separate threads write requests and read standard error, so that a full pipe does not block the others.
    """

    def __init__(self, words: Sequence[str], *, answers: str) -> None:
        self._format = answers  # of an answer, for messages
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
        self.answered: object = None  # id of the last answered request

    def exchange(self, request: dict[str, Any], *, most_bytes: int) -> dict[str, Any]:
        """Send a request and wait for its answer of at most ``most_bytes``; ``ProgramEnded`` if the program ended."""
        line = json.dumps(request).encode("ascii") + b"\n"
        threading.Thread(target=self._send, args=(memoryview(line),), daemon=True).start()
        reply = self._object(self._line(most_bytes))
        while self.answered is not None and reply.get("id") == self.answered:  # a repeated answer
            reply = self._object(self._line(most_bytes))
        if reply.get("id") != request["id"]:
            raise InputError(
                f"it answered with the id {shown(reply.get('id'))}",
                expected=f"the request's own id, {shown(request['id'])}: one line for each request, in order",
            )
        self.answered = request["id"]
        return reply

    def _send(self, line: memoryview) -> None:
        with suppress(OSError, ValueError):  # it stopped reading; its output may still be useful
            while line:
                line = line[self._stdin.write(line) :]

    def _listen(self) -> None:
        with self._stderr:
            while block := self._stderr.read(_BLOCK):
                self._stderr_end = (self._stderr_end + block)[-_KEPT_BYTES:]

    def _line(self, most_bytes: int) -> bytes:
        """The next non-empty line of output."""
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
                    f"it wrote more than {most_bytes:,} bytes without an answer", expected=self._format, hint=_HINT
                )
            self._unread += self._next_block()
        return line

    def _next_block(self) -> bytes:
        for tick in itertools.count():
            has_ended = self._process.poll() is not None  # checked first: its last output is still read below
            if select.select([self._stdout], [], [], _TICK_S)[0]:
                if block := self._stdout.read(_BLOCK):
                    return block
                break
            if has_ended:  # a child may still hold the pipe open
                break
            if tick == _QUIET_TICKS:
                self._check_unended()
        raise self._end_error()

    def _check_unended(self) -> None:
        """Refuse an unended line that cannot begin an answer, or is a whole one without its line break."""
        line = self._unread.strip()
        if line.startswith(b"{"):
            try:
                json.loads(line)
            except (ValueError, RecursionError):
                return
        if line:
            raise InputError(
                f"it wrote a line without a line break: {shown(bytes(line))}", expected=self._format, hint=_HINT
            )

    def _object(self, line: bytes) -> dict[str, Any]:
        try:
            value = json.loads(line.decode("utf-8-sig"))
        except (ValueError, RecursionError):
            value = None
        if not isinstance(value, dict):
            raise InputError(
                f"it wrote a line that is no JSON object: {shown(line)}", expected=self._format, hint=_HINT
            )
        return value

    def _end_error(self) -> ProgramEnded:
        message = "it closed its standard output without an answer"
        with suppress(subprocess.TimeoutExpired):
            code = self._process.wait(_GRACE_S / 4)
            message = f"it ended without an answer ({f'signal {-code}' if code < 0 else f'exit status {code}'})"
        return ProgramEnded(message, expected=self._format, hint="run it by hand with one request to see why")

    def end(self, *, at_once: bool = False) -> str:
        """End the program, at once or by closing its input; gives its last error output on one line of plain ASCII."""
        self._stdin.close()
        try:
            self._process.wait(0.0 if at_once else _GRACE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._listener.join(_GRACE_S / 4)  # a child may hold this pipe open too
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
    """The words of a command line, split as by a shell; nothing in them is expanded."""
    try:
        words = tuple(shlex.split(line))
    except ValueError as error:
        raise UsageError(f"the command cannot be read: {error}", expected=_EXPECTED) from error
    if not words:
        raise UsageError("a command without a program", expected=_EXPECTED)
    return words


class LineProgram:
    """A program that runs as long as this object, and is restarted after an invalid answer.

    ``name`` is its name in messages, ``answers`` describes a valid answer.
    """

    def __init__(self, words: Sequence[str], *, name: str, answers: str) -> None:
        self._command = tuple(words)
        self._name = name
        self._format = answers
        self._conversation: Conversation | None = Conversation(self._command, answers=answers)
        self._count = 0

    @classmethod
    def of(cls, line: str, *, answers: str) -> Self:
        """Start the program of a command line; it has the name of its script, if one is given."""
        words = words_of(line)
        name = next((word for word in words[1:] if Path(word).suffix in SCRIPTS), words[0])
        return cls(words, name=name, answers=answers)

    def key(self, name: str) -> str:
        """A unique id for a request about ``name``, so that a late answer is refused."""
        self._count += 1
        return f"{name}#{self._count}"

    def ask(self, request: dict[str, Any], *, most_bytes: int) -> dict[str, Any]:
        """The answer to a request, of at most ``most_bytes``; ``InputError`` if it has failed.

        After an invalid answer the program is restarted for the next request; after one with ``error`` it is not.
        """
        reply = self._exchange(request, most_bytes=most_bytes)
        if reply.get("error") is not None:
            raise InputError(f"the program says: {shown(reply['error'])}")
        return reply

    def close(self) -> None:
        """End the program; a second call does nothing."""
        if self._conversation is not None:
            self._conversation.end()
            self._conversation = None

    def _exchange(self, request: dict[str, Any], *, most_bytes: int) -> dict[str, Any]:
        conversation = self._conversation = self._conversation or Conversation(self._command, answers=self._format)
        try:
            return conversation.exchange(request, most_bytes=most_bytes)
        except InputError as error:
            words = conversation.end(at_once=True)
            self._conversation = None
            # It ended after its last answer: this request goes to a new program.
            if isinstance(error, ProgramEnded) and conversation.answered is not None:
                return self._exchange(request, most_bytes=most_bytes)
            raise InputError(
                f"the program {self._name[-80:]!r}: {error.message}" + (f"; its last words: {words}" if words else ""),
                expected=error.expected,
                hint=error.hint,
            ) from error
