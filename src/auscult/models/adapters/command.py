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
import shlex
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any, Final

import numpy as np

from auscult.errors import InputError, UsageError
from auscult.media.paths import safe_name, write_bytes
from auscult.media.rle import decode, encode, rle_size
from auscult.media.wav import encode_wav
from auscult.models.adapters.conversation import Conversation
from auscult.models.adapters.hearing import BLANK, Broken
from auscult.models.adapters.stored_png import stored_png
from auscult.models.base import Answer, Ask, Masks
from auscult.models.code import SCRIPTS

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

    def __call__(self, ask: Ask) -> Answer:
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


def _question(ask: Ask, key: str, folder: Path) -> dict[str, Any]:
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
    """The masks of an answer.

    Raises:
        InputError: It says an error, or its masks do not fit the frames.
    """
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
