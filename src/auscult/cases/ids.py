"""Ids of an INPUT, and their natural order; an id ends up in names of files, so a hostile one is refused early."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from typing import TypeAlias

from auscult.errors import InputError
from auscult.types import Item

MAX_ID_CHARS = 512
_MAX_SHOWN_CHARS = 80

_RULE = "a relative name such as v1/f3/m2, at most 512 characters, no '..', no control characters"
_REFUSED = frozenset({"Cc", "Cs", "Zl", "Zp"})
_SEPARATORS = re.compile(r"[/\\]")


def check_id(name: str) -> str:
    """Give back an id that is safe to use: not empty, too long or absolute, no ``..`` part, no control characters."""
    problem = _problem(name)
    if problem:
        raise InputError(
            f"the id {shown(name)} {problem}", expected=_RULE, hint="rename the item; ids only need to be unique"
        )
    return name


def safe_id(name: str) -> str | None:
    """An id that is safe to use; None for one that is not."""
    return None if _problem(name) else name


def shown(text: str) -> str:
    """Text as it may stand in a message: quoted, one line, cut, and always writable as UTF-8."""
    cut = text if len(text) <= _MAX_SHOWN_CHARS else f"{text[:_MAX_SHOWN_CHARS]}..."
    return ascii(cut) if not cut.isprintable() else repr(cut)


def counted(count: int, noun: str) -> str:
    """A number and its noun: ``1 frame``, ``2 frames``."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _problem(name: str) -> str:
    if not name.strip():
        return "is empty"
    if len(name) > MAX_ID_CHARS:
        return f"has {len(name)} characters"
    if not name.isprintable() and any(unicodedata.category(char) in _REFUSED for char in name):
        return "has control characters"
    parts = _SEPARATORS.split(name)
    if not parts[0] or ":" in parts[0][1:2]:
        return "is an absolute path"
    return "leads out of its folder" if ".." in parts else ""


NaturalKey: TypeAlias = tuple[int | str, ...]

_RUN = re.compile(r"([0-9]+)")


def natural_key(name: str) -> NaturalKey:
    """Sort key under which ``frame2`` comes before ``frame10``.

    Folders sort part by part, so that one clip's frames stay together. Numbers of any length are compared by value;
    names that differ in leading zeros only keep a fixed order.

    Example:
        >>> sorted(["v/10", "v/9", "v2/1"], key=natural_key)
        ['v/9', 'v/10', 'v2/1']
    """
    key: list[int | str] = []  # kind, length and text of each piece
    for part in name.split("/"):
        for number, piece in enumerate(_RUN.split(part)):
            if number % 2:  # between two texts
                digits = piece.lstrip("0")
                key += (1, len(digits), digits)
            elif piece:
                key += (2, 0, piece)
        key += (0, 0, "")
    return (*key, 0, len(name), name)


def group_by_frame(items: Iterable[Item]) -> list[list[Item]]:
    """Group items by frame, since they are one another's other objects; the order of frames and items is kept."""
    groups: dict[str, list[Item]] = {}
    for item in items:
        groups.setdefault(str(item.frame), []).append(item)
    return list(groups.values())
