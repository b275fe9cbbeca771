"""Writing inside one folder: whole lines at the end of files, whole files at one stroke, nothing outside the folder.

Every file is noted in ``.written`` before it is made, so that a later run can remove exactly what was written here and
nothing of anyone else's.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import ExitStack, suppress
from pathlib import Path, PurePosixPath

from auscult.errors import AuscultError, OutputError, RecordError
from auscult.media.paths import NOT_REGULAR, regular_descriptor
from auscult.record.codec import dump
from auscult.record.lines import heal, read_lines

NOTES = ".written"
PART = ".part"

_MAX_DEPTH = 8
_FLAGS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


def failed(error: OSError, folder: Path, doing: str) -> OutputError:
    """Turn an OSError on a folder into an OutputError."""
    return OutputError(
        f"{doing}: {error.strerror or error}",
        expected="a folder on a disk with space that may be written to",
        hint="free space or change the permissions and repeat the command, which goes on where this one stopped; "
        "or choose another --out",
        path=folder,
    )


def refuse_special(folder: Path) -> None:
    """Insist that a record holds no device, pipe or socket, which a reader might wait for."""
    try:
        with os.scandir(folder) as entries:
            special = sorted(entry.name for entry in entries if _is_special(entry))
    except OSError as error:
        raise failed(error, folder, "the folder cannot be listed") from error
    if special:
        raise RecordError(
            NOT_REGULAR,
            expected="regular files in a record",
            hint="the folder was altered: remove it, or use another folder",
            path=folder / special[0],
        )


def _is_special(entry: os.DirEntry[str]) -> bool:
    """Whether it is neither file nor folder, and there: not a link to nothing, and not removed meanwhile."""
    return not (entry.is_file() or entry.is_dir()) and os.path.exists(entry)  # noqa: PTH110 - an entry is no Path


class Files:
    """Writes files of one folder; for one process and one thread, which holds the folder's lock."""

    def __init__(self, folder: Path) -> None:
        self.path = folder
        self._open: dict[str, int] = {}
        heal(folder / NOTES)
        self._noted = {str(row.get("name")) for row in read_lines(folder / NOTES)}
        self._unlink(folder / PART)

    def claim(self, name: str) -> Path:
        """Note that ``name`` is about to be written, make its folders, and return its path."""
        path = self.locate(name)
        if name not in self._noted:
            self._noted.add(name)
            self._write_end(NOTES, dump({"name": name}) + b"\n")
        if "/" in name:
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise failed(error, path.parent, "the folder cannot be made") from error
        return path

    def locate(self, name: str) -> Path:
        """Path of a file of this folder, from a name or a relative path of at most eight parts; never outside it."""
        parts = PurePosixPath(name).parts
        plain = 0 < len(parts) <= _MAX_DEPTH and "/".join(parts) == name and "\\" not in name and "\0" not in name
        if not plain or any(part.startswith((".", "/")) for part in parts):
            raise OutputError(
                f"{name[:200]!r} is no name for a file of the output folder",
                expected="a relative path without '..', hidden parts or backslashes",
                path=self.path,
            )
        for depth in range(1, len(parts)):
            if self.path.joinpath(*parts[:depth]).is_symlink():
                raise OutputError(
                    f"{'/'.join(parts[:depth])!r} is a symbolic link; nothing is written through it",
                    expected="a real folder",
                    hint="remove the link, or choose another --out",
                    path=self.path,
                )
        return self.path.joinpath(*parts)

    def write_bytes(self, name: str, data: bytes | Iterable[bytes], *, durable: bool = True) -> None:
        """Make or replace a whole file, given whole or in parts; a reader sees the old or the new one, never a part.

        Without ``durable`` a power failure, not a crash, may lose it: for many small files that can be made again.
        """
        path = self.claim(name)
        self._forget(name)
        part = self.path / PART
        try:
            descriptor = regular_descriptor(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | _FLAGS)
            try:
                for block in [data] if isinstance(data, bytes) else data:
                    _write_all(descriptor, block)
                if durable:
                    os.fsync(descriptor)
            finally:
                os.close(descriptor)
            part.replace(path)
        except OSError as error:
            self._unlink(part)
            raise failed(error, path, "the file cannot be written") from error

    def remove(self, name: str) -> None:
        """Remove a file if it is there, and the folders it leaves empty."""
        path = self.locate(name)
        self._forget(name)
        self._unlink(path)
        with suppress(OSError):  # the first that is not empty
            for parent in path.parents:
                if parent == self.path:
                    break
                parent.rmdir()

    def clear(self, names: Iterable[str], *, last: str) -> None:
        """Remove what was noted and ``names``; then the notes, then ``last``.

        Noted names that were edited so that they leave the folder, and folders of such a name, are left alone.
        """
        for name in sorted((self._noted | set(names)) - {last}):
            try:
                path = self.locate(name)
            except AuscultError:
                continue
            if path.is_symlink() or not path.is_dir():
                self.remove(name)
        self._forget(NOTES)
        self._unlink(self.path / NOTES)
        self._unlink(self.path / last)
        self._noted = set()

    def close(self) -> None:
        """Hand everything to the disk and close."""
        problem: OSError | None = None
        for descriptor in self._open.values():
            try:
                os.fsync(descriptor)
            except OSError as error:
                problem = error
            finally:
                os.close(descriptor)
        self._open.clear()
        if problem is not None:
            raise failed(problem, self.path, "results did not reach the disk") from problem

    def _write_end(self, name: str, data: bytes) -> None:
        try:
            if name not in self._open:
                flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | _FLAGS
                self._open[name] = regular_descriptor(self.path / name, flags)
            descriptor = self._open[name]
            size = os.fstat(descriptor).st_size
            with ExitStack() as undo:
                undo.callback(os.ftruncate, descriptor, size)
                _write_all(descriptor, data)
                undo.pop_all()  # the whole of it was written
        except OSError as error:
            raise failed(error, self.path, f"{name} cannot be written; what it holds already is kept") from error

    def _forget(self, name: str) -> None:
        descriptor = self._open.pop(name, None)
        if descriptor is not None:
            os.close(descriptor)

    def _unlink(self, path: Path) -> None:
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise failed(error, path, "the file cannot be removed") from error


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
