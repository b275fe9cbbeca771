"""Faults in noun phrases: articles, prepositions, the number of a noun, the order of words."""

from __future__ import annotations

from collections.abc import Iterator

from auscult.language.morphology import article, is_plural, plural
from auscult.stress.sentences.base import Edit
from auscult.stress.sentences.grammar_words import Fault, View, tables
from auscult.stress.sentences.typos_rules import as_written

_ARTICLES = ("a", "an", "the")
_ONE = ("a", "an", "one", "another", "each", "every", "this")
_INDEFINITE = ("a", "an")


def articles(view: View, at: int) -> Iterator[Fault]:
    """An article left out, written twice, or of the wrong form: ``a apple``, ``an dogs``."""
    low, word = view.lows[at], view.words[at]
    if low not in _ARTICLES or len(view.lows) == 1:
        return
    following = view.after(at)
    if following:
        yield Fault("article", at, at, Edit(word.start, view.words[at + 1].start, ""))
        right = article(following).split(" ")[0]
        yield from view.replaced("article", at, "an" if right == "a" else "a")
    yield Fault("article", at, at, Edit(word.end, word.end, f" {low}"))


def prepositions(view: View, at: int) -> Iterator[Fault]:
    """Another preposition than the right one."""
    infinitive = view.lows[at] == "to" and view.after(at) in view.known.verbs
    if not infinitive:
        for other in tables().prepositions.get(view.lows[at], ()):
            yield from view.replaced("preposition", at, other)


def number(view: View, at: int) -> Iterator[Fault]:
    """A noun of the wrong number after a word that says how many: ``two dog``, ``a dogs``."""
    low = view.lows[at]
    if low == "this" or low in {"these", "those"}:
        yield from view.replaced("agreement", at, tables().numbers_of[low])
    digits = low.isdigit() and low not in {"0", "1"}
    if not (low in _ONE or low in view.known.many or digits):
        return
    noun = _noun_of(view, at)
    if noun is None:
        return
    name = view.lows[noun]
    one = low in _ONE
    if one != is_plural(name):
        yield from view.replaced("agreement", noun, plural(name) if one else view.known.singular(name))


def _noun_of(view: View, at: int) -> int | None:
    """The noun that a determiner belongs to, at most four words on: the last of those that follow one another."""
    found = None
    for near in range(at + 1, min(at + 5, len(view.lows))):
        if not view.joined(near - 1):
            break
        low = view.lows[near]
        if view.noun_like(near) and low not in view.known.thirds:
            found = near
        elif found is not None or (low not in view.known.adjectives and low not in view.known.adverbs):
            break
    return found


def order(view: View, at: int) -> Iterator[Fault]:
    """Two words in the wrong order: ``dog black``, ``on left the``; never around a word that denies."""
    if not view.joined(at) or view.lows[at] == view.lows[at + 1]:
        return
    first, second = view.words[at], view.words[at + 1]
    pair = {view.lows[at], view.lows[at + 1]}
    if pair & view.known.negations or pair <= view.known.adjectives or not (first.spelt and second.spelt):
        return
    gap = view.sentence[first.end : second.start]
    left, right = second.text, first.text
    if first.text[:1].isupper() and not first.text[1:2].isupper() and second.text.islower() and first.text != "I":
        left, right = as_written(first.text, second.text), first.text.lower()
    yield Fault("order", at, at + 1, Edit(first.start, second.end, left + gap + right))


def repeated(view: View, at: int) -> Iterator[Fault]:
    """A word written twice: the fault of a sentence that has no room for another."""
    word = view.words[at]
    if word.spelt and word.text.isascii():
        yield Fault("order", at, at, Edit(word.end, word.end, f" {word.text}"))
