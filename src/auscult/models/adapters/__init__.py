"""Models that are asked by themselves: the spec of each, and adapters for those that are not registered.

A function of Python, a program, and a folder of stored predictions each have an adapter, which is loaded when it is
needed. ``models.spec`` and ``models.omni_spec`` say how each is written.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import stat
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from auscult import registry
from auscult.errors import InputError, UsageError
from auscult.media.paths import safe_name
from auscult.models.base import (
    TASKS,
    ModelTask,
    Predictor,
    ReferringModel,
    WeightedModel,
)
from auscult.record.digest import digest_file, digest_json

PYTHON: Final = frozenset({".py"})
_MOST_FILES: Final = 400
_MOST_BYTES: Final = 16 << 20
_MOST_FOLDERS: Final = 2000
_MOST_LISTED: Final = 20_000
_ENVIRONMENTS: Final = ("pyvenv.cfg", "conda-meta")
_INSTALLED: Final = frozenset({"site-packages", "dist-packages"})  # what lies there belongs to many

CodeHashes: TypeAlias = list[list[str | int]]


def code_files(folder: Path, suffixes: frozenset[str] = PYTHON) -> CodeHashes:
    """The code files below a folder, each with its relative name and hash, for a cache key.

    Hidden folders, ``__pycache__``, environments, those whose name cannot stand in an import, and what comes after
    2,000 folders are left out. After 400 files or 16 MiB, or where a file cannot be read, size and time of change stand
    in.
    """
    hashes: CodeHashes = []
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
            hashed = digest_file(file) if len(hashes) < _MOST_FILES and room >= 0 else ""
        except InputError:
            hashed = ""
        hashes.append([name, hashed] if hashed else [name, status.st_size, status.st_mtime_ns])
    return hashes


def folder_files(folders: Iterable[Path], suffixes: frozenset[str] = PYTHON) -> list[CodeHashes]:
    """``code_files`` of each folder, once."""
    return [code_files(folder, suffixes) for folder in dict.fromkeys(map(Path.resolve, folders))]


def _files(folder: Path, suffixes: frozenset[str]) -> list[Path]:
    """The code below a folder, nearest first."""
    files: list[Path] = []
    visited: set[tuple[int, int]] = set()
    waiting = deque([folder])
    while waiting and len(visited) < _MOST_FOLDERS and len(files) < _MOST_LISTED:
        current = waiting.popleft()
        try:
            status = current.stat()
            with os.scandir(current) as entries:
                rows = sorted((entry.name, entry.is_dir()) for entry in entries)
        except OSError:
            continue
        if (status.st_dev, status.st_ino) in visited:  # a link that leads back
            continue
        visited.add((status.st_dev, status.st_ino))
        if current != folder and any(name in _ENVIRONMENTS for name, _ in rows):
            continue
        files += [current / name for name, is_folder in rows if not is_folder and Path(name).suffix in suffixes]
        waiting += [
            current / name for name, is_folder in rows if is_folder and name.isidentifier() and name != "__pycache__"
        ]
    return files[:_MOST_LISTED]


_DIGITS: Final = 12
ModelKind = Literal["registered", "callable", "predictions", "command", "endpoint", "agent"]

BY_SENTENCE: Final = "segment a picture by a sentence"
PREDICTIONS: Final = "predictions:"
COMMAND: Final = "command:"
TGS: Final = "tgs:"
_FORMS: Final = (
    "a model of `auscult list model`, NAME@WEIGHTS, FILE.py:NAME, module:NAME, predictions:DIR, command:PROGRAM ... or "
    "tgs:OMNI+MODEL"
)
# What may stand before the @ of a folder of weights: no path and no module, which may hold an @ themselves.
WEIGHTED: Final = re.compile(r"[a-z][a-z0-9_.-]*@.")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSpec:
    """A model that was asked for, before anything of it is loaded; goes to worker processes."""

    given: str
    kind: ModelKind  # which adapter it needs
    name: str  # what tables call it: unique among the models of a run
    target: str  # registry name, ``FILE.py`` or module, folder, or command line
    function: str = ""  # the function's name, for a callable
    weights: Path | None = None  # a folder of weights, or None
    revision: str = ""  # what its code or weights are, so that a changed model is run again: a hash
    tasks: tuple[ModelTask, ...] = TASKS  # what it can be asked
    attends: bool = False  # whether it is an ``AttentiveModel``

    def load(self) -> Predictor:
        """Load it into this process."""
        # Adapters are loaded when they are needed: a command's process never imports a callable's, and so on.
        if self.kind == "predictions":
            from auscult.models.adapters.folder import FolderOfPredictions

            return FolderOfPredictions(Path(self.target))
        if self.kind == "command":
            from auscult.models.adapters.calling import Program

            return Program(self.target)
        from auscult.models.adapters.calling import Calling, function_of

        if self.kind == "callable":
            return Calling(function_of(self.target, self.function))
        return Calling(self.registered().predict)

    def registered(self) -> ReferringModel:
        """The registered model itself, with its weights."""
        model = registry.find("model", self.target).load()
        if self.weights is not None and isinstance(model, WeightedModel):
            return model.using(self.weights)
        if not isinstance(model, ReferringModel):
            raise UsageError(f"{self.target} segments no reference", expected=_FORMS)
        return model


def plain_spec(given: str) -> ModelSpec:
    """Parse the name of a model that is asked by itself; nothing of the model is loaded but its registration."""
    text = given.strip()
    if text.startswith(PREDICTIONS):
        return _predictions(text)
    if text.startswith(COMMAND):
        return _command(text)
    if ":" in text and not WEIGHTED.match(text):
        return _callable(text)
    if text.endswith(".py"):
        raise UsageError(f"{text[:80]!r} names no function", expected=_FORMS, hint="write FILE.py:predict")
    if not text:
        raise UsageError("a model without a name was asked for", expected=_FORMS)
    return _of_registry(text)


def for_task(model: ModelSpec, *, task: ModelTask, does: str) -> ModelSpec:
    """The model, which must be one of the task; ``does`` says the task in words, such as ``BY_SENTENCE``.

    A model from a file gets its kind before its name where a registered model has that name.
    """
    if task not in model.tasks:
        raise UsageError(
            f"{model.name} does not {does}",
            expected=f"a model of the task {task}; {model.name} is one of {', '.join(model.tasks)}",
            hint="`auscult list model` shows what each is",
        )
    if model.kind != "registered" and any(model.name == entry.name for entry in registry.entries("model")):
        return replace(model, name=f"{model.kind}.{model.name}")
    return model


def _predictions(text: str) -> ModelSpec:
    name = text.removeprefix(PREDICTIONS)
    folder = Path(name)
    if not name:
        raise UsageError("predictions without a folder were asked for", expected=_FORMS)
    if folder.is_file():
        raise UsageError(
            "the predictions are a file", path=folder, expected="a folder", hint="unpack it where it is one"
        )
    if not folder.is_dir():
        raise UsageError("there is no such folder of predictions", path=folder, expected=_FORMS)
    home = folder.resolve()
    return ModelSpec(
        given=text,
        kind="predictions",
        name=f"predictions.{safe_name(home.name)}",
        target=str(home),
        revision=digest_json([str(home), _listed(home)])[:_DIGITS],
    )


def _listed(folder: Path) -> list[list[str | int]]:
    """Every file with its size and time of change: files that were predicted anew are read anew, but not hashed."""
    rows: list[list[str | int]] = []
    for path in sorted(folder.rglob("*")):
        try:
            status = path.stat()
        except OSError:  # a link to nowhere
            continue
        if stat.S_ISREG(status.st_mode):
            rows.append([path.relative_to(folder).as_posix(), status.st_size, status.st_mtime_ns])
    return rows


def _command(text: str) -> ModelSpec:
    from auscult.work.line_program import SCRIPTS, words_of

    line = text.removeprefix(COMMAND).strip()
    words = words_of(line)
    executable = shutil.which(words[0])
    if executable is None:
        raise UsageError(
            f"there is no program {words[0][:80]!r}",
            expected="command:PROGRAM ARGUMENTS, such as command:'python model.py --size 480'",
            hint="give its whole path, and the right to run it: chmod u+x",
        )
    program = Path(executable)
    files = [Path(word) for word in words if Path(word).suffix in SCRIPTS and Path(word).is_file()]
    if not files and os.sep in words[0]:
        files = [program]  # a program of the user's own, which is its code
    name = safe_name(files[0].stem if files else program.name)
    hashed = [digest_file(file) for file in files]
    # A program of the system lies among others that it has nothing to do with.
    folders = [file.parent for file in files if file != program or str(file.parent) not in os.get_exec_path()]
    return ModelSpec(
        given=text,
        kind="command",
        name=f"command.{name}",
        target=line,
        revision=digest_json([line, *hashed, folder_files(folders, SCRIPTS)])[:_DIGITS],
    )


def _callable(text: str) -> ModelSpec:
    target, _, function = text.rpartition(":")
    if not function.isidentifier():
        raise UsageError(f"{text[:80]!r} names no function", expected=_FORMS)
    file = Path(target)
    if file.suffix == ".py":
        if not file.is_file():
            raise UsageError("there is no such file", path=file, expected=_FORMS)
        name, code = safe_name(file.stem), [digest_file(file), code_files(file.resolve().parent)]
    else:
        name, code = target.rpartition(".")[2], _module_code(target)
    return ModelSpec(
        given=text,
        kind="callable",
        name=f"{name}.{function}" if function != "predict" else name,
        target=str(file.resolve()) if target.endswith(".py") else target,
        function=function,
        revision=digest_json(code)[:_DIGITS],
    )


def _module_code(module: str) -> list[Any]:
    """A hash of a module's file, and the code of its top package; of a module alone, the code beside it."""
    file = _module_file(module)
    top = importlib.util.find_spec(module.partition(".")[0])
    folders = [Path(location) for location in (top.submodule_search_locations or ())] if top is not None else []
    if not folders and file.parent.name not in _INSTALLED:
        folders = [file.parent]
    return [digest_file(file), folder_files(folders)]


