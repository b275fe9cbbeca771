"""What an English referring expression says: head noun, attributes, relation and negation, each with its place.

By rules over the package's own lexicon, offline, in time linear in the words. ``docs/referring.md`` has the rules by
which people label the same, and how often the parser agrees with them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final, Literal, NamedTuple, TypeAlias

from auscult.errors import InputError
from auscult.language import data
from auscult.language.lexicon import Lexicon, lexicon
from auscult.language.morphology import is_plural
from auscult.language.noun_phrases import NounPhrase, is_verbal, noun_phrase, phrase_at
from auscult.language.tokens import MOST_CHARACTERS, Word, words

AttributeKind: TypeAlias = Literal["colour", "position", "size", "material", "action", "other"]

_OF_PLACE: Final = ("on", "at", "in", "to", "from", "towards", "toward", "by", "of")
_VERY: Final = ("the", "its", "far", "very", "extreme", "immediate")
_STANDS: Final = ("located", "positioned", "situated", "placed", "seen", "found")


class Span(NamedTuple):
    """Characters of the sentence: ``start`` is the first, ``end`` is one past the last."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Attribute:
    """What is said of the head by one word.

    Attributes:
        span: The word: ``left`` of "on the left side", ``making`` of "making a sound".
        phrase: All words that say it, with "on the", "that is": what can be left out together.
        kind: What the word is about.
        absolute: Of a position: whether it needs no other object, as left, top and front do.
        before: Whether it stands before the noun.
        negated: Whether it is denied: "that is not red".
    """

    span: Span
    phrase: Span
    kind: AttributeKind
    absolute: bool = False
    before: bool = False
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Relation:
    """What relates the head to another thing.

    Attributes:
        words: The relating words: "standing next to", "wearing", "without".
        related: The whole related noun phrase: "the red traffic light".
        head: Its compound noun: "traffic light".
        noun: The last word of that: "light".
        negated: Whether it is denied: "not holding", "without".
    """

    words: Span
    related: Span
    head: Span
    noun: Span
    negated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Expression:
    """A referring expression, read; all spans are half-open, in characters of ``sentence``.

    Attributes:
        sentence: As given.
        words: Its words, in order, with their spans.
        head: The noun that it is about, with the nouns of its compound: "traffic light"; None where none is found.
        noun: The last word of ``head``.
        determiner: The article or number that has to agree when the head is replaced.
        plural: Whether the head is of plural form, or counted.
        attributes: In the order of the sentence.
        relation: The first one of the head.
        negation: Words that deny: not, without, neither, nor, no, except, isn't.
        problem: Why there is no head; None where there is one.
    """

    sentence: str
    words: tuple[Word, ...]
    head: Span | None = None
    noun: Span | None = None
    determiner: Span | None = None
    plural: bool = False
    attributes: tuple[Attribute, ...] = ()
    relation: Relation | None = None
    negation: tuple[Span, ...] = ()
    problem: str | None = None


class Vocabulary(NamedTuple):
    """Words that say what a thing is like, by kind, in small letters."""

    kinds: dict[str, AttributeKind]
    absolute: frozenset[str]  # positions that need no other object
    place: frozenset[str]  # the side of "left side"
    picture: frozenset[str]  # the picture and its viewer
    light: frozenset[str]  # the sound of "making a sound"
    compounds: frozenset[str]  # "hot dog"


@cache
def vocabulary() -> Vocabulary:
    """Read the word lists, once."""
    raw = data.read("attributes")
    kinds: dict[str, AttributeKind] = {}
    for kind in ("material", "size", "position", "colour"):
        kinds |= dict.fromkeys(raw[kind].split(), kind)
    kinds |= dict.fromkeys(raw["position_absolute"].split(), "position")
    absolute, place, picture, light = (
        frozenset(raw[name].split()) for name in ("position_absolute", "place", "picture", "light")
    )
    return Vocabulary(kinds, absolute, place, picture, light, frozenset(raw["compounds"].split(", ")))


def head_noun(sentence: str) -> str | None:
    """The noun that an English referring expression is about.

    Args:
        sentence: A phrase such as "the second cow from the left"; a whole sentence gives the noun of its subject.

    Returns:
        The noun as written; None where no word before the first boundary can be one.

    Example:
        >>> head_noun("The yellow suitcase without a blue tag")
        'suitcase'
        >>> head_noun("a pair of glasses worn by the man")
        'glasses'
    """
    span = head_span(sentence)
    return None if span is None else sentence[span[0] : span[1]]


