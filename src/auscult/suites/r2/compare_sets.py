"""Records read and put together: which share cases, which models are one, under which conditions all were asked.

- Records that have cases in common (same id, same hash) and sign their scores alike are one data set. Where their cases
  differ, only those that all of them have are compared.
- A model of one name and revision is one model, wherever it was asked. Another revision, or in one data set another
  seed, from which other perturbations follow, makes it another model: each then bears the name of its folder.
- Of every group of conditions (a mix, a kind alone) only those count under which every model was asked that was asked
  about the group at all, so that one average stands for the same strengths everywhere.

Correlations are over the changes of all samples of all models and data sets, one vector for each kind. A mean counts
every model on every data set alike, however many cases each has; its interval draws whole clips or photographs, within
each data set by itself, so that all models of a data set meet the same clips and every data set is in every draw.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePath
from typing import Any, Final, TypeAlias

import numpy as np

from auscult.errors import InputError, RecordError
from auscult.media.paths import safe_name
from auscult.outcome import Outcome, Signature
from auscult.record.folder import read_manifest
from auscult.record.lines import numbered_lines
from auscult.record.manifest import argument
from auscult.record.reader import require_record
from auscult.rng import generator
from auscult.score.stats.change import Change, ChangeInterval, sample_changes
from auscult.score.stats.correlation import Correlation, correlation, joined
from auscult.score.stats.resample import drawn, drawn_fields, percentile_interval, sums_by_cluster
from auscult.score.stats.samples import Clusters, Common, Counts, SampleValues, common, memberships
from auscult.stress.recipe_parts import room_of
from auscult.suites.core.conditions import CLEAN, Condition
from auscult.suites.core.grid import Cell, Grid, grid_of, joined_signature
from auscult.suites.core.numbers import GridColumns, Number
from auscult.suites.core.requests import base_name, require_log
from auscult.suites.core.results import FILE as SCORES
from auscult.suites.core.results import ResultKey, standing
from auscult.suites.r2.cases import R2Case, TaskRules, task_rules
from auscult.suites.r2.conditions import MIXES
from auscult.suites.r2.measures import static_of
from auscult.suites.r2.tables import group_name, is_baseline
from auscult.types import Doubles, Query

COMMAND: Final = "run r2"
CASES: Final = "cases.jsonl"
_AGAIN: Final = "the file was edited or damaged; run the command of this record again with --overwrite"


@dataclass(frozen=True, slots=True, kw_only=True)
class R2Record:
    """What a record says.

    Attributes:
        path: The folder.
        label: What it is called here: the folder's name, with its parent's where two are alike.
        task: The task.
        seed: The run's seed, from which every perturbation was drawn.
        data: The name of what it was run on: the end of the path, or ``scenes``.
        digests: Case id to the hash of everything that a model sees of it, and that of its true masks.
        revisions: Model to the hash of its code or weights.
        places: Key of every request to model, condition and case.
        failed: The requests that failed.
        grid: All its scores.
        finished: Whether the run came to its end.
        version: The version of auscult that made it.
    """

    path: Path
    label: str
    task: TaskRules
    seed: int
    data: str
    digests: Mapping[str, str]
    revisions: Mapping[str, str]
    places: Mapping[str, ResultKey]
    failed: frozenset[ResultKey]
    grid: Grid
    finished: bool
    version: str


def labels_of(folders: Sequence[Path]) -> tuple[str, ...]:
    """A short name for every folder, all different."""
    homes = [folder.resolve() for folder in folders]
    short = [safe_name(home.name) for home in homes]
    longer = [
        name if short.count(name) == 1 else f"{safe_name(home.parent.name)}/{name}"
        for name, home in zip(short, homes, strict=True)
    ]
    return tuple(name if longer.count(name) == 1 else f"{name} {place}" for place, name in enumerate(longer, start=1))


def read_record(folder: Path, label: str) -> R2Record:
    """Read one record."""
    require_record(folder)
    manifest = read_manifest(folder)
    if manifest["command"] != COMMAND:
        raise RecordError(f"the record is of `auscult {manifest['command']}`", path=folder, expected=f"of {COMMAND}")
    task = task_rules(str(argument(manifest, "task")))
    seed = manifest.get("seeds", {}).get("seed") if isinstance(manifest.get("seeds"), Mapping) else None
    if type(seed) is not int:
        raise RecordError("the manifest names no seed", path=folder, expected="a whole number", hint=_AGAIN)
    cases = tuple(_cases(folder / CASES, task))
    if not cases:
        raise RecordError(
            "the record holds no case", path=folder, expected=f"cases in {CASES}", hint="let the run go on first"
        )
    asked = require_log(folder)
    places = asked.places(cases, seed=seed)
    truths = {case.id: case.truth for case in cases if case.truth}
    now = standing(_scores(folder / SCORES), places, metrics=task.metrics, truths=truths)
    failed = frozenset(filter(asked.asked, now.failed))
    grid = grid_of(
        _scores(folder / SCORES),
        task=task,
        valid=places,
        cases={case.id: (case.clip, case.split) for case in cases},
        models=tuple(asked.models),
        conditions=asked.conditions,
        truths=truths,
        failed=failed,
        waiting=set(asked.waiting(places, now.scored)) - failed,
    )
    if not grid.cells:
        raise RecordError(
            "the record holds no score of its cases",
            path=folder,
            expected=f"scores in {SCORES}",
            hint="let the run go on first; errors.jsonl says what failed",
        )
    versions = manifest.get("versions")
    return R2Record(
        path=folder,
        label=label,
        task=task,
        seed=seed,
        data=PurePath(str(argument(manifest, "data") or "")).name or label,
        digests={case.id: f"{case.digest} {case.truth}" for case in cases},
        revisions=asked.models,
        places=places,
        failed=failed,
        grid=grid,
        finished="finished" in manifest,
        version=str(versions.get("auscult") or "") if isinstance(versions, Mapping) else "",
    )


def _cases(path: Path, task: TaskRules) -> Iterator[R2Case]:
    """The cases without their files: what a comparison needs is who they are, not what they show."""
    seen: set[str] = set()
    for number, row in numbered_lines(path):
        told = [*(row.get(key) for key in ("id", "clip", "split", "digest")), row.get("truth", "")]
        if not all(isinstance(one, str) for one in told) or row["id"] in seen:
            raise RecordError("the line is no case", path=path, line=number, expected="a new id, a clip", hint=_AGAIN)
        seen.add(row["id"])
        yield R2Case(
            id=row["id"],
            clip=row["clip"],
            split=row["split"],
            query=Query(),
            frames=(),
            targets=(),
            size=(0, 0),
            rate_fps=1.0,
            scored=task.scored,
            digest=row["digest"],
            truth=row.get("truth", ""),
        )


def _scores(path: Path) -> Iterator[Mapping[str, Any]]:
    for number, row in numbered_lines(path):
        if not _is_score(row):
            raise RecordError(
                "the line is no score", path=path, line=number, expected="key, metric, outcome and value", hint=_AGAIN
            )
        yield row


def _is_score(row: Mapping[str, Any]) -> bool:
    if not isinstance(row.get("key"), str):
        return False
    if row.get("outcome") == "failed":
        return isinstance(row.get("error"), Mapping)
    if not isinstance(row.get("metric"), str):
        return False
    pixels = [row[name] for name in ("both_px", "either_px") if name in row]
    if len(pixels) == 1 or any(type(one) is not int or one < 0 for one in pixels):
        return False
    if row.get("outcome") != "scored":
        return row.get("outcome") == "undefined"
    value = row.get("value")
    sound = type(value) in {int, float} and 0.0 <= value <= 1.0  # type: ignore[operator] # no NaN is
    return sound and isinstance(row.get("signature"), Mapping)


ModelNames: TypeAlias = Mapping[tuple[str, str], str]
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
    view: GridColumns
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
    """Put records of one task together."""
    groups = _groups(records)
    named = _named(groups)
    names = _set_names(groups)
    merged = [_merged(group, named) for group in groups]
    kept, dropped = _shared([grid for grid, _ in merged])
    found = tuple(
        DataSet(
            name=name,
            records=tuple(group.records),
            view=GridColumns(grid=_narrowed(grid, kept), seed=records[0].seed),
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


def _named(groups: Iterable[_Group]) -> ModelNames:
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


def _merged(group: _Group, named: ModelNames) -> tuple[Grid, int]:
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
        for model, condition in _pairs_asked(record.grid):
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


def _pairs_asked(grid: Grid) -> set[tuple[str, str]]:
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


ALL: Final = "all data sets"
LEVEL: Final = 0.95
REPLICATES: Final = 1000

MeanParts: TypeAlias = Mapping[str, Sequence[SampleValues]]
"""Data set to the values of each of its models, by sample."""


def correlations_over(views: Mapping[str, GridColumns], metric: str) -> dict[str, Correlation]:
    """Room of the kinds to the correlation of their changes, over all models and data sets joined.

    Rooms with fewer than two kinds are left out, and so are baselines, whose changes are none or chance.
    """
    places = dict.fromkeys(place for view in views.values() for place in view.grid.groups() if place[0] not in MIXES)
    rooms: dict[str, dict[str, SampleValues]] = {}
    for place in places:
        parts = {
            (model, name): changes
            for name, view in views.items()
            for model, changes in _changes(view, place, metric).items()
        }
        if parts:
            rooms.setdefault(room_of(place[0]), {})[group_name(*place)] = joined(parts)
    return {room: correlation(kinds) for room, kinds in rooms.items() if len(kinds) > 1}


def _changes(view: GridColumns, place: tuple[str, str], metric: str) -> dict[str, SampleValues]:
    """Each model's change of every sample; baselines and models that were not asked are left out."""
    found: dict[str, SampleValues] = {}
    for model in view.grid.models:
        static = static_of(view, model, place)
        if static and view.grid.asked(model, CLEAN) and not is_baseline(model):
            found[model] = sample_changes(view.scores(model, static, metric))
    return found


