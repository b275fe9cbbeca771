"""Records put together: which share cases, which models are the same, which conditions all of them have.

- Records that have cases in common (same id, same hash) and sign their scores alike are one data set. Where their cases
  differ, only those that all of them have are compared.
- A model of one name and revision is one model in every record. Another revision, or in one data set another
  seed, from which other perturbations follow, makes it another model: each then bears the name of its folder.
- Of every group of conditions (a mix, a kind alone) only those count under which every model was asked that was asked
  about the group at all, so that one average stands for the same strengths everywhere.

A mean over models counts every model on every data set alike, however many cases each has. Models are held against each
other where they were asked on every data set: every number is then the mean of what it is on each, and each counts
alike. On a data set two models are held against each other case by case; nothing compares a case of one data set with
one of another. Intervals draw whole clips or photographs, within each data set by itself, so that all models of a data
set meet the same clips and every data set is in every draw.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import combinations
from typing import Any, Final, TypeAlias

import numpy as np

from auscult.outcome import Outcome
from auscult.score.stats.change import (
    Clusters,
    Common,
    SampleValues,
    Scores,
    change_fields,
    change_sums,
    changes_of,
    common,
    memberships,
    with_draws,
)
from auscult.score.stats.few_clusters import CORRELATION, GAP, SHARE, Range
from auscult.score.stats.intervals import cluster_totals, resampled
from auscult.score.stats.ranking import DataSet as Ranked
from auscult.score.stats.ranking import (
    Stratum,
    added,
    drawn_within,
    interval_over,
    rank_by_change_over,
    rank_by_score_over,
)
from auscult.suites.core.conditions import CLEAN, Condition, is_mix, part_name
from auscult.suites.core.grid import Cell, Grid, joined_signature
from auscult.suites.core.measures import Ranks, changes_by_model, static_of
from auscult.suites.core.numbers import PAPER_LEVELS, GridCell, GridColumns, Number, levels_only
from auscult.suites.core.records import SuiteRecord
from auscult.suites.core.requests import base_name
from auscult.types import Doubles

ModelNames: TypeAlias = Mapping[tuple[str, str], str]
"""A record's label and a model of it, to what the model is called in the comparison."""

_UNSIGNED = frozenset({"version", "threshold"})
_ADDING: Final = ("pixels", "classes", "sums", "answers")
"""What a grid holds of each case besides values."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DataSet:
    """Records of the same cases as one grid."""

    name: str
    records: tuple[SuiteRecord, ...]
    view: GridColumns  # the scores of all of them, on the cases that all have
    differing: int  # scores of one model, case and condition that two records give differently; the first one's counts

    @property
    def grid(self) -> Grid:
        """The scores."""
        return self.view.grid


@dataclass(slots=True)
class _Group:
    records: list[SuiteRecord]
    common: dict[str, str]
    signed: dict[str, Any] = field(default_factory=dict)


def data_sets(records: Sequence[SuiteRecord]) -> tuple[tuple[DataSet, ...], tuple[Condition, ...]]:
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
            view=GridColumns(grid=grid.narrowed(kept), seed=records[0].seed),
            differing=differing,
        )
        for name, group, (grid, differing) in zip(names, groups, merged, strict=True)
    )
    return found, dropped


def _groups(records: Sequence[SuiteRecord]) -> list[_Group]:
    """Each record goes to the first data set whose common cases it shares."""
    found: list[_Group] = []
    for record in records:
        signed = _signed(record.grid)
        for group in found:
            shared = {name: digest for name, digest in group.common.items() if record.digests.get(name) == digest}
            if shared and all(group.signed.get(metric, fields) == fields for metric, fields in signed.items()):
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
        metric: {name: value for name, value in fields.items() if name not in _UNSIGNED}
        for metric, fields in grid.signatures.items()
    }


def _named(groups: Iterable[_Group]) -> ModelNames:
    """Name every model; the name alone where it means one model everywhere."""
    identities: dict[tuple[str, str], tuple[str, str, str]] = {}
    for group in groups:
        seeds: dict[tuple[str, str], set[int]] = {}
        for record in group.records:
            for base in _bases(record).values():
                seeds.setdefault(base, set()).add(record.seed)
        for record in group.records:
            for model, base in _bases(record).items():
                drawn = str(record.seed) if len(seeds[base]) > 1 else ""
                identities[record.label, model] = (*base, drawn)
    first: dict[tuple[str, str, str], tuple[str, str]] = {}
    for key, identity in identities.items():
        first.setdefault(identity, key)
    names = {identity: _name(identity, first) for identity in first}
    return {key: names[identity] for key, identity in identities.items()}


def _bases(record: SuiteRecord) -> dict[str, tuple[str, str]]:
    """Model to its base name, without the number that makes it unique in its folder, and its revision."""
    found = {model: (base_name(model), revision) for model, revision in record.revisions.items()}
    bases = list(found.values())
    alike = {model for model, base in found.items() if bases.count(base) > 1}  # one code, found at two paths
    return {model: (model, base[1]) if model in alike else base for model, base in found.items()}


def _name(identity: tuple[str, str, str], first: Mapping[tuple[str, str, str], tuple[str, str]]) -> str:
    """The plain name where it means one model everywhere; else that of its first folder, with the folder's."""
    others = [other for other in first if other[0] == identity[0]]
    label, model = first[identity]
    return identity[0] if len(others) == 1 else f"{model} ({label})"


