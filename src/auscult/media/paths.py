"""Names that come from a user's file, and the bytes behind them.

A name is resolved inside a folder and may not leave it, neither by ``..`` nor through a symbolic link. Bytes are read
once, bounded, and written whole or not at all.
"""

from __future__ import annotations

import errno
import hashlib
import io
import os
import re
import stat
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from auscult.errors import InputError, OutputError, TooLarge
from auscult.media.limits import DEFAULT_LIMITS, Limits

_MAX_COMPONENT_BYTES = 255
_MAX_NAME_BYTES = 4096 - 256
_MAX_SAFE_CHARACTERS = 100
_DRIVE = re.compile(r"^(?:[A-Za-z]:[\\/]|\\\\)")
_UNSAFE = re.compile(r"[^A-Za-z0-9._=+-]")
_TAGGED = re.compile(r"-[0-9a-f]{12}$")

_REASONS: dict[int, tuple[str, str]] = {
    errno.ENOENT: ("the file does not exist", "check the spelling and the folder that names are relative to"),
    errno.ENOTDIR: ("a part of the path is a file, not a folder", "check the path"),
    errno.EACCES: ("the file may not be read", "give yourself the right to read it: chmod u+r"),
    errno.EPERM: ("the file may not be read", "give yourself the right to read it: chmod u+r"),
    errno.ELOOP: ("symbolic links go round in a circle", "replace the link by the file"),
    errno.ENAMETOOLONG: ("the name is too long for the file system", "shorten it"),
}


def inside(root: Path, name: str) -> Path:
    """``root / name`` for a name of a user's file, which need not exist, but must lie in ``root`` and not be it."""
    _check_name(name)
    if name.startswith("/") or _DRIVE.match(name):
        raise InputError(f"{_shown(name)} is an absolute path", expected="a path relative to the folder", hint=_HINT)
    path = Path(root) / name
    if Path(os.path.normpath(name)).parts[:1] == (os.pardir,):
        raise InputError(f"{_shown(name)} leaves the folder through `..`", expected=f"a path inside {root}", hint=_HINT)
    if _is_plain(str(root), name):
        return path
    home, real = os.path.realpath(root), os.path.realpath(path)
    if real == home:
        raise InputError(f"{_shown(name)} is the folder itself", expected="the path of a file")
    if os.path.commonpath((home, real)) != home:
        raise InputError(
            f"{_shown(name)} leaves the folder through a symbolic link",
            expected=f"a file that lies inside {root}",
            hint=_HINT,
            path=path,
        )
    return path


def _is_plain(folder: str, name: str) -> bool:
    """Whether no part of a name is a link or leads up, so that what it names lies where it seems to.

    Asked of every mask of an INPUT: to follow the links of the whole path takes five times as long.
    """
    for part in name.split("/"):
        folder = f"{folder}/{part}"
        if part in {"", os.curdir, os.pardir} or os.path.islink(folder):  # noqa: PTH114 - a Path takes longer
            return False
    return True


_HINT = "put the file inside the folder, or name a folder around both"


def _check_name(name: str) -> None:
    if not isinstance(name, str):
        raise InputError(f"a path is of type {type(name).__name__}", expected="text")
    if not name.strip():
        raise InputError("a path is empty", expected="a path relative to the folder")
    if "\0" in name:
        raise InputError(f"{_shown(name)} holds a NUL character", expected="a path without NUL")
    try:
        encoded = os.fsencode(name)
    except UnicodeEncodeError as error:
        raise InputError(f"{_shown(name)} holds half a surrogate pair", expected="valid Unicode text") from error
    longest = max(len(part) for part in encoded.split(b"/"))
    if longest > _MAX_COMPONENT_BYTES or len(encoded) > _MAX_NAME_BYTES:
        raise InputError(
            f"the path {_shown(name)} is too long: {len(encoded)} bytes, its longest part {longest}",
            expected=f"at most {_MAX_NAME_BYTES} bytes, {_MAX_COMPONENT_BYTES} in a part",
        )


def _shown(name: str) -> str:
    text = ascii(name)
    return text if len(text) <= 80 else f"{text[:60]}...{text[-12:]}"


def safe_name(text: str) -> str:
    """A file name of an id: at most 113 ASCII characters, no separator, not hidden, another one for another id.

    A text that is a plain name already stays as it is; any other is cleaned, cut, and given a 48-bit hash of the whole
    text.

    Example:
        >>> safe_name("frame_0001")
        'frame_0001'
        >>> safe_name("v1/f3#2")[:8]
        'v1_f3_2-'
    """
    clean = _UNSAFE.sub("_", text)[:_MAX_SAFE_CHARACTERS]
    if clean and clean == text and clean[0] not in ".-" and not _TAGGED.search(text):
        return text
    tag = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()
    return f"{clean.lstrip('.-') or 'id'}-{tag}"


