"""The words of a sentence with what the lexicon says of them, and a fault that could be put in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

from auscult.language.morphology import is_plural
from auscult.stress.sentences import data
from auscult.stress.sentences.base import Edit
from auscult.stress.sentences.grammar_lexicon import Lexicon
from auscult.stress.sentences.tokens import Word
from auscult.stress.sentences.typos_rules import as_written


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault that could be put into the sentence.

    Attributes:
        kind: ``agreement``, ``tense``, ``article``, ``preposition`` or ``order``.
        first: Number of the first word that it touches.
        last: Number of the last.
        edit: What changes.
    """

    kind: str
    first: int
    last: int
    edit: Edit


@dataclass(frozen=True, slots=True, kw_only=True)
class Tables:
    """Which word is wrongly put for which.

    Attributes:
        weights: How often each kind of fault is drawn.
        prepositions: Other prepositions for one.
        numbers_of: The singular for the plural and the other way.
        tenses: A form of an auxiliary that does not fit.
    """

    weights: Mapping[str, float]
    prepositions: Mapping[str, tuple[str, ...]]
    numbers_of: Mapping[str, str]
    tenses: Mapping[str, str]


@cache
def tables() -> Tables:
    """Read ``data/grammar.json``."""
    told = data.read("grammar")
    return Tables(
        weights=MappingProxyType(told["weights"]),
        prepositions=MappingProxyType({word: tuple(others.split()) for word, others in told["prepositions"].items()}),
        numbers_of=MappingProxyType(told["numbers_of"]),
        tenses=MappingProxyType(told["tenses"]),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """The words of one sentence.

    Attributes:
        sentence: The sentence.
        words: Its words.
        lows: They in small letters.
        known: The lexicon.
    """

    sentence: str
    words: Sequence[Word]
    lows: Sequence[str]
    known: Lexicon

    def low(self, at: int) -> str:
        """A word in small letters; empty before the first, after the last, and across a mark or a line."""
        return self.lows[at] if 0 <= at < len(self.lows) else ""

    def joined(self, at: int) -> bool:
        """Whether only a space lies between a word and the next."""
        if at < 0 or at + 1 >= len(self.words):
            return False
        gap = self.sentence[self.words[at].end : self.words[at + 1].start]
        return gap.isspace() and "\n" not in gap

    def before(self, at: int) -> str:
        """The word before, where only a space lies between."""
        return self.lows[at - 1] if self.joined(at - 1) else ""

    def after(self, at: int) -> str:
        """The word after, where only a space lies between."""
        return self.lows[at + 1] if self.joined(at) else ""

    def replaced(self, kind: str, at: int, made: str) -> Iterator[Fault]:
        """Another word for one; nothing where it is the same."""
        word = self.words[at]
        if made and made != self.lows[at]:
            yield Fault(kind, at, at, Edit(word.start, word.end, as_written(word.text, made)))

    def noun_like(self, at: int) -> bool:
        """Whether a word can be a noun: one of the lexicon's, or an unknown one of three letters or more."""
        low = self.low(at)
        if low in self.known.nouns or self.known.singular(low) in self.known.nouns:
            return True
        return len(low) > 2 and low.isascii() and low.isalpha() and low not in self.known.known

    def many(self, at: int) -> bool:
        """Whether a word is a noun of the plural."""
        return self.noun_like(at) and is_plural(self.lows[at])