def _module_file(module: str) -> Path:
    try:
        spec = importlib.util.find_spec(module)
    except (ImportError, ValueError, AttributeError):
        spec = None
    if spec is not None and (spec.origin is None or not Path(spec.origin).is_file()):
        raise UsageError(
            f"the module {module[:80]!r} has no file of its own: it is built into Python, or a folder without code",
            expected=_FORMS,
            hint="name a module of your own, or its file: FILE.py:NAME",
        )
    if spec is None or spec.origin is None:
        raise UsageError(
            f"there is no module {module[:80]!r}",
            expected=_FORMS,
            hint="install the package that holds it, or name the file: FILE.py:NAME",
        )
    return Path(spec.origin)


def _of_registry(text: str) -> ModelSpec:
    name, at, weights = text.partition("@")
    entry = registry.find("model", name)
    model = entry.load()
    if not isinstance(model, ReferringModel | WeightedModel):
        raise UsageError(
            f"{entry.name} segments no reference: it is a tool of other parts",
            expected="a model that is asked for what a sentence, a first mask or a sound means",
            hint="`auscult list model` shows what each is",
        )
    needs = isinstance(model, WeightedModel)
    if needs and not at:
        raise UsageError(
            f"{entry.name} brings no weights", expected=f"{name}@DIR with a folder of weights", hint=model.meta.source
        )
    if at and not needs:
        raise UsageError(f"{entry.name} takes no weights", expected=name)
    folder = Path(weights) if at else None
    if folder is not None and not folder.is_dir():
        raise UsageError("there is no such folder of weights", path=folder, expected=f"{name}@DIR")
    return ModelSpec(
        given=text,
        kind="registered",
        name=entry.name if folder is None else f"{entry.name}@{safe_name(folder.resolve().name)}",
        target=entry.name,
        weights=None if folder is None else folder.resolve(),
        revision=revision_of(entry, folder or getattr(model, "shipped", None)),
        tasks=tuple(model.tasks),
        attends=getattr(model, "attends", False) is True,
    )


def revision_of(entry: registry.Entry, weights: Path | None) -> str:
    """A built-in model changes with its name, a plug-in's with its package; weights with their files."""
    parts: list[Any] = [entry.name, entry.origin]
    if weights is not None:
        files = sorted(path for path in _weight_files(weights) if path.is_file())
        parts.append([[path.relative_to(weights).as_posix(), digest_file(path)] for path in files])
    return digest_json(parts)[:_DIGITS]


def _weight_files(folder: Path) -> Iterator[Path]:
    """Every file below a folder, behind links to folders too, each folder once; what vanishes meanwhile is left out."""
    visited: set[str] = set()
    for parent, folders, names in os.walk(folder, followlinks=True):
        if os.path.realpath(parent) in visited:
            folders.clear()
            continue
        visited.add(os.path.realpath(parent))
        yield from (Path(parent, name) for name in names)
