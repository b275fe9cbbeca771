"""``auscult list``: what the registry holds, told by the things themselves."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from auscult import registry
from auscult.errors import UsageError
from auscult.types import Metadata


@dataclass(frozen=True, slots=True)
class Described:
    """One registered thing.

    Attributes:
        name: Its full name.
        package: The distribution that brings it.
        summary: What it is; or why it cannot be loaded.
        goal: What it is for.
        source: What it follows.
        loads: Whether it could be loaded.
    """

    name: str
    package: str
    summary: str
    goal: str
    source: str
    loads: bool

    def as_json(self) -> dict[str, Any]:
        """The fields as a plain mapping."""
        return asdict(self)


def describe(kind: str) -> list[Described]:
    """Load everything of one kind and let it say what it is; a broken plug-in says why it is broken.

    Raises:
        UnknownName: There is no such kind.
    """
    return [_described(entry) for entry in registry.entries(kind)]


def _described(entry: registry.Entry) -> Described:
    try:
        meta = getattr(entry.load(), "meta", None)
    except UsageError as error:
        return Described(entry.name, entry.package, f"cannot be loaded: {error.message}", "", "", loads=False)
    if not isinstance(meta, Metadata):
        return Described(entry.name, entry.package, "has no metadata", "", "", loads=False)
    return Described(entry.name, entry.package, meta.summary, meta.goal, meta.source, loads=True)