def kind_means(sets: Sequence[DataSet], metric: str, *, seed: int) -> tuple[Number, ...]:
    """The level and the change of every group of conditions as means over models, for each data set and over all.

    Baselines are in no mean: what does not look has nothing to lose. Nothing is returned of one model on one data set.
    """
    series: dict[str, Sequence[DataSet]] = {one.name: [one] for one in sets}
    if len(sets) > 1:
        series[ALL] = sets
    elif len([model for model in sets[0].grid.models if not is_baseline(model)]) < 2:
        return ()
    clusters = {one.name: one.grid.cases for one in sets}
    return tuple(
        Number(
            measure=measure,
            model=name,
            metric=metric,
            group=group,
            level=level,
            part=part,
            outcome=mean_over(parts, clusters, seed=seed, of=measure, levels=level or _strengths(mine, (group, part))),
            signature=mine[0].grid.signature("", metric),
        )
        for name, mine in series.items()
        for (measure, group, level, part), parts in _columns(mine, metric)
    )


def _columns(
    sets: Sequence[DataSet], metric: str
) -> Iterator[tuple[tuple[str, str, str, str], dict[str, list[SampleValues]]]]:
    """(measure, group, level, part) with the values of every model that was asked."""
    for one in dict.fromkeys((one.group, one.level, one.part) for part in sets for one in part.grid.conditions):
        levels = {part.name: _levels(part.view, one, metric) for part in sets}
        if any(levels.values()):
            yield ("level", *one), {name: found for name, found in levels.items() if found}
    for place in dict.fromkeys(place for part in sets for place in part.grid.groups()):
        changes = {part.name: list(_changes(part.view, place, metric).values()) for part in sets}
        if any(changes.values()):
            yield ("apc", place[0], "", place[1]), {name: found for name, found in changes.items() if found}


