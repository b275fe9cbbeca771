"""Workers' folders for temporary files: made, and removed where a process that was killed could not remove its own."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

_PREFIX = "auscult-worker-"
_NAME = re.compile(_PREFIX + r"([1-9][0-9]{0,9})-.+")


@contextlib.contextmanager
def own_folder() -> Iterator[str]:
    """A new folder for a worker's temporary files, which is removed with all in it.

    Its name tells the process that made it, and a lock that this process lives: process ids repeat, and are not the
    same in every container that shares the folder.
    """
    with tempfile.TemporaryDirectory(prefix=f"{_PREFIX}{os.getpid()}-", ignore_cleanup_errors=True) as folder:
        lock = _locked(Path(folder))
        try:
            yield folder
        finally:
            if lock is not None:
                os.close(lock)


def remove_leftovers() -> None:
    """Remove the folders of this user's processes that were killed; what cannot be removed stays."""
    if os.name != "posix":
        return
    with contextlib.suppress(OSError), os.scandir(tempfile.gettempdir()) as entries:
        for entry in entries:
            found = _NAME.fullmatch(entry.name)
            if found and not _is_alive(int(found[1])):
                _remove(Path(entry.path))


def _remove(folder: Path) -> None:
    try:
        status = folder.lstat()
        lock = _locked(folder) if status.st_uid == os.geteuid() else None
    except OSError:
        return
    if lock is not None:
        try:
            shutil.rmtree(folder, ignore_errors=True)  # it follows no links
        finally:
            os.close(lock)


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):  # another user's
        return True
    return True


def _locked(folder: Path) -> int | None:
    """A descriptor that locks a folder until it is closed; None where another holds it, or it is a link."""
    if os.name != "posix":
        return None
    import fcntl

    try:
        opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(opened)
        return None
    return opened