def _set_names(groups: Sequence[_Group]) -> tuple[str, ...]:
    names = [group.records[0].data for group in groups]
    return tuple(
        name if names.count(name) == 1 else f"{name} ({group.records[0].label})"
        for name, group in zip(names, groups, strict=True)
    )


def _merged(group: _Group, named: ModelNames) -> tuple[Grid, int]:
    """One grid of a group's records, and the number of scores that differ between records."""
    conditions: dict[tuple[str, str, str], Condition] = {}
    cells: dict[tuple[str, str, str], Cell] = {}
    adding: dict[str, dict[tuple[str, str], dict[str, Any]]] = {name: {} for name in _ADDING}
    signatures: dict[str, list[Mapping[str, Any]]] = {}
    by_model: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    failed: set[tuple[str, str]] = set()
    waiting: dict[tuple[str, str], set[str]] = {}
    differing = 0
    for record in group.records:
        spelled = _spelled(record.grid.conditions, conditions)
        for (model, condition, metric), cell in record.grid.cells.items():
            key = (named[record.label, model], spelled[condition], metric)
            differing += _fill(cells.setdefault(key, Cell()), cell, group.common)
        for name, mine in adding.items():
            for (model, condition), rows in getattr(record.grid, name).items():
                own = mine.setdefault((named[record.label, model], spelled[condition]), {})
                own.update({case: row for case, row in rows.items() if case in group.common and case not in own})
        failed |= {(named[record.label, model], spelled[condition]) for model, condition in record.grid.failed}
        for model, condition in _pairs_requested(record.grid):
            here = (named[record.label, model], spelled[condition])
            left = record.grid.waiting.get((model, condition), frozenset()) & group.common.keys()
            waiting[here] = waiting[here] & left if here in waiting else set(left)
        for (model, metric), signature in record.grid.by_model.items():
            by_model.setdefault((named[record.label, model], metric), []).append(signature)
        for metric, signature in record.grid.signatures.items():
            signatures.setdefault(metric, []).append(signature)
    first = group.records[0].grid
    models = dict.fromkeys(named[record.label, model] for record in group.records for model in record.grid.models)
    grid = Grid(
        task=first.task,
        cases={case: clip for case, clip in first.cases.items() if case in group.common},
        splits={case: split for case, split in first.splits.items() if case in group.common},
        about={case: about for case, about in first.about.items() if case in group.common},
        models=tuple(sorted(models, key=first.task.is_baseline)),
        conditions=tuple(conditions.values()),
        cells=cells,
        **adding,
        signatures={metric: joined_signature(many) for metric, many in signatures.items()},
        by_model={key: joined_signature(many) for key, many in by_model.items()},
        failed=frozenset(failed),
        waiting=_waiting(waiting, cells, metric=first.task.metrics[0]),
    )
    return grid, differing


def _pairs_requested(grid: Grid) -> set[tuple[str, str]]:
    """The pairs of model and condition with requests, made or still to be made."""
    return {(model, condition) for model, condition, _ in grid.cells} | grid.failed | grid.waiting.keys()