def _strengths(sets: Sequence[DataSet], place: tuple[str, str]) -> str:
    """The strengths that a mean change is over, mildest first."""
    every = (one for part in sets for model in part.grid.models for one in static_of(part.view, model, place))
    return ",".join(one.level for one in sorted(dict.fromkeys(every), key=lambda one: one.strength or 0.0))


def _levels(view: GridColumns, place: tuple[str, str, str], metric: str) -> list[SampleValues]:
    found = [one for one in view.grid.conditions if (one.group, one.level, one.part) == place]
    return [
        view.values(model, one.name, metric)
        for one in found
        for model in view.grid.models
        if view.grid.asked(model, one.name) and not is_baseline(model)
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class _DataSetMean:
    """One data set's share of a mean: its models' own means, what was drawn of them, and its clips."""

    means: tuple[float, ...]
    draws: Doubles | None
    clusters: int


def mean_over(
    parts: MeanParts,
    clusters: Mapping[str, Clusters],
    *,
    seed: int,
    of: str = "apc",
    levels: str = "",
    replicates: int = REPLICATES,
) -> Outcome[float]:
    """The mean of the means of every model on every data set.

    Example:
        >>> told = mean_over({"a": [{"x": -0.5, "y": -0.25}], "b": [{"z": -0.125}]},
        ...     {"a": {"x": 1, "y": 2}, "b": {"z": 1}}, seed=0)
        >>> told.value
        -0.25
    """
    columns = {name: [common([values]) for values in many] for name, many in parts.items()}
    counts = _added([one.counts for many in columns.values() for one in many])
    found = [
        _part([one for one in many if one.samples], clusters[name], seed=seed, key=name, replicates=replicates)
        for name, many in columns.items()
        if any(one.samples for one in many)
    ]
    means = [mean for one in found for mean in one.means]
    if not means:
        return counts.none("no sample is scored")
    value = math.fsum(means) / len(means)
    fields: dict[str, Any] = {
        "metric": f"mean {of}",
        **({"levels": levels} if levels else {}),
        "over": f"{len(means)} pairs of model and data set, each alike",
        "data_sets": len(found),
    }
    draws = [one.draws for one in found if one.draws is not None]
    if len(draws) < len(found):
        return Change(value=value, signature=Signature.of(**fields), counts=counts)
    # a model none of whose clips is drawn has no value in that draw, as one without any has none at all
    ends = percentile_interval(np.nanmean(np.hstack(draws), axis=1), level=LEVEL)
    if ends is None:
        raise InputError(f"{replicates} draws give no interval", expected="1 draw or more")
    made = drawn_fields(LEVEL, replicates) | {"drawn": "clusters within each data set"}
    return ChangeInterval(
        value=value,
        signature=Signature.of(**fields, **made),
        low=ends[0],
        high=ends[1],
        clusters=sum(one.clusters for one in found),
        replicates=replicates,
        undefined=0,
        counts=counts,
    )


def _part(many: Sequence[Common], clusters: Clusters, *, seed: int, key: str, replicates: int) -> _DataSetMean:
    samples = tuple(dict.fromkeys(sample for one in many for sample in one.samples))
    members = memberships(samples, clusters)
    total = int(members.max()) + 1
    rows = np.zeros((len(samples), 2 * len(many)))
    place = {sample: row for row, sample in enumerate(samples)}
    for column, one in enumerate(many):
        mine = [place[sample] for sample in one.samples]
        rows[mine, 2 * column] = one.values[0]
        rows[mine, 2 * column + 1] = 1.0
    draws = None
    if total >= 2:
        sums = sums_by_cluster(rows, members, total)
        rng = generator(seed, "r2", "bootstrap", "joined", key)
        draws = drawn(sums, _means, rng=rng, replicates=replicates)
    means = tuple(math.fsum(one.values[0]) / len(one.samples) for one in many)
    return _DataSetMean(means=means, draws=draws, clusters=total)


def _means(sums: Doubles) -> Doubles:
    over = sums[:, 1::2]
    means: Doubles = np.divide(sums[:, 0::2], over, out=np.full(over.shape, np.nan), where=over > 0)
    return means


def _added(many: Sequence[Counts]) -> Counts:
    return Counts(
        n=sum(one.n for one in many),
        failed=sum(one.failed for one in many),
        undefined=sum(one.undefined for one in many),
        missing=sum(one.missing for one in many),
    )
