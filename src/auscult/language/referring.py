"""What an English referring expression says: head noun, attributes, relation and negation, each with its place.

By rules over the package's own lexicon, offline, in time linear in the words. ``docs/referring.md`` has the rules by
which the same is labelled by hand, and how often the parser agrees with them.

The head of a noun phrase (``bowl`` of "a small bowl whose rim is red") is the last noun-like word before a preposition,
a clause, a participle or a mark. A word that the lexicon does not know is taken for a noun. Text in other scripts has
no head noun here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final, Literal, NamedTuple, TypeAlias

from auscult.errors import InputError
from auscult.language.lexicon import Lexicon, is_plural, lexicon
from auscult.language.tokens import MOST_CHARACTERS, Word, words
from auscult.shipped import read_shipped


class NounPhrase(NamedTuple):
    """Places of words of a sentence."""

    noun: int  # the last word of the compound
    first: int  # where the reading of the phrase began
    end: int  # one past the phrase


def noun_phrase(sentence: str, tokens: Sequence[Word], first: int = 0) -> NounPhrase | None:
    """The first noun phrase at or after a word; of "pair of glasses" and "one of the dogs" the noun after ``of``."""
    index = first
    while index < len(tokens):
        noun, end = phrase_at(sentence, tokens, index)
        if noun is not None and not _stands_for_another(tokens, noun, end):
            return NounPhrase(noun, index, end)
        start, index = index, end + 1
        if noun is None and _headless(tokens[start:index]):
            index = next((i for i in range(index, len(tokens)) if _after_mark(sentence, tokens, i)), len(tokens))
    return None


def _headless(tokens: Sequence[Word]) -> bool:
    """Whether words up to a preposition are a phrase without noun: "the others in", "closest to"."""
    lex = lexicon()
    content = [word.low for word in tokens[:-1] if word.low not in lex.determiners | lex.closing]
    return bool(content) and tokens[-1].low in lex.prepositions - {"of"}


def _after_mark(sentence: str, tokens: Sequence[Word], index: int) -> bool:
    return not sentence[tokens[index - 1].end : tokens[index].start].isspace()


def _stands_for_another(tokens: Sequence[Word], head: int, index: int) -> bool:
    """Whether it is the ``pair`` of "pair of glasses", or the ``one`` of "one of the dogs"."""
    of = index < len(tokens) - 1 and tokens[index].low == "of"
    return of and (tokens[head].low in lexicon().groups or tokens[head].low == "one")


def phrase_at(sentence: str, tokens: Sequence[Word], first: int, *, related: bool = False) -> tuple[int | None, int]:
    """The noun of the phrase that begins at a word, and the word that ends the phrase.

    ``related`` says that no verb can follow it: ``stands`` of "next to the music stands" is a noun.
    """
    lex = lexicon()
    noun: int | None = None
    spare: int | None = None  # an adjective that is a noun too, such as orange
    for index in range(first, len(tokens)):
        word = tokens[index]
        if index > first and noun is not None and _after_mark(sentence, tokens, index):
            return noun, index
        joins = word.low in lex.conjunctions and not _begins_phrase(tokens, index + 1, lex)  # "red and orange light"
        names = noun is not None or (spare is not None and not joins and not _followed_by_noun(tokens, index, lex))
        is_noun = (related or noun is None) and word.low in lex.thirds and lex.singular(word.low) in lex.nouns
        is_noun = is_noun or _is_can(tokens, index, lex)
        if not is_noun and _ends_phrase(tokens, index, has_noun=names, lex=lex):
            return (spare if noun is None else noun), index
        is_noun = is_noun or (noun is None and _names_as_ing(tokens, index, lex))
        if _possessive(tokens, index):
            noun = None
        elif is_noun or noun_like(word.low, lex, after_noun=noun is not None):
            noun = index
        elif word.low in lex.nouns or (word.low in lex.verbs and _can_be_noun(tokens, index, lex)):
            spare = index  # of verbs "the tap"
    return (spare if noun is None else noun), len(tokens)


def _can_be_noun(tokens: Sequence[Word], index: int, lex: Lexicon) -> bool:
    """Whether a verb stands where a noun is due: "the tap", "a gradual decrease in"."""
    after = tokens[index + 1].low if index + 1 < len(tokens) else "of"
    adjective = index > 0 and tokens[index - 1].low in lex.adjectives and after in {"of", "in"}
    return adjective or _begins_phrase(tokens, index - 1, lex)


def _is_can(tokens: Sequence[Word], index: int, lex: Lexicon) -> bool:
    """Whether "can" is a thing: "a trash can in", but not "the dog can jump" or "others that can be seen"."""
    if tokens[index].low != "can":
        return False
    before, after = (tokens[i].low if 0 <= i < len(tokens) else "" for i in (index - 1, index + 1))
    helps = lex.verbs | lex.negations | lex.auxiliaries | lex.pronouns
    return before not in lex.relatives | lex.pronouns | {"others"} and after not in helps


def _begins_phrase(tokens: Sequence[Word], index: int, lex: Lexicon) -> bool:
    """Whether a determiner stands there: the second of "a white top and a hat"."""
    return 0 <= index < len(tokens) and tokens[index].low in lex.determiners


def _followed_by_noun(tokens: Sequence[Word], index: int, lex: Lexicon) -> bool:
    """Whether a noun comes next: "giant flying bird", but not "baby laughing at the cat"."""
    return index + 1 < len(tokens) and noun_like(tokens[index + 1].low, lex)


def _ends_phrase(tokens: Sequence[Word], index: int, *, has_noun: bool, lex: Lexicon) -> bool:
    low = tokens[index].low
    if low in lex.closing or (low in lex.conjunctions and has_noun):
        return True
    if not has_noun:
        return False
    if low.endswith("ing") and index + 1 < len(tokens) and tokens[index + 1].low in lex.determiners:
        return True  # "person crossing the street", where crossing is a noun elsewhere
    return low in lex.function_words or _is_adverb(low, lex) or is_verbal(low, lex)


def _is_adverb(low: str, lex: Lexicon) -> bool:
    return low in lex.adverbs or (low.endswith("ly") and len(low) > 4 and low not in lex.nouns)


def is_verbal(low: str, lex: Lexicon, *, clause: bool = False) -> bool:
    """Whether a word after a noun is a verb or participle rather than one more noun; in a clause, verb forms win."""
    if low in lex.pronouns or low in lex.prepositions:
        return False  # "something", "during"
    if low in lex.nouns and not (clause and (low in lex.ings or low in lex.thirds)):
        return False
    if any(low in forms for forms in (lex.verbs, lex.thirds, lex.ings, lex.pasts, lex.participles)):
        return True
    return low.endswith(("ing", "ed")) and len(low) > 4


def _possessive(tokens: Sequence[Word], index: int) -> bool:
    """Whether it owns the noun to come: ``man's``, or ``dog s`` where a tokenizer dropped the apostrophe."""
    low = tokens[index].low
    return low.endswith(("'s", "s'")) or low == "s" or (index + 1 < len(tokens) and tokens[index + 1].low == "s")


