"""Which terms of a sentence are denied: by *no*, by verbs such as *exclude*, by *rare*, and by what comes after them.

A denial reaches to the end of its clause, and over a list: one with *or* or *and* before its last entry, of three
entries or more, or after a verb or a colon. What is *not left out* is not denied.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from functools import cache, cached_property
from itertools import accumulate
from typing import Final

from auscult.agent.knowledge.situations import raw, span, stemmed, terms, words_of

LISTS: Final = ("denies", "excludes", "excepts", "seldom", "rare")
"""The lists of words of the file that deny."""
# "must not fail in fog" does not deny fog
MODEL_VERBS: Final = frozenset({"work", "fail", "break", "lose", "cope", "handle"})
"""Stems of what a model does."""
_ENDS: Final = frozenset(",;.!?:")
_PRONOUNS: Final = frozenset({"it", "them", "that", "those", "these", "this"})
_LINKS: Final = frozenset({"a", "an", "the", "any", "all", "and", "or", "nor"})  # between the entries of a list
_PREPOSITIONS: Final = frozenset({"in", "at", "on", "inside", "from"})
_ENDS_AFTER_TERM: Final = frozenset({"with", *_PREPOSITIONS})  # these end a denial only after what it denies
_PLACING: Final = frozenset({"in", "at", "inside", "during"})  # "no fog at night" is at night
_BETWEEN: Final = frozenset({"to", "want", "wish", "need", "reason", "be", "been", "just", "please", "mean"})
_HARDLY: Final = frozenset({"hardly", "barely", "scarcely"})  # no denial before a sense: *can hardly see*


@cache
def left_out() -> frozenset[str]:
    """Stems of verbs of one word: *excluded* and *skipped* dismiss what they are said of."""
    return frozenset(stemmed(term) for term in terms(raw()["words"]["excludes"]) if " " not in term)


@cache
def _denying() -> frozenset[str]:
    return frozenset(map(stemmed, ("free", "non", "anti", *(word for name in LISTS for word in words_of(name)))))


def denied(words: Sequence[str], matches: Sequence[range], conditions: Iterable[range] = ()) -> set[int]:
    """The starts of the terms that are denied, of all terms that were matched.

    A denial of a condition, such as fog or a crowd, says nothing against the place and the time that follow.
    """
    if _denying().isdisjoint(map(stemmed, words)):
        return set()
    return _Denials(words, matches, {condition.stop for condition in conditions}).starts()


class _Denials:
    """The words of a sentence and the terms in it."""

    def __init__(self, words: Sequence[str], matches: Sequence[range], conditions: AbstractSet[int]) -> None:
        self._words, self._matches, self._after_condition = words, matches, conditions
        # a term may hold a denial: "things that are not there"
        self._inside = {index for match in matches for index in match}

    def starts(self) -> set[int]:
        """The starts of the denied terms."""
        words, states = self._words, self._states()
        denied = {
            match.start
            for match in self._matches
            if states[match.start]
            or words[match.stop : match.stop + 1] == ["free"]
            or words[max(0, match.start - 1)] in {"non", "anti"}
        }
        clauses = self._clauses
        denied_clauses = {clauses[start] for start in denied}
        outside = [index for index in range(len(words)) if index not in self._inside]
        dismissed = {clauses[index] for index in outside if _dismisses(words, index)} - denied_clauses
        dismissed |= self._referred(outside)
        rare = {clauses[index]: index for index in outside if _rare(words, index)}
        dismissed |= self._lists_before({*dismissed, *rare})
        return denied | {
            match.start
            for match in self._matches
            if clauses[match.start] in dismissed or rare.get(clauses[match.start], 0) >= match.stop
        }

    @cached_property
    def _clauses(self) -> list[int]:
        """The clause of each word; the mark that ends one belongs to the next."""
        return list(accumulate(int(word in _ENDS or word == "but") for word in self._words))

    def _states(self) -> list[bool]:
        """Whether each word is denied by what stands before it."""
        words, state, states, listed = self._words, False, list[bool](), _or_ahead(self._words)
        # the end of what was read, the last denial, the last word of a term, and the end of a list that is denied
        past, start, met, kept = 0, 0, -1, 0
        for index, word in enumerate(words):
            state = state and not (word in _PLACING and index in self._after_condition)
            if index in self._inside:
                met = index
            elif index < past:
                pass
            elif length := span("neither", words, index) or _of_model(words, index):
                past = index + length
            elif length := span("excepts", words, index):
                state, past, start = not state, index + length, index + length - 1
            elif length := _denial(words, index):
                past, start = index + length, index
                state = not _is_undone(words, index) and words[index : past + 1] != ["no", ","]
            elif word == ":" and index and (index == past or _dismisses(words, index - 1, index - 2)):
                state, start = state or index != past, index  # "exclude: fog, snow"
            elif word in {",", "("} and state and not listed[index]:  # "no weather (fog, snow)"
                kept = kept if index < kept else self._end_of_list(start, at=index)
                state = index < kept
            elif span("ends", words, index):
                state = state and word in _ENDS_AFTER_TERM and met < start  # "do not bother with fog"
            states.append(state)
        return states

    def _end_of_list(self, start: int, *, at: int) -> int:
        """The end of the list that a denial at ``start`` reaches over from a comma on; 0 where it ends there."""
        words, entries, first = self._words, list[range](), at + 1
        for end in range(at + 1, len(words) + 1):
            over = end == len(words) or span("ends", words, end) > 0
            if over and words[end : end + 1] in (["must"], ["just"], ["and"]):  # "exclude fog, snow must be there"
                break
            if over or words[end] == ",":
                if not self._inside.intersection(range(first, end)):
                    break
                entries.append(range(first, end))
                first = end + 1
            if over or not (end in self._inside or words[end] == "," or words[end] in _LINKS):
                break
        if not entries or words[entries[0].start] == "and":
            return 0
        is_list = len(entries) > 1 or any(words[index] == "and" for index in entries[-1])
        is_clear = span("excludes", words, start) or words[start] == ":" or words[at] == "("
        reaches = is_clear or (is_list and not any(words[index] in _PREPOSITIONS for index in range(start + 1, at)))
        return entries[-1].stop if reaches else 0

    def _referred(self, outside: Iterable[int]) -> set[int]:
        """The clauses that a later denial refers to: of its own and the one before, the last with a term."""
        clauses, met = self._clauses, {self._clauses[match.start] for match in self._matches}
        back = [clauses[index] for index in outside if _refers_back(self._words, index)]
        return {max({clause - 1, clause} & met) for clause in back if {clause - 1, clause} & met}

    def _lists_before(self, ends: Iterable[int]) -> set[int]:
        """The first clauses of lists that end in these: *fog* and *snow* of *fog, snow and frost are rare*."""
        parts, found, words = defaultdict[int, list[int]](list), set[int](), self._words
        for index, clause in enumerate(self._clauses):
            parts[clause].append(index)
        for last in ends:
            of_terms = self._inside.intersection(parts[last])
            is_list = any(words[index] in {"and", "or"} and index < max(of_terms) for index in parts[last] if of_terms)
            clause = last if is_list else 0
            while clause > 0 and words[parts[clause][0]] == ",":
                clause -= 1
                entry = [index for index in parts[clause] if words[index] not in _ENDS | _LINKS]
                if not entry or not self._inside.issuperset(entry):
                    break
                found.add(clause)
        return found


def _denial(words: Sequence[str], at: int) -> int:
    """The length of a denial that begins here, a verb or another one, in words; 0 where none does."""
    return span("denies", words, at) or span("excludes", words, at)


def _is_undone(words: Sequence[str], at: int) -> bool:
    """Whether a verb of leaving out is denied itself: *do not exclude*, *we do not want to skip*."""
    before = at - 1
    while before >= 0 and words[before] in _BETWEEN:
        before -= 1
    is_verb = span("excludes", words, at) > 0 or stemmed(words[at]) in left_out() or words[at] == "left"
    return is_verb and _denial(words, before) > 0


def _rare(words: Sequence[str], at: int) -> bool:
    """Whether something is called rare here; *not at all unlikely* and *impossible to see* do not count."""
    denied = any(_denial(words, before) for before in range(at - 3, at))
    return bool(span("rare", words, at)) and not denied and words[at : at + 2] != ["impossible", "to"]


def _refers_back(words: Sequence[str], at: int) -> bool:
    """Whether a denial is of what was said before: *snow? No.*, *noise: no*, or of a pronoun: *fog, skip it*."""
    length = _denial(words, at)
    if words[at] == "no" and at:
        end = at + 1
    elif length and _PRONOUNS.intersection(words[at + length : at + length + 1]) and not _denied_before(words, at):
        end = at + length + 1
    else:
        return False
    return words[end : end + 1] in ([], *([mark] for mark in _ENDS))


def _denied_before(words: Sequence[str], at: int) -> bool:
    """Whether a denial stands right before, as in *do not skip it*."""
    return any(_denial(words, before) for before in (at - 1, at - 2))


def _of_model(words: Sequence[str], at: int) -> int:
    """The length of a denial of what the model does: *does not work in fog*, no *need not work*; 0 where none is."""
    is_fault = _denial(words, at) == 1 and words[at - 1 : at] not in (["need"], ["needs"])
    return 2 * bool(is_fault and MODEL_VERBS.intersection(map(stemmed, words[at + 1 : at + 2])))


def _dismisses(words: Sequence[str], *places: int) -> bool:
    """Whether a clause is dismissed at one of these: by *not important*, *not tested*, *skipped* or *seldom*."""
    return any(_dismisses_at(words, at) for at in places if at >= 0)


def _dismisses_at(words: Sequence[str], at: int) -> bool:
    if length := span("seldom", words, at):
        return not (length == 1 and words[at] in _HARDLY and span("senses", words, at + 1))
    if not _denial(words, at):
        is_out = words[at : at + 2] == ["left", "out"] and words[at + 2 : at + 3] != ["of"]
        is_out |= words[at].endswith("ed") and stemmed(words[at]) in left_out()
        return is_out and not _is_undone(words, at)
    near = range(at + 1, min(at + 4, len(words)))
    return any(
        span("dismisses", words, after) or (words[after].endswith("ed") and span("asking", words, after))
        for after in near
    )


def _or_ahead(words: Sequence[str]) -> list[bool]:
    """Whether an *or* follows before the clause ends, by word."""
    ahead, follows = [False] * len(words), False
    for index in range(len(words) - 1, -1, -1):
        ahead[index] = follows = not span("ends", words, index) and (follows or words[index] in {"or", "nor"})
    return ahead
