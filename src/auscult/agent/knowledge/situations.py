"""Situations and what occurs in them: ``situations.json`` read, inherited, and joined with the rules of places.

The cell of a situation and a perturbation is that of the situation or else of the nearest broader one, the strictest
if there are several. What the rules of a place exclude is impossible; without a cell the general one holds.
Perturbations are named by room and short name, ``vision.fog``; the variants of one share its cells.
"""

from __future__ import annotations

from collections.abc import Iterator, KeysView, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from types import MappingProxyType
from typing import Any, Final, Literal, TypeAlias, get_args

from auscult.errors import UnknownName
from auscult.language.lexicon import stem
from auscult.shipped import read_shipped
from auscult.stress.presets import barred, tags_of
from auscult.stress.recipe_parts import base_of, registered, room_of
from auscult.suites.r2.conditions import FIRST_MASKS

Grade: TypeAlias = Literal["needed", "plausible", "impossible"]
GRADES: Final[tuple[Grade, ...]] = get_args(Grade)
ANYWHERE: Final = "anywhere"
"""The situation of a general cell."""
FILE: Final = "src/auscult/agent/knowledge/situations.json"
_STRICTEST: Final[tuple[Grade, ...]] = ("impossible", "needed", "plausible")
_WHOLE: Final = ("ing", "er", "ment", "animal")
_RULES: Final = "stress/data/occurrence.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """Whether a perturbation is to be expected in a situation."""

    grade: Grade
    reason: str
    of: str  # the situation that has the cell: this one, a broader one, or ``ANYWHERE``
    steps: int = 0  # steps to it: 0 for the situation itself
    source: str = ""  # a publication or the file of the rules of places; empty if the entry is ours


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """A line of the file."""

    name: str
    parents: tuple[str, ...]  # what it is a case of, the nearest first
    terms: tuple[str, ...]  # words for it
    place: str  # places of ``stress.presets``, joined by a plus, whose rules hold in it; may be empty
    shows: tuple[str, ...]  # objects, sounds and situations that mark a sample of it
    cells: Mapping[str, Cell]  # of the line itself, by perturbation


@cache
def raw() -> dict[str, Any]:
    """The content of the file."""
    return read_shipped("agent/knowledge/situations.json")


def kind_of(full: str) -> str:
    """Room and short name of a perturbation, without its variant: ``vision.fog``."""
    return f"{room_of(full)}.{base_of(full).removesuffix('_r2bench')}"


@cache
def _perturbations() -> Mapping[str, str]:
    """The full name of a registered perturbation or defect of a first mask by its kind, of those the file knows."""
    names = [(kind_of(name), name) for name in (*registered(), *FIRST_MASKS)]
    return MappingProxyType({kind: name for kind, name in names if kind in raw()["kinds"]})


@cache
def kinds() -> tuple[str, ...]:
    """What the file knows of perturbations and of first masks, by room and short name; plug-ins are not in it."""
    return tuple(_perturbations())


def terms(text: str) -> tuple[str, ...]:
    """The terms of a text, which bars separate."""
    return tuple(part.strip() for part in text.split("|") if part.strip())


@cache
def _lists(name: str) -> Mapping[str, tuple[list[str], ...]]:
    """The entries of a list of words by their first words, the longest first."""
    entries = sorted((term.split() for term in terms(raw()["words"][name])), key=len, reverse=True)
    return {entry[0]: tuple(other for other in entries if other[0] == entry[0]) for entry in entries}


@cache
def _apart() -> frozenset[str]:
    return frozenset(terms(raw()["words"]["apart"]))


@lru_cache(maxsize=65_536)
def stemmed(word: str) -> str:
    """The stem of a word; some words stay whole (a meeting is not to meet, an animal is not animated).

    Those of the list ``apart`` have a key of their own: *digital* is not *digitised*, *present* no *presentation*.
    """
    bare = word.removesuffix("'s")
    if bare in _apart():
        return f"{bare}="
    return bare.removesuffix("s") if bare.removesuffix("s").endswith(_WHOLE) else stem(bare)


def words_of(name: str) -> KeysView[str]:
    """The first words of the entries of a list."""
    return _lists(name).keys()


def span(name: str, words: Sequence[str], at: int) -> int:
    """The length of the entry of a list that begins here, in words; 0 where none does."""
    entries = _lists(name).get(words[at]) if 0 <= at < len(words) else None
    return 0 if entries is None else next((len(entry) for entry in entries if entry == words[at : at + len(entry)]), 0)


@lru_cache(maxsize=65_536)
def number_in(word: str) -> float | None:
    """The number that a word is, in digits or spelt out."""
    if word[0].isdecimal():
        return float(word)
    value = read_shipped("agent/claims.json")["numbers"].get(word)
    return None if value is None else float(value)


@cache
def situations() -> Mapping[str, Situation]:
    """All situations, by name."""
    return MappingProxyType({name: _situation(name, line) for name, line in raw()["situations"].items()})


def _situation(name: str, line: Mapping[str, Any]) -> Situation:
    rows = [(grade, listed, reason) for grade in GRADES for listed, reason in line.get(grade, {}).items()]
    cells = {kind: _cell(grade, reason, of=name) for grade, listed, reason in rows for kind in listed.split()}
    return Situation(
        name=name,
        parents=terms(line.get("is", "")),
        terms=(name, *terms(line.get("terms", ""))),
        place=line.get("place", ""),
        shows=terms(line.get("shows", "")),
        cells=MappingProxyType(cells),
    )


def _cell(grade: Grade, reason: str, *, of: str) -> Cell:
    """A cell; ``[R2]`` at the end of a reason names one of the file's sources."""
    words, _, key = reason.removesuffix("]").partition(" [")
    return Cell(grade=grade, reason=words, of=of, source=raw()["sources"][key] if key else "")


