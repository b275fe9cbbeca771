"""List the files of a folder in natural order, refusing links that lead out of it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from auscult.cases.ids import natural_key, shown
from auscult.errors import ErrorRecord, InputError, UsageError
from auscult.media.paths import inside

PICTURE_FOLDERS = ("frames", "images", "imgs")
"""Names of a folder of pictures, in the order in which they are looked for."""
MASK_FOLDERS = ("masks", "labels", "annotations")
"""Names of a folder of masks, in the order in which they are looked for."""

_MOST_LOOKED_AT = 20_000
_MARK = re.compile(r"[_-](?:mask|seg|gt)$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Tree:
    """The files under a folder.

    Attributes:
        folder: The folder.
        files: Name relative to the folder, with ``/``, to its path; hidden files are left out. Broken
            links, pipes and the like are included, so that opening one reports an error for its item.
        errors: What was refused: links that leave the folder, folders that cannot be opened, unwritable names.
    """

    folder: Path
    files: Mapping[str, Path]
    errors: tuple[ErrorRecord, ...] = ()

    def with_suffix(self, suffixes: frozenset[str]) -> dict[str, Path]:
        """The files that end in one of ``suffixes`` (lower case, with the dot), in order."""
        return {name: path for name, path in self.files.items() if suffix(name) in suffixes}


@dataclass(slots=True)
class _Walk:
    root: Path
    files: dict[str, Path] = field(default_factory=dict)
    errors: list[ErrorRecord] = field(default_factory=list)
    seen: set[tuple[int, int]] = field(default_factory=set)

    def into(self, folder: Path, prefix: str) -> Iterator[tuple[Path, str]]:
        """Take one folder's files; give the folders in it."""
        try:
            with os.scandir(folder) as scan:
                entries = [entry for entry in scan if not entry.name.startswith(".")]
            for entry in entries:
                name, path = prefix + entry.name, folder / entry.name
                if not self._usable(entry, name, path):
                    continue
                if not _leads_to_folder(entry):
                    self.files[name] = path
                elif self.first_visit(path):
                    yield path, f"{name}/"
        except OSError as error:
            closed = f"cannot be opened: {error.strerror}"
            expected, hint = "a folder that can be read", "check the rights of the folder"
            self.errors.append(ErrorRecord(stage="read", error=closed, expected=expected, hint=hint, path=str(folder)))

    def _usable(self, entry: os.DirEntry[str], name: str, path: Path) -> bool:
        if not name.isprintable() and any("\ud800" <= sign <= "\udfff" for sign in name):  # bytes that are no UTF-8
            broken = f"the file name {shown(name)} is not UTF-8"
            plain = ascii(str(path))[1:-1]
            self.errors.append(
                ErrorRecord(stage="read", error=broken, expected="a name in UTF-8", hint="rename the file", path=plain)
            )
            return False
        if not entry.is_symlink():
            return True  # an entry of a folder inside the root can only leave it by a link
        try:
            inside(self.root, os.path.relpath(path, self.root))
        except InputError as error:
            self.errors.append(ErrorRecord.of(error, "read"))
            return False
        return True

    def first_visit(self, path: Path) -> bool:
        """Whether a folder was not met before, under this name or by a link."""
        status = path.stat()
        key = (status.st_dev, status.st_ino)
        if key in self.seen:
            return False
        self.seen.add(key)
        return True


def walk(folder: Path, *, root: Path) -> Tree:
    """List the files under a folder, which must be there; a link may lead anywhere inside ``root``."""
    if not folder.is_dir():
        raise UsageError("there is no such folder", path=folder)
    state = _Walk(root)
    state.first_visit(folder)
    waiting = [(folder, "")]
    while waiting:
        waiting.extend(state.into(*waiting.pop()))
    names = sorted(state.files, key=natural_key)
    return Tree(folder, {name: state.files[name] for name in names}, tuple(state.errors))