def _waiting(
    waiting: Mapping[tuple[str, str], set[str]], cells: Mapping[tuple[str, str, str], Cell], *, metric: str
) -> dict[tuple[str, str], frozenset[str]]:
    """The requests that no record has made yet; a case with a score in any record is not among them."""
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
    for condition in mine:
        key = condition.key
        if key not in known:
            taken = any(other.name == condition.name for other in known.values())
            known[key] = replace(condition, name="_".join(key)) if taken else condition
        found[condition.name] = known[key].name
    return found


def _fill(cell: Cell, other: Cell, common: Mapping[str, str]) -> int:
    """Add the values that are missing; count those that differ."""
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
    """Keys of the conditions that every model of their group has, and the other conditions."""
    known = {condition.key: condition for grid in grids for condition in grid.conditions}
    by_group: dict[tuple[str, str], list[set[str]]] = {}
    for grid in grids:
        for model in grid.models:
            for group, part in grid.groups():
                levels = {one.level for one in grid.of_group(group, part) if grid.is_complete(model, one.name)}
                if levels:
                    by_group.setdefault((group, part), []).append(levels)
    kept = {(CLEAN, CLEAN, "all")}
    for (group, part), levels_of_each in by_group.items():
        kept |= {(group, level, part) for level in set.intersection(*levels_of_each)}
    unasked = {key for key in known if (key[0], key[2]) not in by_group}
    dropped = tuple(condition for key, condition in known.items() if key not in kept | unasked)
    return frozenset(kept), dropped


ALL: Final = "all data sets"
LEVEL: Final = 0.95
REPLICATES: Final = 1000

MeanParts: TypeAlias = Mapping[str, Sequence[SampleValues]]
"""Data set to the values of each of its models, by sample."""


def kind_means(sets: Sequence[DataSet], metric: str) -> tuple[Number, ...]:
    """The level and the change of every group as means over models but baselines; none of one model on one set."""
    series: dict[str, Sequence[DataSet]] = {data.name: [data] for data in sets}
    if len(sets) > 1:
        series[ALL] = sets
    elif len([model for model in sets[0].grid.models if not sets[0].grid.task.is_baseline(model)]) < 2:
        return ()
    clusters = {data.name: data.grid.cases for data in sets}
    rng = partial(sets[0].view.rng, "joined")
    return tuple(
        Number(
            measure=measure,
            model=name,
            metric=metric,
            group=group,
            level=level,
            part=part,
            outcome=mean_over(parts, clusters, rng=rng, of=measure, levels=level or _strengths(mine, (group, part))),
            signature=mine[0].grid.signature("", metric),
        )
        for name, mine in series.items()
        for (measure, group, level, part), parts in _columns(mine, metric)
    )


def _columns(
    sets: Sequence[DataSet], metric: str
) -> Iterator[tuple[tuple[str, str, str, str], dict[str, list[SampleValues]]]]:
    """(measure, group, level, part) with the values of every model that was asked."""
    for key in dict.fromkeys(condition.key for part in sets for condition in part.grid.conditions):
        levels = {part.name: _levels(part.view, key, metric) for part in sets}
        if any(levels.values()):
            yield ("level", *key), {name: found for name, found in levels.items() if found}
    for group in dict.fromkeys(group for part in sets for group in part.grid.groups()):
        changes = {part.name: list(changes_by_model(part.view, group, metric).values()) for part in sets}
        if any(changes.values()):
            yield ("apc", group[0], "", group[1]), {name: found for name, found in changes.items() if found}


def _strengths(sets: Sequence[DataSet], group: tuple[str, str]) -> str:
    """The strengths that a mean change is over, mildest first."""
    every = (one for part in sets for model in part.grid.models for one in static_of(part.view, model, group))
    return ",".join(one.level for one in sorted(dict.fromkeys(every), key=lambda one: one.strength or 0.0))


def _levels(view: GridColumns, key: tuple[str, str, str], metric: str) -> list[SampleValues]:
    return [
        view.values(model, condition.name, metric)
        for condition in view.grid.conditions
        if condition.key == key
        for model in view.grid.models
        if view.grid.is_complete(model, condition.name) and not view.grid.task.is_baseline(model)
    ]


