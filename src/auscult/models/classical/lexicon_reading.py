"""From a sentence to what it wishes of a thing: known words in their order, denials, and what other things are named.

Nothing is parsed beyond that: what stands after a relation ("left of ...") is said of the thing it leads to, a denial
holds for the next known words, and all else is said of what is meant.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from auscult.models.classical.lexicon_words import LONGEST, Kind, Meaning, phrases, tokens_of

MOST_THINGS: Final = 3
"""Things that one sentence may lead to, one after the other; what is said of more is not read."""

_TOLD: Final[frozenset[Kind]] = frozenset({"colour", "light", "place", "size", "shape", "texture", "motion", "most"})


@dataclass(frozen=True, slots=True)
class Cue:
    """One thing said.

    Attributes:
        kind: What it is said of.
        word: Which.
        denied: It is said not to be so.
        place: Of a ``most``: 1 for the one with most of it, 2 for the second, and so on.
    """

    kind: Kind
    word: str
    denied: bool = False
    place: int = 1


@dataclass(frozen=True, slots=True)
class Wish:
    """What a sentence says of one thing.

    Attributes:
        cues: Each once, in the order they are said.
        how: How it stands to another thing; empty for no other.
        denied: It is said not to stand so.
        other: The other thing, or None.
    """

    cues: tuple[Cue, ...] = ()
    how: str = ""
    denied: bool = False
    other: Wish | None = None

    @property
    def empty(self) -> bool:
        """Whether nothing known is said."""
        return not self.cues and self.other is None

    @property
    def moving(self) -> bool:
        """Whether anything is said of motion."""
        own = any(cue.kind == "motion" or cue.word in {"fast", "slow"} for cue in self.cues)
        return own or self.how == "same_motion" or (self.other is not None and self.other.moving)


def wish_of(text: str | None) -> Wish:
    """Read a sentence.

    Args:
        text: Any text; None for no sentence.

    Returns:
        What it says; an empty wish where no word is known.
    """
    return _nested(_parts(list(_meanings(tokens_of(text or "")))))


def _meanings(tokens: Sequence[str]) -> Iterator[Meaning]:
    """The longest known phrase at each word; unknown words are left out."""
    known, at = phrases(), 0
    while at < len(tokens):
        for length in range(min(LONGEST, len(tokens) - at), 0, -1):
            meaning = known.get(tuple(tokens[at : at + length]))
            if meaning is not None:
                yield meaning
                break
        else:
            length = 1
        at += length


@dataclass(slots=True)
class _Part:
    """What is said of one thing, while it is read; ``how`` and ``denied`` are how it leads to the next."""

    cues: dict[Cue, None]
    how: str = ""
    denied: bool = False


def _parts(meanings: Sequence[Meaning]) -> list[_Part]:
    parts, denied, number = [_Part({})], False, 0
    for meaning in meanings:
        if meaning.kind == "not":
            denied = True
        elif meaning.kind == "end":
            denied = denied and meaning.word == "and"
        elif meaning.kind == "order":
            number = int(meaning.word)
        elif meaning.kind == "relation":
            parts[-1].how, parts[-1].denied, denied = meaning.word, denied, False
            parts.append(_Part({}))
            if len(parts) > MOST_THINGS:
                break
        else:
            cue = _cue(meaning, denied=denied, number=number)
            if cue is not None:
                parts[-1].cues.setdefault(cue)
                number = 0 if cue.kind == "most" else number
            denied = False
    return parts


def _cue(meaning: Meaning, *, denied: bool, number: int) -> Cue | None:
    if meaning.kind in {"most", "from"}:
        return Cue("most", meaning.word, denied, max(1, number))
    return Cue(meaning.kind, meaning.word, denied) if meaning.kind in _TOLD else None


def _nested(parts: Sequence[_Part]) -> Wish:
    wish: Wish | None = None
    for part in reversed(parts):
        how = part.how if wish is not None else ""
        wish = Wish(tuple(part.cues), how, part.denied and bool(how), wish)
    return wish or Wish()
