"""Perturbations of one room by their names."""

from __future__ import annotations

import re
from functools import cache
from typing import Any, Final

from auscult import registry
from auscult.errors import UnknownName

_SHORT: Final = re.compile(r"[^.]+(\.v[0-9]+)?")


def loaded(room: str, name: object) -> Any:
    """A registered perturbation of a room.

    Args:
        room: ``vision``, ``sound``, ``sentences`` or ``timing``.
        name: ``vision.fog.v1``, ``vision.fog``, ``fog.v1`` or ``fog``.

    Raises:
        UnknownName: It is no text, no such perturbation, or one of another room.
        UsageError: The perturbation cannot be loaded.
    """
    if not isinstance(name, str):
        raise UnknownName(f"{name!r:.40} is no name of a perturbation", expected="text")
    return _loaded(room, name)


@cache
def _loaded(room: str, name: str) -> Any:
    """Kept, since looking through the installed packages costs more than most perturbations."""
    entry = registry.find("stressor", f"{room}.{name}" if _SHORT.fullmatch(name) else name)
    other = entry.name.partition(".")[0]
    if other != room:
        raise UnknownName(
            f"{entry.name} is no perturbation of {room}",
            expected=f"a name that begins with {room}.",
            hint=f"auscult.stress.{other} has it",
        )
    return entry.load()
