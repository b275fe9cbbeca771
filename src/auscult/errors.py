"""The exceptions auscult raises on purpose, and the record of one that stopped a case.

::

    AuscultError
    ├── UsageError        wrong command or arguments                        exit 2
    │   ├── NothingToDo   the input holds no case                           exit 2
    │   ├── UnknownName   a name the registry does not have                 exit 2
    │   └── RecordError   the output folder cannot be used                  exit 2
    │       ├── Locked    another process writes to it
    │       ├── Mismatch  it was made with other arguments or input
    │       └── NewerSchema   a newer auscult wrote it
    ├── InputError        a file or line of the user's input                costs that case
    │   └── TooLarge      over a limit on pixels, bytes or seconds
    └── OutputError       writing failed: disk full, folder not writable    exit 2

Every message says what was given; ``expected`` what would have been right; ``hint`` the next step.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


class AuscultError(Exception):
    """Base of every error raised on purpose.

    Args:
        message: What was given and why it cannot be used.
        expected: What would have been right.
        hint: The next step for the user.
        path: The file it is about.
        line: The line of that file, from 1.
    """

    def __init__(
        self,
        message: str,
        *,
        expected: str = "",
        hint: str = "",
        path: Path | str | None = None,
        line: int | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.expected = expected
        self.hint = hint
        self.path = None if path is None else str(path)
        self.line = line

    def __reduce__(self) -> tuple[object, ...]:
        """Keep the keyword fields when an error crosses a process boundary."""
        return (_rebuild, (type(self), self.message, self.expected, self.hint, self.path, self.line))

    def __str__(self) -> str:
        where = "" if self.path is None else self.path if self.line is None else f"{self.path}:{self.line}"
        parts = [f"{where}: {self.message}" if where else self.message]
        if self.expected:
            parts.append(f"expected: {self.expected}")
        if self.hint:
            parts.append(f"hint: {self.hint}")
        return "\n  ".join(parts)


def _rebuild(kind: type[AuscultError], *fields: str | int | None) -> AuscultError:
    message, expected, hint, path, line = fields
    return kind(
        str(message),
        expected=str(expected),
        hint=str(hint),
        path=None if path is None else str(path),
        line=line if isinstance(line, int) else None,
    )


class UsageError(AuscultError):
    """The command or its arguments cannot be carried out."""


class NothingToDo(UsageError):
    """The input holds no case."""


class UnknownName(UsageError):
    """A name that the registry does not have."""


class RecordError(UsageError):
    """The output folder cannot be used as it is."""


class Locked(RecordError):
    """Another process is writing to the output folder."""


class Mismatch(RecordError):
    """The output folder was made with other arguments or other input."""


class NewerSchema(RecordError):
    """The record was written by a newer version than this one."""


class InputError(AuscultError):
    """A file or line of the user's input cannot be used; it costs the cases that need it."""


class TooLarge(InputError):
    """A picture, file or sound is over a limit."""


class OutputError(AuscultError):
    """Writing a result failed."""


# Stages of what is wrong beside the cases and costs none of them: a row of a table of texts, a picture among the
# frames, a true mask, what a clip comes to, a probe of the judge.
REMARKS = frozenset({"texts", "frames", "truth", "clips", "probe"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorRecord:
    """What is kept of an error that cost a case, or of a remark: one line of ``errors.jsonl``.

    Attributes:
        stage: Where it happened: ``read``, ``judge``, ``stress``, ``score``, ``work``; or one of ``REMARKS``.
        error: What was given and why it cannot be used.
        expected: What would have been right; empty if unknown.
        hint: The next step; empty if unknown.
        path: The file it is about.
        line: The line of that file, from 1.
        id: The item it cost, where the record travels without its row.
    """

    stage: str
    error: str
    expected: str = ""
    hint: str = ""
    path: str | None = None
    line: int | None = None
    id: str | None = None

    @classmethod
    def of(cls, error: AuscultError, stage: str) -> ErrorRecord:
        """Keep what ``error`` says, and the stage it was raised in."""
        return cls(
            stage=stage,
            error=error.message,
            expected=error.expected,
            hint=error.hint,
            path=error.path,
            line=error.line,
        )
