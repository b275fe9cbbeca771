"""Hashes of content: 16 bytes of BLAKE2b in hexadecimal, the same on every machine."""

from __future__ import annotations

import hashlib
import json
import os
import time
from functools import partial
from pathlib import Path

from auscult.errors import InputError
from auscult.media.paths import open_regular


def digest_bytes(data: bytes) -> str:
    """Hash bytes; 32 hexadecimal digits."""
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def digest_file(path: Path) -> str:
    """Hash a file's bytes, read part by part."""
    try:
        with open_regular(path) as file:
            return hashlib.file_digest(file, partial(hashlib.blake2b, digest_size=16)).hexdigest()
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise InputError(
            f"the file cannot be read: {reason}",
            expected="a readable file",
            hint="check the path and its permissions",
            path=path,
        ) from error


_SETTLED_NS = 3_000_000_000


def stamp_file(path: Path) -> str:
    """What a file that is written anew does not keep: size, times of content and of inode in ns, inode, device."""
    try:
        status = os.stat(path)  # noqa: PTH116 - half the time of Path's, for each file of a long INPUT
    except (OSError, ValueError):
        return ""
    return f"{status.st_size} {status.st_mtime_ns} {status.st_ctime_ns} {status.st_ino} {status.st_dev}"


def is_settled(path: Path) -> bool:
    """Whether a file is older than the ticks of any file system's clock: if it is written now, its stamp changes."""
    try:
        status = path.stat()
    except (OSError, ValueError):
        return False
    return max(status.st_mtime_ns, status.st_ctime_ns) < time.time_ns() - _SETTLED_NS


_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False)


def digest_json(value: object) -> str:
    """Hash a JSON value; the order of an object's keys does not matter."""
    try:
        text = _ENCODER.encode(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(f"a value cannot be written as JSON: {error}", expected="JSON values") from error
    return digest_bytes(text.encode())
