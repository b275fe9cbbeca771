"""What a sentence says of a study: situations, perturbations, metrics, severity, objects; by terms, without a model.

Words are compared by their stems, the longest term first. A denial reaches to the end of its clause, and over a list
that has an *or* before its last entry; an exception from a denial is wished again. Results are in the order of the
file, so that the order of clauses does not matter.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import accumulate
from typing import Final, NamedTuple, TypeAlias

from auscult.agent.knowledge.situations import kinds, lineage, raw, situations, terms
from auscult.language.categories import coco_table
from auscult.language.lexicon import lexicon, stem

OPPOSITE: Final = (("indoors", "outdoors"), ("day", "night"), ("hot weather", "winter"))
"""Pairs of situations that exclude each other."""
MOST_WORDS: Final = 20_000
"""Further words of a sentence are not read."""
_MOST_UNMATCHED: Final = 20
_ENGLISH: Final = 1 / 3  # least share of known words in English
_FEW: Final = 3  # too few words to tell the language
_MOST_LETTERS: Final = 26
_TOKEN: Final = re.compile(r"[,;.!?:()]|\d+(?:\.\d+)?|[^\W\d_]+(?:'[a-z]+)?|\w")
_TERMINAL: Final = re.compile(r"\x1b\[[\d;?]*[a-z]")  # an escape sequence of a terminal
_CONTRACTED: Final = re.compile(r"\b(?:(?:do|does|did|is|are|was|ca|wo|should|would|must)n'?t|cannot)\b|n't\b")
_SPLIT: Final = re.compile(r"\bleave (\w+(?: \w+)?) out\b")
_NOTHING: Final = "No situation, perturbation, metric or object was matched."
_NOT_ENGLISH: Final = "The sentence does not read as English: nothing of it was matched."
_KINDS: Final = frozenset({"kinds", "groups"})
_WORDS_OF_LEVELS: Final = ("low", "medium", "high")
_WHOLE: Final = ("ing", "er", "ment", "animal")
# objects, but not in these sentences
_NOT_SEEN: Final = frozenset({"model", "candidate", "server", "camera", "device", "can", "light", "lights"})
_ENDS: Final = frozenset(",;.!?:")
_PRONOUNS: Final = frozenset({"it", "them", "that", "those", "these", "this"})
_DENIALS: Final = ("denies", "excepts", "seldom", "rare")
_HARDLY: Final = frozenset({"hardly", "barely", "scarcely"})  # no denial before a sense: *can hardly see*
# "must not fail in fog" does not deny fog
_WORKS: Final = frozenset({"work", "fail", "break", "lose", "cope", "handle"})
_Names: TypeAlias = Mapping[tuple[str, bool], set[str]]  # by table, and whether they are denied


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What a sentence says; each field in the order of ``situations.json``."""

    situations: tuple[str, ...] = ()  # the situations that it names
    denied: tuple[str, ...] = ()  # situations that it excludes: ``not at night``
    wished: tuple[str, ...] = ()  # perturbations that it names, by room and short name: ``vision.motion_blur``
    unwished: tuple[str, ...] = ()  # perturbations to leave out
    only: bool = False  # whether to test the wished ones only
    metrics: tuple[str, ...] = ()  # topics of metrics in the file: ``boundary``
    levels: tuple[str, ...] = ()  # severities as ``auscult run r2`` takes them: ``low``, ``3``; empty for none
    own_levels: tuple[tuple[str, tuple[str, ...]], ...] = ()  # those of single perturbations: ``heavy fog``
    dynamic: bool = False  # whether severity is to change over time
    objects: tuple[str, ...] = ()  # to be seen or heard: categories of COCO and of the file
    unobjects: tuple[str, ...] = ()  # not to be seen or heard
    traits: tuple[str, ...] = ()  # topics of negatives of rris or tasks of avi: ``attribute``, ``hear``
    remarks: tuple[str, ...] = ()  # about contradictions and what was not understood
    unmatched: tuple[str, ...] = ()  # content words without a match, 20 at most

    @property
    def matched(self) -> bool:
        """Whether anything of situations, perturbations, metrics, objects or traits was understood."""
        parts = (self.situations, self.wished, self.metrics, self.objects, self.traits)
        return any((*parts, self.denied, self.unwished, self.unobjects))


