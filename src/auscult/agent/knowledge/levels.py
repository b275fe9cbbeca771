"""The severities that a sentence asks for: words and numbers, lists, spans and bounds such as *at least 3*."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from itertools import pairwise, product
from math import ceil
from typing import Final, NamedTuple

from auscult.agent.knowledge.situations import number_in, span, words_of

_WORDS: Final[Mapping[str, float]] = {"low": 1.0, "medium": 3.0, "high": 5.0}
_BOUNDS: Final[Mapping[str, Callable[[float, float], bool]]] = {
    "at least": float.__ge__, "over": float.__gt__, "at most": float.__le__, "under": float.__lt__,
}  # fmt: skip
_DENIED: Final[Mapping[str, str]] = {"at least": "under", "over": "at most", "at most": "over", "under": "at least"}
_AFTER: Final[Mapping[str, str]] = {"or more": "at least", "or less": "at most"}
_LINKS: Final = frozenset(
    {"and", ",", "or", "of", "at", "is", "be", "between", "to", "from", ":", "must", "should", "not"}
)
_SAID_OF: Final = frozenset({":", "(", "is", "are", "be", "at", "should", "must"})  # from a perturbation to its level
_CHAIN: Final = frozenset({"and", "or", "to", ","})
_MOST_AHEAD: Final = 12  # words after *severity* among which its numbers are
_MOST_WORDS: Final = 4  # of a bound


class Levels(NamedTuple):
    """Severities as ``auscult run r2`` takes them."""

    general: tuple[str, ...]  # of all perturbations
    own: Mapping[str, tuple[str, ...]]  # of single ones
    read: frozenset[str]  # the words for levels that were used, by level
    unusable: tuple[str, ...]  # numbers that are no severities


@dataclass(slots=True)
class _Wanted:
    values: set[str] = field(default_factory=set)
    bounds: set[tuple[str, str]] = field(default_factory=set)  # sign and level
    barred: set[str] = field(default_factory=set)

    def levels(self) -> tuple[str, ...]:
        """What is wanted, in order: where nothing but bounds is said, all that lies within them."""
        found = set(self.values)
        if self.bounds or (self.barred and not found):
            numbers = {level for _, level in self.bounds} - _WORDS.keys()
            steps = numbers | set("12345") if numbers else set(_WORDS)
            found |= {
                step for step in steps if all(_BOUNDS[sign](_value(step), _value(to)) for sign, to in self.bounds)
            }
        return tuple(sorted(found - self.barred, key=lambda level: (level not in _WORDS, _value(level))))


def _value(level: str) -> float:
    return _WORDS.get(level) or float(level)


def read_levels(words: Sequence[str], named: Callable[[int], set[str]], inside: AbstractSet[int]) -> Levels:
    """Read severities; ``named`` gives the perturbations that the term with the word of an index names.

    Words ``inside`` terms are no severities. A level holds for all perturbations where *severity* or the like is
    near, and for one alone where it stands right before it or, with a bound, right after it.
    """
    numbered = list(_numbered(words, named, inside))
    if not numbered and not any(words_of(name) & {*words} for name in ("strength", *_WORDS)):
        return Levels((), {}, frozenset(), ())
    general, own, bounding, unusable = _Wanted(), defaultdict[str, _Wanted](_Wanted), set[int](), list[str]()
    for index in range(len(words)):
        if span("strength", words, index):
            unusable += _read_numbers(words, index, general, bounding=bounding, inside=inside)
    mentions = [(index, level) for index in range(len(words)) for level in _WORDS if span(level, words, index)]
    mentions = [(index, level) for index, level in mentions if index not in inside | bounding]
    each = _each_of_one(words, [index for index, _ in mentions], named)
    accepted, read = _accepted(words, [index for index, _ in mentions]) - each.keys(), set[str]()
    for index, level in mentions:
        sign, start, end = _bound(words, index)
        if sign and _is_denied(words, start, inside=inside):
            sign = _DENIED[sign]
        kinds = each.get(index) or named(end) or named(start - 1 if sign else _before(words, index))
        for wanted in [general] if index in accepted else [own[kind] for kind in kinds]:
            read.add(level)
            if sign:
                wanted.bounds.add((sign, level))
            elif index in accepted and _is_denied(words, start, inside=inside):
                wanted.barred.add(level)
            else:
                wanted.values.add(level)
    for kind, level in numbered:
        own[kind].values.add(level)
    of_own = {kind: wanted.levels() for kind, wanted in own.items()}
    return Levels(general.levels(), of_own, frozenset(read), tuple(unusable))


def _is_level(word: str) -> bool:
    return word[0].isdecimal() and 0 < float(word) <= 5


def _before(words: Sequence[str], at: int) -> int:
    """The last word of what a level is said of, of *fog (severe)*, *noise is low*; -1 where it is of what follows."""
    last = at - 1
    while last >= 0 and words[last] in _SAID_OF:
        last -= 1
    ends = words[at + 1 : at + 2] in ([], *([link] for link in _CHAIN)) or span("ends", words, at + 1)
    return last if ends else -1


def _each_of_one(
    words: Sequence[str], mentions: Sequence[int], named: Callable[[int], set[str]]
) -> Mapping[int, set[str]]:
    """The perturbations of levels with *severity*, where several have each its own: *high severity fog, low ... snow*.

    A single such level is said of all: *fog and snow at high severity*.
    """
    found = dict[int, set[str]]()
    for at in mentions:
        after = at + 1 + span("strength", words, at + 1)
        if after == at + 1:
            return {}
        last = at - 1
        while last >= 0 and words[last] in _SAID_OF:
            last -= 1
        found[at] = named(after) or (named(last) if last < at - 1 else set())
    kinds = [kind for own in found.values() for kind in own]
    return found if len(found) > 1 and all(found.values()) and len(kinds) == len(set(kinds)) else {}


def _numbered(
    words: Sequence[str], named: Callable[[int], set[str]], inside: AbstractSet[int]
) -> Iterator[tuple[str, str]]:
    """The perturbations with the numbers right after them."""
    for index in sorted({end + 1 for end in inside} - inside) if any(map(_is_level, words)) else ():
        if index < len(words):
            yield from product(named(index - 1), _numbers_after(words, index))


def _numbers_after(words: Sequence[str], at: int) -> set[str]:
    """The numbers right after a perturbation, as in *fog 2* and *blur at 1 to 3*; none where they count something."""
    found, last, link = set[str](), 0.0, ""
    while at < len(words) and words[at] in _SAID_OF:
        at += 1
    while at < len(words) and _is_level(words[at]):
        number = float(words[at])
        found |= {f"{number:g}", *(str(step) for step in range(int(last) + 1, ceil(number)) if link == "to")}
        last, link, at = number, "".join(words[at + 1 : at + 2]), at + 1
        if link in _CHAIN and at + 1 < len(words) and words[at + 1][0].isdecimal():
            at += 1
    over = at == len(words) or (words[at] == "." and at + 1 == len(words))  # "1. fog 2. snow"
    return found if over or words[at] in {*_CHAIN, ";", ")", "but", "with"} else set()


def _accepted(words: Sequence[str], mentions: Sequence[int]) -> set[int]:
    """The indices of levels that hold for all perturbations; *low* and *high* of *low and high severity*."""
    lists = ("strength", "perturbed")
    near = {
        index for index in mentions if any(span(of, words, at) for of in lists for at in range(index - 2, index + 3))
    }
    near |= {index for index in mentions if words[max(0, _before(words, index))] in words_of("rest")}
    linked = [(one, two) for one, two in pairwise(mentions) if _CHAIN.issuperset(words[one + 1 : two])]
    for one, two in (*linked, *reversed(linked)):
        near |= {one, two} if near.intersection((one, two)) else set()
    return near


def _read_numbers(
    words: Sequence[str], at: int, wanted: _Wanted, *, bounding: set[int], inside: AbstractSet[int]
) -> Iterator[str]:
    """Read the numbers after *severity*: a list, a span, bounds; yields those that are no severities."""
    (sign, start), last, through, opened = _sign_before(words, at), 0.0, False, False
    index = at + 1
    while index < min(len(words), at + _MOST_AHEAD):
        word, number = words[index], number_in(words[index])
        stated, length = _sign_at(words, index)
        if stated:
            sign, start, index = stated, index, index + length
            continue
        if number is None or (word.isalpha() and words[index - 1] == "of" and not sign):
            if word not in _LINKS:
                return
            through, opened = word == "to" or (word == "and" and opened), opened or word == "between"
        elif words[index - 1] == "not" and not sign:
            return
        elif not 0 < number <= 5:
            yield word
            return
        else:
            level, after = f"{number:g}", _sign_after(words, index + 1)
            if sign and _is_denied(words, start, inside=inside):
                sign = _DENIED[sign]
            if sign or after:
                wanted.bounds.add((sign or after, level))
                bounding |= set(range(start, index))
            else:
                wanted.values |= {level, *(str(step) for step in range(int(last) + 1, ceil(number)) if through)}
            sign, last, through = "", number, False
        index += 1


def _sign_at(words: Sequence[str], at: int) -> tuple[str, int]:
    """The bound that begins here, and its length in words; an empty one where none does."""
    lengths = {sign: span(sign, words, at) for sign in _BOUNDS}
    sign = max(lengths, key=lambda one: lengths[one])
    return (sign, lengths[sign]) if lengths[sign] else ("", 0)


def _sign_before(words: Sequence[str], end: int) -> tuple[str, int]:
    """The bound that ends here, but for an article, and where it begins; an empty one where none does."""
    for last in (end, end - 1) if end and words[end - 1] in {"a", "the", "of"} else (end,):
        for start in range(max(0, last - _MOST_WORDS), last):
            sign, length = _sign_at(words, start)
            if start + length == last:
                return sign, start
    return "", end


def _sign_after(words: Sequence[str], at: int) -> str:
    return next((sign for name, sign in _AFTER.items() if span(name, words, at)), "")


def _bound(words: Sequence[str], at: int) -> tuple[str, int, int]:
    """The bound of a word for a level, with where both together begin and end."""
    start = at - span("strength", words, at - 1)  # "at least severity high"
    sign, first = _sign_before(words, start)
    after = at + 1 + span("strength", words, at + 1)
    following = "" if sign else _sign_after(words, after)
    return (following, at, after) if following else (sign, first, at + 1)


def _is_denied(words: Sequence[str], at: int, *, inside: AbstractSet[int]) -> bool:
    """Whether *no*, *not at* or the like stands before."""
    for before in range(at - 1, max(-1, at - 4), -1):
        if before in inside or words[before] == "," or (span("ends", words, before) and words[before] != "must"):
            return False
        if span("denies", words, before) or span("excludes", words, before) or words[before] == "nothing":
            return True
    return False
