"""The spans of a sentence that must stay; characters and words are those of ``language.tokens``."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from typing import Self

from auscult.language.tokens import TextSpan, Word, graphemes, words
from auscult.stress.sentences.base import Kept

__all__ = ["Guard", "Word", "graphemes", "words"]


@dataclass(frozen=True, slots=True)
class Guard:
    """Tells quickly what touches a span that must stay, however many there are."""

    lows: tuple[int, ...]  # where each begins, ascending
    highs: tuple[int, ...]  # where each ends, ascending

    @classmethod
    def over(cls, kept: Kept) -> Self:
        """A guard over spans in any order, which may overlap."""
        merged: list[TextSpan] = []
        for low, high in sorted(kept):
            if merged and low < merged[-1][1]:
                merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
            elif high > low:
                merged.append((low, high))
        return cls(tuple(low for low, _ in merged), tuple(high for _, high in merged))

    def free(self, start: int, end: int) -> bool:
        """Whether a span, or the place of an insertion where ``start == end``, touches none of them."""
        at = bisect_right(self.highs, start)
        return at == len(self.highs) or self.lows[at] >= end