@lru_cache(maxsize=16_384)
def read_sentence(text: str) -> Reading:
    """Read an instruction or a caption, in time linear in its length; ``remarks`` says what was not understood."""
    plain = text[: MOST_WORDS * 20].casefold().replace("’", "'").replace("w/o", "without")
    plain = _SPLIT.sub(r"leave out \1", _CONTRACTED.sub(" not ", _TERMINAL.sub(" ", plain)))
    words = _TOKEN.findall(plain)[:MOST_WORDS]
    index = _index()
    words = [part for word in words for part in index.spelt_out(word[:_MOST_LETTERS])]
    spelt = [word for word in words if word[0].isalpha()]
    recognised = sum(word in lexicon().known or _key(word) in index.keys for word in spelt)
    if len(spelt) >= _FEW and recognised < _ENGLISH * len(spelt):
        return Reading(remarks=(_NOT_ENGLISH,))
    matches = list(index.matches([_key(word) for word in words]))
    reading = _gathered(words, matches)
    return reading if reading.matched else replace(reading, remarks=(*reading.remarks, _NOTHING))


@lru_cache(maxsize=65_536)
def _key(word: str) -> str:
    """The stem of a word; some words stay whole (a meeting is not to meet, an animal is not animated)."""
    bare = word.removesuffix("'s")
    return bare.removesuffix("s") if bare.removesuffix("s").endswith(_WHOLE) else stem(bare)


class _Match(NamedTuple):
    start: int
    end: int
    targets: tuple[tuple[str, str], ...]  # (table of the file, name in it)

    def of(self, tables: Iterable[str]) -> bool:
        return any(table in tables for table, _ in self.targets)


class _Index:
    """Terms by the stems of their words."""

    def __init__(self, entries: Iterable[tuple[str, str, str]]) -> None:
        self._targets: dict[tuple[str, ...], tuple[tuple[str, str], ...]] = {}
        for term, table, name in entries:
            keys = tuple(map(_key, _TOKEN.findall(term)))
            self._targets[keys] = tuple(dict.fromkeys((*self._targets.get(keys, ()), (table, name))))
        self._longest: dict[str, int] = defaultdict(int)
        for keys in self._targets:
            self._longest[keys[0]] = max(self._longest[keys[0]], len(keys))
        self.keys = frozenset(key for keys in self._targets for key in keys)

    def spelt_out(self, word: str) -> list[str]:
        """``windless`` as ``windy free``, ``uncompressed`` as ``compressed free``; other words as they are."""
        bare, bases = word.removesuffix("less"), list[str]()
        if bare != word:
            bases = [bare + "y", *([bare] if self._names_kind(bare) else [])]  # the homeless are not outdoors
        elif word.startswith("un") and word.endswith("ed"):
            bases = [word[2:]]
        terms_ = [] if _key(word) in self.keys else [base for base in bases if (_key(base),) in self._targets]
        return [terms_[0], "free"] if terms_ else [word]

    def _names_kind(self, word: str) -> bool:
        return any(table in _KINDS for table, _ in self._targets.get((_key(word),), ()))

    def matches(self, keys: Sequence[str]) -> Iterator[_Match]:
        """The terms in a sentence, the longest first where they overlap."""
        start = 0
        while start < len(keys):
            longest = min(self._longest.get(keys[start], 0), len(keys) - start)
            ends = (start + length for length in range(longest, 0, -1))
            end = next((end for end in ends if tuple(keys[start:end]) in self._targets), 0)
            if end:
                yield _Match(start, end, self._targets[tuple(keys[start:end])])
            start = end or start + 1


def _told(term: str) -> Iterator[str]:
    """*dropped frames* as a sentence: *frames are dropped*."""
    first, _, second = term.partition(" ")
    if second.isalpha() and (first.endswith("ed") or first in {"lost", "frozen"}):
        yield from (f"{second} {first}", *(f"{second} {verb} {first}" for verb in ("is", "are", "get", "gets")))


