"""``auscult new``: the skeleton of a plug-in package that works, registers, and carries its contract test."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable, Mapping
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from string import Template
from types import MappingProxyType
from typing import Final

from auscult import registry
from auscult.errors import UsageError
from auscult.media.paths import write_bytes

SKELETONS = ("stressor", "judge", "identity", "model")
ROOMS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "masks": "stressor",
        "vision": "stressor_vision",
        "sound": "stressor_sound",
        "sentences": "stressor_sentences",
        "timing": "stressor_timing",
    }
)
"""The rooms of stressors, each with the folder of its skeleton; a name without its room is one of masks."""
JUDGE_ROOMS: Final[Mapping[str, str]] = MappingProxyType({"masks": "judge", "sound": "judge_sound"})
"""The same of judges."""
_NAME = re.compile(r"(?!v[0-9]+$)[a-z][a-z0-9_]{1,40}")


def write_skeleton(kind: str, name: str, *, folder: Path) -> list[Path]:
    """Write a plug-in package, give its files; names of stressors and judges may begin with a room, ``vision.dust``."""
    if kind not in SKELETONS:
        raise UsageError(f"there is no skeleton for {kind!r}", expected=f"one of: {', '.join(SKELETONS)}")
    source, name = _source_of(kind, name)
    _check_name(kind, name)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError("exists already", path=folder, hint="choose another folder with --out")
    templates = {template.name: template.read_text(encoding="utf-8") for template in source.iterdir()}
    words = {"name": name, "class_name": _class_name(name, templates.values()), "package": f"auscult_{name}"}
    written = []
    for template in sorted(templates):
        path = folder / _target_path(template, words)
        write_bytes(path, Template(templates[template]).substitute(words).encode())
        written.append(path)
    return written


def _source_of(kind: str, name: str) -> tuple[Traversable, str]:
    """The folder of the skeleton, and the name without its room."""
    skeletons = resources.files("auscult.jobs") / "skeletons"
    room, dot, bare = name.rpartition(".")
    rooms = {"stressor": ROOMS, "judge": JUDGE_ROOMS}.get(kind)
    if rooms is None or not dot:
        return skeletons / kind, name
    if room not in rooms:
        raise UsageError(
            f"there is no room {room!r:.60} of {kind}s",
            expected=f"one of: {', '.join(rooms)}",
            hint=f"write it before the name, as in `auscult new {kind} sound.dust`; the version is added",
        )
    return skeletons / rooms[room], bare


def _check_name(kind: str, name: str) -> None:
    """Insist that the name is valid and not registered yet."""
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"{name!r:.60} is no name for a plug-in",
            expected="2 to 41 lower-case letters, digits and underscores, a letter first",
        )
    taken = [entry.name for entry in registry.entries(kind) if name in entry.name.split(".")]
    if taken or keyword.iskeyword(name):
        raise UsageError(
            f"{name!r} is taken: {taken[0] if taken else 'a word of Python'}", expected="a name nobody has yet"
        )


def _class_name(name: str, templates: Iterable[str]) -> str:
    """The name of the plug-in's class, with a suffix where it is a keyword or used in the skeleton."""
    found = name.title().replace("_", "")
    used = re.compile(rf"\b{found}(Params)?\b")
    if keyword.iskeyword(found) or any(used.search(text) for text in templates):
        return f"{found}Plugin"
    return found


def _target_path(template: str, words: Mapping[str, str]) -> Path:
    """Output path of a template: its name is the path, with ``--`` for ``/``, and PACKAGE and NAME to fill in."""
    name = template.removesuffix(".txt").replace("PACKAGE", words["package"]).replace("NAME", words["name"])
    return Path(*name.split("--"))
