"""Records put together: which share cases, which models are the same, which conditions all of them have.

- Records with common cases (same id, same hash) and the same signature of scores are one data set. If their cases
  differ, only common ones are compared.
- A model of one name and revision is one model in every record. A different revision or, within one data set, a
  different seed and so other perturbations, makes it a different model, named with its folder.
- Of every group of conditions (a mix, a single kind) only those count that all models with any result in the group
  have, so that an average is over the same strengths everywhere.

A mean over models weighs every model on every data set equally, however many cases each has. Models are compared if
they have results on every data set: a number is then the mean over data sets, equally weighted. Within a data set two
models are compared case by case; cases of different data sets are never compared. Intervals draw whole clips or
photographs within each data set, so that its models share the drawn clips and every data set is in every draw.
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
    change_fields,
    change_sums,
    common,
    memberships,
    with_draws,
)
from auscult.score.stats.few_clusters import CORRELATION, GAP, SHARE, Range
from auscult.score.stats.intervals import cluster_totals, resampled
from auscult.score.stats.ranking import (
    Stratum,
    added,
    drawn_within,
    interval_over,
)
from auscult.suites.core.conditions import CLEAN, Condition
from auscult.suites.core.grid import Cell, Grid, joined_signature
from auscult.suites.core.measures import (
    Ranks,
    asked_clean,
    changes_by_model,
    levels_asked,
    ranked_models,
    rankings_of,
    scores_at,
    static_of,
)
from auscult.suites.core.numbers import GridView, Number
from auscult.suites.core.records import SuiteRecord
from auscult.suites.core.requests import base_name
from auscult.types import Doubles

ModelNames: TypeAlias = Mapping[tuple[str, str], str]
"""A record's label and a model in it, to the model's name in the comparison."""

_MAY_DIFFER = frozenset({"version", "threshold"})
_CASE_FIELDS: Final = ("pixels", "classes", "sums", "answers")
"""Fields of a grid with further data of each case."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DataSet:
    """Records of the same cases as one grid."""

    name: str
    records: tuple[SuiteRecord, ...]
    view: GridView  # all scores on the common cases
    differing: int  # scores that differ between records; the first one counts

    @property
    def grid(self) -> Grid:
        """The scores."""
        return self.view.grid


@dataclass(slots=True)
class _Group:
    records: list[SuiteRecord]
    common: dict[str, str]
    signatures: dict[str, Any] = field(default_factory=dict)


def data_sets(records: Sequence[SuiteRecord]) -> tuple[tuple[DataSet, ...], tuple[Condition, ...]]:
    """Put records of one task together."""
    groups = _groups(records)
    named = _named(groups)
    names = _set_names(groups)
    conditions: dict[tuple[str, str, str], Condition] = {}
    merged = [_merged(group, named, conditions) for group in groups]
    shared, dropped = _common_conditions([grid for grid, _ in merged])
    sets = tuple(
        DataSet(
            name=name,
            records=tuple(group.records),
            view=GridView(grid=grid.narrowed(shared), seed=records[0].seed),
            differing=differing,
        )
        for name, group, (grid, differing) in zip(names, groups, merged, strict=True)
    )
    return sets, dropped


def _groups(records: Sequence[SuiteRecord]) -> list[_Group]:
    """Groups of records: each joins the first group with which it shares cases."""
    groups: list[_Group] = []
    for record in records:
        signatures = _compared_signatures(record.grid)
        for group in groups:
            shared = {name: digest for name, digest in group.common.items() if record.digests.get(name) == digest}
            if shared and all(group.signatures.get(metric, fields) == fields for metric, fields in signatures.items()):
                group.records.append(record)
                group.common = shared
                group.signatures = signatures | group.signatures
                break
        else:
            groups.append(_Group([record], dict(record.digests), signatures))
    return groups