@cache
def _index() -> _Index:
    content = raw()
    entries = [
        (term, table, name)
        for table in ("kinds", "groups", "metrics")
        for name, line in content[table].items()
        for term in terms(line["terms"])
    ]
    entries += [(said, table, name) for term, table, name in entries for said in _told(term)]
    entries += [(term, "situations", name) for name, situation in situations().items() for term in situation.terms]
    entries += [
        (term, table, name)
        for table in ("objects", "traits")
        for name, text in content[table].items()
        for term in terms(text)
    ]
    nouns = [(word, name) for name, words in coco_table().categories.items() for word in (name, *words)]
    entries += [(word, "objects", name) for word, name in nouns if word not in _NOT_SEEN]
    entries += [(term, name, name) for name in ("all levels", "dynamic") for term in terms(content["words"][name])]
    return _Index(entries)


@cache
def _words(name: str) -> Mapping[str, tuple[list[str], ...]]:
    """The entries of a list of the file by their first words, the longest first."""
    entries = sorted((term.split() for term in terms(raw()["words"][name])), key=len, reverse=True)
    return {entry[0]: tuple(other for other in entries if other[0] == entry[0]) for entry in entries}


def _span(name: str, words: Sequence[str], at: int) -> int:
    """The length of the entry of a list that begins here, in words; 0 where none does."""
    entries = _words(name).get(words[at]) if 0 <= at < len(words) else None
    return 0 if entries is None else next((len(entry) for entry in entries if entry == words[at : at + len(entry)]), 0)


@cache
def _denying() -> frozenset[str]:
    return frozenset(map(_key, ("free", *(word for name in _DENIALS for word in _words(name)))))


def _denied(words: Sequence[str], matches: Sequence[_Match]) -> set[int]:
    """The starts of the matches that are denied."""
    if _denying().isdisjoint(map(_key, words)):
        return set()
    # a term may hold a denial: "things that are not there"
    inside = {index for match in matches for index in range(match.start, match.end)}
    states, state, listed, past = list[bool](), False, _or_ahead(words), 0
    denial_start, met = 0, -1  # indices of the last denial and of the last word of a term
    for index, word in enumerate(words):
        if index in inside:
            met = index
        elif index < past:
            pass
        elif length := _span("neither", words, index) or _of_model(words, index):
            past = index + length
        elif length := _span("excepts", words, index):
            state, past = not state, index + length
        elif length := _span("denies", words, index):
            state, past, denial_start = True, index + length, index
        elif _span("ends", words, index) or (word == "," and not listed[index]):
            state = state and word == "with" and met < denial_start  # "do not bother with fog"
        states.append(state)
    denied = {match.start for match in matches if states[match.start] or words[match.end : match.end + 1] == ["free"]}
    clauses = list(accumulate(int(word in _ENDS or word == "but") for word in words))
    denied_clauses = {clauses[match.start] for match in matches if match.start in denied}
    outside = [index for index in range(len(words)) if index not in inside]
    dismissed = {clauses[index] for index in outside if _dismisses(words, index)} - denied_clauses
    dismissed |= _referred(words, clauses, {clauses[match.start] for match in matches}, outside=outside)
    rare = {clauses[index]: index for index in outside if _rare(words, index)}
    return denied | {
        match.start
        for match in matches
        if clauses[match.start] in dismissed or rare.get(clauses[match.start], 0) >= match.end
    }


def _rare(words: Sequence[str], at: int) -> bool:
    """Whether something is called rare here; *not at all unlikely* and *impossible to see* do not count."""
    denied = any(_span("denies", words, before) for before in range(at - 3, at))
    return bool(_span("rare", words, at)) and not denied and words[at : at + 2] != ["impossible", "to"]


def _referred(words: Sequence[str], clauses: Sequence[int], met: set[int], *, outside: Sequence[int]) -> set[int]:
    """The clauses that a later denial refers to; ``met`` are those with a match."""
    back = [clauses[index] for index in outside if _refers_back(words, index)]
    return {max({clause - 1, clause} & met) for clause in back if {clause - 1, clause} & met}


def _refers_back(words: Sequence[str], at: int) -> bool:
    """Whether a denial is of what was said before: *no* alone, or of a pronoun; *snow? No.*, *compression, skip it*."""
    length = _span("denies", words, at)
    if words[at] == "no" and words[at - 1] in _ENDS:
        end = at + 1
    elif length and _PRONOUNS.intersection(words[at + length : at + length + 1]) and not _denied_before(words, at):
        end = at + length + 1
    else:
        return False
    return words[end : end + 1] in ([], *([mark] for mark in _ENDS))


