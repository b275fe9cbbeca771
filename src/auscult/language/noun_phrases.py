"""Noun phrases by rules: ``bowl`` of "a small bowl whose rim is red".

By rules over a small English lexicon: the last noun-like word before a preposition, a clause, a participle or a mark.
A word that the lexicon does not know is taken for a noun. Text in other scripts has no head noun here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from auscult.language.lexicon import Lexicon, lexicon
from auscult.language.tokens import Word


class NounPhrase(NamedTuple):
    """Places of words of a sentence."""

    noun: int  # the last word of the compound
    first: int  # where the reading of the phrase began
    end: int  # one past the phrase


def noun_phrase(sentence: str, tokens: Sequence[Word], first: int = 0) -> NounPhrase | None:
    """The first noun phrase at or after a word; of "pair of glasses" and "one of the dogs" the noun after ``of``."""
    at = first
    while at < len(tokens):
        noun, end = phrase_at(sentence, tokens, at)
        if noun is not None and not _stands_for_another(tokens, noun, end):
            return NounPhrase(noun, at, end)
        begun, at = at, end + 1
        if noun is None and _headless(tokens[begun:at]):
            at = next((later for later in range(at, len(tokens)) if _after_mark(sentence, tokens, later)), len(tokens))
    return None


def _headless(tokens: Sequence[Word]) -> bool:
    """Whether words up to a preposition are a phrase without noun: "the others in", "closest to"."""
    lex = lexicon()
    said = [word.low for word in tokens[:-1] if word.low not in lex.determiners | lex.closing]
    return bool(said) and tokens[-1].low in lex.prepositions - {"of"}


def _after_mark(sentence: str, tokens: Sequence[Word], at: int) -> bool:
    return not sentence[tokens[at - 1].end : tokens[at].start].isspace()


def _stands_for_another(tokens: Sequence[Word], head: int, at: int) -> bool:
    """Whether it is the ``pair`` of "pair of glasses", or the ``one`` of "one of the dogs"."""
    of = at < len(tokens) - 1 and tokens[at].low == "of"
    return of and (tokens[head].low in lexicon().groups or tokens[head].low == "one")


def phrase_at(sentence: str, tokens: Sequence[Word], first: int, *, related: bool = False) -> tuple[int | None, int]:
    """The noun of the phrase that begins at a word, and the word that ends the phrase.

    Args:
        sentence: The text.
        tokens: Its words.
        first: Where to begin.
        related: Whether no verb can follow it: ``stands`` of "next to the music stands" is a noun.
    """
    lex = lexicon()
    noun: int | None = None
    spare: int | None = None  # an adjective that is a noun too, such as orange
    for at in range(first, len(tokens)):
        word = tokens[at]
        if at > first and noun is not None and _after_mark(sentence, tokens, at):
            return noun, at
        joins = word.low in lex.conjunctions and not _begins_phrase(tokens, at + 1, lex)  # "red and orange light"
        names = noun is not None or (spare is not None and not joins and not _followed_by_noun(tokens, at, lex))
        many = (related or noun is None) and word.low in lex.thirds and lex.singular(word.low) in lex.nouns
        many = many or _is_can(tokens, at, lex)
        if not many and _ends_phrase(tokens, at, has_noun=names, lex=lex):
            return (spare if noun is None else noun), at
        many = many or (noun is None and _names_as_ing(tokens, at, lex))
        if _possessive(tokens, at):
            noun = None
        elif many or noun_like(word.low, lex, after_noun=noun is not None):
            noun = at
        elif word.low in lex.nouns or (word.low in lex.verbs and _can_be_noun(tokens, at, lex)):
            spare = at  # of verbs "the tap"
    return (spare if noun is None else noun), len(tokens)


def _can_be_noun(tokens: Sequence[Word], at: int, lex: Lexicon) -> bool:
    """Whether a verb stands where a noun is due: "the tap", "a gradual decrease in"."""
    after = tokens[at + 1].low if at + 1 < len(tokens) else "of"
    adjective = at > 0 and tokens[at - 1].low in lex.adjectives and after in {"of", "in"}
    return adjective or _begins_phrase(tokens, at - 1, lex)


def _is_can(tokens: Sequence[Word], at: int, lex: Lexicon) -> bool:
    """Whether "can" is a thing: "a trash can in", but not "the dog can jump" or "others that can be seen"."""
    if tokens[at].low != "can":
        return False
    before, after = (tokens[near].low if 0 <= near < len(tokens) else "" for near in (at - 1, at + 1))
    helps = lex.verbs | lex.negations | lex.auxiliaries | lex.pronouns
    return before not in lex.relatives | lex.pronouns | {"others"} and after not in helps


def _begins_phrase(tokens: Sequence[Word], at: int, lex: Lexicon) -> bool:
    """Whether a determiner stands there: the second of "a white top and a hat"."""
    return 0 <= at < len(tokens) and tokens[at].low in lex.determiners


def _followed_by_noun(tokens: Sequence[Word], at: int, lex: Lexicon) -> bool:
    """Whether a noun comes next: "giant flying bird", but not "baby laughing at the cat"."""
    return at + 1 < len(tokens) and noun_like(tokens[at + 1].low, lex)


def _ends_phrase(tokens: Sequence[Word], at: int, *, has_noun: bool, lex: Lexicon) -> bool:
    low = tokens[at].low
    if low in lex.closing or (low in lex.conjunctions and has_noun):
        return True
    if not has_noun:
        return False
    if low.endswith("ing") and at + 1 < len(tokens) and tokens[at + 1].low in lex.determiners:
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


def _possessive(tokens: Sequence[Word], at: int) -> bool:
    """Whether it owns the noun to come: ``man's``, or ``dog s`` where a tokenizer dropped the apostrophe."""
    low = tokens[at].low
    return low.endswith(("'s", "s'")) or low == "s" or (at + 1 < len(tokens) and tokens[at + 1].low == "s")


def noun_like(low: str, lex: Lexicon, *, after_noun: bool = False) -> bool:
    """Whether a word by itself can be a noun; what is an adjective too counts only after one."""
    if not low[0].isascii() or not low[0].isalpha() or len(low) < 2 or low in lex.function_words:
        return False
    if low in lex.adjectives:
        return after_noun and low in lex.nouns  # the light of "traffic light"
    return low in lex.nouns or not (is_verbal(low, lex) or _is_adverb(low, lex))


def _names_as_ing(tokens: Sequence[Word], at: int, lex: Lexicon) -> bool:
    """Whether a word in -ing stands alone where a noun is due, as the last: "the singing"."""
    return at == len(tokens) - 1 and tokens[at].low.endswith("ing") and tokens[at].low not in lex.function_words