def _compared_signatures(grid: Grid) -> dict[str, Any]:
    """The signature of scores, without what may differ between comparable models."""
    return {
        metric: {name: value for name, value in fields.items() if name not in _MAY_DIFFER}
        for metric, fields in grid.signatures.items()
    }


def _named(groups: Iterable[_Group]) -> ModelNames:
    """Name every model, without its folder if the name is unambiguous."""
    identities: dict[tuple[str, str], tuple[str, str, str]] = {}
    for group in groups:
        seeds: dict[tuple[str, str], set[int]] = {}
        for record in group.records:
            for base in _bases(record).values():
                seeds.setdefault(base, set()).add(record.seed)
        for record in group.records:
            for model, base in _bases(record).items():
                seed = str(record.seed) if len(seeds[base]) > 1 else ""
                identities[record.label, model] = (*base, seed)
    first: dict[tuple[str, str, str], tuple[str, str]] = {}
    for key, identity in identities.items():
        first.setdefault(identity, key)
    names = {identity: _name(identity, first) for identity in first}
    return {key: names[identity] for key, identity in identities.items()}


def _bases(record: SuiteRecord) -> dict[str, tuple[str, str]]:
    """Model to its base name (without the number that makes it unique in its folder) and its revision."""
    identities = {model: (base_name(model), revision) for model, revision in record.revisions.items()}
    bases = list(identities.values())
    ambiguous = {model for model, base in identities.items() if bases.count(base) > 1}  # one code, found at two paths
    return {model: (model, base[1]) if model in ambiguous else base for model, base in identities.items()}


def _name(identity: tuple[str, str, str], first: Mapping[tuple[str, str, str], tuple[str, str]]) -> str:
    """The plain name if it is unambiguous; else with its first folder."""
    others = [other for other in first if other[0] == identity[0]]
    label, model = first[identity]
    return identity[0] if len(others) == 1 else f"{model} ({label})"


def _set_names(groups: Sequence[_Group]) -> tuple[str, ...]:
    names = [group.records[0].data for group in groups]
    return tuple(
        name if names.count(name) == 1 else f"{name} ({group.records[0].label})"
        for name, group in zip(names, groups, strict=True)
    )