def head_span(sentence: str) -> Span | None:
    """Where the head noun stands, (start, end) in characters; the last word of a compound."""
    tokens = words(sentence)
    phrase = noun_phrase(sentence, tokens)
    return None if phrase is None else _span(tokens, phrase.noun, phrase.noun + 1)


def parse(sentence: str) -> Expression:
    """Read a referring expression.

    Args:
        sentence: Any text of at most ``MOST_CHARACTERS``; made for English such as "the man in red on the left".

    Returns:
        What was found; without a head where there is none, with ``problem``.

    Raises:
        InputError: The text is longer.

    Example:
        >>> found = parse("two small dogs sitting next to the tennis racket")
        >>> [found.sentence[slice(*span)] for span in (found.head, found.relation.words, found.relation.head)]
        ['dogs', 'sitting next to', 'tennis racket']
    """
    if len(sentence) > MOST_CHARACTERS:
        raise InputError(
            f"a sentence of {len(sentence):,} characters", expected=f"at most {MOST_CHARACTERS:,}", hint="shorten it"
        )
    tokens = words(sentence)
    lex = lexicon()
    negation = tuple(Span(word.start, word.end) for word in tokens if word.low in lex.negations)
    phrase = noun_phrase(sentence, tokens)
    problem = _problem(tokens, phrase, lex)
    if phrase is None or problem is not None:
        return Expression(sentence=sentence, words=tuple(tokens), negation=negation, problem=problem)
    first = _compound(sentence, tokens, phrase)
    determiner, before = _before(tokens, phrase.first, first)
    after = _After(sentence, tokens, phrase.end)
    after.read()
    many = determiner is not None and tokens[determiner].low in lex.many
    return Expression(
        sentence=sentence,
        words=tuple(tokens),
        head=_span(tokens, first, phrase.noun + 1),
        noun=_span(tokens, phrase.noun, phrase.noun + 1),
        determiner=None if determiner is None else _span(tokens, determiner, determiner + 1),
        plural=many or is_plural(tokens[phrase.noun].low),
        attributes=(*before, *after.attributes),
        relation=after.relation,
        negation=negation,
    )


def _span(tokens: Sequence[Word], first: int, end: int) -> Span:
    return Span(tokens[first].start, tokens[end - 1].end)


def _problem(tokens: Sequence[Word], phrase: NounPhrase | None, lex: Lexicon) -> str | None:
    """Why a sentence has no head that can be trusted."""
    if not tokens:
        return "there is no word in it"
    if not any(char.isascii() and char.isalpha() for word in tokens for char in word.text):
        return "there is no word in Latin letters in it: only English is read"
    if len(tokens) > 2 and not any(word.low in lex.known for word in tokens):
        return "no English word is known in it: only English is read"
    return None if phrase is not None else "no noun is in it, only words such as adjectives, pronouns or prepositions"


def _compound(sentence: str, tokens: Sequence[Word], phrase: NounPhrase) -> int:
    """The first word of the compound that ends with the noun."""
    lex, known = lexicon(), vocabulary()
    at = phrase.noun
    while at > phrase.first and sentence[tokens[at - 1].end : tokens[at].start].isspace():
        low = tokens[at - 1].low
        other = low in known.kinds or low in lex.adjectives or low in lex.function_words or is_verbal(low, lex)
        if f"{low} {tokens[at].low}" not in known.compounds and (other or low.endswith(("'s", "s'")) or len(low) < 2):
            break
        at -= 1
    return at


def _before(tokens: Sequence[Word], first: int, noun: int) -> tuple[int | None, list[Attribute]]:
    """The determiner, and the attributes between it and the noun."""
    lex = lexicon()
    determiner = None
    found: list[Attribute] = []
    for at in range(first, noun):
        low = tokens[at].low
        ordinal = low in lex.numbers and low not in lex.many | {"one", "dozen"}
        if low.endswith(("'s", "s'")) or low == "s":
            determiner, found = None, []  # what was before is said of the owner
        elif low in lex.determiners or (low in lex.numbers and not ordinal) or low.isdigit():
            determiner = at
        elif ordinal or low not in lex.function_words:
            found.append(_attribute(tokens, (at, at, at + 1), before=True))
    return determiner, found


def _attribute(
    tokens: Sequence[Word], place: tuple[int, int, int], *, before: bool = False, negated: bool = False
) -> Attribute:
    """The attribute of a word: place is the word, the first of its phrase and one past the phrase."""
    at, first, end = place
    low, known = tokens[at].low, vocabulary()
    kind = known.kinds.get(low) or ("action" if is_verbal(low, lexicon()) else "other")
    return Attribute(
        span=_span(tokens, at, at + 1),
        phrase=_span(tokens, first, end),
        kind=kind,
        absolute=low in known.absolute,
        before=before,
        negated=negated,
    )


