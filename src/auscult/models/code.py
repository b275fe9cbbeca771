"""The code that a model of one's own may be made of: its file, and what lies below its folder and can be imported."""

from __future__ import annotations

import os
import stat
from collections import deque
from collections.abc import Iterable
from pathlib import Path
from typing import Final, TypeAlias

from auscult.errors import InputError
from auscult.record.digest import digest_file

PYTHON: Final = frozenset({".py"})
SCRIPTS: Final = frozenset({".py", ".sh", ".js", ".rb", ".pl", ".jl"})
_MOST_FILES: Final = 400
_MOST_BYTES: Final = 16 << 20
_MOST_FOLDERS: Final = 2000
_MOST_LISTED: Final = 20_000
_ENVIRONMENTS: Final = ("pyvenv.cfg", "conda-meta")
_INSTALLED: Final = frozenset({"site-packages", "dist-packages"})

Told: TypeAlias = list[list[str | int]]


def told_code(folder: Path, suffixes: frozenset[str] = PYTHON) -> Told:
    """What the code below a folder is, for a hash.

    Folders are read level by level in the order of their names. Hidden ones, ``__pycache__``, environments and those
    whose name cannot stand in an import are left out, and so is what comes after two thousand folders.

    Args:
        folder: Where to begin; it is read whatever its name.
        suffixes: Endings of names that are code.

    Returns:
        For each file its name below the folder and its hash; once 400 files or 16 MiB are hashed, or where a file
        cannot be read, its size and time of change instead.
    """
    told: Told = []
    room = _MOST_BYTES
    for file in _files(folder, suffixes):
        name = file.relative_to(folder).as_posix()
        try:
            status = file.stat()
        except OSError:  # a link to nowhere
            continue
        if not stat.S_ISREG(status.st_mode):
            continue
        room -= status.st_size
        try:
            hashed = digest_file(file) if len(told) < _MOST_FILES and room >= 0 else ""
        except InputError:
            hashed = ""
        told.append([name, hashed] if hashed else [name, status.st_size, status.st_mtime_ns])
    return told


def is_installed(folder: Path) -> bool:
    """Whether a folder is one that packages are installed in: what lies there belongs to many."""
    return folder.name in _INSTALLED


def told_folders(folders: Iterable[Path], suffixes: frozenset[str] = PYTHON) -> list[Told]:
    """``told_code`` of each folder, once."""
    return [told_code(folder, suffixes) for folder in dict.fromkeys(one.resolve() for one in folders)]


def _files(folder: Path, suffixes: frozenset[str]) -> list[Path]:
    """The code below a folder, nearest first."""
    found: list[Path] = []
    seen: set[tuple[int, int]] = set()
    waiting = deque([folder])
    while waiting and len(seen) < _MOST_FOLDERS and len(found) < _MOST_LISTED:
        here = waiting.popleft()
        try:
            status = here.stat()
            with os.scandir(here) as entries:
                rows = sorted((entry.name, entry.is_dir()) for entry in entries)
        except OSError:
            continue
        if (status.st_dev, status.st_ino) in seen:  # a link that leads back
            continue
        seen.add((status.st_dev, status.st_ino))
        if here != folder and any(name in _ENVIRONMENTS for name, _ in rows):
            continue
        found += [here / name for name, is_folder in rows if not is_folder and Path(name).suffix in suffixes]
        waiting += [here / name for name, is_folder in rows if is_folder and _is_importable(name)]
    return found[:_MOST_LISTED]


def _is_importable(name: str) -> bool:
    return name.isidentifier() and name != "__pycache__"