def _denied_before(words: Sequence[str], at: int) -> bool:
    """Whether a denial stands right before, as in *do not skip it*."""
    return any(_span("denies", words, before) for before in (at - 1, at - 2))


def _of_model(words: Sequence[str], at: int) -> int:
    """The length of a denial of what the model does: *does not work in fog*, no *need not work*; 0 where none is."""
    is_fault = _span("denies", words, at) == 1 and words[at - 1 : at] not in (["need"], ["needs"])
    return 2 * bool(is_fault and _WORKS.intersection(map(_key, words[at + 1 : at + 2])))


def _dismisses(words: Sequence[str], at: int) -> bool:
    """Whether a clause is dismissed here: by *not important*, *not tested*, *skipped* or *seldom*."""
    if length := _span("seldom", words, at):
        return not (length == 1 and words[at] in _HARDLY and _span("senses", words, at + 1))
    if not _span("denies", words, at):
        is_out = words[at : at + 2] == ["left", "out"] and words[at + 2 : at + 3] != ["of"]
        return is_out or (words[at].endswith("ed") and _key(words[at]) in _denying())
    near = range(at + 1, min(at + 4, len(words)))
    return any(
        _span("dismisses", words, after) or (words[after].endswith("ed") and _span("asking", words, after))
        for after in near
    )


def _or_ahead(words: Sequence[str]) -> list[bool]:
    """Whether an *or* follows before the clause ends, by word."""
    ahead, follows = [False] * len(words), False
    for index in range(len(words) - 1, -1, -1):
        ahead[index] = follows = not _span("ends", words, index) and (follows or words[index] in {"or", "nor"})
    return ahead


def _gathered(words: Sequence[str], matches: Sequence[_Match]) -> Reading:
    denied, names = _denied(words, matches), defaultdict[tuple[str, bool], set[str]](set)
    for match in matches:
        for table, name in match.targets:
            names[table, match.start in denied].add(name)
            if table in _KINDS and _alone(words, match):
                names["alone", match.start in denied].add(name)
            if table == "situations" and match.of({"kinds"}):
                names["implied", False].add(name)
    present, absent = _situations(names)
    wished, unwished = _kinds(names, absent)
    objects, unobjects = names["objects", False], names["objects", True]
    both = [*names["kinds", False] & names["kinds", True], *names["situations", False] & names["situations", True]]
    levels, own = _levels(words, matches)
    remarks = [f"The sentence both names and denies {name}: it is taken." for name in both]
    return Reading(
        situations=_in_order(situations(), present),
        denied=_in_order(situations(), absent),
        wished=_in_order(kinds(), wished),
        unwished=_in_order(kinds(), unwished),
        only=bool(names["alone", False] | names["alone", True]),
        metrics=_in_order(raw()["metrics"], names["metrics", False] - names["metrics", True]),
        levels=levels,
        own_levels=tuple((kind, own[kind]) for kind in kinds() if kind in own),
        dynamic=bool(names["dynamic", False]),
        objects=tuple(sorted(objects)),
        unobjects=tuple(sorted(unobjects - objects)),
        traits=_in_order(raw()["traits"], names["traits", False]),
        remarks=tuple(sorted([*remarks, *_contradictions(present)])),
        unmatched=_unmatched(words, matches, levels=(*levels, *set().union(*own.values()))),
    )


def _in_order(order: Iterable[str], names: set[str]) -> tuple[str, ...]:
    return tuple(name for name in order if name in names)


def _situations(names: _Names) -> tuple[set[str], set[str]]:
    """Situations that hold and those that are denied; to deny one of two opposites names the other."""
    present, absent = set(names["situations", False]), names["situations", True] - names["situations", False]
    pairs = [pair for opposite in OPPOSITE for pair in (opposite, opposite[::-1])]
    present |= {two for one, two in pairs if one in absent and two not in absent}
    # "snow indoors" does not also name the outdoors
    implied = present & names["implied", False]
    barred = {two for one, two in pairs for name in present - implied if one in lineage(name)}
    return {name for name in present if name not in implied or not barred & set(lineage(name))}, absent


