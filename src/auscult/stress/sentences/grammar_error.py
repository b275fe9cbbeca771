"""Grammar errors: agreement, tense, articles, prepositions, word order.

Source: R2-Bench, Table 1, source noise of text. Its toolbox has a chat model put them in and knows no severity for
them; here they are put in by rules, from a seed, and their number grows with the level: a tenth of the words at level 1
to half of them at level 5, at least one from level 1 on. ``rewritten`` takes a chat model instead.

The rules are English. In text without any known word, words are swapped.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Final, TypeAlias

import numpy as np

from auscult.language.lexicon import Lexicon, article, ing, is_plural, lexicon, plural, regular_past, third
from auscult.language.tokens import Word, words
from auscult.shipped import read_shipped
from auscult.stress.perturbation import Constant, Declared
from auscult.stress.sentences.base import Edit, Guard, Kept, SentenceStressor
from auscult.stress.sentences.spelling import as_written
from auscult.types import Metadata


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault that could be put into the sentence."""

    kind: str  # `agreement`, `tense`, `article`, `preposition` or `order`
    first: int  # number of the first word that it touches
    last: int  # number of the last
    edit: Edit  # what changes


@dataclass(frozen=True, slots=True, kw_only=True)
class Tables:
    """Wrong words to put in place of right ones."""

    weights: Mapping[str, float]  # how often each kind of fault is drawn
    prepositions: Mapping[str, tuple[str, ...]]  # other prepositions for one
    numbers_of: Mapping[str, str]  # the singular for the plural and the other way
    tenses: Mapping[str, str]  # a form of an auxiliary that does not fit


