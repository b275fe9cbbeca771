"""A program as a model: it reads questions as lines of JSON and writes answers as lines of JSON.

A question, one line on its standard input::

    {"id": "v1/f3#1", "frames": ["/tmp/.../00000.png", ...], "text": "the red car", "audio": "/tmp/.../sound.wav",
     "rate_hz": 16000, "first_mask": {"size": [H, W], "counts": "..."}}

``text``, ``audio``, ``rate_hz`` and ``first_mask`` are null where the reference is another. The answer, one line on its
standard output, with the question's id, which is never the same twice, and one COCO RLE for each frame::

    {"id": "v1/f3#1", "masks": [{"size": [H, W], "counts": "..."}, ...]}      or    {"id": "v1/f3#1", "error": "why"}

Frames are written without loss, the sound with 16 bits; the files are there until it has answered. Lines of its output
that do not begin with ``{`` are talk, such as a library's banner, and are skipped: as many bytes of them as an answer
may have, 4 a pixel and 1 MB; and after talk it may be silent for two minutes, or for .8 of the time that a case may
take where that is less. It has the processors of one worker, goes on from case to case, and ends when its standard
input does. Linux and macOS.
"""

from __future__ import annotations

import json
import math
import os
import selectors
import shlex
import shutil
import subprocess
import tempfile
import time
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any, Final

import numpy as np

from auscult.errors import InputError, UsageError
from auscult.media.paths import safe_name, write_bytes
from auscult.media.rle import decode, encode, rle_size
from auscult.media.wav import encode_wav
from auscult.models.adapters.folder import stored_png
from auscult.models.base import Answer, Masks, Request
from auscult.models.spec import SCRIPTS
from auscult.work.worker import dying_with

BLANK: Final = b"\xef\xbb\xbf \t\r\n\v\f"
"""What may stand before an answer: a byte order mark, and spaces."""
LINE_BYTES: Final = 300
_MOST_QUOTED: Final = 120
_SUSPECT_S: Final = 1.0
ONE_LINE: Final = 'for each question one line: {"id": ..., "masks": [...]} or {"id": ..., "error": "why"}'
_TALK: Final = "write talk to the standard error output"
_ANSWER: Final = frozenset({"counts", "masks", "error"})
_PRINTABLE: Final = dict.fromkeys((*range(32), 127), " ")


class Broken(Exception):
    """The program and we are no longer in step: it has to be started again.

    Args:
        message: What it did.
        expected: What would have been right.
        hint: The next step for the user.
        ended_well: It ended after it had answered an earlier question, whatever its status: it may answer one a start.
    """

    def __init__(self, message: str, *, expected: str = "", hint: str = "", ended_well: bool = False) -> None:
        super().__init__(message)
        self.ended_well = ended_well
        self.expected = expected
        self.hint = hint


class Hearing:
    """What was heard since a question was put, and when that is enough.

    Args:
        key: The question's id.
        silence_s: How long the program may be silent once it has talked.
        most_bytes: How long the line it writes may be, and all its talk before.
    """

    def __init__(self, *, key: str, silence_s: float, most_bytes: int) -> None:
        self._key = key
        self._silence_s = silence_s
        self._most_bytes = most_bytes
        self._talked = 0
        self._heard_at = time.monotonic()
        self._suspect = b""
        self._has_looked = False

    def heard(self) -> None:
        """Note that it wrote something."""
        self._heard_at, self._has_looked = time.monotonic(), False

    def take(self, line: bytes) -> None:
        """Take a line of talk."""
        self._talked += len(line) + 1
        if _looks_like_answer(line, self._key):
            self._suspect = line

    def check(self, unread: bytearray) -> None:
        """Look at what there is, with the line that has no end yet.

        Raises:
            Broken: Nothing good can follow.
        """
        if max(self._talked, len(unread)) > self._most_bytes:
            raise Broken(
                f"it wrote more than {self._most_bytes:,} bytes without an answer", expected=ONE_LINE, hint=_TALK
            )
        silent_s = time.monotonic() - self._heard_at
        if silent_s > min(_SUSPECT_S, self._silence_s):
            self._check_answer(unread)
        if (self._talked or unread) and silent_s > self._silence_s:
            raise Broken(
                f"it wrote what is no answer, and then nothing for {self._silence_s:g} s",
                expected=ONE_LINE,
                hint=f"end the answer with a line break and flush it; {_TALK}",
            )

    def _check_answer(self, unread: bytearray) -> None:
        if self._suspect:
            raise Broken(
                f"it wrote what looks like an answer and does not begin with {{: {_shortened(self._suspect)}",
                expected=ONE_LINE,
                hint=f"let the answer's line begin with its {{; {_TALK}",
            )
        if not self._has_looked:  # at this much
            self._has_looked = True
            if not is_talk(bytes(unread[:LINE_BYTES])) and _parsed(bytes(unread)) is not None:
                raise Broken(
                    f"it wrote an answer without a line break: {_shortened(bytes(unread[:LINE_BYTES]))}",
                    expected=ONE_LINE,
                    hint="in Python: print(json.dumps(answer), flush=True)",
                )


