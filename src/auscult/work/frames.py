"""Messages between this process and its own workers: a length, then a pickle.

Only the two ends of a private pipe between a process and the child it started write here; nothing from a file or a
user is ever read this way.
"""

from __future__ import annotations

import pickle
import struct
from typing import Any, BinaryIO, Final, Protocol

_LENGTH = struct.Struct("<Q")
NEXT: Final = _LENGTH.pack(0)
"""An empty message, which announces a setup message to a worker."""


class Readable(Protocol):
    """A source of messages."""

    def read(self, size: int, /) -> bytes:
        """Read up to so many bytes; none at the end."""
        ...


def pack(message: object) -> bytes:
    """Pack an object as a message; raises what pickling raises."""
    data = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
    return _LENGTH.pack(len(data)) + data


def unpack(data: bytes) -> Any:
    """Unpack the body of a message; raises what unpickling raises."""
    return pickle.loads(data)  # noqa: S301 - from our own child or parent


def read(pipe: Readable) -> bytes | None:
    """Read the body of one message; None when the other end is closed."""
    head = _exactly(pipe, _LENGTH.size)
    return None if head is None else _exactly(pipe, _LENGTH.unpack(head)[0])


def write(pipe: BinaryIO, message: bytes) -> None:
    """Write one whole packed message; OSError if the other end is closed."""
    view = memoryview(message)
    while view:
        view = view[pipe.write(view) :]
    pipe.flush()


def _exactly(pipe: Readable, size: int) -> bytes | None:
    parts = bytearray()
    while len(parts) < size:
        part = pipe.read(min(size - len(parts), 1 << 20))
        if not part:
            return None
        parts += part
    return bytes(parts)
