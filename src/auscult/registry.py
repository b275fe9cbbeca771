"""Names: ``room.name.vN`` to the thing itself, loaded on use.

Built-ins and plug-ins register through the same entry-point groups, one per kind; the entry point's name is the
registry name and its value is what a caller gets. A name without its version means the newest one; a name without its
room works where only one room has it.
"""

from __future__ import annotations

import difflib
import re
import sys
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import lru_cache
from importlib import metadata
from pathlib import Path
from typing import Any

from auscult.errors import UnknownName, UsageError

KINDS: dict[str, str] = {
    "stressor": "auscult.stressors",
    "score": "auscult.scores",
    "judge": "auscult.judges",
    "identity": "auscult.identities",
    "model": "auscult.models",
    "dataset": "auscult.datasets",
    "suite": "auscult.suites",
}

BUILT_IN = "auscult"
_MOST_REMEMBERED = 32
_NAME = re.compile(
    r"^(?:(?P<room>[a-z][a-z0-9_]*(?:\.[a-z][a-z0-9_]*)*)\.)?(?P<base>(?!v[0-9]+$)[a-z][a-z0-9_]*)(?:\.v(?P<version>[0-9]+))?$"
)


@dataclass(frozen=True, slots=True)
class Entry:
    """One registered thing, not loaded yet.

    Attributes:
        kind: A key of ``KINDS``.
        name: The full name, with room (where the kind has rooms) and version.
        package: The distribution that brings it.
    """

    kind: str
    name: str
    package: str
    _point: metadata.EntryPoint

    @property
    def room(self) -> str | None:
        """What stands before the bare name; None where the kind has no rooms."""
        return _parts(self.name)[0]

    @property
    def version(self) -> int:
        """The number after ``.v``."""
        return int(_parts(self.name)[2] or 0)

    @property
    def origin(self) -> str:
        """The distribution with its version, for a manifest."""
        dist = self._point.dist
        return self.package if dist is None else f"{dist.name} {dist.version}"

    def load(self) -> Any:
        """Import the module that holds it and return the value.

        Raises:
            UsageError: The plug-in cannot be imported or lacks the value it promises.
        """
        try:
            return self._point.load()
        except (Exception, SystemExit) as error:  # a stranger's module may raise anything, and may not even parse
            is_lacking = isinstance(error, ImportError | AttributeError)
            reason = f"{error}" if is_lacking else f"{type(error).__name__}: {error}"
            raise UsageError(
                f"{self.kind} {self.name} of package {self.package} cannot be loaded: {reason}",
                hint="install the extra or package it needs, or remove the plug-in; `auscult doctor` checks all",
            ) from error


def entries(kind: str) -> tuple[Entry, ...]:
    """Every registered thing of one kind, ordered by name.

    Raises:
        UnknownName: ``kind`` is none of ``KINDS``.
    """
    if kind not in KINDS:
        raise UnknownName(
            f"there is no kind {kind!r}", expected=_listed(KINDS), hint=_nearest(kind, KINDS) or "write one of these"
        )
    return _entries(kind, _installed())


def _installed() -> tuple[tuple[str, int], ...]:
    """Where packages are looked for and when each folder last changed: what the answer of ``entries`` rests on."""
    folders = []
    for name in sys.path:
        try:
            folders.append((name, Path(name or ".").stat().st_mtime_ns))
        except OSError:
            folders.append((name, -1))
    return tuple(folders)


@lru_cache(maxsize=_MOST_REMEMBERED)
def _entries(kind: str, installed: tuple[tuple[str, int], ...]) -> tuple[Entry, ...]:  # noqa: ARG001  # only the key
    """Reading the metadata of every package takes 30 ms, too long for each call of ``audit_mask``."""
    found: dict[str, Entry] = {}
    packages: dict[int, str] = {}  # reading a name parses the package's metadata: once for each
    for point in metadata.entry_points(group=KINDS[kind]):
        if _NAME.match(point.name) is None or not point.name.rpartition(".v")[2].isdigit():
            continue  # listed by `auscult doctor` as malformed
        if id(point.dist) not in packages:
            packages[id(point.dist)] = point.dist.name if point.dist is not None else "?"
        package = packages[id(point.dist)]
        if point.name not in found or package == BUILT_IN:  # nobody takes a built-in's name
            found[point.name] = Entry(kind, point.name, package, point)
    return tuple(found[name] for name in sorted(found))


def clashes(kind: str) -> tuple[str, ...]:
    """Names that several packages register, of which only one is found, for `auscult doctor`."""
    owners: dict[str, set[str]] = {}
    for point in metadata.entry_points(group=KINDS[kind]):
        owners.setdefault(point.name, set()).add(point.dist.name if point.dist is not None else "?")
    return tuple(f"{name} ({', '.join(sorted(who))})" for name, who in sorted(owners.items()) if len(who) > 1)


def malformed(kind: str) -> tuple[str, ...]:
    """Entry-point names of a kind that are not of the form ``room.name.vN``, for `auscult doctor`."""
    known = {entry.name for entry in entries(kind)}
    return tuple(sorted({point.name for point in metadata.entry_points(group=KINDS[kind])} - known))


def find(kind: str, name: str, *, besides: Collection[str] = ()) -> Entry:
    """Find one registered thing by its full or short name.

    Args:
        kind: A key of ``KINDS``.
        name: ``masks.erode.v1``, ``masks.erode``, ``erode.v1`` or ``erode``; - stands for _.
        besides: Rooms that are not looked in.

    Raises:
        UnknownName: No such name, or one that several rooms have; the message lists the nearest.
    """
    known = [entry for entry in entries(kind) if entry.room not in besides]
    name = name.replace("-", "_")
    match = _NAME.match(name)
    candidates = [entry for entry in known if match is not None and _answers(entry.name, name)]
    if not candidates:
        names = [entry.name for entry in known]
        hint = _nearest(name, names) or f"`auscult list {kind}` says what each is for"
        raise UnknownName(f"there is no {kind} {name!r}", expected=_listed(names), hint=hint)
    rooms = {entry.room for entry in candidates}
    if len(rooms) > 1:
        raise UnknownName(f"several rooms have a {kind} {name!r}", expected=_listed(entry.name for entry in candidates))
    return max(candidates, key=lambda entry: entry.version)


def load(kind: str, name: str) -> Any:
    """Find and load in one step."""
    return find(kind, name).load()


def _answers(full: str, asked: str) -> bool:
    room, base, version = _parts(full)
    asked_room, asked_base, asked_version = _parts(asked)
    return (
        base == asked_base
        and (asked_version is None or asked_version == version)
        and (asked_room is None or asked_room == room)
    )


def _parts(name: str) -> tuple[str | None, str, str | None]:
    match = _NAME.match(name)
    if match is None:
        return None, name, None
    return match["room"], match["base"], match["version"]


def _listed(names: Iterable[str]) -> str:
    text = ", ".join(names)
    return f"one of: {text}" if text else "nothing is registered"


def _nearest(name: str, known: Iterable[str]) -> str:
    pool = {short: full for full in known for short in (full, _parts(full)[1])}
    close = difflib.get_close_matches(name, list(pool), n=3, cutoff=0.5)
    return f"did you mean {' or '.join(dict.fromkeys(pool[item] for item in close))}?" if close else ""