def noun_like(low: str, lex: Lexicon, *, after_noun: bool = False) -> bool:
    """Whether a word by itself can be a noun; what is an adjective too counts only after one."""
    if not low[0].isascii() or not low[0].isalpha() or len(low) < 2 or low in lex.function_words:
        return False
    if low in lex.adjectives:
        return after_noun and low in lex.nouns  # the light of "traffic light"
    return low in lex.nouns or not (is_verbal(low, lex) or _is_adverb(low, lex))


def _names_as_ing(tokens: Sequence[Word], index: int, lex: Lexicon) -> bool:
    """Whether a word in -ing stands alone where a noun is due, as the last: "the singing"."""
    low = tokens[index].low
    return index == len(tokens) - 1 and low.endswith("ing") and low not in lex.function_words


AttributeKind: TypeAlias = Literal["colour", "position", "size", "material", "action", "other"]

MOST_WORDS: Final = 400
"""The longest text that is taken for a referring expression."""

_OF_PLACE: Final = ("on", "at", "in", "to", "from", "towards", "toward", "by", "of")
_VERY: Final = ("the", "far", "very", "extreme", "immediate")
_OF_ADJECTIVES: Final = ("able", "ful", "ible", "ish", "less", "ous")
_STANDS: Final = ("located", "positioned", "situated", "placed", "seen", "found")