def mean_over(
    parts: MeanParts,
    clusters: Mapping[str, Clusters],
    *,
    rng: Callable[[str], np.random.Generator],
    of: str = "apc",
    levels: str = "",
    replicates: int = REPLICATES,
) -> Outcome[float]:
    """The mean of the means of every model on every data set; whole clusters are drawn within each data set.

    Example:
        >>> from auscult.rng import generator
        >>> mean = mean_over({"a": [{"x": -0.5, "y": -0.25}], "b": [{"z": -0.125}]},
        ...     {"a": {"x": 1, "y": 2}, "b": {"z": 1}}, rng=lambda name: generator(0, name))
        >>> mean.value
        -0.25
    """
    columns = {name: [common([values]) for values in many] for name, many in parts.items()}
    counts = added([one.counts for many in columns.values() for one in many])
    scored = {name: [one for one in many if one.samples] for name, many in columns.items()}
    means = [math.fsum(one.values[0]) / len(one.samples) for many in scored.values() for one in many]
    if not means:
        return counts.none("no sample is scored")
    totals, draws = [], []
    for name, many in scored.items():
        if many:
            found, again = _means_drawn(many, clusters[name], rng=rng(name), replicates=replicates)
            totals.append(found)
            draws.append(again)
    value = math.fsum(means) / len(means)
    fields: dict[str, Any] = {
        "metric": f"mean {of}",
        **({"levels": levels} if levels else {}),
        "over": f"{len(means)} pairs of model and data set, each alike",
        "data_sets": len(draws),
    }
    known = [draw for draw in draws if draw is not None]
    return with_draws(
        value,
        counts,
        fields=fields,
        # a model none of whose clips is drawn has no value in that draw, as one without any has none at all
        values=np.nanmean(np.hstack(known), axis=1) if len(known) == len(draws) else None,
        clusters=sum(totals),
        fewest=min(totals),
        level=LEVEL,
        within=SHARE if of == "level" else CORRELATION,
        drawn_from=drawn_within(2),
    )


def _means_drawn(
    many: Sequence[Common], clusters: Clusters, *, rng: np.random.Generator, replicates: int
) -> tuple[int, Doubles | None]:
    """How many clusters there are, and each model's mean in every draw of them; None of a single one."""
    samples = tuple(dict.fromkeys(sample for scored in many for sample in scored.samples))
    rows = np.zeros((len(samples), 2 * len(many)))  # of each model a sum and how many are in it
    row_of = {sample: row for row, sample in enumerate(samples)}
    for column, scored in enumerate(many):
        mine = [row_of[sample] for sample in scored.samples]
        rows[mine, 2 * column] = scored.values[0]
        rows[mine, 2 * column + 1] = 1.0
    return resampled(rows, memberships(samples, clusters), _means, rng=rng, replicates=replicates)


def _means(sums: Doubles) -> Doubles:
    over = sums[:, 1::2]
    means: Doubles = np.divide(sums[:, 0::2], over, out=np.full(over.shape, np.nan), where=over > 0)
    return means


# --- models over several data sets at once ---


@dataclass(frozen=True, slots=True, kw_only=True)
class Overall:
    """Numbers and rankings of models over all data sets."""

    numbers: tuple[Number, ...] = ()  # level, apc, difference and apc_difference, of the main metric
    ranks: tuple[Ranks, ...] = ()
    # models that are not in every data set, and so in none of these numbers; baselines are not listed
    apart: tuple[str, ...] = ()
    without: tuple[str, ...] = ()  # models left out of a ranking: one data set has no score of theirs
    lone: tuple[str, ...] = ()  # data sets with a single clip, so that there is no interval


def models_over(sets: Sequence[DataSet], metric: str) -> Overall:
    """Put the models that were asked on every data set side by side."""
    if len(sets) < 2:
        return Overall()
    joined = _ModelsOver({data.name: data.view for data in sets}, metric)
    every = dict.fromkeys(model for data in sets for model in data.grid.models)
    return Overall(
        numbers=tuple(joined.numbers()),
        ranks=tuple(joined.ranks()),
        apart=tuple(model for model in every if model not in joined.models and not joined.task.is_baseline(model)),
        without=tuple(dict.fromkeys(joined.without())),
        lone=tuple(data.name for data in sets if len(set(data.grid.cases.values())) < 2),
    )


