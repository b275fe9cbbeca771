"""One process at a time on an output folder.

The lock is the kernel's, on the file ``.lock``: it ends with the process, however that ends, so a leftover file never
blocks anyone.
"""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path

from auscult.errors import Locked, OutputError

NAME = ".lock"

_TAKEN = (errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES, errno.EDEADLK)

if sys.platform == "win32":
    import msvcrt

    def _take(descriptor: int) -> None:
        os.lseek(descriptor, 1 << 20, os.SEEK_SET)  # far behind the text, which others must be able to read
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        os.lseek(descriptor, 0, os.SEEK_SET)

    def _drop(descriptor: int) -> None:
        os.lseek(descriptor, 1 << 20, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)
else:
    import fcntl

    def _take(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def _drop(descriptor: int) -> None:
        # Closing alone is not enough: a child that is just being started holds a copy until its program begins.
        fcntl.flock(descriptor, fcntl.LOCK_UN)


class FolderLock:
    """Holds a folder from construction to ``release``.

    Args:
        folder: An existing folder.

    Raises:
        Locked: Another process holds it.
        OutputError: The lock file cannot be made, or the file system has no locks.
    """

    def __init__(self, folder: Path) -> None:
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
        try:
            self._descriptor = os.open(folder / NAME, flags, 0o644)
        except OSError as error:
            raise OutputError(
                f"the output folder cannot be written to: {error.strerror}",
                hint="choose another --out, or make the folder writable",
                path=folder,
            ) from error
        try:
            _take(self._descriptor)
            os.ftruncate(self._descriptor, 0)
            os.write(self._descriptor, f"{os.getpid()}\n".encode())
        except OSError as error:
            holder = _holder(self._descriptor)
            os.close(self._descriptor)
            raise _refusal(folder, holder, error) from error

    def release(self) -> None:
        """Let others in; a second call does nothing."""
        if self._descriptor >= 0:
            try:
                _drop(self._descriptor)
            finally:
                os.close(self._descriptor)
                self._descriptor = -1


def _holder(descriptor: int) -> str:
    try:
        os.lseek(descriptor, 0, os.SEEK_SET)
        text = os.read(descriptor, 32).decode("ascii", "replace").strip()
    except OSError:
        return ""
    return text if text.isdecimal() else ""


def _refusal(folder: Path, holder: str, error: OSError) -> Locked | OutputError:
    if error.errno in _TAKEN:
        who = f"process {holder}" if holder else "another process"
        return Locked(
            f"the folder is in use by {who}",
            expected="one process at a time on an output folder",
            hint=f"wait until {who} has ended and repeat the command, or use another --out",
            path=folder,
        )
    return OutputError(
        f"the folder cannot be locked: {error.strerror}",
        expected="a file system that is not full and has file locks",
        hint="free space, or choose an --out on a local disk",
        path=folder,
    )
