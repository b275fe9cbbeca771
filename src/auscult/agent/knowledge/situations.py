"""Situations and what occurs in them: ``situations.json`` read, inherited, and joined with the rules of places.

The cell of a situation and a perturbation is the nearest that is written on the situation or on what it is a case of,
the strictest of several; what the rules of a place bar is impossible; the rest is as anywhere. Perturbations are named
by room and short name, ``vision.fog``; the variants of one share its cells.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from types import MappingProxyType
from typing import Any, Final, Literal, TypeAlias, get_args

from auscult.errors import UnknownName
from auscult.language import data
from auscult.stress.presets import why_not
from auscult.stress.recipe_parts import base_of, registered, room_of

Grade: TypeAlias = Literal["needed", "plausible", "impossible"]
GRADES: Final[tuple[Grade, ...]] = get_args(Grade)
ANYWHERE: Final = "anywhere"
"""What says a cell that no situation does."""
FILE: Final = "src/auscult/agent/knowledge/situations.json"
_STRICTEST: Final[tuple[Grade, ...]] = ("impossible", "needed", "plausible")
_RULES: Final = "stress/data/occurrence.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """Whether a perturbation is to be expected in a situation."""

    grade: Grade
    reason: str  # why, in words
    of: str  # the situation that says so: this one, one that it is a case of, or ``ANYWHERE``
    steps: int = 0  # how far that is: 0 for the situation itself
    source: str = ""  # where it is written, where somebody wrote it before us; else empty


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """A line of the file."""

    name: str
    parents: tuple[str, ...]  # what it is a case of, the nearest meaning first
    terms: tuple[str, ...]  # words that name it
    place: str  # places of ``stress.presets``, with a plus, whose rules hold in it; may be empty
    shows: tuple[str, ...]  # objects, sounds and situations by which a sample of it is known
    cells: Mapping[str, Cell]  # what the line itself says, by perturbation


@cache
def raw() -> dict[str, Any]:
    """The file as it stands."""
    return data.read("situations", folder=__package__)


def kind_of(full: str) -> str:
    """Room and short name of a perturbation, without what tells a variant: ``vision.fog``."""
    return f"{room_of(full)}.{base_of(full).removesuffix('_r2bench')}"


@cache
def kinds() -> tuple[str, ...]:
    """The perturbations that are registered, by room and short name."""
    return tuple(dict.fromkeys(kind_of(name) for name in registered()))


def terms(text: str) -> tuple[str, ...]:
    """What stands between bars."""
    return tuple(part.strip() for part in text.split("|") if part.strip())


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
    """A situation and all it is a case of, each with how far off it is, the nearest first."""
    if name not in situations():
        raise UnknownName(f"there is no situation {name!r:.60}", expected=f"one of those in {FILE}")
    distances, ring = {name: 0}, [name]
    while ring:
        ring = [parent for child in ring for parent in situations()[child].parents if parent not in distances]
        distances |= dict.fromkeys(ring, max(distances.values()) + 1)
    return MappingProxyType(distances)


@cache
def anywhere(kind: str) -> Cell:
    """The cell of a perturbation where nothing is known of the situation."""
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
    return min(cells, key=lambda one: _STRICTEST.index(one.grade), default=anywhere(kind))


def _written(name: str, kind: str, *, steps: int) -> Iterator[Cell]:
    """What a line says itself, or else the rules of its place."""
    situation = situations()[name]
    if kind in situation.cells:
        yield replace(situation.cells[kind], steps=steps)
    elif situation.place and kind in kinds() and (barred := why_not(kind, situation.place)):
        yield Cell(grade="impossible", reason=barred, of=name, steps=steps, source=_RULES)


def situation_rows() -> Iterator[tuple[str, str, str, str, str, str]]:
    """Rows of the page of situations: situation, what it is a case of, perturbation, grade, reason, source."""
    for name, situation in situations().items():
        for kind in kinds():
            entry = cell(name, kind)
            yield name, ", ".join(situation.parents), kind, entry.grade, entry.reason, entry.source