def is_talk(line: bytes) -> bool:
    """Whether a line does not begin as an answer does."""
    return not line.lstrip(BLANK).startswith(b"{")


def _looks_like_answer(line: bytes, key: str) -> bool:
    """Whether a line of talk holds the question's id with masks or an error, or is a list of answers or masks."""
    names = (json.dumps(key).encode(), json.dumps(key, ensure_ascii=False).encode("utf-8", "replace"))
    if key and any(name in line for name in names) and (b'"masks"' in line or b'"error"' in line):
        return True
    if not line.lstrip(BLANK).startswith(b"["):
        return False
    value = _parsed(line)
    return isinstance(value, list) and any(isinstance(one, dict) and _ANSWER & one.keys() for one in value)


def _parsed(line: bytes) -> object:
    """What a line of JSON holds; None where it is none."""
    try:
        return json.loads(line.lstrip(BLANK))
    except (ValueError, RecursionError):
        return None


def printable(line: bytes) -> str:
    """A line as printable ASCII."""
    text = line.decode("utf-8", "replace").strip()
    return text.encode("ascii", "backslashreplace").decode("ascii").translate(_PRINTABLE)


def _shortened(line: bytes) -> str:
    text = printable(line[:LINE_BYTES])
    return text if len(text) <= _MOST_QUOTED else text[:_MOST_QUOTED] + "..."


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


SILENCE_S: Final = 120.0
_OF_TIMEOUT: Final = 0.8  # so that the program's last words are told before its worker is stopped
_MOST_SHOWN: Final = 200


def words_of(line: str) -> tuple[str, ...]:
    """The words of a command line, as a shell would cut it; there is no shell, so nothing in them is replaced.

    Raises:
        UsageError: There is none, or a quotation mark is not closed.
    """
    try:
        words = tuple(shlex.split(line))
    except ValueError as error:
        raise UsageError(f"the command cannot be read: {error}", expected=_EXPECTED) from error
    if not words:
        raise UsageError("a command without a program", expected=_EXPECTED)
    return words


_EXPECTED: Final = "command:PROGRAM ARGUMENTS, such as command:'python model.py --size 480'"


def program_of(words: tuple[str, ...]) -> str:
    """Where the program of a command lies.

    Raises:
        UsageError: There is none of that name, or it may not be run.
    """
    found = shutil.which(words[0])
    if found is None:
        raise UsageError(
            f"there is no program {words[0][:80]!r}",
            expected=_EXPECTED,
            hint="give its whole path, and the right to run it: chmod u+x",
        )
    return found


def silence_of(timeout_s: float | None) -> float:
    """How long a program may be silent after talk where a case may take so long: less, and two minutes at most."""
    return SILENCE_S if timeout_s is None else min(SILENCE_S, _OF_TIMEOUT * timeout_s)


class Program:
    """Asks a program, which runs as long as this object.

    Args:
        line: Its command line.
        silence_s: How long it may be silent after it wrote something that is no answer. A silence without that is the
            business of whoever limits the time of a case.

    Raises:
        UsageError: It cannot be started.
    """

    def __init__(self, line: str, *, silence_s: float = SILENCE_S) -> None:
        self._words = words_of(line)
        program_of(self._words)
        self._name = next((word for word in self._words[1:] if Path(word).suffix in SCRIPTS), self._words[0])
        self._silence_s = silence_s
        self._talk: Conversation | None = Conversation(self._words)
        self._count = 0

    def __call__(self, ask: Request) -> Answer:
        """Write the files, ask, and read the answer.

        Raises:
            InputError: The program ended, wrote no answer, or one that does not fit; it is started again for the next
                question unless it only said that it has none for this.
        """
        self._count += 1
        key = f"{ask.id}#{self._count}"  # a late answer to an earlier question of the same case is not taken for this
        with tempfile.TemporaryDirectory(prefix="auscult-ask-", ignore_cleanup_errors=True) as folder:
            question = _question(ask, key, Path(folder))
            begun = time.perf_counter()
            reply = self._exchange(json.dumps(question).encode("ascii"), key, most_bytes=_most_bytes(ask.shape))
            seconds = time.perf_counter() - begun
        return Answer(masks=_masks(reply, ask.shape), seconds=seconds)

    def close(self) -> None:
        """End the program; a second call does nothing."""
        if self._talk is not None:
            self._talk.end()
            self._talk = None

    def _exchange(self, line: bytes, key: str, *, most_bytes: int, again: bool = True) -> dict[str, Any]:
        talk = self._ready()
        try:
            return _reply(talk.exchange(line, key=key, silence_s=self._silence_s, most_bytes=most_bytes), key)
        except Broken as error:
            words = talk.last_words()
            talk.end(at_once=True)
            self._talk = None
            # It ended after the question before, or answered that one twice: this one is put to a new one, once.
            if error.ended_well and again:
                return self._exchange(line, key, most_bytes=most_bytes, again=False)
            raise InputError(
                f"the program {self._name[-80:]!r}: {error}" + (f"; its last words: {words}" if words else ""),
                expected=error.expected,
                hint=error.hint,
            ) from error

    def _ready(self) -> Conversation:
        """The running program; a new one where it ended, or said something that nobody had asked for."""
        if self._talk is not None and not self._talk.is_ready():
            self.close()
        if self._talk is None:
            self._talk = Conversation(self._words)
        return self._talk