class Span(NamedTuple):
    """Characters of the sentence: ``start`` is the first, ``end`` is one past the last."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Attribute:
    """What is said of the head by one word."""

    span: Span  # the word: ``left`` of "on the left side", ``making`` of "making a sound"
    phrase: Span  # all words that say it, with "on the", "that is": what can be left out together
    kind: AttributeKind  # what the word is about
    absolute: bool = False  # of a position: whether it needs no other object, as left, top and front do
    before: bool = False  # whether it stands before the noun
    negated: bool = False  # whether it is denied: "that is not red"


@dataclass(frozen=True, slots=True)
class Relation:
    """What relates the head to another thing."""

    words: Span  # the relating words: "standing next to", "wearing", "without"
    related: Span  # the whole related noun phrase: "the red traffic light"
    head: Span  # its compound noun: "traffic light"
    noun: Span  # the last word of that: "light"
    negated: bool = False  # whether it is denied: "not holding", "without"


@dataclass(frozen=True, slots=True, kw_only=True)
class Parse:
    """A referring expression, read; all spans are half-open, in characters of ``sentence``."""

    sentence: str  # as given
    words: tuple[Word, ...]  # its words, in order, with their spans
    # the noun that it is about, with the nouns of its compound: "traffic light"; None where none is found
    head: Span | None = None
    noun: Span | None = None  # the last word of ``head``
    determiner: Span | None = None  # the article or number that has to agree when the head is replaced
    plural: bool = False  # whether the head is of plural form, or counted
    attributes: tuple[Attribute, ...] = ()  # in the order of the sentence
    relation: Relation | None = None  # the first one of the head
    negation: tuple[Span, ...] = ()  # words that deny: not, without, neither, nor, no, except, isn't
    problem: str | None = None  # why there is no head; None where there is one


class WordsByKind(NamedTuple):
    """Words that say what a thing is like, by kind, in small letters."""

    kinds: dict[str, AttributeKind]
    absolute: frozenset[str]  # positions that need no other object
    place: frozenset[str]  # the side of "left side"
    picture: frozenset[str]  # the picture or video itself
    viewer: frozenset[str]  # who looks at it: "camera"
    time: frozenset[str]  # "at all times"
    light: frozenset[str]  # the sound of "making a sound"
    animate: frozenset[str]  # what can do something
    foreign: frozenset[str]  # articles and prepositions of other languages that are no English words
    compounds: frozenset[str]  # "hot dog"


@cache
def vocabulary() -> WordsByKind:
    """Read the word lists, once."""
    raw = read_shipped("language/data/attributes.json")
    kinds: dict[str, AttributeKind] = {}
    for kind in ("material", "size", "position", "colour"):
        kinds |= dict.fromkeys(raw[kind].split(), kind)
    kinds |= dict.fromkeys(raw["position_absolute"].split(), "position")
    names = ("place", "picture", "viewer", "time", "light", "animate", "foreign")
    sets = {name: frozenset(raw[name].split()) for name in names}
    absolute = frozenset(raw["position_absolute"].split())
    return WordsByKind(kinds=kinds, absolute=absolute, compounds=frozenset(raw["compounds"].split(", ")), **sets)


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


def parse(sentence: str) -> Parse:
    """Read a referring expression.

    Args:
        sentence: Any text of at most ``MOST_CHARACTERS``; made for English such as "the man in red on the left".

    Returns:
        What was found; without a head, and with ``problem``, where there is none: no word, another language, no noun,
        more than ``MOST_WORDS`` words.

    Raises:
        InputError: The text is longer.

    Example:
        >>> parsed = parse("two small dogs sitting next to the tennis racket")
        >>> [parsed.sentence[slice(*span)] for span in (parsed.head, parsed.relation.words, parsed.relation.head)]
        ['dogs', 'sitting next to', 'tennis racket']
    """
    if len(sentence) > MOST_CHARACTERS:
        raise InputError(
            f"a sentence of {len(sentence):,} characters", expected=f"at most {MOST_CHARACTERS:,}", hint="shorten it"
        )
    tokens = words(sentence)
    lex = lexicon()
    negation = _negation(tokens, lex)
    problem = _problem(tokens, lex)
    phrase = noun_phrase(sentence, tokens) if problem is None else None
    if phrase is None:
        problem = problem or "no noun is in it that it could be about"
        return Parse(sentence=sentence, words=tuple(tokens), negation=negation, problem=problem)
    first = _compound(sentence, tokens, phrase)
    determiner, before = _before(tokens, phrase.first, first)
    after = _After(sentence, tokens, phrase.noun + 1)
    after.read()
    many = determiner is not None and tokens[determiner].low in lex.many
    return Parse(
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


def _negation(tokens: Sequence[Word], lex: Lexicon) -> tuple[Span, ...]:
    """Words that deny, and "other than"."""
    after = (*(word.low for word in tokens[1:]), "")
    ends = (i + (tokens[i].low == "other" and after[i] == "than") for i in range(len(tokens)))
    return tuple(_span(tokens, i, end + 1) for i, end in enumerate(ends) if end > i or _denies(tokens[i].low, lex))


def _denies(low: str, lex: Lexicon) -> bool:
    return low in lex.negations or low.endswith("n't") or low.startswith("non-")


def _problem(tokens: Sequence[Word], lex: Lexicon) -> str | None:
    """Why a sentence is not read."""
    if not tokens:
        return "there is no word in it"
    if not any(char.isascii() and char.isalpha() for word in tokens for char in word.text):
        return "there is no word in Latin letters in it: only English is read"
    if len(tokens) > MOST_WORDS:
        return f"it has {len(tokens):,} words, a referring expression at most {MOST_WORDS}"
    foreign = sum(word.low in vocabulary().foreign for word in tokens)
    if foreign > 1 or (len(tokens) > 2 and 3 * sum(word.low in lex.known for word in tokens) < len(tokens)):
        return "fewer than a third of its words are known, or words of another language: only English is read"
    return None


def _compound(sentence: str, tokens: Sequence[Word], phrase: NounPhrase) -> int:
    """The first word of the compound that ends with the noun."""
    lex, known = lexicon(), vocabulary()
    index = phrase.noun
    while index > phrase.first and sentence[tokens[index - 1].end : tokens[index].start].isspace():
        low = tokens[index - 1].low
        other = low not in lex.nouns and ("-" in low or low.endswith(_OF_ADJECTIVES))
        other = other or low in known.kinds or low in lex.adjectives or low in lex.function_words or is_verbal(low, lex)
        if f"{low} {lex.singular(tokens[index].low)}" not in known.compounds and (
            other or low.endswith(("'s", "s'")) or len(low) < 2
        ):
            break
        index -= 1
    return index


def _before(tokens: Sequence[Word], first: int, noun: int) -> tuple[int | None, list[Attribute]]:
    """The determiner, and the attributes between it and the noun."""
    lex = lexicon()
    determiner = None
    attributes: list[Attribute] = []
    for index in range(first, noun):
        low = tokens[index].low
        ordinal = low in lex.numbers and low not in lex.many | {"one", "dozen"}
        if low.endswith(("'s", "s'")) or low == "s":
            determiner, attributes = None, []  # what was before is said of the owner
        elif low in lex.determiners or (low in lex.numbers and not ordinal) or low.isdigit():
            determiner = index if determiner is None or low not in lex.determiners else determiner  # "an all white mug"
        elif ordinal or low not in lex.function_words:
            attributes.append(_attribute(tokens, (index, index, index + 1), before=True))
    return determiner, attributes


def _attribute(
    tokens: Sequence[Word], place: tuple[int, int, int], *, before: bool = False, negated: bool = False
) -> Attribute:
    """The attribute of a word: place is the word, the first of its phrase and one past the phrase."""
    index, first, end = place
    low, known = tokens[index].low, vocabulary()
    kind = known.kinds.get(low) or ("action" if is_verbal(low, lexicon()) else "other")
    return Attribute(
        span=_span(tokens, index, index + 1),
        phrase=_span(tokens, first, end),
        kind=kind,
        absolute=low in known.absolute,
        before=before,
        negated=negated,
    )


class _After:
    """Reads what follows the head, a chain at a time: a verb, prepositions and adjectives, up to a noun phrase."""

    def __init__(self, sentence: str, tokens: Sequence[Word], index: int) -> None:
        self.sentence, self.tokens, self.at = sentence, tokens, index
        self.lex, self.known = lexicon(), vocabulary()
        self.attributes: list[Attribute] = []
        self.relation: Relation | None = None
        self._related = ""  # the related noun
        self._of_part = False  # what is read is said of a part: "whose rim is red"

    def read(self) -> None:
        """Read all chains of the head; after the relation only what is not said of the related object."""
        while self.at < len(self.tokens):
            first = self.at
            negated = self._skip()
            if self.relation is not None and not self._of_head(first):
                return
            begin = self.at
            self._chain(first, negated=negated)
            if self.at == begin:
                return

    def _low(self, index: int) -> str:
        return self.tokens[index].low if 0 <= index < len(self.tokens) else ""

    def _skip(self) -> bool:
        """Goes past what leads to a chain, as "that is not slowly"; whether it denies."""
        negated = False
        while self.at < len(self.tokens):
            low, after = self._low(self.at), self._low(self.at + 1)
            if low == "whose":
                self.at = phrase_at(self.sentence, self.tokens, self.at + 1)[1] - 1
                self._of_part = True
            elif not self._leads(low, after):
                break
            elif low in {"and", "but"} and after in self.lex.auxiliaries | self.lex.relatives:
                self._of_part = False
            negated |= _denies(low, self.lex)
            self.at += 1
        return negated

    def _leads(self, low: str, after: str) -> bool:
        if low in {"have", "has", "had"}:
            return is_verbal(after, self.lex, clause=True) or after in self.lex.negations | self.lex.auxiliaries
        if low in {"to", "by", "while"}:
            return after in self.lex.verbs or after in {"being", "by"} or after.endswith("ing")
        if low in self.lex.prepositions or low in {"when", "as", "because", "if", "since", "until", "although"}:
            return low == "about" and after == "to"
        lex = self.lex
        return any(
            low in some for some in (lex.relatives, lex.auxiliaries, lex.conjunctions, lex.negations, lex.adverbs)
        )

    def _of_head(self, first: int) -> bool:
        """Whether a chain after a related object is said of the head, not of that object."""
        if "," in self.sentence[self.tokens[first - 1].end : self.tokens[first].start]:
            return True
        low = self._low(first)
        if low in {"that", "which", "whose", "where"}:
            return False
        acts = low in self.lex.negations or low == "who" or is_verbal(low, self.lex, clause=True)
        return low in {"and", "but"} or (acts and self._related not in self.known.animate)

    def _chain(self, first: int, *, negated: bool) -> None:
        begin, chain = self.at, list[int]()
        while self.at < len(self.tokens):
            place = self._place()
            if place is not None and place[1]:
                continue
            if place is not None:
                chain.append(place[0])
                break
            role = self._role(begin)
            if not role:
                if self._low(self.at) in self.lex.conjunctions:
                    break
                noun, _ = phrase_at(self.sentence, self.tokens, self.at, related=True)
                if noun is not None and self._object(
                    NounPhrase(noun, self.at, noun + 1), begin, chain, negated=negated
                ):
                    return
                break
            if role != "link":
                chain.append(self.at)
            negated |= _denies(self._low(self.at), self.lex)
            self.at += 1
        self._qualities(chain, first, negated=negated)

    def _role(self, begin: int) -> Literal["verb", "link", "quality", ""]:
        """What the next word is in a chain; nothing where a noun phrase or something else begins."""
        low, after = self._low(self.at), self._low(self.at + 1)
        if self.at == begin and (is_verbal(low, self.lex, clause=True) or self._plain_verb(low)):
            return "verb"
        if low.endswith("ing") and after in self.lex.determiners and self._low(self.at - 1) in self.lex.verbs:
            return "link"  # "blow drying his hair"
        if low in self.lex.prepositions or low in self.lex.adverbs or low == "as":
            return "link"
        if phrase_at(self.sentence, self.tokens, self.at, related=True)[0] is not None:
            return ""
        if low in self.lex.determiners:
            return "link"  # "that is the largest"
        ordinal = low in self.lex.numbers and low not in self.lex.many
        return "quality" if low in self.lex.adjectives or low in self.known.kinds or ordinal else ""

    def _plain_verb(self, low: str) -> bool:
        """Whether it is a verb without ending: "to make", "didn't make", "boy wear plain shirt", "has"."""
        led = self._low(self.at - 1) in {"to", "by"} | self.lex.negations | self.lex.auxiliaries
        return low in {"have", "has", "had"} or (low in self.lex.verbs and (led or low not in self.lex.nouns))

    def _qualities(self, chain: Sequence[int], first: int, *, negated: bool) -> None:
        """Attributes of the words of a chain that goes to no object."""
        for index in chain:
            if not self._of_part and (len(chain) == 1 or self._low(index) not in _STANDS):
                place = (index, first, max(self.at, index + 1))
                self.attributes.append(_attribute(self.tokens, place, negated=negated))

    def _object(self, phrase: NounPhrase, begin: int, chain: list[int], *, negated: bool) -> bool:
        """A noun phrase at the end of a chain: whether it is a related object, not a part of what is said."""
        low, known = self._low(phrase.noun), self.known
        self.at = phrase.end
        if phrase.first == begin and self._low(begin) in {"his", "her", "its", "their"}:
            self._of_part = True  # "and his clothes are orange"
        if phrase.noun == phrase.first and known.kinds.get(low) == "colour":
            chain.append(phrase.noun)  # "in orange"
            return False
        direct = self._low(phrase.first - 1) == self._low(chain[-1]) if chain else False
        viewer = low in known.viewer and (not direct or self._low(chain[-1]).startswith("fac"))
        if viewer and not chain and self._low(begin) in known.kinds:
            chain.append(begin)  # "near me"
        if viewer or low in known.light or low in known.time or (low in known.picture and not direct):
            return False
        if self.relation is None and phrase.first > begin and not self._of_part:
            self.relation = Relation(
                words=_span(self.tokens, begin, phrase.first),
                related=_span(self.tokens, phrase.first, phrase.noun + 1),
                head=_span(self.tokens, _compound(self.sentence, self.tokens, phrase), phrase.noun + 1),
                noun=_span(self.tokens, phrase.noun, phrase.noun + 1),
                negated=negated,
            )
        self._related = low
        return True

    def _leads_on(self, index: int) -> bool:
        """Whether a word ends "on the left": "not", "wearing"."""
        return self._low(index) in self.lex.function_words or self._low(index).endswith("ing")

    def _place(self) -> tuple[int, bool] | None:
        """Goes past "on the left side"; its word, and whether "of" an object follows, which is gone past too."""
        index = self.at + (self._low(self.at) in _OF_PLACE)
        while self._low(index) in _VERY:
            index += 1
        if self._low(index) not in self.known.absolute:
            return None
        while self._low(index + 1) in self.known.absolute:
            index += 1
        word = index
        index += 2 if self._low(index + 1) == "hand" and self._low(index + 2) in self.known.place else 1
        while self._low(index) in self.known.place:
            index += 1
        noun, end = phrase_at(self.sentence, self.tokens, index + (self._low(index) in {"of", "to"}))
        if self._low(index) in {"of", "to"} and noun is not None:
            if self._low(noun) not in self.known.picture:
                self.at = index + 1
                return word, True
            index = end
        elif noun is not None and word + 1 == index and not self._leads_on(index):
            return None  # "on the left wall"
        self.at = index
        return word, False