class _After:
    """Reads what follows the head: a chain of a verb, prepositions and adjectives, up to a noun phrase, at a time."""

    def __init__(self, sentence: str, tokens: Sequence[Word], at: int) -> None:
        self.sentence, self.tokens, self.at = sentence, tokens, at
        self.lex = lexicon()
        self.attributes: list[Attribute] = []
        self.relation: Relation | None = None
        self.known = vocabulary()

    def read(self) -> None:
        """Read chains until one has a related object or nothing more can be read."""
        while self.at < len(self.tokens) and self.relation is None:
            first, negated = self.at, False
            skipped = self.lex.relatives | self.lex.auxiliaries | self.lex.conjunctions | self.lex.negations
            while self.at < len(self.tokens) and self._low(self.at) in skipped - self.lex.prepositions:
                negated |= self._low(self.at) in self.lex.negations
                self.at += 1
            begin = self.at
            self._chain(first, negated=negated)
            if self.at == begin:
                return

    def _low(self, at: int) -> str:
        return self.tokens[at].low if at < len(self.tokens) else ""

    def _chain(self, first: int, *, negated: bool) -> None:
        begin, said = self.at, list[int]()
        while self.at < len(self.tokens):
            low = self._low(self.at)
            place = self._place()
            if place is not None and not place[1]:
                said.append(place[0])
                break
            if place is not None:
                continue
            verb = not said and self._low(self.at - 1) not in self.lex.prepositions
            verb = verb and is_verbal(low, self.lex, clause=True)
            if verb or low in self.lex.adverbs or low in self.lex.prepositions or low == "as":
                said += [self.at] if verb else []
                negated |= low in {"without", "except"}
                self.at += 1
                continue
            noun, end = phrase_at(self.sentence, self.tokens, self.at)
            if noun is not None:
                self._object(NounPhrase(noun, self.at, end), begin, said, negated=negated)
                break
            if low not in self.lex.adjectives and low not in self.known.kinds:
                break
            said.append(self.at)
            self.at += 1
        if self.relation is None:
            self._qualities(said, first, negated=negated)

    def _qualities(self, said: Sequence[int], first: int, *, negated: bool) -> None:
        """Attributes of the words of a chain that goes to no object."""
        told = [at for at in said if len(said) == 1 or self._low(at) not in _STANDS]
        for at in told:
            one = _attribute(self.tokens, (at, first, max(self.at, at + 1)), negated=negated)
            self.attributes.append(one)

    def _object(self, phrase: NounPhrase, begin: int, said: list[int], *, negated: bool) -> None:
        """A noun phrase at the end of a chain: a related object, or a part of what is said."""
        low = self._low(phrase.noun)
        self.at = phrase.end
        if phrase.noun == phrase.first and self.known.kinds.get(low) == "colour":
            said.append(phrase.noun)  # "in orange"
        elif (low in self.known.light or low in self.known.picture) and said:
            return
        elif phrase.first > begin:
            self.relation = Relation(
                words=_span(self.tokens, begin, phrase.first),
                related=_span(self.tokens, phrase.first, phrase.noun + 1),
                head=_span(self.tokens, _compound(self.sentence, self.tokens, phrase), phrase.noun + 1),
                noun=_span(self.tokens, phrase.noun, phrase.noun + 1),
                negated=negated,
            )

    def _place(self) -> tuple[int, bool] | None:
        """Goes past "on the left side"; its word, and whether "of" an object follows, which is gone past too."""
        at = self.at + (self._low(self.at) in _OF_PLACE)
        while self._low(at) in _VERY:
            at += 1
        if self._low(at) not in self.known.absolute:
            return None
        while self._low(at + 1) in self.known.absolute:
            at += 1
        word = at
        at += 1
        if self._low(at) == "hand" or self._low(at) == "most":
            at += 1
        while self._low(at) in self.known.place:
            at += 1
        if self._low(at) in {"of", "to"}:
            noun, end = phrase_at(self.sentence, self.tokens, at + 1)
            if noun is not None and self._low(noun) not in self.known.picture:
                self.at = at + 1
                return word, True
            at = end if noun is not None else at
        elif phrase_at(self.sentence, self.tokens, at)[0] is not None and word + 1 == at:
            return None  # "on the left wall"
        self.at = at
        return word, False
