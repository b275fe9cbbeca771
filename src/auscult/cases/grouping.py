"""The order of frames, and which items share one."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TypeAlias

from auscult.types import Item

NaturalKey: TypeAlias = tuple[tuple[int, int, str], ...]

_RUN = re.compile(r"([0-9]+)")


def natural_key(name: str) -> NaturalKey:
    """Sort key under which ``frame2`` comes before ``frame10``.

    Folders sort part by part, so that one clip's frames stay together. Numbers of any length are compared by value;
    names that differ in leading zeros only keep a fixed order.

    Example:
        >>> sorted(["v/10", "v/9", "v2/1"], key=natural_key)
        ['v/9', 'v/10', 'v2/1']
    """
    key: list[tuple[int, int, str]] = []
    for part in name.split("/"):
        for piece in _RUN.split(part):
            if piece.isascii() and piece.isdigit():
                digits = piece.lstrip("0")
                key.append((1, len(digits), digits))
            elif piece:
                key.append((2, 0, piece))
        key.append((0, 0, ""))
    return (*key, (0, len(name), name))


def group_by_frame(items: Iterable[Item]) -> list[list[Item]]:
    """Items that share a frame, together; both the frames and the items within one keep their first order.

    Items of one frame are one another's other objects.
    """
    groups: dict[str, list[Item]] = {}
    for item in items:
        groups.setdefault(str(item.frame), []).append(item)
    return list(groups.values())
