"""Records put together: which are of the same cases, which models are one, and which conditions all were asked under.

- Records that have cases in common (same id, same hash) and sign their scores alike are one data set. Where their cases
  differ, only those that all of them have are compared.
- A model of one name and revision is one model, wherever it was asked. Another revision, or in one data set another
  seed, from which other perturbations follow, makes it another model: each then bears the name of its folder.
- Of every group of conditions (a mix, a kind alone) only those count under which every model was asked that was asked
  about the group at all, so that one average stands for the same strengths everywhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from auscult.suites.r2.asking import base_name
from auscult.suites.r2.compare_reading import R2Record
from auscult.suites.r2.conditions import CLEAN, Condition
from auscult.suites.r2.grid import Cell, Grid, joined_signature
from auscult.suites.r2.measures import View
from auscult.suites.r2.tables import is_baseline

Named: TypeAlias = Mapping[tuple[str, str], str]
"""A record's label and a model of it, to what the model is called in the comparison."""

_UNSIGNED = frozenset({"version", "threshold"})


@dataclass(frozen=True, slots=True, kw_only=True)
class DataSet:
    """Records of the same cases as one grid.

    Attributes:
        name: The data's name.
        records: The records, in the order given.
        view: The scores of all of them, on the cases that all have.
        differing: Scores of one model, case and condition that two records give differently; the first one's counts.
    """

    name: str
    records: tuple[R2Record, ...]
    view: View
    differing: int

    @property
    def grid(self) -> Grid:
        """The scores."""
        return self.view.grid


@dataclass(slots=True)
class _Group:
    records: list[R2Record]
    common: dict[str, str]
    signed: dict[str, Any] = field(default_factory=dict)


def data_sets(records: Sequence[R2Record]) -> tuple[tuple[DataSet, ...], tuple[Condition, ...]]:
    """Put records of one task together.

    Args:
        records: The records, at least one.

    Returns:
        The data sets, on common cases and common conditions; and the conditions that were left out.
    """
    groups = _groups(records)
    named = _named(groups)
    names = _set_names(groups)
    merged = [_merged(group, named) for group in groups]
    kept, dropped = _shared([grid for grid, _ in merged])
    found = tuple(
        DataSet(
            name=name,
            records=tuple(group.records),
            view=View(grid=_narrowed(grid, kept), seed=records[0].seed),
            differing=differing,
        )
        for name, group, (grid, differing) in zip(names, groups, merged, strict=True)
    )
    return found, dropped


def _groups(records: Sequence[R2Record]) -> list[_Group]:
    """Each record goes to the first data set whose common cases it shares."""
    found: list[_Group] = []
    for record in records:
        signed = _signed(record.grid)
        for group in found:
            shared = {name: one for name, one in group.common.items() if record.digests.get(name) == one}
            if shared and all(group.signed.get(metric, told) == told for metric, told in signed.items()):
                group.records.append(record)
                group.common = shared
                group.signed = signed | group.signed
                break
        else:
            found.append(_Group([record], dict(record.digests), signed))
    return found


def _signed(grid: Grid) -> dict[str, Any]:
    """How scores were made, but for what may differ between models and leaves them comparable."""
    return {
        metric: {name: value for name, value in told.items() if name not in _UNSIGNED}
        for metric, told in grid.signatures.items()
    }


def _named(groups: Iterable[_Group]) -> Named:
    """Name every model; the name alone where it means one model everywhere."""
    identities: dict[tuple[str, str], tuple[str, str, str]] = {}
    for group in groups:
        seeds: dict[tuple[str, str], set[int]] = {}
        for record in group.records:
            for told in _bases(record).values():
                seeds.setdefault(told, set()).add(record.seed)
        for record in group.records:
            for model, told in _bases(record).items():
                drawn = str(record.seed) if len(seeds[told]) > 1 else ""
                identities[record.label, model] = (*told, drawn)
    first: dict[tuple[str, str, str], tuple[str, str]] = {}
    for place, identity in identities.items():
        first.setdefault(identity, place)
    names = {identity: _name(identity, first) for identity in first}
    return {place: names[identity] for place, identity in identities.items()}


def _bases(record: R2Record) -> dict[str, tuple[str, str]]:
    """Model to its name without the number that told it from another in its folder, and its revision."""
    found = {model: (base_name(model), revision) for model, revision in record.revisions.items()}
    told = list(found.values())
    alike = {model for model, one in found.items() if told.count(one) > 1}  # of one code, from two places
    return {model: (model, one[1]) if model in alike else one for model, one in found.items()}


def _name(identity: tuple[str, str, str], first: Mapping[tuple[str, str, str], tuple[str, str]]) -> str:
    """The plain name where it means one model everywhere; else that of its first folder, with the folder's."""
    others = [one for one in first if one[0] == identity[0]]
    label, model = first[identity]
    return identity[0] if len(others) == 1 else f"{model} ({label})"


def _set_names(groups: Sequence[_Group]) -> tuple[str, ...]:
    names = [group.records[0].data for group in groups]
    return tuple(
        name if names.count(name) == 1 else f"{name} ({group.records[0].label})"
        for name, group in zip(names, groups, strict=True)
    )


