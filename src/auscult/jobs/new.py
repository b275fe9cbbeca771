"""``auscult new``: the skeleton of a plug-in package that works, registers, and carries its contract test."""

from __future__ import annotations

import keyword
import re
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from string import Template

from auscult import registry
from auscult.errors import OutputError, UsageError

SKELETONS = ("stressor", "judge", "identity")
_NAME = re.compile(r"^[a-z][a-z0-9_]{1,40}$")


def write_skeleton(kind: str, name: str, *, folder: Path) -> list[Path]:
    """Write a plug-in package.

    Args:
        kind: ``stressor``, ``judge`` or ``identity``.
        name: Lower-case letters, digits and underscores: the name it will have in the registry.
        folder: The folder to create.

    Returns:
        The files written.

    Raises:
        UsageError: The kind has no skeleton, the name does not fit or is taken, or the folder is not empty.
        OutputError: The folder cannot be written.
    """
    if kind not in SKELETONS:
        raise UsageError(f"there is no skeleton for {kind!r}", expected=f"one of: {', '.join(SKELETONS)}")
    if not _NAME.match(name):
        raise UsageError(
            f"{name!r} is no name for a plug-in",
            expected="2 to 41 lower-case letters, digits and underscores, a letter first",
        )
    taken = [entry.name for entry in registry.entries(kind) if name in entry.name.split(".")]
    if taken or keyword.iskeyword(name):
        raise UsageError(
            f"{name!r} is taken: {taken[0] if taken else 'a word of Python'}", expected="a name nobody has yet"
        )
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError("exists already", path=folder, hint="choose another folder with --out")
    words = {"name": name, "class_name": name.title().replace("_", ""), "package": f"auscult_{name}"}
    written = []
    source = resources.files("auscult.jobs") / "skeletons" / kind
    for template in sorted(source.iterdir(), key=lambda entry: entry.name):
        path = folder / _place(template.name, words)
        text = Template(template.read_text(encoding="utf-8")).substitute(words)
        _write(path, text)
        written.append(path)
    return written


def _place(template: str, words: Mapping[str, str]) -> Path:
    """Where a template goes: its name holds the path, with ``--`` for ``/``, and PACKAGE and NAME to fill in."""
    name = template.removesuffix(".txt").replace("PACKAGE", words["package"]).replace("NAME", words["name"])
    return Path(*name.split("--"))


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise OutputError(
            f"cannot write: {error.strerror}", path=path, hint="choose another folder with --out"
        ) from error