def read_bytes(path: Path, *, limits: Limits = DEFAULT_LIMITS) -> bytes:
    """Read a whole file of at most ``limits.max_bytes``, which ``check_file`` allows."""
    check_file(path, limits=limits)
    try:
        with open_regular(path) as file:
            data = file.read(limits.max_bytes + 1)
    except OSError as error:
        raise unreadable(path, error) from error
    if not data:
        raise _empty(path)
    if len(data) > limits.max_bytes:
        raise _over(path, len(data), limits)
    return data


NOT_REGULAR = "it is a device, pipe or socket"
_NONBLOCK = getattr(os, "O_NONBLOCK", 0)


def open_regular(path: Path) -> io.BufferedReader:
    """Open a regular file for reading, without ever waiting; OSError where it is a folder, device, pipe or socket."""
    return open(path, "rb", opener=regular_descriptor)


def regular_descriptor(path: str | os.PathLike[str], flags: int, mode: int = 0o644) -> int:
    """``os.open`` that never waits, as for the other end of a pipe; OSError where it is a device, pipe or socket."""
    try:
        descriptor = os.open(path, flags | _NONBLOCK, mode)
    except OSError as error:
        if error.errno == errno.ENXIO:  # a socket, or a pipe that nobody reads
            raise OSError(errno.EINVAL, NOT_REGULAR, str(path)) from error
        raise
    kind = os.fstat(descriptor).st_mode
    if not (stat.S_ISREG(kind) or stat.S_ISDIR(kind)):
        os.close(descriptor)
        raise OSError(errno.EINVAL, NOT_REGULAR, str(path))
    return descriptor


def check_file(path: Path, *, limits: Limits = DEFAULT_LIMITS) -> None:
    """Refuse a file that is missing, not regular, empty or over ``limits.max_bytes``, without opening it."""
    try:
        status = Path(path).stat()
    except OSError as error:
        raise unreadable(path, error) from error
    except ValueError as error:  # a NUL inside the path
        raise InputError(
            f"{_shown(str(path))} is no path: {error}", expected="a path without NUL", path=str(path)
        ) from error
    if stat.S_ISDIR(status.st_mode):
        raise InputError("it is a folder", expected="a file", hint="name a file in it", path=path)
    if not stat.S_ISREG(status.st_mode):
        raise InputError(NOT_REGULAR, expected="a regular file", hint="copy what it gives to a file", path=path)
    if status.st_size == 0:
        raise _empty(path)
    if status.st_size > limits.max_bytes:
        raise _over(path, status.st_size, limits)


def unreadable(path: Path, error: OSError) -> InputError:
    """Say why the system does not give a file."""
    reason, hint = _REASONS.get(error.errno or 0, (f"the file cannot be read: {error.strerror or error}", ""))
    return InputError(reason, expected="a file that can be read", hint=hint, path=path)


def _empty(path: Path) -> InputError:
    return InputError(
        "the file is empty (0 bytes)", expected="a file with content", hint="write or copy it again", path=path
    )


def _over(path: Path, size: int, limits: Limits) -> TooLarge:
    return TooLarge(f"the file has {size:,} bytes or more", expected=f"at most {limits.max_bytes:,} bytes", path=path)


def write_bytes(path: Path, data: bytes | Iterable[bytes]) -> None:
    """Write a file whole or not at all: a temporary file beside it, then a rename; missing folders are made.

    Of a long file the bytes may be given in parts.
    """
    path = Path(path)
    tag = hashlib.blake2b(os.fsencode(path.name), digest_size=8).hexdigest()
    draft = path.parent / f".{os.getpid():x}-{tag}.tmp"
    try:
        try:
            file = draft.open("wb")
        except FileNotFoundError:
            path.parent.mkdir(parents=True, exist_ok=True)
            file = draft.open("wb")
        with file:
            file.writelines([data] if isinstance(data, bytes) else data)
        draft.replace(path)
    except OSError as error:
        raise OutputError(
            f"the file cannot be written: {error.strerror or error}",
            hint="check the free space of the disk and the rights of the folder",
            path=path,
        ) from error
    finally:
        with suppress(OSError):  # the folder itself is out of reach; the first error says why
            draft.unlink(missing_ok=True)
