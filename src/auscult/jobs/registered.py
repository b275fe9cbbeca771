"""``auscult list``, ``auscult doctor`` and ``auscult new``, which writes the skeleton of a plug-in.

The skeleton is a working package that registers itself and has its contract test.
"""

from __future__ import annotations

import keyword
import os
import platform
import re
import shutil
import sys
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import metadata, resources, util
from importlib.resources.abc import Traversable
from pathlib import Path
from string import Template
from types import MappingProxyType
from typing import Final, Literal

from auscult import registry
from auscult.errors import UsageError
from auscult.media.paths import write_bytes
from auscult.types import Metadata
from auscult.version import VERSION
from auscult.work.pool import default_workers


@dataclass(frozen=True, slots=True)
class Described:
    """A registered plug-in."""

    name: str
    package: str
    summary: str  # or why it cannot be loaded
    goal: str
    source: str
    loads: bool


def describe(kind: str) -> list[Described]:
    """Load and describe all plug-ins of one kind; a broken one is described by its error."""
    return [_described(entry) for entry in registry.entries(kind)]


def _described(entry: registry.Entry) -> Described:
    try:
        meta = getattr(entry.load(), "meta", None)
    except UsageError as error:
        return Described(entry.name, entry.package, f"cannot be loaded: {error.message}", "", "", loads=False)
    if not isinstance(meta, Metadata):
        return Described(entry.name, entry.package, "has no metadata", "", "", loads=False)
    return Described(entry.name, entry.package, meta.summary, meta.goal, meta.source, loads=True)


State = Literal["ok", "missing", "broken"]

# Packages of each extra, by import name; a `missing` one is not an error, since extras are optional.
EXTRAS: dict[str, tuple[str, ...]] = {
    "demo": ("skimage",),
    "train": ("sklearn", "torch", "onnx", "peft"),
    "clip": ("torch", "transformers", "safetensors"),
    "hf": ("torch", "transformers", "safetensors"),
    "docs": ("zensical",),
    "video": ("av", "soundfile"),
    "sound": ("soundfile", "scipy"),
    "chat": ("openai",),
    "inspect": ("inspect_ai",),
    "agent": ("duckdb", "yaml"),
}
CORE: tuple[tuple[str, str], ...] = (
    ("numpy", "numpy"),
    ("opencv-python-headless", "cv2"),
    ("pillow", "PIL"),
    ("typer", "typer"),
    ("rich", "rich"),
    ("jinja2", "jinja2"),
    ("msgspec", "msgspec"),
    ("onnxruntime", "onnxruntime"),
    ("snowballstemmer", "snowballstemmer"),
)
LOW_DISK_BYTES = 200 * 1024**2


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check."""

    what: str
    state: State
    detail: str


def examine() -> list[Finding]:
    """Check the interpreter, packages, extras, registered plug-ins and free disk space."""
    return [
        Finding("auscult", "ok", VERSION),
        Finding("python", "ok" if sys.version_info >= (3, 11) else "broken", platform.python_version()),
        *(_package(name, module) for name, module in CORE),
        *(_extra(name, modules) for name, modules in EXTRAS.items()),
        *(_registered(kind) for kind in registry.KINDS),
        Finding("processors", "ok", f"{default_workers()} of {os.cpu_count()} usable"),
        _scratch(),
    ]


def _package(name: str, module: str) -> Finding:
    if util.find_spec(module) is None:
        return Finding(name, "broken", f"not installed; pip install '{name}'")
    rival = "opencv-python" if name == "opencv-python-headless" else ""
    if rival and _installed(rival):
        return Finding(name, "broken", f"{rival} is installed beside it and overwrites it; pip uninstall {rival}")
    return Finding(name, "ok", _installed(name) or "version unknown")


def _extra(name: str, modules: tuple[str, ...]) -> Finding:
    absent = [module for module in modules if util.find_spec(module) is None]
    if absent:
        return Finding(f"extra {name}", "missing", f"pip install '.[{name}]' in a clone")
    return Finding(f"extra {name}", "ok", ", ".join(modules))


def _registered(kind: str) -> Finding:
    described = describe(kind)
    faulty = [row.name for row in described if not row.loads]
    faulty += [*registry.malformed(kind), *(f"registered twice: {clash}" for clash in registry.clashes(kind))]
    several = kind.removesuffix("y") + "ies" if kind.endswith("y") else f"{kind}s"
    if faulty:
        return Finding(several, "broken", f"cannot be used: {', '.join(faulty)}")
    return Finding(several, "ok", f"{len(described)} registered")


def _scratch() -> Finding:
    folder = Path(tempfile.gettempdir())
    free = shutil.disk_usage(folder).free
    state: State = "ok" if free >= LOW_DISK_BYTES else "broken"
    return Finding("temporary folder", state, f"{folder}, {free / 1024**3:.1f} GiB free")


def _installed(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""


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
"""The rooms of stressors, each with the folder of its skeleton; the default room is masks."""
JUDGE_ROOMS: Final[Mapping[str, str]] = MappingProxyType({"masks": "judge", "sound": "judge_sound"})
"""The rooms of judges, each with the folder of its skeleton."""
_NAME = re.compile(r"(?!v[0-9]+$)[a-z][a-z0-9_]{1,40}")


def write_skeleton(kind: str, name: str, *, folder: Path) -> list[Path]:
    """Write a plug-in package; returns its files. Stressors and judges may have a room, ``vision.dust``."""
    if kind not in SKELETONS:
        raise UsageError(
            f"there is no skeleton for {kind!r}",
            expected=f"one of: {', '.join(SKELETONS)}",
            hint="docs/plugins.md says what any other kind consists of",
        )
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
    """Refuse an invalid or registered name."""
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
    """The name of the plug-in's class, with a suffix if it is a keyword or used in the skeleton."""
    base = name.title().replace("_", "")
    used = re.compile(rf"\b{base}(Params)?\b")
    if keyword.iskeyword(base) or any(used.search(text) for text in templates):
        return f"{base}Plugin"
    return base


def _target_path(template: str, words: Mapping[str, str]) -> Path:
    """Output path of a template: its name is the path, with ``--`` for ``/``, and PACKAGE and NAME to fill in."""
    name = template.removesuffix(".txt").replace("PACKAGE", words["package"]).replace("NAME", words["name"])
    return Path(*name.split("--"))