@cache
def lineage(name: str) -> Mapping[str, int]:
    """A situation and all broader ones, each with its number of steps, the nearest first."""
    if name not in situations():
        raise UnknownName(f"there is no situation {name!r:.60}", expected=f"one of those in {FILE}")
    distances, ring = {name: 0}, [name]
    while ring:
        ring = [parent for child in ring for parent in situations()[child].parents if parent not in distances]
        distances |= dict.fromkeys(ring, max(distances.values()) + 1)
    return MappingProxyType(distances)


@cache
def anywhere(kind: str) -> Cell:
    """The general cell of a perturbation."""
    line = raw()["kinds"].get(kind)
    if line is None:
        raise UnknownName(f"nothing is known of {kind}", expected=f"a line under `kinds` in {FILE}")
    word, _, reason = line["anywhere"].partition(": ")
    return _cell(next(grade for grade in GRADES if grade == word), reason, of=ANYWHERE)


@cache
def cell(name: str, kind: str) -> Cell:
    """Whether a perturbation (``vision.fog``) is to be expected in a situation, by its name.

    Raises:
        UnknownName: No such situation, or nothing is known of the perturbation; says where to add it.
    """
    cells: list[Cell] = []
    for ancestor, steps in lineage(name).items():
        if cells and steps > cells[0].steps:
            break
        cells += _written(ancestor, kind, steps=steps)
    return min(cells, key=lambda entry: _STRICTEST.index(entry.grade), default=anywhere(kind))


def _written(name: str, kind: str, *, steps: int) -> Iterator[Cell]:
    """The cell of a line, else of the rules of its place."""
    situation = situations()[name]
    if kind in situation.cells:
        yield replace(situation.cells[kind], steps=steps)
    elif situation.place and kind in kinds() and (why := barred(_perturbations()[kind], tags_of(situation.place))):
        yield Cell(grade="impossible", reason=why, of=name, steps=steps, source=_RULES)


def situation_rows() -> Iterator[tuple[str, str, str, str, str, str]]:
    """Rows of the page of situations: situation, what it is a case of, perturbation, grade, reason, source."""
    for name, situation in situations().items():
        for kind in kinds():
            entry = cell(name, kind)
            yield name, ", ".join(situation.parents), kind, entry.grade, entry.reason, entry.source
