"""Faults in verbs: a form that does not agree with its subject, or does not fit its auxiliary or tense."""

from __future__ import annotations

from collections.abc import Iterator

from auscult.language.morphology import ing
from auscult.stress.sentences.grammar_lexicon import regular_past, third
from auscult.stress.sentences.grammar_words import Fault, View, tables

_BE = ("is", "are", "was", "were", "be", "been", "being", "am")
_CLAUSE = ("that", "which", "who")


def agreement(view: View, at: int) -> Iterator[Fault]:
    """``dog bark``, ``dogs barks``, ``the dog are``."""
    low, before = view.lows[at], view.before(at)
    if low in view.known.auxiliaries and low in tables().numbers_of:
        after_to = before == "to" or (low in {"do", "have"} and before in view.known.auxiliaries)
        if not after_to:
            yield from view.replaced("agreement", at, tables().numbers_of[low])
    elif low in view.known.thirds and (before in _CLAUSE or _subject(view, at - 1, many=False)):
        yield from view.replaced("agreement", at, view.known.thirds[low])
    elif low in view.known.verbs and _several_before(view, at):
        yield from view.replaced("agreement", at, third(low))


def _subject(view: View, at: int, *, many: bool) -> bool:
    """Whether a word can be the subject of a verb right after it, and is of the number asked for."""
    return view.joined(at) and view.noun_like(at) and view.many(at) == many


def _several_before(view: View, at: int) -> bool:
    clause = view.before(at) in _CLAUSE
    return _subject(view, at - 2, many=True) if clause else _subject(view, at - 1, many=True)


def tense(view: View, at: int) -> Iterator[Fault]:
    """``is bark``, ``is sang``, ``to made``, ``was hold``, ``holded``, ``the dog be``."""
    low, known = view.lows[at], view.known
    if low in tables().tenses and low in known.auxiliaries:
        yield from view.replaced("tense", at, tables().tenses[low])
    elif low in known.ings:
        yield from _of_ing(view, at)
    elif low in known.participles or low in known.pasts:
        yield from _of_past(view, at)
    elif low in known.verbs and view.before(at) == "to":
        yield from view.replaced("tense", at, ing(third(low)))
        yield from view.replaced("tense", at, known.past_of[low] if low in known.past_of else regular_past(low))
    elif low in known.thirds and view.before(at) in _CLAUSE:
        yield from view.replaced("tense", at, ing(low))


def _of_ing(view: View, at: int) -> Iterator[Fault]:
    """A participle after ``is`` or a noun, not one before a noun: "the barking dog"."""
    low, before = view.lows[at], view.before(at)
    verb = view.known.ings[low]
    modifies = not before or before in view.known.determiners or before in view.known.adjectives
    if modifies or low in view.known.nouns:
        return
    yield from view.replaced("tense", at, verb)
    if before in _BE and verb in view.known.past_of:
        yield from view.replaced("tense", at, view.known.past_of[verb])


def _of_past(view: View, at: int) -> Iterator[Fault]:
    """A past or its participle: its base after ``is`` or a noun, and an irregular one made by rule."""
    low, before = view.lows[at], view.before(at)
    verb = view.known.participles.get(low) or view.known.pasts[low]
    if low in view.known.nouns or low in view.known.adjectives:
        return
    if before in _BE or _subject(view, at - 1, many=False):
        yield from view.replaced("tense", at, verb)
    if verb in view.known.irregular:
        yield from view.replaced("tense", at, regular_past(verb))
