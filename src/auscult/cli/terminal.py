"""Words from outside on a terminal: names of files, texts and titles of records may hold what controls one."""

from __future__ import annotations

from typing import Final

_CONTROL: Final = dict.fromkeys(
    (*range(9), *range(11, 32), *range(127, 160), *range(0x202A, 0x202F), *range(0x2066, 0x206A)), "\ufffd"
) | {9: " "}
"""What moves a cursor, changes colours, or turns the direction in which letters are shown."""


def clean(text: str) -> str:
    """Text without what would move a terminal's cursor, change its colours or turn its letters; lines stay."""
    return text.translate(_CONTROL)
