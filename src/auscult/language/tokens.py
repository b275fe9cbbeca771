"""Characters as a reader sees them, and words.

A base letter with its combining marks, an emoji sequence, a flag and a syllable written with jamo are one character to
a reader; no perturbation may split one.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final, NamedTuple, TypeAlias

MOST_CHARACTERS: Final = 200_000
"""The longest sentence that is read."""

TextSpan: TypeAlias = tuple[int, int]
_JOINER: Final = "\u200d"
_NON_JOINER: Final = "\u200c"
_VIRAMA: Final = 9  # canonical combining class of the signs that bind two consonants to one
_MARKS: Final = ("Mn", "Mc", "Me")
_SPACING: Final = "\u0e33\u0eb3\uff9e\uff9f"  # letters by category that are written onto the one before
_ASCII_WORD: Final = re.compile("[A-Za-z0-9]+(?:['-][A-Za-z0-9]+)*")  # the same words, sooner
_INNER: Final = "'’-‐‑"  # inside a word they belong to it


def graphemes(text: str) -> list[TextSpan]:
    r"""The characters that a reader sees, in order, as spans that cover the text.

    A rule set of few lines instead of all of Unicode's annex 29: it never splits what that annex keeps together in
    living scripts, flags, and emoji, and may keep together a little more.

    Example:
        >>> graphemes("ae\u0301 ")
        [(0, 1), (1, 3), (3, 4)]
    """
    starts = [0] if text else []
    flags = 0
    for index in range(1, len(text)):
        before, char = text[index - 1], text[index]
        flags = flags + 1 if _is_flag_half(before) else 0
        if not (_extends(before, char) or (flags % 2 == 1 and _is_flag_half(char))):
            starts.append(index)
    return list(zip(starts, [*starts[1:], len(text)], strict=True)) if starts else []


def _extends(before: str, char: str) -> bool:
    """Whether a character belongs to the one before it."""
    if char < "\u0300":
        return char == "\n" and before == "\r"
    if char in {_JOINER, _NON_JOINER} or char in _SPACING or unicodedata.category(char) in _MARKS:
        return True
    if "\U0001f3fb" <= char <= "\U0001f3ff" or "\U000e0020" <= char <= "\U000e007f":
        return True  # a skin tone; a letter of a subdivision's flag
    if before == _JOINER:
        return not char.isspace()
    if unicodedata.combining(before) == _VIRAMA:
        return char.isalpha()
    return _is_jamo(char) and (_is_jamo(before) or "\uac00" <= before <= "\ud7a3")


def _is_flag_half(char: str) -> bool:
    return "\U0001f1e6" <= char <= "\U0001f1ff"


def _is_jamo(char: str) -> bool:
    return "\u1100" <= char <= "\u11ff" or "\ua960" <= char <= "\ua97c" or "\ud7b0" <= char <= "\ud7fb"


class Word(NamedTuple):
    """A run of letters and digits, with apostrophes and hyphens inside it."""

    start: int  # first character in the sentence
    end: int  # one past its last
    text: str  # as written
    low: str  # in small letters, with a straight apostrophe

    @property
    def spelt(self) -> bool:
        """Whether it is letters only: no digit, nothing else."""
        return any(char.isalpha() for char in self.text) and not any(char.isnumeric() for char in self.text)


def words(sentence: str) -> list[Word]:
    """The words of a sentence, in order; what is between them is spaces and marks.

    Example:
        >>> [word.text for word in words("The dog's hair-dryer, 2 m long")]
        ['The', "dog's", 'hair-dryer', '2', 'm', 'long']
    """
    if sentence.isascii():
        return [
            Word(match.start(), match.end(), match[0], match[0].lower()) for match in _ASCII_WORD.finditer(sentence)
        ]
    result: list[Word] = []
    spans = graphemes(sentence)
    solid = [sentence[start].isalnum() for start, _ in spans]
    word_start = -1
    for index, (start, _) in enumerate(spans):
        inner = 0 < index < len(spans) - 1 and sentence[start] in _INNER and solid[index - 1] and solid[index + 1]
        if solid[index] or inner:
            word_start = start if word_start < 0 else word_start
        elif word_start >= 0:
            result.append(_word(sentence, word_start, start))
            word_start = -1
    if word_start >= 0:
        result.append(_word(sentence, word_start, len(sentence)))
    return result


def _word(sentence: str, start: int, end: int) -> Word:
    text = sentence[start:end]
    return Word(start, end, text, text.lower().replace("’", "'"))