def _merged(group: _Group, named: Named) -> tuple[Grid, int]:
    """One grid of a group's records, and how many scores two of them give differently."""
    conditions: dict[tuple[str, str, str], Condition] = {}
    cells: dict[tuple[str, str, str], Cell] = {}
    pixels: dict[tuple[str, str], dict[str, tuple[int, int]]] = {}
    signatures: dict[str, list[Mapping[str, Any]]] = {}
    by_model: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    failed: set[tuple[str, str]] = set()
    waiting: dict[tuple[str, str], set[str]] = {}
    differing = 0
    for record in group.records:
        spelled = _spelled(record.grid.conditions, conditions)
        for (model, condition, metric), cell in record.grid.cells.items():
            place = (named[record.label, model], spelled[condition], metric)
            differing += _fill(cells.setdefault(place, Cell()), cell, group.common)
        for (model, condition), counted in record.grid.pixels.items():
            mine = pixels.setdefault((named[record.label, model], spelled[condition]), {})
            mine.update({case: one for case, one in counted.items() if case in group.common and case not in mine})
        failed |= {(named[record.label, model], spelled[condition]) for model, condition in record.grid.failed}
        for model, condition in _asked_at_all(record.grid):
            here = (named[record.label, model], spelled[condition])
            left = record.grid.waiting.get((model, condition), frozenset()) & group.common.keys()
            waiting[here] = waiting[here] & left if here in waiting else set(left)
        for (model, metric), told in record.grid.by_model.items():
            by_model.setdefault((named[record.label, model], metric), []).append(told)
        for metric, told in record.grid.signatures.items():
            signatures.setdefault(metric, []).append(told)
    first = group.records[0].grid
    models = dict.fromkeys(named[record.label, model] for record in group.records for model in record.grid.models)
    grid = Grid(
        task=first.task,
        cases={case: clip for case, clip in first.cases.items() if case in group.common},
        splits={case: split for case, split in first.splits.items() if case in group.common},
        models=tuple(sorted(models, key=is_baseline)),
        conditions=tuple(conditions.values()),
        cells=cells,
        pixels=pixels,
        signatures={metric: joined_signature(told) for metric, told in signatures.items()},
        by_model={place: joined_signature(told) for place, told in by_model.items()},
        failed=frozenset(failed),
        waiting=_waiting(waiting, cells, metric=first.task.metrics[0]),
    )
    return grid, differing


def _asked_at_all(grid: Grid) -> set[tuple[str, str]]:
    """Models and conditions of a record that it has asked, or was to ask."""
    return {(model, condition) for model, condition, _ in grid.cells} | grid.failed | grid.waiting.keys()


def _waiting(
    waiting: Mapping[tuple[str, str], set[str]], cells: Mapping[tuple[str, str, str], Cell], *, metric: str
) -> dict[tuple[str, str], frozenset[str]]:
    """What no record has asked yet: another one may have a score of it."""
    found = {}
    for (model, condition), cases in waiting.items():
        cell = cells.get((model, condition, metric), Cell())
        left = cases - cell.values.keys() - cell.undefined
        if left:
            found[model, condition] = frozenset(left)
    return found


def _spelled(mine: Iterable[Condition], known: dict[tuple[str, str, str], Condition]) -> dict[str, str]:
    """A record's names of conditions to those of the data set; two versions of one kind are two conditions."""
    found: dict[str, str] = {}
    for one in mine:
        place = (one.group, one.level, one.part)
        if place not in known:
            taken = any(other.name == one.name for other in known.values())
            known[place] = replace(one, name="_".join(place)) if taken else one
        found[one.name] = known[place].name
    return found


def _fill(cell: Cell, other: Cell, common: Mapping[str, str]) -> int:
    """Add what is not known yet; count what is known otherwise."""
    differing = 0
    for case, value in other.values.items():
        if case in common:
            differing += case in cell.undefined or cell.values.get(case, value) != value
            if case not in cell.undefined:
                cell.values.setdefault(case, value)
    for case in other.undefined & common.keys():
        if case in cell.values:
            differing += 1
        else:
            cell.undefined.add(case)
    return differing


def _shared(grids: Sequence[Grid]) -> tuple[frozenset[tuple[str, str, str]], tuple[Condition, ...]]:
    """Places of conditions that every model has that was asked about their group, and the other conditions."""
    known = {(one.group, one.level, one.part): one for grid in grids for one in grid.conditions}
    asked: dict[tuple[str, str], list[set[str]]] = {}
    for grid in grids:
        for model in grid.models:
            for group, part in grid.groups():
                levels = {one.level for one in grid.of_group(group, part) if grid.asked(model, one.name)}
                if levels:
                    asked.setdefault((group, part), []).append(levels)
    kept = {(CLEAN, CLEAN, "all")}
    for (group, part), levels_of_each in asked.items():
        kept |= {(group, level, part) for level in set.intersection(*levels_of_each)}
    unasked = {place for place in known if (place[0], place[2]) not in asked}
    dropped = tuple(one for place, one in known.items() if place not in kept | unasked)
    return frozenset(kept), dropped


def _narrowed(grid: Grid, kept: frozenset[tuple[str, str, str]]) -> Grid:
    return replace(grid, conditions=tuple(one for one in grid.conditions if (one.group, one.level, one.part) in kept))