def _question(ask: Request, key: str, folder: Path) -> dict[str, Any]:
    """Write what the question names, and make its line."""
    paths = [folder / f"{number:05d}-{safe_name(name)[:80]}.png" for number, name in enumerate(ask.names)]
    for path, frame in zip(paths, ask.frames(), strict=True):
        write_bytes(path, stored_png(frame))
    audio = None
    if ask.sound is not None and ask.rate_hz is not None:
        audio = folder / "sound.wav"
        write_bytes(audio, encode_wav(ask.sound, ask.rate_hz))
    return {
        "id": key,
        "frames": [str(path) for path in paths],
        "text": ask.query.text,
        "audio": None if audio is None else str(audio),
        "rate_hz": None if audio is None else ask.rate_hz,
        "first_mask": None if ask.first_mask is None else encode(ask.first_mask),
    }


def _most_bytes(shape: tuple[int, int, int]) -> int:
    """What an answer can need: a mask of single pixels, written as a list, takes less than 4 bytes a pixel."""
    return 4 * math.prod(shape) + (1 << 20)


def _reply(line: bytes, key: str) -> dict[str, Any]:
    try:
        value = json.loads(line.lstrip(BLANK).decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise Broken(
            f"it wrote a line that is no JSON: {_shown(line[:_MOST_SHOWN].decode('utf-8', 'replace'))}",
            expected='one line of JSON: {"id": ..., "masks": [...]}',
            hint="in Python: print(json.dumps(answer), flush=True)",
        ) from error
    if not isinstance(value, dict):
        raise Broken("it wrote JSON that is no object", expected='{"id": ..., "masks": [...]}')
    if value.get("id") != key:
        raise Broken(
            f"it answered with the id {_shown(value.get('id'))}",
            expected=f"the question's own id, {_shown(key)}: one line for each question, in order",
            ended_well=_is_earlier(value.get("id"), key),
        )
    return value


def _is_earlier(told: object, key: str) -> bool:
    """Whether an id is that of a question before this one."""
    number = str(told).rpartition("#")[2]
    own = key.rpartition("#")[2]
    return len(number) <= len(own) and number.isascii() and number.isdigit() and int(number) < int(own)


def _masks(reply: dict[str, Any], shape: tuple[int, int, int]) -> Masks:
    """The masks of an answer."""
    if reply.get("error") is not None:
        raise InputError(f"the program says: {_shown(reply['error'])}")
    masks = reply.get("masks")
    if not isinstance(masks, list) or len(masks) != shape[0]:
        given = f"{len(masks)} masks" if isinstance(masks, list) else f"masks of type {type(masks).__name__}"
        raise InputError(f"the program gave {given}", expected=f"a list of {shape[0]}, one COCO RLE for each frame")
    return np.stack([_mask(mask, shape[1:]) for mask in masks])


def _mask(given: Any, size: tuple[int, int]) -> Any:
    found = rle_size(given)
    if found != size:
        raise InputError(
            f"the program gave a mask of {found[0]} x {found[1]} (height x width)",
            expected=f"{size[0]} x {size[1]}, the size of its frame",
            hint="masks are never resized here; resize them to the frames in the program",
        )
    return decode(given)


def _shown(value: object) -> str:
    text = " ".join((value if isinstance(value, str) else repr(value)).split())
    return ascii(text if len(text) <= _MOST_SHOWN else text[: _MOST_SHOWN - 3] + "...")