def _merged(group: _Group, model_names: ModelNames, by_key: dict[tuple[str, str, str], Condition]) -> tuple[Grid, int]:
    """One grid of a group's records, and the number of scores that differ between records."""
    conditions: dict[tuple[str, str, str], Condition] = {}
    cells: dict[tuple[str, str, str], Cell] = {}
    by_field: dict[str, dict[tuple[str, str], dict[str, Any]]] = {name: {} for name in _CASE_FIELDS}
    signatures: dict[str, list[Mapping[str, Any]]] = {}
    by_model: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    failed: set[tuple[str, str]] = set()
    waiting: dict[tuple[str, str], set[str]] = {}
    differing = 0
    for record in group.records:
        names = _common_names(record.grid.conditions, by_key)
        conditions |= {condition.key: by_key[condition.key] for condition in record.grid.conditions}
        for (model, condition, metric), cell in record.grid.cells.items():
            key = (model_names[record.label, model], names[condition], metric)
            differing += _fill(cells.setdefault(key, Cell()), cell, group.common)
        for name, by_pair in by_field.items():
            for (model, condition), rows in getattr(record.grid, name).items():
                values = by_pair.setdefault((model_names[record.label, model], names[condition]), {})
                values.update({case: row for case, row in rows.items() if case in group.common and case not in values})
        failed |= {(model_names[record.label, model], names[condition]) for model, condition in record.grid.failed}
        for model, condition in _pairs_requested(record.grid):
            model_key = (model_names[record.label, model], names[condition])
            unmade = record.grid.waiting.get((model, condition), frozenset()) & group.common.keys()
            waiting[model_key] = waiting[model_key] & unmade if model_key in waiting else set(unmade)
        for (model, metric), signature in record.grid.by_model.items():
            by_model.setdefault((model_names[record.label, model], metric), []).append(signature)
        for metric, signature in record.grid.signatures.items():
            signatures.setdefault(metric, []).append(signature)
    first = group.records[0].grid
    models = dict.fromkeys(model_names[record.label, model] for record in group.records for model in record.grid.models)
    grid = Grid(
        task=first.task,
        cases={case: clip for case, clip in first.cases.items() if case in group.common},
        splits={case: split for case, split in first.splits.items() if case in group.common},
        about={case: about for case, about in first.about.items() if case in group.common},
        models=tuple(sorted(models, key=first.task.is_baseline)),
        conditions=tuple(conditions.values()),
        cells=cells,
        **by_field,
        signatures={metric: joined_signature(parts) for metric, parts in signatures.items()},
        by_model={key: joined_signature(parts) for key, parts in by_model.items()},
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
    """The requests that no record has made yet."""
    unmade = {}
    for (model, condition), cases in waiting.items():
        cell = cells.get((model, condition, metric), Cell())
        remaining = cases - cell.values.keys() - cell.undefined
        if remaining:
            unmade[model, condition] = frozenset(remaining)
    return unmade


def _common_names(conditions: Iterable[Condition], by_key: dict[tuple[str, str, str], Condition]) -> dict[str, str]:
    """A record's names of conditions to the common ones; two versions of a kind are two conditions."""
    names: dict[str, str] = {}
    for condition in conditions:
        key = condition.key
        if key not in by_key:
            taken = any(other.name == condition.name for other in by_key.values())
            by_key[key] = replace(condition, name="_".join(key)) if taken else condition
        names[condition.name] = by_key[key].name
    return names


def _fill(cell: Cell, other: Cell, common: Mapping[str, str]) -> int:
    """Add missing values; returns how many differ."""
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


def _common_conditions(grids: Sequence[Grid]) -> tuple[frozenset[tuple[str, str, str]], tuple[Condition, ...]]:
    """Keys of the conditions that all models of the group have, and the other conditions."""
    by_key = {condition.key: condition for grid in grids for condition in grid.conditions}
    by_group: dict[tuple[str, str], list[set[str]]] = {}
    for grid in grids:
        for model in grid.models:
            for group, part in grid.groups():
                levels = {
                    condition.level
                    for condition in grid.of_group(group, part)
                    if grid.is_complete(model, condition.name)
                }
                if levels:
                    by_group.setdefault((group, part), []).append(levels)
    shared = {(CLEAN, CLEAN, "all")}
    for (group, part), levels_of_each in by_group.items():
        shared |= {(group, level, part) for level in set.intersection(*levels_of_each)}
    unasked = {key for key in by_key if (key[0], key[2]) not in by_group}
    dropped = tuple(condition for key, condition in by_key.items() if key not in shared | unasked)
    return frozenset(shared), dropped


ALL: Final = "all data sets"
_LEVEL: Final = 0.95


def kind_means(sets: Sequence[DataSet], metric: str) -> tuple[Number, ...]:
    """Level and change of every group as means over models, except baselines; none for one model on one set."""
    series: dict[str, Sequence[DataSet]] = {data.name: [data] for data in sets}
    if len(sets) > 1:
        series[ALL] = sets
    elif len(sets[0].grid.task.tested(sets[0].grid.models)) < 2:
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
            outcome=mean_over(parts, clusters, rng=rng, of=measure, levels=level or _strengths(members, (group, part))),
            signature=members[0].grid.signature("", metric),
        )
        for name, members in series.items()
        for (measure, group, level, part), parts in _columns(members, metric)
    )