def first_files(folder: Path) -> Iterator[Path]:
    """The first files below a folder, in the order of names; a long listing is not looked at whole."""
    left = _MOST_LOOKED_AT
    for place, folders, files in os.walk(folder) if is_folder(folder) else ():
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(files):
            yield Path(place, name)
        left -= len(files) + len(folders)
        if left <= 0:
            return


def subfolders(folder: Path) -> list[Path]:
    """The folders directly in a folder, in natural order; none when it cannot be opened."""
    try:
        with os.scandir(folder) as scan:
            names = [entry.name for entry in scan if _leads_to_folder(entry) and not entry.name.startswith(".")]
    except OSError:
        return []
    return [folder / name for name in sorted(names, key=natural_key)]


def is_folder(path: Path) -> bool:
    """Whether there is such a folder; False for a name that no folder could have."""
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False


def is_file(path: Path) -> bool:
    """Whether there is such a file; False for a name that no file could have."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def suffix(name: str) -> str:
    """The ending of a file name, lower case, with the dot."""
    return os.path.splitext(name)[1].lower()  # noqa: PTH122 - ten times as fast as Path on long listings


def stem(name: str) -> str:
    """A relative name without its ending; its folders stay."""
    return os.path.splitext(name)[0]  # noqa: PTH122 - as above


def unmarked(name: str) -> str:
    """The name of the picture that a mask's name, without ending, speaks of: ``x`` for ``x_mask``."""
    return _MARK.sub("", name)


def chosen(source: Path, given: Path | None, default: str) -> Path:
    """The folder an option names: in INPUT where it is there, else where the user stands; INPUT's default otherwise."""
    if given is None:
        return source / default
    within = source / given
    return within if is_folder(within) else given


def boundary(folder: Path, *, source: Path, root: Path | None) -> Path:
    """How far the links of a folder may lead: ``root`` or INPUT where it is in them, else the folder itself.

    A folder that stands in INPUT by its name but is a link that leads out of it is refused.
    """
    real = folder.resolve()
    for limit in (root, source):
        if limit is not None and real.is_relative_to(limit.resolve()):
            return limit
    if folder.absolute().parent == source.absolute():
        raise UsageError(
            "this folder is a symbolic link that leads out of the input",
            path=folder,
            hint=f"name its target with --{folder.name if folder.name in {'frames', 'masks'} else 'root'}",
        )
    return folder


def base_folder(source: Path, root: Path | None) -> Path:
    """The folder that paths written in a file may reach; ``--root`` must contain the file."""
    home = source if source.is_dir() else source.parent
    if root is None:
        return home
    if not home.resolve().is_relative_to(root.resolve()):
        raise UsageError("--root does not contain the input", path=root, expected=f"a folder above {home}")
    return root


def within(base: Path, *, home: Path, name: str) -> Path:
    """The path a file in ``home`` names, refused where it leaves ``base`` or holds a NUL; it may be absolute."""
    if "\0" in name:
        return inside(base, name)  # which refuses it
    if name.startswith("/"):
        return inside(base, _below(base, name))
    if base != home:
        lead = os.path.relpath(home.resolve(), base.resolve())
        name = os.path.join(lead, name)  # noqa: PTH118 - Path would drop what `inside` has to see
    return inside(base, os.path.normpath(name) if name.strip() else name)


def _below(base: Path, name: str) -> str:
    """An absolute path as one relative to ``base``, in which it must lie, by the folder's own name or its real one."""
    path = os.path.normpath(name)
    for folder in dict.fromkeys((os.path.abspath(base), os.path.realpath(base))):  # noqa: PTH100 - as above
        if path != folder and os.path.commonpath((path, folder)) == folder:
            return os.path.relpath(path, folder)
    raise InputError(
        f"{shown(name)} is an absolute path outside {base}",
        expected=f"a path inside {base}",
        hint="--root FOLDER names a folder around the input and all its files",
    )


def _leads_to_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # links that go round in a circle
        return False