class _ModelsOver:
    """All data sets; what was asked on every one of them."""

    def __init__(self, views: Mapping[str, GridColumns], metric: str) -> None:
        self.views, self.metric = views, metric
        first, *others = views.values()
        self.task = first.grid.task
        shared = [model for model in first.grid.models if all(model in view.grid.models for view in others)]
        self.models = tuple(sorted((model for model in shared if self._clean(model)), key=self.task.is_baseline))
        names = [{condition.key: condition.name for condition in view.grid.conditions} for view in views.values()]
        self.conditions = tuple(one for one in first.grid.conditions if all(one.key in known for known in names))
        self._names = dict(zip(views, names, strict=True))
        self.groups = tuple(group for group in first.grid.groups() if all(group in v.grid.groups() for v in others))

    def _clean(self, model: str) -> bool:
        return all(view.grid.is_complete(model, CLEAN) for view in self.views.values())

    def numbers(self) -> Iterator[Number]:
        """Of every model, then of every two."""
        for models in (*((model,) for model in self.models), *combinations(self.models, 2)):
            yield from self._of(models)

    def ranks(self) -> Iterator[Ranks]:
        """By the clean score, and for each mix by what is lost, as within one data set."""
        label = self.task.metric_name(self.metric)
        clean = self.conditions[0]
        models = [model for model in self.models if self._scored(model, [clean])]
        if len(models) > 1:
            sets = {
                name: self._set(name, {model: self._values(name, model, clean) for model in models})
                for name in self.views
            }
            yield Ranks(name="clean", title=f"clean {label}", ranking=rank_by_score_over(sets))
        for mix in (group for group in self.groups if is_mix(group[0])):
            stressed = [model for model in models if self._static(model, mix)]
            shared = self._common(stressed, mix)
            stressed = [model for model in stressed if self._scored(model, shared)]
            if len(stressed) < 2 or not shared:
                continue
            changes = {
                name: self._set(name, {model: self._scores(name, model, shared) for model in stressed})
                for name in self.views
            }
            only = levels_only([condition.level for condition in shared], PAPER_LEVELS)
            yield Ranks(
                name=part_name("loss", *mix),
                title=f"least {label} lost, {self.task.group_name(*mix)}{only}",
                ranking=rank_by_change_over(changes),
            )

    def without(self) -> Iterator[str]:
        """Models with the conditions of a ranking that have no score under them on some data set."""
        for mix in (None, *(group for group in self.groups if is_mix(group[0]))):
            tested = [model for model in self.models if mix is None or self._static(model, mix)]
            shared = () if mix is None else self._common(tested, mix)
            yield from (model for model in tested if not self._scored(model, shared))

    def _of(self, models: tuple[str, ...]) -> Iterator[Number]:
        """The levels and changes of one model, or of two the differences of these."""
        level, change = ("level", "apc") if len(models) == 1 else ("difference", "apc_difference")
        for condition in self.conditions:
            if all(self._is_complete(model, condition) for model in models):
                columns = {name: [self._values(name, model, condition) for model in models] for name in self.views}
                made = self._number(level, models, outcome=self._mean(columns, of=level))
                yield replace(made, group=condition.group, level=condition.level, part=condition.part)
        for group in self.groups:
            shared = self._common(models, group)
            if shared and all(self._static(model, group) for model in models):
                scores = {name: [self._scores(name, model, shared) for model in models] for name in self.views}
                made = self._number(change, models, outcome=self._change(scores))
                yield replace(made, group=group[0], part=group[1])

    def _mean(self, columns: Mapping[str, Sequence[SampleValues]], *, of: str) -> Outcome[float]:
        """The mean of one column, or of the first minus the second."""
        strata = {}
        for name, many in columns.items():
            kept = common(many)
            value = kept.values[0] if len(many) == 1 else kept.values[0] - kept.values[1]
            strata[name] = self._stratum(name, kept, np.stack([value, np.ones_like(value)], axis=1))
        within = SHARE if of == "level" else CORRELATION
        return _change_outcome(strata, {"metric": f"mean {of}"}, pair=False, within=within)

    def _change(self, scores: Mapping[str, Sequence[Scores]]) -> Outcome[float]:
        """The change of one model, or that of the first minus that of the second."""
        strata = {}
        for name, many in scores.items():
            kept = common([column for one in many for column in one.columns])
            columns = np.hstack([change_sums(part) for part in np.split(kept.values, len(many))])
            strata[name] = self._stratum(name, kept, columns)
        many = next(iter(scores.values()))
        fields = change_fields(many[0], "difference")
        pair = len(many) > 1
        fields |= {"metric": "apc difference"} if pair else {}
        return _change_outcome(strata, fields, pair=pair, change=True, within=GAP if pair else CORRELATION)

    def _stratum(self, name: str, kept: Common, columns: Doubles) -> Stratum:
        cases = self.views[name].grid.cases
        return Stratum(
            samples=kept.samples,
            columns=columns,
            clusters=cases,
            rng=self.views[name].rng("joined", name),
            counts=kept.counts,
        )

    def _set(self, name: str, models: Mapping[str, Any]) -> Ranked[Any]:
        return Ranked(models=models, clusters=self.views[name].grid.cases, rng=self.views[name].rng("joined", name))

    def _values(self, name: str, model: str, condition: Condition) -> SampleValues:
        return self.views[name].values(model, self._names[name][condition.key], self.metric)

    def _scores(self, name: str, model: str, shared: Sequence[Condition]) -> Scores:
        here = [replace(condition, name=self._names[name][condition.key]) for condition in shared]
        return self.views[name].scores(model, here, self.metric)

    def _is_complete(self, model: str, condition: Condition) -> bool:
        return all(view.grid.is_complete(model, self._names[name][condition.key]) for name, view in self.views.items())

    def _scored(self, model: str, shared: Sequence[Condition]) -> bool:
        """Whether a model has a score on every data set: without one, no case is common to all models."""
        return all(
            common([self._values(name, model, condition) for condition in (self.conditions[0], *shared)]).samples
            for name in self.views
        )

    def _static(self, model: str, group: GridCell) -> tuple[Condition, ...]:
        """The levels of constant strength that count, those that are on every data set."""
        found = [{one.level: one for one in static_of(view, model, group)} for view in self.views.values()]
        return tuple(one for level, one in found[0].items() if all(level in other for other in found))

    def _common(self, models: Sequence[str], group: GridCell) -> tuple[Condition, ...]:
        """The levels that several models share."""
        found = [self._static(model, group) for model in models]
        shared = set.intersection(*({one.level for one in many} for many in found)) if found else set()
        return tuple(one for one in found[0] if one.level in shared) if found else ()

    def _number(self, measure: str, models: tuple[str, ...], *, outcome: Outcome[float]) -> Number:
        signed = [view.grid.signature(model, self.metric) for view in self.views.values() for model in models]
        return Number(
            measure=measure,
            model=" - ".join(models),
            metric=self.metric,
            group="",
            outcome=outcome,
            signature=joined_signature(signed),
        )


def _change_outcome(
    strata: Mapping[str, Stratum],
    fields: Mapping[str, object],
    *,
    pair: bool,
    change: bool = False,
    within: Range | None = None,
) -> Outcome[float]:
    empty = [name for name, stratum in strata.items() if not stratum.samples]
    if empty:
        return added([stratum.counts for stratum in strata.values()]).none(f"no sample is scored on {empty[0]}")

    def of(sums: Doubles) -> Doubles:
        found = changes_of(sums, "difference") if change else sums[:, :1] / sums[:, 1:]
        return found[:, :1] - found[:, 1:] if pair else found

    totals = [_totals(stratum) for stratum in strata.values()]
    return interval_over(strata, of, fields=fields, within=within, totals=np.concatenate(totals))


def _totals(stratum: Stratum) -> Doubles:
    """What each cluster adds to the mean over the samples of a data set, of two models to its difference."""
    columns = stratum.columns
    values = columns[:, 0] - columns[:, 3] if columns.shape[1] > 3 else columns[:, 0]
    members = memberships(stratum.samples, stratum.clusters)
    return cluster_totals(values, members) / len(stratum.samples)
