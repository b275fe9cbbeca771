"""How wide a text is, what of it fits, and which of its characters are drawn.

Widths are the larger of those of two fonts that drawings meet, one narrow and one wide, so that a label that fits by
this measure fits in a browser without the first font too, and in a picture.
"""

from __future__ import annotations

import unicodedata
from itertools import pairwise

LONGEST = 400
"""Characters of a text that are kept."""

_FIRST, _LAST = " ", "~"
# fmt: off
_WIDTHS = (
    32, 41, 46, 84, 64, 96, 78, 28, 40, 40, 56, 84, 32, 37, 32, 34, 64, 64, 64, 64, 64, 64, 64, 64,
    64, 64, 34, 34, 84, 84, 84, 54, 100, 69, 69, 70, 77, 64, 58, 78, 76, 30, 55, 66, 58, 87, 75, 79,
    61, 79, 70, 64, 62, 74, 69, 99, 69, 62, 69, 40, 34, 40, 84, 50, 50, 62, 64, 55, 64, 62, 36, 64,
    64, 28, 28, 58, 28, 98, 64, 62, 64, 64, 42, 53, 40, 64, 60, 82, 60, 60, 53, 64, 34, 64, 84,
)
# fmt: on
"""Width of each printable ASCII character, in hundredths of the letters' size."""

_OTHER, _WIDE, _BOLD = 0.70, 1.05, 1.07
_DROPPED = frozenset({"Cf", "Cs", "Co", "Cn"})
_SPACES = frozenset({"Cc", "Zl", "Zp"})
_MARKS = frozenset({"Mn", "Me"})


def plain(words: str, *, limit: int = LONGEST) -> str:
    """The words on one line, without characters that control, turn or stack text, cut after ``limit`` characters.

    What is left may stand in XML; ``<`` and ``&`` still have to be escaped.
    """
    kept = []
    for before, character in pairwise(" " + words[: 4 * limit]):
        kind = unicodedata.category(character)
        stacked = kind in _MARKS and unicodedata.category(before) in _MARKS
        if kind not in _DROPPED and not stacked:
            kept.append(" " if kind in _SPACES else character)
    text = " ".join("".join(kept).split())
    return text if len(text) <= limit else text[: limit - 1] + "…"


def text_width(words: str, size: float, *, bold: bool = False) -> float:
    """Width of a line of text in pixels, rather too large than too small."""
    return sum(_width(character) for character in plain(words)) * size * (_BOLD if bold else 1.0)


def fitted(words: str, size: float, width_px: float, *, ends: bool = False) -> str:
    """The words, or as many of their characters as fit with an ellipsis; never less than one character.

    Args:
        words: One line.
        size: Of the letters, in pixels.
        width_px: The room there is.
        ends: Leave out from the middle, so that names that only end differently stay apart; else from the end.
    """
    text = plain(words)
    if text_width(text, size) <= width_px:
        return text
    room = width_px / size - _width("…")
    last = _count(text[::-1], 0.4 * room) if ends else 0
    tail = text[len(text) - last :].lstrip()
    head = text[: max(1, _count(text[: len(text) - last], room - sum(map(_width, tail))))]
    return f"{head.rstrip()}…{tail}"


def _count(text: str, room: float) -> int:
    """How many characters from the left fit into a room, in sizes of the letters."""
    for count, character in enumerate(text):
        room -= _width(character)
        if room < 0:
            return count
    return len(text)


def _width(character: str) -> float:
    if _FIRST <= character <= _LAST:
        return _WIDTHS[ord(character) - ord(_FIRST)] / 100
    if character == "…":
        return 1.0
    if unicodedata.category(character) in _MARKS:
        return 0.0
    return _WIDE if unicodedata.east_asian_width(character) in {"W", "F"} else _OTHER