@cache
def tables() -> Tables:
    """Read ``data/grammar.json``."""
    raw = read_shipped("stress/sentences/data/grammar.json")
    return Tables(
        weights=MappingProxyType(raw["weights"]),
        prepositions=MappingProxyType({word: tuple(others.split()) for word, others in raw["prepositions"].items()}),
        numbers_of=MappingProxyType(raw["numbers_of"]),
        tenses=MappingProxyType(raw["tenses"]),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SentenceWords:
    """The words of one sentence."""

    sentence: str
    words: Sequence[Word]
    lows: Sequence[str]  # the words in small letters
    lexicon: Lexicon

    def low(self, index: int) -> str:
        """A word in small letters; empty before the first, after the last, and across a mark or a line."""
        return self.lows[index] if 0 <= index < len(self.lows) else ""

    def joined(self, index: int) -> bool:
        """Whether only a space lies between a word and the next."""
        if index < 0 or index + 1 >= len(self.words):
            return False
        gap = self.sentence[self.words[index].end : self.words[index + 1].start]
        return gap.isspace() and "\n" not in gap

    def before(self, index: int) -> str:
        """The word before, where only a space lies between."""
        return self.lows[index - 1] if self.joined(index - 1) else ""

    def after(self, index: int) -> str:
        """The word after, where only a space lies between."""
        return self.lows[index + 1] if self.joined(index) else ""

    def replaced(self, kind: str, index: int, form: str) -> Iterator[Fault]:
        """The fault of replacing one word; none where the new word is the same."""
        word = self.words[index]
        if form and form != self.lows[index]:
            yield Fault(kind, index, index, Edit(word.start, word.end, as_written(word.text, form)))

    def noun_like(self, index: int) -> bool:
        """Whether a word can be a noun: one of the lexicon's, or an unknown one of three letters or more."""
        low = self.low(index)
        if low in self.lexicon.nouns or self.lexicon.singular(low) in self.lexicon.nouns:
            return True
        return len(low) > 2 and low.isascii() and low.isalpha() and low not in self.lexicon.known

    def many(self, index: int) -> bool:
        """Whether a word is a noun of the plural."""
        return self.noun_like(index) and is_plural(self.lows[index])


_ARTICLES = ("a", "an", "the")
_ONE = ("a", "an", "one", "another", "each", "every", "this")


def articles(view: SentenceWords, index: int) -> Iterator[Fault]:
    """An article left out, written twice, or of the wrong form: ``a apple``, ``an dogs``."""
    low, word = view.lows[index], view.words[index]
    if low not in _ARTICLES or len(view.lows) == 1:
        return
    following = view.after(index)
    if following:
        yield Fault("article", index, index, Edit(word.start, view.words[index + 1].start, ""))
        right = article(following).split(" ")[0]
        yield from view.replaced("article", index, "an" if right == "a" else "a")
    yield Fault("article", index, index, Edit(word.end, word.end, f" {low}"))


def prepositions(view: SentenceWords, index: int) -> Iterator[Fault]:
    """Another preposition than the right one."""
    infinitive = view.lows[index] == "to" and view.after(index) in view.lexicon.verbs
    if not infinitive:
        for other in tables().prepositions.get(view.lows[index], ()):
            yield from view.replaced("preposition", index, other)


def number(view: SentenceWords, index: int) -> Iterator[Fault]:
    """A noun of the wrong number after a word that says how many: ``two dog``, ``a dogs``."""
    low = view.lows[index]
    if low == "this" or low in {"these", "those"}:
        yield from view.replaced("agreement", index, tables().numbers_of[low])
    digits = low.isdigit() and low not in {"0", "1"}
    if not (low in _ONE or low in view.lexicon.many or digits):
        return
    noun = _noun_of(view, index)
    if noun is None:
        return
    name = view.lows[noun]
    singular_count = low in _ONE
    if singular_count != is_plural(name):
        yield from view.replaced("agreement", noun, plural(name) if singular_count else view.lexicon.singular(name))


def _noun_of(view: SentenceWords, index: int) -> int | None:
    """The noun that a determiner belongs to, at most four words on: the last of those that follow one another."""
    noun = None
    for position in range(index + 1, min(index + 5, len(view.lows))):
        if not view.joined(position - 1):
            break
        low = view.lows[position]
        if view.noun_like(position) and low not in view.lexicon.thirds:
            noun = position
        elif noun is not None or (low not in view.lexicon.adjectives and low not in view.lexicon.adverbs):
            break
    return noun


def order(view: SentenceWords, index: int) -> Iterator[Fault]:
    """Two words in the wrong order: ``dog black``, ``on left the``; never around a word that denies."""
    if not view.joined(index) or view.lows[index] == view.lows[index + 1]:
        return
    first, second = view.words[index], view.words[index + 1]
    pair = {view.lows[index], view.lows[index + 1]}
    if pair & view.lexicon.negations or pair <= view.lexicon.adjectives or not (first.spelt and second.spelt):
        return
    gap = view.sentence[first.end : second.start]
    left, right = second.text, first.text
    if first.text[:1].isupper() and not first.text[1:2].isupper() and second.text.islower() and first.text != "I":
        left, right = as_written(first.text, second.text), first.text.lower()
    yield Fault("order", index, index + 1, Edit(first.start, second.end, left + gap + right))


def repeated(view: SentenceWords, index: int) -> Iterator[Fault]:
    """A word written twice: the fault of a sentence that has no room for another."""
    word = view.words[index]
    if word.spelt and word.text.isascii():
        yield Fault("order", index, index, Edit(word.end, word.end, f" {word.text}"))


_BE = ("is", "are", "was", "were", "be", "been", "being", "am")
_CLAUSE = ("that", "which", "who")


def agreement(view: SentenceWords, index: int) -> Iterator[Fault]:
    """``dog bark``, ``dogs barks``, ``the dog are``."""
    low, before = view.lows[index], view.before(index)
    if low in view.lexicon.auxiliaries and low in tables().numbers_of:
        after_to = before == "to" or (low in {"do", "have"} and before in view.lexicon.auxiliaries)
        if not after_to:
            yield from view.replaced("agreement", index, tables().numbers_of[low])
    elif low in view.lexicon.thirds and (before in _CLAUSE or _subject(view, index - 1, many=False)):
        yield from view.replaced("agreement", index, view.lexicon.thirds[low])
    elif low in view.lexicon.verbs and _several_before(view, index):
        yield from view.replaced("agreement", index, third(low))


def _subject(view: SentenceWords, index: int, *, many: bool) -> bool:
    """Whether a word can be the subject of a verb right after it, and is of the number asked for."""
    return view.joined(index) and view.noun_like(index) and view.many(index) == many


def _several_before(view: SentenceWords, index: int) -> bool:
    clause = view.before(index) in _CLAUSE
    return _subject(view, index - 2, many=True) if clause else _subject(view, index - 1, many=True)


def tense(view: SentenceWords, index: int) -> Iterator[Fault]:
    """``is bark``, ``is sang``, ``to made``, ``was hold``, ``holded``, ``the dog be``."""
    low, lexicon = view.lows[index], view.lexicon
    if low in tables().tenses and low in lexicon.auxiliaries:
        yield from view.replaced("tense", index, tables().tenses[low])
    elif low in lexicon.ings:
        yield from _of_ing(view, index)
    elif low in lexicon.participles or low in lexicon.pasts:
        yield from _of_past(view, index)
    elif low in lexicon.verbs and view.before(index) == "to":
        yield from view.replaced("tense", index, ing(third(low)))
        yield from view.replaced("tense", index, lexicon.past_of[low] if low in lexicon.past_of else regular_past(low))
    elif low in lexicon.thirds and view.before(index) in _CLAUSE:
        yield from view.replaced("tense", index, ing(low))


def _of_ing(view: SentenceWords, index: int) -> Iterator[Fault]:
    """A participle after ``is`` or a noun, not one before a noun: "the barking dog"."""
    low, before = view.lows[index], view.before(index)
    verb = view.lexicon.ings[low]
    modifies = not before or before in view.lexicon.determiners or before in view.lexicon.adjectives
    if modifies or low in view.lexicon.nouns:
        return
    yield from view.replaced("tense", index, verb)
    if before in _BE and verb in view.lexicon.past_of:
        yield from view.replaced("tense", index, view.lexicon.past_of[verb])


def _of_past(view: SentenceWords, index: int) -> Iterator[Fault]:
    """A past or its participle: its base after ``is`` or a noun, and an irregular one made by rule."""
    low, before = view.lows[index], view.before(index)
    verb = view.lexicon.participles.get(low) or view.lexicon.pasts[low]
    if low in view.lexicon.nouns or low in view.lexicon.adjectives:
        return
    if before in _BE or _subject(view, index - 1, many=False):
        yield from view.replaced("tense", index, verb)
    if verb in view.lexicon.irregular:
        yield from view.replaced("tense", index, regular_past(verb))


_Rule: TypeAlias = Callable[[SentenceWords, int], Iterator[Fault]]

_RULES: Final[Sequence[_Rule]] = (articles, prepositions, number, agreement, tense, order)


class GrammarError(Declared):
    """Puts faults in; those of one strength are there at every greater one too."""

    name = "sentences.grammar_error.v1"
    share = Constant("faults per word, at least one fault from 1 on", (0.0, 0.1, 0.2, 0.3, 0.4, 0.5))
    meta = Metadata(
        summary="puts in faults of agreement, tense, articles, prepositions and word order",
        goal="a writer who is not at home in the language: the words are known, their order and forms are not",
        modality="text",
        source="R2-Bench, Sec. 3.1, Table 1; the number of faults per level is ours",
        truth="the meaning stays; the faults are listed",
        origin="source",
    )

    def choose(self, rng: np.random.Generator, sentence: str, *, strength: float, kept: Kept = ()) -> Sequence[Edit]:
        """Draw an order among all faults that could be put in, and take the first that do not touch one another."""
        share = self.share.at(strength)
        tokens = words(sentence)
        count = max(round(share * len(tokens)), 1 if strength >= 1.0 else 0)
        view = SentenceWords(sentence=sentence, words=tokens, lows=[word.low for word in tokens], lexicon=lexicon())
        faults = possible_faults(view, Guard.over(kept))
        chosen = _first_apart([faults[index] for index in _drawn_order(rng, faults)], count)
        return sorted((fault.edit for fault in chosen), key=lambda edit: (edit.start, edit.end))


def possible_faults(view: SentenceWords, guard: Guard) -> list[Fault]:
    """Every fault that the rules know for a sentence and that touches nothing that must stay."""
    return _free(view, _RULES, guard) or _free(view, (repeated,), guard)


def _free(view: SentenceWords, rules: Sequence[_Rule], guard: Guard) -> list[Fault]:
    faults = (fault for index in range(len(view.words)) for rule in rules for fault in rule(view, index))
    return [fault for fault in faults if guard.free(fault.edit.start, fault.edit.end)]


def _drawn_order(rng: np.random.Generator, faults: Sequence[Fault]) -> list[int]:
    """A random order in which each kind comes as often as its weight asks, however many places it has."""
    counts = Counter(fault.kind for fault in faults)
    weights = np.array([tables().weights[fault.kind] / counts[fault.kind] for fault in faults])
    waits = rng.standard_exponential(len(faults)) / weights
    order: list[int] = np.argsort(waits, kind="stable").tolist()
    return order


def _first_apart(faults: Sequence[Fault], count: int) -> list[Fault]:
    used: set[int] = set()
    chosen: list[Fault] = []
    for fault in faults:
        if len(chosen) >= count:
            break
        touched = range(fault.first, fault.last + 1)
        if used.isdisjoint(touched):
            used.update(touched)
            chosen.append(fault)
    return chosen


STRESSOR: SentenceStressor = GrammarError()