def _columns(
    sets: Sequence[DataSet], metric: str
) -> Iterator[tuple[tuple[str, str, str, str], dict[str, list[SampleValues]]]]:
    """(measure, group, level, part) with the values of each model that has them."""
    for key in dict.fromkeys(condition.key for part in sets for condition in part.grid.conditions):
        levels = {part.name: _levels(part.view, key, metric) for part in sets}
        if any(levels.values()):
            yield ("level", *key), {name: columns for name, columns in levels.items() if columns}
    for group in dict.fromkeys(group for part in sets for group in part.grid.groups()):
        changes = {part.name: list(changes_by_model(part.view, group, metric).values()) for part in sets}
        if any(changes.values()):
            yield ("apc", group[0], "", group[1]), {name: columns for name, columns in changes.items() if columns}


def _strengths(sets: Sequence[DataSet], group: tuple[str, str]) -> str:
    """The strengths of a mean change, mildest first."""
    conditions = (
        condition for part in sets for model in part.grid.models for condition in static_of(part.view, model, group)
    )
    return ",".join(one.level for one in sorted(dict.fromkeys(conditions), key=lambda one: one.strength or 0.0))


def _levels(view: GridView, key: tuple[str, str, str], metric: str) -> list[SampleValues]:
    return [
        view.values(model, condition.name, metric)
        for condition in view.grid.conditions
        if condition.key == key
        for model in view.grid.task.tested(view.grid.models)
        if view.grid.is_complete(model, condition.name)
    ]


def mean_over(
    parts: Mapping[str, Sequence[SampleValues]],
    clusters: Mapping[str, Clusters],
    *,
    rng: Callable[[str], np.random.Generator],
    of: str = "apc",
    levels: str = "",
    replicates: int = 1000,
) -> Outcome[float]:
    """The mean over models and data sets of their means; intervals draw whole clusters within each data set."""
    columns = {name: [common([values]) for values in members] for name, members in parts.items()}
    counts = added([column.counts for members in columns.values() for column in members])
    scored = {name: [column for column in members if column.samples] for name, members in columns.items()}
    means = [math.fsum(column.values[0]) / len(column.samples) for members in scored.values() for column in members]
    if not means:
        return counts.none("no sample is scored")
    totals, draws = [], []
    for name, many in scored.items():
        if many:
            total, replicas = _means_drawn(many, clusters[name], rng=rng(name), replicates=replicates)
            totals.append(total)
            draws.append(replicas)
    value = math.fsum(means) / len(means)
    fields: dict[str, Any] = {
        "metric": f"mean {of}",
        **({"levels": levels} if levels else {}),
        "over": f"{len(means)} pairs of model and data set, each alike",
        "data_sets": len(draws),
    }
    valid = [draw for draw in draws if draw is not None]
    return with_draws(
        value,
        counts,
        fields=fields,
        # a model has no value in a draw without its clips
        values=np.nanmean(np.hstack(valid), axis=1) if len(valid) == len(draws) else None,
        clusters=sum(totals),
        fewest=min(totals),
        level=_LEVEL,
        within=SHARE if of == "level" else CORRELATION,
        drawn_from=drawn_within(2),
    )


def _means_drawn(
    commons: Sequence[Common], clusters: Clusters, *, rng: np.random.Generator, replicates: int
) -> tuple[int, Doubles | None]:
    """The count of clusters, and each model's mean in every draw; None for a single cluster."""
    samples = tuple(dict.fromkeys(sample for scored in commons for sample in scored.samples))
    rows = np.zeros((len(samples), 2 * len(commons)))  # for each model a sum and a count
    row_of = {sample: row for row, sample in enumerate(samples)}
    for column, scored in enumerate(commons):
        indices = [row_of[sample] for sample in scored.samples]
        rows[indices, 2 * column] = scored.values[0]
        rows[indices, 2 * column + 1] = 1.0
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
    # models, except baselines, that are not in every data set and so have none of these numbers
    not_everywhere: tuple[str, ...] = ()
    without: tuple[str, ...] = ()  # models left out of a ranking: without a score in some data set
    single_cluster: tuple[str, ...] = ()  # data sets with a single clip, and so without intervals


