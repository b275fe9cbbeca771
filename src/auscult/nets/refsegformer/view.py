"""What a network sees of a picture and reads of a sentence: the same in training and, without torch, from ONNX."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from auscult.types import Frame

PADDING: Final = 0
UNKNOWN: Final = 1
"""Numbers of the two marks in a small encoder's vocabulary; words follow."""
_WORD: Final = re.compile(r"[^\W_]+")


def squeezed(frame: Frame, side: int) -> Frame:
    """A picture, uint8 RGB (H, W, 3), as a square of ``side`` pixels."""
    shrinks = min(frame.shape[:2]) >= side
    how = cv2.INTER_AREA if shrinks else cv2.INTER_LINEAR
    return np.asarray(cv2.resize(frame, (side, side), interpolation=how), dtype=np.uint8)


def words_of(text: str) -> list[str]:
    """The words of a sentence, in lower case."""
    return _WORD.findall(text.lower())


class Vocabulary:
    """Words of a list as tokens; others are one unknown word.

    Args:
        words: In the order of their numbers, which begin behind those of padding and of the unknown word.
        tokens: How many are read of a sentence.
    """

    def __init__(self, words: Sequence[str], *, tokens: int) -> None:
        self.words, self.tokens = tuple(words), tokens
        self._numbers = {word: number for number, word in enumerate(words, start=UNKNOWN + 1)}

    def ids(self, texts: Sequence[str]) -> NDArray[np.int64]:
        """Token numbers (n, tokens); a sentence without a word is one unknown word."""
        found = np.full((len(texts), self.tokens), PADDING, np.int64)
        for row, text in zip(found, texts, strict=True):
            numbers = [self._numbers.get(word, UNKNOWN) for word in words_of(text)[: self.tokens]] or [UNKNOWN]
            row[: len(numbers)] = numbers
        return found

    def unknown(self, text: str) -> tuple[str, ...]:
        """The words of a sentence that are not in the list."""
        return tuple(dict.fromkeys(word for word in words_of(text) if word not in self._numbers))
