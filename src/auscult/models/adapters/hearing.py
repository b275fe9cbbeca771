"""What a program under test says, line by line: an answer, talk, or an answer that is spoilt."""

from __future__ import annotations

import json
import time
from typing import Final

BLANK: Final = b"\xef\xbb\xbf \t\r\n\v\f"
"""What may stand before an answer: a byte order mark, and spaces."""
LINE_BYTES: Final = 300
_MOST_SHOWN: Final = 120
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
    return text if len(text) <= _MOST_SHOWN else text[:_MOST_SHOWN] + "..."