def models_over(sets: Sequence[DataSet], metric: str) -> Overall:
    """Compare the models that have results on every data set."""
    if len(sets) < 2:
        return Overall()
    views = {data.name: data.view for data in sets}
    models, task = asked_clean(views), sets[0].grid.task
    all_models = dict.fromkeys(model for data in sets for model in data.grid.models)
    ranked = ranked_models(views, metric)
    return Overall(
        numbers=tuple(_numbers_over(views, models, metric)),
        ranks=tuple(rankings_of(views, metric)),
        not_everywhere=tuple(model for model in task.tested(all_models) if model not in models),
        without=tuple(dict.fromkeys(model for ranking in ranked for model in ranking.without)),
        single_cluster=tuple(data.name for data in sets if len(set(data.grid.cases.values())) < 2),
    )


def _numbers_over(views: Mapping[str, GridView], models: Sequence[str], metric: str) -> Iterator[Number]:
    """Levels and changes of every model, then the differences of every two."""
    first = next(iter(views.values()))
    columns: Mapping[str, Sequence[Sequence[SampleValues]]]
    for members in (*((model,) for model in models), *combinations(models, 2)):
        alone = len(members) == 1
        signed = [view.grid.signature(model, metric) for view in views.values() for model in members]
        number = partial(first.number, model=" - ".join(members), metric=metric, signature=joined_signature(signed))
        for condition in first.grid.conditions:
            if all(view.grid.is_complete(model, condition.name) for view in views.values() for model in members):
                measure, within = ("level", SHARE) if alone else ("difference", CORRELATION)
                columns = {
                    name: [[view.values(model, condition.name, metric)] for model in members]
                    for name, view in views.items()
                }
                outcome = _mean_over(views, columns, fields={"metric": f"mean {measure}"}, within=within)
                yield number(measure, condition, outcome=outcome)
        for group in first.grid.groups():
            levels = levels_asked(views.values(), members, group)
            if levels:
                measure, within = ("apc", CORRELATION) if alone else ("apc_difference", GAP)
                scores = {
                    name: [scores_at(view, model, metric, group=group, levels=levels) for model in members]
                    for name, view in views.items()
                }
                fields = change_fields(next(iter(scores.values()))[0], "difference")
                fields |= {} if alone else {"metric": "apc difference"}
                columns = {name: [score.columns for score in model_scores] for name, model_scores in scores.items()}
                yield number(measure, group, outcome=_mean_over(views, columns, fields=fields, within=within))


def _mean_over(
    views: Mapping[str, GridView],
    columns: Mapping[str, Sequence[Sequence[SampleValues]]],
    *,
    fields: Mapping[str, object],
    within: Range,
) -> Outcome[float]:
    """The mean over data sets of a score or a change, or of the first of two models minus the second.

    ``columns`` holds by data set those of one model or of two: the score, or clean and each level.
    """
    strata = {}
    for name, view in views.items():
        shared = common([column for model_columns in columns[name] for column in model_columns])
        parts = np.split(shared.values, len(columns[name]))
        series = [part[0] if len(part) == 1 else change_sums(part)[:, 0] for part in parts]
        values = series[0] if len(series) == 1 else series[0] - series[1]
        strata[name] = Stratum(
            samples=shared.samples,
            columns=np.stack([values, np.ones_like(values)], axis=1),
            clusters=view.grid.cases,
            rng=view.rng("joined", name),
            counts=shared.counts,
        )
    empty = [name for name, stratum in strata.items() if not stratum.samples]
    if empty:
        return added([stratum.counts for stratum in strata.values()]).none(f"no sample is scored on {empty[0]}")
    totals = [  # the contribution of each clip to the mean of its data set
        cluster_totals(stratum.columns[:, 0], memberships(stratum.samples, stratum.clusters)) / len(stratum.samples)
        for stratum in strata.values()
    ]
    return interval_over(
        strata, lambda sums: sums[:, :1] / sums[:, 1:], fields=fields, within=within, totals=np.concatenate(totals)
    )
