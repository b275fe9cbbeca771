"""What a reader of a comparison must know, in sentences: what is unfinished, left out, or not the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from auscult.errors import RecordError
from auscult.outcome import Undefined
from auscult.suites.r2.compare_models import Overall
from auscult.suites.r2.compare_reading import R2Record
from auscult.suites.r2.compare_sets import DataSet
from auscult.suites.r2.conditions import Condition
from auscult.suites.r2.relations import unranked
from auscult.suites.r2.results import Results
from auscult.suites.r2.telling import waiting_notes


def notes_of(
    sets: Sequence[DataSet],
    found: Mapping[str, Results],
    overall: Overall,
    *,
    dropped: Sequence[Condition],
    broken: Sequence[tuple[Path, RecordError]],
) -> tuple[str, ...]:
    """The notes, the gravest first."""
    return (
        *_of_records(sets, broken),
        *_of_cases(sets),
        *_of_scores(sets, found),
        *_of_all(sets, overall),
        *_of_conditions(dropped),
    )


def _of_records(sets: Sequence[DataSet], broken: Sequence[tuple[Path, RecordError]]) -> Iterator[str]:
    for folder, error in broken:
        where = "" if error.path is None else f" ({Path(error.path).name}{f':{error.line}' if error.line else ''})"
        yield f"{folder.name} is left out: {error.message}{where}."
    for record in _each(sets):
        if not record.finished:
            lot = "left out" if record.told else "counted as failed"
            yield f"{record.label} is unfinished: what has no score yet is {lot}; run it again to go on."
        elif record.grid.waiting:
            yield from (f"{record.label}: {note}" for note in waiting_notes(record.grid))
    versions = dict.fromkeys(record.version for record in _each(sets))
    if len(versions) > 1:
        yield f"The records were made by different versions of auscult: {', '.join(map(str, versions))}."


def _of_cases(sets: Sequence[DataSet]) -> Iterator[str]:
    if len(sets) > 1:
        names = ", ".join(one.name for one in sets)
        yield (
            f"{names} have no case in common (same id, same input, scored alike): models are compared case by case "
            "within each of them only."
        )
        yield from _changed(sets)
    for one in sets:
        for record in one.records:
            apart = len(record.digests) - len(one.grid.cases)
            if apart:
                yield f"{record.label}: {apart} of {len(record.digests)} cases are left out: not in all of {one.name}."
        seeds = dict.fromkeys(record.seed for record in one.records)
        if len(seeds) > 1:
            yield (
                f"{one.name}: the records have different seeds ({', '.join(map(str, seeds))}), so their models met "
                "different perturbations of the same cases; only clean scores are of the same input."
            )


def _changed(sets: Sequence[DataSet]) -> Iterator[str]:
    """Cases that only look the same, and records that are apart only by how they were scored."""
    for place, first in enumerate(sets):
        for second in sets[place + 1 :]:
            one, other = first.records[0], second.records[0]
            alike = [name for name, digest in one.digests.items() if other.digests.get(name) == digest]
            named = [name for name in one.digests if name in other.digests]
            if alike:
                yield f"{first.name} and {second.name} have {len(alike)} cases in common but score them differently."
            elif named:
                yield f"{first.name} and {second.name} have {len(named)} cases of one name but of other content."


def _of_scores(sets: Sequence[DataSet], found: Mapping[str, Results]) -> Iterator[str]:
    for one in sets:
        if one.differing:
            yield (
                f"{one.name}: {one.differing} scores of one model, case and condition differ between records; those of "
                "the record given first are used."
            )
        for model in one.grid.models:
            if not any(one.grid.cell(model, each.name, one.view.metrics[0]).values for each in one.grid.conditions):
                yield f"{one.name}: {model} has not one score."
        if len(sets) < 2:
            yield from unranked(found[one.name].ranks)
        for name in found[one.name].uninformative:
            yield f"{one.name}: {name} does not beat every baseline by an interval: its curve says nothing."


def _of_all(sets: Sequence[DataSet], overall: Overall) -> Iterator[str]:
    """What is not among the numbers over all data sets, and why."""
    if len(sets) < 2:
        return
    if overall.apart:
        names = ", ".join(overall.apart)
        yield f"Not asked on every data set, so in no number over all of them: {names}."
    for model in overall.without:
        yield f"{model} has no score under some conditions on some data set: it is left out of a ranking over all."
    if not overall.ranks:
        yield "No ranking over all data sets: fewer than two models were asked on every one."
    for one in overall.ranks:
        if isinstance(one.ranking, Undefined):
            yield f"No ranking over all data sets by {one.title}: {one.ranking.reason}."
    yield from _of_single_clips(overall)


def _of_single_clips(overall: Overall) -> Iterator[str]:
    if overall.lone:
        names = ", ".join(overall.lone)
        yield f"No interval over all data sets: of a single clip or photograph there is nothing to draw ({names})."
    for one in overall.ranks:
        if others := [name for name in getattr(one.ranking, "lone", ()) if name not in overall.lone]:
            names = ", ".join(others)
            yield f"Places by {one.title} have no interval: of {names} one clip alone is scored for all models."


def _of_conditions(dropped: Sequence[Condition]) -> Iterator[str]:
    if dropped:
        told = ", ".join(dict.fromkeys(f"{one.label} {one.level}" for one in dropped))
        yield f"Not every model was asked under these, so they are left out: {told}."


def _each(sets: Sequence[DataSet]) -> Iterator[R2Record]:
    return (record for one in sets for record in one.records)