def _kinds(names: _Names, absent: set[str]) -> tuple[set[str], set[str]]:
    """Perturbations wished and unwished; a name has precedence over the name of a group."""
    wished, unwished = names["kinds", False], names["kinds", True]
    grouped, none = (_members(names["groups", no], key) for no, key in ((False, "wished"), (True, "unwished")))
    needed = {kind for name in absent for kind, entry in situations()[name].cells.items() if entry.grade == "needed"}
    none |= needed & _members({"weather"} if needed else set(), "unwished")
    wished |= grouped - unwished
    alone = _members(names["alone", False] & names["groups", False], "unwished")
    none |= set(kinds()) - alone if alone and not wished else set()  # "only sound"
    return wished, (unwished | (none - grouped)) - wished


def _members(groups: set[str], key: str) -> set[str]:
    if not groups:
        return set()
    patterns = tuple(kind.rstrip("*") for name in groups for kind in raw()["groups"][name][key].split())
    return {kind for kind in kinds() if kind in patterns or kind.partition(".")[0] + "." in patterns}


def _contradictions(names: set[str]) -> Iterator[str]:
    for pair in OPPOSITE:
        sides = [sorted(name for name in names if side in lineage(name)) for side in pair]
        if all(sides):
            description = " and ".join(f"{' and '.join(side)} ({of})" for of, side in zip(pair, sides, strict=True))
            yield f"The sentence names {description}, which exclude one another: each is considered apart."


def _alone(words: Sequence[str], match: _Match) -> bool:
    """Whether *only* stands at most three words before a match, or right after it."""
    places = [*range(max(0, match.start - 3), match.start), match.end]
    last = max((index for index in places[:-1] if words[index] in {",", ".", ";", ":"}), default=-1)
    return any(index > last and words[index - 1 : index] != ["not"] and _span("only", words, index) for index in places)


def _levels(words: Sequence[str], matches: Sequence[_Match]) -> tuple[tuple[str, ...], dict[str, tuple[str, ...]]]:
    """Severities of all perturbations, beside *severity*; and of those that a severity stands right before."""
    inside = {index: match for match in matches for index in range(match.start, match.end)}
    levels = {"low", "medium", "high"} if any(match.of({"all levels"}) for match in matches) else set()
    own = defaultdict[str, set[str]](set)
    mentions = [
        (index, level) for level in _WORDS_OF_LEVELS for index in range(len(words)) if _span(level, words, index)
    ]
    for index, level in mentions:
        if index in inside:
            continue
        after = inside.get(index + 1)
        if any(_span("strength", words, near) for near in range(index - 2, index + 3)):
            levels.add(level)
        elif after is not None and after.of(_KINDS):
            for kind in _named(after):
                own[kind].add(level)
    for index in range(len(words)):
        if _span("strength", words, index):
            levels |= set(_numbers(words[index + 1 : index + 10]))
    ordered = (*_in_order(_WORDS_OF_LEVELS, levels), *sorted(levels - {*_WORDS_OF_LEVELS}))
    return ordered, {kind: _in_order(_WORDS_OF_LEVELS, named) for kind, named in own.items()}


def _named(match: _Match) -> set[str]:
    """The perturbations that a match names, itself or as a group."""
    groups = {name for table, name in match.targets if table == "groups"}
    return {name for table, name in match.targets if table == "kinds"} | _members(groups, "wished")


def _numbers(words: Sequence[str]) -> Iterator[str]:
    """Severities, 5 at most, that a list or a span names."""
    last, through = 0.0, False
    for word in words:
        if word[0].isdecimal() and 0 < float(word) <= 5:
            yield from (str(number) for number in range(int(last) + 1, int(float(word))) if through)
            yield f"{float(word):g}"
            last = float(word)
        elif word not in {"and", ",", "or", "of", "at", "is", "between", "to"}:
            return
        through = word == "to"


def _unmatched(words: Sequence[str], matches: Sequence[_Match], *, levels: Sequence[str]) -> tuple[str, ...]:
    inside = {index for match in matches for index in range(match.start, match.end)}
    lists = {*_DENIALS, "asking", "only", "strength", "ends", "dismisses", *levels} & raw()["words"].keys()
    left = {word for index, word in enumerate(words) if index not in inside and len(word) > 1 and word[0].isalpha()}
    left -= lexicon().function_words | _NOT_SEEN
    unknown = (
        word for word in sorted(left) if _key(word) not in _WORKS and not any(word in _words(name) for name in lists)
    )
    return tuple(unknown)[:_MOST_UNMATCHED]
