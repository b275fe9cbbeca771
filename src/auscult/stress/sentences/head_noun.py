"""The head noun of a referring expression: ``bowl`` of "a small bowl whose rim is red".

By rules over a small English lexicon: the last noun-like word before a preposition, a clause, a participle or a mark.
A word that the lexicon does not know is taken for a noun. Text in other scripts has no head noun here.
"""

from __future__ import annotations

from collections.abc import Sequence

from auscult.stress.sentences.base import TextSpan
from auscult.stress.sentences.grammar_lexicon import Lexicon, lexicon
from auscult.stress.sentences.tokens import Word, words


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


def head_span(sentence: str) -> TextSpan | None:
    """Where the head noun stands, (start, end) in characters."""
    found = words(sentence)
    at = 0
    while at < len(found):
        head, at = _first_phrase(sentence, found, at)
        if head is not None and not _stands_for_another(found, head, at):
            return (found[head].start, found[head].end)
        at += 1
    return None


def _stands_for_another(found: Sequence[Word], head: int, at: int) -> bool:
    """Whether it is the ``pair`` of "pair of glasses", or the ``one`` of "one of the dogs"."""
    of = at < len(found) - 1 and found[at].low == "of"
    return of and (found[head].low in lexicon().groups or found[head].low == "one")


def _first_phrase(sentence: str, found: Sequence[Word], first: int) -> tuple[int | None, int]:
    """The noun of the phrase that begins at a word, and the word that ends the phrase."""
    known = lexicon()
    noun: int | None = None
    spare: int | None = None  # an adjective that is a noun too, such as orange
    for at in range(first, len(found)):
        word = found[at]
        if at > first and noun is not None and not sentence[found[at - 1].end : word.start].isspace():
            return noun, at
        joins = word.low in known.conjunctions  # "red and orange light"
        names = noun is not None or (spare is not None and not joins and not _followed_by_noun(found, at, known))
        if _ends_phrase(found, at, has_noun=names, known=known):
            return (spare if noun is None else noun), at
        if _possessive(found, at):
            noun = None
        elif _noun_like(word.low, known, after_noun=noun is not None) or (
            noun is None and _names_as_ing(found, at, known)
        ):
            noun = at
        elif word.low in known.nouns:
            spare = at
    return (spare if noun is None else noun), len(found)


def _followed_by_noun(found: Sequence[Word], at: int, known: Lexicon) -> bool:
    """Whether a noun comes next: "giant flying bird", but not "baby laughing at the cat"."""
    return at + 1 < len(found) and _noun_like(found[at + 1].low, known, after_noun=False)


def _ends_phrase(found: Sequence[Word], at: int, *, has_noun: bool, known: Lexicon) -> bool:
    low = found[at].low
    if low in known.closing or (low in known.conjunctions and has_noun):
        return True
    if not has_noun:
        return False
    if low.endswith("ing") and at + 1 < len(found) and found[at + 1].low in known.determiners:
        return True  # "person crossing the street", where crossing is a noun elsewhere
    return low in known.function_words or _is_adverb(low, known) or _is_verbal(low, known)


def _is_adverb(low: str, known: Lexicon) -> bool:
    return low in known.adverbs or (low.endswith("ly") and len(low) > 4 and low not in known.nouns)


def _is_verbal(low: str, known: Lexicon) -> bool:
    """Whether a word after a noun is a verb or participle rather than one more noun."""
    if low in known.nouns:
        return False
    if any(low in forms for forms in (known.verbs, known.thirds, known.ings, known.pasts, known.participles)):
        return True
    return low.endswith(("ing", "ed")) and len(low) > 4


def _possessive(found: Sequence[Word], at: int) -> bool:
    """Whether it owns the noun to come: ``man's``, or ``dog s`` where a tokenizer dropped the apostrophe."""
    low = found[at].low
    return low.endswith(("'s", "s'")) or low == "s" or (at + 1 < len(found) and found[at + 1].low == "s")


def _noun_like(low: str, known: Lexicon, *, after_noun: bool) -> bool:
    if not low[0].isascii() or not low[0].isalpha() or len(low) < 2 or low in known.function_words:
        return False
    if low in known.adjectives:
        return after_noun and low in known.nouns  # the light of "traffic light"
    return low in known.nouns or not (_is_verbal(low, known) or _is_adverb(low, known))


def _names_as_ing(found: Sequence[Word], at: int, known: Lexicon) -> bool:
    """Whether a word in -ing stands alone where a noun is due, as the last: "the singing"."""
    return at == len(found) - 1 and found[at].low.endswith("ing") and found[at].low not in known.function_words
