"""A program as a model: it reads questions as lines of JSON and writes answers as lines of JSON.

A question, one line on its standard input::

    {"id": "v1/f3#1", "frames": ["/tmp/.../00000.png", ...], "text": "the red car", "audio": "/tmp/.../sound.wav",
     "rate_hz": 16000, "first_mask": {"size": [H, W], "counts": "..."}}

``text``, ``audio``, ``rate_hz`` and ``first_mask`` are null where the reference is another. The answer, one line on its
standard output, with the question's id, which is never the same twice, and one COCO RLE for each frame::

    {"id": "v1/f3#1", "masks": [{"size": [H, W], "counts": "..."}, ...]}      or    {"id": "v1/f3#1", "error": "why"}

Frames are written without loss, the sound with 16 bits; the files are there until it has answered. Its standard output
is for answers alone: any other line, such as a library's banner, fails the case at once, and so does a line longer than
an answer may be, 4 bytes a pixel and 1 MB. It has the processors of one worker, goes on from case to case, and ends
when its standard input does. Linux and macOS.
"""

from __future__ import annotations

import itertools
import json
import math
import os
import select
import shlex
import subprocess
import tempfile
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, Final

import numpy as np

from auscult.errors import InputError, UsageError
from auscult.media.frames import stored_png
from auscult.media.masks import check_size
from auscult.media.paths import safe_name, write_bytes
from auscult.media.rle import decode, encode, rle_size
from auscult.media.wav import encode_wav
from auscult.models.base import Answer, Masks, Request
from auscult.models.spec import SCRIPTS
from auscult.work.worker import dying_with

_ONE_LINE: Final = 'for each question one line: {"id": ..., "masks": [...]} or {"id": ..., "error": "why"}'
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
    """The program ended before it had answered a question."""


class Conversation:
    """A program that was started.

    It belongs to this process's group, so whoever stops the group stops it; and it ends when the thread that started it
    ends, where the system can be asked for that. Threads send and listen, so that no full pipe holds up the other two.
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
        self._stdin, self._stdout, self._stderr = map(
            _pipe, (self._process.stdin, self._process.stdout, self._process.stderr)
        )
        self._unread = bytearray()
        self._stderr_end = b""
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()
        self.answered: object = None  # the id of the last question that it answered

    def exchange(self, question: dict[str, Any], *, most_bytes: int) -> dict[str, Any]:
        """Send a question, and wait for its answer of at most so many bytes; ``ProgramEnded`` if it ended instead."""
        line = json.dumps(question).encode("ascii") + b"\n"
        threading.Thread(target=self._send, args=(memoryview(line),), daemon=True).start()
        reply = _object(self._line(most_bytes))
        while self.answered is not None and reply.get("id") == self.answered:  # it wrote that one twice
            reply = _object(self._line(most_bytes))
        if reply.get("id") != question["id"]:
            raise InputError(
                f"it answered with the id {_shown(reply.get('id'))}",
                expected=f"the question's own id, {_shown(question['id'])}: one line for each question, in order",
            )
        self.answered = question["id"]
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
                    f"it wrote more than {most_bytes:,} bytes without an answer", expected=_ONE_LINE, hint=_HINT
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
            shown = _shown(bytes(line))
            raise InputError(f"it wrote a line without a line break: {shown}", expected=_ONE_LINE, hint=_HINT)

    def _ended(self) -> ProgramEnded:
        how = "it closed its standard output without an answer"
        with suppress(subprocess.TimeoutExpired):
            code = self._process.wait(_GRACE_S / 4)
            how = f"it ended without an answer ({f'signal {-code}' if code < 0 else f'exit status {code}'})"
        return ProgramEnded(how, expected=_ONE_LINE, hint="run it by hand with one question to see why")

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


def _object(line: bytes) -> dict[str, Any]:
    """The JSON object that a line holds."""
    try:
        value = json.loads(line.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise InputError(f"it wrote a line that is no JSON object: {_shown(line)}", expected=_ONE_LINE, hint=_HINT)
    return value


def _shown(value: object) -> str:
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


class Program:
    """Asks a program, which runs as long as this object."""

    def __init__(self, line: str) -> None:
        self._words = words_of(line)
        self._name = next((word for word in self._words[1:] if Path(word).suffix in SCRIPTS), self._words[0])
        self._running: Conversation | None = Conversation(self._words)
        self._count = 0

    def __call__(self, request: Request) -> Answer:
        """Write the files, ask, and read the answer.

        After an answer that is none the program is started again for the next question, unless it only said that it has
        none for this.
        """
        self._count += 1
        key = f"{request.id}#{self._count}"  # so that a late answer to the same case is refused
        with tempfile.TemporaryDirectory(prefix="auscult-ask-", ignore_cleanup_errors=True) as folder:
            question = _question(request, key, Path(folder))
            begun = time.perf_counter()
            reply = self._exchange(question, most_bytes=4 * math.prod(request.shape) + (1 << 20))
            seconds = time.perf_counter() - begun
        return Answer(masks=_masks(reply, request.shape), seconds=seconds)

    def close(self) -> None:
        """End the program; a second call does nothing."""
        if self._running is not None:
            self._running.end()
            self._running = None

    def _exchange(self, question: dict[str, Any], *, most_bytes: int) -> dict[str, Any]:
        running = self._running = self._running or Conversation(self._words)
        try:
            return running.exchange(question, most_bytes=most_bytes)
        except InputError as error:
            words = running.end(at_once=True)
            self._running = None
            # One that answers and ends has ended since the question before: this one is put to a new one.
            if isinstance(error, ProgramEnded) and running.answered is not None:
                return self._exchange(question, most_bytes=most_bytes)
            raise InputError(
                f"the program {self._name[-80:]!r}: {error.message}" + (f"; its last words: {words}" if words else ""),
                expected=error.expected,
                hint=error.hint,
            ) from error


def _question(request: Request, key: str, folder: Path) -> dict[str, Any]:
    """Write what the question names, and make its line."""
    paths = [folder / f"{number:05d}-{safe_name(name)[:80]}.png" for number, name in enumerate(request.names)]
    for path, frame in zip(paths, request.frames(), strict=True):
        write_bytes(path, stored_png(frame))
    sound: dict[str, Any] = {"audio": None, "rate_hz": None}
    if request.sound is not None and request.rate_hz is not None:
        sound = {"audio": str(folder / "sound.wav"), "rate_hz": request.rate_hz}
        write_bytes(folder / "sound.wav", encode_wav(request.sound, request.rate_hz))
    return {
        "id": key,
        "frames": [str(path) for path in paths],
        "text": request.query.text,
        **sound,
        "first_mask": None if request.first_mask is None else encode(request.first_mask),
    }


def _masks(reply: dict[str, Any], shape: tuple[int, int, int]) -> Masks:
    """The masks of an answer."""
    if reply.get("error") is not None:
        raise InputError(f"the program says: {_shown(reply['error'])}")
    masks = reply.get("masks")
    if not isinstance(masks, list) or len(masks) != shape[0]:
        given = f"{len(masks)} masks" if isinstance(masks, list) else f"masks of type {type(masks).__name__}"
        raise InputError(f"the program gave {given}", expected=f"a list of {shape[0]}, one COCO RLE for each frame")
    for mask in masks:
        check_size(rle_size(mask), shape[1:])
    return np.stack([decode(mask) for mask in masks])
