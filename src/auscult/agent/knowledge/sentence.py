"""What a sentence says of a study: situations, perturbations, metrics, severity, objects; by terms, without a model.

Words are compared by their stems, the longest term first; a misspelt word of a perturbation is read as it, and this is
said. Results are in the order of the file, so that the order of clauses does not matter.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import chain, zip_longest
from typing import Final, NamedTuple, TypeAlias

from auscult.agent.knowledge.denials import LISTS, MODEL_VERBS, denied, left_out
from auscult.agent.knowledge.levels import read_levels
from auscult.agent.knowledge.situations import (
    cell,
    kinds,
    lineage,
    number_in,
    raw,
    situations,
    span,
    stemmed,
    terms,
    words_of,
)
from auscult.language.categories import coco_table
from auscult.language.lexicon import lexicon

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
_SIGN: Final = re.compile(r">=|≥|<=|≤|>|<|&|(?<=\d)\+|(?<=\d)\s?[-–—]\s?(?=\d)|\b(?:min|max)\.")
_SIGNS: Final[Mapping[str, str]] = {
    ">=": "at least", "≥": "at least", "<=": "at most", "≤": "at most", ">": "over", "<": "under", "&": "and",
    "+": "or more", "-": "to", "–": "to", "—": "to", "min.": "min", "max.": "max",
}  # fmt: skip
_HYPHENED: Final = re.compile(r"\b[^\W\d_]+(?:-[^\W\d_]+)+\b")
_NOTHING: Final = "No situation, perturbation, metric or object was matched."
_NOT_ENGLISH: Final = "The sentence does not read as English: nothing of it was matched."
_KINDS: Final = frozenset({"kinds", "groups"})
# objects, but not in these sentences: "in case of rain", "cars stop"
_NOT_SEEN: Final = frozenset(
    {"model", "candidate", "server", "camera", "device", "can", "light", "lights", "case", "stop", "pick up", "range"}
    | {"control", "signal", "auto", "cycle", "engine", "trunk"}
)
_HEARD: Final = "sound.background_noise"
_OF: Final = frozenset({"of", "from", "in", "at", "the", "a", "an", "other"})  # between noise and where it is
_LEAST_SPELT: Final = 6  # letters of a word of a perturbation that may be misspelt
_LEAST_SLIPPED: Final = 5  # the same of a word of a situation, of which less counts as misspelt
_LONG: Final = 10  # letters of a word that few others resemble
_NO_SLIPS: Final = frozenset({"dessert", "filed", "framing"})  # words of their own, near *desert*, *field*, *farming*
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
    most_samples: int | None = None  # how many samples are to be taken: ``only the first five clips``
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
    plain, index = _SPLIT.sub(r"leave out \1", _CONTRACTED.sub(" not ", _TERMINAL.sub(" ", plain))), _index()
    plain = _SIGN.sub(lambda found: f" {_SIGNS[found[0].strip()]} ", plain)
    plain = _names().sub(lambda found: _spoken(found[1]), plain).replace("_", " ")
    plain = _HYPHENED.sub(lambda found: index.joined(found[0]), plain)
    words = _TOKEN.findall(plain)[:MOST_WORDS]
    words = [part for word in words for part in index.spelt_out(word[:_MOST_LETTERS])]
    misspelt = {word: right for word in set(words) if (right := _corrected(word))}
    words = [misspelt.get(word, word) for word in words]
    spelt = [word for word in words if word[0].isalpha()]
    recognised = sum(word in lexicon().known or stemmed(word) in index.keys for word in spelt)
    if len(spelt) >= _FEW and recognised < _ENGLISH * len(spelt):
        return Reading(remarks=(_NOT_ENGLISH,))
    matches = list(index.matches([stemmed(word) for word in words]))
    reading = _gathered(words, matches)
    read_as = (f"{word} is read as {misspelt[word]}." for word in sorted(misspelt)[:_MOST_UNMATCHED])
    reading = replace(reading, remarks=(*reading.remarks, *read_as))
    return reading if reading.matched else replace(reading, remarks=(*reading.remarks, _NOTHING))


@lru_cache(maxsize=65_536)
def _corrected(word: str) -> str:
    return _index().corrected(word)


@cache
def _names() -> re.Pattern[str]:
    """Perturbations as commands and records write them: ``vision.motion_blur.v1``."""
    return re.compile(rf"\b({'|'.join(map(re.escape, kinds()))})(?:\.v\d+)?\b")


def _spoken(kind: str) -> str:
    """``vision motion blur`` of ``vision.motion_blur``."""
    return kind.replace(".", " ").replace("_", " ")


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
            keys = tuple(map(stemmed, _TOKEN.findall(term)))
            self._targets[keys] = tuple(dict.fromkeys((*self._targets.get(keys, ()), (table, name))))
        self._longest: dict[str, int] = defaultdict(int)
        for keys in self._targets:
            self._longest[keys[0]] = max(self._longest[keys[0]], len(keys))
        self.keys = frozenset(key for keys in self._targets for key in keys)
        self._near: dict[str, set[str]] = defaultdict(set)  # words by what they are less a letter
        spelt = {(word, table) for term, table, _ in entries for word in _TOKEN.findall(term)}
        self._of_kinds = {word for word, table in spelt if table in _KINDS and len(word) >= _LEAST_SPELT}
        places = {word for word, table in spelt if table == "situations" and len(word) >= _LEAST_SLIPPED}
        for word in (self._of_kinds | places) - lexicon().function_words:
            for near in (word, *_less_a_letter(word)):
                self._near[near].add(word)

    def joined(self, word: str) -> str:
        """``de-focus`` as ``defocus``, where that is a word of a term; other words as they are."""
        whole = word.replace("-", "")
        return whole if stemmed(whole) in self.keys else word

    def corrected(self, word: str) -> str:
        """The word of a perturbation that a misspelt one stands for: a letter too few, too many, or two exchanged.

        Words of situations are many, and others resemble them (a *form* is no *forum*): of these only slips are read.
        """
        if len(word) < _LEAST_SLIPPED - 1 or word in lexicon().known or word in _NO_SLIPS or stemmed(word) in self.keys:
            return ""
        near = {meant for part in (word, *_less_a_letter(word)) for meant in self._near.get(part, ())}
        near = {meant for meant in near if meant[0] == word[0]}
        meant = {one for one in near if len(one) != len(word) or sorted(one) == sorted(word)}
        meant = {one for one in meant if one in self._of_kinds or _is_slip(word, one)}
        return min(meant) if len(set(map(stemmed, meant))) == 1 else ""

    def spelt_out(self, word: str) -> list[str]:
        """``windless`` as ``windy free``, ``uncompressed`` as ``compressed free``; other words as they are."""
        bare, bases = word.removesuffix("less"), list[str]()
        if bare != word:
            bases = [bare + "y", *([bare] if self._names_kind(bare) else [])]  # the homeless are not outdoors
        elif word.startswith("un") and word.endswith("ed"):
            bases = [word[2:]]
        terms_ = [] if stemmed(word) in self.keys else [base for base in bases if (stemmed(base),) in self._targets]
        return [terms_[0], "free"] if terms_ else [word]

    def _names_kind(self, word: str) -> bool:
        return any(table in _KINDS for table, _ in self._targets.get((stemmed(word),), ()))

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


def _less_a_letter(word: str) -> list[str]:
    return [word[:at] + word[at + 1 :] for at in range(len(word))]


def _is_slip(word: str, meant: str) -> bool:
    """Whether neighbours are exchanged, a letter is doubled or not, or a long word lacks or has one before its end."""
    if len(word) == len(meant):
        differs = [at for at, letter in enumerate(word) if letter != meant[at]]
        return differs[1:] == [differs[0] + 1]
    short, long = sorted((word, meant), key=len)
    at = max(at for at, less in enumerate(_less_a_letter(long)) if less == short)
    return long[at] == long[at - 1] or (len(meant) >= _LONG and at < len(long) - 1)


def _told(term: str) -> Iterator[str]:
    """*dropped frames* as a sentence: *frames are dropped*; *bad wifi*: *wifi is bad*."""
    first, _, second = term.partition(" ")
    if second.isalpha() and (first.endswith("ed") or first in words_of("states")):
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
    entries += [(term, "situations", name) for name, situation in situations().items() for term in situation.terms]
    entries += [(said, table, name) for term, table, name in entries for said in _told(term)]
    entries += [(_spoken(kind), "kinds", kind) for kind in kinds()]
    entries += [
        (term, table, name)
        for table in ("objects", "traits")
        for name, text in content[table].items()
        for term in terms(text)
    ]
    nouns = [(word, name) for name, words in coco_table().categories.items() for word in (name, *words)]
    entries += [(word, "objects", name) for word, name in nouns if word not in _NOT_SEEN]
    # "type of" is no term, where "type" is one
    entries += [(term, of, of) for of in ("all levels", "dynamic", "no term") for term in terms(content["words"][of])]
    return _Index(entries)


def _gathered(words: Sequence[str], matches: Sequence[_Match]) -> Reading:
    most_samples, counted = _samples_asked(words)
    matches = _heard(words, [match for match in matches if match.start not in counted])
    conditions = (range(match.start, match.end) for match in matches if _is_condition(match))
    out = denied(words, [range(match.start, match.end) for match in matches], conditions)
    names = defaultdict[tuple[str, bool], set[str]](set)
    for match in matches:
        films = any(table == "situations" and not situations()[name].shows for table, name in match.targets)
        for table, name in match.targets:
            # a phone that films is not to be seen; an arctic region is no region of a mask
            if (films and table == "objects") or (table == "metrics" and _is_place(words, match)):
                continue
            names[table, match.start in out].add(name)
            if table in _KINDS and _alone(words, match):
                names["alone", match.start in out].add(name)
            if table == "situations" and match.of({"kinds"}):
                names["implied", False].add(name)
    present, absent = _situations(names)
    wished, unwished = _kinds(names, absent)
    objects, unobjects = names["objects", False], names["objects", True]
    both = [*names["kinds", False] & names["kinds", True], *names["situations", False] & names["situations", True]]
    inside = {index: match for match in matches for index in range(match.start, match.end)}
    levels, own, read, unusable = read_levels(
        words, lambda index: _named(inside[index]) if index in inside else set(), inside.keys()
    )
    if any(match.of({"all levels"}) for match in matches):
        levels = ("low", "medium", "high")
    remarks = [f"Severities are more than 0 and 5 at most: {number} is not used." for number in unusable]
    remarks += [f"The sentence both names and denies {name}: it is taken." for name in both]
    return Reading(
        situations=_in_order(situations(), present),
        denied=_in_order(situations(), absent),
        wished=_in_order(kinds(), wished),
        unwished=_in_order(kinds(), unwished),
        only=bool(names["alone", False] | names["alone", True]),
        metrics=_in_order(raw()["metrics"], names["metrics", False] - names["metrics", True]),
        most_samples=most_samples,
        levels=levels,
        own_levels=tuple((kind, own[kind]) for kind in kinds() if kind in own),
        dynamic=bool(names["dynamic", False]),
        objects=tuple(sorted(objects)),
        unobjects=tuple(sorted(unobjects - objects)),
        traits=_in_order(raw()["traits"], names["traits", False]),
        remarks=tuple(sorted([*remarks, *_contradictions(present)])),
        unmatched=_unmatched(words, matches, levels={*read, *levels}, counted=counted),
    )


def _is_condition(match: _Match) -> bool:
    """Whether a term is of a perturbation, or of a situation that is no place, subject or time."""
    names = [name for table, name in match.targets if table == "situations"]
    return match.of(_KINDS) or any(not situations()[name].shows and name not in chain(*OPPOSITE) for name in names)


def _is_place(words: Sequence[str], match: _Match) -> bool:
    """Whether a word for a metric is of a place: *in arctic regions*, *at the edge of a forest*."""
    before, after = words[max(0, match.start - 3) : match.start], words[match.end : match.end + 4]
    if words[match.start] in {"region", "regions"}:
        return match.end - match.start == 1 and not {"in", "from", "across", "throughout"}.isdisjoint(before)
    at = before[-2:] in (["at", "the"], ["on", "the"], ["near", "the"], ["along", "the"], ["by", "the"])
    masks = {"mask", "masks", "object", "objects"}
    return words[match.start] in {"edge", "border"} and at and after[:1] == ["of"] and masks.isdisjoint(after)


def _heard(words: Sequence[str], matches: Sequence[_Match]) -> list[_Match]:
    """The matches, where noise of a place or a thing is what is heard there: *noisy bar*, *noise from the street*.

    *Kitchen noise* names the noise alone.
    """
    heard = list[_Match]()
    for match, after in zip_longest(matches, matches[1:]):
        before = heard.pop() if ("groups", "noise") in match.targets and heard else None
        noise = _Match(match.start, match.end, (("kinds", _HEARD),))
        if before is not None and before.end == match.start and _sounds(words, before):
            heard.append(noise._replace(start=before.start))
            continue
        heard += [] if before is None else [before]
        is_heard = ("groups", "noise") in match.targets and (
            (before is not None and words[before.end : match.start] in (["is"], ["are"]) and _sounds(words, before))
            or (after is not None and _OF.issuperset(words[match.end : after.start]) and _sounds(words, after))
        )
        heard.append(noise if is_heard else match)
    return heard


def _sounds(words: Sequence[str], match: _Match) -> bool:
    """Whether a term is of something that is heard, and not of pictures: a *bar*, but no *bar footage*."""
    if not words_of("pictures").isdisjoint(words[match.end - 1 : match.end + 1]):
        return False
    names = [name for table, name in match.targets if table == "situations"]
    return all(cell(name, _HEARD).grade == "needed" for name in names) if names else match.of({"objects"})


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
    return any(
        index > last and words[index - 1 : index] not in (["not"], ["than"]) and span("only", words, index)
        for index in places
    )


def _named(match: _Match) -> set[str]:
    """The perturbations that a match names, itself, as a group, or as rain names drops."""
    groups = {name for table, name in match.targets if table == "groups"}
    weather = _members({"weather"}, "wished")
    cells = (situations()[name].cells.items() for table, name in match.targets if table == "situations")
    of_weather = {kind for own in cells for kind, entry in own if kind in weather and entry.grade == "needed"}
    return {name for table, name in match.targets if table == "kinds"} | _members(groups, "wished") | of_weather


def _samples_asked(words: Sequence[str]) -> tuple[int | None, set[int]]:
    """How many samples are to be taken at most, as in *only the first five clips*; and the indices of *clips*."""
    places = range(0 if words_of("samples").isdisjoint(words) else len(words) - 1)
    for at in places:
        noun = at + 1 + (words[at + 1] == "first")  # "the three first clips"
        number = number_in(words[at]) if span("samples", words, noun) else None
        if words[at] == "first" and span("samples", words, at + 1) and not words[at + 1].endswith("s"):
            number = 1.0  # "only the first clip"
        if number is None or number < 1 or number != int(number):
            continue
        near = (*range(at - 3, at), *range(at + 1, noun))
        limits = [name for name in ("only", "first", "at most") for index in near if span(name, words, index)]
        if limits or span("only", words, noun + 1) or span("at most", words, noun + 1):
            return int(number), {noun}
    return None, set()


def _unmatched(
    words: Sequence[str], matches: Sequence[_Match], *, levels: set[str], counted: set[int]
) -> tuple[str, ...]:
    inside = counted.union(index for match in matches for index in range(match.start, match.end))
    bounds = ("at least", "over", "at most", "under", "or more", "or less") if levels else ()
    limits = ("first", "at most") if counted else ()
    read = {*LISTS, "rest", "asking", "only", "strength", "perturbed", "ends", "dismisses", *bounds, *limits, *levels}
    lists = read & raw()["words"].keys()
    left = {word for index, word in enumerate(words) if index not in inside and len(word) > 1 and word[0].isalpha()}
    left -= lexicon().function_words | _NOT_SEEN | {"left"}
    known = MODEL_VERBS | left_out()
    unknown = (
        word
        for word in sorted(left)
        if stemmed(word) not in known and not any(word in words_of(name) for name in lists)
    )
    return tuple(unknown)[:_MOST_UNMATCHED]
