"""The output folder of a run: opened, resumed, written to, finished.

::

    DIR/manifest.json     what the run is; a folder without one is not a record
    DIR/*.jsonl           one line per result, appended whole as results come
    DIR/*.json, tables/   written at the end, each at one stroke
    DIR/.lock .written    who writes here; what was written here
    DIR/input/            the INPUT, where a command makes its own (`auscult demo`); a run by itself

The lock is the kernel's, on the file ``.lock``: it ends with the process, however that ends, so a leftover file never
blocks anyone.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from itertools import chain
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from auscult.errors import Locked, NewerSchema, OutputError, RecordError
from auscult.media.paths import regular_descriptor
from auscult.record import manifest
from auscult.record.codec import dump, dump_parts, load, read_file
from auscult.record.files import NOTES, PART, Files, failed, refuse_special
from auscult.record.lines import heal, read_lines
from auscult.record.schema import SCHEMA

NAME = ".lock"

_TAKEN = (errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES, errno.EDEADLK)

if sys.platform == "win32":
    import msvcrt

    def _take(descriptor: int) -> None:
        os.lseek(descriptor, 1 << 20, os.SEEK_SET)  # far behind the text, which other processes must be able to read
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
    """Holds a folder from construction to ``release``."""

    def __init__(self, folder: Path) -> None:
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
        try:
            self._descriptor = regular_descriptor(folder / NAME, flags)
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


MANIFEST = "manifest.json"
INPUT = "input"
WELL_KNOWN = (
    "verdicts.jsonl", "scores.jsonl", "clips.jsonl", "errors.jsonl", "masks.jsonl", "thumbnails.jsonl", "inputs.jsonl",
    "items.jsonl", "summary.json", "verdicts.csv", "report.html",
)  # fmt: skip

_OURS = frozenset({NAME, NOTES, PART})
_MAX_MANIFEST_BYTES = 16 << 20
_KEPT_RESUMPTIONS = 20


def open_run(
    folder: Path,
    run: Mapping[str, Any],
    *,
    overwrite: bool = False,
    ignore: frozenset[str] = manifest.IGNORED,
) -> RunFolder:
    """Begin a run in a folder, or go on with the same run in it; it is locked until it is closed.

    ``overwrite`` begins anew and removes what auscult wrote there, and only that; ``ignore`` names arguments and inputs
    that do not change a result.
    """
    _make(folder)
    require_own_folder(folder)
    lock = FolderLock(folder)
    with ExitStack() as undo:
        undo.callback(lock.release)
        require_own_folder(folder)
        old = read_manifest(folder) if (folder / MANIFEST).exists() else None
        new: dict[str, Any] = load(dump(run))
        opened = RunFolder(lock, folder, new)
        if old is not None:
            # a run that wrote no results, as with a mistyped argument, is not resumed
            nothing_made = set(os.listdir(folder)) <= {*_OURS, MANIFEST, "errors.jsonl"}  # noqa: PTH208 - names alone
            if overwrite or (nothing_made and any(manifest.differences(old, new, ignore))):
                opened.clear(WELL_KNOWN, last=MANIFEST)
            else:
                manifest.check_same(old, new, ignore=ignore, path=folder)
                for path in sorted(folder.glob("*.jsonl")):
                    if path.is_file() and not path.is_symlink():
                        heal(path)
                opened.manifest = _resumed(old, new)
        opened.write_json(MANIFEST, opened.manifest)
        undo.pop_all()  # the run keeps the lock
    return opened


def read_manifest(folder: Path) -> dict[str, Any]:
    """Read ``manifest.json`` of a record."""
    path = folder / MANIFEST
    content = read_file(
        dict[str, Any],
        path,
        what="the manifest",
        expected="the output folder of an auscult command",
        most_bytes=_MAX_MANIFEST_BYTES,
        error=RecordError,
        hint="`auscult audit INPUT --out DIR` makes one",
    )
    schema = content.get("schema")
    if type(schema) is not int or not isinstance(content.get("command"), str):
        raise RecordError(
            "the manifest is not one of auscult's",
            expected="the output folder of an auscult command",
            hint="choose another folder; this one belongs to another program",
            path=path,
        )
    if schema > SCHEMA:
        raise NewerSchema(
            f"the record has schema {schema}",
            expected=f"schema {SCHEMA} or older",
            hint="a newer auscult wrote it: upgrade auscult, or use another --out",
            path=folder,
        )
    return content


class RunFolder(Files):
    """A run's folder and its manifest, locked by this process; made by ``open_run``.

    Names are file names of the folder, or paths below it with ``/`` between the parts.
    """

    def __init__(self, lock: FolderLock, folder: Path, run: dict[str, Any]) -> None:
        super().__init__(folder)
        self.manifest = run
        self._lock = lock

    def lines(self, name: str) -> list[dict[str, Any]]:
        """The rows of a file so far; none if there is no such file."""
        return list(read_lines(self.locate(name)))

    def append(self, name: str, row: Mapping[str, Any]) -> None:
        """Add one row."""
        self.append_many(name, (row,))

    def append_many(self, name: str, rows: Iterable[Mapping[str, Any]]) -> None:
        """Add rows in one write; the file ends as it did before where they cannot be written."""
        data = b"".join(map(_line, rows))
        if data:
            self.claim(name)
            self._write_end(name, data)

    def write_lines(self, name: str, rows: Iterable[Mapping[str, Any]]) -> None:
        """Make or replace a file of rows."""
        self.write_bytes(name, map(_line, rows))

    def write_json(self, name: str, value: object) -> None:
        """Make or replace a JSON file, indented."""
        self.write_bytes(name, dump(value, indent=2) + b"\n")

    def write_long_json(self, name: str, value: Mapping[str, Any]) -> None:
        """The same of an object that holds long lists, not indented and in parts: ten times as fast."""
        self.write_bytes(name, chain(dump_parts(value), (b"\n",)))

    def write_text(self, name: str, text: str | Iterable[str]) -> None:
        """Make or replace a text file, UTF-8; of a long one the text may be given in parts."""
        parts = [text] if isinstance(text, str) else text
        self.write_bytes(name, (part.encode("utf-8", "backslashreplace") for part in parts))

    def finish(self) -> None:
        """Mark the run as finished."""
        self.manifest["finished"] = manifest.now()
        self.write_json(MANIFEST, self.manifest)

    def close(self) -> None:
        """Hand everything to the disk and let others in; a second call does nothing."""
        try:
            super().close()
        finally:
            self._lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.close()
        except OutputError:
            if error is None:
                raise


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        raise OutputError(
            "the output folder cannot be made: a file of that name is in the way",
            expected="a folder, or a name that is free",
            hint="choose another --out",
            path=folder,
        ) from error
    except OSError as error:
        raise failed(error, folder, "the output folder cannot be made") from error
    except ValueError as error:
        raise OutputError(f"{str(folder)!r} is no path: {error}", hint="choose another --out") from error


def require_own_folder(folder: Path) -> None:
    """Insist that a folder is empty or a run's; the INPUT that a run made for itself counts as its own."""
    try:
        names = set(os.listdir(folder)) - _OURS  # noqa: PTH208 - names alone are wanted
    except OSError as error:
        raise failed(error, folder, "the output folder cannot be listed") from error
    refuse_special(folder)
    if (folder / INPUT / MANIFEST).is_file():
        names.discard(INPUT)
    if names and MANIFEST not in names:
        examples = ", ".join(sorted(names)[:3])
        raise RecordError(
            f"the folder holds other files ({examples}) and no auscult run",
            expected="a new or empty folder, or one that auscult made",
            hint="choose another --out; auscult never removes files it did not write, with --overwrite either",
            path=folder,
        )


def _resumed(old: dict[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """The old manifest with the current input and a note of the resumption; unfinished until ``finish``."""
    before = old.get("resumed")
    notes = [*(before if isinstance(before, list) else []), {"time": manifest.now(), "versions": new.get("versions")}]
    unfinished = {key: value for key, value in old.items() if key != "finished"}
    return {**unfinished, "inputs": new.get("inputs", old.get("inputs")), "resumed": notes[-_KEPT_RESUMPTIONS:]}


def _line(row: Mapping[str, Any]) -> bytes:
    return dump(dict(row)) + b"\n"
