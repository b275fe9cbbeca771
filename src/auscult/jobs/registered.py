"""What is registered and what works here: ``auscult list`` and ``auscult doctor``."""

from __future__ import annotations

import os
import platform
import shutil
import sys
import tempfile
from dataclasses import dataclass
from importlib import metadata, util
from pathlib import Path
from typing import Literal

from auscult import registry
from auscult.errors import UsageError
from auscult.types import Metadata
from auscult.version import VERSION
from auscult.work.pool import default_workers


@dataclass(frozen=True, slots=True)
class Described:
    """A registered plug-in."""

    name: str
    package: str
    summary: str  # what it is; or why it cannot be loaded
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

# Packages of each extra, by import name; a `missing` one is no fault, since extras are optional.
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
    """Look at the interpreter, the packages, the extras, what is registered, and the free disk space."""
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
